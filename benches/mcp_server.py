"""A `memdir mcp` process that benchmarks ask, one question at a time."""
import glob
import json
import subprocess
import time


class Server:
    def __init__(self, program, store, environment):
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [program, "--store", store, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )
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
        total = 0
        for stat in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            try:
                with open(stat) as text:
                    total += int(text.read().split()[0])
            except FileNotFoundError:
                pass  # The thread ended; what it used is lost to us, and small.
        return total / 1e6

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
