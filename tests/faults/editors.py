"""Replays what editors and other programs do to a file when they save it, beside a running server.

The sequences were recorded with strace from vim 9, GNU sed and git, and follow the source of VS Code
and Emacs. They are replayed at the recorded speed and ten times faster. Meanwhile a client asks for
a word that is in the last line of the old text and of the new one: the memory is found every time.
Afterwards the new text is found, the old one is not, and no file of an editor shows up anywhere.
Then the files that sync services leave: copies are memories and reported, the rest is passed over.

A pause is given in milliseconds. Those between the pieces of one text are what a pipe or a slow
disk makes; they are shorter than the quiet after which a text counts as complete.
"""
import os
import threading
import time

import harness
from server import Server

SPEEDS = {"recorded speed": 1, "ten times faster": 10}
# Others in the store, so that a search has something to choose from.
OTHERS = 20
PIECES = 4
PIECE_PAUSE = 40
# After so many seconds of quiet a text may be taken for complete.
MOST_QUIET = 0.1


class File:
    """The file that is saved, and the calls that programs make around it."""

    def __init__(self, path, new):
        self.path, self.new = path, new
        self.folder, self.name = os.path.split(path)

    def beside(self, name):
        return os.path.join(self.folder, name)

    def write(self, path, text, flags=os.O_CREAT | os.O_TRUNC):
        """Opens, writes at once, syncs."""
        file = os.open(path, os.O_WRONLY | flags, 0o644)
        os.write(file, text)
        os.fsync(file)
        os.close(file)

    def write_in_pieces(self, path, text, flags=os.O_CREAT | os.O_TRUNC):
        file = os.open(path, os.O_WRONLY | flags, 0o644)
        size = -(-len(text) // PIECES)
        for start in range(0, len(text), size):
            yield PIECE_PAUSE
            os.write(file, text[start : start + size])
        os.ftruncate(file, len(text))
        os.close(file)

    def swap_file(self):
        return self.beside(f".{self.name}.swp")


def vim(file):
    """backupcopy=auto: the old file becomes the backup, a new one gets the name."""
    file.write(file.swap_file(), b"b0VIM 9.0" + bytes(4087))
    yield 20
    file.write(file.beside("4913"), b"")
    os.unlink(file.beside("4913"))
    os.rename(file.path, file.path + "~")
    yield 0.02
    file.write(file.path, file.new)
    yield 0.05
    os.unlink(file.path + "~")
    yield 0.1
    os.unlink(file.swap_file())


def vim_in_place(file):
    """backupcopy=yes: the old text is copied, then the file is written over and cut."""
    file.write(file.swap_file(), b"b0VIM 9.0" + bytes(4087))
    yield 20
    with open(file.path, "rb") as old:
        file.write(file.path + "~", old.read())
    yield 0.3
    yield from file.write_in_pieces(file.path, file.new, os.O_CREAT)
    os.unlink(file.path + "~")
    os.unlink(file.swap_file())


def vs_code(file):
    """The file is cut to nothing and written."""
    yield from file.write_in_pieces(file.path, file.new)


def vs_code_atomic(file):
    yield from file.write_in_pieces(file.path + ".vsctmp", file.new)
    yield 0.1
    os.rename(file.path + ".vsctmp", file.path)


def emacs(file):
    """A dangling link as a lock, the auto-save, then the old file becomes the backup."""
    os.symlink("mira@host.4242:1700000000", file.beside(f".#{file.name}"))
    yield 30
    file.write(file.beside(f"#{file.name}#"), file.new)
    yield 20
    os.rename(file.path, file.path + "~")
    yield 0.05
    file.write(file.path, file.new)
    yield 0.2
    os.unlink(file.beside(f"#{file.name}#"))
    os.unlink(file.beside(f".#{file.name}"))
    # The backup stays, as it does.


def emacs_in_place(file):
    """Every further save of the same session: there is a backup already."""
    os.symlink("mira@host.4242:1700000000", file.beside(f".#{file.name}"))
    yield 30
    yield from file.write_in_pieces(file.path, file.new)
    os.unlink(file.beside(f".#{file.name}"))


def sed_in_place(file):
    """sed -i: a new file gets the name."""
    temp = file.beside("sedirQkAG")
    yield from file.write_in_pieces(temp, file.new)
    os.rename(temp, file.path)


def redirection(file):
    """`program > file`: cut to nothing when the shell opens it, then what the program says."""
    file.write(file.path, b"")
    yield PIECE_PAUSE
    yield from file.write_in_pieces(file.path, file.new)


def copy_with_times(file):
    """cp -p: another text with an older time."""
    before = os.stat(file.path)
    yield 5
    yield from file.write_in_pieces(file.path, file.new)
    os.utime(file.path, ns=(before.st_atime_ns, before.st_mtime_ns - 3_600 * 10**9))


def copy_of_same_size(file):
    """cp -p at once, of a text that is as long as the old one."""
    yield 5
    file.write(file.path, file.new)
    os.utime(file.path, (1_700_000_000, 1_700_000_000))


def git_checkout(file):
    """The old file is removed, then one with the other version is made."""
    file.write(file.beside("index.lock"), b"DIRC")
    yield 1
    os.unlink(file.path)
    yield 0.14
    file.write(file.path, file.new, os.O_CREAT | os.O_EXCL)
    os.unlink(file.beside("index.lock"))


EDITORS = [
    vim, vim_in_place, vs_code, vs_code_atomic, emacs, emacs_in_place, sed_in_place, redirection, copy_with_times,
    copy_of_same_size, git_checkout,
]


def run(setting, tally):
    store = harness.Store(setting, setting.folder("editors", on_disk=True))
    store.fill(OTHERS, "Number {}, of an ibex.")
    cases = [(editor, speed) for editor in EDITORS for speed in SPEEDS]
    for number in range(len(cases)):
        stem = harness.numbered_stem(100 + number)
        store.write(stem, text_of(stem, "quokka", number).decode())
    with Server(store) as asking, Server(store) as checking:
        harness.wait_until(lambda: store.json("status")["waiting"] == 0, pause=0.2)
        for number, (editor, speed) in enumerate(cases):
            what = f"{editor.__name__.replace('_', ' ')}, {speed}"
            save(store, tally, asking, checking, editor, SPEEDS[speed], number, what)
        sync_services(store, tally, checking, len(cases))
    for fault in harness.soundness(store):
        tally.loss(f"after all editors: {fault}")
    store.remove()


def text_of(stem, animal, number):
    """A text with one word of its own version, and one that all versions have, in the last line."""
    body = f"{animal}{number:02}\n" + "Some lines in between.\n" * 1_500 + f"axolotl{number:02} and ibex"
    return harness.memory_text(stem, body).encode()


def save(store, tally, asking, checking, editor, speed, number, what):
    """Replays one editor while a client asks."""
    stem = harness.numbered_stem(100 + number)
    handle = stem[-8:]
    new = text_of(stem, "lemurs", number)
    old_count = checking.count("ibex")
    answers, over = [], threading.Event()

    def ask():
        while not over.is_set():
            answers.append(asking.think(f"axolotl{number:02}"))

    client = threading.Thread(target=ask)
    client.start()
    harness.wait_until(lambda: answers)
    longest, resumed = 0.0, time.monotonic()
    for pause in editor(File(store.path("files", stem + ".md"), new)):
        time.sleep(pause / 1000 / speed)
        longest, resumed = max(longest, time.monotonic() - resumed), time.monotonic()
    time.sleep(PIECE_PAUSE / 1000)
    over.set()
    client.join()
    tally.fault()
    missed = sum(ids != [handle] for ids, _ in answers)
    if missed and longest > MOST_QUIET:
        # Nobody can tell such a pause from the end of the text.
        tally.note(f"{what}: not judged, the machine made a pause of {1000 * longest:.0f} ms")
    else:
        tally.check(not missed, f"{what}: {missed} of {len(answers)} searches did not find the memory")
    settled = harness.wait_until(
        lambda: checking.think(f"lemurs{number:02}")[0] == [handle] and not checking.think(f"quokka{number:02}")[0],
        within=15, pause=0.05,
    )
    tally.check(settled, f"{what}: after 15 s the old text is still found, or the new one is not")
    count = checking.count("ibex")
    tally.check(count == old_count, f"{what}: there were {old_count} memories, now {count} are found")
    tally.log(f"{what}: {len(answers)} searches, {missed} missed")


def sync_services(store, tally, server, cases):
    """What Dropbox, Syncthing, iCloud, macOS and Windows leave beside a memory."""
    before = server.count("ibex")
    stem = harness.numbered_stem(1)
    copies = [
        f"{stem} (conflicted copy 2026-01-15).md",
        f"{stem}.sync-conflict-20260115-120000-ABCDEFG.md",
    ]
    junk = [
        f".{stem}.md.icloud", f"{stem}.md.icloud", f"._{stem}.md", ".DS_Store", "Thumbs.db", "desktop.ini",
        f".syncthing.{stem}.md.tmp", f"~syncthing~{stem}.md.tmp", f".~lock.{stem}.md#", f".{stem}.md.swp",
    ]
    for name in copies:
        with open(store.path("files", name), "wb") as file:
            file.write(harness.memory_text(stem, "Their version, of an ibex.").encode())
    for name in junk:
        with open(store.path("files", name), "wb") as file:
            file.write(b"Junk, of an ibex.")
    tally.fault(len(copies) + len(junk))
    found = harness.wait_until(lambda: server.count("ibex") == before + len(copies), within=15, pause=0.05)
    tally.check(found, f"with {len(copies)} conflict copies {server.count('ibex')} memories are found, before {before}")
    problems = {finding["file"]: finding["code"] for finding in store.json("status")["problems"]}
    for name in copies:
        code = problems.pop(f"files/{name}", None)
        tally.check(code == "conflict-copy", f"the copy {name} is reported as {code}")
    for file, code in problems.items():
        tally.check(code == "same-handle", f"status reports {file}: {code}")
    for name in copies:
        tally.check(os.path.exists(store.path("files", name)), f"the copy {name} was deleted")
    for name in junk:
        tally.check(os.path.exists(store.path("files", name)), f"somebody's file {name} was deleted")
        os.unlink(store.path("files", name))
    tally.note(f"{cases} saves by {len(EDITORS)} programs, {len(copies) + len(junk)} files of sync services")
