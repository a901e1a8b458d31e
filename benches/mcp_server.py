"""A `memdir mcp` process that benchmarks ask, one question at a time."""
import json
import subprocess
import time

from measure import cpu_of, memory_of


class Server:
    def __init__(self, program, store, environment, under=()):
        """`under`: a command that runs the program, as valgrind does."""
        started = time.perf_counter()
        command = [*under, program, "--store", store, "mcp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.number = 0
        self.ask("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
        })
        self.initialize_ms = 1000 * (time.perf_counter() - started)

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise SystemExit(result["content"][0]["text"])
        return result["structuredContent"]

    def cpu_ms(self):
        return cpu_of(self.process.pid)

    def rss_mb(self):
        return memory_of(self.process.pid)[0]

    def rest(self, quiet=0.4):
        """Waits until the server has done no work for a while: until what waits is indexed."""
        used = self.cpu_ms()
        while True:
            time.sleep(quiet)
            now = self.cpu_ms()
            if now - used < 3:
                return
            used = now

    def close(self, within=10):
        self.process.stdin.close()
        self.process.wait(within)
