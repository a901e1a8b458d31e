#!/usr/bin/env python3
"""Measures what `memdir pick` costs: the first list, and each key.

usage: picker.py [PROGRAM] [--notes 100000]

A store of made-up notes, indexed, its files warm; git and models are off. The picker runs in a pseudo-terminal of 80 × 24.
Prints CPU time (user and system, all threads) in ms: until the first list is on the screen, of the comparison of the
folder with the index that follows in the background, and of each key from then on: each typed letter, each Down, each
Page Down. Once without a server of the store, once with one. Nothing is asserted. Linux only; needs `pyte`.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from notes import indexed_store

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "clients"))
from terminal import Terminal  # noqa: E402

WORDS = ["postgres", "deploy backup", "zqneedle7", "migration", "berlin recipe"]


def cpu_of(pid):
    """User and system time of all threads of a process, also of those that have ended, in ms."""
    # The clock of another process, as clock_getcpuclockid(3) numbers it on Linux.
    return time.clock_gettime((~pid << 3) | 2) * 1000


def shown(terminal, mark):
    assert terminal.until(lambda text: mark(text)), terminal.text()


def count_of(text):
    return text.split("\n", 1)[0].rsplit(" ", 1)[-1]


def measure(program, environment, notes):
    terminal = Terminal([program, "pick"], environment)
    try:
        return measure_in(terminal, notes)
    finally:
        terminal.close()


def measure_in(terminal, notes):
    pid = terminal.child.pid
    shown(terminal, lambda text: f"1/{notes}" in text)
    first = cpu_of(pid)
    # The comparison is over when little is spent in a while, in which the picker looks at the store and draws.
    compared, before = 0, -1000
    while first + compared - before > 20:
        before = cpu_of(pid)
        end = time.monotonic() + 3
        while (left := end - time.monotonic()) > 0:
            terminal.read(left)
        compared = cpu_of(pid) - first
    keys = {"letter": [], "Down": [], "Page Down": []}

    def press(kind, key, mark):
        begin = cpu_of(pid)
        terminal.press(key)
        shown(terminal, mark)
        while terminal.read(0.05):
            pass
        keys[kind].append(cpu_of(pid) - begin)

    for words in WORDS:
        for end in range(1, len(words) + 1):
            typed = words[:end]
            press("letter", typed[-1], lambda text: text.startswith(f"> {typed.strip()}"))
        terminal.press("\x15")
        shown(terminal, lambda text: f"1/{notes}" in text)
    for place in range(2, 42):
        press("Down", "\x1b[B", lambda text: count_of(text) == f"{place}/{notes}")
    for page in range(1, 21):
        press("Page Down", "\x1b[6~", lambda text: count_of(text) == f"{41 + 21 * page}/{notes}")
    terminal.press("\x03")
    terminal.end()
    return first, compared, keys


def print_row(label, first, compared, keys):
    print(f"{label:<16}{first:>12.1f}{compared:>12.1f}", end="")
    for values in keys.values():
        print(f"{statistics.median(values):>9.1f}{max(values):>7.1f}", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default="memdir")
    parser.add_argument("--notes", type=int, default=100_000)
    given = parser.parse_args()
    program = os.path.abspath(given.program) if os.path.sep in given.program else given.program
    with tempfile.TemporaryDirectory(prefix="memdir-picker-") as work:
        environment = {**indexed_store(program, work, given.notes), "TERM": "xterm-256color"}
        print(f"{given.notes} notes, {os.path.basename(program)}; CPU ms, of keys the median and the most")
        print(f"{'':<16}{'first list':>12}{'comparison':>12}{'letter':>16}{'Down':>16}{'Page Down':>16}")
        for _ in range(3):
            print_row("alone", *measure(program, environment, given.notes))
        server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0"], env=environment,
                                  stderr=subprocess.PIPE, text=True)
        try:
            next(line for line in server.stderr if line.startswith("serving"))
            for _ in range(3):
                print_row("beside a server", *measure(program, environment, given.notes))
        finally:
            server.terminate()
            server.stderr.read()
            server.wait()


if __name__ == "__main__":
    main()
