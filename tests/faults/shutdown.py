"""Cuts the power of a real file system: an image is shut down below its mount, and mounted again.

The GOINGDOWN ioctl of ext4 and xfs ends all writing at once without flushing the journal, as a power
cut does. Each round remembers some memories and updates one, shuts down, replays the journal, and
looks: every acknowledged memory is there with its text, every acknowledged update, none is torn.
Needs root, loop devices, and mkfs of the file system.
"""
import contextlib
import fcntl
import os
import shutil
import struct
import subprocess

import harness
from deeds import is_whole

FILE_SYSTEMS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
GOING_DOWN = 0x8004587D
NO_LOG_FLUSH = 2
ROUNDS = {False: 3, True: 20}
EACH = 5
BODY = "Remembered before the power went, says a quoll. " * 200 + "end"


def run(setting, tally):
    if os.geteuid() != 0 or setting.cannot_mount:
        tally.skip("shutdown", "needs root and mounts")
        return
    for name, make in FILE_SYSTEMS.items():
        if not shutil.which(make[0]):
            tally.skip(f"shutdown of {name}", f"{make[0]} is not installed")
            continue
        shut_down(setting, tally, name, make)


def shut_down(setting, tally, name, make):
    image = os.path.join(setting.folder("image", on_disk=True), "image")
    with open(image, "wb") as file:
        file.truncate(400 << 20)
    folder = setting.folder("mounted")
    for line in ([*make, image], ["mount", "-o", "loop", image, folder]):
        tried = subprocess.run(line, capture_output=True, text=True)
        if tried.returncode:
            tally.skip(f"shutdown of {name}", f"{line[0]}: {' '.join(tried.stderr.split())[:150]}")
            return
    acknowledged, titles = {}, {}
    try:
        for round in range(ROUNDS[setting.long]):
            store = harness.Store(setting, folder)
            if round == 0:
                os.sync()
            for number in range(EACH):
                body = f"{round}.{number} {BODY}"
                done = store.run("remember", "--agent", "a", "--user", "u", "--topics", "cut", body)
                if tally.check(done.code == 0, f"{name}: remember fails: {done.err.strip()[:200]}"):
                    acknowledged[done.out.strip()] = body
            changed = next(iter(acknowledged))
            if store.run("update", changed, "--title", f"Round {round}").code == 0:
                titles[changed] = f"Round {round}"
            go_down(folder)
            tally.fault()
            subprocess.run(["umount", folder], check=True)
            if not tally.check(mount(image, folder), f"{name}: cannot be mounted after round {round}"):
                return
            look(harness.Store(setting, folder), tally, f"{name}, round {round}", acknowledged, titles)
        tally.note(f"{name}: {ROUNDS[setting.long]} cuts, {len(acknowledged)} memories acknowledged")
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False, capture_output=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(image)


def look(store, tally, when, acknowledged, titles):
    texts = harness.memories(store.tree())
    for id, body in acknowledged.items():
        whole = [text for name, text in texts.items() if id in name and is_whole(text, body)]
        if tally.check(whole, f"{when}: {id} was acknowledged, and is not there whole") and id in titles:
            tally.check(f"\ntitle: {titles[id]}\n".encode() in whole[0], f"{when}: the update of {id} is gone")
    tally.check(len(texts) == len(acknowledged), f"{when}: {len(texts)} memories, {len(acknowledged)} acknowledged")
    for fault in harness.soundness(store):
        tally.loss(f"{when}: {fault}")
    left = harness.leftovers(store.tree())
    tally.check(not left, f"{when}: left behind {left}")


def mount(image, folder):
    return subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode == 0


def go_down(folder):
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(opened, GOING_DOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(opened)
