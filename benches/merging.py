#!/usr/bin/env python3
"""Measures what merging two histories of a store costs, by the number of memories and of commits.

usage: benches/merging.py [--memdir PROGRAM] [--sizes 300x50,600x50,600x100,2500x250,10000x1000] [--beside]
                          [--kills 0] [--shared 10] [--seed 1]

For each size MxC, two sides of one store change M memories each, in C commits each, SHARED % of them the same memories;
of these one in twenty contradicts the other side. Both histories are written by `git fast-import`; then one
`memdir sync` merges the other side in, and a second one has nothing to do. The table has, of the first: CPU of memdir
(user + system), CPU of the gits on both ends of fetch and push, wall time, memdir's peak memory, and its CPU in µs per
memory and per commit.
  --beside   runs remember, update, think, recall, status and log again and again while the merge runs, and prints how
             long the slowest of each took; the merge's own figures then are not comparable
  --kills N  kills the sync N times before it may end, each at a later moment, and prints the CPU of all attempts
The same seed makes the same histories. Linux only; needs git.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from measure import Cost

CONTRADICTING = 20  # One shared memory in so many is changed in ways that exclude each other.
WORDS = "tide lamp copper orchard ledger winter signal harbour violet engine paper stone river market glass".split()
BEGAN = 1_767_225_600  # 2026-01-01


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "GIT_"))}
    return {**kept, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "GIT_CONFIG_NOSYSTEM": "1",
            "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "on"}


class Notes:
    """The memories of the store and what each side makes of them, as texts."""

    def __init__(self, memories, shared, dice):
        self.count = 2 * memories - shared
        numbers = list(range(self.count))
        dice.shuffle(numbers)
        both = numbers[:shared]
        self.changed = [both + numbers[shared:memories], both + numbers[memories:]]
        self.contradicting = set(both[::CONTRADICTING])
        for changed in self.changed:
            dice.shuffle(changed)
        self.bodies = [[" ".join(dice.choices(WORDS, k=12)) for _ in range(8)] for _ in numbers]

    def path(self, number):
        return f"files/20260101_{number // 3600 % 24:02}{number // 60 % 60:02}{number % 60:02}_{self.handle(number)}.md"

    def handle(self, number):
        return f"a{number:06x}c"

    def text(self, number, side=None):
        lines = list(self.bodies[number])
        if side is not None and number in self.contradicting:
            lines[4] = f"Side {side} decided for {WORDS[side]}."
        elif side is not None:
            lines[1 + 5 * side] = f"Side {side} wrote this line."
        keys = f"id: {self.handle(number)}\ntimestamp: 2026-01-01T00:00:00Z\nagent: bench\nuser: bench\ntopics: [bench]"
        return f"---\n{keys}\n---\n\n" + "\n\n".join(lines) + "\n"


def commits(notes, side, count):
    """The numbers of the memories that each commit of a side changes."""
    changed = notes.changed[side]
    return [changed[len(changed) * n // count : len(changed) * (n + 1) // count] for n in range(count)]


def fast_import(repository, stream, env):
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet", "--force"], input=stream, env=env, check=True)


def commit(at, message, files, parent=None):
    """One commit for `git fast-import`."""
    who = "bench <bench@example.org>"
    lines = [f"commit refs/heads/main\ncommitter {who} {at} +0000\ndata {len(message)}\n{message}\n"]
    if parent:
        lines.append(f"from {parent}\n")
    for path, text in files:
        lines.append(f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n")
    return "".join(lines).encode()


def git(folder, env, *words):
    done = subprocess.run(["git", "-C", folder, *words], env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def made(program, work, env, memories, count, arguments):
    """A store that is ahead of its remote by one side's commits, while the remote is ahead by the other's."""
    notes = Notes(memories, memories * arguments.shared // 100, random.Random(arguments.seed))
    remote, store = os.path.join(work, "remote.git"), os.path.join(work, "store")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], env=env, check=True)
    files = [(notes.path(number), notes.text(number)) for number in range(notes.count)]
    fast_import(remote, commit(BEGAN, "Begin", files), env)
    began = git(remote, env, "rev-parse", "main")
    for words in (["init", store, "--remote", remote, "--allow-local"], ["--store", store, "sync"]):
        done = subprocess.run([program, *words], env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"memdir {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    if git(store, env, "merge-base", began, "HEAD") != began:
        raise SystemExit("the store does not rest on what the remote began with")
    for side, repository in enumerate([store, remote]):
        stream, parent = [], git(repository, env, "rev-parse", "main")
        for number, changed in enumerate(commits(notes, side, count)):
            files = [(notes.path(one), notes.text(one, side)) for one in changed]
            stream.append(commit(BEGAN + 60 * (2 * number + side), f"Change {number} of side {side}", files,
                                 parent if number == 0 else None))
        fast_import(repository, b"".join(stream), env)
    git(store, env, "reset", "-q", "--hard", "main")
    return notes, remote, store


def check(notes, store, env, remote):
    """Ends the run unless the merge has both sides' changes."""
    if git(store, env, "rev-parse", "HEAD") != git(remote, env, "rev-parse", "main"):
        raise SystemExit("the store and its remote are not in step after the sync")
    folder = os.path.join(store, "files")
    paths = {name.split("_")[-1]: os.path.join(folder, name) for name in os.listdir(folder)}
    both = set(notes.changed[0]) & set(notes.changed[1])
    for number in range(notes.count):
        with open(paths[notes.handle(number) + ".md"]) as file:
            text = file.read()
        for side in (0, 1):
            is_there = f"Side {side} " in text
            if number not in notes.contradicting and is_there != (number in notes.changed[side]):
                raise SystemExit(f"{notes.path(number)} of side {side} is not merged")
    more = len(os.listdir(folder)) - notes.count
    if more != len(notes.contradicting):
        raise SystemExit(f"{more} memories were put aside, {len(notes.contradicting)} of {len(both)} contradict")


class Sync:
    """A sync that ended: `cpu` and `git_cpu` (of the gits it started) and `wall` in s, `rss` in MB."""

    def __init__(self, program, store, env):
        began, self.rss = time.monotonic(), 0
        process = subprocess.Popen([program, "--store", store, "sync"], env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        status = f"/proc/{process.pid}/status"
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            # No event tells of it, and an ended process has none: the peak never falls, so its last value is nearly it.
            with open(status) as text:
                peak = next((line for line in text if line.startswith("VmHWM:")), "VmHWM: 0").split()[1]
            self.rss = max(self.rss, int(peak) / 1024)
            time.sleep(0.02)
        self.wall = time.monotonic() - began
        with open(f"/proc/{process.pid}/stat") as text:
            fields = text.read().rsplit(")", 1)[1].split()
        ticks = os.sysconf("SC_CLK_TCK")
        self.cpu, self.git_cpu = (sum(map(int, fields[at : at + 2])) / ticks for at in (11, 13))
        said = process.communicate()[1].decode()
        if process.returncode:
            raise SystemExit(f"sync ended with {process.returncode}: {said}")


def killed_sync(program, store, env, after):
    """CPU in s of a sync that is killed after so many seconds, with its gits; `None` if it ended before."""
    process = subprocess.Popen([program, "--store", store, "sync"], env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(after)  # The moment is what is tried.
    process.send_signal(signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if process.returncode == 0 else used.ru_utime + used.ru_stime


def beside(program, store, env, notes):
    """Runs commands until the sync ends; by command, how long each took and its CPU, in ms."""
    memdir = [program, "--store", store]
    one = notes.handle(notes.changed[0][0])
    Cost([*memdir, "reindex"], env)  # Who asks first would make the index.
    process = subprocess.Popen([*memdir, "sync"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    took, number = {}, 0
    while process.poll() is None:
        for words in (["remember", f"Beside the merge {number}."], ["update", one, "--importance", str(1 + number % 9)],
                      ["think", "copper orchard"], ["recall", one], ["status"], ["log"]):
            cost = Cost([*memdir, *words], env)
            if cost.code not in (0, 1):
                raise SystemExit(f"{words[0]} beside a merge ended with {cost.code}: {cost.out.decode()}")
            took.setdefault(words[0], []).append((cost.wall_ms, cost.cpu_ms))
        number += 1
    if process.returncode:
        raise SystemExit(f"sync ended with {process.returncode}: {process.stderr.read().decode()}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--sizes", default="300x50,600x50,600x100,2500x250,10000x1000")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--shared", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="make the histories of the first size in this folder, and do nothing else")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.memdir)
    sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes.split(",")]
    if arguments.keep:
        os.makedirs(arguments.keep)
        made(program, arguments.keep, environment(arguments.keep), *sizes[0], arguments)
        return
    if not arguments.beside:
        print(f"{'memories x commits':>20} {'CPU s':>8} {'gits s':>8} {'wall s':>8} {'MB':>6} {'µs/memory':>10} "
              f"{'µs/commit':>10} {'again s':>8}")
    for memories, count in sizes:
        with tempfile.TemporaryDirectory() as work:
            env = environment(work)
            notes, remote, store = made(program, work, env, memories, count, arguments)
            if arguments.beside:
                took = beside(program, store, env, notes)
                print(f"{memories} x {count}, slowest of each beside the merge, in ms, and its CPU:", ", ".join(
                    f"{name} {max(times)[0]:.0f} ({max(times)[1]:.0f}) of {len(times)}"
                    for name, times in took.items()))
                continue
            spent = 0
            for kill in range(arguments.kills):
                spent += killed_sync(program, store, env, 0.2 * (kill + 1)) or 0
            first, again = Sync(program, store, env), Sync(program, store, env)
            check(notes, store, env, remote)
            print(f"{f'{memories} x {count}':>20} {first.cpu:8.2f} {first.git_cpu:8.2f} {first.wall:8.2f} "
                  f"{first.rss:6.0f} {1e6 * first.cpu / memories:10.0f} {1e6 * first.cpu / count:10.0f} "
                  f"{again.cpu:8.2f}"
                  + (f"  killed before, CPU s: {spent:.2f}" if arguments.kills else ""), flush=True)


if __name__ == "__main__":
    sys.exit(main())
