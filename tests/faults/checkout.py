"""Checks out another branch with many memories below a running server, and the first one again.

Afterwards the index equals one made anew from the same files: the store verifies, the same memories
are listed, and the same questions have the same answers. The server starts no other process.
"""
import os
import shutil
import subprocess
import time

import harness
from server import Server

FILES = {False: 2_000, True: 50_000}
# Of the first branch: some stay, some change, some go.
FIRST = 300
WORDS = ["heron", "marmot", "otter", "badger", "lynx", "stoat", "plover"]
# Indexing takes a while with a program that is not optimized.
WITHIN = {False: 120, True: 1_200}


def run(setting, tally):
    if not shutil.which("git"):
        tally.skip("checkout", "git is not installed")
        return
    store = harness.Store(setting, setting.folder("checkout", on_disk=True))
    git(store, "init", "--quiet", "--initial-branch", "first")
    with open(store.path(".git", "info", "exclude"), "w") as file:
        file.write(".memdir/\n")
    write(store, range(FIRST), "first")
    commit(store, "first")
    git(store, "checkout", "--quiet", "-b", "second")
    for number in range(0, FIRST, 3):
        os.unlink(store.path("files", harness.numbered_stem(number) + ".md"))
    write(store, range(1, FILES[setting.long], 3), "second")
    write(store, range(2, FILES[setting.long], 3), "first")
    commit(store, "second")
    git(store, "checkout", "--quiet", "first")
    with Server(store) as server:
        for branch in ("second", "first", "second"):
            tally.check(server.count("heron") > 0, f"before {branch} is checked out, nothing is found")
            begun = time.monotonic()
            git(store, "checkout", "--quiet", branch)
            checked_out = time.monotonic() - begun
            count = len(harness.memories(store.tree()))
            tally.fault()
            agrees = harness.wait_until(lambda: server.count("memory") == count, WITHIN[setting.long], pause=0.1)
            found = time.monotonic() - begun
            tally.check(agrees, f"{branch}: the server finds {server.count('memory')} of {count} memories")
            settled = harness.wait_until(lambda: is_settled(store, count), WITHIN[setting.long], pause=0.5)
            indexed = time.monotonic() - begun
            tally.check(settled, f"{branch}: {store.json('status')['waiting']} files still wait to be indexed")
            compare(setting, store, tally, branch)
            children = harness.children(server.pid)
            tally.check(not children, f"the server started processes: {children}")
            tally.note(
                f"{count} files: checked out in {checked_out:.1f} s, all found after {found:.1f} s, "
                f"indexed after {indexed:.1f} s"
            )
    store.remove()


def write(store, numbers, branch):
    for number in numbers:
        stem = harness.numbered_stem(number)
        words = [WORDS[number * step % len(WORDS)] for step in range(1, 4)]
        body = f"A memory of the {branch} branch, number {number}: {' '.join(words)}.\n"
        store.write(stem, harness.memory_text(stem, body, topics=words[0]))


def is_settled(store, count):
    status = store.json("status")
    return status["waiting"] == 0 and status["indexed"] == count


def compare(setting, store, tally, branch):
    """Compares the store with a copy of its files whose index is made anew."""
    for fault in harness.soundness(store):
        tally.loss(f"{branch}: {fault}")
    other = harness.Store(setting, setting.folder("rebuilt", on_disk=True))
    shutil.rmtree(other.path("files"))
    shutil.copytree(store.path("files"), other.path("files"))
    other.run("reindex", "--full", within=WITHIN[setting.long])
    questions = [["list", "--limit", "1000000"], ["think", "--limit", "50", "where is the heron of the second branch"]]
    questions += [["think", "--limit", "1000", "--keywords", word, "branch"] for word in WORDS[:4]]
    for words in questions:
        ours, theirs = store.json(*words), other.json(*words)
        tally.check(ours == theirs, f"{branch}: `{' '.join(words)}` is answered otherwise than by an index made anew")
    other.remove()


def git(store, *words):
    names = {f"GIT_{who}_{what}": "faults" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = harness.environment(store.setting, **names, GIT_CONFIG_NOSYSTEM="1")
    subprocess.run(["git", "-C", store.root, *words], env=env, check=True, capture_output=True)


def commit(store, message):
    git(store, "add", "--all")
    git(store, "commit", "--quiet", "--message", message)
