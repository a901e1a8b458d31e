"""Runs the program under low limits and in unusual environments.

Few descriptors, small files, little memory, closed pipes, a clock that is wrong by years, parts of the
store on other file systems, folders in the place of lock files, and processes that are stopped while
they hold a lock. A command may fail with a message; no acknowledged memory is lost, no file is
overwritten, no command hangs, and afterwards everything works.
"""
import os
import re
import shutil
import subprocess

import harness
from deeds import is_whole
from server import Server

COUNT = 40
# At once, of a server with few descriptors.
CALLS = 50
OLD = harness.numbered_stem(1)
BODY = "A numbat, " * 900 + "and that is all."
REMEMBER = ["remember", "--agent", "a", "--user", "u", "--topics", "new", BODY]
COMMANDS = {
    "remember": REMEMBER, "update": ["update", OLD, "--title", "T"], "think": ["think", "numbat"], "list": ["list"],
    "grep": ["grep", "numbat"], "recall": ["recall", OLD], "forget": ["forget", harness.numbered_stem(2)],
    "restore": ["restore", harness.numbered_stem(2)], "status": ["status"], "reindex": ["reindex", "--full"],
    "verify": ["verify"], "export": ["export", "--to", "jsonl"],
}
SAYS_BUSY = re.compile(r"busy, held by process (\d+)")


def run(setting, tally):
    if shutil.which("prlimit"):
        few_descriptors(setting, tally)
        small_files(setting, tally)
        little_memory(setting, tally)
    else:
        tally.skip("limits of descriptors, file size and memory", "prlimit is not installed")
    closed_pipes(setting, tally)
    other_clocks(setting, tally)
    other_file_systems(setting, tally)
    folders_for_locks(setting, tally)
    stopped_holders(setting, tally)


def made(setting, count=COUNT):
    store = harness.Store(setting)
    store.fill(count, "Number {}, of a numbat.")
    return store


def limited(store, limit, words):
    return harness.run(["prlimit", limit, store.setting.program, "--store", store.root, *words], store.setting)


def use(store, tally, what, runner, must_work):
    """Runs every command by `runner`; one that fails says why, and what was acknowledged is there."""
    for name, words in COMMANDS.items():
        done = runner(words)
        tally.fault()
        for fault in done.faults():
            tally.loss(f"{what}: {name}: {fault}")
        if done.code != 0:
            said = f"{name}: {done.code} {done.err.strip()[:200]}"
            tally.check(not must_work and done.code == 2, f"{what}: {said}")
        if name == "remember" and done.code == 0:
            tally.check(has(store, done.out.strip(), BODY), f"{what}: acknowledged, but not there")
    check_sound(store, tally, what)


def check_sound(store, tally, what):
    """Without the limit, everything works, and nothing is left over."""
    for name in ("think", "list", "remember"):
        done = store.run(*COMMANDS[name])
        tally.check(done.code == 0, f"after {what}: {name}: {done.code} {done.err.strip()[:200]}")
    for fault in harness.soundness(store):
        tally.loss(f"after {what}: {fault}")
    left = harness.leftovers(store.tree())
    tally.check(not left, f"after {what}: left behind {left}")


def has(store, handle, body):
    return any(handle in name and is_whole(text, body) for name, text in harness.memories(store.tree()).items())


def few_descriptors(setting, tally):
    store = made(setting)
    use(store, tally, "32 descriptors", lambda words: limited(store, "--nofile=32", words), must_work=True)
    with Server(store, before=["prlimit", "--nofile=32"]) as server:
        asked = {}
        for number in range(CALLS):
            if number % 2:
                asked[server.ask_tool("think", keywords=["numbat"])] = None
            else:
                body = f"{number} {BODY}"
                asked[server.ask_tool("remember", agent="a", user="u", topics=["new"], content=body)] = body
        for number, body in asked.items():
            failed, reply, _ = server.reply(number)
            tally.fault()
            tally.check(not failed, f"a server with 32 descriptors: {str(reply)[:200]}")
            if body and not failed:
                tally.check(has(store, reply["memory_id"], body), "a server with 32 descriptors lost a memory")
        server.close_input()
    check_sound(store, tally, "a server with 32 descriptors")
    use(store, tally, "6 descriptors", lambda words: limited(store, "--nofile=6", words), must_work=False)
    store.remove()


def small_files(setting, tally):
    """What exceeds the limit raises SIGXFSZ, which ends a program that does not mind it."""
    for size in (4096, 0):
        store = made(setting)
        limit = f"--fsize={size}"
        use(store, tally, f"files of at most {size} bytes", lambda words: limited(store, limit, words), must_work=False)
        store.remove()
    store = made(setting)
    done = limited(store, "--fsize=4096", REMEMBER)
    tally.check(done.code == 2 and "too large" in done.err.lower(), f"a small limit: {done.code} {done.err[:200]}")
    tally.check(not harness.leftovers(store.tree()), f"a refused write leaves {harness.leftovers(store.tree())}")
    done = limited(store, "--fsize=4096", ["reindex", "--full"])
    done = limited(store, "--fsize=4096", ["think", "--json", "--keywords", "numbat", "--limit", "100"])
    tally.fault()
    found = done.out.count('"id"')
    said = done.err.strip()[:200]
    tally.check(found == COUNT, f"where no index can be written, {found} of {COUNT} are found: {said}")
    store.remove()


def little_memory(setting, tally):
    """Where memory ends, a process may end; what it acknowledged stays."""
    store = made(setting)
    use(store, tally, "1 GiB of memory", lambda words: limited(store, f"--as={1 << 30}", words), must_work=True)
    for mebibytes in (300, 100, 60):
        done = limited(store, f"--as={mebibytes << 20}", REMEMBER)
        tally.fault()
        if done.code == 0:
            tally.check(has(store, done.out.strip(), BODY), f"{mebibytes} MiB: acknowledged, but not there")
        tally.check(done.code is not None, f"{mebibytes} MiB: hangs")
        check_sound(store, tally, f"{mebibytes} MiB of memory")
    store.remove()


def closed_pipes(setting, tally):
    """Who reads has gone: no panic, and what was asked for is done."""
    store = made(setting, 400)
    for name in ("list", "think", "export", "recall", "grep", "status", "verify", "remember", "update"):
        reading, writing = os.pipe()
        os.close(reading)
        before = len(harness.memories(store.tree()))
        words = [*COMMANDS[name], *(["--limit", "1000"] if name in ("list", "think") else [])]
        done = harness.run([setting.program, "--store", store.root, *words], setting, stdout=writing)
        os.close(writing)
        tally.fault()
        for fault in done.faults():
            if "without a word" not in fault:
                tally.loss(f"{name} into a closed pipe: {fault}")
        tally.check(done.code != 101, f"{name} into a closed pipe ended with 101")
        if name == "remember":
            grown = len(harness.memories(store.tree())) - before
            tally.check(grown == 1, f"remember into a closed pipe made {grown} memories")
    with Server(store) as server:
        server.process.stdout.close()
        ended = False
        for _ in range(50):
            try:
                server.ask_tool("think", keywords=["numbat"])
            except BrokenPipeError:
                break
            ended = server.process.poll() is not None
            if ended:
                break
        tally.fault()
        ended = harness.wait_until(lambda: server.process.poll() is not None)
        tally.check(ended, "the server goes on when nobody reads its answers")
        tally.check(not harness.Done(0, "", server.said()).faults(), f"answers nobody reads: {server.said()[:200]}")
    # A log that nobody reads must not end what is logged. The index cannot be made here.
    shutil.rmtree(store.path(".memdir"))
    with open(store.path(".memdir"), "w"), open("/dev/full", "w") as full:
        for words in (["think", "numbat"], REMEMBER):
            done = subprocess.run(
                [setting.program, "--store", store.root, *words], stdout=subprocess.DEVNULL, stderr=full,
                env=harness.environment(setting),
            )
            tally.fault()
            tally.check(done.returncode == 0, f"{words[0]} with a full log ended with {done.returncode}")
    store.remove()


def other_clocks(setting, tally):
    if not shutil.which("faketime"):
        tally.skip("limits: other clocks", "faketime is not installed")
        return
    store = made(setting)
    before = store.tree()
    moments = ["-1y", "+1y", "+70y", "-40y", "-1d", "2026-01-01 00:00:01"]
    handles = []
    for moment in moments:
        for _ in range(4):
            done = harness.run([*at(moment), setting.program, "--store", store.root, *REMEMBER], setting)
            tally.fault()
            if tally.check(done.code == 0, f"remember at {moment}: {done.code} {done.err.strip()[:200]}"):
                handles.append(done.out.strip())
        # A file that is younger than the clock: its next change must be seen all the same.
        changed = harness.numbered_stem(20)
        store.write(changed, harness.memory_text(changed, f"Seen{len(handles)} by a numbat."))
        words = ["think", "-k", f"Seen{len(handles)}"]
        done = harness.run([*at(moment), setting.program, "--store", store.root, *words], setting)
        tally.check(done.code == 0, f"at {moment} a change in place is not found: {done.err.strip()[:200]}")
    tree = store.tree()
    changed_path = f"files/{harness.numbered_stem(20)}.md"
    kept = all(tree.get(path) == text for path, text in before.items() if path != changed_path)
    tally.check(kept, "a memory was overwritten by one with another clock")
    for handle in handles:
        tally.check(has(store, handle, BODY), f"{handle} was acknowledged, and is not there")
    found = len(store.json("think", "--keywords", "numbat", "--limit", "1000"))
    tally.check(found == COUNT + len(handles), f"{found} of {COUNT + len(handles)} are found after the clock moved")
    check_sound(store, tally, "other clocks")
    store.remove()


def at(moment):
    """What runs a command at another time: an offset, or a moment from which the clock goes on."""
    return ["faketime", *(["-f"] if moment[0] in "+-" else []), moment]


def other_file_systems(setting, tally):
    """The index elsewhere; then parts of the store are mounted."""
    store = made(setting)
    elsewhere = setting.folder("index", on_disk=True)
    env = {"MEMDIR_INDEX_DIR": elsewhere}
    use(store, tally, "an index on another disk", lambda words: store.run(*words, env=env), must_work=True)
    store.remove()
    if setting.cannot_mount:
        tally.skip("limits: parts of a store on other file systems", f"cannot mount here ({setting.cannot_mount})")
        return
    for part in (".memdir", "archive"):
        store = made(setting)
        os.makedirs(store.path(part), exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", store.path(part)], check=True)
        try:
            before = store.tree()
            what = f"{part} on another file system"
            # Moving between two file systems cannot be done in one step; it may be refused.
            use(store, tally, what, lambda words: store.run(*words), must_work=part != "archive")
            names = {os.path.basename(path) for path in store.tree()}
            tally.check({os.path.basename(path) for path in before} <= names, f"{what}: a memory is gone")
        finally:
            subprocess.run(["umount", "--lazy", store.path(part)], check=False)
        store.remove()


def folders_for_locks(setting, tally):
    store = made(setting)
    os.makedirs(store.path(".memdir", "writer.lock"))
    for number in range(64):
        os.makedirs(store.path(".memdir", "locks", f"{number:02x}.lock"))
    for name, words in COMMANDS.items():
        done = store.run(*words)
        tally.fault()
        for fault in done.faults():
            tally.loss(f"folders for locks: {name}: {fault}")
        if name in ("remember", "think", "list", "grep", "recall", "export", "status"):
            tally.check(done.code == 0, f"folders for locks: {name}: {done.code} {done.err.strip()[:200]}")
    shutil.rmtree(store.path(".memdir"))
    check_sound(store, tally, "folders for locks")
    store.remove()


def stopped_holders(setting, tally):
    """Others hold the index, or a memory, and do not go on."""
    if not shutil.which("strace"):
        tally.skip("limits: stopped processes that hold locks", "strace is not installed")
        return
    for call, touching in (("write", "writer.lock"), ("write", "index-v")):
        store = made(setting, 100)
        store.run("reindex")
        with harness.stopped(store, ["reindex", "--full"], call, touching) as holder:
            what = f"the index is held by a stopped process ({touching})"
            tally.check(harness.is_locked(store.path(".memdir", "writer.lock")), f"{what}: it is not held")
            for name in ("remember", "think", "list", "grep", "recall", "status", "update", "forget", "restore"):
                done = store.run(*COMMANDS[name])
                tally.fault()
                tally.check(done.code == 0, f"{what}: {name}: {done.code} {done.err.strip()[:200]}")
            found = len(store.json("think", "--keywords", "numbat", "--limit", "1000"))
            tally.check(found == 101, f"{what}: {found} of 101 are found")
            say_busy(store, tally, what, ["reindex", "--full"], holder)
        check_sound(store, tally, what)
        store.remove()
    store = made(setting, 100)
    # Calls are counted by thread: those that make the index must not come first in another one.
    store.run("reindex")
    with harness.stopped(store, COMMANDS["update"], "write", "/locks/") as holder:
        what = "a memory is held by a stopped process"
        for name in ("remember", "think", "list", "grep", "recall", "status", "reindex", "forget", "restore"):
            done = store.run(*COMMANDS[name])
            tally.fault()
            tally.check(done.code == 0, f"{what}: {name}: {done.code} {done.err.strip()[:200]}")
        say_busy(store, tally, what, COMMANDS["update"], holder)
        say_busy(store, tally, what, ["forget", OLD], holder)
    done = store.run(*COMMANDS["update"])
    tally.check(done.code == 0, f"once the holder is gone: {done.err.strip()[:200]}")
    check_sound(store, tally, what)
    store.remove()


def say_busy(store, tally, what, words, holder):
    done = store.run(*words)
    tally.fault()
    said = SAYS_BUSY.search(done.err)
    is_named = done.code == 2 and said and int(said[1]) == holder
    tally.check(is_named, f"{what}: {words[0]} does not name {holder} as busy: {done.code} {done.err[:200]}")
