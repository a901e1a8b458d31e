#!/usr/bin/env python3
"""Measures what a command costs in a shell that stays open, and as a process of its own.

usage: shell.py [PROGRAM] [--notes 10000] [--calls 200]

A store of made-up notes, indexed, its files warm; no server runs, git and models are off. Prints CPU time (user and
system) in ms a command: in `memdir shell`, the mean over all calls after the first 20; and of `memdir as ai-memory`,
the mean over a tenth of the calls. Nothing is asserted. Linux only.
"""
import argparse
import os
import resource
import subprocess
import tempfile
import time

from notes import indexed_store


def cpu_of(pid):
    """User and system time of a process so far, in ms."""
    with open(f"/proc/{pid}/schedstat") as own:
        main = int(own.read().split()[0])
    threads = sum(int(open(f"/proc/{pid}/task/{task}/schedstat").read().split()[0])
                  for task in os.listdir(f"/proc/{pid}/task"))
    return max(main, threads) / 1e6


class Shell:
    """A shell that is asked over its pipes."""

    def __init__(self, program, environment):
        self.process = subprocess.Popen([program, "--json", "shell"], env=environment, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("{"), f"{line}: {answer}"

    def cost(self, lines):
        for line in lines[:20]:
            self.ask(line)
        before, began = cpu_of(self.process.pid), time.monotonic()
        for line in lines[20:]:
            self.ask(line)
        count = len(lines) - 20
        wall = (time.monotonic() - began) * 1000
        return (cpu_of(self.process.pid) - before) / count, wall / count


def cost_of_processes(program, environment, commands):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        subprocess.run([program, "--json", "as", "ai-memory", *command], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
    wall = (time.monotonic() - began) * 1000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
    return cpu / len(commands), wall / len(commands)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default="memdir")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=200)
    given = parser.parse_args()
    program = os.path.abspath(given.program) if os.path.sep in given.program else given.program
    with tempfile.TemporaryDirectory(prefix="memdir-shell-") as work:
        environment = indexed_store(program, work, given.notes)
        files = os.path.join(environment["MEMDIR_STORE"], "files")
        titles, ids = [], []
        names = sorted(os.listdir(files))
        for name in names[::max(1, given.notes // given.calls)][:given.calls]:
            ids.append(name.rsplit("_", 1)[1].removesuffix(".md"))
            with open(os.path.join(files, name)) as note:
                titles += [line[len("title: "):].strip().strip("\"'") for line in note if line.startswith("title: ")][:1]
        work_of = {
            "get ID": [("get", one) for one in ids],
            "search WORDS": [("search", title) for title in titles],
            "recall CONTEXT": [("recall", title) for title in titles],
            "list": [("list",)] * given.calls,
            "stats": [("stats",)] * given.calls,
        }
        print(f"{given.notes} notes, {os.path.basename(program)}; ms a command")
        print(f"{'command':<18}{'shell, CPU':>12}{'wall':>8}{'process, CPU':>14}{'wall':>8}")
        shell = Shell(program, environment)
        for label, commands in work_of.items():
            warm = shell.cost([" ".join(command) for command in commands])
            alone = cost_of_processes(program, environment, commands[::10])
            print(f"{label:<18}{warm[0]:>12.2f}{warm[1]:>8.2f}{alone[0]:>14.1f}{alone[1]:>8.1f}")
        shell.process.stdin.close()
        shell.process.wait()


if __name__ == "__main__":
    main()
