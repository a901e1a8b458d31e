"""Sets up clients of agents with `memdir setup` and asks each whether it sees memdir.

usage: setup.py MEMDIR [--all] [--installed FOLDER]

Clients are installed by npm into a temporary folder, with a home of their own. Each has configuration files
already. After `memdir setup` its own list of servers names memdir; after `--uninstall` its files have the
bytes that they had. Where a client wrote its file meanwhile, everything but its own change is compared.
A client that cannot be installed is skipped, and that is said. Without --all: Claude Code and Codex.
What --installed names keeps the installed clients for the next check.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from npm_clients import PACKAGES, USUAL, Place, can_install, check, failures, taken

# How each client is asked for its servers, and what it says of one that it sees.
LISTINGS = {
    "claude-code": (["claude", "mcp", "list"], r"memdir: memdir mcp - \S* ?Connected"),
    "codex": (["codex", "mcp", "list"], r"memdir +memdir +mcp .* enabled"),
    "gemini": (["gemini", "mcp", "list"], r"memdir: memdir mcp \(stdio\) - Connected"),
    "opencode": (["opencode", "mcp", "list"], r"memdir .*connected"),
    "copilot": (["copilot", "mcp", "list"], r"memdir \(local\)"),
}

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

def with_files(place):
    """Puts the files into a home that a user of the clients has."""
    for name, text in FILES.items():
        path = place.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


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
    arguments = sys.argv[1:]
    folder = taken(arguments, "--installed")
    memdir = Path(arguments[0]).resolve()
    names = list(PACKAGES) if "--all" in arguments else USUAL
    if not can_install():
        return
    with tempfile.TemporaryDirectory(prefix="memdir-clients-") as work:
        place = Place(Path(work), memdir, folder)
        with_files(place)
        installed = []
        for name in names:
            if place.install(name):
                installed.append(name)
                setup(place, name, *LISTINGS[name])
        plugins(place, Path(__file__).resolve().parents[2] / "examples/plugins", installed)
    if failures:
        sys.exit(f"{len(failures)} failed")


if __name__ == "__main__":
    main()
