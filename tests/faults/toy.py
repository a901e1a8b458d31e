#!/usr/bin/env python3
"""Remembers one memory, well or with one classic mistake, to prove that the harness finds it.

usage: toy.py MODE --store DIR remember … TEXT

It draws names from so few that two processes soon draw the same. Prints the handle, as memdir does.
"""
import fcntl
import os
import random
import sys

MODES = ["good", "no fsync", "no folder fsync", "in place", "rename over", "swallowed fsync error"]
STAMP = "20260601_000000"
HANDLES = 96


def remember(mode, root, text):
    for _ in range(100 * HANDLES):
        handle = f"{random.randrange(HANDLES):08x}"
        data = (
            f"---\nid: {handle}\ntimestamp: 2026-06-01T00:00:00+00:00\nagent: a\nuser: u\ntopics: [new]\n---\n\n{text}"
        ).encode()
        try:
            put(mode, os.path.join(root, "files"), f"{STAMP}_{handle}.md", data)
            return handle
        except FileExistsError:
            pass
    raise SystemExit("error: every name is taken")


def put(mode, folder, name, data):
    target = os.path.join(folder, name)
    if mode == "in place":
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # The disk is waited for between the pages, so that readers have the time to see a part of them.
        write(file, data, after_each=os.fsync)
        sync_folder(folder)
        return
    temp = os.path.join(folder, f".memdir-{os.getpid():012}.tmp")
    file = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    write(file, data)
    try:
        if mode != "no fsync":
            os.fsync(file)
    except OSError:
        if mode != "swallowed fsync error":
            os.unlink(temp)
            raise
    if mode == "rename over":
        os.rename(temp, target)
    else:
        try:
            os.link(temp, target)
        finally:
            os.unlink(temp)
    if mode not in ("no fsync", "no folder fsync"):
        sync_folder(folder)


def write(file, data, after_each=lambda file: None):
    for start in range(0, len(data), 4096):
        os.write(file, data[start : start + 4096])
        after_each(file)


def sync_folder(folder):
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(opened)
    os.close(opened)


if __name__ == "__main__":
    mode, _, root, command, *_, text = sys.argv[1:]
    assert mode in MODES and command == "remember"
    try:
        print(remember(mode, root, text), flush=True)
    except OSError as error:
        sys.exit(f"error: {error}")
