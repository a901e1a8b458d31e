#!/usr/bin/env python3
"""memdir beside other programs, on the same notes: what each takes for the same work.

usage: benches/side-by-side/run.py [--memdir PROGRAM] [--notes 10000] [--store DIR] [--rounds 40] [--only WORD]
                                   [--json FILE]

Makes N notes of about 1.9 KB, or takes copies of those in DIR/files, and asks every program the same in turn: memdir by
command line, with no server and with one; memdir over MCP; ripgrep; SQLite's FTS5 in a program of ours (fts.py), as a
process for each question and as one that stays; qmd and basic-memory where they are installed, by words only.

Prints tables in markdown. A whole process and a server that is there all the time are compared among themselves. CPU is
user and system time, that of a server that helped included. RSS is the peak of the process, and what the server has;
"<" where it is less than this script itself has, which the system counts for its children, too. ripgrep does not rank.
Much of what a process of FTS5 takes is the start of Python, which is printed. Where one note is asked for, the answer has
to hold it. `--only` takes the works whose name holds the word; the indexes are made anyhow. Linux only.
"""
import argparse
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from measure import bytes_below, spread  # noqa: E402
from notes import WORDS, make_notes, vocabulary  # noqa: E402
from tools import Failed, all_tools, run  # noqa: E402

# Which questions a work has, and by which of a tool's methods it is done.
METHODS = {
    "a rare word": "search",
    "two words": "search",
    "a sentence": "search",
    "a part of a word": "part_of_word",
    "a literal by grep": "literal",
    "one note by its name": "get",
    "add a note and find it": "add_and_find",
    "index from nothing": "index",
}
MARKED = 20


class Notes:
    """What can be asked of the notes, and what has to be in the answer."""

    def __init__(self, files):
        self.names = sorted(os.listdir(files))
        self.dice = random.Random(11)
        self.words = vocabulary(random.Random(42))
        # By number, a note that holds this marker; see make_notes.
        self.marked = {}
        for name in self.names:
            with open(os.path.join(files, name), encoding="utf-8") as note:
                found = re.search(r"Marker zqneedle(\d+) here", note.read())
            if found:
                self.marked[int(found[1])] = name[-11:-3]

    def asked(self, number):
        return self.names[number * 7919 % len(self.names)]

    def question(self, work, number):
        """The arguments of a method, and texts of which the answer must hold one."""
        # Of two digits, because `zqneedle1` is a part of `zqneedle10`.
        marker = 10 + number % (MARKED - 10)
        handle = self.marked[marker]
        name = f"20260101_{number // 3600 % 24:02}{number // 60 % 60:02}{number % 60:02}_{number:07x}b.md"
        word = f"zqnew{number}x{os.getpid()}"
        return {
            "a rare word": lambda: ([f"zqneedle{marker}"], (handle,)),
            "two words": lambda: ([f"{self.dice.choice(WORDS)} {self.dice.choice(self.words[200:3000])}"], ("",)),
            "a sentence": lambda: ([" ".join(self.dice.choice(self.words[50:3000]) for _ in range(8))], ("",)),
            "a part of a word": lambda: ([f"needle{marker}"], (handle,)),
            "a literal by grep": lambda: ([f"zqneedle{marker} here"], (handle,)),
            "one note by its name": lambda: ([self.asked(number)], (self.asked(number)[-11:-3],)),
            "add a note and find it": lambda: ([name, word], (word, name)),
            "index from nothing": lambda: ([], ("",)),
        }[work]()


def measure(notes, tools, work, rounds):
    """What each tool took for a work, by its name."""
    able = [tool for tool in tools if hasattr(tool, METHODS[work])]
    costs = {tool: [] for tool in able}
    for number in range(rounds):
        arguments, expected = notes.question(work, number)
        for tool in able:
            if number >= max(1, rounds * tool.part):
                continue
            took = getattr(tool, METHODS[work])(*arguments)
            if not any(text in took.out for text in expected):
                raise Failed(f"{tool.name} did not find {expected} for {arguments}: {took.out[:500]!r}")
            costs[tool].append(took)
    rows = {}
    for tool, all_took in costs.items():
        wall = spread([took.wall_ms for took in all_took])
        rows[tool.name] = {
            "whole": tool.whole, "ours": tool.ours, "rounds": len(all_took), "wall_p50_ms": wall[0],
            # Of a few runs it would be one of them.
            "wall_p99_ms": wall[1] if len(all_took) >= 20 else None,
            "cpu_p50_ms": spread([took.cpu_ms for took in all_took])[0], "rss_mb": max(took.rss_mb for took in all_took),
            "rss_is_less": all(took.rss_is_less for took in all_took),
        }
    return rows


def print_rows(work, rows):
    print(f"\n**{work}**\n\n| | wall p50 ms | wall p99 ms | CPU p50 ms | RSS MB | runs |\n|---|---|---|---|---|---|")
    for name, row in rows.items():
        figures = ["-" if row[key] is None else f"{row[key]:,.2f}" for key in ("wall_p50_ms", "wall_p99_ms", "cpu_p50_ms")]
        rss = f"{'< ' if row['rss_is_less'] else ''}{row['rss_mb']:.0f}"
        print(f"| {name} | {' | '.join(figures)} | {rss} | {row['rounds']} |", flush=True)


def ratios(works):
    """The best of memdir over the best of the others, for each work, whole processes and servers apart."""
    for work, rows in works.items():
        for whole in (True, False):
            def best(ours, key):
                alike = {name: row[key] for name, row in rows.items() if row["whole"] == whole and row["ours"] == ours}
                name = min(alike, key=alike.get, default=None)
                return name, alike.get(name)

            our, other = best(True, "wall_p50_ms"), best(False, "wall_p50_ms")
            cpu = best(True, "cpu_p50_ms")[1], best(False, "cpu_p50_ms")[1]
            if our[0] and other[0]:
                yield {"work": work, "memdir": our[0], "other": other[0], "wall": our[1] / other[1],
                       "cpu": cpu[0] / cpu[1] if cpu[1] else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--notes", type=int, default=10000)
    parser.add_argument("--store", metavar="DIR")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.memdir)
    with tempfile.TemporaryDirectory() as work_folder:
        if arguments.store:
            files = os.path.join(os.path.abspath(arguments.store), "files")
        else:
            files = os.path.join(work_folder, "made")
            os.makedirs(files)
            make_notes(files, arguments.notes)
        notes, size = Notes(files), bytes_below(files)
        print(f"{len(notes.names):,} notes, {size / 1e6:.1f} MB, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        starts = [run([sys.executable, "-S", "-E", "-c", "import json, re, sqlite3"]) for _ in range(10)]
        start = [spread([getattr(took, what) for took in starts])[0] for what in ("wall_ms", "cpu_ms")]
        print("- the start of Python, for FTS5: wall {:.1f} ms, CPU {:.1f} ms".format(*start))
        tools, works, indexes = [], {}, {}
        try:
            for tool in all_tools(program, files, work_folder):
                if isinstance(tool, str):
                    print(f"- {tool}")
                else:
                    tools.append(tool)
            # First, because some tools find nothing without an index; those that are there all the time have theirs.
            order = sorted(METHODS, key=lambda work: work != "index from nothing")
            for work in order:
                rounds = arguments.rounds
                if work == "index from nothing":
                    rounds = 3 if len(notes.names) <= 20_000 else 1
                elif arguments.only not in work:
                    continue
                works[work] = measure(notes, tools, work, rounds)
                print_rows(work, works[work])
            for tool in tools:
                if hasattr(tool, "bytes"):
                    indexes[tool.name.split(",")[0]] = tool.bytes()
        finally:
            for tool in tools:
                tool.close()
        print("\n| index | MB on disk | of the notes |\n|---|---|---|")
        for name, count in indexes.items():
            print(f"| {name} | {count / 1e6:.1f} | {count / size:.2f} |")
        compared = list(ratios(works))
        print("\n| memdir / the best other | memdir | other | wall | CPU |\n|---|---|---|---|---|")
        for row in compared:
            cpu = f"{row['cpu']:.2f}" if row["cpu"] is not None else "-"
            print(f"| {row['work']} | {row['memdir']} | {row['other']} | {row['wall']:.2f} | {cpu} |")
        print(f"\nload {os.getloadavg()[0]:.1f} at the end")
        if arguments.json:
            with open(arguments.json, "w") as out:
                json.dump({"notes": len(notes.names), "bytes": size, "works": works, "index_bytes": indexes, "ratios": compared},
                          out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
