#!/usr/bin/env python3
"""Writes at one of many servers on a store, asks another one at once, and counts the answers that miss the write.

usage: tests/faults/everywhere.py PROGRAM [--writes 300] [--servers 20] [--seed N] [-v]

A write is a new memory, a changed one or a forgotten one, at a server drawn at random. The moment that server has
acknowledged it, another one is asked for a word that only this write brings, or takes away. Nothing is waited for and
nothing is asked twice, but to measure how long a miss lasts. `--writes 10000` is the long form.

Prints the misses of each kind, the longest time that one lasted, and the CPU time of a call. Exit code 1 if there was a
miss. Python 3.11 and Linux.
"""
import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import time

from harness import Setting, Store
from server import Server

KINDS = ["new", "changed", "forgotten"]


class Everywhere:
    """Servers on one store, and what is there by their words."""

    def __init__(self, setting, servers):
        self.store = Store(setting)
        self.servers = [Server(self.store, dialect="ai-memory") for _ in range(servers)]
        self.random = setting.random("everywhere")
        # Word that stands in one memory alone -> id of that memory.
        self.there = {}
        self.number = 0
        self.writes = dict.fromkeys(KINDS, 0)
        self.misses = []

    def word(self):
        self.number += 1
        return f"zq{self.number}x"

    def call(self, server, tool, **arguments):
        failed, reply, _ = server.call(tool, **arguments)
        if failed:
            raise SystemExit(f"{tool} failed: {reply}")
        return reply

    def finds(self, server, word):
        return self.call(server, "memory_search", query=word, format="json")["count"] > 0

    def step(self):
        writer, reader = self.random.sample(self.servers, 2)
        kind = self.random.choices(KINDS, [6, 3, 1])[0] if self.there else "new"
        self.writes[kind] += 1
        new, old = self.word(), None
        if kind == "new":
            made = self.call(writer, "memory_store", title=f"Title {new}", content=f"It says {new}.", tier="long")
            self.there[new] = made["id"]
        else:
            old = self.random.choice(list(self.there))
            id = self.there.pop(old)
            if kind == "changed":
                # Longer and shorter ones: a text that became shorter might be one that is being written.
                content = f"It says {new}." + " And more." * self.random.randrange(3)
                self.call(writer, "memory_update", id=id, title=f"Title {new}", content=content)
                self.there[new] = id
            else:
                self.call(writer, "memory_delete", id=id)
        told = time.monotonic()
        is_missed = kind != "forgotten" and not self.finds(reader, new)
        is_missed |= old is not None and self.finds(reader, old)
        if is_missed:
            while (kind != "forgotten" and not self.finds(reader, new)) or (old and self.finds(reader, old)):
                if time.monotonic() - told > 10:
                    break
            self.misses.append((kind, time.monotonic() - told))

    def end(self):
        for server in self.servers:
            server.close_input()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("-v", action="store_true", help="each miss as it comes")
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix="memdir-everywhere-")
    os.mkdir(os.path.join(work, "home"))
    setting = Setting(
        program=os.path.abspath(arguments.program), work=work, disk=work, long=False, verbose=arguments.v,
        seed=arguments.seed, jobs=2, cannot_mount="",
    )
    begun = time.monotonic()
    everywhere = Everywhere(setting, arguments.servers)
    try:
        for _ in range(arguments.writes):
            everywhere.step()
            if arguments.v and everywhere.misses:
                print(len(everywhere.misses), everywhere.misses[-1], flush=True)
    finally:
        everywhere.end()
        shutil.rmtree(work, ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for kind in KINDS:
        lasted = [seconds for of, seconds in everywhere.misses if of == kind]
        print(f"{kind}: {everywhere.writes[kind]} writes, {len(lasted)} missed", end="")
        print(f", the longest for {max(lasted):.3f} s" if lasted else "")
    print(
        f"seed {arguments.seed}; {arguments.servers} servers; {time.monotonic() - begun:.0f} s, "
        f"{(used.ru_utime + used.ru_stime) / arguments.writes * 1000:.1f} ms of CPU time a write and its question"
    )
    print(f"writes: {arguments.writes}, misses: {len(everywhere.misses)}")
    return 1 if everywhere.misses else 0


if __name__ == "__main__":
    sys.exit(main())
