"""Puts symbolic links to a foreign folder in the place of the store's own folders.

Nothing foreign may be listed, read, moved, written or removed, and no message may tell where a link
leads; `status` or `verify` names the link, or refuses in words that do. One scene swaps the archive
for such a link and back all the time while commands and a server move memories to and fro.
"""
import ctypes
import os
import threading
import time

import harness
from server import Server

TOPS = ["archive", ".memdir", "journal", "tombstones", "backup", "files", "files/2026-01", ".memdir/locks",
        ".memdir/plans"]
# Stands in every foreign file, and may stand nowhere else.
FOREIGN = "narwhal"
FOREIGN_STEM = harness.numbered_stem(77)
# Where the links lead: a name that no message may hold.
ELSEWHERE = "elsewhere-of-others"


def run(setting, tally):
    for top in TOPS:
        static(setting, tally, top)
    race(setting, tally, 400 if setting.long else 25)


class Scene:
    """A store with three memories, and a foreign folder with files of every kind that a store has."""

    def __init__(self, setting):
        self.base = setting.folder("links")
        self.store = harness.Store(setting, os.path.join(self.base, "store"))
        self.store.fill(3, "Memory {}, of a wombat.")
        self.foreign = os.path.join(self.base, ELSEWHERE)
        os.makedirs(os.path.join(self.foreign, "2026-01"))
        text = harness.memory_text(FOREIGN_STEM, f"Of a {FOREIGN}.")
        line = '{"at":"2026-01-01T00:00:00Z","did":"forget","of":["%s"],"client":"%s"}\n' % (FOREIGN_STEM, FOREIGN)
        files = {
            f"{FOREIGN_STEM}.md": text, f"2026-01/{harness.numbered_stem(78)}.md": text, "0123456789abcdef.jsonl": line,
            "writer.lock": FOREIGN, "heartbeat": FOREIGN, "maintenance-aaaaaaaa.json": FOREIGN,
        }
        for name, content in files.items():
            with open(os.path.join(self.foreign, name), "w") as file:
                file.write(content)

    def outside(self):
        """Path → bytes of the foreign folder; folders with None."""
        tree = {}
        for folder, folders, names in os.walk(self.foreign):
            tree.update({os.path.join(folder, name): None for name in folders})
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    tree[os.path.join(folder, name)] = file.read()
        return tree

    def link(self, top):
        path = self.store.path(top)
        if os.path.lexists(path):
            os.rename(path, os.path.join(self.base, "moved-away"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(self.foreign, path)


def commands(stem):
    return [
        ["status"], ["verify", "--json"], ["list", "--all"], ["think", FOREIGN], ["think", "--keywords", FOREIGN],
        ["grep", FOREIGN], ["archived"], ["recall", FOREIGN_STEM], ["restore", FOREIGN_STEM], ["forget", stem],
        ["restore", stem], ["remember", "--topics", "a", "Another text."], ["update", stem, "--title", "T"],
        ["log"], ["stats"], ["reindex"], ["reindex", "--full"], ["purge", FOREIGN_STEM, "--yes"],
        ["reset", "--yes"], ["plans"], ["gc"], ["cleanup", "--yes"], ["status"],
    ]


def static(setting, tally, top):
    scene = Scene(setting)
    scene.store.run("reindex")
    before = scene.outside()
    scene.link(top)
    said = ""
    for words in commands(harness.numbered_stem(1)):
        tally.fault()
        done = scene.store.run(*words)
        both = done.out + done.err
        for fault in done.faults():
            if "without a word" not in fault:
                tally.loss(f"{top}: {words} {fault}")
        # What was asked for is repeated in the answer.
        shows = FOREIGN in both.replace(" ".join(words), "") and FOREIGN not in words
        tally.check(not shows, f"{top}: {words} shows what is foreign: {both[:200]}")
        tally.check(ELSEWHERE not in both, f"{top}: {words} tells where the link leads: {both[:200]}")
        if words[0] in ("status", "verify"):
            said += both
        if not tally.check(scene.outside() == before, f"{top}: {words} changed what is foreign"):
            before = scene.outside()
    name = os.path.basename(top)
    names_it = "link" in said and name in said or "set-aside" in said or not os.path.islink(scene.store.path(top))
    tally.check(names_it, f"{top}: neither status nor verify names the link")


def swapping(root, is_over):
    """Exchanges the archive and a link, each in one step, until it is over; how often."""
    libc = ctypes.CDLL(None, use_errno=True)
    one, other = os.path.join(root, "archive").encode(), os.path.join(root, "aside").encode()
    count = 0
    while not is_over.is_set():
        libc.syscall(ctypes.c_long(316), -100, one, -100, other, 2)
        count += 1
        time.sleep(0.0002)
    return count


def race(setting, tally, rounds):
    if os.uname().machine != "x86_64":
        tally.skip("hostile_links race", "the number of renameat2 is that of x86-64")
        return
    scene = Scene(setting)
    store, stem = scene.store, harness.numbered_stem(1)
    before = scene.outside()
    os.makedirs(store.path("archive"), exist_ok=True)
    os.symlink(scene.foreign, store.path("aside"))
    is_over = threading.Event()
    thread = threading.Thread(target=swapping, args=(store.root, is_over))
    with Server(store) as server:
        thread.start()
        try:
            for number in range(rounds):
                tally.fault()
                for words in (["forget", stem], ["archived"], ["restore", stem], ["restore", FOREIGN_STEM]):
                    done = store.run(*words)
                    both = done.out + done.err
                    hangs = done.code is None or done.code < 0
                    tally.check(not hangs, f"race: {words} ended with {done.code}")
                    shows = FOREIGN in both or FOREIGN_STEM in both and words[-1] != FOREIGN_STEM
                    tally.check(not shows, f"race: {words} shows what is foreign: {both[:200]}")
                count = server.count(FOREIGN)
                tally.check(count == 0, f"race: the server finds foreign memories: {count}")
                if not tally.check(scene.outside() == before, f"race: the foreign folder changed in round {number}"):
                    break
        finally:
            is_over.set()
            thread.join()
    # Each memory is in one place, and none came in or went out.
    if os.path.islink(store.path("archive")):
        os.rename(store.path("archive"), store.path("link"))
        os.rename(store.path("aside"), store.path("archive"))
    names = [os.path.basename(path) for path in store.tree() if harness.is_memory(path)]
    expected = sorted(harness.numbered_stem(number) + ".md" for number in range(3))
    tally.check(sorted(names) == expected, f"race: the store holds {sorted(names)}")
