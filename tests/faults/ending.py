"""Closes the MCP server's input while it works, and expects that it ends within two seconds.

It is closed during `remember`, during `think`, while thousands of files are indexed, and while a
stopped process holds the index. Every acknowledged memory is there. The server starts no processes,
and after hundreds of calls it has no more threads and descriptors than after the first few.

This is the only set that checks times: two seconds, plus the time that a start takes on this machine
at that moment, because the machine may be busy with other things.
"""
import os
import time

import harness
from deeds import is_whole
from server import Server

PROMISE = 2.0
CALLS = 500
FILES = {False: 5_000, True: 50_000}
# After the first calls, pools and caches are there.
WARM = 50
BODY = "An emu, remembered at the last moment. " * 200


def run(setting, tally):
    noise = start_time(setting)
    end_while_remembering(setting, tally, noise)
    end_while_thinking(setting, tally, noise)
    end_while_indexing(setting, tally, noise)
    end_while_others_hold_the_index(setting, tally, noise)
    stay_small(setting, tally)


def start_time(setting):
    """How long the shortest command takes now; the worst of a few."""
    times = []
    for _ in range(5):
        begun = time.monotonic()
        harness.run([setting.program, "--version"], setting)
        times.append(time.monotonic() - begun)
    return max(times)


def end(server, tally, noise, when):
    """Closes the input; the server has to end by itself, in time and without a fault."""
    before = server.process.poll()
    children = harness.children(server.pid)
    tally.check(not children, f"{when}: the server started processes: {children}")
    seconds = server.close_input()
    tally.fault()
    # Twice the noise: it wakes up, and its end is noticed.
    tally.check(seconds <= PROMISE + 2 * noise, f"{when}: it took {seconds:.2f} s to end")
    tally.check(before is None, f"{when}: the server had ended before, with {before}")
    tally.check(server.process.returncode == 0, f"{when}: it ended with {server.process.returncode}")
    said = harness.Done(0, "", server.said()).faults()
    tally.check(not said, f"{when}: {said}")
    return seconds


def end_while_remembering(setting, tally, noise):
    """Ten writes are asked for; some are answered before the input ends, others never."""
    store = harness.Store(setting, setting.folder("ending", on_disk=True))
    seconds = []
    for answered in (0, 1, 3, 9):
        with Server(store) as server:
            bodies = {}
            for _ in range(10):
                body = f"{len(store.tree())}.{len(bodies)} {BODY}"
                given = {"agent": "a", "user": "u", "topics": ["new"], "content": body}
                bodies[server.ask_tool("remember", **given)] = body
            first = sorted(bodies)[:answered]
            acknowledged = [(server.reply(number)[1]["memory_id"], bodies[number]) for number in first]
            seconds.append(end(server, tally, noise, f"remembering, {answered} answered"))
        texts = harness.memories(store.tree())
        for id, body in acknowledged:
            whole = any(id in name and is_whole(text, body) for name, text in texts.items())
            tally.check(whole, f"{id} was acknowledged before the end, and is not there")
        torn = [name for name, text in texts.items() if not text.endswith(BODY.encode())]
        tally.check(not torn, f"torn memories after the end: {torn}")
    for fault in harness.soundness(store):
        tally.loss(f"ended while remembering: {fault}")
    tally.check(not harness.leftovers(store.tree()), "temporary files are left behind after the next start")
    tally.note(f"remembering: ended in {max(seconds):.2f} s at most")
    store.remove()


def end_while_thinking(setting, tally, noise):
    store = harness.Store(setting)
    store.fill(300)
    with Server(store) as server:
        for number in range(40):
            server.ask_tool("think", query=f"where is platypus number {number} of all the memories")
        seconds = end(server, tally, noise, "thinking")
    tally.note(f"thinking: ended in {seconds:.2f} s")
    store.remove()


def end_while_indexing(setting, tally, noise):
    store = harness.Store(setting, setting.folder("ending", on_disk=True))
    count = FILES[setting.long]
    store.fill(count)
    seconds = []
    # Right after the start, and once the index is being written.
    for is_begun in (lambda: True, lambda: harness.is_locked(store.path(".memdir", "writer.lock"))):
        with Server(store) as server:
            tally.check(harness.wait_until(is_begun), "the server does not begin to index")
            seconds.append(end(server, tally, noise, f"indexing {count} files"))
    with Server(store) as server:
        server.ask_tool("think", keywords=["platypus"])
        seconds.append(end(server, tally, noise, f"asked while indexing {count} files"))
    for fault in harness.soundness(store):
        tally.loss(f"ended while indexing: {fault}")
    tally.note(f"indexing {count} files: ended in {max(seconds):.2f} s at most")
    store.remove()


def end_while_others_hold_the_index(setting, tally, noise):
    store = harness.Store(setting)
    store.fill(300)
    with harness.stopped(store, ["reindex", "--full"], "write", "writer.lock") as holder:
        if holder is None:
            tally.skip("ending beside a stopped process", "strace is not installed")
            return
        with Server(store) as server:
            server.ask_tool("think", keywords=["platypus"])
            server.ask_tool("remember", agent="a", user="u", topics=["new"], content=BODY)
            seconds = end(server, tally, noise, "beside a stopped process that holds the index")
    tally.note(f"beside a stopped process that holds the index: ended in {seconds:.2f} s")
    store.remove()


def stay_small(setting, tally):
    """Threads, descriptors and memory after hundreds of calls."""
    store = harness.Store(setting)
    store.fill(100)
    with Server(store) as server:
        figures = []
        for number in range(CALLS):
            if number % 5 == 0:
                id, why = server.remember(f"Memory {number} of an emu.")
                tally.check(id, f"call {number} fails: {why}")
            elif number % 5 == 1:
                server.call("recall", memory_ids=[harness.numbered_stem(number % 100)])
            elif number % 5 == 2:
                server.call("think", query=f"which emu is number {number}")
            else:
                ids, why = server.think(f"number {number % 100}")
                tally.check(ids, f"call {number} fails: {why}")
            tally.fault()
            if number + 1 in (WARM, CALLS):
                figures.append(usage(server.pid))
        (threads, files, _), (more_threads, more_files, memory) = figures
        # Segments of the index come and go; eight tools may run at once.
        tally.check(more_threads <= threads + 8, f"{threads} threads after {WARM} calls, {more_threads} after {CALLS}")
        tally.check(more_files <= files + 64, f"{files} descriptors after {WARM} calls, {more_files} after {CALLS}")
        children = harness.children(server.pid)
        tally.check(not children, f"the server started processes: {children}")
        resident = f"{memory / 1024:.0f} MiB resident"
        tally.note(f"after {CALLS} calls: {more_threads} threads, {more_files} descriptors, {resident}")
        server.close_input()
    store.remove()


def usage(pid):
    """Threads, descriptors, and resident memory in KiB."""
    with open(f"/proc/{pid}/status") as lines:
        status = dict(line.split(":", 1) for line in lines)
    return int(status["Threads"]), len(os.listdir(f"/proc/{pid}/fd")), int(status["VmRSS"].split()[0])
