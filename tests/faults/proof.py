"""Proves the harness: each classic mistake of writing a file is found, and the right way passes.

The subject is the toy writer, which makes one mistake at a time. The real program only judges the
store that the toy leaves behind. A mistake that is not found, or a false alarm, counts as a loss.
Also what lies below the sets: that a cable does what it is told, and that credentials are found.
"""
import dataclasses
import os
import shutil
import socket
import sys
import threading
import time

import deeds
import powercut
import race
import repositories
import secrecy
import sweep
from harness import Tally
from wire import DOWN, UP, Wire

# Mistake → the sets that must find it. What they do not show, such as a missing sync to a kill, is
# not for them.
FOUND_BY = {
    "good": set(),
    "no fsync": {"powercut"},
    "no folder fsync": {"powercut"},
    "in place": {"sweep", "powercut", "race"},
    "rename over": {"race"},
    "swallowed fsync error": {"sweep"},
}


def run(setting, tally):
    prove_the_cable(tally)
    if shutil.which("git"):
        prove_secrecy(setting, tally)
    if not shutil.which("strace"):
        tally.skip("proof of sweep and powercut", "strace is not installed")
    toy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "toy.py")
    for mode, expected in FOUND_BY.items():
        # Without the site module and the user's settings it starts twice as fast.
        subject = [sys.executable, "-I", "-S", toy, mode]
        tries = {
            "race": lambda tried: race.race_to_remember(setting, tried, subject, writers=6, each=8),
        }
        if shutil.which("strace"):
            tries["sweep"] = lambda tried: sweep.sweep(setting, tried, deeds.Remember(), ["EIO"], subject=subject)
            tries["powercut"] = lambda tried: powercut.cut(setting, tried, deeds.Remember(), subject)
        for name, attempt in tries.items():
            tried = Tally()
            # Whether two meet in a race is a matter of chance, and three races on a busy machine have missed
            # each other: they are run until one finds the mistake. A set that never finds it still fails.
            for _ in range(20):
                attempt(tried)
                if tried.losses or name not in expected:
                    break
            tally.fault(tried.faults)
            tally.log(f"{mode}, {name}: {tried.losses[:3]}")
            if name in expected:
                tally.check(tried.losses, f"{name} does not find the mistake `{mode}`")
            else:
                tally.check(not tried.losses, f"{name} raises a false alarm for `{mode}`: {tried.losses[:2]}")
        finders = sorted(expected & set(tries))
        tally.note(f"{mode}: tried by {', '.join(sorted(tries))}; to be found by {', '.join(finders) or 'none'}")


# ---- the cable


def prove_the_cable(tally):
    """Each manner, with a server that sends back what it is sent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=echo, args=[server], daemon=True).start()
        wire = Wire(server.getsockname())
        sent = os.urandom(30_000)
        tally.check(exchange(wire, sent) == (sent, None), "a cable that lets pass loses something")
        wire.slow_down(60_000)
        begun = time.monotonic()
        whole = exchange(wire, sent) == (sent, None)
        tally.check(whole and time.monotonic() - begun > 0.4, "a slow cable is fast, or loses something")
        for way in (UP, DOWN):
            wire.cut_after(way, 1000)
            received, error = exchange(wire, sent)
            tally.check(len(received) <= 1000 and error is ConnectionResetError, f"no cut in the middle of {way}")
        wire.fall_silent()
        received = []
        waiting = threading.Thread(target=lambda: received.append(exchange(wire, sent)))
        waiting.start()
        waiting.join(0.3)
        tally.check(waiting.is_alive(), "a silent cable is not silent")
        wire.let_pass()
        waiting.join(10)
        tally.check(received == [(sent, None)], "what was said in silence does not arrive after it")
        wire.refuse()
        tally.check(exchange(wire, sent) == (b"", ConnectionRefusedError), "a cable does not refuse")
        wire.close()


def echo(server):
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=echo_one, args=[client], daemon=True).start()


def echo_one(client):
    try:
        with client:
            while read := client.recv(1 << 16):
                client.sendall(read)
    except OSError:
        pass


def exchange(wire, sent):
    """What comes back of what is sent, and how it broke off."""
    received = b""
    try:
        with socket.create_connection(wire.place, timeout=10) as client:
            threading.Thread(target=send, args=[client, sent], daemon=True).start()
            while read := client.recv(1 << 16):
                received += read
    except OSError as error:
        return received, type(error)
    return received, None


def send(client, sent):
    try:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        pass


# ---- credentials


def prove_secrecy(setting, tally):
    """A password is found in a log, and in a history that does not show it any more; not where its owner keeps it."""
    work = setting.folder("secrecy")
    setting = dataclasses.replace(setting, work=work)
    store, kept, log = (os.path.join(work, name) for name in ("store", "kept", "said.log"))
    os.mkdir(store)
    write(kept, "the password is sesame-17")
    write(log, "nothing of it here")
    write(os.path.join(store, "memory"), "qa1z of a platypus")
    repositories.asked(setting, store, "init", "--quiet")
    commit(setting, store)
    found = lambda control="qa1z": secrecy.leaks(setting, ["sesame-17"], [kept], [store], control)
    tally.check(not found(), f"a false alarm of a credential: {found()}")
    tally.check(found("qa2z"), "nobody notices that no history is looked at")
    write(log, "who says sesame-17 may come in")
    tally.check(found(), "a credential in a log is not found")
    write(log, "")
    write(os.path.join(store, "memory"), "sesame-17")
    commit(setting, store)
    write(os.path.join(store, "memory"), "qa1z of a platypus")
    commit(setting, store)
    repositories.asked(setting, store, "gc", "--quiet")
    tally.check(found(), "a credential in a history is not found")
    write(kept, "")
    tally.check(any("blind" in fault for fault in found()), "nobody notices that the kept credentials are not seen")
    shutil.rmtree(work)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def commit(setting, store):
    repositories.asked(setting, store, "add", "--all")
    repositories.asked(setting, store, "commit", "--quiet", "--message", "as it is")
