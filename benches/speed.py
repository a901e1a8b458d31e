#!/usr/bin/env python3
"""Measures what memdir costs on a store of N memories: the figures of docs/PERFORMANCE.md.

usage: benches/speed.py [--memdir PROGRAM] [--notes 10000] [--store DIR] [--rounds 200] [--only WORD] [--json FILE]

Makes N notes of about 1.9 KB in a temporary store, or takes those of `--store DIR`, which keeps its notes and gets some
more. Then it prints a table: full reindex, whole commands with and without a server beside them, calls of a server
over MCP, memory, bytes on disk. CPU is user and system time, which a busy machine disturbs less than the clock does.
Where a bar is set for the number of memories it stands beside the figure, with "over" where it is missed. Git and
models are off: benches/commits.py and benches/embedding.py measure those.

`--only` takes those groups whose name holds the word: reindex, commands, server, memory, grep, visible.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

from mcp_server import Server
from measure import Cost, bytes_below, memory_of, spread
from notes import make_notes, questions, texts

SIZES = (10_000, 100_000, 1_000_000)
# What is to be reached, for so many memories.
BARS = {
    "full reindex, CPU s": (3, 30, 330),
    "full reindex, peak RSS MB": (None, None, 600),
    "`think`, a server running, wall p50 ms": (12, 25, 80),
    "`think`, nobody running, wall p50 ms": (25, 170, 1700),
    "`reindex` with nothing to do, wall p50 ms": (15, 150, 1600),
    "`think` query, asked first, CPU p50 ms": (0.5, 3, 30),
    "`think` query, asked first, wall p99 ms": (2, None, None),
    "warm `think` query, CPU p50 ms": (0.5, 3, 30),
    "warm `think` query, wall p99 ms": (2, None, None),
    "`think` query, one of 60 asked again, CPU p50 ms": (0.5, 3, 30),
    "`think` query, one of 60 asked again, wall p99 ms": (2, None, None),
    "warm `think` keywords, wall p50 ms": (2, 15, 150),
    "`recall` of one id, wall p50 ms": (0.3, 0.3, 0.5),
    "`remember`, CPU p50 ms": (1, 1, 2),
    "grep of a rare literal / ripgrep, wall": (1 / 3, 1 / 10, 1 / 20),
    "idle server, RSS MB": (30, 60, 250),
    "idle server, private MB": (17, 35, 120),
    "index bytes / memory bytes": (1.5, 1.5, 1.5),
    "`--version`, wall p50 ms": (4, 4, 4),
    "`initialize`, wall p50 ms": (30, 30, 30),
}


class Table:
    """Rows as they are measured, each told at once."""

    def __init__(self, notes):
        self.column = SIZES.index(notes) if notes in SIZES else None
        self.rows = {}

    def add(self, label, value):
        self.rows[label] = value
        bar = BARS.get(label, (None,) * 3)[self.column] if self.column is not None else None
        tail = "" if bar is None else f"  bar {bar:g}" + ("  over" if value > bar else "")
        print(f"{label:<55} {value:>10.3f}{tail}", flush=True)


class Bench:
    def __init__(self, arguments, store, notes):
        self.program = os.path.abspath(arguments.memdir)
        self.store = store
        self.files = os.path.join(store, "files")
        self.rounds = arguments.rounds
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML"))}
        self.environment |= {"MEMDIR_STORE": store, "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "false",
                             "MEMDIR_EMBEDDING": "off", "XDG_CONFIG_HOME": os.path.join(store, "none")}
        self.table = Table(notes)
        self.questions = questions(max(200, arguments.rounds))

    def run(self, *arguments):
        cost = Cost([self.program, *arguments], self.environment)
        if cost.code == 2:
            sys.exit(f"{arguments} failed")
        return cost

    def costs(self, label, runs):
        """Adds the wall and CPU times of some runs of the program."""
        runs = list(runs)
        wall, cpu = spread([run.wall_ms for run in runs]), spread([run.cpu_ms for run in runs])
        self.table.add(f"{label}, wall p50 ms", wall[0])
        self.table.add(f"{label}, wall p99 ms", wall[1])
        self.table.add(f"{label}, CPU p50 ms", cpu[0])

    @contextlib.contextmanager
    def server(self):
        """A server that has nothing left to do."""
        server = Server(self.program, self.store, self.environment)
        try:
            server.call("think", {"query": "warm up"})
            server.rest()
            yield server
        finally:
            server.close()

    def reindex(self):
        runs = [self.run("reindex", "--full") for _ in range(1 if self.count() > 200_000 else 3)]
        best = min(runs, key=lambda run: run.cpu_ms)
        self.table.add("full reindex, CPU s", best.cpu_ms / 1000)
        self.table.add("full reindex, wall s", best.wall_ms / 1000)
        self.table.add("full reindex, peak RSS MB", best.rss_mb)
        self.table.add("index bytes / memory bytes", bytes_below(os.path.join(self.store, ".memdir")) / bytes_below(self.files))

    def count(self):
        return len(os.listdir(self.files))

    def commands(self):
        few = min(self.rounds, 40)
        self.costs("`--version`", (self.run("--version") for _ in range(self.rounds)))
        self.run("think", "warm", "up")
        asked = self.questions
        self.costs("`think`, nobody running", (self.run("think", *asked[i].split()) for i in range(few)))
        self.costs("`reindex` with nothing to do", (self.run("reindex") for _ in range(few)))
        with self.server():
            self.costs("`think`, a server running", (self.run("think", *asked[i % 200].split()) for i in range(self.rounds)))
            names = random.Random(3).sample(sorted(os.listdir(self.files)), few)
            self.costs("`recall`, a server running", (self.run("recall", name[:-3]) for name in names))

    def calls(self, server, label, tool, asked):
        cpu, wall = [], []
        for arguments in asked:
            before, began = server.cpu_ms(), time.perf_counter()
            server.call(tool, arguments)
            wall.append(1000 * (time.perf_counter() - began))
            cpu.append(server.cpu_ms() - before)
        wall, cpu = spread(wall), spread(cpu)
        self.table.add(f"{label}, CPU p50 ms", cpu[0])
        self.table.add(f"{label}, CPU p99 ms", cpu[1])
        self.table.add(f"{label}, wall p50 ms", wall[0])
        self.table.add(f"{label}, wall p99 ms", wall[1])

    def server_calls(self):
        starts = []
        for _ in range(20):
            server = Server(self.program, self.store, self.environment)
            starts.append(server.initialize_ms)
            server.close()
        self.table.add("`initialize`, wall p50 ms", statistics.median(starts))
        with self.server() as server:
            asked = [self.questions[i % 200] for i in range(self.rounds)]
            # Other questions than those that the server has answered, and the same again.
            self.calls(server, "`think` query, asked first", "think", [{"query": text} for text in asked])
            self.calls(server, "warm `think` query", "think", [{"query": text} for text in asked])
            # What a server keeps of the memories that it read is enough for so many, as a session asks them.
            session = [{"query": text} for text in self.questions[:60]]
            for arguments in session:
                server.call("think", arguments)
            self.calls(server, "`think` query, one of 60 asked again", "think", session * 3)
            # Words that are in at most one memory of a hundred.
            words = [word for word in (question.split()[-1] for question in self.questions)]
            counted = {word: server.call("think", {"keywords": [word], "limit": 1}).get("total_count") for word in set(words)}
            rare = [word for word in words if (counted[word] or 0) <= self.count() / 100]
            common = [word for word in words if word not in rare]
            self.calls(server, "warm `think` keywords", "think", [{"keywords": [rare[i % len(rare)]]} for i in range(self.rounds)])
            if common:
                self.calls(server, "warm `think` common keywords", "think", [{"keywords": [word]} for word in common[:60]])
            self.calls(server, "warm `think` keywords of two letters", "think", [{"keywords": [two]} for two in ("ba", "qu", "zo", "ti")])
            names = random.Random(5).choices(sorted(os.listdir(self.files)), k=self.rounds)
            self.calls(server, "`recall` of one id", "recall", [{"memory_ids": [name[-11:-3]]} for name in names])
            fresh = [{"agent": "bench", "user": "bench", "topics": ["bench", "speed"], "content": text}
                     for text in texts(min(self.rounds, 100))]
            # One at a time, as an agent does: each has been committed to the index before the next one comes.
            cpu, wall = [], []
            for arguments in fresh:
                before, began = server.cpu_ms(), time.perf_counter()
                server.call("remember", arguments)
                wall.append(1000 * (time.perf_counter() - began))
                cpu.append(server.cpu_ms() - before)
                if len(cpu) % 5 == 0:
                    server.rest()
            self.table.add("`remember`, CPU p50 ms", statistics.median(cpu))
            self.table.add("`remember`, wall p50 ms", statistics.median(wall))
            self.table.add("`remember`, wall p99 ms", spread(wall)[1])

    def memory(self):
        # Each client starts a server of its own: what is private is what the second one takes.
        with self.server(), self.server() as server:
            resident, private = memory_of(server.process.pid)
            self.table.add("idle server, RSS MB", resident)
            self.table.add("idle server, private MB", private)
            for question in self.questions:
                server.call("think", {"query": question})
            resident, private = memory_of(server.process.pid)
            self.table.add("server after 200 questions, RSS MB", resident)
            self.table.add("server after 200 questions, private MB", private)

    def grep(self):
        if not shutil.which("rg"):
            print("ripgrep is not installed: no comparison with it")
            return
        with self.server():
            times = {"memdir": [], "rg": []}
            for i in range(20):
                word = f"zqneedle{i % 20} here"
                ours = self.run("grep", word)
                theirs = Cost(["rg", "--no-heading", "--sort=none", word, "files"], self.environment, self.store)
                if len(ours.out.splitlines()) != len(theirs.out.splitlines()):
                    sys.exit(f"grep and ripgrep differ about {word}")
                times["memdir"].append(ours.wall_ms)
                times["rg"].append(theirs.wall_ms)
            ours, theirs = statistics.median(times["memdir"]), statistics.median(times["rg"])
            self.table.add("grep of a rare literal, wall p50 ms", ours)
            self.table.add("ripgrep, wall p50 ms", theirs)
            self.table.add("grep of a rare literal / ripgrep, wall", ours / theirs)

    def visible(self):
        with self.server() as server:
            seen = elsewhere = 0
            for number in range(20):
                word = f"zqfresh{number}x{random.randrange(10**9)}"
                stored = server.call("remember", {"agent": "bench", "user": "bench", "topics": ["bench"],
                                                  "content": f"The word is {word}."})
                hits = server.call("think", {"keywords": [word]})["results"]
                seen += [hit["id"] for hit in hits] == [stored["memory_id"]]
                out = self.run("--json", "think", "--keywords", word).out
                elsewhere += [hit["id"] for hit in json.loads(out)] == [stored["memory_id"]]
            self.table.add("seen by the next `think` of the same process, of 20", seen)
            self.table.add("seen by another process's next command, of 20", elsewhere)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--notes", type=int, default=10000)
    parser.add_argument("--store", metavar="DIR")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        store = os.path.abspath(arguments.store or temporary)
        files = os.path.join(store, "files")
        if not os.path.isdir(files):
            os.makedirs(files)
            make_notes(files, arguments.notes)
        count = len(os.listdir(files))
        rounded = next((size for size in SIZES if abs(count - size) <= size / 100), count)
        print(f"{count} memories, {bytes_below(files) / 1e6:.1f} MB, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
              f"program {os.path.getsize(arguments.memdir) / 1e6:.1f} MB\n")
        bench = Bench(arguments, store, rounded)
        groups = {"reindex": bench.reindex, "commands": bench.commands, "server": bench.server_calls,
                  "memory": bench.memory, "grep": bench.grep, "visible": bench.visible}
        for name, group in groups.items():
            if arguments.only in name:
                group()
        if arguments.json:
            with open(arguments.json, "w") as out:
                json.dump({"memories": count, "rows": bench.table.rows}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
