#!/usr/bin/env python3
"""What storing a thousand memories at once costs.

usage: benches/bulk.py MEMDIR [--before N]

Starts a server on a fresh store of N memories (1,000 unless told), posts 1,000 new ones to
`/memories/bulk`, then the same titles with other texts, and imports 1,000 more on the command line.
Prints the processor time of each call, and of what the server does after it. Exits with 1 if a call
takes more than two seconds of processor time.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

from http_load import Server, fill, text

MOST_SECONDS = 2.0


def settled(server):
    """The processor time once a second has passed without any."""
    last = -1.0
    while server.cpu() != last:
        last = server.cpu()
        time.sleep(1)
    return last


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("memdir")
    parser.add_argument("--before", type=int, default=1000)
    given = parser.parse_args()
    rng = random.Random(11)
    took = []
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        os.makedirs(os.path.join(store, "files"))
        server = Server(os.path.abspath(given.memdir), store)
        fill(server, given.before)
        server.end()
        server.environment["MEMDIR_GIT"] = "true"
        server.begin()
        ids = []
        for what in ["new", "replaced"]:
            items = [{"title": f"bulk {n}", "content": text(rng), "tier": "long"} for n in range(1000)]
            begun = settled(server)
            status, data = server.ask("POST", "/memories/bulk", items)
            call = server.cpu() - begun
            answer = json.loads(data)
            if status not in (200, 201) or answer["errors"] or len(answer["ids"]) != 1000 or ids not in ([], answer["ids"]):
                server.process.kill()
                sys.exit(f"{what}: {status} {data[:300]}")
            ids = answer["ids"]
            print(f"1,000 {what}: {call:.2f} s in the call, {settled(server) - begun - call:.2f} s after it")
            took.append(call)
        server.end()
        path = os.path.join(folder, "import.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for n in range(1000):
                file.write(json.dumps({"text": text(rng), "title": f"imported {n}", "topics": ["bulk"]}) + "\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([os.path.abspath(given.memdir), "--store", server.store, "import", "--from", "jsonl", path],
                       env=server.environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"1,000 imported: {took[-1]:.2f} s")
    return 1 if max(took) > MOST_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
