"""Opens stores that cannot be written: mounted read-only, or somebody else's.

Searching, listing and reading work, with or without an index on disk; `status` says once that
the store is read-only; writing fails with a message, and nothing in the store changes. A server goes
on when its file system becomes read-only below it, and writes again when it is writable again.
"""
import contextlib
import dataclasses
import glob
import os
import re
import shutil
import subprocess

import harness
from server import Server

SAYS_READ_ONLY = re.compile(r"can only be read|read-only", re.I)
NOBODY = 65534
COUNT = 5
READING = {
    "think": ["think", "wombat"], "keywords": ["think", "--keywords", "wombat"], "list": ["list"],
    "grep": ["grep", "of a wombat"], "status": ["status"], "verify": ["verify"], "export": ["export", "--to", "jsonl"],
    "recall": ["recall", harness.numbered_stem(3)],
}
WRITING = {
    "remember": ["remember", "--topics", "a", "text"], "update": ["update", harness.numbered_stem(3), "--title", "T"],
    "forget": ["forget", harness.numbered_stem(3)], "restore": ["restore", harness.numbered_stem(4)],
}


def run(setting, tally):
    if setting.cannot_mount:
        tally.skip("readonly", f"file systems cannot be mounted here ({setting.cannot_mount})")
    else:
        for name, lag in {"no index": None, "an index": 0, "an index that lags behind": 2}.items():
            store = made(setting, lag)
            with mounted_read_only(setting, store) as mounted:
                use(mounted, tally, f"read-only mount with {name}")
        become_read_only(setting, tally)
    if os.geteuid() == 0 and can_be_nobody():
        be_nobody(setting, tally)
    else:
        tally.skip("readonly as another user", "needs root")


def made(setting, lag):
    """A store with memories; all but `lag` of them indexed, none if it is None."""
    store = harness.Store(setting)
    store.fill(COUNT - (lag or 0), "Memory {}, of a wombat.")
    if lag is not None:
        store.run("reindex")
    store.fill(COUNT, "Memory {}, of a wombat.")
    store.write(harness.numbered_stem(9), harness.memory_text(harness.numbered_stem(9), "Old."), "archive")
    return store


@contextlib.contextmanager
def mounted_read_only(setting, store):
    folder = setting.folder("mounted")
    subprocess.run(["mount", "--bind", store.root, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield harness.Store(setting, folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def use(store, tally, where, **how):
    """Reads, then tries to write."""
    before = store.tree()
    for name, words in READING.items():
        done = store.run(*words, **how)
        tally.fault()
        tally.check(done.code == 0, f"{where}: {name} fails: {done.code} {(done.err or done.out).strip()[:200]}")
        if name not in ("status", "verify", "recall"):
            tally.check(done.out.count("wombat") >= COUNT, f"{where}: {name} misses memories: {done.out[:200]}")
        if name == "status":
            said = len(SAYS_READ_ONLY.findall(done.out + done.err))
            tally.check(said == 1, f"{where}: status says {said} times that the store is read-only")
    for name, words in WRITING.items():
        done = store.run(*words, **how)
        tally.fault()
        refused = done.code == 2 and SAYS_READ_ONLY.search(done.err)
        tally.check(refused, f"{where}: {name} is not refused clearly: {done.code} {done.err.strip()[:200]}")
    with Server(store, **how) as server:
        tally.fault()
        count = server.count("wombat")
        tally.check(count == COUNT, f"{where}: the server finds {count} of {COUNT}")
        id, why = server.remember("text")
        is_refused = id is None and SAYS_READ_ONLY.search(why)
        tally.check(is_refused, f"{where}: the server does not refuse clearly: {why[:200]}")
        server.close_input()
        lines = [line for line in server.said().splitlines() if line.strip()]
        tally.check(len(lines) <= 2, f"{where}: the server wrote {len(lines)} lines: {lines[:3]}")
    tally.check(store.tree() == before, f"{where}: the store has changed")


def become_read_only(setting, tally):
    """The file system of a running server becomes read-only and writable again."""
    for waits in (False, True):
        folder = setting.folder("mounted")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", folder], check=True)
        try:
            store = harness.Store(setting, folder)
            with Server(store) as server:
                remount_below(store, server, tally, waits)
                server.close_input()
            for fault in harness.soundness(store):
                tally.loss(f"writable again: {fault}")
        finally:
            subprocess.run(["umount", "--lazy", folder], check=False)


def remount_below(store, server, tally, waits):
    """Remounts with all files indexed, or with one that waits to be."""
    when = "with a file that waits to be indexed" if waits else "with all indexed"
    store.fill(COUNT, "Memory {}, of a wombat.")
    tally.check(server.count("wombat") == COUNT, "before the remount, the server does not find all")
    harness.wait_until(lambda: store.json("status")["waiting"] == 0, pause=0.1)
    if waits:
        store.write(harness.numbered_stem(50), harness.memory_text(harness.numbered_stem(50), "New, of a wombat."))
    # As long as something is being written, the system refuses.
    if not harness.wait_until(lambda: remount(store.root, "ro")):
        tally.loss(f"cannot become read-only below a server, which holds {held(server.pid, store.root)}")
        return
    tally.fault()
    expected = COUNT + waits
    for _ in range(3):
        count = server.count("wombat")
        tally.check(count == expected, f"read-only {when}: the server finds {str(count)[:200]} of {expected}")
    id, why = server.remember("text")
    tally.check(id is None and SAYS_READ_ONLY.search(why), f"read-only {when}: not refused clearly: {why[:200]}")
    remount(store.root, "rw")
    id, why = server.remember("writable again, says a wombat")
    tally.check(id, f"writable again, the server still refuses: {why[:200]}")
    count = server.count("wombat")
    tally.check(count == expected + 1, f"writable again, the server finds {str(count)[:200]} of {expected + 1}")


def held(pid, folder):
    """What a process has open below a folder."""
    links = [os.readlink(link) for link in glob.glob(f"/proc/{pid}/fd/*") if os.path.islink(link)]
    with open(f"/proc/{pid}/maps") as maps:
        mapped = [line.split(maxsplit=5)[-1].strip() for line in maps]
    return sorted({path for path in links + mapped if path.startswith(folder)})


def remount(folder, mode):
    # With its source it is not looked up, whose options are not allowed in every namespace.
    line = ["mount", "-o", "remount," + mode, "tmpfs", folder]
    return subprocess.run(line, capture_output=True).returncode == 0


def can_be_nobody():
    try:
        return subprocess.run(["true"], user=NOBODY, group=NOBODY, extra_groups=[]).returncode == 0
    except (OSError, ValueError):
        return False  # In a namespace with one user.


def be_nobody(setting, tally):
    """A user who may read everything, write nothing, and has no home."""
    store = made(setting, 0)
    for folder, _, names in os.walk(store.root):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
    os.chmod(setting.work, 0o711)
    program = os.path.join(setting.work, "memdir")
    shutil.copy(setting.program, program)
    as_nobody = harness.Store(dataclasses.replace(setting, program=program), store.root)
    use(as_nobody, tally, "as another user", env={"HOME": "/nonexistent"}, user=NOBODY)
    os.unlink(program)
