"""A store and a dictionary of the memories that must be in it, for the random steps of `model.py`."""
import collections
import glob
import hashlib
import os
import re
import signal
import subprocess
import tempfile

from mcp_client import Server

VOCABULARY = """garden tomatoes water balcony trellis soil compiler lifetimes borrowing deploy server database backup
restore password meeting Tuesday Caroline Marco prefers running books reading coffee morning Müller café 東京 the of is
std::path well-known knowledge heron egret""".split()


class Loss(Exception):
    """Something that must be there is not, or something is there that must not."""


def content_of(text):
    if not text.startswith("---\n"):
        return text
    content = text.split("\n---\n", 1)[1]
    return content[1:] if content.startswith("\n") else content


def without_line(text, key):
    return re.sub(rf"(?m)^{key}: .*\n", "", text, count=1)


def words_of(text):
    """The words that only one memory holds."""
    return re.findall(r"qa\d+z", text)


def stem_of(name):
    return name.rsplit("/", 1)[-1].removesuffix(".md")


class Expected:
    """The store, and what must be in it."""

    def __init__(self, program, dice, patience, verbose, git=False):
        self.program, self.dice, self.patience, self.verbose = program, dice, patience, verbose
        self.work = tempfile.mkdtemp(prefix="model-")
        self.root = os.path.join(self.work, "store")
        os.makedirs(self.path("files"))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("MEMDIR", "AIAML", "VISUAL"))}
        self.environment.update(
            MEMDIR_NAMESPACE="global", MEMDIR_GIT="off", TZ="UTC", LC_ALL="C.UTF-8", HOME=self.work, TMPDIR=self.work,
            XDG_CONFIG_HOME=self.work, XDG_DATA_HOME=self.work, XDG_CACHE_HOME=self.work,
        )
        self.git = git
        if git:
            del self.environment["MEMDIR_GIT"]
        self.live, self.archived = {}, {}  # Name below the folder → text.
        self.by_hand = set()  # Names whose text no program wrote.
        self.overwritten = []  # Names and texts that a program replaced, and that must be kept.
        self.in_place = {}  # Name → when it was last changed without the folder's knowledge.
        self.called = {}  # Id → name, as far as it was asked for.
        self.gone = collections.deque(maxlen=10)  # Words that no live memory holds any more.
        self.number = 0
        self.is_harmed = False  # The index, by us.
        self.done = collections.Counter()
        self.slowest = 0.0
        self.servers = [self.server(), self.server()]

    # ---- small things

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def file(self, name):
        return self.path("files", name)

    def server(self, folder=None):
        """A server on the store, or on another one in a folder."""
        log = open(os.path.join(self.work, "servers.log"), "a")
        return Server([self.program, "--store", folder or self.root, "mcp"], self.environment, log)

    def text(self):
        """A content with a word of its own, first."""
        self.number += 1
        words = " ".join(self.dice.choices(VOCABULARY, k=self.dice.randint(3, 30)))
        return f"qa{self.number}z {words}.\n"

    def file_text(self, stem, content):
        time_of = f"{stem[:4]}-{stem[4:6]}-{stem[6:8]}T{stem[9:11]}:{stem[11:13]}:{stem[13:15]}+00:00"
        return f"---\nid: {stem[16:]}\ntimestamp: {time_of}\nagent: hand\nuser: mira\ntopics: [made]\n---\n\n{content}"

    def any(self, canonical=True):
        names = [name for name in self.live if not canonical or re.match(r"\d{8}_\d{6}_", stem_of(name))]
        return self.dice.choice(sorted(names)) if names else None

    def read(self, folder, name):
        with open(self.path(folder, name), encoding="utf-8", newline="") as file:
            return file.read()

    def on_disk(self, folder):
        """The names of the memory files, below the folder; those of replaced texts are none."""
        names = glob.glob("**/*.md", root_dir=self.path(folder), recursive=True)
        return {name for name in names if not name.rsplit("/", 1)[-1].startswith(".") and ".replaced-" not in name}

    def replaced_by_program(self, name, text):
        """Notes that a program wrote `text` into the file."""
        if text != self.live[name] and (self.git or name in self.by_hand):
            self.overwritten.append((name, self.live[name]))
        if text != self.live[name]:
            self.by_hand.discard(name)
        self.live[name] = text

    def waiting(self):
        """The texts that were replaced and wait to be kept for good."""
        paths = glob.glob(self.path(".memdir", "replaced", "**"), recursive=True)
        paths += glob.glob(self.path("files", "**", ".memdir-keep-*"), recursive=True)
        texts = set()
        for path in filter(os.path.isfile, paths):
            with open(path, encoding="utf-8", newline="") as file:
                texts.add(file.read())
        return texts

    def kept(self):
        """Whether a text that was replaced can be had again, as a function."""
        if not self.git:
            names = glob.glob(self.path("archive", "**", "*.replaced-*.md"), recursive=True)
            texts = {open(name, encoding="utf-8", newline="").read() for name in names} | self.waiting()
            return texts.__contains__
        self.must("sync")
        listed = subprocess.run(["git", "-C", self.root, "rev-list", "--objects", "HEAD"], check=True,
                                capture_output=True, text=True).stdout
        ids = {line.split(" ")[0] for line in listed.splitlines()}
        def blob(text):
            text = text.encode()
            return hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest()
        return lambda text: blob(text) in ids

    def named(self, id):
        """The live memory that is shown as `id`."""
        if self.called.get(id) not in self.live:
            self.called = {key: name for name in self.live for key in (stem_of(name), stem_of(name)[16:])}
        if id not in self.called:
            raise Loss(f"`{id}` is shown, and there is no such memory")
        return self.called[id]

    def is_hidden(self, name):
        stem = stem_of(name)
        head = self.live[name].split("\n---\n")[0]
        # A name that YAML would take for a number stands in quotes.
        newer = re.search(r'(?m)^superseded_by: "?(\w+)', head)
        if newer and any(stem_of(other) == newer[1] for other in self.live):
            return True
        return any(re.search(rf'(?m)^supersedes: \[[^\]]*\b{stem}\b', text) for text in self.live.values())

    def lose(self, name):
        self.gone.extend(words_of(self.live.pop(name)))
        self.in_place.pop(name, None)

    def run(self, *arguments, input=None, kill=False):
        """Runs a command to its end, or to a random moment before it; `None` if it was killed."""
        process = subprocess.Popen(
            [self.program, "--store", self.root, *arguments], env=self.environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        try:
            out, err = process.communicate(input or "", timeout=self.dice.uniform(0, 0.03) if kill else 60)
        except subprocess.TimeoutExpired:
            if not kill:
                raise Loss(f"{arguments} does not end") from None
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.done["killed commands"] += 1
            return None
        if "panicked" in err:
            raise Loss(f"{arguments}: {err}")
        return process.returncode, out, err

    def must(self, *arguments, input=None, kill=False):
        """As `run`; a command that ends by itself must succeed, unless a server keeps it waiting."""
        for _ in range(5):
            ended = self.run(*arguments, input=input, kill=kill)
            if not ended or ended[0] == 0 or "is busy, held by" not in ended[2]:
                break
            self.done["busy"] += 1
        if ended and ended[0] != 0:
            raise Loss(f"{arguments} ended with {ended[0]}: {ended[1]}{ended[2]}")
        return ended and ended[1]

    def adopt(self, contents, must):
        """Takes new files into the model: each whole and with one of these contents; all of `must` are there."""
        found = {}
        for name in self.on_disk("files") - self.live.keys():
            text = self.read("files", name)
            content = content_of(text)
            if content not in contents:
                raise Loss(f"files/{name} holds what nobody wrote: {text[:300]!r}")
            if content in found:
                raise Loss(f"files/{name} is written twice")
            found[content] = self.live[name] = text
        missing = [content for content in must if content not in found]
        if missing:
            raise Loss(f"acknowledged and not there: {missing[0][:60]!r}")
