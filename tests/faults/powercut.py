"""Makes every state that a power cut could leave on the disk, and judges each of them.

A command is recorded with strace, and its calls are replayed on a model of a disk, after each call
anew (the method of ALICE, Pillai et al., OSDI 2014):
  - the bytes of a file are certain up to its last sync; what was written later may be lost, there,
    torn, or zeros;
  - a name made, moved or removed is certain after the sync of its folder; later changes are lost
    from some point on (ordered, as journals of ext4, xfs and btrfs do) or in any mixture (all that
    POSIX promises). A rename into another folder makes one name and then removes the other.
In every state, memories are whole or absent, and what was acknowledged is there. Some states are
laid out, with an index that lost its own share, and the program has to work on them.

`.memdir` is no part of the enumeration: it may be in any state. Writing through mmap is not seen.
"""
import collections
import concurrent.futures
import hashlib
import itertools
import os
import re
import shutil

import deeds
import harness
from calls import recorded

FOLDER = -1
# Changes of names that are mixed in every way; so many are never pending where folders are synced.
MOST_MIXED = 8
MOST_DIRTY = 4
MANY_FILES = 1200
LAID_OUT = {False: 12, True: 200}


def run(setting, tally):
    if not shutil.which("strace"):
        tally.skip("powercut", "strace is not installed")
        return
    for deed in deeds.WRITING:
        cut(setting, tally, deed)
    objects(setting, tally)


def objects(setting, tally):
    """Every object of a commit and its reference are synced before they get their names."""
    store = harness.Store(setting)
    history = {"MEMDIR_GIT": "on", "GIT_CONFIG_NOSYSTEM": "1"}
    # So many that the tree of their folder is a large one.
    store.fill(MANY_FILES)
    at = [setting.program, "--store", store.root]
    trace = os.path.join(setting.folder("trace"), "trace")
    strace = ["strace", "-f", "-y", "-qq", "-s", "4096", "-o", trace, "-e", "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2"]
    for wrapped in ([], strace):
        done = harness.run([*wrapped, *at, "remember", "--topics", "a", "qa0z one more"], setting, env=history)
        tally.check(done.code == 0, f"cannot record a commit: {done.err[:200]}")
    synced, named = set(), collections.Counter()
    with open(trace) as calls:
        for call in calls:
            if found := re.search(r"sync\(\d+<([^>]*)>\)\s*= 0", call):
                synced.add(found[1])
            elif found := re.search(r'(?:link|rename)\w*\(.*?"([^"]+)".*?"([^"]+)".*= 0', call):
                source, target = found.groups()
                kind = re.search(r"\.git/(objects/[0-9a-f]{2}/|refs/heads/)", target)
                if kind:
                    named[kind[1][:7]] += 1
                    tally.check(source in synced, f"{target} got its name before it was synced")
    tally.check(named["objects"] >= 4, f"a commit gave names to {dict(named)}")
    tally.fault(sum(named.values()))
    tally.note(f"objects of a commit: {dict(named)}")
    store.remove()


def cut(setting, tally, deed, subject=None):
    """Judges all states of one deed of `subject`, words before `--store`."""
    store = deeds.prepared(setting, deed)
    line = [*(subject or [setting.program]), "--store", store.root, *deed.line(store)]
    disk = Disk.of(store.root)
    operations = recorded(setting, line, store.root, disk)
    ours = [operation for operation in operations if not operation.is_derived]
    seen, losses, states = set(), collections.Counter(), []
    for is_ordered in (True, False):
        for end in range(len(ours) + 1):
            acknowledged = any(operation.kind == "said" for operation in ours[:end])
            for tree in disk.states(ours[:end], is_ordered):
                key = fingerprint(tree, acknowledged)
                if key in seen:
                    continue
                seen.add(key)
                states.append((tree, acknowledged, end))
                for fault in deed.wrong(tree, acknowledged):
                    losses[f"{deed.name}, cut after call {end} of {len(ours)}: {fault}"] += 1
    tally.fault(len(states))
    for loss, count in losses.items():
        tally.loss(f"{loss} ({count} states)")
    said = sum(operation.kind == "said" for operation in ours)
    tally.check(said, f"{deed.name}: the recorded run acknowledged nothing")
    if subject is None:
        random = setting.random("powercut " + deed.name)
        chosen = random.sample(states, min(len(states), LAID_OUT[setting.long]))
        work = [(tree, said, disk.random_derived(operations, end, random)) for tree, said, end in chosen]
        with concurrent.futures.ThreadPoolExecutor(setting.jobs) as pool:
            for found in pool.map(lambda state: start_on(setting, deed, *state), work):
                for fault in found:
                    tally.loss(f"{deed.name}, started after a cut: {fault}")
    store.remove()
    tally.note(f"{deed.name}: {len(ours)} calls, {len(states)} states")


def fingerprint(tree, acknowledged):
    content = sorted((path, hashlib.sha1(text).digest()) for path, text in tree.items())
    return hashlib.sha1(repr((content, acknowledged)).encode()).digest()


def start_on(setting, deed, tree, acknowledged, derived):
    """What is wrong when the program starts on a state; `derived` is what is left of `.memdir`."""
    store = harness.Store(setting)
    for path, text in {**derived, **tree}.items():
        os.makedirs(os.path.dirname(store.path(path)), exist_ok=True)
        with open(store.path(path), "wb") as file:
            file.write(text)
    found = harness.soundness(store)
    after = {path: text for path, text in store.tree().items()}
    found += [f"after the start: {fault}" for fault in deed.wrong(after, acknowledged)]
    left = harness.leftovers(after)
    if left:
        found.append(f"left behind: {left}")
    store.remove()
    return found


class Disk:
    """The files below one folder before the command began; computes what a cut leaves of them."""

    def __init__(self, root, texts, names):
        self.root, self.texts, self.names = root, texts, names

    @staticmethod
    def of(root):
        texts, names = {}, {root: FOLDER}
        for folder, folders, files in os.walk(root):
            names.update({os.path.join(folder, name): FOLDER for name in folders})
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    texts[len(texts)] = file.read()
                names[path] = len(texts) - 1
        return Disk(root, texts, names)

    def certain(self, operations):
        """What is on the disk for certain, writes to each file that may be, and names that may be."""
        texts, names = dict(self.texts), dict(self.names)
        dirty, pending = collections.defaultdict(list), []
        for operation in operations:
            if operation.kind == "make":
                texts[operation.file] = b""
            elif operation.kind in ("write", "cut"):
                dirty[operation.file].append(operation)
            elif operation.kind == "sync":
                texts[operation.file] = written(texts[operation.file], dirty.pop(operation.file, []), "all")
            elif operation.kind == "name":
                pending.append(operation)
            elif operation.kind == "sync folder":
                for name in pending:
                    if name.folder == operation.path:
                        name.apply(names)
                pending = [name for name in pending if name.folder != operation.path]
        return texts, names, dirty, pending

    def states(self, operations, is_ordered):
        """Every tree of files (without `.memdir`) that a cut after these operations may leave."""
        texts, names, dirty, pending = self.certain(operations)
        if is_ordered:
            subsets = [pending[:count] for count in range(len(pending) + 1)]
        else:
            mixed, kept = pending[:MOST_MIXED], pending[MOST_MIXED:]
            subsets = [
                [*chosen, *kept] for count in range(len(mixed) + 1) for chosen in itertools.combinations(mixed, count)
            ]
        for subset in subsets:
            named = dict(names)
            for operation in subset:
                operation.apply(named)
            used = [file for file in dirty if file in named.values()][:MOST_DIRTY]
            for fates in itertools.product(("none", "all", "zeros", "torn"), repeat=len(used)):
                yield self.tree(texts, named, dirty, dict(zip(used, fates)), ("files", "archive"))

    def random_derived(self, operations, end, random):
        """A state of `.memdir` after the first `end` operations that are not on it."""
        before = []
        for operation in operations:
            end -= not operation.is_derived
            if end < 0:
                break
            before.append(operation)
        texts, names, dirty, pending = self.certain([one for one in before if one.is_derived])
        share = random.choice((0, 0.5, 1))
        for operation in pending:
            if random.random() <= share:
                operation.apply(names)
        fates = {file: random.choice(("none", "all", "zeros", "torn")) for file in dirty}
        return self.tree(texts, names, dirty, fates, (".memdir",))

    def tree(self, texts, names, dirty, fates, places):
        tree = {}
        for path, file in names.items():
            below = os.path.relpath(path, self.root)
            if file == FOLDER or below.split("/")[0] not in places or not self.is_reached(path, names):
                continue
            tree[below] = written(texts[file], dirty.get(file, []), fates.get(file, "all"))
        return tree

    def is_reached(self, path, names):
        """Whether every folder above the file has its name."""
        while path != self.root:
            path = os.path.dirname(path)
            if names.get(path) != FOLDER:
                return False
        return True


def written(text, operations, fate):
    """A file's bytes after writes of which none, all, all but half of the last, or zeros arrived."""
    text = bytearray(text)
    for number, operation in enumerate(operations if fate != "none" else []):
        if operation.kind == "cut":
            del text[operation.size:]
            text.extend(bytes(operation.size - len(text)))
            continue
        data = operation.data
        if fate == "zeros":
            data = bytes(len(data))
        elif fate == "torn" and number == len(operations) - 1:
            data = data[: len(data) // 2]
        offset = len(text) if operation.offset is None else operation.offset
        text.extend(bytes(max(0, offset - len(text))))
        text[offset : offset + len(data)] = data
    return bytes(text)
