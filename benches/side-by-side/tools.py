"""The programs that are compared, each with the works that it can do.

A tool has its own copy of what it writes to, so that all of them can be asked in turn. A work that a tool has no way for
is a method that it does not have.
"""
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from mcp_server import Server
from measure import Cost, bytes_below, cpu_of, memory_of
from notes import texts

FTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fts.py")


@dataclass
class Took:
    """What something took, and what it said."""

    wall_ms: float
    cpu_ms: float
    rss_mb: float
    out: str
    # The system counts for a child what its parent had; less than that cannot be told.
    rss_is_less: bool = False

    def __add__(self, later):
        """Both, one after the other."""
        more = max(self, later, key=lambda took: took.rss_mb)
        return Took(self.wall_ms + later.wall_ms, self.cpu_ms + later.cpu_ms, more.rss_mb, later.out, more.rss_is_less)


class Failed(Exception):
    pass


def run(command, environment=None, directory=None, codes=(0,)):
    cost = Cost(command, environment, directory)
    if cost.code not in codes:
        raise Failed(f"`{' '.join(command[:6])}` ended with code {cost.code}")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Took(cost.wall_ms, cost.cpu_ms, cost.rss_mb, cost.out.decode(errors="replace"), cost.rss_mb <= own)


def timed(process, act):
    """What `act` took, which asks a running process."""
    before, began = cpu_of(process), time.perf_counter()
    out = act()
    wall = 1000 * (time.perf_counter() - began)
    return Took(wall, cpu_of(process) - before, memory_of(process)[0], out)


def clean_environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "XDG_"))}
    return kept | {"HOME": home}


TEXTS = texts(100)


def content_of(word):
    """A text of the usual size, with the word, which begins with a number that no other has."""
    number = int(re.search(r"\d+", word)[0])
    return f"The word of this one is {word}.\n\n{TEXTS[number % len(TEXTS)]}"


def note_of(name, word):
    """A note in the notes' own form."""
    handle = name[-11:-3]
    return (f"---\nid: {handle}\ntimestamp: 2026-01-01T08:00:00+00:00\nagent: claude\nuser: alice\ntopics: [bench]\n"
            f"title: A new note\n---\n\n# A new note\n\n{content_of(word)}\n")


class Tool:
    # Whole processes, or a process that is there all the time.
    whole = True
    # Of the rounds, a tool that needs seconds takes so small a part.
    part = 1
    # The largest number of notes that it is asked to index.
    most = None
    ours = False

    def __init__(self, name):
        self.name = name

    def close(self):
        pass


class Memdir(Tool):
    """By command line; `beside` is a running server of the same store, whose time counts, too."""

    ours = True

    def __init__(self, name, program, store, environment, beside=None):
        super().__init__(name)
        self.command = [program, "--store", store]
        self.index_folder = os.path.join(store, ".memdir")
        self.environment = environment
        self.beside = beside

    def run(self, *arguments):
        codes = (0, 1)
        if not self.beside:
            return run([*self.command, *arguments], self.environment, codes=codes)
        process = self.beside.process.pid
        before = cpu_of(process)
        took = run([*self.command, *arguments], self.environment, codes=codes)
        return Took(took.wall_ms, took.cpu_ms + cpu_of(process) - before, took.rss_mb + memory_of(process)[0], took.out)

    def search(self, text):
        return self.run("think", *text.split())

    def part_of_word(self, text):
        return self.run("think", "--keywords", text)

    def literal(self, text):
        return self.run("grep", re.escape(text))

    def get(self, name):
        return self.run("recall", name[:-3])

    def add_and_find(self, name, word):
        return self.run("remember", "--topics", "bench", content_of(word)) + self.run("think", word)


class MemdirAlone(Memdir):
    """No server is there."""

    def index(self):
        shutil.rmtree(self.index_folder, ignore_errors=True)
        return self.run("reindex", "--full")

    def bytes(self):
        return bytes_below(self.index_folder)


class MemdirServer(Tool):
    """Over MCP."""

    ours = True
    whole = False

    def __init__(self, name, server):
        super().__init__(name)
        self.server = server

    def call(self, tool, **arguments):
        return timed(self.server.process.pid, lambda: json.dumps(self.server.call(tool, arguments)))

    def search(self, text):
        return self.call("think", query=text, limit=10)

    def part_of_word(self, text):
        return self.call("think", keywords=[text], limit=10)

    def get(self, name):
        return self.call("recall", memory_ids=[name[:-3]])

    def add_and_find(self, name, word):
        stored = self.call("remember", agent="bench", user="bench", topics=["bench"], content=content_of(word))
        return stored + self.call("think", query=word, limit=10)

    def close(self):
        self.server.close()


class Ripgrep(Tool):
    """Reads every note, every time, and ranks nothing."""

    def __init__(self, folder):
        super().__init__("ripgrep")
        self.folder = folder

    def run(self, *arguments):
        return run(["rg", "--no-heading", "--sort=none", *arguments, "."], directory=self.folder, codes=(0, 1))

    def search(self, text):
        return self.run("-l", "-i", "-w", "|".join(map(re.escape, text.split())))

    def part_of_word(self, text):
        return self.run("-l", "-i", "-F", text)

    def literal(self, text):
        return self.run("-F", text)

    def add_and_find(self, name, word):
        began = time.perf_counter()
        with open(os.path.join(self.folder, name), "w") as note:
            note.write(note_of(name, word))
            note.flush()
            os.fsync(note.fileno())
        wall = 1000 * (time.perf_counter() - began)
        return Took(wall, 0, 0, "", True) + self.search(word)


class Fts(Tool):
    """SQLite's FTS5, a process for every question."""

    def __init__(self, name, folder, database, trigram=False):
        super().__init__(name)
        self.folder = folder
        self.database = database
        self.command = [sys.executable, "-S", "-E", FTS, *(["--trigram"] if trigram else []), database]
        if trigram:
            self.part_of_word = self.literal = self.find
        else:
            self.search = self.find

    def find(self, text):
        return run([*self.command, "search", text])

    def index(self):
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.database + ending)
        return run([*self.command, "index", self.folder])

    def bytes(self):
        return sum(os.path.getsize(self.database + ending) for ending in ("", "-wal") if os.path.exists(self.database + ending))

    def get(self, name):
        return run([*self.command, "get", name])

    def add_and_find(self, name, word):
        shell = ["sh", "-c", 'printf %s "$0" | exec "$@"', note_of(name, word), *self.command, "add", self.folder, name]
        return run(shell) + self.find(word)


class FtsWarm(Tool):
    """SQLite's FTS5 in a process that is there all the time, asked by lines of JSON."""

    whole = False

    def __init__(self, name, of, trigram=False):
        super().__init__(name)
        self.folder = of.folder
        self.process = subprocess.Popen([*of.command, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if trigram:
            self.part_of_word = self.literal = self.find
        else:
            self.search = self.find

    def ask(self, *asked):
        def act():
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
            return self.process.stdout.readline().decode()

        return timed(self.process.pid, act)

    def find(self, text):
        return self.ask("search", text)

    def get(self, name):
        return self.ask("get", name)

    def add_and_find(self, name, word):
        return self.ask("add", self.folder, name, note_of(name, word)) + self.find(word)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Qmd(Tool):
    """qmd with its full-text search; its models are never asked for."""

    part = 1 / 4
    most = 20_000

    def __init__(self, folder, home):
        super().__init__("qmd")
        self.folder = folder
        self.home = home
        self.environment = clean_environment(home)

    def run(self, *arguments):
        return run(["qmd", *arguments], self.environment, self.home)

    def index(self):
        for name in (".cache", ".config"):
            shutil.rmtree(os.path.join(self.home, name), ignore_errors=True)
        return self.run("collection", "add", self.folder, "--name", "notes") + self.run("update")

    def bytes(self):
        return bytes_below(os.path.join(self.home, ".cache"))

    def search(self, text):
        return self.run("search", text, "-n", "10", "--full", "--format", "json")

    def get(self, name):
        return self.run("get", f"notes/{name}")

    def add_and_find(self, name, word):
        with open(os.path.join(self.folder, name), "w") as note:
            note.write(note_of(name, word))
        return self.run("update") + self.search(word)


class BasicMemory(Tool):
    """basic-memory by command line, without its models."""

    part = 1 / 10
    # It takes minutes for these.
    most = 1000

    def __init__(self, folder, home):
        super().__init__("basic-memory")
        # Where it expects its notes; it adds lines to them, so they are a copy.
        self.folder = shutil.copytree(folder, os.path.join(home, "basic-memory"))
        self.home = home
        self.environment = clean_environment(home) | {
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "BASIC_MEMORY_AUTO_UPDATE": "false",
        }

    def run(self, *arguments):
        return run(["basic-memory", *arguments], self.environment, self.home)

    def index(self):
        shutil.rmtree(os.path.join(self.home, ".basic-memory"), ignore_errors=True)
        return self.run("reindex", "--search")

    def bytes(self):
        return bytes_below(os.path.join(self.home, ".basic-memory"))

    def search(self, text):
        return self.run("tool", "search-notes", text, "--page-size", "10")

    def add_and_find(self, name, word):
        wrote = self.run("tool", "write-note", "--title", name[:-3], "--folder", "new", "--content", content_of(word))
        return wrote + self.search(word)


def all_tools(program, files, work):
    """Every tool that is there, with its notes and folders in `work`, and a sentence for each that is not."""
    environment = clean_environment(work) | {"MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "false", "MEMDIR_EMBEDDING": "off"}

    def folder(*names):
        path = os.path.join(work, *names)
        os.makedirs(path)
        return path

    def copy(*names):
        return shutil.copytree(files, os.path.join(work, *names))

    copy("alone", "files")
    alone = MemdirAlone("memdir, nobody running", program, os.path.join(work, "alone"), environment)
    copy("served", "files")
    served = os.path.join(work, "served")
    run([program, "--store", served, "reindex"], environment)
    server = Server(program, served, environment)
    server.call("think", {"query": "postgres"})
    server.rest()
    yield alone
    yield Memdir("memdir, a server running", program, served, environment, server)
    yield MemdirServer("memdir, MCP", server)

    plain = copy("plain")
    if shutil.which("rg"):
        yield Ripgrep(plain)
    else:
        yield "ripgrep is not installed"
    for name, trigram in (("FTS5", False), ("FTS5 trigrams", True)):
        fts = Fts(name, plain, os.path.join(work, f"{name.replace(' ', '-')}.sqlite"), trigram)
        # It has to be there before the other opens it; it is timed later.
        fts.index()
        yield fts
        yield FtsWarm(f"{name}, warm", fts, trigram)
    count = len(os.listdir(files))
    for name, make in (("qmd", Qmd), ("basic-memory", BasicMemory)):
        if not shutil.which(name):
            yield f"{name} is not installed"
        elif make.most and count > make.most:
            yield f"{name} is left out: it is asked to index {make.most} notes at most"
        else:
            yield make(plain, folder(name))
