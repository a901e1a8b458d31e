#!/usr/bin/env python3
"""Fails, and then kills, every file call of every writing command, one at a time.

usage: tests/faults/sweep.py PROGRAM [--errnos EIO,ENOSPC,…] [--commands remember,…] [-v]

For each command the calls that touch the store are recorded with strace; then the command runs
once for each of them with that call failing (each errno), and once with the process killed there.
After every run, looked at from outside:
  - the memory that was there before has its old bytes or, if it was to change, its old or its new
    ones, or lies in the archive whole; it is never torn and never gone;
  - a command that said it succeeded did; one that failed said why;
  - the next command works, and leaves no temporary file behind.
Prints what it ran; exit code 1 if anything was lost. Needs strace (Linux).
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLD = "20260101_000000_aaaaaaaa"
OLD_TEXT = "---\nid: aaaaaaaa\ntimestamp: 2026-01-01T00:00:00+00:00\nagent: a\nuser: u\ntopics: [old]\n---\n\nThe old text.\n"
NEW_TEXT = OLD_TEXT.replace("topics: [old]\n", "topics: [old]\ntitle: New\n")
BODY = "x" * 20_000
CALLS = (
    "openat,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "mkdir,mkdirat,ftruncate,flock,fcntl,close,fchmod,statx,getdents64"
)
COMMANDS = {
    "remember": ["remember", "--agent", "a", "--user", "u", "--topics", "new", BODY],
    "update": ["update", OLD, "--title", "New"],
    "forget": ["forget", OLD],
    "restore": ["restore", OLD],
}


def environment():
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML"))}
    return {**clean, "MEMDIR_NAMESPACE": "global", "TZ": "UTC", "LC_ALL": "C"}


class Store:
    """A fresh store with one memory, archived if the command is to restore it."""

    def __init__(self, command):
        self.root = tempfile.mkdtemp(prefix="sweep-")
        self.archived = command == "restore"
        for folder in ("files", "archive"):
            os.mkdir(os.path.join(self.root, folder))
        with open(self.path("archive" if self.archived else "files"), "w") as old:
            old.write(OLD_TEXT)

    def path(self, folder):
        return os.path.join(self.root, folder, OLD + ".md")

    def texts(self, folder):
        """Name → text of every memory file, and the names of everything else."""
        memories, others = {}, []
        place = os.path.join(self.root, folder)
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name.endswith(".md") and not name.startswith("."):
                with open(os.path.join(place, name)) as file:
                    memories[name] = file.read()
            else:
                others.append(name)
        return memories, others

    def remove(self):
        shutil.rmtree(self.root)


def run(program, store, command, inject=None, record=None):
    line = [program, "--store", store.root, *COMMANDS[command]]
    strace = ["strace", "-f", "-qq", "-y", "-e", "trace=" + CALLS]
    if record:
        line = strace + ["-o", record] + line
    elif inject:
        line = strace + ["-o", "/dev/null", "-e", inject] + line
    return subprocess.run(line, capture_output=True, text=True, timeout=120, env=environment())


def recorded_calls(program, command):
    """The (call, number) pairs that touch the store; strace counts by call and by thread."""
    store = Store(command)
    trace = os.path.join(store.root, "trace")
    run(program, store, command, record=trace)
    counts, calls = collections.Counter(), []
    with open(trace) as lines:
        for line in lines:
            found = re.match(r"(\d+) +(\w+)\(", line)
            if not found:
                continue
            counts[found.groups()] += 1
            if store.root in line:
                # What lies in `.memdir` can be made again: a fault there may pass unnoticed.
                of_memories = f"{store.root}/files" in line or f"{store.root}/archive" in line
                calls.append((found[2], counts[found.groups()], of_memories))
    store.remove()
    return list(dict.fromkeys(calls))


def faults(program, store, command, done):
    """What is wrong after a run; nothing, if all is well."""
    found = []
    succeeded = done.returncode == 0
    files, _ = store.texts("files")
    archive, _ = store.texts("archive")
    name = OLD + ".md"
    old = [texts[name] for texts in (files, archive) if name in texts]
    allowed = {OLD_TEXT, NEW_TEXT} if command == "update" else {OLD_TEXT}
    if not old:
        found.append("the old memory is gone")
    if any(text not in allowed for text in old):
        found.append("the old memory is harmed")
    others = {other: text for other, text in files.items() if other != name}
    if command == "remember":
        if any(not text.endswith(BODY) for text in others.values()):
            found.append("a torn memory is visible")
        if succeeded and len(others) != 1:
            found.append(f"acknowledged, but there are {len(others)} new memories")
    if succeeded and command == "update" and files.get(name) != NEW_TEXT:
        found.append("acknowledged, but not changed")
    if succeeded and command == "forget" and name not in archive:
        found.append("acknowledged, but not archived")
    if succeeded and command == "restore" and name not in files:
        found.append("acknowledged, but not restored")
    if done.returncode > 0 and not done.stderr.strip():
        found.append("failed without a word")
    if "panicked" in done.stderr:
        found.append("panicked: " + done.stderr.strip().splitlines()[0])
    after = subprocess.run(
        [program, "--store", store.root, "remember", "--agent", "a", "--user", "u", "--topics", "next", "Next."],
        capture_output=True, text=True, env=environment(),
    )
    if after.returncode:
        found.append("the next command fails: " + after.stderr.strip()[:120])
    listed = subprocess.run(
        [program, "--store", store.root, "list"], capture_output=True, text=True, env=environment(),
    )
    if listed.returncode:
        found.append("listing fails: " + listed.stderr.strip()[:120])
    left = store.texts("files")[1]
    if left:
        found.append(f"left behind: {left}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--errnos", default="EIO,ENOSPC,EACCES,EMFILE,EDQUOT,EROFS,EINTR")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("-v", action="store_true")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 0
    total, lost = 0, 0
    for command in arguments.commands.split(","):
        calls = recorded_calls(program, command)
        ways = [("killed", "signal=SIGKILL")] + [(errno, f"error={errno}") for errno in arguments.errnos.split(",")]
        runs, bad = 0, []
        for call, number, of_memories in calls:
            for way, effect in ways:
                if call == "close" and way != "killed":
                    # Injected, the descriptor stays open with its lock, which no kernel does.
                    continue
                store = Store(command)
                done = run(program, store, command, inject=f"inject={call}:{effect}:when={number}")
                runs += 1
                found = faults(program, store, command, done)
                # A call that must make data durable may not fail unnoticed.
                durable = of_memories and call in ("write", "fsync", "rename", "renameat2", "linkat")
                if durable and way not in ("killed", "EINTR") and done.returncode == 0:
                    found.append(f"acknowledged although {call} failed")
                if found:
                    bad.append((call, number, way, found))
                if arguments.v:
                    print(command, call, number, way, done.returncode, done.stderr.strip()[:100], found)
                store.remove()
        total, lost = total + runs, lost + len(bad)
        print(f"{command}: {len(calls)} calls, {runs} faults, {len(bad)} bad", flush=True)
        for one in bad[:20]:
            print("   ", *one)
    print(f"faults injected: {total}, losses found: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
