"""Kills the program, or a git that it started, at every call that changes a file of a history.

Three commands are swept: `remember`, which commits; `sync` with a commit to send; `sync` with
commits to take in and to merge. The calls are recorded with strace, then the command runs once for
each of them, on a copy, and is killed there:
  alone   the program is killed, the gits that it started go on;
  all     the program is killed, and its gits with it;
  git     one of its gits is killed, and the program goes on.
Afterwards the next `sync` must succeed, at most the one after it, and a commit by the user's own
git, too; every memory is there and committed, both histories are sound, no lock is left. What a
killed process holds at the other end of a connection is another machine's and stays alive. Needs
strace and git.
"""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess

import harness
import repositories
from editing import tokens_of
from harness import Failed, Store, is_memory, leftovers, soundness, wait_until
from sweep import CALLS, READING

# The short set takes one call in so many of these; others with another seed.
SHORT_SHARES = {"alone": 3, "all": 6, "git": 12}
ENVIRONMENT = {"MEMDIR_GIT": "on", "GIT_CONFIG_NOSYSTEM": "1"}
# What is left alone ends by itself.
AFTERWARDS = 20


class Scene:
    """A store with a history, its remote, and the command that is swept on a copy of them."""

    name = ""
    words = ["sync"]

    def __init__(self, setting):
        self.setting = setting
        self.folder = setting.folder("scene")
        self.remote = repositories.new_remote(setting, os.path.join(self.folder, repositories.REMOTE))
        self.own, self.other = (self.made(name) for name in ("own", "other"))
        self.lay_out()
        texts = [*self.own.tree().values(), *self.other.tree().values()]
        self.tokens = set().union(*(tokens_of(text.decode()) for text in texts))

    def made(self, name):
        root = os.path.join(self.folder, name)
        self.must("init", root, "--remote", self.remote, "--allow-local")
        return Store(self.setting, root)

    def must(self, *words, store=None):
        at = ["--store", store.root] if store else []
        done = harness.run([self.setting.program, *at, *words], self.setting, env=ENVIRONMENT)
        if done.code != 0:
            raise Failed(f"{' '.join(words)} ended with {done.code}: {done.err.strip()[:300]}")

    def remember(self, store, text):
        self.must("remember", "--topics", "old", text, store=store)

    def lay_out(self):
        """Three memories on both sides."""
        for number in range(3):
            self.remember(self.own, f"qa{number}z first.\nqa1{number}z second.\nqa2{number}z third.")
        self.must("sync", store=self.own)
        self.must("sync", store=self.other)

    def copied(self):
        """The store of a copy, and its remote."""
        folder = self.setting.folder("copy")
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        store = Store(self.setting, os.path.join(folder, "own"))
        # Wherever its address is written down.
        for name in filter(os.path.isfile, glob.glob(store.path(".git", "*"))):
            with open(name, "rb") as file:
                text = file.read()
            if self.folder.encode() in text:
                with open(name, "wb") as file:
                    file.write(text.replace(self.folder.encode(), folder.encode()))
        remote = os.path.join(folder, repositories.REMOTE)
        harness.agree_to(store, remote)
        return store, remote


class Commit(Scene):
    name = "commit"
    words = ["remember", "--topics", "new", "qa900z is new."]


class Push(Scene):
    """Two commits wait to be sent, and a change that is not committed yet."""

    name = "push"

    def lay_out(self):
        super().lay_out()
        self.remember(self.own, "qa100z to be sent.")
        self.remember(self.own, "qa101z to be sent.")
        name = sorted(os.listdir(self.own.path("files")))[0]
        with open(self.own.path("files", name), "a") as file:
            file.write("\nqa102z by hand.\n")


class Merge(Scene):
    """One memory was changed here and there at its end, one in ways that exclude each other, one
    was forgotten here and changed there, and both have new ones."""

    name = "merge"

    def lay_out(self):
        super().lay_out()
        names = sorted(os.listdir(self.own.path("files")))
        for number, store in ((100, self.own), (200, self.other)):
            self.change(store, names[0], lambda text: text + f"\nqa{number}z appended.\n")
            self.change(store, names[1], lambda text: text.replace(" second.", f" second, qa{number + 1}z."))
            self.remember(store, f"qa{number + 2}z is new.")
        self.must("forget", names[2].removesuffix(".md"), store=self.own)
        self.change(self.other, names[2], lambda text: text + "\nqa203z kept.\n")
        self.must("sync", store=self.other)

    def change(self, store, name, change):
        with open(store.path("files", name)) as file:
            text = file.read()
        with open(store.path("files", name), "w") as file:
            file.write(change(text))


def run(setting, tally):
    for program in ("strace", "git"):
        if not shutil.which(program):
            tally.skip("gitkill", f"{program} is not installed")
            return
    for kind in (Commit, Push, Merge):
        sweep(setting, tally, kind(setting))


def sweep(setting, tally, scene):
    random = setting.random("gitkill " + scene.name)
    own, gits = recorded_calls(setting, scene)
    points = [(way, *call) for way, calls in (("alone", own), ("all", own), ("git", gits)) for call in calls]
    if not setting.long:
        points = [point for point in points if not random.randrange(SHORT_SHARES[point[0]])]
    done = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(setting.jobs) as pool:
        for point, found in zip(points, pool.map(lambda point: disturb(setting, scene, *point), points)):
            tally.log(f"{scene.name}: {point} {found}")
            if found is None:
                done["did not happen"] += 1
                continue
            tally.fault()
            done[point[0]] += 1
            for fault in found:
                tally.loss(f"{scene.name}, {point[0]} killed at {point[1]} {point[2]}: {fault}")
    tally.note(f"{scene.name}: " + ", ".join(f"{count} {way}" for way, count in done.items()))
    missed = done["did not happen"]
    tally.check(missed * 4 <= len(points), f"{scene.name}: {missed} of {len(points)} faults did not happen")


def line_of(setting, scene, store):
    return [setting.program, "--store", store.root, *scene.words]


def recorded_calls(setting, scene):
    """The calls that change something in the store, those of the program and those of its gits:
    name and number. strace counts by name and by thread, and so does this."""
    store, _ = scene.copied()
    trace = os.path.join(setting.folder("trace"), "trace")
    strace = ["strace", "-f", "-qq", "-y", "-s", "0", "-o", trace, "-e", "trace=" + CALLS]
    done = harness.run([*strace, *line_of(setting, scene, store)], setting, env=ENVIRONMENT)
    if done.code != 0:
        raise Failed(f"{scene.name} ended with {done.code}: {done.err.strip()[:300]}")
    first, counts, own, gits = None, collections.Counter(), [], []
    with open(trace, errors="replace") as lines:
        for line in lines:
            found = re.match(r"(\d+) +(\w+)\(", line)
            if not found:
                continue
            thread, call = found.groups()
            first = first or thread
            counts[thread, call] += 1
            is_change = "O_CREAT" in line if call.startswith("open") else call not in READING
            if is_change and store.root in line:
                (own if thread == first else gits).append((call, counts[thread, call]))
    return own, sorted(set(gits))


def disturb(setting, scene, way, call, number):
    """One run with one kill; what is wrong after it, or None if the kill did not happen."""
    store, remote = scene.copied()
    folder = setting.folder("trace")
    trace = os.path.join(folder, "trace")
    strace = ["strace", *(["-f"] if way == "git" else []), "-qq", "-y", "-s", "0", "-o", trace, "-e", f"trace={call}",
              "-e", f"inject={call}:signal=SIGKILL:when={number}"]
    with open(os.path.join(folder, "said"), "w+") as said:
        process = subprocess.Popen(
            [*strace, *line_of(setting, scene, store)], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env=harness.environment(setting, **ENVIRONMENT), cwd=setting.work, start_new_session=True,
        )
        code = process.wait(harness.HANGS_AFTER)
        said.seek(0)
        output = said.read()
    if way == "all":
        repositories.end_session(process.pid)
    if "killed by SIGKILL" not in harness.read_text(trace):
        repositories.end_session(process.pid)
        shutil.rmtree(os.path.dirname(store.root))
        return None
    found = []
    if "panicked" in output:
        found.append(f"panicked: {output[-300:]}")
    if way == "git" and code > 0 and not output.strip():
        found.append(f"failed with {code} without a word")
    found += wrong_after(setting, scene, store, remote, process.pid)
    shutil.rmtree(os.path.dirname(store.root))
    return found


def wrong_after(setting, scene, store, remote, session):
    found, ends = [], []
    for _ in range(2):
        done = store.run("sync", env=ENVIRONMENT)
        ends.append(f"{done.code}: {(done.out + done.err).strip()[:200]}")
        found += done.faults()
        if done.code == 0:
            break
        # Perhaps what was left alone was still at it; it is not any more at the second try.
        if not wait_until(lambda: not repositories.of_session(session), within=AFTERWARDS):
            found.append(f"what was left alone does not end: {repositories.of_session(session)}")
    else:
        found.append(f"STUCK: {ends}")
    wait_until(lambda: not repositories.of_session(session), within=AFTERWARDS)
    tree = {path: text for path, text in store.tree().items() if is_memory(path)}
    there = set().union(*(tokens_of(text.decode(errors="replace")) for text in tree.values()))
    if lost := scene.tokens - there:
        found.append(f"LOST {sorted(lost)}")
    found += [f"not as committed: {path}" for path in repositories.uncommitted(setting, store.root, tree)]
    for folder in (store.root, remote):
        name = os.path.basename(folder)
        found += [f"git fsck of {name}: {line}" for line in repositories.broken(setting, folder)[:3]]
    if locks := repositories.locks(store.path(".git")) + repositories.locks(remote):
        found.append(f"locks are left: {locks}")
    if repositories.tip(setting, store.root) != repositories.tip(setting, remote):
        found.append("sync says that both are in step, and they are not")
    # The user's own git is not refused either.
    by_user = repositories.git(setting, store.root, "commit", "--allow-empty", "--quiet", "--message", "by hand")
    if by_user.code != 0:
        found.append(f"the user's commit is refused: {by_user.err.strip()[:200]}")
    elif "files/" in repositories.git(setting, store.root, "show", "--name-only", "--format=", "HEAD").out:
        found.append("the user's empty commit is not empty: git's index was not told")
    found += soundness(store)
    return found + [f"left behind: {path}" for path in leftovers(store.tree())]
