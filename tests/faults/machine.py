"""One of several machines: its store, the processes that run on it, and the changes its user makes by hand."""
import dataclasses
import json
import os
import shlex
import subprocess
import sys
import time

import editing
import harness
import repositories
from server import Server

# How often a server looks at the remote, in seconds: more often than anybody would want it.
INTERVAL = "1"
EDITOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "editing.py")


class Machine:
    """A store in a home of its own, in step with the others by way of a remote.

    `by` says whether memdir finds the git program or has to do with libgit2; the user has git in any case. All that
    memdir says is kept in `said.log`.
    """

    def __init__(self, setting, number, way, dice, by="program"):
        self.name, self.dice, self.before = f"m{number}", dice, way.entries.get(number, [])
        self.folder = os.path.join(setting.work, self.name)
        home = os.path.join(self.folder, "home")
        os.makedirs(os.path.join(home, "bin"))
        self.setting = dataclasses.replace(setting, work=self.folder, disk=self.folder)
        self.root = os.path.join(self.folder, "store")
        self.said = open(os.path.join(self.folder, "said.log"), "ab", buffering=0)
        self.server = self.pending = None
        # Dialect → a server that speaks it, beside the usual one.
        self.others = {}
        self.variables = way.furnish(home, number, by)
        made = self.run("init", self.root, "--remote", way.address(), *way.flags, is_new=True)
        if made.code != 0:
            raise harness.Failed(f"init on {self.name} ended with {made.code}: {made.err.strip()}")
        self.store = harness.Store(self.setting, self.root)

    def environment(self, **more):
        return {"MEMDIR_GIT": "on", "MEMDIR_USER": self.name, "MEMDIR_SYNC_INTERVAL": INTERVAL,
                "GIT_CONFIG_NOSYSTEM": "1", **self.variables, **more}

    def line(self, *words, is_new=False):
        return [*self.before, self.setting.program, *([] if is_new else ["--store", self.root]), *words]

    def run(self, *words, is_new=False, env=None):
        done = harness.run(self.line(*words, is_new=is_new), self.setting, env=self.environment(**(env or {})))
        self.said.write((done.out + done.err).encode())
        return done

    def begin(self, *words, output=None):
        """Starts a command that nobody waits for here."""
        return subprocess.Popen(
            self.line(*words), stdin=subprocess.DEVNULL, stdout=output or self.said, stderr=output or self.said,
            env=harness.environment(self.setting, **self.environment()), cwd=self.folder, start_new_session=True,
        )

    def run_killed(self, *words, after, with_children):
        """Runs a command and kills it after so many seconds, unless it has ended; whether it had."""
        process = self.begin(*words)
        try:
            return process.wait(after) == 0
        except subprocess.TimeoutExpired:
            repositories.end(process, with_children)
            return None

    def git(self, *words):
        return repositories.git(self.setting, self.root, *words)

    # ---- what is there

    def path(self, name):
        return os.path.join(self.root, name)

    def tree(self):
        return harness.tree_of(self.root)

    def tokens(self):
        """The tokens of all memories. Unfinished files of a writer that was killed are none."""
        return set().union(*(editing.tokens_of(text.decode(errors="replace")) for path, text in self.tree().items()
                             if harness.is_memory(path)))

    def memories(self, place="files"):
        """Paths of the memories of one place, the newest last."""
        found = []
        for folder, _, names in os.walk(self.path(place)):
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return sorted(filter(harness.is_memory, found), key=lambda path: (os.path.basename(path), path))

    def read(self, name):
        """The text of a file; `None` if it is gone."""
        try:
            with open(self.path(name), encoding="utf-8", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return None

    # ---- what is done by hand

    def write(self, name, text):
        """Writes a file in place, as simple editors do."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def put(self, name, text):
        """Has a text take the place of a file, as careful editors do."""
        draft = os.path.join(self.folder, "draft")
        with open(draft, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        os.replace(draft, self.path(name))

    def take_away(self, name):
        """Deletes a file; its last text, `None` if it was gone."""
        trash = os.path.join(self.folder, "trash")
        try:
            os.rename(self.path(name), trash)
        except FileNotFoundError:
            return None
        with open(trash, encoding="utf-8", newline="") as file:
            return file.read()

    def edit(self, stem, kind, line, at):
        """`memdir edit` with one change: how it ended, and the tokens that the change took out."""
        record = os.path.join(self.folder, "taken out")
        with open(record, "w") as file:
            file.write("[]")
        editor = [sys.executable, "-I", "-S", EDITOR, kind, line, str(at), record]
        done = self.run("edit", stem, env={"EDITOR": " ".join(map(shlex.quote, editor))})
        with open(record) as file:
            return done, set(json.load(file))

    # ---- servers

    def start_server(self):
        if self.server is None:
            self.server = Server(self.store, env=self.environment(), before=self.before, record=self.said)

    def is_served(self):
        """Whether somebody may bring here what the remote has at any moment."""
        return bool(self.server or self.others)

    def other(self, dialect):
        """The server that speaks this dialect, started if need be."""
        if dialect not in self.others:
            self.others[dialect] = Server(
                self.store, env=self.environment(), before=self.before, record=self.said, dialect=dialect,
            )
        return self.others[dialect]

    def end_other(self, dialect, by):
        """Ends a server of another dialect: `by` ends it; then its log is looked at."""
        server = self.others.pop(dialect)
        by(server)
        self.close(server)

    def kill_server(self, with_children):
        """Kills the server; what it has written to its log is checked by `end_server`, too."""
        if self.server is not None:
            repositories.end(self.server.process, with_children)
            self.close_server()

    def end_server(self):
        """Closes the server's input; for how many seconds it went on."""
        if self.server is None:
            return 0
        took = self.server.close_input()
        self.close_server()
        return took

    def close_server(self):
        server, self.server = self.server, None
        self.close(server)

    def close(self, server):
        with server:
            said = server.said()
        self.said.write(said.encode())
        if "panicked" in said:
            raise harness.Failed(f"the server of {self.name}: {said[-2000:]}")

    # ---- keeping in step

    def sync(self):
        """How `memdir sync` ended: its exit code, what it says of the state, and what is wrong."""
        done = self.run("sync", "--json")
        faults = done.faults()
        try:
            said = json.loads(done.out)
            # A state is a word, too.
            faults = [fault for fault in faults if "without a word" not in fault]
        except ValueError:
            said = {}
            faults.append(f"it prints no JSON, but: {done.out[:200]}")
        return done.code, said, faults

    def begin_sync(self):
        """Begins a sync that is waited for later, unless one is under way."""
        self.pending = self.pending or self.begin("sync", "--json")

    def end_sync(self, within):
        """The exit code of the sync that was begun; ends it when its time is over."""
        if not self.pending:
            return 0
        try:
            return self.pending.wait(within)
        except subprocess.TimeoutExpired:
            repositories.end(self.pending, with_children=True)
            return None
        finally:
            self.pending = None

    def pause(self, longest):
        # Nothing to wait for: the moment is what is tried.
        time.sleep(self.dice.uniform(0, longest))
