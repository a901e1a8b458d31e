#!/usr/bin/env python3
"""Times of a server on a workspace in PostgreSQL beside those of one on a folder with the same memories.

    tests/team/with_postgres.sh python3 benches/team.py --memdir PROGRAM [--memories 10000] [--calls 300]

PROGRAM is a release build with the feature `team`. Prints p50 and p99 in milliseconds of searching, reading one memory and
storing one, by one client and by eight; the time of the first answer with an empty cache; and bytes a memory in the
database. The texts are made up, the same on every run.
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

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
        body = None if body is None else json.dumps(body)
        self.connection.request(method, self.server.prefix + "/api/v1" + path, body, headers)
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {said[:300]}")
        return json.loads(said)


def measured(server, clients, calls, make):
    """Times of `calls` calls by each client, in milliseconds."""
    times = []

    def work(number):
        client, dice, own = server.client(), random.Random(number), []
        for call in range(calls):
            method, path, body = make(dice, call, number)
            begun = time.perf_counter()
            client.ask(method, path, body)
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memdir", required=True)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
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
        on_folder = Server(given.memdir, ["--store", store, *listen], environment, "", f"{store}/.memdir/tokens")
        on_rows = Server(given.memdir, [*listen, "--database", "--cache", cache], environment, "/w/bench",
                         f"{cache}/tokens")
        begun = time.perf_counter()
        on_rows.client().ask("GET", "/search?q=harbour+gauge")
        print(f"first answer with an empty cache: {time.perf_counter() - begun:.2f} s")
        path = lambda dice: "+".join(dice.sample(WORDS, 3))
        kinds = {
            "search": lambda dice, call, number: ("GET", f"/search?q={path(dice)}", None),
            "read": lambda dice, call, number: ("GET", f"/memories/{dice.choice(ids)}", None),
            "store": lambda dice, call, number: ("POST", "/memories", {
                "title": f"{dice.random()} {call} {number} {time.time_ns()}", "content": text(dice), "tier": "long"}),
        }
        # Until both have indexed everything.
        for server in (on_folder, on_rows):
            measured(server, 1, 60, kinds["search"])
        for name, make in kinds.items():
            for clients in (1, 8):
                calls = given.calls if clients == 1 else given.calls // 4
                for shown, server in (("folder", on_folder), ("rows", on_rows)):
                    middle, slow, rate = measured(server, clients, calls, make)
                    print(f"{name:7} {clients} clients  {shown:7} p50 {middle:7.2f} ms  p99 {slow:7.2f} ms  "
                          f"{rate:6.0f} a second")
        on_folder.end()
        on_rows.end()


main()
