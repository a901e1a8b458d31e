"""The random steps of `convergence.py` on machines that share memories, and the ledger of their tokens.

Promises: a token counts as acknowledged only after its writer was told so, and as removed only if the
user who removed it had read it. `agreement.py` checks whether the acknowledged tokens are there.
"""
import collections
import os
import time

import editing
import pairs
import repositories
from editing import tokens_of
from expected import VOCABULARY, Loss, stem_of
from harness import memory_text, wait_until
from machine import Machine
from wire import DOWN, UP

# What two machines do to one memory while they cannot know of each other.
MEETINGS = [
    ("append", "append"), ("append", "append"), ("change", "change"), ("change", "append"), ("insert", "insert"),
    ("remove", "append"), ("remove", "change"), ("replace", "append"), ("replace", "replace"), ("title", "title"),
    ("title", "append"), ("topics", "topics"), ("forget", "append"), ("forget", "replace"), ("forget", "title"),
    ("tidy", "tidy"), ("tidy", "append"), ("tidy", "replace"), ("forget", "forget"), ("delete", "append"),
    ("delete", "forget"), ("rename", "append"), ("rename", "forget"),
    ("rename", "rename"), ("forget and restore", "append"),
]
# By which tool each of the other dialects stores a text, and the arguments of the text with this number.
DIALECTS = {
    "loci": ("store_memory", lambda text, _: {"content": text, "type": "semantic"}),
    "ai-memory": ("memory_store", lambda text, number: {"title": f"title {number}", "content": text, "tier": "long"}),
    "i-am": ("remember", lambda text, number: {"category": "project", "key": f"key {number}", "value": text, "force": True}),
}
# So long after it was killed nobody is in the way of a sync any more.
SYNC_WITHIN = 30


class Apart:
    """Machines that meet at a remote, and what became of every token."""

    def __init__(self, setting, count, dice, way, by="program"):
        self.setting, self.dice, self.way, self.remote = setting, dice, way, way.remote
        self.machines = [Machine(setting, number, way, dice, by) for number in range(count)]
        self.number = self.step = 0
        # Token → who was told that it is kept; token → who took it out.
        self.acknowledged, self.taken_out = {}, {}
        self.edits = pairs.Edits()
        self.authors = collections.defaultdict(set)  # Token → the machines on which it was written.
        self.tips = []
        # What the way to the remote suffers from, and the step at which that is over.
        self.trouble, self.mended_at = None, 0
        self.took = collections.defaultdict(list)  # Trouble → how long commands took that need no remote.
        self.done, self.refused = collections.Counter(), collections.Counter()
        self.log = open(os.path.join(setting.work, "steps.log"), "w")

    # ---- the ledger

    def line(self):
        """A line with a token of its own."""
        self.number += 1
        return f"qa{self.number}z {' '.join(self.dice.choices(VOCABULARY, k=self.dice.randint(2, 12)))}."

    def note(self, machine, deed, path="", told=(), out=()):
        entry = f"step {self.step}, {machine.name}: {deed} {path}"
        told, out = sorted(told), sorted(out)
        self.acknowledged.update(dict.fromkeys(told, entry))
        self.taken_out.update(dict.fromkeys(out, entry))
        for token in told:
            self.authors[token].add(machine.name)
        self.edits.note(machine, path, told, out, entry)
        if deed.startswith(("remember", "copy in")):
            self.edits.created.update(pairs.HANDLE.findall(path))
        print(entry, *[f"+{token}" for token in told], *[f"-{token}" for token in out], file=self.log, flush=True)
        if self.setting.verbose:
            print(entry, flush=True)

    def ended(self, machine, deed, path, done, told=(), out=()):
        """Notes a command of the program; it may be refused, with a reason."""
        if faults := done.faults():
            raise Loss(f"{deed} of {path} on {machine.name}: {faults}")
        if done.code != 0:
            self.refused[deed, done.err.split(":", 2)[1].strip()[:40] if ":" in done.err else done.err[:40]] += 1
        self.note(machine, deed if done.code == 0 else f"{deed}, refused ({done.err.strip()[:200]}),", path,
                  told if done.code == 0 else (), out)

    # ---- one machine

    def any(self, machine, place="files"):
        """A memory of a machine; often one of the newest, for these are what several touch."""
        names = machine.memories(place)
        names = names[-6:] if self.dice.random() < 0.5 else names
        return self.dice.choice(names) if names else None

    def remember(self, machine):
        lines = [self.line() for _ in range(self.dice.randint(1, 6))]
        content = "\n".join(lines) + self.dice.choice(["", "\n"])
        if machine.server and self.dice.random() < 0.7:
            name, why = machine.server.remember(content)
            if name is None:
                raise Loss(f"the server on {machine.name} does not remember: {why}")
            self.note(machine, "remember by a server", name, tokens_of(content))
            return
        begun = time.monotonic()
        done = machine.run("remember", "--topics", "told", content)
        self.took[self.trouble].append(time.monotonic() - begun)
        self.ended(machine, "remember", done.out.strip(), done, tokens_of(content))

    def change(self, machine, path=None, kind=None, at=None):
        """Changes a line of a memory: by hand in place, by hand by replacing, by `memdir edit`."""
        path = path or self.any(machine)
        if not path:
            return
        kind, line = kind or self.dice.choice(editing.KINDS), self.line()
        at = self.dice.randrange(100) if at is None else at
        if path.startswith("files/") and self.dice.random() < 0.4:
            done, out = machine.edit(stem_of(path), kind, line, at)
            told = () if kind == "remove" else tokens_of(line)
            return self.ended(machine, f"edit ({kind})", path, done, told, out)
        text = machine.read(path)
        if text is None:
            return
        new = editing.changed(text, kind, line, at)
        self.dice.choice([machine.write, machine.put])(path, new)
        self.note(machine, f"{kind} by hand", path, tokens_of(new) - tokens_of(text), tokens_of(text) - tokens_of(new))

    def update(self, machine, path=None, key=None):
        """Sets a key. With a token in it only where no server can bring another value meanwhile."""
        path = path or self.any(machine)
        text = path and machine.read(path)
        if not text:
            return
        key = key or self.dice.choice(["title", "topics", "importance", "meta", "source"])
        if machine.is_served() and key in ("title", "topics", "source"):
            key = "importance"
        token = self.line().split()[0]
        old = next((line for line in text.splitlines() if line.startswith(key + ":")), "")
        value, told, out = f"{key} {token}", {token}, tokens_of(old)
        if key == "topics":
            value, out = ",".join(["told", *sorted(tokens_of(old)), token]), set()
        elif key == "importance":
            value, told, out = str(self.dice.randint(1, 10)), set(), set()
        elif key == "meta":
            # Of two values the later one counts: no promise for the other.
            value, told, out = f"k{self.dice.randint(1, 4)}={self.number}", set(), set()
        done = machine.run("update", stem_of(path), "--" + key, value)
        self.ended(machine, f"update ({key})", path, done, told, out)

    def forget(self, machine, path=None):
        if path := path or self.any(machine):
            self.ended(machine, "forget", path, machine.run("forget", stem_of(path)))

    def restore(self, machine, path=None):
        if path := path or self.any(machine, "archive"):
            self.ended(machine, "restore", path, machine.run("restore", stem_of(path)))

    def delete(self, machine, path=None):
        if path := path or self.any(machine):
            self.note(machine, "delete by hand", path, out=tokens_of(machine.take_away(path) or ""))

    def rename(self, machine, path=None):
        path = path or self.any(machine)
        target = f"files/{self.dice.choice(['old', 'old/older', 'new'])}/{os.path.basename(path or '')}"
        if not path or os.path.exists(machine.path(target)):
            return
        os.makedirs(os.path.dirname(machine.path(target)), exist_ok=True)
        try:
            os.rename(machine.path(path), machine.path(target))
        except FileNotFoundError:
            return
        self.note(machine, f"rename to {target} by hand", path)

    def user_commit(self, machine):
        machine.git("add", "--all")
        done = machine.git("commit", "--quiet", "--message", f"by hand, step {self.step}")
        self.note(machine, f"git commit by hand ({done.code})")

    def user_pull(self, machine):
        """Somebody pulls with git himself; what git cannot merge he leaves to memdir. What was not committed when he
        began, `git merge --abort` may take away, as its manual says."""
        how = self.dice.choice(["--no-rebase", "--no-rebase", "--rebase", "--ff-only"])
        done = machine.git("pull", "--quiet", "--no-edit", how, self.way.address(), "main")
        out = set()
        if done.code != 0:
            # What a commit holds is never his to lose.
            held = tokens_of(machine.git("grep", "-h", "-E", "qa[0-9]+z", "HEAD").out)
            before = pairs.tokens_by_handle(machine)
            is_merging = os.path.exists(machine.path(".git/MERGE_HEAD"))
            machine.git("rebase" if how == "--rebase" else "merge", "--abort")
            if is_merging:
                left = set().union(*pairs.tokens_by_handle(machine).values())
                out = set().union(*before.values()) - left - held
        self.note(machine, f"git pull {how} by hand ({done.code})", out=out)

    def undo(self, machine):
        """Takes the last thing back that was done on this machine, and nothing that others did."""
        before = pairs.tokens_by_handle(machine)
        done = machine.run("undo")
        self.ended(machine, "undo", "", done)
        after = pairs.tokens_by_handle(machine)
        left = set().union(*after.values())
        for handle, tokens in before.items():
            out, told = tokens - after.get(handle, set()), after.get(handle, set()) - tokens
            # What a server brought meanwhile may have gone by somebody else's hand.
            foreign = [token for token in out - left - self.taken_out.keys()
                       if machine.name not in self.authors.get(token, {machine.name})]
            if foreign and not machine.is_served():
                raise Loss(f"undo on {machine.name} takes back what others wrote: {foreign}")
            if out or told:
                self.note(machine, "undone", handle, out=out - left)

    def tidy(self, machine, path=None):
        """An editor takes blanks from the ends of lines, or puts some there, or writes other line ends."""
        path = path or self.any(machine)
        text = path and machine.read(path)
        if not text:
            return
        front, content = editing.parts(text)
        lines = [line.rstrip() + self.dice.choice(["", "", " ", "  "]) for line in content.splitlines()]
        machine.put(path, front + "\n".join(lines) + self.dice.choice(["", "\n", "\n\n"]))
        self.note(machine, "tidy by hand", path)

    def user_gc(self, machine):
        done = machine.git("gc", "--quiet")
        self.note(machine, f"git gc by hand ({done.code})")

    # ---- several machines

    def meet(self, machine):
        """Two machines change one memory, and neither knows of it."""
        other = self.dice.choice([other for other in self.machines if other is not machine])
        shared = [path for path in machine.memories() if os.path.exists(other.path(path))]
        if not shared:
            return
        path, at = self.dice.choice(shared[-6:]), self.dice.randrange(100)
        deeds = list(self.dice.choice(MEETINGS))
        self.dice.shuffle(deeds)
        for who, deed in zip((machine, other), deeds):
            self.done["meeting: " + deed] += 1
            if deed in ("title", "topics"):
                self.update(who, path, deed)
            elif deed in ("forget", "delete", "rename", "tidy"):
                getattr(self, deed)(who, path)
            elif deed == "forget and restore":
                self.forget(who, path)
                self.restore(who, path)
            else:
                self.change(who, path, deed, at)

    def add_twice(self, machine):
        """One file name comes into being on two machines, with other bytes."""
        stem = f"20260501_12{self.dice.randint(0, 59):02}{self.dice.randint(0, 59):02}_{self.dice.getrandbits(32):08x}"
        common = self.line() + "\n" if self.dice.random() < 0.5 else ""
        for who in [machine, self.dice.choice([other for other in self.machines if other is not machine])]:
            text = memory_text(stem, common + self.line() + "\n", topics="copied")
            who.put(f"files/{stem}.md", text)
            self.note(who, "copy in by hand", f"files/{stem}.md", tokens_of(text))

    # ---- servers and syncs

    def start_server(self, machine):
        machine.start_server()
        self.note(machine, "start a server")

    def end_server(self, machine):
        took = machine.end_server()
        self.note(machine, "end the server")
        if took > 10:
            raise Loss(f"the server on {machine.name} went on for {took:.1f} s")

    def tell(self, machine):
        """A server of another dialect, which runs beside the usual one, is told a line."""
        dialect, content = self.dice.choice(list(DIALECTS)), self.line()
        tool, arguments = DIALECTS[dialect]
        server = machine.other(dialect)
        reply = server.answer(server.ask_tool(tool, **arguments(content, self.number)))
        if "result" not in reply or reply["result"].get("isError"):
            raise Loss(f"the {dialect} server on {machine.name} does not remember: {str(reply)[:300]}")
        self.note(machine, f"remember by the {dialect} server", told=tokens_of(content))

    def kill_other(self, machine):
        """Kills a server of another dialect in the middle of a call."""
        if not machine.others:
            return
        dialect = self.dice.choice(list(machine.others))
        tool, arguments = DIALECTS[dialect]
        machine.others[dialect].ask_tool(tool, **arguments(self.line(), self.number))
        machine.pause(self.dice.choice([0.02, 0.5]))
        with_children = self.dice.random() < 0.5
        machine.end_other(dialect, lambda server: repositories.end(server.process, with_children))
        self.note(machine, f"kill the {dialect} server")

    def kill_server(self, machine):
        if not machine.server:
            return
        # One that it may be at when it is killed; nobody is told of it.
        machine.server.ask_tool("remember", agent="a", user="u", topics=["late"], content=self.line())
        machine.pause(self.dice.choice([0.02, 0.5, 1.5]))
        machine.kill_server(with_children := self.dice.random() < 0.5)
        self.note(machine, "kill the server" + (" and its gits" if with_children else ""))

    def kill_sync(self, machine):
        with_children = self.dice.random() < 0.5
        after = self.dice.uniform(0, self.dice.choice([0.05, 0.3, 1]))
        ended = machine.run_killed("sync", after=after, with_children=with_children)
        self.note(machine, f"kill a sync after {after:.3f} s" + (" and its gits" if with_children else ""))
        self.done["killed syncs" if ended is None else "syncs that were too fast"] += 1

    def sync(self, machine):
        if self.trouble in (None, "slow"):
            return self.must_sync(machine)
        if self.trouble == "silent":
            # Nobody waits for it before the remote is heard again.
            machine.begin_sync()
            return self.note(machine, "begin a sync in silence")
        before = machine.tokens()
        code, said, faults = machine.sync()
        self.note(machine, f"sync, {self.trouble} ({code}, {said})")
        # Where connections are cut, a short one comes through.
        if faults or code not in ([0, 2] if self.trouble == "cut" else [2]):
            raise Loss(f"{self.trouble}, sync on {machine.name} ended with {code}: {said} {faults}")
        # Cut off after it was told of others' changes, it has them.
        if gone := before - machine.tokens() - self.taken_out.keys():
            raise Loss(f"a sync that failed on {machine.name} took {gone}")

    def must_sync(self, machine):
        """Syncs; somebody who was killed, or a server, may be in the way for a while."""
        ends = []

        def is_in_step():
            code, said, faults = machine.sync()
            ends.append(f"{code}: {said}")
            if faults:
                raise Loss(f"sync on {machine.name} ended with {code}: {said} {faults}")
            return code == 0 and said.get("state") == "in-step"

        held = wait_until(is_in_step, within=SYNC_WITHIN, pause=0.1)
        self.note(machine, f"sync, {len(ends)} tries")
        for end in ends[:-1]:
            self.refused["sync", end[:100]] += 1
        if not held:
            raise Loss(f"sync on {machine.name} does not succeed within {SYNC_WITHIN} s: {sorted(set(ends))}")

    # ---- the way to the remote

    def go_offline(self, machine):
        self.suffer(machine, "offline", self.way.cut_off)

    def go_slow(self, machine):
        rate = self.dice.choice([10_000, 40_000])
        self.suffer(machine, "slow", lambda: self.way.wire.slow_down(rate))

    def cut_in_the_middle(self, machine):
        """Ends all connections when they have carried so much; what ssh says first has some 4,000 bytes."""
        way, count = self.dice.choice([UP, DOWN]), int(2 ** self.dice.uniform(0, 15))
        self.suffer(machine, "cut", lambda: self.way.wire.cut_after(way, count), f" after {count} bytes {way}")

    def fall_silent(self, machine):
        self.suffer(machine, "silent", lambda: self.way.wire.fall_silent())

    def suffer(self, machine, trouble, bring, more=""):
        """Brings trouble to all machines for some steps, one at a time."""
        if self.trouble is None:
            bring()
            self.trouble, self.mended_at = trouble, self.step + self.dice.randint(3, 20)
            self.done["trouble: " + trouble] += 1
            self.note(machine, f"{trouble}{more} from here on, all of them")

    def come_back(self):
        if self.trouble is None:
            return
        self.way.let_pass()
        for machine in self.machines:
            code = machine.end_sync(SYNC_WITHIN)
            if code not in (0, 2):
                raise Loss(f"a sync that began in silence on {machine.name} ended with {code}")
        self.note(self.machines[0], f"no more {self.trouble}, for all of them")
        self.trouble = None

    def note_tip(self):
        """The remote's tip; also the log of its branch is looked at, later."""
        tip = repositories.tip(self.setting, self.remote)
        if tip and tip not in self.tips[-1:]:
            self.tips.append(tip)
