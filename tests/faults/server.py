"""A client of the MCP server, and the server that it has started.

A caller may send several requests before it reads an answer, and read answers in any order. Only one
thread at a time may use a client.
"""
import json
import os
import select
import subprocess
import tempfile
import time

from harness import HANGS_AFTER, Failed, as_user, environment


class Server:
    """A running `memdir mcp` and its only client."""

    def __init__(self, store, *, before=(), env=None, user=None, record=None, dialect=None):
        self.store = store
        # A file to which all goes that the server writes to its standard output.
        self.record = record
        self.errors = tempfile.TemporaryFile(dir=store.setting.work)
        self.buffer = b""
        self.answers = {}
        self.number = 0
        self.process = subprocess.Popen(
            [*before, store.setting.program, "--store", store.root, "mcp", *(["--dialect", dialect] if dialect else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment(store.setting, **(env or {})),
            cwd=store.setting.work,
            **as_user(user),
        )
        self.pid = self.process.pid
        client = {"name": "faults", "version": "1"}
        parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.answer(self.ask("initialize", parameters))

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        """Sends a request and returns its number, for `answer`."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def answer(self, number, within=HANGS_AFTER):
        """The answer to a request; others are kept until they are asked for."""
        deadline = time.monotonic() + within
        while number not in self.answers:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"the server did not answer within {within} s")
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            self.recorded(read)
            if not read:
                raise Failed(f"the server ended: {self.said()[-300:]}")
            *lines, self.buffer = (self.buffer + read).split(b"\n")
            for message in map(json.loads, lines):
                self.answers[message.get("id")] = message
        return self.answers.pop(number)

    def recorded(self, read):
        if self.record:
            self.record.write(read)

    def call(self, tool, within=HANGS_AFTER, **arguments):
        """A tool's reply: whether it failed, its text as JSON, and its structured form."""
        return self.reply(self.ask_tool(tool, **arguments), within)

    def ask_tool(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def reply(self, number, within=HANGS_AFTER):
        message = self.answer(number, within)
        if "result" not in message:
            raise Failed(f"a call was answered with {message}")
        result = message["result"]
        return bool(result.get("isError")), json.loads(result["content"][0]["text"]), result.get("structuredContent")

    def remember(self, content, **arguments):
        """The id of the new memory, or None and the reason."""
        given = {"agent": "a", "user": "u", "topics": ["new"], "content": content, **arguments}
        failed, reply, _ = self.call("remember", **given)
        return (None, reply["message"]) if failed else (reply["memory_id"], "")

    def think(self, word):
        """The ids of the best memories with the keyword, or None and the reason."""
        failed, reply, _ = self.call("think", keywords=[word])
        return (None, str(reply)) if failed else ([hit["id"] for hit in reply], "")

    def count(self, word):
        """How many memories have the keyword, or the reason why nobody knows."""
        failed, reply, structured = self.call("think", keywords=[word])
        return str(reply) if failed else structured["total"]

    def said(self):
        """What the server wrote to its standard error so far."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close_input(self):
        """Closes its input and returns how long it went on, in seconds; ends it if it hangs."""
        begun = time.monotonic()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(HANGS_AFTER)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - begun

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # What nobody asked for; a process that it left may hold the pipe open.
        pipe = self.process.stdout
        while not pipe.closed and select.select([pipe], [], [], 0)[0] and (read := os.read(pipe.fileno(), 1 << 16)):
            self.recorded(read)
        self.process.stdout.close()
        self.errors.close()
