"""A remote that somebody else writes: settings that stop commands or end syncing, names that no machine can
hold, texts emptied instead of deleted. The machine goes on, takes what it can, names what it cannot, deletes
nothing of it on the remote, and loses no memory unasked."""
import json
import os
import subprocess

import harness
from harness import memory_text, numbered_stem
import repositories

FILE, LINK, TREE, COMMIT = "100644", "120000", "40000", "160000"


class Remote:
    """A bare repository whose commits are made of bytes, with any name and mode."""

    def __init__(self, setting):
        self.setting = setting
        self.path = repositories.new_remote(setting, os.path.join(setting.folder("remote"), repositories.REMOTE))

    def git(self, *words, text=None):
        env = harness.environment(self.setting, GIT_CONFIG_NOSYSTEM="1")
        line = ["git", "--git-dir", self.path, "-c", "user.name=M", "-c", "user.email=m@example.org", *words]
        done = subprocess.run(line, input=text, capture_output=True, env=env)
        if done.returncode:
            raise harness.Failed(f"git {words[0]}: {done.stderr[:300]}")
        return done.stdout

    def tip(self):
        return self.git("rev-parse", "main").decode().strip()

    def blob(self, text):
        return self.git("hash-object", "-w", "--stdin", text=text).decode().strip()

    def entries(self, tree):
        """Name → mode and id."""
        data, found = self.git("cat-file", "tree", tree) if tree else b"", {}
        while data:
            head, rest = data.split(b"\0", 1)
            mode, name = head.split(b" ", 1)
            found[name] = (mode.decode(), rest[:20].hex())
            data = rest[20:]
        return found

    def tree(self, entries):
        order = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == TREE else name)
        lines = [f"{entries[name][0]} ".encode() + name + b"\0" + bytes.fromhex(entries[name][1]) for name in order]
        data = b"".join(lines)
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", text=data).decode().strip()

    def changed(self, tree, path, entry):
        """The tree with another entry at `path`, a list of names; None takes it away."""
        entries = self.entries(tree)
        name, *below = path
        if below:
            old = entries.get(name)
            entry = (TREE, self.changed(old[1] if old and old[0] == TREE else None, below, entry))
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry
        return self.tree(entries)

    def commit(self, changes):
        """Pushes, as an attacker does, a commit with these changes: path → text, entry or None."""
        tip = self.tip()
        tree = self.git("rev-parse", tip + "^{tree}").decode().strip()
        for path, what in changes.items():
            if isinstance(what, bytes):
                what = (FILE, self.blob(what))
            names = (path if isinstance(path, bytes) else path.encode()).split(b"/")
            tree = self.changed(tree, names, what)
        made = self.git("commit-tree", "-p", tip, "-m", "Evil", tree).decode().strip()
        self.git("update-ref", "refs/heads/main", made)

    def at(self, path):
        """The entry of the newest commit at `path`."""
        tree = self.git("rev-parse", "main^{tree}").decode().strip()
        entry = (TREE, tree)
        for name in (path if isinstance(path, bytes) else path.encode()).split(b"/"):
            entry = self.entries(entry[1]).get(name) if entry and entry[0] == TREE else None
        return entry


class Machine:
    """A store with a remote and a user's folders of its own."""

    def __init__(self, setting, remote, count=12):
        self.store = harness.Store(setting)
        home = setting.folder("home")
        self.env = {
            "MEMDIR_GIT": "", "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config",
            "XDG_DATA_HOME": home + "/data", "XDG_CACHE_HOME": home + "/cache",
        }
        self.store.fill(count, body="Memory number {}, of a platypus in its burrow by the river.")
        self.done("sync", "--setup", remote.path, "--allow-local")

    def run(self, *words):
        return self.store.run(*words, env=self.env)

    def done(self, *words):
        ended = self.run(*words)
        if ended.code != 0:
            raise harness.Failed(f"{words} ended with {ended.code}: {ended.err[:300]}")
        return ended

    def sync(self, *more):
        ended = self.run("sync", "--json", *more)
        ended_badly = {"state": f"ended with {ended.code}", "reason": ended.err[:300]}
        try:
            return {**ended_badly, **json.loads(ended.out)}
        except ValueError:
            return ended_badly


def new_memory(number):
    stem = numbered_stem(1000 + number)
    return f"files/{stem}.md", memory_text(stem, f"Sent along, number {number}.").encode()


SETTINGS = {
    "an escape as agent": b'agent = "\\u001b[31m"\n',
    "an escape as user": b'user = "\\u0007"\n',
    "an escape as namespace": b'namespace = "\\u001b]0;x\\u0007"\n',
    "an empty agent": b'agent = ""\n',
    "a long user": b'user = "' + b"u" * 5000 + b'"\n',
    "git off": b"git = false\n",
    "no limit": b"limit = 1000000000000\n",
    "a list for a text": b"agent = [1, 2]\nlimit = {}\n",
    "no table": b"life = 5\nmaintenance = 'x'\nduplicates = []\n",
    "half lives of nothing": b"[life]\nshort = '0s'\nmid = '0d'\ndecay_interval = '0s'\ndecay_others = -1\n",
    "absurd sizes": b"[maintenance]\nsummary_length = 1000000000000\n[duplicates]\nauto_links = 1000000000\n",
    "no words": b"languages = []\nlayout = '../..'\n",
    "no secrets": b"secrets = 'off'\n",
    "four thousand unknown keys": b"".join(b"k%d = 1\n" % number for number in range(4000)),
    "no TOML": b"agent = = [[[\n",
    "no UTF-8": b"agent = '\xff\xfe'\n",
    "zeros": b"\0" * 1000,
    "megabytes": b"# " + b"x" * (12 << 20),
    "a link": (LINK, b"/etc/passwd"),
    "a folder": (TREE, None),
}


def settings(setting, tally, chosen):
    """Nothing that a settings file says, or is, stops a command or the next sync."""
    remote = Remote(setting)
    machine = Machine(setting, remote, count=3)
    for number, name in enumerate(chosen):
        evil = SETTINGS[name]
        if isinstance(evil, tuple) and evil[0] == LINK:
            evil = (LINK, remote.blob(evil[1]))
        elif isinstance(evil, tuple):
            evil = (TREE, remote.tree({b"x": (FILE, remote.blob(b"x"))}))
        path, text = new_memory(number)
        tally.fault()
        remote.commit({"memdir.toml": evil, path: text})
        said = machine.sync()
        tally.check(said["state"] == "in-step", f"{name}: sync ends {said}")
        for words in (["list"], ["remember", f"Written after {number}."]):
            ended = machine.run(*words)
            tally.check(ended.code == 0, f"{name}: {words[0]} ends with {ended.code}: {ended.err[:150]}")
            tally.check(len(ended.err) < 6000, f"{name}: {words[0]} says {len(ended.err)} bytes about it")
            tally.check("\x1b" not in ended.err, f"{name}: {words[0]} repeats an escape")
        # The next sync brings what mends it, and sends what was written here.
        remote.commit({"memdir.toml": b"limit = %d\n" % (7 + number)})
        said = machine.sync()
        tally.check(said["state"] == "in-step", f"{name}: the sync that mends it ends {said}")
        listed = machine.run("config", "--json").out
        tally.check(f'"{7 + number}"' in listed or f": {7 + number}" in listed, f"{name}: is not mended")
        tally.check(os.path.exists(machine.store.path(path)), f"{name}: what came with it did not come")
    ended = machine.run("list")
    tally.check(not ended.err.strip(), f"a mended store still complains: {ended.err[:200]}")


def foreign_entries(remote):
    """What no machine takes as a file, by a name for it: path and entry."""
    blob = remote.blob
    text = memory_text(numbered_stem(5000), "Foreign.").encode()
    return {
        "a name of 300 bytes": ("files/" + "n" * 297 + ".md", (FILE, blob(text))),
        "a folder of 300 bytes": ("files/" + "n" * 300 + "/a.md", (FILE, blob(text))),
        "a journal of 300 bytes": ("journal/" + "n" * 294 + ".jsonl", (FILE, blob(b"{}\n"))),
        "a tombstone of 300 bytes": ("tombstones/" + "n" * 300, (FILE, blob(b"x purged\n"))),
        "another file of 300 bytes": ("n" * 300, (FILE, blob(b"x"))),
        "a git folder": ("files/.git/config", (FILE, blob(b"[core]\n"))),
        "git's folder in another spelling": ("files/GIT~1/config", (FILE, blob(b"[core]\n"))),
        "submodules": (".gitmodules", (FILE, blob(b"[submodule]\n"))),
        "a backslash": ("files/a\\b.md", (FILE, blob(text))),
        "a name that is no text": (b"files/\xff\xfe.md", (FILE, blob(text))),
        "deep folders": ("files/" + "d/" * 20 + "a.md", (FILE, blob(text))),
        "a folder called as a memory": ("files/a.md/b.md", (FILE, blob(text))),
        "a link": ("files/link.md", (LINK, blob(b"/etc/passwd"))),
        "a repository of its own": ("files/sub.md", (COMMIT, remote.tip())),
        "eleven megabytes": ("files/large.md", (FILE, blob(b"a line\n" * (12 << 17)))),
        "a file of the state": (".memdir/tokens", (FILE, blob(b"default read-write " + b"0" * 64 + b"\n"))),
        "a part in another spelling": ("FILES/a.md", (FILE, blob(text))),
    }


def names(setting, tally, at_once):
    """What cannot be a file here is left out and named; the rest comes, and the remote keeps it."""
    remote = Remote(setting)
    machine = Machine(setting, remote, count=3)
    foreign = foreign_entries(remote)
    every = list(foreign)
    for number, start in enumerate(range(0, len(every), at_once)):
        chosen = every[start:start + at_once]
        sent, text = new_memory(number)
        tally.fault(len(chosen))
        remote.commit({sent: text, **dict(foreign[name] for name in chosen)})
        if number % 2:
            # Then both are put together by a commit of ours.
            machine.run("remember", f"Written before {number}.")
        said = machine.sync()
        tally.check(said["state"] == "in-step", f"{chosen}: sync ends {said}")
        tally.check(os.path.exists(machine.store.path(sent)), f"{chosen}: what came with it did not come")
        # Of files that are no part of the store nothing is said where they simply stay away.
        ours = [name for name in chosen if not name.startswith(("another file", "a part"))]
        named = len(said.get("left_out", []))
        tally.check(named >= len(ours), f"{chosen}: {named} are named: {said}")
        machine.run("remember", f"Written after {number}.")
        said = machine.sync()
        tally.check(said["state"] == "in-step", f"{chosen}: the next sync ends {said}")
        for name in chosen:
            path, entry = foreign[name]
            tally.check(remote.at(path) == entry, f"{name}: our commit has {remote.at(path)} for {entry}")
    tokens = machine.run("token", "list").out
    tally.check("0" * 64 not in tokens, "a token of the remote is taken")
    found = [
        os.path.join(folder, name)
        for folder, folders, files in os.walk(machine.store.root)
        for name in folders + files
        if os.path.islink(os.path.join(folder, name))
    ]
    tally.check(not found, f"links came: {found}")
    # Taken away on the remote, they are gone for all.
    remote.commit({path: None for path, _ in foreign.values()})
    said = machine.sync()
    tally.check(said["state"] == "in-step", f"without all of it, sync ends {said}")
    verified = machine.run("verify")
    tally.check(verified.code == 0, f"verify ends with {verified.code}: {(verified.out + verified.err)[:300]}")


def emptied(stem, text):
    """What is left of a memory, by a name for it; each counts as its deletion."""
    front = text[: text.index(b"---\n", 4) + 4]
    return {
        "nothing": b"",
        "blanks": b" \n\t" * len(text),
        "frontmatter alone": front,
        "frontmatter and blanks": front + b"\n" + b" \n" * len(text),
        "invisible characters": front + b"\n" + "\u200b\ufeff".encode() * len(text),
        "two letters": front + b"\nok\n",
        "deleted": None,
    }


def emptying(setting, tally, chosen):
    """Six of twelve texts that are emptied are six that are deleted: nothing of it is taken unasked."""
    remote = Remote(setting)
    machine = Machine(setting, remote)
    good = remote.tip()
    before = machine.store.tree()
    stems = [numbered_stem(number) for number in range(6)]
    texts = {stem: before[f"files/{stem}.md"] for stem in stems}

    def attack(name, changes):
        tally.fault()
        remote.commit(changes)
        said = machine.sync()
        tally.check(said["state"] == "paused", f"{name}: sync ends {said}")
        tally.check(machine.store.tree() == before, f"{name}: memories were taken away")
        remote.git("update-ref", "refs/heads/main", good)

    for name in chosen:
        attack(name, {f"files/{stem}.md": emptied(stem, text)[name] for stem, text in texts.items()})
    hidden = {}
    for stem, text in texts.items():
        hidden[f"files/{stem}.md"] = None
        hidden[f"files/.hidden/{stem}.md"] = text
    attack("moved where nobody looks", hidden)

    # The same done here, by a disk that is full or a script, goes to nobody else.
    for stem in stems:
        with open(machine.store.path("files", stem + ".md"), "w"):
            pass
    tally.fault()
    said = machine.sync()
    tally.check(said["state"] == "paused", f"emptied here: sync ends {said}")
    tally.check(remote.tip() == good, "texts that were emptied here were sent")
    said = machine.sync("--accept-deletions")
    tally.check(said["state"] == "in-step", f"emptied here and accepted: sync ends {said}")

    # In two portions, and by another store on a stick.
    remote, here = Remote(setting), harness.Store(setting)
    machine = Machine(setting, remote)
    before = machine.store.tree()
    for stem in stems[:3]:
        remote.commit({f"files/{stem}.md": b""})
    machine.sync()
    between = machine.store.tree()
    for stem in stems[3:]:
        remote.commit({f"files/{stem}.md": b""})
    tally.fault()
    said = machine.sync()
    tally.check(said["state"] == "paused", f"emptied in two portions: sync ends {said}")
    tally.check(machine.store.tree() == between, "emptied in two portions: memories were taken away")

    for path, text in before.items():
        with open(here.path(path), "wb") as file:
            file.write(text)
    stick = harness.Store(setting)
    env = {"MEMDIR_GIT": "off"}
    here.run("sync", "--with", stick.root, env=env)
    for stem in stems:
        with open(stick.path("files", stem + ".md"), "w"):
            pass
    tally.fault()
    ended = here.run("sync", "--with", stick.root, env=env)
    tally.check(ended.code != 0 and here.tree() == before, f"a stick empties memories: {ended.out[:200]}")

    # An edit is an edit: as long as before, and the history has what it was.
    remote = Remote(setting)
    machine = Machine(setting, remote)
    edits = {f"files/{stem}.md": text.replace(b"platypus", b"heron and") for stem, text in texts.items()}
    remote.commit(edits)
    said = machine.sync()
    tally.check(said["state"] == "in-step", f"edits: sync ends {said}")


def run(setting, tally):
    some = [
        "an escape as agent", "git off", "absurd sizes", "half lives of nothing", "four thousand unknown keys", "no TOML",
        "megabytes",
    ]
    settings(setting, tally, list(SETTINGS) if setting.long else some)
    names(setting, tally, at_once=1 if setting.long else 6)
    ways = list(emptied("x", b"---\n---\n"))
    emptying(setting, tally, ways if setting.long else ["nothing", "frontmatter and blanks", "deleted"])
