#!/usr/bin/env python3
"""A program of another version and this one on the same stores: upgrade.py OLD NEW

OLD is 0.1, or any version since. Shown are: a store of OLD read by NEW, without a word and without another byte in
it; a store of NEW, with what only NEW can write, read and changed by OLD; both at once, by commands and by
servers, without a lost memory. `.ci/long` says how OLD is built.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROOT, Table, environment, run

sys.path.append(str(ROOT / "tests" / "faults"))
from mcp_client import Server  # noqa: E402

NOTES = [
    ("How we deploy", "deploy,atlas", "Deploys of atlas go out on Tuesdays, after the backup."),
    ("Database", "database,atlas", "Atlas keeps its tiles in PostgreSQL 17."),
    ("Allergies", "health", "Mira is allergic to hazelnuts."),
    ("Editor", "style", "Mira prefers tabs to spaces in makefiles."),
]
QUESTIONS = ["when do deploys go out", "which database has the tiles", "what is she allergic to", "tabs or spaces"]


class Store:
    """A store, and commands of both programs on it; whoever runs them has one home."""

    def __init__(self, folder, old, new):
        self.folder = Path(folder) / "store"
        self.home = Path(folder) / "home"
        self.home.mkdir()
        self.programs = {"old": old, "new": new}
        self.environment = environment(self.home) | {
            "MEMDIR_STORE": str(self.folder), "MEMDIR_USER": "mira", "TZ": "UTC", "MEMDIR_EMBEDDING": "off",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def __call__(self, which, *arguments, code=0, is_quiet=True):
        """Runs a command and returns its output; it has to end with this code, and the new one to say nothing more.

        The old one may warn of settings that it does not know."""
        line = [str(self.programs[which]), *map(str, arguments)]
        ran = subprocess.run(line, capture_output=True, text=True, env=self.environment, cwd=self.home)
        assert ran.returncode == code, f"{line} ends with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        # `think --json` says its counts there.
        said = [said for said in ran.stderr.splitlines() if not said.startswith("{")]
        assert not (is_quiet and which == "new" and said), f"{line} says: {ran.stderr}"
        return ran.stdout

    def json(self, which, *arguments, **options):
        return json.loads(self(which, *arguments, "--json", **options))

    def remember(self, which, title, topics, text, *more):
        return self(which, "remember", "--title", title, "--topics", topics, text, *more).strip()

    def ids(self, which, *more):
        return {memory["id"] for memory in self.json(which, "list", "--limit", "1000", *more)["memories"]}

    def bytes(self):
        """Every file of the user's: all but what is derived, what git keeps, and the journal, which notes uses."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and not {".git", ".memdir", "journal"} & set(path.relative_to(self.folder).parts)
        }

    def changed_since(self, before):
        after = self.bytes()
        return [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]

    def server(self, which):
        """A server over standard input and output that has answered `initialize`."""
        return Server([str(self.programs[which]), "mcp"], self.environment, sys.stderr)


def filled(store, which):
    """Makes a store with four notes, a link, a forgotten one and a change; returns the ids of the notes."""
    store(which, "init", store.folder, is_quiet=False)
    ids = [store.remember(which, *note) for note in NOTES]
    store(which, "link", ids[0], ids[1], "--type", "depends-on")
    gone = store.remember(which, "Old plan", "plan", "Freeze on Mondays.", "--expires", "300d")
    store(which, "forget", gone, "--reason", "over")
    store(which, "update", ids[3], "--importance", "7")
    store(which, "sync", is_quiet=False)
    return ids, gone


def remembered(server, topics, text):
    server.tool("remember", {"agent": "test", "user": "mira", "topics": topics, "content": text})


def answers(store, which):
    """The first hit of each question."""
    return [store.json(which, "think", question)[0]["id"] for question in QUESTIONS]


def the_new_one_reads_what_the_old_one_left(old, new):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, old, new)
        (store.home / ".config/memdir").mkdir(parents=True)
        (store.home / ".config/memdir/config.toml").write_text('user = "mira"\n\n[embedding]\nmodel = "none"\n')
        ids, gone = filled(store, "old")
        assert answers(store, "old") == ids
        server = store.server("old")
        remembered(server, ["tool"], "Written by a server.")
        server.end()
        before = store.bytes()
        assert answers(store, "new") == ids
        assert store.ids("new") == store.ids("old")
        assert gone in store("new", "archived")
        assert "depends-on" in store("new", "links", ids[0])
        assert "importance: 7" in store("new", "diff", ids[3])
        for command in (["status"], ["verify"], ["stats"], ["topics"], ["recall", *ids], ["brief"], ["config"],
                        ["grep", "hazelnuts"], ["export", "--to", "jsonl"], ["sync", "--status"]):
            store("new", *command)
        assert (changed := store.changed_since(before)) == [], f"reading changed {changed}"
        store("new", "undo", ids[3])
        assert "importance" not in store("new", "recall", ids[3])
        store("new", "restore", gone)
        assert "Freeze" in store("new", "think", "freeze on mondays")


def the_old_one_reads_and_changes_what_the_new_one_left(old, new):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, old, new)
        ids, gone = filled(store, "new")
        # What 0.1 does not know: a field, a talk, settings, a note with a name of its own.
        pinned = next(store.folder.glob(f"files/*{ids[0]}.md"))
        text = pinned.read_text()
        pinned.write_text(text.replace("---\n", "---\npinned: true\n", 1))
        talk = store.home / "talk.txt"
        talk.write_text("User: When is the audit?\n\nAssistant: On the third of March.\n\nUser: Thanks.\n")
        store("new", "mine", talk, "--yes", is_quiet=False)
        settings = store.folder / "memdir.toml"
        settings.write_text(settings.read_text() + '\n[people]\nmira = "Kate"\n')
        before = store.bytes()
        assert set(ids) <= store.ids("old")
        assert answers(store, "old") == ids
        store("old", "verify", is_quiet=False)
        assert (changed := store.changed_since(before)) == [], f"reading changed {changed}"
        # A change of the old one keeps what it does not know.
        store("old", "update", ids[0], "--importance", "9", is_quiet=False)
        assert "pinned: true" in pinned.read_text()
        added = store.remember("old", "Added", "plan", "The old one wrote the fifth note.")
        store("old", "forget", ids[3], is_quiet=False)
        store("old", "restore", ids[3], is_quiet=False)
        assert "fifth note" in store("new", "think", "who wrote the fifth note")
        assert {*ids, added} <= store.ids("new")
        assert "importance: 9" in pinned.read_text()
        assert "third of March" in store("new", "think", "when is the audit")
        store("new", "verify")


def both_work_on_one_store_at_once(old, new):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, old, new)
        ids, _ = filled(store, "old")
        servers = {"old": store.server("old"), "new": store.server("new")}
        written = []
        for number in range(60):
            which, other = ("old", "new") if number % 2 else ("new", "old")
            word = f"zebra{number:03}"
            text = f"{word} is a word of the {which} one."
            if number % 3:
                remembered(servers[which], ["race"], text)
            else:
                store.remember(which, f"Race {number}", "race", text)
            written.append(word)
            # What one has acknowledged the other finds, by a server and by a command.
            assert word in json.dumps(servers[other].tool("think", {"query": word})), (which, word)
            if number % 5 == 0:
                assert word in store(other, "think", word), (which, word)
        for server in servers.values():
            server.end()
        for which in servers:
            found = store(which, "grep", "zebra[0-9]+", is_quiet=False)
            lost = [word for word in written if word not in found]
            assert not lost, f"{which} lost {lost}"
            assert set(ids) <= store.ids(which)
            store(which, "verify", is_quiet=False)


def main():
    old, new = (Path(path).resolve() for path in sys.argv[1:3])
    print(f"old: {run([old, '--version']).strip()}, new: {run([new, '--version']).strip()}")
    table = Table()
    for test in (the_new_one_reads_what_the_old_one_left, the_old_one_reads_and_changes_what_the_new_one_left,
                 both_work_on_one_store_at_once):
        table.check(test.__name__.replace("_", " "), ["git"], test, old, new)
    table.end()


if __name__ == "__main__":
    main()
