"""Cuts the files of `.memdir` in place below a server and commands that read them, and puts pipes,
folders, sockets and devices where these files belong.

A process that dies (a map of a cut file ends it with SIGBUS), hangs for five seconds, or answers
wrongly is a loss: after every cut the same memories are found as before.
"""
import collections
import errno
import json
import os
import shutil
import socket
import threading

import harness
from server import Server

# Longer than anything here takes on a busy machine, in seconds.
HANGS = 5
WORD = "platypus"


def run(setting, tally):
    count = 600
    store = filled(setting, count)
    cuts(setting, tally, store, count, 500 if setting.long else 24)
    strangers(setting, tally)


def filled(setting, count):
    store = harness.Store(setting)
    draw = setting.random("hostile_index words")
    words = [f"{chr(97 + n % 26)}{draw.randrange(10**6)}" for n in range(4000)]
    for number in range(count):
        stem = harness.numbered_stem(number)
        body = f"Memory {number}, of a {WORD}: " + " ".join(draw.choices(words, k=40))
        store.write(stem, harness.memory_text(stem, body))
    store.run("reindex")
    return store


def derived(store):
    """All files among the derived things, below the store's folder."""
    files = []
    for folder, _, names in os.walk(store.path(".memdir")):
        paths = (os.path.join(folder, name) for name in names)
        files += [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return sorted(files)


def total(done):
    """How many memories a command lists, or finds."""
    try:
        answer = json.loads(done.out)
    except ValueError:
        return None  # It said why it failed.
    return len(answer) if isinstance(answer, list) else answer.get("total")


def cuts(setting, tally, store, count, rounds):
    draw = setting.random("hostile_index cuts")
    is_over = threading.Event()
    wrong = collections.Counter()

    def command():
        """Asks all the time, as other processes would; an answer may come from before or after a cut."""
        while not is_over.is_set():
            done = store.run("think", "--keywords", WORD, "--json", "--limit", "30")
            if done.code != 0 or total(done) != 30:
                wrong[f"a command beside the cuts: {done.code} {total(done)} {(done.err or done.out).strip()[-200:]}"] += 1

    server = Server(store)
    thread = threading.Thread(target=command)
    thread.start()
    try:
        for number in range(rounds):
            # The large files are those that are mapped: every second cut is one of theirs.
            # While the index is made anew there may be none for a moment.
            files = harness.wait_until(lambda: [(path, size) for path in derived(store) if (size := size_of(path))])
            large = [one for one in files if one[1] > 32 << 10]
            path, size = draw.choice(large if large and number % 2 else files)
            to = draw.choice([0, draw.randrange(size), draw.randrange(size), size - 1])
            asked = server.ask_tool("think", keywords=[WORD])
            try:
                os.truncate(path, to)
            except FileNotFoundError:
                pass  # It was made anew in the same moment.
            tally.fault()
            shown = f"{os.path.relpath(path, store.root)} cut from {size} to {to}"
            try:
                for ask in (asked, server.ask_tool("think", keywords=[WORD])):
                    failed, reply, structured = server.reply(ask)
                    found = str(reply)[:200] if failed else structured["total"]
                    tally.check(found == count, f"{shown}: the server finds {found} of {count}")
                failed, reply, _ = server.call("think", query=f"Memory 7, of a {WORD}")
                tally.check(not failed and reply, f"{shown}: the server answers {str(reply)[:200]}")
            except (harness.Failed, BrokenPipeError) as error:
                tally.loss(f"{shown}: {error} ({server.process.poll()})")
                server.__exit__()
                server = Server(store)
            if number % 8 == 0:
                done = store.run("list", "--json", "--limit", "1")
                tally.check(total(done) == count, f"{shown}: list says {total(done)}: {done.code} {done.err[-200:]}")
        said = server.said()
    finally:
        is_over.set()
        thread.join()
        server.__exit__()
    for text, times in wrong.items():
        tally.loss(f"{text} ({times} times)")
    lines = [line for line in said.splitlines() if line.strip()]
    tally.check("panicked" not in said, f"the server panicked: {said[-400:]}")
    tally.check(len(lines) <= 2 * rounds, f"the server wrote {len(lines)} lines for {rounds} cuts: {lines[:3]}")
    # The last cut is nobody's yet, who would have mended it.
    done = store.run("think", "--keywords", WORD, "--json", "--limit", "30")
    tally.check(total(done) == 30, f"after {rounds} cuts: think finds {total(done)}: {done.err[-200:]}")
    store.run("reindex")
    for fault in harness.soundness(store):
        tally.loss(f"after {rounds} cuts: {fault}")


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def pipe(path):
    os.mkfifo(path)


def folder(path):
    os.mkdir(path)
    with open(os.path.join(path, "inside"), "w") as file:
        file.write("text")


def a_socket(path):
    made = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        made.bind(os.path.basename(path))
    finally:
        os.chdir(here)
        made.close()


def device(path):
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))


def link(path):
    os.symlink("/dev/zero", path)


# Files that only some commands make; they are looked for as well.
OTHERS = ["tools.log", "sync-state", "git-at-work", "import-at-work", "sync.lock", "import.lock", "reset.lock",
          "serving", "plans/last", "locks/schedule.lock", "locks/plans.lock", "locks/journal.lock"]
COMMANDS = {
    "think": ["think", "--keywords", WORD, "--json"], "remember": ["remember", "--topics", "a", "New text."],
    "status": ["status"],
}


def strangers(setting, tally):
    kinds = {"a pipe": pipe, "a folder": folder, "a socket": a_socket, "a link": link}
    if os.geteuid() == 0 and can_make_devices(setting):
        kinds["a device"] = device
    store = harness.Store(setting)
    store.fill(5, "Memory {}, of a %s." % WORD)
    for words in (["reindex"], ["recall", harness.numbered_stem(1)], ["update", harness.numbered_stem(2), "--title", "T"]):
        store.run(*words)
    with Server(store) as server:
        server.count(WORD)
    names = [os.path.relpath(path, store.path(".memdir")) for path in derived(store)]
    names += [name for name in OTHERS if name not in names]
    if not setting.long:
        draw = setting.random("hostile_index strangers")
        names = draw.sample(names, 9) + ["writer.lock", "heartbeat"]
    for number, name in enumerate(names):
        chosen = kinds.items() if setting.long else [list(kinds.items())[number % len(kinds)]]
        for kind, make in chosen:
            one(setting, tally, store, name, kind, make)


def can_make_devices(setting):
    try:
        path = os.path.join(setting.folder("device"), "zero")
        device(path)
        return True
    except OSError:
        return False


def one(setting, tally, original, name, kind, make):
    """Puts something in the place of one file, and asks commands and a server."""
    store = harness.Store(setting, setting.folder("copy"))
    shutil.rmtree(store.root)
    shutil.copytree(original.root, store.root)
    path = store.path(".memdir", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)

    def is_put():
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        try:
            make(path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.EADDRINUSE):
                raise
            return False  # A server made the file anew in the same moment.
        return True

    def put():
        if not harness.wait_until(is_put):
            raise harness.Failed(f"{name} is made anew each time that {kind} is put there")

    shown = f"{kind} as {name}"
    count = 5
    for label, words in COMMANDS.items():
        put()
        tally.fault()
        done = store.run(*words, within=HANGS)
        if done.code is None:
            tally.loss(f"{shown}: {label} hangs for {HANGS} s")
            continue
        tally.check(done.code == 0, f"{shown}: {label} ends with {done.code}: {done.err.strip()[-200:]}")
        if label == "think":
            tally.check(total(done) == count, f"{shown}: think finds {total(done)} of {count}")
    put()
    tally.fault()
    try:
        with Server(store) as server:
            failed, reply, structured = server.reply(server.ask_tool("think", keywords=[WORD]), HANGS)
            found = str(reply)[:200] if failed else structured["total"]
            tally.check(found == count, f"{shown}: a server finds {found} of {count}")
            id, why = server.remember("Another text.")
            tally.check(id, f"{shown}: a server does not remember: {why[:200]}")
            # And below one that runs.
            put()
            failed, reply, structured = server.reply(server.ask_tool("think", keywords=[WORD]), HANGS)
            found = str(reply)[:200] if failed else structured["total"]
            tally.check(found == count, f"{shown} below a server: it finds {found} of {count}")
            id, why = server.remember("One more text.")
            tally.check(id, f"{shown} below a server: it does not remember: {why[:200]}")
            took = server.close_input()
            tally.check(took < HANGS, f"{shown}: the server goes on for {took:.1f} s without input")
    except harness.Failed as error:
        tally.loss(f"{shown}: {error}")
    store.remove()
