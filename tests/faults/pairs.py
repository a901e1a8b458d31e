"""Which memories conflict with each other, and whether two people's edits explain it: an oracle of `convergence.py`.

Promises: a pair is explained only if two acknowledged edits of the same memory, on two machines, were made while
neither machine could know of the other's edit. Of one memory no more texts are put aside than such edits were made, and no two
of them say the same. In doubt an edit counts as made without knowledge of the other.
"""
import dataclasses
import re

from editing import tokens_of

# What a memory is called by in every message and path: the end of its stem.
HANDLE = re.compile(r"([0-9a-f]{8})(?:\.md)?$")
CONFLICT = re.compile(r"to: *\"?\d{8}_\d{6}_([0-9a-f]{8})\"?, type: conflicts-with")


@dataclasses.dataclass(eq=False)
class Edit:
    """A change of a memory: what it brought and took, and what its machine had ever seen before."""

    machine: str
    handle: str
    told: frozenset
    out: frozenset
    seen: frozenset
    epoch: int
    entry: str

    def knows_of(self, other):
        return self.epoch > other.epoch or bool(other.told & self.seen)

    def is_concurrent(self, other):
        return self.machine != other.machine and not self.knows_of(other) and not other.knows_of(self)


class Edits:
    """All edits, and what every machine has seen."""

    def __init__(self):
        self.all, self.seen, self.created, self.epoch = [], {}, set(), 0

    def look(self, machine):
        """Notes what a machine can know of."""
        known = self.seen.setdefault(machine.name, set())
        for path in [*machine.memories("archive"), *machine.memories()]:
            text = machine.read(path) or ""
            known |= tokens_of(text)
            # What a merge puts aside has its link from the beginning on.
            if not CONFLICT.search(text):
                self.created.add(HANDLE.search(path)[1])

    def note(self, machine, path, told, out, entry):
        found = HANDLE.search(path or "")
        if not found or not (told or out):
            return
        seen = frozenset(self.seen.get(machine.name, ()))
        self.all.append(Edit(machine.name, found[1], frozenset(told), frozenset(out), seen, self.epoch, entry))

    def settled(self):
        """From here on every machine knows of all edits."""
        self.epoch += 1

    def wrong(self, machine):
        """Pairs of a machine's memories that no two edits explain, as sentences."""
        texts = {}
        for path in [*machine.memories("archive"), *machine.memories()]:
            texts[HANDLE.search(path)[1]] = machine.read(path) or ""
        links = {stem: set(CONFLICT.findall(text)) - {stem} for stem, text in texts.items()}
        families = {}
        for stem, others in links.items():
            if others:
                families.setdefault(self.root(stem, links), []).append(stem)
        found = []
        for root, stems in families.items():
            edits = [edit for edit in self.all if self.root(edit.handle, links) == root]
            apart = [edit for edit in edits if any(edit.is_concurrent(other) for other in edits)]
            aside = [stem for stem in stems if stem not in self.created]
            if len(aside) >= max(len(apart), 1):
                told = "; ".join(edit.entry for edit in edits[-6:])
                found.append(f"{len(aside)} texts of {root} were put aside, after {len(apart)} edits that did not know "
                             f"of each other: {aside[:4]}, of {told}")
            said = {}
            for stem in stems:
                if other := said.get(meaning(texts[stem])):
                    found.append(f"{stem} and {other} are linked as conflicting and say the same")
                said[meaning(texts[stem])] = stem
        return found

    def root(self, stem, links):
        """The memory that a text was put aside of; itself where somebody wrote it."""
        passed = set()
        while stem not in self.created and stem not in passed:
            passed.add(stem)
            stem = min(links.get(stem, ()), key=lambda other: (other not in self.created, other), default=stem)
        return stem


def meaning(text):
    """What a person reads, without what only programs do."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line in lines if not re.match(r"id:|links:|\s*- \{to: ", line)]
    return "\n".join(kept).rstrip()


def tokens_by_handle(machine):
    """The tokens of each memory of a machine."""
    found = {}
    for path in [*machine.memories(), *machine.memories("archive")]:
        found.setdefault(HANDLE.search(path)[1], set()).update(tokens_of(machine.read(path) or ""))
    return found

