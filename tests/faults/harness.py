"""What all fault sets share: the tally, stores, commands, processes.

Promises: everything lies below two working folders that the caller removes, no command sees the
settings of whoever runs the harness, and no wait is without a deadline. What counts as a loss is
decided by the sets.
"""
import contextlib
import dataclasses
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# Nothing that works takes so long, even on a busy machine. It only ends what hangs.
HANGS_AFTER = 60


@dataclasses.dataclass
class Setting:
    """How this run of the harness was asked for."""

    program: str
    # In memory where that is possible, and on a disk: what is killed needs no disk to be slow.
    work: str
    disk: str
    long: bool
    verbose: bool
    seed: int
    # Commands that run side by side.
    jobs: int
    # Whether file systems can be mounted; if not, why.
    cannot_mount: str

    def random(self, name):
        """Random choices of one set: the same for the same seed, whatever other sets do."""
        return random.Random(f"{self.seed} {name}")

    def folder(self, name, on_disk=False):
        return tempfile.mkdtemp(prefix=name + "-", dir=self.disk if on_disk else self.work)


class Tally:
    """Counts the faults of one set and collects what was lost. May be used by many threads."""

    def __init__(self, verbose=False):
        self.faults = 0
        self.losses = []
        self.skipped = []
        self.notes = []
        self.verbose = verbose
        self.lock = threading.Lock()

    def fault(self, count=1):
        with self.lock:
            self.faults += count

    def loss(self, text):
        with self.lock:
            self.losses.append(text)
            if self.verbose:
                print("    loss:", text, flush=True)

    def check(self, holds, text):
        """Counts `text` as a loss unless it holds."""
        if not holds:
            self.loss(text)
        return bool(holds)

    def skip(self, what, why):
        with self.lock:
            self.skipped.append(f"{what}: {why}")

    def note(self, text):
        with self.lock:
            self.notes.append(text)

    def log(self, text):
        if self.verbose:
            with self.lock:
                print("   ", text, flush=True)


class Failed(Exception):
    """The harness itself could not go on; the set counts it as a loss."""


# ---- memories


def memory_text(stem, body, topics="old", **fields):
    """A memory file as memdir writes it, for a stem of the usual form."""
    date, clock, handle = stem.split("_")
    moment = f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}+00:00"
    lines = [f"id: {handle}", f"timestamp: {moment}", "agent: a", "user: u", f"topics: [{topics}]"]
    lines += [f"{key}: {value}" for key, value in fields.items()]
    return "---\n" + "\n".join(lines) + "\n---\n\n" + body


def numbered_stem(number):
    """A stem for the memory with this number; no two share a handle."""
    return f"20260101_{number // 3600 % 24:02}{number // 60 % 60:02}{number % 60:02}_{0xA0000000 + number:08x}"


def is_memory(name):
    name = os.path.basename(name)
    return name.endswith(".md") and not name.startswith((".", "#"))


def tree_of(root):
    """Path below `root` → bytes, of every file in `files` and `archive`."""
    tree = {}
    for place in ("files", "archive"):
        for folder, _, names in os.walk(os.path.join(root, place)):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as file:
                        tree[os.path.relpath(path, root)] = file.read()
                except FileNotFoundError:
                    pass  # It was renamed since it was listed.
    return tree


def memories(tree, place="files"):
    """File name → bytes, of the memories of one place."""
    return {
        os.path.basename(path): text
        for path, text in tree.items()
        if path.startswith(place + "/") and is_memory(path)
    }


def leftovers(tree):
    """Paths that are no memories."""
    return sorted(path for path in tree if not is_memory(path))


class Store:
    """A store in a folder of its own."""

    def __init__(self, setting, root=None):
        self.setting = setting
        self.root = root or setting.folder("store")
        for place in ("files", "archive"):
            os.makedirs(self.path(place), exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def write(self, stem, text, place="files"):
        path = self.path(place, stem + ".md")
        with open(path, "w") as file:
            file.write(text)
        return path

    def fill(self, count, body="Memory number {}, of a platypus."):
        """Writes so many memories; returns name → bytes."""
        texts = {}
        for number in range(count):
            stem = numbered_stem(number)
            text = memory_text(stem, body.format(number))
            self.write(stem, text)
            texts[stem + ".md"] = text.encode()
        return texts

    def tree(self):
        return tree_of(self.root)

    def run(self, *words, **options):
        return run([self.setting.program, "--store", self.root, *words], self.setting, **options)

    def json(self, *words, **options):
        """What a command answers, as JSON; whatever its exit code."""
        done = self.run("--json", *words, **options)
        try:
            return json.loads(done.out)
        except ValueError:
            raise Failed(f"{' '.join(words)[:60]} ended with {done.code} and no JSON: {done.err[:200]}") from None

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


# ---- commands


@dataclasses.dataclass
class Done:
    """How a command ended. The code is negative after a signal, None if it had to be ended."""

    code: int | None
    out: str
    err: str

    def faults(self):
        """What no command may do, whatever befell it."""
        found = []
        if self.code is None:
            found.append(f"hangs, ended after {HANGS_AFTER} s")
        if "panicked at" in self.err:
            found.append("panicked: " + next(line for line in self.err.splitlines() if "panicked at" in line))
        if self.code is not None and self.code > 0 and not self.err.strip():
            found.append(f"failed with {self.code} without a word")
        return found


def environment(setting, **more):
    """The environment of commands: nobody's settings, one time zone, folders of our own.

    No history is kept, unless a set asks for it with `MEMDIR_GIT`: its calls are swept by `gitkill`.
    """
    own = ("MEMDIR", "AIAML", "XDG_", "VISUAL", "EDITOR", "GIT_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    home = os.path.join(setting.work, "home")
    fixed = {"HOME": home, "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "off", "TZ": "UTC", "LC_ALL": "C"}
    return {**clean, **fixed, **more}


def run(line, setting, *, text=None, within=HANGS_AFTER, env=None, folder=None, stdout=subprocess.PIPE, user=None):
    """Runs a command to its end, or ends it and all that it started when its time is over."""
    process = subprocess.Popen(
        line,
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(setting, **(env or {})),
        cwd=folder or setting.work,
        start_new_session=True,
        **as_user(user),
    )
    try:
        out, err = process.communicate(text.encode() if text is not None else None, timeout=within)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = None
    return Done(code, (out or b"").decode(errors="replace"), err.decode(errors="replace"))


def agree_to(store, remote):
    """Has the user's record say that a store may use this remote, without asking the remote anything."""
    done = store.run("trust", store.root)
    if done.code != 0:
        return  # The program is older than the record.
    folder = os.path.join(environment(store.setting)["HOME"], ".local", "state", "memdir", "stores")
    for name in filter(lambda name: name.endswith(".json"), os.listdir(folder)):
        path = os.path.join(folder, name)
        with open(path) as file:
            record = json.load(file)
        if record["store"] == os.path.realpath(store.root):
            record["remote"] = {"address": remote, "allow_local": True}
            # Other threads read the same folder.
            with open(path + ".new", "w") as file:
                json.dump(record, file)
            os.replace(path + ".new", path)


def as_user(user):
    """What starts a process as another user; needs root."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def wait_until(condition, within=HANGS_AFTER, pause=0.01):
    """Waits for something nobody tells us of; what the condition returned last."""
    deadline = time.monotonic() + within
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return held


def soundness(store, names=None):
    """What is wrong with a store after a fault: it must verify and list just its files."""
    found = []
    expected = len(memories(store.tree())) if names is None else len(names)
    verified = store.run("verify", "--json")
    found += [f"verify {fault}" for fault in verified.faults() if "without a word" not in fault]
    try:
        proof = json.loads(verified.out)
    except ValueError:
        return found + [f"verify fails: {verified.err.strip()[:150]}"]
    if proof["index_faults"]:
        found.append(f"the index differs from the files: {proof['index_faults'][:3]}")
    listed = store.run("list", "--json", "--all", "--limit", "1")
    try:
        total = json.loads(listed.out)["total"]
    except (ValueError, KeyError):
        return found + [f"list fails: {listed.err.strip()[:150]}"]
    if total != expected:
        found.append(f"{total} memories are listed, there are {expected}")
    return found


# ---- processes


def children(pid):
    """The ids of the processes that a process started and that are still there."""
    while True:
        found = []
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    found += file.read().split()
            return found
        except (FileNotFoundError, ProcessLookupError):
            # A thread ended meanwhile, and another has its children now.
            if not os.path.exists(f"/proc/{pid}"):
                return []


def is_locked(path):
    """Whether some process holds the lock file at `path`."""
    try:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


@contextlib.contextmanager
def stopped(store, words, call, touching):
    """A command that was stopped right after its first `call` on a path with `touching` in it.

    Yields its process id; None where strace is missing. Ends the process at last.
    """
    if not shutil.which("strace"):
        yield None
        return
    line = [store.setting.program, "--store", store.root, *words]
    trace = os.path.join(store.setting.folder("trace"), "trace")
    strace = ["strace", "-f", "-q", "-y", "-o", trace, "-e", f"trace={call}"]
    # On a copy, for it shall be stopped before it has done anything.
    copy = store.root + "-copy"
    shutil.copytree(store.root, copy)
    recorded = run([*strace, store.setting.program, "--store", copy, *words], store.setting)
    shutil.rmtree(copy)
    with open(trace, errors="replace") as lines:
        calls = [line for line in lines if f" {call}(" in line]
    numbers = [number for number, line in enumerate(calls, 1) if touching in line]
    if not numbers:
        raise Failed(f"{words} never calls {call} on {touching}: {recorded.err[:200]}")
    inject = ["-e", f"inject={call}:signal=SIGSTOP:when={numbers[0]}"]
    process = subprocess.Popen(
        [*strace, *inject, *line], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=environment(store.setting), cwd=store.setting.work, start_new_session=True,
    )
    try:
        if not wait_until(lambda: "stopped by SIGSTOP" in read_text(trace)):
            raise Failed(f"{words} was not stopped at {call}")
        yield int(children(process.pid)[0])
    finally:
        # Also what is stopped ends by this.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read_text(path):
    with open(path, errors="replace") as file:
        return file.read()
