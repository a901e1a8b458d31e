"""Fails, and then kills, every file call of every command that writes, one at a time.

The calls that touch the store are recorded with strace. Then the command runs once for each of
them with that call failing, for each error, and once with the process killed there. After every
run the files are looked at from outside, the next command must work, and the store must verify.

A kill is tried before calls that change something: between two of them, the state is the same.
A call that makes a memory durable (write, sync, rename in `files` or `archive`) must not fail and
be passed over: then the command may not say that it succeeded. What lies in `.memdir` can be made
again, so a fault there may pass unnoticed. Needs strace.
"""
import collections
import concurrent.futures
import os
import re
import shutil

import deeds
from harness import run as run_command

CALLS = (
    "openat,openat2,read,pread64,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,"
    "unlink,unlinkat,mkdir,mkdirat,ftruncate,flock,fcntl,close,fchmod,chmod,fchmodat,statx,newfstatat,getdents64"
)
DURABLE = {"write", "pwrite64", "writev", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat"}
# What leaves the disk as it was, and what is not: locks end with their process.
READING = {"read", "pread64", "statx", "newfstatat", "getdents64", "fcntl", "flock", "close"}
ERRORS = ["EIO", "ENOSPC", "EACCES", "EMFILE", "EDQUOT", "EROFS", "EINTR"]
SHORT_ERRORS = ["EIO"]
# Of the calls in `.memdir`, and of those that read memories, the short set takes one in so many;
# others with another seed.
SHORT_SHARE, SHORT_READING_SHARE = 6, 2


def run(setting, tally):
    if not shutil.which("strace"):
        tally.skip("sweep", "strace is not installed")
        return
    errors = ERRORS if setting.long else SHORT_ERRORS
    for deed in deeds.ALL:
        sweep(setting, tally, deed, errors, shares=(1, 1) if setting.long else (SHORT_SHARE, SHORT_READING_SHARE))


def sweep(setting, tally, deed, errors, shares=(1, 1), subject=None):
    """Sweeps over one deed of `subject`, words before `--store`; the program itself if absent."""
    subject = subject or [setting.program]
    random = setting.random("sweep " + deed.name)
    points = []
    for call, number, of_memories, is_change in recorded_calls(setting, deed, subject):
        share = shares[0] if not of_memories else shares[1] if not is_change else 1
        if random.randrange(share):
            continue
        if is_change:
            points.append((call, number, of_memories, "kill"))
        # A close that fails by injection leaves the descriptor open with its lock: no kernel does.
        points += [(call, number, of_memories, error) for error in errors if call != "close"]
    with concurrent.futures.ThreadPoolExecutor(setting.jobs) as pool:
        missed = 0
        for point, found in zip(points, pool.map(lambda point: disturb(setting, deed, subject, point), points)):
            tally.log(f"{deed.name}: {point} {found}")
            if found is None:
                missed += 1
                continue
            tally.fault()
            for fault in found:
                call, number, _, way = point
                tally.loss(f"{deed.name}, {way} at {call} {number}: {fault}")
    tally.note(f"{deed.name}: {len(points) - missed} faults" + (f", {missed} did not happen" if missed else ""))
    tally.check(missed * 4 <= len(points), f"{deed.name}: {missed} of {len(points)} faults did not happen")


# What these replaced goes into the archive when they are done; where that fails it stays aside, and is tried again.
REPLACING = {"update", "edit"}


def recorded_calls(setting, deed, subject):
    """The calls that touch the store: name, number, whether a memory is touched, whether it changes.

    strace counts by name and by thread, and so does this.
    """
    store = deeds.prepared(setting, deed)
    trace = os.path.join(setting.folder("trace"), "trace")
    strace = ["strace", "-f", "-qq", "-y", "-s", "0", "-o", trace, "-e", "trace=" + CALLS]
    line = [*subject, "--store", store.root, *deed.line(store)]
    run_command(strace + line, setting, env=deed.environment(store))
    counts, calls = collections.Counter(), {}
    with open(trace, errors="replace") as lines:
        for line in lines:
            found = re.match(r"(\d+) +(\w+)\(", line)
            if not found:
                continue
            counts[found.groups()] += 1
            if store.root in line:
                call = found[2]
                is_archived = f"{store.root}/archive" in line and deed.name not in REPLACING
                of_memories = f"{store.root}/files" in line or is_archived
                is_change = "O_CREAT" in line if call.startswith("open") else call not in READING
                before = calls.get((call, counts[found.groups()]), (False, False))
                calls[call, counts[found.groups()]] = before[0] or of_memories, before[1] or is_change
    store.remove()
    return [(*point, *kind) for point, kind in calls.items()]


def disturb(setting, deed, subject, point):
    """One run with one fault; what is wrong after it, or None if the fault did not happen."""
    call, number, of_memories, way = point
    store = deeds.prepared(setting, deed)
    trace = os.path.join(setting.folder("trace"), "trace")
    effect = "signal=SIGKILL" if way == "kill" else "error=" + way
    # Injection does not work together with strace's --seccomp-bpf, which would be faster.
    strace = ["strace", "-f", "-qq", "-s", "0", "-o", trace, "-e", f"trace={call}"]
    strace += ["-e", f"inject={call}:{effect}:when={number}"]
    line = [*subject, "--store", store.root, *deed.line(store)]
    done = run_command(strace + line, setting, env=deed.environment(store))
    with open(trace, errors="replace") as lines:
        text = lines.read()
    if ("killed by SIGKILL" if way == "kill" else "(INJECTED)") not in text:
        # Threads may share out their calls otherwise than in the recorded run.
        store.remove()
        return None
    succeeded = done.code == 0
    found = done.faults() if way != "kill" else []
    if re.search(r"write\(2,.*INJECTED", text):
        # Standard error itself failed: nobody could be told.
        found = [fault for fault in found if "without a word" not in fault]
    found += deeds.after(store, deed, store.tree(), succeeded)
    if succeeded and of_memories and call in DURABLE and way not in ("kill", "EINTR"):
        found.append(f"acknowledged although {call} failed")
    store.remove()
    return found
