"""Fills the disk: a small file system in memory, until nothing more can be written.

Every acknowledged memory is whole, and the error says that the disk is full. Meanwhile searching,
listing and reading work, and so does `forget`, which frees no space. Once there is space, the same
command works and the index catches up. Then the same with a running MCP server.
"""
import contextlib
import os
import re
import shutil
import subprocess

import harness
from deeds import is_whole
from server import Server

SIZE = "768k"
BODY = "z" * 9_000
# More than fit.
MOST = 120
SAYS_FULL = re.compile(r"no space|space left|disk is full|ENOSPC|quota", re.I)


def run(setting, tally):
    if setting.cannot_mount:
        tally.skip("full", f"file systems cannot be mounted here ({setting.cannot_mount})")
        return
    with small_disk(setting) as store:
        fill_by_command(store, tally)
    with small_disk(setting) as store:
        fill_by_server(store, tally)


@contextlib.contextmanager
def small_disk(setting, size=SIZE):
    """A store on a file system of so many bytes."""
    folder = setting.folder("full")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder], check=True)
    try:
        yield harness.Store(setting, folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def fill_by_command(store, tally):
    acknowledged, refused = {}, None
    for number in range(MOST):
        body = f"wombat {number} {BODY}"
        done = store.run("remember", "--agent", "a", "--user", "u", "--topics", "full", body)
        tally.fault()
        if done.code:
            refused = done
            break
        acknowledged[done.out.strip()] = body
        if number == 10:
            store.run("reindex")  # There is an index of some memories, when the disk gets full.
    if not tally.check(refused, f"{MOST} memories of 9 KB fit into {SIZE}"):
        return
    said = refused.err.strip()[:200]
    tally.check(SAYS_FULL.search(said), f"the refusal does not say that the disk is full: {said}")
    tally.check(store.path("files") in said, f"the refusal names no path: {said}")
    check_texts(store, acknowledged, tally)
    tally.check(not harness.leftovers(store.tree()), f"a refused write leaves {harness.leftovers(store.tree())}")
    fill_up(store)
    some = next(iter(acknowledged))
    while_full = {
        "think": ["think", "--json", "--keywords", "wombat"], "list": ["list"], "recall": ["recall", some],
        "grep": ["grep", "wombat 3"], "status": ["status"], "verify": ["verify"], "forget": ["forget", some],
    }
    for name, words in while_full.items():
        done = store.run(*words)
        tally.fault()
        tally.check(done.code == 0, f"{name} on a full disk: {done.code} {(done.err or done.out).strip()[:200]}")
        for fault in done.faults():
            tally.loss(f"{name} on a full disk: {fault}")
    found = store.json("think", "--keywords", "wombat", "--limit", "1000")
    tally.check(
        len(found) == len(acknowledged) - 1,
        f"on a full disk {len(found)} of {len(acknowledged) - 1} are found",
    )
    for words in (["update", list(acknowledged)[1], "--title", "T" * 900], ["remember", "--topics", "a", BODY]):
        done = store.run(*words)
        tally.fault()
        is_refused = done.code == 2 and SAYS_FULL.search(done.err)
        tally.check(is_refused, f"{words[0]} on a full disk: {done.code} {done.err[:200]}")
    without_index(store, tally, len(acknowledged) - 1)
    check_texts(store, acknowledged, tally)
    free(store)
    done = store.run("remember", "--agent", "a", "--user", "u", "--topics", "full", f"wombat again {BODY}")
    if tally.check(done.code == 0, f"with free space the same command fails: {done.err.strip()[:200]}"):
        acknowledged[done.out.strip()] = f"wombat again {BODY}"
    done = store.run("reindex")
    tally.check(done.code == 0, f"with free space the index does not catch up: {done.err.strip()[:200]}")
    status = store.json("status")
    tally.check(status["waiting"] == 0, f"with free space {status['waiting']} files still wait to be indexed")
    for fault in harness.soundness(store):
        tally.loss(f"after freeing space: {fault}")
    tally.note(f"by commands: {len(acknowledged)} memories fit, the refusal: {first_line(refused.err)}")


def without_index(store, tally, expected):
    """The index is gone, and there is no room for another: it costs time, no answer."""
    for gone in ("the folder of the index", "the index"):
        if gone == "the index":
            os.unlink(store.path("ballast"))
            store.run("reindex")
            for name in os.listdir(store.path(".memdir")):
                if name.startswith("index-"):
                    shutil.rmtree(store.path(".memdir", name))
        else:
            shutil.rmtree(store.path(".memdir"))
        fill_up(store)
        for words in (["think", "--keywords", "wombat"], ["list"]):
            done = store.run(*words, "--json", "--limit", "1000")
            tally.fault()
            count = done.out.count('"id"')
            tally.check(
                count == expected,
                f"full disk, {gone} is gone: {words[0]} has {count} of {expected}: {done.code} {first_line(done.err)}",
            )
            for fault in done.faults():
                tally.loss(f"full disk, {gone} is gone: {fault}")


def fill_by_server(store, tally):
    acknowledged, refusal = {}, None
    with Server(store) as server:
        for number in range(MOST):
            body = f"wombat {number} {BODY}"
            id, refusal = server.remember(body)
            tally.fault()
            if id is None:
                break
            acknowledged[id] = body
        if not tally.check(refusal, f"{MOST} memories of 9 KB fit into {SIZE}"):
            return
        tally.check(SAYS_FULL.search(refusal), f"the server's refusal does not say why: {refusal[:200]}")
        check_texts(store, acknowledged, tally)
        fill_up(store)
        for _ in range(5):
            count = server.count("wombat")
            tally.fault()
            tally.check(count == len(acknowledged), f"on a full disk the server finds {count} of {len(acknowledged)}")
        some = next(iter(acknowledged))
        done = store.run("forget", some)
        tally.check(done.code == 0, f"forget beside a server on a full disk: {done.err.strip()[:200]}")
        acknowledged.pop(some)
        count = server.count("wombat")
        tally.check(count == len(acknowledged), f"after forgetting, the server finds {count} of {len(acknowledged)}")
        free(store)
        id, why = server.remember(f"wombat again {BODY}")
        if tally.check(id, f"with free space the server still refuses: {why[:200]}"):
            acknowledged[id] = f"wombat again {BODY}"
        caught_up = harness.wait_until(lambda: store.json("status")["waiting"] == 0, within=15, pause=0.2)
        tally.check(caught_up, "with free space the server's index does not catch up within 15 s")
        lines = server.said().count("\n")
        tally.check(lines < 50, f"the server wrote {lines} lines about the full disk")
        seconds = server.close_input()
        tally.check(server.process.returncode == 0, f"the server ended with {server.process.returncode}")
    check_texts(store, acknowledged, tally, forgotten=some)
    for fault in harness.soundness(store):
        tally.loss(f"after a server on a full disk: {fault}")
    tally.note(f"by a server: {len(acknowledged)} memories fit, {lines} lines in its log, ended in {seconds:.1f} s")


def check_texts(store, acknowledged, tally, forgotten=None):
    """Every acknowledged memory is there with its text, and no other is visible."""
    tree = store.tree()
    texts = {**harness.memories(tree, "archive"), **harness.memories(tree)}
    for id, body in acknowledged.items():
        whole = [text for name, text in texts.items() if id in name and is_whole(text, body)]
        tally.check(whole, f"{id} was acknowledged, and is not there whole")
    allowed = len(acknowledged) + (forgotten is not None)
    tally.check(len(texts) <= allowed, f"{len(texts)} memories are visible, {allowed} were acknowledged")


def fill_up(store):
    """Takes what space is left, to the last byte."""
    with open(store.path("ballast"), "ab", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1024))


def free(store):
    os.unlink(store.path("ballast"))
    # With its source it is not looked up, whose options are not allowed in every namespace.
    subprocess.run(["mount", "-o", "remount,size=16m", "tmpfs", store.root], check=True)


def first_line(text):
    return " / ".join(text.strip().splitlines())[:160]
