"""The commands that the sets interrupt, and the check of the store after each interruption.

A deed prepares a store, names the arguments of its command, and checks a tree of files: old memories
are whole, new memories are whole or absent, and every acknowledged memory is there. The check reads
bytes only, so it serves real runs, states after a power cut, and toy programs alike.
"""
import json
import os

from harness import Store, leftovers, memories, memory_text, soundness

OLD = "20260101_000000_aaaaaaaa"
OLD_TEXT = memory_text(OLD, "The old text.\n").encode()
NEW_TEXT = OLD_TEXT.replace(b"topics: [old]\n", b"topics: [old]\ntitle: New\n")
# Longer than a page and than most buffers, so that it can be torn.
BODY = "yak ibex pony " * 640 + "the end"


class Deed:
    """One command on one store."""

    name = ""
    words = []
    # What the old memory may hold afterwards.
    old_texts = {OLD_TEXT}

    def lay_out(self, store):
        store.write(OLD, OLD_TEXT.decode())

    def environment(self, store):
        return {}

    def line(self, store):
        return list(self.words)

    def wrong(self, tree, acknowledged):
        """What is wrong with the files, as sentences; `acknowledged` is whether it said done."""
        name = OLD + ".md"
        files, archive = memories(tree), memories(tree, "archive")
        old = [texts[name] for texts in (files, archive) if name in texts]
        found = []
        if not old:
            found.append("the old memory is gone")
        if any(text not in self.old_texts for text in old):
            found.append("the old memory is harmed")
        others = {other: text for other, text in files.items() if other != name}
        others.update({other: text for other, text in archive.items() if other != name})
        # Without a history the archive keeps what somebody wrote and the program replaced.
        kept = [other for other in others if other.startswith(OLD + ".replaced-")]
        if any(others.pop(other) not in self.old_texts for other in kept):
            found.append("what was replaced is harmed")
        return found + self.wrong_others(others, acknowledged) + self.wrong_place(files, archive, acknowledged)

    def wrong_others(self, others, acknowledged):
        return [f"there is a memory nobody wrote: {name}" for name in others]

    def wrong_place(self, files, archive, acknowledged):
        return []

    def again(self, store):
        """The next command, and what is wrong with its result."""
        done = store.run("remember", "--agent", "a", "--user", "u", "--topics", "next", "Next.")
        return [f"the next command fails: {done.err.strip()[:150]}"] if done.code else []


class Remember(Deed):
    name = "remember"
    words = ["remember", "--agent", "a", "--user", "u", "--topics", "new", BODY]

    def wrong_others(self, others, acknowledged):
        found = ["a torn memory is visible" for text in others.values() if not is_whole(text, BODY)]
        if acknowledged and len(others) != 1:
            found.append(f"acknowledged, but there are {len(others)} new memories")
        elif len(others) > 1:
            found.append(f"there are {len(others)} new memories")
        return found


class Update(Deed):
    name = "update"
    words = ["update", OLD, "--title", "New"]
    old_texts = {OLD_TEXT, NEW_TEXT}

    def wrong_place(self, files, archive, acknowledged):
        if acknowledged and files.get(OLD + ".md") != NEW_TEXT:
            return ["acknowledged, but not changed"]
        return []


class Edit(Update):
    """The text is changed by an editor; until it is saved, the draft must not be lost either."""

    name = "edit"
    words = ["edit", OLD]

    def lay_out(self, store):
        super().lay_out(store)
        os.mkdir(store.path("drafts"))
        with open(store.path("new text"), "wb") as file:
            file.write(NEW_TEXT)
        with open(store.path("editor"), "w") as file:
            file.write(f'#!/bin/sh\ncat "{store.root}/new text" > "$1" && : > "{store.root}/edited"\n')
        os.chmod(store.path("editor"), 0o700)

    def environment(self, store):
        return {"EDITOR": f"'{store.path('editor')}'", "TMPDIR": store.path("drafts")}

    def again(self, store):
        found = super().again(store)
        texts = list(store.tree().values())
        for folder, _, names in os.walk(store.path("drafts")):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    texts.append(file.read())
        if os.path.exists(store.path("edited")) and NEW_TEXT not in texts:
            found.append("what was typed into the editor is gone")
        return found


class Forget(Deed):
    name = "forget"
    words = ["forget", OLD]

    def wrong_place(self, files, archive, acknowledged):
        # Two names for a moment are the price of never having none.
        if acknowledged and (OLD + ".md" in files or OLD + ".md" not in archive):
            return ["acknowledged, but not archived"]
        return []


class Restore(Deed):
    name = "restore"
    words = ["restore", OLD]

    def lay_out(self, store):
        store.write(OLD, OLD_TEXT.decode(), "archive")

    def wrong_place(self, files, archive, acknowledged):
        if acknowledged and (OLD + ".md" in archive or OLD + ".md" not in files):
            return ["acknowledged, but not restored"]
        return []


class Import(Deed):
    """Three memories come in; a second import completes the first and adds nothing."""

    bodies = [f"Imported {number}. " + BODY for number in range(3)]

    def wrong_others(self, others, acknowledged):
        found = []
        for body in self.bodies:
            count = sum(is_whole(text, body) for text in others.values())
            if count > 1:
                found.append(f"imported {count} times: {body[:11]}")
            elif acknowledged and not count:
                found.append(f"acknowledged, but not imported: {body[:11]}")
        if any(not any(is_whole(text, body) for body in self.bodies) for text in others.values()):
            found.append("a torn memory is visible")
        return found

    def again(self, store):
        done = store.run(*self.line(store))
        if done.code:
            return [f"the second import fails: {done.err.strip()[:150]}"]
        return [f"after the second import: {fault}" for fault in self.wrong(store.tree(), True)]


class ImportLines(Import):
    name = "import jsonl"

    def lay_out(self, store):
        super().lay_out(store)
        with open(store.path("memories.jsonl"), "w") as file:
            for number, body in enumerate(self.bodies):
                file.write(json.dumps({"id": f"m{number}", "content": body, "topics": ["in"]}) + "\n")

    def line(self, store):
        return ["import", "--from", "jsonl", store.path("memories.jsonl")]


class ImportFolder(Import):
    name = "import folder"

    def lay_out(self, store):
        super().lay_out(store)
        os.mkdir(store.path("notes"))
        for number, body in enumerate(self.bodies):
            with open(store.path("notes", f"note {number}.md"), "w") as file:
                file.write(body)

    def line(self, store):
        return ["import", "--from", "markdown", store.path("notes")]


class Compact(Deed):
    """Five memories become a summary, or none does; the next command that maintains ends the doubt."""

    name = "compact"
    words = ["compact"]
    stems = [f"20260105_00000{number}_a{number:07x}" for number in range(5)]
    sources = {
        stem + ".md": memory_text(stem, f"Sensor {number} said {number * 7}.", kind="episodic").encode()
        for number, stem in enumerate(stems)
    }

    def lay_out(self, store):
        super().lay_out(store)
        for name, text in self.sources.items():
            store.write(name.removesuffix(".md"), text.decode())

    def wrong(self, tree, acknowledged):
        files, archive = memories(tree), memories(tree, "archive")
        found = []
        for name, text in [*self.sources.items(), (OLD + ".md", OLD_TEXT)]:
            texts = [place[name] for place in (files, archive) if name in place]
            if not texts:
                found.append(f"{name} is gone")
            if any(other != text for other in texts):
                found.append(f"{name} is harmed")
        return found + self.wrong_summaries(files, archive, acknowledged)

    def summaries(self, files, archive):
        known = {*self.sources, OLD + ".md"}
        return [text for place in (files, archive) for name, text in place.items() if name not in known]

    def wrong_summaries(self, files, archive, acknowledged):
        summaries, found = self.summaries(files, archive), []
        if any(not is_summary(text, self.stems) for text in summaries):
            found.append("a torn summary is visible")
        if acknowledged and (len(summaries) != 1 or any(name in files for name in self.sources)):
            found.append("acknowledged, but not compacted")
        return found

    def again(self, store):
        found = super().again(store)
        done = store.run("gc")
        if done.code:
            found.append(f"gc fails: {done.err.strip()[:150]}")
        tree = {path: text for path, text in store.tree().items() if not text.endswith(b"\n\nNext.")}
        files, archive = memories(tree), memories(tree, "archive")
        state = (len([name for name in self.sources if name in files]), len(self.summaries(files, archive)))
        # Nothing that reads was done in the meantime.
        if state not in [(0, 1), (len(self.sources), 0)]:
            found.append(f"half compacted: {state[0]} sources and {state[1]} summaries are there")
        return found


class TakeBack(Compact):
    """The same is taken back."""

    name = "undo plan"

    def lay_out(self, store):
        super().lay_out(store)
        store.plan = json.loads(store.run("compact", "--json").out)["plan"]

    def line(self, store):
        return ["undo", store.plan]

    def wrong_summaries(self, files, archive, acknowledged):
        summaries, found = self.summaries(files, archive), []
        if any(not is_summary(text, self.stems) for text in summaries):
            found.append("a torn summary is visible")
        if acknowledged and (summaries or any(name not in files for name in self.sources)):
            found.append("acknowledged, but not taken back")
        return found


class Reindex(Deed):
    """The index lags behind: files were added, changed and removed since it was made."""

    name = "reindex"
    words = ["reindex"]

    def lay_out(self, store):
        super().lay_out(store)
        store.write("20260101_000001_bbbbbbbb", memory_text("20260101_000001_bbbbbbbb", "Will go."))
        store.run("reindex")
        os.unlink(store.path("files", "20260101_000001_bbbbbbbb.md"))
        for stem in self.added:
            store.write(stem, memory_text(stem, "Was added."))

    added = ["20260101_000002_cccccccc", "20260101_000003_dddddddd"]

    def wrong_others(self, others, acknowledged):
        expected = {stem + ".md": memory_text(stem, "Was added.").encode() for stem in self.added}
        return [] if others == expected else ["other memories are harmed"]


class ReindexFull(Reindex):
    name = "reindex --full"
    words = ["reindex", "--full"]


def is_whole(text, body):
    """Whether a memory file is complete and holds `body`; importers may end it with a line end."""
    return text.startswith(b"---\nid: ") and text.removesuffix(b"\n").endswith(b"\n---\n\n" + body.encode())


def is_summary(text, stems):
    """Whether a memory file is a complete summary of these."""
    head, fence, content = text.removeprefix(b"---\n").partition(b"\n---\n\n")
    says = [f"said {number * 7}.".encode() in content for number in range(len(stems))]
    return bool(fence) and all(stem.encode() in head for stem in stems) and all(says)


WRITING = [Remember(), Update(), Forget(), Restore(), ImportLines(), ImportFolder(), Compact(), TakeBack()]
ALL = WRITING + [Edit(), Reindex(), ReindexFull()]


def prepared(setting, deed, root=None):
    store = Store(setting, root)
    deed.lay_out(store)
    return store


def after(store, deed, done_tree, acknowledged):
    """All that is wrong after a deed, with the commands that come after it."""
    found = deed.wrong(done_tree, acknowledged)
    found += deed.again(store)
    found += soundness(store)
    # The commands before were the next start: they may have mended, not made things worse.
    tree = {path: text for path, text in store.tree().items() if not text.endswith(b"\n\nNext.")}
    found += [f"after the next start: {fault}" for fault in deed.wrong(tree, acknowledged) if fault not in found]
    left = leftovers(tree)
    if left:
        found.append(f"left behind: {left}")
    return found
