#!/usr/bin/env python3
"""Measures what grows with use: memory of a server, the journals, `.git`, and the time to start.

usage: benches/growth.py [--memdir PROGRAM] [--calls 3000] [--only mixed,recalls,journal] [--check] [--maps]

Three runs, each in a temporary store with git on, by calls of one server over MCP:
  - mixed: CALLS calls, of 100: 55 `recall`, 30 `think`, 10 `remember`, 5 `remember` in the place of another
    memory. Resident memory after each tenth of
    the calls; the sizes of memories, journals and `.git` at the end;
  - recalls: 500 memories, then CALLS calls of `recall`. The same, and what a server and a command need to start before
    and after: CPU in ms, the least of five;
  - journal: a store whose current journal has 4 MB of uses, as memdir 0.1 left it: what each of 20 memories, remembered
    by commands, adds to `.git`; and the same without such a journal.

`--check` compares with bars, which are ratios and sizes and no times of a clock, and exits with 1 if one is missed: run
with 3,000 calls it takes half a minute, with 100,000 it makes the figures of docs/RELIABILITY.md. `--maps` prints
where the memory of the mixed run lies, by kind of mapping. Linux only.
"""
import argparse
import collections
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time

from mcp_server import Server
from measure import Cost

WORDS = ("amber basil cedar delta ember fjord gravel harbor indigo juniper kernel lantern meadow nectar orchid pebble "
         "quartz river saddle timber umber velvet willow xenon yarrow zephyr").split()
OLD_JOURNAL_BYTES = 4_000_000
KIB = 1024


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "GIT_"))}
    return {**kept, "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "on",
            "MEMDIR_EMBEDDING": "off"}


def resident_mb(process):
    """Resident memory, and the part of it that no file stands behind."""
    with open(f"/proc/{process}/status") as status:
        status = status.read()
    return [int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "RssAnon")]


def mappings(process):
    """Resident MB by kind: the heap of the main thread, other anonymous memory, packs of git, the index, the program."""
    of_file = {"/.git/": "git", "/.memdir/": "index"}
    kinds = collections.Counter()
    kind = None
    with open(f"/proc/{process}/smaps") as lines:
        for line in lines:
            head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)", line)
            if head:
                name = head[1]
                kind = name or "anonymous"
                if name.startswith("/"):
                    found = (kind for part, kind in of_file.items() if part in name)
                    kind = next(found, "program and libraries")
            elif line.startswith("Rss:"):
                kinds[kind] += int(line.split()[1]) / 1024
    return {kind: round(size, 1) for kind, size in kinds.most_common() if size >= 0.1}


def text(chance, number):
    return f"# Note {number}\n\n" + " ".join(chance.choice(WORDS) for _ in range(90)) + f" {number}."


def remember(server, chance, number, **more):
    reply = server.call("remember", {"agent": "bench", "user": "bench", "topics": [chance.choice(WORDS)],
                                     "content": text(chance, number), **more})
    return reply["memory_id"]


def deal(server, chance, ids):
    """One call of the mixed run."""
    draw = chance.random()
    if draw < 0.55 and ids:
        server.call("recall", {"memory_ids": [chance.choice(ids)]})
    elif draw < 0.85 and ids:
        server.call("think", {"query": " ".join(chance.sample(WORDS, 3))})
    elif draw < 0.90 and ids:
        at = chance.randrange(len(ids))
        ids[at] = remember(server, chance, len(ids) + at, supersedes=ids[at])
    else:
        ids.append(remember(server, chance, len(ids)))


def size_of(folder):
    """The bytes of all files below, some of which may go meanwhile."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size
    return total


def sizes(store):
    parts = {"memories": "files", "journals": "journal", ".git": ".git"}
    return {name: size_of(os.path.join(store, part)) for name, part in parts.items()}


def told(sizes):
    return ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in sizes.items())


def starts(program, store, env):
    """CPU in ms until a server has answered the first call, and of `memdir inspect`, which wants to know all uses: the
    least of five."""
    served, commands = [], []
    [name, *_] = os.listdir(os.path.join(store, "files"))
    for _ in range(5):
        server = Server(program, store, env)
        server.call("think", {"query": "amber"})
        served.append(server.cpu_ms())
        server.close()
        commands.append(Cost([program, "--store", store, "inspect", name.removesuffix(".md")], env).cpu_ms)
    return min(served), min(commands)


class Run:
    def __init__(self, arguments):
        self.program = os.path.abspath(arguments.memdir)
        self.calls = arguments.calls
        self.maps = arguments.maps
        self.missed = []

    def bar(self, label, value, most, unit):
        is_missed = value > most
        print(f"    {label}: {value:.1f} {unit} (bar {most:.1f}){'  MISSED' if is_missed else ''}", flush=True)
        if is_missed:
            self.missed.append(label)

    def serve(self, server, store, deal):
        """Deals all calls; the most memory seen after a tenth of them."""
        most = [0, 0]
        for number in range(self.calls):
            deal()
            if (number + 1) % max(1, self.calls // 10) == 0:
                resident = resident_mb(server.process.pid)
                most = [max(pair) for pair in zip(most, resident)]
                print(f"    {number + 1:>7} calls: {resident[0]:.1f} MB resident, {resident[1]:.1f} anonymous; "
                      f"{told(sizes(store))}", flush=True)
                if self.maps:
                    print("           ", mappings(server.process.pid), flush=True)
        return most

    def mixed(self, store, env):
        server, chance, ids = Server(self.program, store, env), random.Random(12), []
        began = time.monotonic()
        resident, anonymous = self.serve(server, store, lambda: deal(server, chance, ids))
        print(f"    {len(ids)} memories in {time.monotonic() - began:.0f} s; {told(sizes(store))}")
        # A debug build is 150 MB of program, half of which is soon resident.
        if os.path.getsize(self.program) < 80e6:
            self.bar("resident", resident, 80, "MB")
        self.bar("anonymous", anonymous, 55, "MB")
        server.close()

    def recalls(self, store, env):
        server, chance = Server(self.program, store, env), random.Random(12)
        ids = [remember(server, chance, number) for number in range(500)]
        server.rest()
        server.close()
        before = starts(self.program, store, env)
        server = Server(self.program, store, env)
        self.serve(server, store, lambda: server.call("recall", {"memory_ids": [chance.choice(ids)]}))
        server.close()
        # A server sums old journals up when it starts, and every half hour.
        server = Server(self.program, store, env)
        server.rest(2)
        server.close()
        subprocess.run([self.program, "--store", store, "sync"], env=env, check=True, capture_output=True)
        found, after = sizes(store), starts(self.program, store, env)
        print(f"    {told(found)}; {len(os.listdir(os.path.join(store, 'journal')))} journals")
        print(f"    a server starts in {before[0]:.0f} ms of CPU before, {after[0]:.0f} ms after; "
              f"a command {before[1]:.0f} ms before, {after[1]:.0f} ms after")
        # The current journal, old ones that are not summed up yet, and a sum of 500 memories.
        self.bar("journals", found["journals"] / KIB, 1024, "KiB")

    def journal(self, store, env):
        added = {}
        for label, size in (("empty", 0), ("old", OLD_JOURNAL_BYTES)):
            folder = os.path.join(store, label)
            run = lambda *words: subprocess.run([self.program, "--store", folder, *words], env=env, check=True,
                                                capture_output=True, text=True).stdout
            run("init", folder)
            run("remember", "The first memory.")
            [name] = os.listdir(os.path.join(folder, "journal"))
            chance = random.Random(12)
            with open(os.path.join(folder, "journal", name), "a") as journal:
                while journal.tell() < size:
                    second = journal.tell() // 85
                    days = second // 86400
                    day = f"2026-{days // 28 % 9 + 1:02}-{days % 28 + 1:02}"
                    hour = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
                    moment = f"{day}T{hour}.{chance.randrange(10**6):06}Z"
                    journal.write('{"t":"%s","used":["20260101_000000_%08x"]}\n' % (moment, chance.randrange(2000)))
            run("sync")
            before = size_of(os.path.join(folder, ".git"))
            for number in range(20):
                run("remember", f"Memory number {number}.")
            added[label] = (size_of(os.path.join(folder, ".git")) - before) / 20 / KIB
            print(f"    each memory adds {added[label]:.1f} KiB to `.git`, with {size / 1e6:.0f} MB of uses", flush=True)
        self.bar("what the old journal adds to a commit", added["old"] - added["empty"], 8, "KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--only", default="mixed,recalls,journal")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--maps", action="store_true")
    arguments = parser.parse_args()
    run = Run(arguments)
    for name in arguments.only.split(","):
        print(f"{name}:", flush=True)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
            store = os.path.join(work, "store")
            env = environment(work)
            if name != "journal":
                Cost([run.program, "init", store], env)
            getattr(run, name)(store, env)
    if arguments.check and run.missed:
        print("missed:", ", ".join(run.missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
