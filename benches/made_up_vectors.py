#!/usr/bin/env python3
"""Host that makes up vectors, as OpenAI's protocol asks for them: to measure with a model where embedding would take days.

    python3 benches/made_up_vectors.py [--dimensions 384]

Prints its address up to `/embeddings` and answers until it is ended. A text has the same vector each time, one of 4,096
of unit length; they mean nothing.
"""

import argparse
import http.server
import json
import random
import zlib

VECTORS = 4_096


def made_up(dimensions):
    """All vectors, as JSON."""
    dice, all_of_them = random.Random(11), []
    for _ in range(VECTORS):
        numbers = [dice.gauss(0, 1) for _ in range(dimensions)]
        length = sum(number * number for number in numbers) ** 0.5
        all_of_them.append("[" + ",".join(f"{number / length:.4f}" for number in numbers) + "]")
    return all_of_them


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dimensions", type=int, default=384)
    vectors = made_up(parser.parse_args().dimensions)

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is one packet, and does not wait for the acknowledgement of its head.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            made = (f'{{"index":{place},"embedding":{vectors[zlib.crc32(text.encode()) % VECTORS]}}}'
                    for place, text in enumerate(texts))
            body = f'{{"data":[{",".join(made)}]}}'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


main()
