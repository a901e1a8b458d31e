#!/usr/bin/env python3
"""Measures how soon changes are found by running servers, what idle servers cost, and how fast a store is caught up with.

usage: benches/freshness.py STORE [--memdir PROGRAM] [--rounds 200] [--idle 10] [--edits 1000]

STORE is a store of notes that may be changed; a small one is made if the folder has no `files/`. Prints a table:
  - new file, appended line, deletion: from the change by another program to the first answer of a server that says so,
    asking again and again (median, p99);
  - the same for a memory remembered through one server and searched through another;
  - idle servers: CPU and private and shared memory of each over 30 s;
  - start to the first answer with a warm index, with and without another server running;
  - catch-up: a whole `memdir think` after 1,000 outside edits, and after one edit in place.
Linux only.
"""
import argparse
import glob
import os
import random
import statistics
import subprocess
import sys
import time

from mcp_server import Server

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML"))}


def note(handle, text):
    return (f"---\nid: {handle}\ntimestamp: 2026-01-01T00:00:00+00:00\nagent: a\nuser: u\n"
            f"topics: [bench]\n---\n\n{text}\n")


class Bench:
    def __init__(self, program, store):
        self.program, self.store = program, store
        self.files = os.path.join(store, "files")
        os.makedirs(self.files, exist_ok=True)
        self.dice = random.Random(7)

    def path(self, number):
        return os.path.join(self.files, f"20260101_000000_f{number:07x}.md")

    def write(self, number, text):
        temp = os.path.join(self.store, "bench.tmp")
        with open(temp, "w") as file:
            file.write(note(f"f{number:07x}", text))
        os.rename(temp, self.path(number))

    def server(self):
        return Server(self.program, self.store, ENVIRONMENT)

    def run(self, *arguments):
        began = time.perf_counter()
        before = os.times()
        subprocess.run([self.program, "--store", self.store, *arguments], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return 1000 * (time.perf_counter() - began), 1000 * cpu


def until(server, keyword, is_there):
    """Milliseconds until the server's answer for `keyword` is as wanted."""
    began = time.perf_counter()
    while True:
        found = server.call("think", {"keywords": [keyword]})["results"]
        if bool(found) == is_there:
            return 1000 * (time.perf_counter() - began)


def row(name, times, unit="ms"):
    times = sorted(times)
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{name:<44} {statistics.median(times):9.2f} {p99:9.2f} {times[-1]:9.2f} {unit}", flush=True)


def visibility(bench, rounds):
    server, other = bench.server(), bench.server()
    until(server, "nosuchwordatall", False)
    until(other, "nosuchwordatall", False)
    new, appended, gone, remembered = [], [], [], []
    for number in range(rounds):
        time.sleep(bench.dice.uniform(0, 0.05))  # So that the rounds meet every phase of the servers.
        bench.write(number, f"zqnew{number}")
        new.append(until(server, f"zqnew{number}", True))
        time.sleep(bench.dice.uniform(0, 0.05))
        with open(bench.path(number), "a") as file:
            file.write(f"zqmore{number}\n")
        appended.append(until(server, f"zqmore{number}", True))
        time.sleep(bench.dice.uniform(0, 0.05))
        os.unlink(bench.path(number))
        gone.append(until(server, f"zqmore{number}", False))
        said = other.call("remember", {"agent": "a", "user": "u", "topics": ["bench"], "content": f"zqsaid{number}"})
        remembered.append(until(server, f"zqsaid{number}", True))
        assert said
    row("new file → found by a server", new)
    row("appended line → found by a server", appended)
    row("deleted file → not found by a server", gone)
    row("remembered by one server → found by another", remembered)
    server.close()
    other.close()


def ticks(server):
    """CPU of all threads, ended ones too, in hundredths of a second."""
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def idle(bench, count):
    servers = [bench.server() for _ in range(count)]
    for server in servers:
        until(server, "nosuchwordatall", False)
    time.sleep(3)
    before = [ticks(server) for server in servers]
    time.sleep(30)
    used = [10.0 * (ticks(server) - old) for server, old in zip(servers, before)]
    private = []
    for server in servers:
        with open(f"/proc/{server.process.pid}/smaps_rollup") as rollup:
            sizes = dict(line.split(":") for line in rollup if ":" in line and line.rstrip().endswith("kB"))
        private.append(sum(int(sizes[key].split()[0]) for key in ("Private_Clean", "Private_Dirty")) / 1024)
    row(f"{count} idle servers: CPU of each in 30 s", used)
    row(f"{count} idle servers: resident", [server.rss_mb() for server in servers], "MB")
    row(f"{count} idle servers: private part", private, "MB")
    for server in servers:
        server.close()


def first_answer(bench):
    began = time.perf_counter()
    server = bench.server()
    server.call("think", {"keywords": ["nosuchwordatall"]})
    took = 1000 * (time.perf_counter() - began)
    return server, took


def starts(bench):
    times = []
    for _ in range(10):
        server, took = first_answer(bench)
        times.append(took)
        server.close()
    row("start of a server to its first answer", times)
    running = bench.server()
    until(running, "nosuchwordatall", False)
    time.sleep(2)
    times = []
    for _ in range(10):
        server, took = first_answer(bench)
        times.append(took)
        server.close()
    row("the same, another server running", times)
    row("memdir think, a server running (wall)", [bench.run("think", "-k", "raresyncword")[0] for _ in range(10)])
    row("memdir think, a server running (CPU)", [bench.run("think", "-k", "raresyncword")[1] for _ in range(10)])
    running.close()
    row("memdir think, nobody running (wall)", [bench.run("think", "-k", "raresyncword")[0] for _ in range(10)])
    row("memdir think, nobody running (CPU)", [bench.run("think", "-k", "raresyncword")[1] for _ in range(10)])


def catch_up(bench, edits):
    names = sorted(glob.glob(os.path.join(bench.files, "*.md")))
    chosen = bench.dice.sample(names, min(edits, len(names)))
    for name in chosen:
        with open(name, "a") as file:
            file.write("\nzqedited by hand\n")
    row(f"memdir think after {len(chosen)} outside edits", [bench.run("think", "-k", "zqedited")[0]])
    row("memdir think once more", [bench.run("think", "-k", "zqedited")[0]])
    with open(chosen[0], "a") as file:
        file.write("zqlast\n")
    row("memdir think after one edit in place", [bench.run("think", "-k", "zqlast")[0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--idle", type=int, default=10)
    parser.add_argument("--edits", type=int, default=1000)
    arguments = parser.parse_args()
    bench = Bench(os.path.abspath(arguments.memdir), arguments.store)
    if not os.listdir(bench.files):
        for number in range(1000, 2000):
            bench.write(number, f"note {number}")
    began = bench.run("reindex")
    print(f"{len(os.listdir(bench.files))} files; reindex {began[0]:.0f} ms, CPU {began[1]:.0f} ms")
    print(f"{'':<44} {'median':>9} {'p99':>9} {'most':>9}")
    starts(bench)
    visibility(bench, arguments.rounds)
    if arguments.idle:
        idle(bench, arguments.idle)
    catch_up(bench, arguments.edits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
