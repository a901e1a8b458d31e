"""Lets many processes write at once, and reads beside them.

Three races, each on a store of its own: many writers of new memories, with readers that look for
torn files and one that searches; many writers of one memory; one memory that is forgotten and
restored. Every acknowledged memory is there with its text, no reader sees a torn one, and the only
error is that another process holds the memory. A fault is one command that runs beside others.
"""
import collections
import os
import re
import threading
import time

import harness
from deeds import is_whole

WRITERS, EACH = 8, 50
LONG_WRITERS, LONG_EACH = 32, 2000
CHANGES = 12
LONG_CHANGES = 200
# Each writer of one memory has a field of its own.
FIELDS = ["title", "source", "status", "agent"]
# Enough pages to be torn while it is written, in words as texts have them.
PADDING = "yak ibex pony " * 700 + "y"


def run(setting, tally):
    race_to_remember(setting, tally)
    race_to_update(setting, tally)
    race_to_forget(setting, tally)


def race_to_remember(setting, tally, subject=None, writers=None, each=None):
    """Has `subject`, words before `--store`, write; the program itself if absent."""
    writers = writers or (LONG_WRITERS if setting.long else WRITERS)
    each = each or (LONG_EACH if setting.long else EACH)
    store = harness.Store(setting, setting.folder("race", on_disk=True))
    line = [*(subject or [setting.program]), "--store", store.root, "remember", "--agent", "a", "--user", "u"]
    acknowledged, over = [], threading.Event()
    readings = collections.Counter()

    def writer(number):
        for round in range(each):
            body = f"writer {number} round {round} {PADDING}."
            done = harness.run([*line, "--topics", "race", body], setting)
            tally.fault()
            if done.code == 0:
                acknowledged.append((done.out.strip(), body))
            elif not is_busy(done):
                tally.loss(f"remember fails: {done.code} {done.err.strip()[:150]}")

    def reader():
        while not over.is_set():
            with os.scandir(store.path("files")) as entries:
                names = [entry.name for entry in entries if harness.is_memory(entry.name)]
            for name in names:
                with open(store.path("files", name), "rb") as file:
                    readings["files"] += 1
                    if not file.read().endswith(b"y."):
                        tally.loss(f"a torn memory was read: {name}")

    def searcher():
        while not over.is_set():
            before, begun = len(acknowledged), time.monotonic()
            done = store.run("think", "--json", "--keywords", "writer", "--limit", "1")
            readings["searches"] += 1
            readings["slowest"] = max(readings["slowest"], time.monotonic() - begun)
            # 1: nothing is found.
            if done.code not in (0, 1) or (before and done.code):
                tally.loss(f"think beside writers: {done.code} {done.err.strip()[:150]}")

    side = [threading.Thread(target=reader)] + [threading.Thread(target=searcher)] * (subject is None)
    in_parallel([lambda number=number: writer(number) for number in range(writers)], side, over)
    texts = harness.memories(store.tree())
    by_handle = collections.defaultdict(list)
    for name, text in texts.items():
        by_handle[name[16:24]].append(text)
    for handle, body in acknowledged:
        if not any(is_whole(text, body) for text in by_handle[handle[-8:]]):
            tally.loss(f"acknowledged, but its text is not there: {handle}")
    tally.check(len(texts) >= len(acknowledged), f"{len(acknowledged)} acknowledged, {len(texts)} are there")
    if subject is None:
        for fault in harness.soundness(store):
            tally.loss(f"after the race: {fault}")
        tally.check(not harness.leftovers(store.tree()), "temporary files are left behind")
    tally.note(
        f"{writers} writers: {len(acknowledged)} of {writers * each} acknowledged, {len(texts)} there; meanwhile "
        f"{readings['files']} files read, {readings['searches']} searches, the slowest {readings['slowest']:.1f} s"
    )
    store.remove()


def race_to_update(setting, tally):
    """Several processes change different fields and the content of one memory."""
    rounds = LONG_CHANGES if setting.long else CHANGES
    store = harness.Store(setting, setting.folder("race", on_disk=True))
    stem = harness.numbered_stem(1)
    path = store.write(stem, harness.memory_text(stem, f"writer 0 round 0 {PADDING}."))
    last, over, busy = {}, threading.Event(), collections.Counter()

    def writer(number):
        for round in range(rounds):
            value = f"w{number} r{round}"
            done = store.run("update", stem, "--" + FIELDS[number], value, "--content", f"{value} {PADDING}.")
            tally.fault()
            if done.code == 0:
                last[number] = value
            elif is_busy(done):
                busy["busy"] += 1
            else:
                tally.loss(f"update fails: {done.code} {done.err.strip()[:150]}")

    def reader():
        while not over.is_set():
            with open(path, "rb") as file:
                text = file.read()
            if not text.startswith(b"---\nid: ") or not text.endswith(b"y."):
                tally.loss("a torn memory was read during an update")

    writers = [lambda number=number: writer(number) for number in range(len(FIELDS))]
    in_parallel(writers, [threading.Thread(target=reader)], over)
    texts = harness.memories(store.tree())
    tally.check(set(texts) == {stem + ".md"}, f"updates left other memories: {sorted(texts)}")
    for number, value in last.items():
        kept = f"\n{FIELDS[number]}: {value}\n".encode() in texts[stem + ".md"]
        tally.check(kept, f"an acknowledged update is gone: {FIELDS[number]}={value}")
    for fault in harness.soundness(store):
        tally.loss(f"after updates: {fault}")
    updates = len(FIELDS) * rounds
    tally.note(f"{len(FIELDS)} writers of one memory: {updates} updates, {busy['busy']} told that it is busy")
    store.remove()


def race_to_forget(setting, tally):
    """One process forgets what another restores; the memory is in one of both places, whole."""
    rounds = LONG_CHANGES if setting.long else CHANGES
    store = harness.Store(setting, setting.folder("race", on_disk=True))
    stem = harness.numbered_stem(1)
    text = harness.memory_text(stem, f"Comes and goes. {PADDING}.")
    store.write(stem, text)
    over, counts = threading.Event(), collections.Counter()

    def mover(word):
        moved = 0
        # Most tries find nothing to move, for another one was first.
        for _ in range(5 * rounds):
            if moved == rounds:
                return
            done = store.run(word, stem)
            tally.fault()
            moved += done.code == 0
            counts[word] += done.code == 0
            if done.code and not is_busy(done) and not re.search("no memory|not found|no file|archive", done.err):
                tally.loss(f"{word} fails: {done.code} {done.err.strip()[:150]}")
            for fault in done.faults():
                tally.loss(f"{word}: {fault}")

    def reader():
        while not over.is_set():
            for place in ("files", "archive"):
                try:
                    with open(store.path(place, stem + ".md")) as file:
                        tally.check(file.read() == text, f"a torn memory was read in {place}")
                except FileNotFoundError:
                    pass

    movers = [lambda word=word: mover(word) for word in ("forget", "restore", "forget", "restore")]
    in_parallel(movers, [threading.Thread(target=reader)], over)
    tree = store.tree()
    places = [path for path in tree if os.path.basename(path) == stem + ".md"]
    tally.check(len(places) == 1 and tree[places[0]] == text.encode(), f"after forgetting and restoring: {places}")
    for fault in harness.soundness(store):
        tally.loss(f"after forgetting: {fault}")
    tally.note(f"forgotten {counts['forget']} times, restored {counts['restore']} times")
    store.remove()


def in_parallel(jobs, beside, over):
    """Runs all jobs at once, with other threads beside them until the last job has ended."""
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in [*beside, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    for thread in beside:
        thread.join()


def is_busy(done):
    """Whether a command was refused since another process is at it, and said which."""
    return done.code == 2 and bool(re.search(r"busy|held by|is being|in use", done.err))
