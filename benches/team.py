#!/usr/bin/env python3
"""Times of a server on a workspace in PostgreSQL beside those of one on a folder with the same memories.

    tests/team/with_postgres.sh python3 benches/team.py --memdir PROGRAM [--memories 10000] [--calls 300] [--cold]

PROGRAM is a release build with the feature `team`. Prints p50 and p99 in milliseconds of the tools `think`, `recall` of one
memory and `remember` by MCP, by one client and by eight; and of the first answer with an empty cache, from the rows and from a copy of
the index, which needs `psql`. `--cold` prints the latter alone. The texts are made up, the same on every run.
"""

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

WORDS = ("harbour gauge tide ledger kiln studio lease invoice backup deploy branch merge index vector river bridge "
         "garden letter customer village morning window engine piston valve copper willow lantern ribbon anchor").split()


def text(dice):
    return " ".join(dice.choice(WORDS) for _ in range(90)) + f" {dice.randrange(10**9)}."


class Server:
    def __init__(self, program, arguments, environment, prefix, tokens):
        self.process = subprocess.Popen([program, *arguments], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://(127\.0\.0\.1:\d+)", line)
            if found:
                break
        self.address = found[1]
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.prefix = prefix
        self.token = open(tokens).read().split()[-1]

    def client(self):
        return Client(self)

    def end(self):
        self.process.terminate()
        self.process.wait()


class Client:
    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection(server.address)

    def ask(self, method, path, body=None, prefix=None):
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
        body = None if body is None else json.dumps(body)
        self.connection.request(method, (prefix or self.server.prefix) + "/api/v1" + path, body, headers)
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status == 503:
            # It goes on to open the workspace, or to make its index.
            time.sleep(int(answer.headers["Retry-After"] or 0))
            return self.ask(method, path, body, prefix)
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {said[:300]}")
        return json.loads(said)

    def call(self, tool, arguments, place=None):
        """One call of a tool by MCP, without a session."""
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": tool, "arguments": arguments, "_meta": meta}}
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                   "Mcp-Method": "tools/call", "Mcp-Name": tool}
        place = self.server.prefix if place is None else place
        self.connection.request("POST", place + "/mcp", json.dumps(message), headers)
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status >= 300 or b'"result"' not in said or b'"isError":true' in said:
            sys.exit(f"{tool}: {answer.status} {said[:300]}")


def tools(ids, places=(None,)):
    """The calls that agents make, at a workspace drawn at random; each is made of dice."""
    return {
        "think": lambda dice: ("think", {"query": " ".join(dice.sample(WORDS, 3))}, dice.choice(places)),
        "recall": lambda dice: ("recall", {"ids": [dice.choice(ids)]}, dice.choice(places)),
        # A text that is there already would not be stored.
        "remember": lambda dice: ("remember", {"content": f"{text(dice)} {time.time_ns()}", "user": "mira",
                                               "agent": "bench", "topics": ["bench"]}, dice.choice(places)),
    }


def measured(servers, clients, calls, make, preferred=None):
    """Times of `calls` calls by each client, in milliseconds: p50, p99, and calls a second. Each client has one server, or
    asks the one that `preferred` names for the place of the call."""
    times = []

    def work(number):
        known, dice, own = {}, random.Random(number), []
        for _ in range(calls):
            asked = make(dice)
            server = preferred[asked[2]] if preferred else servers[number % len(servers)]
            if server not in known:
                known[server] = server.client()
            begun = time.perf_counter()
            known[server].call(*asked)
            own.append((time.perf_counter() - begun) * 1000)
        times.extend(own)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    seconds = time.perf_counter() - begun
    return times[len(times) // 2], times[int(len(times) * 0.99)], len(times) / seconds


def sql(database, statement):
    return subprocess.run(["psql", "-XAtqc", statement, database], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def cold(start, database):
    """Prints the times of first answers of servers with empty caches."""
    for shown in ("from the rows", "from a copy of the index"):
        if shown == "from the rows":
            sql(database, "DELETE FROM index_copy")
        with tempfile.TemporaryDirectory() as cache:
            server = start(cache)
            times = []
            for words in ("harbour+gauge", "lantern+ribbon+studio", "valve+customer"):
                begun = time.perf_counter()
                server.client().ask("GET", f"/search?q={words}")
                times.append(f"{time.perf_counter() - begun:.2f} s")
            print(f"empty cache, {shown}: the first three answers after {', '.join(times)}")
            begun = time.perf_counter()
            while not sql(database, "SELECT number FROM index_copy WHERE number > 0"):
                time.sleep(0.2)
            if shown == "from the rows":
                print(f"the copy was there {time.perf_counter() - begun:.1f} s later:",
                      sql(database, "SELECT count(*), sum(length(bytes)) FROM index_piece"), "(pieces, bytes)")
            server.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memdir", required=True)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    admin = os.environ["MEMDIR_TEST_POSTGRES"]
    with tempfile.TemporaryDirectory() as folder:
        home, store, cache = (os.path.join(folder, name) for name in ("home", "store", "cache"))
        os.makedirs(home)
        environment = {"HOME": home, "PATH": os.environ["PATH"], "MEMDIR_DATABASE": admin, "MEMDIR_EMBEDDING": "off",
                       "MEMDIR_GIT": "off"}
        run = lambda *words: subprocess.run([given.memdir, *words], env=environment, check=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        dice = random.Random(7)
        source = os.path.join(folder, "memories.jsonl")
        with open(source, "w") as lines:
            for number in range(given.memories):
                line = {"id": str(number), "timestamp": f"2025-0{1 + number % 9}-{1 + number % 28:02}T08:00:00Z",
                        "user": "mira", "agent": "bench", "text": text(dice)}
                lines.write(json.dumps(line) + "\n")
        run("init", store)
        run("--store", store, "import", "--from", "jsonl", source)
        run("team", "migrate")
        run("team", "create", "bench")
        begun = time.perf_counter()
        run("team", "import", "bench", store)
        print(f"copied {given.memories} memories into the workspace in {time.perf_counter() - begun:.1f} s")
        ids = [one["id"] for one in json.loads(run("--store", store, "list", "--json", "--limit", "2000"))["memories"]]
        listen = ["serve", "--listen", "127.0.0.1:0", "--reads-per-second", "0", "--writes-per-second", "0"]
        on_rows_in = lambda cache: Server(given.memdir, [*listen, "--database", "--cache", cache], environment,
                                          "/w/bench", f"{cache}/tokens")
        if given.cold:
            cold(on_rows_in, admin)
            return
        on_folder = Server(given.memdir, ["--store", store, *listen], environment, "", f"{store}/.memdir/tokens")
        on_rows = on_rows_in(cache)
        kinds = tools(ids)
        # Until both have indexed everything.
        for server in (on_folder, on_rows):
            measured([server], 1, 60, kinds["think"])
        for name, make in kinds.items():
            for clients in (1, 8):
                calls = given.calls if clients == 1 else given.calls // 4
                for shown, server in (("folder", on_folder), ("rows", on_rows)):
                    middle, slow, rate = measured([server], clients, calls, make)
                    print(f"{name:8} {clients} clients  {shown:7} p50 {middle:7.2f} ms  p99 {slow:7.2f} ms  "
                          f"{rate:6.0f} a second")
        on_folder.end()
        on_rows.end()
        cold(on_rows_in, admin)


if __name__ == "__main__":
    main()
