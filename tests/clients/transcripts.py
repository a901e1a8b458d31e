#!/usr/bin/env python3
"""Shows that standard input and output carry the same protocol as HTTP.

    transcripts.py MEMDIR EXAMPLES      replays what the conformance suite sends, line by line
    transcripts.py --record URL FILE    passes on what is sent to it, and notes it in FILE

Each line is sent over HTTP and over standard input to the same program, each in a session of its own,
and every message that comes back, answers, notifications and questions, has to be the same, but for
ids and times. It is done with the fixtures' server and with the program itself. Left out of the
transcripts is what cannot be repeated (questions about tasks whose ids were drawn) and what the program
has no use for over standard input (tools that ask the client in the midst of a call, as revisions with
`initialize` may).
"""

import http.client
import http.server
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance")
REVISIONS = ["2025-11-25", "2026-07-28"]
VERSION = "io.modelcontextprotocol/protocolVersion"

def is_over(request, message):
    """Whether `message` is the last that is waited for after `request`."""
    if request["method"] == "subscriptions/listen":
        return message.get("method") == "notifications/subscriptions/acknowledged" or "error" in message
    return "method" not in message and message.get("id") == request["id"]


class Stdio:
    """A program that answers on its standard output."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, request):
        self.send(request)
        messages = []
        while True:
            line = self.child.stdout.readline()
            if not line:
                sys.exit(f"error: the program ended at {request}")
            message = json.loads(line)
            messages.append(message)
            if is_over(request, message):
                break
        if request["method"] == "subscriptions/listen":
            params = {"requestId": request["id"]}
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        return messages

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=60)


class Http:
    """A program that says on its standard error where it listens."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stderr=pipe, stdin=subprocess.DEVNULL)
        for line in self.child.stderr:
            found = re.search(rb"^serving .* at http://(\S+:\d+)", line)
            if found:
                self.host = found[1].decode()
                break
        else:
            sys.exit(f"error: {command} does not listen")
        self.session = None
        self.version = None
        self.told = queue.Queue()

    def post(self, message):
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(VERSION) or self.version
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if version:
            headers["MCP-Protocol-Version"] = version
        if "method" in message:
            headers["Mcp-Method"] = message["method"]
        name = params.get("name") or params.get("uri") or params.get("taskId")
        if name:
            headers["Mcp-Name"] = name
        region = (params.get("arguments") or {}).get("region")
        if region:
            headers["Mcp-Param-Region"] = region
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request("POST", "/mcp", json.dumps(message), headers)
        return connection, connection.getresponse()

    def send(self, message):
        connection, response = self.post(message)
        response.read()
        connection.close()
        if response.status >= 300:
            sys.exit(f"error: {response.status} to {message}")

    def ask(self, request):
        connection, response = self.post(request)
        self.session = response.getheader("Mcp-Session-Id") or self.session
        messages = []
        kind = response.getheader("Content-Type") or ""
        lines = response if kind.startswith("text/event-stream") else [b"data: " + response.read()]
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            message = json.loads(data)
            messages.append(message)
            if is_over(request, message):
                break
        else:
            sys.exit(f"error: no answer to {request}: {messages}")
        connection.close()
        if request["method"] == "initialize" and self.session:
            self.version = messages[-1]["result"]["protocolVersion"]
            threading.Thread(target=self.hear, daemon=True).start()
        return messages

    def hear(self):
        """Reads the session's own stream: what is told beside the answers."""
        connection = http.client.HTTPConnection(self.host)
        headers = {
            "Accept": "text/event-stream",
            "Mcp-Session-Id": self.session,
            "MCP-Protocol-Version": self.version,
        }
        connection.request("GET", "/mcp", headers=headers)
        for line in connection.getresponse():
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data:
                self.told.put(json.loads(data))

    def end(self):
        self.child.terminate()
        self.child.stderr.read()
        self.child.wait(timeout=60)


def plain(message):
    """`message` without ids and times, and without how rmcp's HTTP side begins its complaints."""
    text = json.dumps({key: value for key, value in message.items() if key != "id"}, sort_keys=True)
    text = text.replace('"message": "Invalid params: ', '"message": "')
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME", text)


def replay(name, revision, over_http, over_stdio):
    path = os.path.join(HERE, f"{revision}.jsonl")
    with open(path, encoding="utf-8") as lines:
        requests = [json.loads(line) for line in lines]
    web, pipe = Http(over_http), Stdio(over_stdio)
    compared = differing = 0
    for number, request in enumerate(requests, 1):
        if "id" not in request:
            web.send(request)
            pipe.send(request)
            continue
        request["id"] = number
        answers = [way.ask(request) for way in (web, pipe)]
        # Over HTTP some notifications come on a stream of their own.
        while len(answers[0]) < len(answers[1]):
            answers[0].insert(-1, web.told.get(timeout=60))
        answers = [[plain(message) for message in messages] for messages in answers]
        compared += 1
        if answers[0] != answers[1]:
            differing += 1
            print(f"differs, {name} at {revision}: {json.dumps(request)[:300]}")
            print(f"    HTTP:  {answers[0]}\n    stdio: {answers[1]}")
    web.end()
    pipe.end()
    print(f"{name} at {revision}: {compared - differing} of {compared} exchanges are the same")
    return compared > 0 and differing == 0


def main(memdir, examples):
    server = os.path.join(examples, "conformance_server")
    good = True
    with tempfile.TemporaryDirectory() as work:
        os.environ["HOME"] = work
        for name in [name for name in os.environ if name.startswith(("MEMDIR_", "AIAML_", "XDG_"))]:
            del os.environ[name]
        for revision in REVISIONS:
            store = os.path.join(work, f"{revision} fixtures")
            os.makedirs(os.path.join(store, "files"))
            good &= replay("fixtures", revision, [server, store], [server, store, "--stdio"])
            store = os.path.join(work, revision)
            os.makedirs(os.path.join(store, "files"))
            serve = [memdir, "serve", "--store", store, "--no-token", "--listen", "127.0.0.1:0"]
            good &= replay("memdir", revision, serve, [memdir, "mcp", "--store", store])
    sys.exit(0 if good else 1)


def record(url, path):
    """Stands between the suite and the server at `url`; the transcript is made of what it notes."""
    target = urllib.parse.urlsplit(url).netloc

    class Between(http.server.BaseHTTPRequestHandler):
        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if body:
                with open(path, "ab") as notes:
                    notes.write(body.replace(b"\n", b" ") + b"\n")
            connection = http.client.HTTPConnection(target)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for key, value in self.headers.items():
                if key.lower() not in ("connection", "transfer-encoding"):
                    connection.putheader(key, value)
            connection.endheaders(body)
            response = connection.getresponse()
            self.send_response(response.status)
            for key, value in response.getheaders():
                if key.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(key, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while part := response.read1(65536):
                self.wfile.write(part)
                self.wfile.flush()
            connection.close()

        do_GET = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    print(f"http://127.0.0.1:{between.server_address[1]}/mcp", flush=True)
    between.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"] and len(sys.argv) == 4:
        record(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 3:
        main(os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]))
    else:
        sys.exit(__doc__)
