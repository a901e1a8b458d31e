"""Clients of agents from npm, each with a home of its own: what setup.py and sessions.py share."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

# The versions that the checks were written with.
PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code@2.1.197",
    "codex": "@openai/codex@0.169.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
    "copilot": "@github/copilot@1.0.102",
}
# Those that every run of the checks can wait for.
USUAL = ["claude-code", "codex"]

failures = []


def check(is_so, what):
    """Notes what is not as it should be, and returns whether it is."""
    if not is_so:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)
    return is_so


def can_install():
    """Whether there is an npm; says so if there is none."""
    if shutil.which("npm") and shutil.which("node"):
        return True
    print("skipped: clients of agents: there is no node with npm")
    return False


def is_installed(folder, package):
    """Whether a folder holds this version of a package, from an earlier check."""
    name, _, version = package.rpartition("@")
    try:
        return json.loads((folder / "node_modules" / name / "package.json").read_text())["version"] == version
    except (OSError, ValueError):
        return False


def taken(arguments, option):
    """Takes an option with its value out of a list of arguments; None without it."""
    if option not in arguments:
        return None
    at = arguments.index(option)
    value = arguments[at + 1]
    del arguments[at:at + 2]
    return value


class Place:
    """A home with a project, and the programs that are run in it.

    Clients are installed into `installed`, which several places and checks can share.
    """

    def __init__(self, work, memdir, installed=None):
        self.work = work
        self.home = work / "home"
        self.project = self.home / "project"
        self.installed = Path(installed or work / "installed")
        programs = work / "programs"
        programs.mkdir(parents=True)
        (programs / "memdir").symlink_to(memdir)
        self.path = [str(programs), "/usr/local/bin", "/usr/bin", "/bin"]
        node = shutil.which("node")
        if node:
            self.path.append(str(Path(node).parent))
        self.project.mkdir(parents=True)
        self.more = {}

    def environment(self):
        return {"HOME": str(self.home), "PATH": ":".join(self.path), "TERM": "dumb", "NO_COLOR": "1",
                "CI": "1", "DISABLE_AUTOUPDATER": "1", "TZ": "UTC", **self.more}

    def install(self, client):
        """Installs a client; returns whether that could be done, and says so if not."""
        package = PACKAGES[client]
        folder = self.installed / client
        folder.mkdir(parents=True, exist_ok=True)
        if not is_installed(folder, package):
            command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", package]
            with open(folder / "install.log", "w") as log:
                if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
                    print(f"skipped: {package} cannot be installed")
                    return False
        self.path.insert(1, str(folder / "node_modules/.bin"))
        return True

    def run(self, *command, code=0, within=120):
        """Runs a program in the project, and returns what it said."""
        begun = time.monotonic()
        try:
            ran = subprocess.run(command, cwd=self.project, env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=within)
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
            check(False, f"{' '.join(command)}: still running after {time.monotonic() - begun:.0f} s: {said[-2000:]}")
            return said
        said = ran.stdout.decode(errors="replace")
        check(ran.returncode == code,
              f"{' '.join(command)}: expected exit code {code}, saw {ran.returncode}: {said[-2000:]}")
        return re.sub(r"\x1b\[[0-9;]*m", "", said)

    def bytes_of(self, paths):
        """The bytes of files; None for one that is not there."""
        return {path: Path(path).read_bytes() if Path(path).exists() else None for path in paths}
