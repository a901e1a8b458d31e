"""Fresh homes, questions to a program that was installed, and a table of what each package takes."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / ".github" / "packaging"
MEMORY = "Deploys go out on Tuesdays, after the backup."
QUESTION = "when do deploys go out"


def run(line, **options):
    """Runs a program and returns its output; where it fails, all of it is in the error."""
    line = [str(part) for part in line]
    ran = subprocess.run(line, capture_output=True, text=True, **options)
    assert ran.returncode == 0, f"{' '.join(line)} failed with code {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def fails(line, saying, **options):
    """Runs a program that has to fail with these words."""
    ran = subprocess.run([str(part) for part in line], capture_output=True, text=True, **options)
    said = ran.stdout + ran.stderr
    assert ran.returncode != 0, f"{line} did not fail: {said}"
    assert saying in said, f"{line} fails without saying «{saying}»: {said}"


def environment(home, *folders):
    """The variables of somebody who has just logged in, with these folders first in PATH."""
    path = os.pathsep.join([*map(str, folders), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    return {"HOME": str(home), "PATH": path, "SHELL": "/bin/bash", "LANG": "C.UTF-8"}


def ask(line, **options):
    """Has a program remember something and asks it; returns the line of the answer."""
    run([*line, "remember", MEMORY], **options)
    answer = run([*line, "think", QUESTION], **options)
    assert "after the backup" in answer, answer
    # Without the time, which is that of the test.
    return "  ".join(answer.split("  ")[:2]).strip()


def ask_server(line, **options):
    """The same over MCP on standard input and output; returns id and text of the first hit."""
    call = {"name": "remember", "arguments": {"agent": "test", "user": "mira", "topics": ["deploy"], "content": MEMORY}}
    messages = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        ("notifications/initialized", None),
        ("tools/call", call),
        ("tools/call", {"name": "think", "arguments": {"query": QUESTION}}),
    ]
    program = subprocess.Popen(
        [str(part) for part in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **options,
    )
    replies = []
    for number, (method, params) in enumerate(messages):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message |= {"id": number, "params": params}
        program.stdin.write(json.dumps(message) + "\n")
        program.stdin.flush()
        if params is not None:
            reply = program.stdout.readline()
            assert reply, f"{line} ended: {program.stderr.read()}"
            replies.append(json.loads(reply))
    program.stdin.close()
    program.wait(30)
    assert replies[0]["result"]["serverInfo"]["title"] == "memdir", replies[0]
    found = replies[-1]["result"]["content"][0]["text"]
    assert "after the backup" in found, found
    hit = json.loads(found)[0]
    return f"{hit['id']}  {hit['content_preview']}"


def left_in(folder, but=()):
    """The files below a folder, without those below the folders in `but`."""
    found = set()
    for path in Path(folder).rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and not any(name == each or name.startswith(f"{each}/") for each in but):
            found.add(name)
    return found


def has(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is not None


class Table:
    """What was installed: the line, seconds, bytes and the answer."""

    def __init__(self):
        self.rows = []
        self.passed = 0
        self.failed = []

    def check(self, name, needs, test, *arguments):
        """Runs a test, unless one of the programs that it needs is missing."""
        missing = [program for program in needs if not has(program)]
        if missing:
            print(f"skipped: {name}: there is no {', '.join(missing)}", flush=True)
            return
        print(f"+ {name}", flush=True)
        try:
            row = test(*arguments)
        except (AssertionError, OSError) as error:
            print(f"FAILED {name}: {error}", file=sys.stderr, flush=True)
            self.failed.append(name)
            return
        self.passed += 1
        if row:
            line, seconds, size, answer = row
            self.rows.append((name, *row))
            print(f"  {line}\n  {seconds:.1f} s, {size:,} bytes; {answer}", flush=True)

    def end(self):
        print()
        print("| package | line | seconds | bytes | answer |\n| --- | --- | --- | --- | --- |")
        for name, line, seconds, size, answer in self.rows:
            print(f"| {name} | `{line}` | {seconds:.1f} | {size:,} | {answer} |")
        print(f"\n{self.passed} passed, {len(self.failed)} failed")
        sys.exit(1 if self.failed else 0)


def timed(line, **options):
    """Runs a program; returns the seconds that it took."""
    begun = time.monotonic()
    run(line, **options)
    return time.monotonic() - begun
