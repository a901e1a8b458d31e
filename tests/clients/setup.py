"""Sets up clients of agents with `memdir setup` and asks each whether it sees memdir: setup.py MEMDIR [--all]

Clients are installed by npm into a temporary folder, with a home of their own. Each has configuration files
already. After `memdir setup` its own list of servers names memdir; after `--uninstall` its files have the
bytes that they had. Where a client wrote its file meanwhile, everything but its own change is compared.
A client that cannot be installed is skipped, and that is said. Without --all: Claude Code and Codex.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The versions this was tested with.
CLIENTS = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.197", ["claude", "mcp", "list"], r"memdir: memdir mcp - \S* ?Connected"),
    "codex": ("@openai/codex@0.169.0", ["codex", "mcp", "list"], r"memdir +memdir +mcp .* enabled"),
    "gemini": ("@google/gemini-cli@0.61.0", ["gemini", "mcp", "list"], r"memdir: memdir mcp \(stdio\) - Connected"),
    "opencode": ("opencode-ai@1.18.33", ["opencode", "mcp", "list"], r"memdir .*connected"),
    "copilot": ("@github/copilot@1.0.102", ["copilot", "mcp", "list"], r"memdir \(local\)"),
}
USUAL = ["claude-code", "codex"]

# What is there before, with another server, and with comments where the client reads them.
FILES = {
    ".claude.json": '{"mcpServers": {"other": {"type": "stdio", "command": "true", "args": []}}, "numStartups": 3}',
    ".claude/settings.json": '{\n    "hooks": {\n        "Stop": [{"hooks": [{"type": "command", "command": "true"}]}]\n    }\n}',
    ".claude/CLAUDE.md": "# Rules of mine\r\n\r\n- Small commits.\r\n",
    ".codex/config.toml": "# mine\nmodel = 'gpt-5'   # for now\n\n[mcp_servers.other]\ncommand = \"true\"\n# the end\n",
    ".codex/AGENTS.md": "No line end",
    ".gemini/settings.json": '{\n  // mine\n  "security": {"folderTrust": {"enabled": false}}\n}\n',
    ".config/opencode/opencode.json": '{\n\t// mine\n\t"mcp": {\n\t\t"other": {"type": "local", "command": ["true"], "enabled": false}, // not now\n\t},\n}\n',
    ".copilot/mcp-config.json": '{"mcpServers":{"other":{"type":"local","command":"true","args":[],"tools":["*"]}}}\n',
}

failures = []


def check(is_so, what):
    """Notes what is not as it should be."""
    if not is_so:
        failures.append(what)
        print(f"FAILED: {what}")


class Place:
    """A home, with the programs that are run in it."""

    def __init__(self, work, memdir):
        self.home = work / "home"
        self.work = work
        programs = work / "programs"
        programs.mkdir(parents=True)
        (programs / "memdir").symlink_to(memdir)
        self.path = [str(programs), "/usr/local/bin", "/usr/bin", "/bin"]
        node = shutil.which("node")
        if node:
            self.path.append(str(Path(node).parent))
        (self.home / "project").mkdir(parents=True)
        for name, text in FILES.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def install(self, package):
        """Installs a package; returns whether that could be done."""
        folder = self.work / re.sub(r"\W", "-", package)
        folder.mkdir()
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", package]
        with open(self.work / "install.log", "w") as log:
            if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
                return False
        self.path.insert(1, str(folder / "node_modules/.bin"))
        return True

    def run(self, *command, code=0):
        """Runs a program in the home, and returns what it said."""
        environment = {"HOME": str(self.home), "PATH": ":".join(self.path), "TERM": "dumb", "NO_COLOR": "1",
                       "CI": "1", "DISABLE_AUTOUPDATER": "1", "TZ": "UTC"}
        ran = subprocess.run(command, cwd=self.home / "project", env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        said = ran.stdout.decode(errors="replace")
        check(ran.returncode == code, f"{' '.join(command)}: code {ran.returncode}: {said[-2000:]}")
        return re.sub(r"\x1b\[[0-9;]*m", "", said)

    def bytes_of(self, paths):
        """The bytes of files; None for one that is not there."""
        return {path: Path(path).read_bytes() if Path(path).exists() else None for path in paths}


def setup(place, name, listing, connected):
    """Sets one client up, asks it, and takes memdir out again."""
    begun, failed = time.monotonic(), len(failures)
    # The client writes down what it does at its first start.
    place.run(*listing)
    planned = json.loads(subprocess.run(
        [place.path[0] + "/memdir", "setup", name, "--dry-run", "--json"], cwd=place.home / "project",
        env={"HOME": str(place.home), "PATH": ":".join(place.path)}, stdout=subprocess.PIPE, check=True).stdout)
    paths = [file["path"] for file in planned["files"]]
    check(len(paths) >= 3 and not planned["left"], f"{name}: the plan is {planned}")
    before = place.bytes_of(paths)

    place.run("memdir", "setup", name, "--yes")
    check(place.bytes_of(paths) != before, f"{name}: nothing was written")
    place.run("memdir", "setup", "--uninstall", name, "--yes")
    check(place.bytes_of(paths) == before, f"{name}: other bytes than before")

    place.run("memdir", "setup", name, "--yes")
    written = place.bytes_of(paths)
    said = place.run(*listing)
    check(re.search(connected, said), f"{name} does not see memdir: {said}")
    if "other" in b"".join(bytes for bytes in before.values() if bytes).decode():
        check("other" in said, f"{name} does not see the other server: {said}")
    own = {path for path in paths if place.bytes_of([path])[path] != written[path]}
    place.run("memdir", "setup", "--uninstall", name, "--yes")
    after = place.bytes_of(paths)
    for path in paths:
        if path not in own:
            check(after[path] == before[path], f"{name}: {path} has other bytes than before")
            continue
        # The client wrote it meanwhile.
        check(b"memdir" not in after[path], f"{name}: memdir is still in {path}")
        servers = [json.loads(bytes)["mcpServers"] for bytes in (before[path], after[path])]
        check(servers[0] == servers[1], f"{name}: the servers in {path} are {servers}")
    note = "" if not own else f", beside what it wrote itself into {', '.join(Path(path).name for path in own)}"
    if len(failures) > failed:
        return
    print(f"{name}: sees memdir; the same bytes afterwards{note} ({time.monotonic() - begun:.0f} s)")


def plugins(place, folder, installed):
    """Has the clients check the plugins of the examples."""
    if "claude-code" in installed:
        for path in (folder, folder / "claude-code"):
            place.run("claude", "plugin", "validate", "--strict", str(path))
        place.run("claude", "plugin", "marketplace", "add", str(folder))
        place.run("claude", "plugin", "install", "memdir@memdir")
        said = place.run("claude", "mcp", "list")
        check(re.search(r"plugin:memdir:memdir: memdir mcp - \S* ?Connected", said), f"the plugin: {said}")
        said = place.run("claude", "plugin", "details", "memdir")
        check("Hooks (5)" in said and "Skills (1)" in said, f"the plugin: {said}")
        place.run("claude", "plugin", "uninstall", "memdir@memdir")
        print("claude-code: the plugin is valid, and its server connected")
    if "codex" in installed:
        place.run("codex", "plugin", "marketplace", "add", str(folder))
        place.run("codex", "plugin", "add", "memdir@memdir")
        said = place.run("codex", "mcp", "list")
        check(re.search(r"memdir +memdir +mcp .* enabled", said), f"the plugin: {said}")
        place.run("codex", "plugin", "remove", "memdir@memdir")
        print("codex: the plugin can be added, and its server is listed")


def main():
    memdir = Path(sys.argv[1]).resolve()
    names = list(CLIENTS) if "--all" in sys.argv[2:] else USUAL
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: clients of agents: there is no node with npm")
        return
    with tempfile.TemporaryDirectory(prefix="memdir-clients-") as work:
        place = Place(Path(work), memdir)
        installed = []
        for name in names:
            package, listing, connected = CLIENTS[name]
            if not place.install(package):
                print(f"skipped: {package} cannot be installed")
                continue
            installed.append(name)
            setup(place, name, listing, connected)
        plugins(place, Path(__file__).resolve().parents[2] / "examples/plugins", installed)
    if failures:
        sys.exit(f"{len(failures)} failed")


if __name__ == "__main__":
    main()
