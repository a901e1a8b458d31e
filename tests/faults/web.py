"""A web server of git repositories, for fetch and push by users who know a password.

usage: web.py FOLDER PASSWORDS [--host 127.0.0.1] [--port 0] [--certificate FILE]

PASSWORDS is a file with a line `user:password` for each user. The certificate's file holds its key, too, and makes
it https. Prints its port, then a line for each request, without what could be a secret. `git http-backend` does the
work.
"""
import argparse
import base64
import contextlib
import http.server
import os
import ssl
import subprocess
import sys
import threading
import urllib.parse

PIECE = 1 << 16


class Request(http.server.BaseHTTPRequestHandler):
    """One connection; the requests on it come one after the other."""

    protocol_version = "HTTP/1.1"
    # Nobody is so slow that works.
    timeout = 600

    def setup(self):
        # Here, and not where it is accepted: a handshake that takes for ever keeps nobody else waiting.
        if self.server.tls:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        body = self.body()
        if self.headers.get("authorization") not in self.server.allowed:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        status, headers, answer = self.backend(body)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            length = int(self.headers.get("content-length", 0))
            return self.exactly(length)
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.exactly(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def exactly(self, length):
        read = self.rfile.read(length)
        if len(read) < length:
            raise ConnectionError("the request broke off")
        return read

    def backend(self, body):
        """Status, headers and body of what git answers."""
        url = urllib.parse.urlsplit(self.path)
        given = {
            "GIT_PROJECT_ROOT": self.server.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "PATH_INFO": urllib.parse.unquote(url.path),
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "REMOTE_USER": "somebody",
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=given)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
        status = [value for name, value in headers if name == "Status"] or ["200 OK"]
        return int(status[0].split()[0]), [pair for pair in headers if pair[0] != "Status"], answer

    def log_message(self, form, *values):
        print(form % values, flush=True)


class Web(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, place, folder, passwords, certificate):
        super().__init__(place, Request)
        self.folder, self.tls = folder, None
        self.allowed = {"Basic " + base64.b64encode(line.encode()).decode() for line in passwords}
        if certificate:
            self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.tls.load_cert_chain(certificate)

    def handle_error(self, request, client):
        # Clients break off, and so does the cable.
        print(f"broken off: {sys.exception()!r}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("passwords")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--certificate")
    arguments = parser.parse_args()
    with open(arguments.passwords) as lines:
        passwords = lines.read().splitlines()
    web = Web((arguments.host, arguments.port), arguments.folder, passwords, arguments.certificate)
    print(web.server_address[1], flush=True)
    # Ends with whoever started it.
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()


if __name__ == "__main__":
    main()
