#!/usr/bin/env python3
"""Measures what the history of a store costs: a commit, packing, a burst of memories, and room on the disk.

usage: benches/commits.py [--memdir PROGRAM] [--notes 10000] [--layout flat|by-month] [--rounds 12]
                          [--commits 0] [--burst 0]

Makes N notes of about 1.9 KB in a temporary store and prints a table:
  - the first commit of all of them, whole process;
  - one memory remembered through a server and committed by it, ROUNDS times: CPU of the thread that commits;
  - what that thread needs once nothing happens any more: git's index is told, and much is packed;
  - the second CPU of a comparison with everything, which a server does when it starts;
  - with --commits: after so many commits, each of one memory by the command line, the size of `.git`;
  - with --burst: so many memories through a server that is closed at once; CPU of it and of the next process, until
    everything is committed.
CPU is user + system time. Linux only.
"""
import argparse
import glob
import os
import resource
import subprocess
import sys
import tempfile
import time

from mcp_server import Server
from measure import Cost, spread
from notes import make_notes

# A server tells git's index, and packs, after this many seconds without a commit.
IDLE = 10


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "GIT_"))}
    return {**kept, "HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "on"}


def thread_cpu(server):
    """CPU in ms that the committing thread of a server has used."""
    for task in glob.glob(f"/proc/{server.process.pid}/task/*"):
        with open(f"{task}/comm") as name:
            if name.read().strip() == "git":
                with open(f"{task}/schedstat") as stat:
                    return int(stat.read().split()[0]) / 1e6
    raise SystemExit("the server has no thread that commits")


def git(store, *words):
    return subprocess.run(["git", "-C", store, *words], capture_output=True, text=True, check=True).stdout.strip()


def tip(store):
    with open(os.path.join(store, ".git/refs/heads/main")) as reference:
        return reference.read().strip()


def wait_for(what, within=120):
    """Asks until it is so: no event tells of it outside of the process."""
    until = time.monotonic() + within
    while not what():
        if time.monotonic() > until:
            raise SystemExit("waited in vain")
        time.sleep(0.02)


def is_still(server):
    """Whether the committing thread has done nothing for two seconds."""
    before = thread_cpu(server)
    time.sleep(2)
    return thread_cpu(server) - before < 1


def committed(store):
    listed = git(store, "ls-tree", "-r", "--name-only", "HEAD", "files").splitlines()
    return sum(1 for name in listed if name.endswith(".md"))


def remember(server, number):
    server.call("remember", {"agent": "bench", "user": "bench", "topics": ["bench"], "content": f"Number {number} it is."})


def size_of(folder):
    return sum(os.lstat(os.path.join(path, name)).st_size for path, _, names in os.walk(folder) for name in names)


def single_commits(program, store, env, rounds):
    server = Server(program, store, env)
    remember(server, "zero")
    wait_for(lambda: is_still(server))
    costs = []
    for number in range(rounds):
        before, old = thread_cpu(server), tip(store)
        remember(server, number)
        wait_for(lambda: tip(store) != old)
        time.sleep(0.3)  # The reference is moved a moment before the thread rests.
        costs.append(thread_cpu(server) - before)
    before = thread_cpu(server)
    time.sleep(IDLE + 1)
    wait_for(lambda: is_still(server))
    idle = thread_cpu(server) - before
    server.close()
    return costs, idle


def many_commits(program, store, env, count):
    began = git(store, "rev-list", "--count", "HEAD")
    memdir = [program, "--store", store]
    for number in range(count):
        subprocess.run([*memdir, "remember", f"Commit number {number}."], env=env, check=True, capture_output=True)
    made = int(git(store, "rev-list", "--count", "HEAD")) - int(began)
    git(store, "fsck", "--full", "--strict")
    return made, size_of(os.path.join(store, ".git")), size_of(os.path.join(store, "files"))


def burst(program, store, env, count):
    before = committed(store)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = Server(program, store, env)
    began = time.monotonic()
    for number in range(count):
        remember(server, number)
    seconds = time.monotonic() - began
    server.close()
    at_close = committed(store) - before
    server = Server(program, store, env)
    wait_for(lambda: committed(store) - before == count)
    wait_for(lambda: is_still(server))
    server.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, at_close, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--notes", type=int, default=10000)
    parser.add_argument("--layout", choices=["flat", "by-month"], default="flat")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--burst", type=int, default=0)
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.memdir)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        env, store = environment(work), os.path.join(work, "store")
        Cost([program, "init", store], env)
        make_notes(os.path.join(store, "files"), arguments.notes)
        memdir = [program, "--store", store]
        Cost([*memdir, "reindex"], env)
        print(f"{arguments.notes} notes, {size_of(os.path.join(store, 'files')) / 1e6:.1f} MB, {arguments.layout}, "
              f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        rows.append(("first commit of all, CPU", f"{Cost([*memdir, 'sync'], env).cpu_ms / 1000:.1f} s", ""))
        if arguments.layout == "by-month":
            cpu = Cost([*memdir, "layout", "by-month"], env).cpu_ms
            rows.append(("rearranging, CPU", f"{cpu / 1000:.1f} s", ""))
        rows.append(("comparing all (`memdir sync`), CPU", f"{Cost([*memdir, 'sync'], env).cpu_ms / 1000:.2f} s", ""))
        if arguments.rounds:
            costs, idle = single_commits(program, store, env, arguments.rounds)
            rows.append((f"one commit in a server, CPU median / most of {arguments.rounds}",
                         "{:.1f} / {:.1f} ms".format(spread(costs)[0], max(costs)), ""))
            rows.append(("index and packing afterwards, CPU", f"{idle:.0f} ms", ""))
        if arguments.burst:
            seconds, at_close, cpu = burst(program, store, env, arguments.burst)
            rows.append((f"burst of {arguments.burst} through a server", f"{seconds:.1f} s", ""))
            rows.append(("committed when it was closed", f"{at_close}", ""))
            rows.append(("all committed after the next start, CPU of all", f"{cpu:.1f} s", "60 s"))
        if arguments.commits:
            made, repository, files = many_commits(program, store, env, arguments.commits)
            rows.append((f"`.git` after {made} commits by commands, of the memories' size",
                         f"{repository / 1e6:.1f} MB, {repository / files:.2f}", "3"))
    width = max(len(row[0]) for row in rows)
    for label, value, bar in rows:
        print(f"{label:<{width}}  {value:>18}  {'(bar ' + bar + ')' if bar else ''}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
