#!/usr/bin/env python3
"""Records memdir in a terminal for the README: record.py MEMDIR

Runs the commands below in a pseudo-terminal of 80 columns and 24 lines, with a fresh home in which Claude Code has its
folder, and writes what they print as `memdir.cast` (asciicast, version 2) beside this file. svg-term-cli (MIT, by npx)
makes the picture `memdir.svg` of it. What the programs print is as they printed it, but for the home, which is shown as
~. The times are made up: so long it takes to type and to read.
"""
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = "svg-term-cli@2.1.1"
COLUMNS, LINES = 80, 24
LARGEST = 300_000

# A command as it is typed, and the seconds to read what it prints.
COMMANDS = [
    ("memdir setup --yes", 4),
    ("memdir remember --topics atlas,database \\\n"
     "    'We keep tile metadata in PostgreSQL: two writers, and backups exist.'", 2),
    ("memdir think where do we keep tile metadata", 3),
    ("memdir brief | fold -s   # what a session begins with", 6),
]
KEY_SECONDS = 0.04
# A cyan prompt.
PROMPT = "\x1b[36m$\x1b[0m "


def output_of(command, home, path):
    """Returns what a command prints on a terminal; a failure ends the recording."""
    environment = {"HOME": str(home), "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC",
                   "USER": "mira", "PAGER": "cat", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home / "atlas")
        size = f"stty cols {COLUMNS} rows {LINES}; "
        os.execve("/bin/sh", ["sh", "-c", size + command], environment)
    printed = b""
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:
            # The other end is closed.
            some = b""
        if not some:
            break
        printed += some
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    text = printed.decode().replace(str(home), "~")
    if status != 0:
        sys.exit(f"{command}: code {os.waitstatus_to_exitcode(status)}: {text}")
    return text


def recording(memdir, work):
    """Returns the events of a recording: seconds, and what appears then."""
    home, programs = work / "home", work / "programs"
    for folder in (home / ".claude", home / "atlas", programs):
        folder.mkdir(parents=True)
    (programs / "memdir").symlink_to(memdir)
    path = f"{programs}:/usr/bin:/bin"
    subprocess.run(["git", "init", "--quiet", str(home / "atlas")], check=True)
    events, at = [], 0.5
    for command, to_read in COMMANDS:
        events.append((at, PROMPT))
        at += 0.8
        for key in command:
            events.append((at, key.replace("\n", "\r\n")))
            at += KEY_SECONDS
        at += 0.3
        events.append((at, "\r\n"))
        at += 0.1
        events.append((at, output_of(command, home, path)))
        at += to_read
    # The picture ends with what was read last.
    events.append((at, PROMPT))
    return events


def main():
    memdir = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="memdir-recording-") as work:
        work = Path(work).resolve()
        events = recording(memdir, work)
    if any(re.search(r"/(tmp|home|root|work|var)/", text) for _, text in events):
        sys.exit("a path of this machine would be shown")
    cast = HERE / "memdir.cast"
    with open(cast, "w") as file:
        file.write(json.dumps({"version": 2, "width": COLUMNS, "height": LINES, "title": "memdir"}) + "\n")
        for at, text in events:
            file.write(json.dumps([round(at, 2), "o", text], ensure_ascii=False) + "\n")
    picture = HERE / "memdir.svg"
    subprocess.run(["npx", "--yes", PICTURE, "--in", str(cast), "--out", str(picture), "--window"], check=True)
    size = picture.stat().st_size
    if size > LARGEST:
        sys.exit(f"{picture.name} has {size} bytes, more than {LARGEST}")
    print(f"{cast.name}: {cast.stat().st_size} bytes, {picture.name}: {size} bytes, {events[-1][0]:.0f} s")


if __name__ == "__main__":
    main()
