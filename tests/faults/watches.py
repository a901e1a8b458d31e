"""Takes the server's watch away, or lets it lose events: the server lists the folder instead, and says so.

The user has no watch instances or no watches left, the queue overflows while the server is stopped,
the memory folder is replaced. Each time the server finds a new file, an appended line and a deletion,
and `status` names the way in which it learns of changes.
"""
import os
import shutil
import signal
import subprocess

import harness
from server import Server

# More events than the system's queue holds, unless somebody changed that.
FLOOD = {False: 9_000, True: 30_000}
QUEUE = "/proc/sys/fs/inotify/max_queued_events"
WITHIN = 60


def run(setting, tally):
    limited(setting, tally, "max_inotify_instances")
    limited(setting, tally, "max_inotify_watches")
    flooded(setting, tally)
    replaced(setting, tally)


def limited(setting, tally, limit):
    """A server in a user namespace in which nothing can be watched."""
    prefix = ["unshare", "-Ur", "sh", "-c", f'echo 0 > /proc/sys/user/{limit} && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        tally.skip(f"no {limit}", "no user namespace can be made")
        return
    store = made(setting, "limited")
    with Server(store, before=prefix) as server:
        tally.fault()
        if follows(store, tally, server, f"without {limit}"):
            agrees = harness.wait_until(lambda: mode(store).startswith("polling (the system's limit"), WITHIN, pause=0.05)
            tally.check(agrees, f"without {limit}: status says {mode(store)}")
    store.remove()


def mode(store):
    """How changes become known, as `status` says."""
    return (store.json("status")["watcher"] or {}).get("mode", "nobody leads")


def flooded(setting, tally):
    """More changes than the queue holds, while the server is stopped."""
    store = made(setting, "flooded")
    with open(QUEUE) as text:
        queue = int(text.read())
    count = FLOOD[setting.long]
    with Server(store) as server:
        tally.check(server.count("gannet") == 1, "the flooded server finds nothing before")
        os.kill(server.pid, signal.SIGSTOP)
        for number in range(1, count + 1):
            store.write(harness.numbered_stem(number), text_of(number, "A gannet."))
        tally.fault()
        if 2 * count < queue:
            tally.note(f"{count} files are fewer events than the queue of {queue} holds")
        os.kill(server.pid, signal.SIGCONT)
        agrees = harness.wait_until(lambda: server.count("gannet") == count + 1, WITHIN, pause=0.1)
        tally.check(agrees, f"after {count} files while it was stopped, {server.count('gannet')} are found")
        follows(store, tally, server, "after a flood")
    store.remove()


def replaced(setting, tally):
    """Another folder under the name of the memory folder."""
    store = made(setting, "replaced")
    with Server(store) as server:
        tally.check(server.count("gannet") == 1, "the server finds nothing before its folder is replaced")
        os.rename(store.path("files"), store.path("files.old"))
        os.mkdir(store.path("files"))
        tally.fault()
        gone = harness.wait_until(lambda: server.count("gannet") == 0, WITHIN, pause=0.05)
        tally.check(gone, "memories of a folder that was replaced are still found")
        follows(store, tally, server, "after the folder was replaced")
    store.remove()


def follows(store, tally, server, when):
    """Whether the server finds a new file, a line in it, and that it is gone."""
    stem = harness.numbered_stem(99_999)
    path = store.path("files", stem + ".md")
    store.write(stem, text_of(99_999, "A puffin."))
    found = [harness.wait_until(lambda: server.count("puffin") == 1, WITHIN, pause=0.05)]
    with open(path, "a") as file:
        file.write("\nAnd a razorbill.\n")
    found.append(harness.wait_until(lambda: server.count("razorbill") == 1, WITHIN, pause=0.05))
    os.unlink(path)
    found.append(harness.wait_until(lambda: server.count("puffin") == 0, WITHIN, pause=0.05))
    return tally.check(all(found), f"{when}: new file, appended line, deletion found: {found}")


def made(setting, name):
    store = harness.Store(setting, setting.folder(name, on_disk=True))
    store.write(harness.numbered_stem(0), text_of(0, "A gannet."))
    return store


def text_of(number, body):
    return harness.memory_text(harness.numbered_stem(number), body + "\n")
