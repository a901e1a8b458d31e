"""Damages the git repository of a store: cuts each of its files off, and changes single bytes.

A power cut, a failing disk, a synced folder or whoever hands the folder over leaves such files. Three
stores are damaged, with the same memories, commits and remote: one with loose objects and references,
as memdir writes them; one that its owner had packed, with a commit graph, a multi-pack-index, packed
references, alternates and what else git writes; and of one only the list of where its history ends. Each file is cut at 32 points and has a byte
changed at 64; the short form draws some of these points, and always takes those that once hung.

After each damage all commands run, another one first each time. A loss: a command that spends more
than 5 s of processor time, is killed, panics or fails without a word; a memory that is gone; a damage
that nobody named although git finds the repository broken, or although commits left the branch.
"""
import collections
import concurrent.futures
import os
import shutil

import harness
import repositories
from editing import tokens_of
from gitkill import ENVIRONMENT, Scene
from harness import is_memory

CUTS = 32
FLIPS = 64
# Seconds of processor time that no command on such a store comes near.
MOST_PROCESSOR = 5
# What a command says that names a damage, beside its exit code.
NAMES = ("damaged", "cannot", "corrupt", "no repository", "waits", "paused", "warn", "is checked out")


class Loose(Scene):
    """As memdir writes it."""

    name = "loose"
    # The short form draws so many of its points.
    drawn = 8

    def lay_out(self):
        super().lay_out()
        names = sorted(os.listdir(self.own.path("files")))
        self.must("forget", names[2].removesuffix(".md"), store=self.own)
        self.remember(self.own, "qa300z not sent.")
        # What git leaves of a reset or a merge.
        with open(self.own.path(".git", "ORIG_HEAD"), "w") as file:
            file.write(repositories.tip(self.setting, self.own.root) + "\n")

    def is_damaged(self, path):
        """Whether a file below `.git` is damaged in this scene: not what is beside the repository itself,
        examples and notes that expire."""
        return path.split(os.sep)[0] not in ("hooks", "memdir-stale", "memdir-made")


class Packed(Loose):
    """As its owner's git packs it, with a further folder of objects."""

    name = "packed"

    def lay_out(self):
        super().lay_out()
        for words in (
            ["repack", "-a", "-d", "--quiet"],
            ["pack-refs", "--all"],
            ["multi-pack-index", "write"],
            ["commit-graph", "write", "--reachable", "--no-progress"],
        ):
            repositories.asked(self.setting, self.own.root, *words)
        with open(self.own.path(".git", "objects", "info", "alternates"), "w") as file:
            file.write("../../../remote.git/objects\n")


class Shallow(Loose):
    """As of a copy that was made without what happened before its first commit."""

    name = "shallow"
    drawn = 2

    def lay_out(self):
        super().lay_out()
        first = repositories.asked(self.setting, self.own.root, "rev-list", "--max-parents=0", "HEAD")
        with open(self.own.path(".git", "shallow"), "w") as file:
            file.write(first + "\n")

    def is_damaged(self, path):
        return path == "shallow"


def commands(handle):
    """All that looks at a repository or writes to it, with the tokens that are there afterwards."""
    return [
        (["status"], None),
        (["log"], None),
        (["undo"], None),
        (["forget", handle], None),
        (["remember", "--topics", "new", "qa900z is new."], "qa900z"),
        (["verify"], None),
        (["sync"], None),
    ]


def run(setting, tally):
    if not shutil.which("git"):
        tally.skip("hostile_objects", "git is not installed")
        return
    random = setting.random("objects")
    for kind in (Loose, Packed, Shallow):
        scene = kind(setting)
        points = points_of(scene, random)
        if not setting.long:
            points = random.sample(points, kind.drawn)
        if kind is Loose:
            points.insert(0, half_of_the_newest_commit(scene))
        ends = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(setting.jobs) as pool:
            numbered = list(enumerate(points))
            for (_, point), (found, end) in zip(numbered, pool.map(lambda each: damage(setting, scene, *each), numbered)):
                tally.fault()
                tally.log(f"{scene.name}: {point} {end} {found}")
                ends[end] += 1
                for loss in found:
                    tally.loss(f"{scene.name}, {' '.join(map(str, point))}: {loss}")
        tally.note(f"{scene.name}: " + ", ".join(f"{count} {end}" for end, count in sorted(ends.items())))


def points_of(scene, random):
    """File, way and place of every damage. A flip says which bits change."""
    points = []
    folder = scene.own.path(".git")
    for path in sorted(filter(scene.is_damaged, files_below(folder))):
        size = os.path.getsize(os.path.join(folder, path))
        places = sorted({size * number // CUTS for number in range(CUTS)})
        points += [(path, "cut", place, 0) for place in places if place < size]
        places = sorted({size * number // FLIPS for number in range(FLIPS)})
        points += [(path, "flip", place, random.randrange(1, 256)) for place in places if place < size]
    return points


def files_below(folder):
    for where, _, names in os.walk(folder):
        below = os.path.relpath(where, folder)
        yield from (os.path.normpath(os.path.join(below, name)) for name in names)


def half_of_the_newest_commit(scene):
    commit = repositories.tip(scene.setting, scene.own.root)
    path = os.path.join("objects", commit[:2], commit[2:])
    return (path, "cut", os.path.getsize(scene.own.path(".git", path)) // 2, 0)


def damage(setting, scene, number, point):
    """What is wrong after one damage, and how it ended."""
    store, _ = scene.copied()
    try:
        return damaged(setting, scene, store, number, *point)
    finally:
        shutil.rmtree(os.path.dirname(store.root))


def damaged(setting, scene, store, number, path, way, place, bits):
    path = store.path(".git", path)
    tip = repositories.tip(setting, store.root)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if way == "cut":
        del content[place:]
    else:
        content[place] ^= bits
    os.remove(path)  # Objects are read-only.
    with open(path, "wb") as file:
        file.write(content)
    handle = sorted(os.listdir(store.path("files")))[0].removesuffix(".md")
    words = commands(handle)
    first = number % len(words)
    found, named, expected = [], [], set(scene.tokens)
    for line, token in words[first:] + words[:first]:
        done = bounded(setting, store, line)
        found += [f"{line[0]}: {fault}" for fault in faults_of(done)]
        if found:
            break
        if token and done.code == 0:
            expected.add(token)
        said = done.out + done.err
        if done.code or any(name in said for name in NAMES):
            named.append(line[0])
        if line[0] == "remember" and done.code:
            found.append(f"remember is refused: {done.err.strip()[:200]}")
    tree = store.tree()
    texts = [text.decode(errors="replace") for name, text in tree.items() if is_memory(name)]
    if lost := expected - set().union(*map(tokens_of, texts)):
        found.append(f"LOST {sorted(lost)}")
    if found:
        return found, "lost"
    broken = repositories.broken(setting, store.root)
    log = repositories.git(setting, store.root, "rev-list", "HEAD").out.split()
    if named:
        return [], "named, broken" if broken else "named, sound"
    if broken:
        found.append(f"nobody named it, git finds: {broken[:2]}")
    if tip not in log:
        found.append("nobody named it, and the commits before are no longer those of the branch")
    return found, "unnoticed" if found else "without harm"


def bounded(setting, store, words):
    limit = ["sh", "-c", f'ulimit -t {MOST_PROCESSOR}; exec "$@"', "sh"]
    line = [*limit, setting.program, "--store", store.root, *words]
    return harness.run(line, setting, env=ENVIRONMENT)


def faults_of(done):
    if done.code is not None and done.code < 0:
        return [f"was ended by signal {-done.code}"]
    if done.code is not None and done.code > 128:
        return [f"ended with {done.code}"]
    # What `verify` finds is its reply.
    return [fault for fault in done.faults() if not ("without a word" in fault and done.out.strip())]
