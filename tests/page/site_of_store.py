"""A store, its server, and browsers that look at it, for the scenes of the page."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benches"))
from notes import make_notes  # noqa: E402


class Site:
    """A store served at a free port, until the block is left."""

    options = ()

    def __init__(self, program, memories=(), folder=None, notes=0):
        """With a folder the store begins as a copy of it, with a number of notes with so many made-up ones, without git."""
        self.notes = notes
        self.program = program
        self.memories = memories
        self.begins_as = folder

    def __enter__(self):
        # A command that the server's last answer began may still write what can be derived.
        self.folder = tempfile.TemporaryDirectory(prefix="memdir-page-", ignore_cleanup_errors=True)
        home = Path(self.folder.name)
        self.store = home / "store"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "GIT_"))}
        self.environment = {**kept, "HOME": str(home), "MEMDIR_STORE": str(self.store), "TZ": "UTC",
                            "MEMDIR_NAMESPACE": "global", "MEMDIR_EMBEDDING": "off"}
        if self.begins_as:
            shutil.copytree(self.begins_as, self.store)
        self.run("init", str(self.store))
        if self.notes:
            self.environment["MEMDIR_GIT"] = "off"
            make_notes(self.store / "files", self.notes)
            self.run("reindex")
        for memory in self.memories:
            self.remember(*memory)
        self.serve()
        return self

    def serve(self):
        """Starts the server, and waits until it listens."""
        self.server = subprocess.Popen([self.program, "serve", "--listen", "127.0.0.1:0", *self.options], env=self.environment,
                                       stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            found = re.search(r"^serving .* at (http://\S+:\d+)", line)
            if found:
                self.url = found[1]
                return
        raise SystemExit("failed: the server does not listen")

    def __exit__(self, *_):
        self.server.terminate()
        self.server.stderr.read()
        code = self.server.wait(timeout=60)
        self.folder.cleanup()
        if code != 0:
            raise SystemExit(f"failed: the server ended with {code}")

    def run(self, *words, text=None):
        """Returns what a command prints."""
        done = subprocess.run([self.program, *words], env=self.environment, input=text, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout.strip()

    def remember(self, text, *words):
        """Stores a memory by another process, and returns its id."""
        return self.run("remember", *words, "-", text=text)

    def file_of(self, memory):
        """Returns the path of a memory's file."""
        return next(self.store.glob(f"files/**/*_{memory}.md"))

    def address(self, *words):
        """Returns the address with a new code."""
        return self.run("open", "--print", *words)

    def enter(self, page, *words):
        """Logs a window in."""
        page.goto(self.address(*words))

    def listed(self, *words):
        """Returns what a command prints as JSON."""
        return json.loads(self.run(*words, "--json"))


class Workspace(Site):
    """A new workspace of the database at MEMDIR_TEST_POSTGRES, served at a free port; `url` is that of its page."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="memdir-page-", ignore_cleanup_errors=True)
        home = Path(self.folder.name)
        self.name = f"page-{os.getpid()}"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "MEMDIR_EMBEDDING": "off", "MEMDIR_DRAIN": "0",
                            "MEMDIR_DATABASE": os.environ["MEMDIR_TEST_POSTGRES"]}
        self.options = ("--database", "--cache", str(home / "cache"))
        self.tokens = {"owner": self.run("team", "init", self.name, "--owner", "olga")}
        self.tokens["reader"] = self.run("team", "grant", self.name, "rita", "--role", "reader")
        self.serve()
        self.server_url = self.url
        self.url += f"/w/{self.name}"
        for text, title in self.memories:
            self.remember(text, title)
        return self

    def remember(self, text, title):
        """Stores a memory as an agent does, and returns its id as the page shows it."""
        body = json.dumps({"title": title, "content": text, "tier": "long"}).encode()
        headers = {"Authorization": f"Bearer {self.tokens['owner']}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1/memories", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["id"][-8:]

    def enter(self, page, role="owner"):
        """Logs a window in by the token of a role."""
        page.goto(self.url + "/login")
        page.fill("input[name=token]", self.tokens[role])
        page.keyboard.press("Enter")
        page.wait_for_url(f"{self.url}/")


class Look:
    """A browser window that is logged in, and that fails for whatever it should not see."""

    def __init__(self, browser, site, *words, **options):
        self.site = site
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.wrong = []
        self.is_expected = lambda text: False
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._asked)
        self.page.on("request", self._asks)
        self.confirms = False
        site.enter(self.page, *words)

    def _said(self, message):
        if message.type in ("error", "warning") and not self.is_expected(message.text):
            self.wrong.append(f"{message.type}: {message.text}")

    def _asked(self, dialog):
        if not self.confirms:
            self.wrong.append(f"dialog: {dialog.message}")
        dialog.accept()

    def _asks(self, request):
        if not request.url.startswith((self.site.url, "data:", "blob:")):
            self.wrong.append(f"request to another host: {request.url}")

    def goto(self, path, until="load"):
        """Opens a view, and returns its status."""
        return self.page.goto(self.site.url + path, wait_until=until).status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None and self.wrong:
            raise AssertionError("; ".join(self.wrong))
