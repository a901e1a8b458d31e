"""A client of an MCP server over its standard input and output, for the programs in this folder."""
import json
import subprocess


class Server:
    """A running server. Calls may be sent without waiting; replies come in any order."""

    def __init__(self, command, environment, log):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            encoding="utf-8",
        )
        self.early, self.number = {}, 0
        self.send({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "faults", "version": "1"}}})
        self.await_message(0)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def call(self, tool, arguments):
        """Calls a tool without waiting; returns the number of the call."""
        self.number += 1
        self.send({"id": self.number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        return self.number

    def await_message(self, number):
        while number not in self.early:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended with {self.process.wait()}")
            message = json.loads(line)
            self.early[message.get("id")] = message
        return self.early.pop(number)

    def reply(self, number):
        """What the tool replied to a call, as an object; fails if the call did."""
        message = self.await_message(number)
        result = message.get("result", {})
        if "error" in message or result.get("isError"):
            raise RuntimeError(f"a call failed: {message}")
        return result["structuredContent"]

    def tool(self, tool, arguments):
        return self.reply(self.call(tool, arguments))

    def kill(self):
        """Kills the server; returns what it had replied by then, by the number of the call."""
        self.process.kill()
        output = self.process.stdout.read()
        self.process.wait()
        messages = [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("\n")]
        messages += self.early.values()
        replied = {message.get("id"): message.get("result", {}).get("structuredContent", {}) for message in messages}
        return {number: reply for number, reply in replied.items() if number}

    def end(self):
        """Closes the server's input and waits for its end."""
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()
