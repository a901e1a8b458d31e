#!/usr/bin/env python3
"""memdir and ai-memory over HTTP, beside each other: benches/http_beside.py AI_MEMORY [--memdir PROGRAM]

Both speak the same REST, and get the same memories of 1.9 KB and the same requests from 64 connections on loopback, in
turn, as often as `--rounds` says. For each kind of request: answers a second, how long an answer takes, CPU of
the server for an answer, and the bytes and memories of one. Medians of all rounds. Each reply of memdir to a write
is on disk; ai-memory is run as it is, but for the signatures that it asks of writers.

AI_MEMORY is its program (`cargo install ai-memory`, which wants Rust 1.96). Wants `wrk` (Debian: wrk).
"""

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from http_load import ASKED, Server, result, text, wrk

# Words of a memory: 1.9 KB.
WORDS_EACH = 260
SCRIPT = """
local words = {%s}
math.randomseed(%d)
wrk.headers["X-Agent-Id"] = "bench"
local function word() return words[math.random(#words)] end
"""
READS = {
    "recall of two words, 10 hits": '"/api/v1/recall?limit=10&context=" .. word() .. "+" .. word()',
    "search of one word, 10 hits": '"/api/v1/search?limit=10&q=" .. word()',
    "list of 20": '"/api/v1/memories?limit=20"',
    "one by its id": '"/api/v1/memories/" .. ids[math.random(#ids)]',
}
WRITE = """
local n = 0
request = function()
  n = n + 1
  local t = {}
  for i = 1, %d do t[i] = word() end
  local body = '{"title":"load %d ' .. n .. '","content":"' .. table.concat(t, " ") .. '","tier":"long"}'
  return wrk.format("POST", "/api/v1/memories", {["Content-Type"] = "application/json", ["X-Agent-Id"] = "bench"}, body)
end
"""


class AiMemory(Server):
    # It shows an agent its own memories.
    headers = {"X-Agent-Id": "bench"}

    def begin(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # By words only, as memdir here.
        settings = os.path.join(self.store, ".config/ai-memory")
        os.makedirs(settings, exist_ok=True)
        with open(os.path.join(settings, "config.toml"), "w") as file:
            file.write('tier = "keyword"\n[limits]\nmax_memories_per_day = 10000000\nmax_storage_bytes = 10000000000\n')
        environment = dict(self.environment, HOME=self.store, AI_MEMORY_REQUIRE_AGENT_ATTESTATION="0")
        self.process = subprocess.Popen(
            [self.program, "--db", os.path.join(self.store, "memories.db"), "serve", "--port", str(self.port)],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"{self.program} does not listen: exit code {self.process.poll()}")
                time.sleep(0.05)


def fill(server, count):
    """Stores memories, and returns their ids."""
    rng, ids = random.Random(7), []
    for number in range(count):
        body = {"title": f"note {number}", "content": text(rng, WORDS_EACH), "tier": "long"}
        status, data = server.ask("POST", "/memories", body)
        if status not in (200, 201):
            sys.exit(f"{server.name}: cannot fill the store: {status} {data[:300]}")
        ids.append(json.loads(data)["id"])
    return ids


def load(server, script, connections, seconds, folder):
    before = server.cpu()
    told = result(wrk(server, script, connections, seconds, folder, "load"))
    told["CPU ms"] = (server.cpu() - before) * 1000 / max(told["requests"], 1)
    return told


def example(server, path):
    """Returns the bytes of an answer, and the number of memories in it."""
    status, data = server.ask("GET", path.removeprefix("/api/v1"))
    if status != 200:
        sys.exit(f"{server.name}: {path}: {status} {data[:300]}")
    held = json.loads(data)
    lists = [value for value in held.values() if isinstance(value, list)] if isinstance(held, dict) else [held]
    return len(data), max((len(one) for one in lists), default=1)


def asked_of(kind, server):
    rng = random.Random(5)
    words = rng.choice(ASKED), rng.choice(ASKED)
    return {
        "recall of two words, 10 hits": f"/api/v1/recall?limit=10&context={words[0]}+{words[1]}",
        "search of one word, 10 hits": f"/api/v1/search?limit=10&q={words[0]}",
        "list of 20": "/api/v1/memories?limit=20",
        "one by its id": f"/api/v1/memories/{server.ids[0]}",
    }[kind]


def row(kind, server, rounds, size):
    median = lambda key: statistics.median(one[key] for one in rounds)
    errors = sum(one["errors"] for one in rounds)
    print(f"| {kind} | {server.name} | {median('a second'):,.0f} | {median('p50 ms'):.2f} | {median('p99 ms'):.2f} | "
          f"{median('CPU ms'):.3f} | {size} |" + (f" {errors} errors" if errors else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("ai_memory")
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--memories", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed (Debian: wrk)")
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        try:
            for kind, name, program in [(Server, "memdir", options.memdir), (AiMemory, "ai-memory", options.ai_memory)]:
                store = os.path.join(folder, name)
                os.makedirs(os.path.join(store, "files"))
                server = kind(os.path.realpath(program), store)
                server.name = name
                servers.append(server)
                begun = time.monotonic()
                server.ids = fill(server, options.memories)
                print(f"{name}: {options.memories} memories in {time.monotonic() - begun:.1f} s", flush=True)
            print("\n| request | server | answers a second | p50 ms | p99 ms | CPU ms each | an answer |")
            print("| --- | --- | --- | --- | --- | --- | --- |")
            words = ",".join(f'"{word}"' for word in ASKED)
            for kind, path in READS.items():
                told = {server.name: [] for server in servers}
                for turn in range(options.rounds):
                    for server in servers:
                        ids = "local ids = {%s}\n" % ",".join(f'"{one}"' for one in server.ids[:2000])
                        script = SCRIPT % (words, turn) + ids + f'request = function() return wrk.format("GET", {path}) end\n'
                        told[server.name].append(load(server, script, 64, options.seconds, folder))
                for server in servers:
                    size, count = example(server, asked_of(kind, server))
                    row(kind, server, told[server.name], f"{size:,} bytes, {count} memories")
            told = {server.name: [] for server in servers}
            for turn in range(options.rounds):
                for server in servers:
                    script = SCRIPT % (words, turn) + WRITE % (WORDS_EACH, turn)
                    told[server.name].append(load(server, script, 8, options.seconds, folder))
            for server in servers:
                row("a write, 8 connections", server, told[server.name], "")
        finally:
            for server in servers:
                server.process.kill()
                server.process.wait()


if __name__ == "__main__":
    main()
