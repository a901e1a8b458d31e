#!/usr/bin/env python3
"""Shows that a program works on a system that it is run for here: elsewhere.py PROGRAM [--by RUNNER] [--only NAME]

    elsewhere.py target/x86_64-unknown-linux-musl/dist/memdir
    elsewhere.py target/aarch64-unknown-linux-gnu/dist/memdir --by qemu-aarch64-static
    elsewhere.py target/x86_64-pc-windows-gnu/dist/memdir.exe --by wine64

Commands, MCP over standard input, files with other line ends and names, deep folders, what a killed
command leaves, sync by a path, and a race of servers, commands, an editor and git on one store, after
which no acknowledged text may be lost. What is written is read by this script, with this machine's own calls.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import Table, ask, ask_server


class Program:
    """The program, as it is started for a store."""

    def __init__(self, path, runner, work):
        self.words = [*([runner] if runner else []), str(path)]
        self.is_windows = str(path).endswith(".exe")
        self.work = work

    def path(self, path):
        """A path as the program takes it: under Wine this machine's files lie on the drive Z."""
        return "Z:" + str(path).replace("/", "\\") if self.is_windows else str(path)

    def environment(self, name="home"):
        home = self.work / name
        home.mkdir(exist_ok=True)
        kept = {key: os.environ[key] for key in ("PATH", "WINEPREFIX", "WINEDEBUG", "QEMU_LD_PREFIX") if key in os.environ}
        folders = {"HOME": str(home), "XDG_CONFIG_HOME": "", "USERPROFILE": self.path(home)}
        for variable, folder in (("APPDATA", "roaming"), ("LOCALAPPDATA", "local")):
            folders[variable] = self.path(home / folder)
        return {**kept, **{key: value for key, value in folders.items() if value}, "TZ": "UTC", "LANG": "C.UTF-8",
                "GIT_CONFIG_GLOBAL": "/dev/null", "MEMDIR_EMBEDDING": "off"}

    def options(self, name="home"):
        return {"env": self.environment(name), "cwd": self.work}

    def run(self, *words, store=None, home="home", text=None, code=(0,)):
        line = [*self.words, *(["--store", self.path(store)] if store else []), *map(str, words)]
        ran = subprocess.run(line, capture_output=True, input=text, timeout=120, **self.options(home))
        out, err = ran.stdout.decode(), ran.stderr.decode(errors="replace")
        assert ran.returncode in code, f"{words} ended with {ran.returncode}:\n{out}{err}"
        assert "panicked" not in err, err
        return out.replace("\r\n", "\n") if self.is_windows else out


def memories(store):
    return sorted(path for path in (store / "files").rglob("*.md") if not path.name.startswith("."))


def new_store(program, name):
    store = program.work / name
    store.mkdir(parents=True)
    (store / "files").mkdir()
    return store


def commands(program):
    """Each of the usual commands, with text of other alphabets."""
    store = new_store(program, "commands")
    begun = time.monotonic()
    words = "Zoë röstet Käse – 東京で、чай"
    said = program.run("remember", words, store=store).strip()
    handle = said.split()[-1][-8:]
    [file] = memories(store)
    assert file.name.endswith(f"_{handle}.md"), (said, file.name)
    assert words.encode() in file.read_bytes() and b"\r" not in file.read_bytes(), file.read_bytes()
    assert handle in program.run("think", "Käse", store=store)
    assert words in program.run("recall", handle, store=store)
    program.run("update", handle, "--title", "Früh", store=store)
    assert b"title: Fr\xc3\xbch" in file.read_bytes()
    program.run("forget", handle, store=store)
    assert not memories(store)
    program.run("restore", handle, store=store)
    assert [file] == memories(store)
    program.run("remember", "-", store=store, text="from standard input, ünd so weiter\n".encode())
    assert len(memories(store)) == 2
    assert program.run("export", "--to", "jsonl", store=store).count("\n") >= 2
    program.run("undo", store=store)
    assert len(memories(store)) == 1
    program.run("verify", store=store)
    program.run("status", store=store)
    program.run("log", store=store)
    return "commands", time.monotonic() - begun, 0, words


def first_answer(program):
    store = new_store(program, "answer")
    begun = time.monotonic()
    answer = ask([*program.words, "--store", program.path(store)], **program.options())
    return "remember, think", time.monotonic() - begun, 0, answer


def server(program):
    store = new_store(program, "server")
    begun = time.monotonic()
    answer = ask_server([*program.words, "--store", program.path(store), "mcp"], **program.options())
    assert len(memories(store)) == 1
    return "mcp", time.monotonic() - begun, 0, answer


def line_ends(program):
    """A file with CRLF and a byte order mark keeps both, also where a key of it is changed."""
    store = new_store(program, "lines")
    text = "\ufeff---\r\nid: 0badcafe\r\ntimestamp: 2026-01-02T03:04:05+00:00\r\nagent: a\r\nuser: u\r\ntopics: [x]\r\n---\r\n\r\nThe platypus\r\nswims.\r\n"
    file = store / "files" / "20260102_030405_0badcafe.md"
    file.write_bytes(text.encode())
    assert "0badcafe" in program.run("think", "platypus", store=store)
    program.run("update", "0badcafe", "--title", "Swimmer", store=store)
    now = file.read_bytes()
    assert now.startswith(b"\xef\xbb\xbf---\r\n") and now.endswith(b"The platypus\r\nswims.\r\n"), now
    assert b"title: Swimmer\r\n" in now, now


def held_files(program):
    """Of Windows: a file that an editor has for itself alone is waited for, and then told of."""
    if not program.is_windows:
        return None
    store = new_store(program, "held")
    program.run("remember", "A file that others hold.", store=store)
    [file] = memories(store)
    hold = [*program.words[:-1], str(Path(program.words[-1]).with_name("hold.exe")), program.path(file)]

    def held_for(milliseconds, *text):
        editor = subprocess.Popen([*hold, str(milliseconds), *text], stdout=subprocess.PIPE, **program.options())
        assert editor.stdout.readline().strip() == b"held"
        return editor

    editor = held_for(700)
    program.run("update", file.stem, "--title", "Waited for", store=store)
    editor.wait()
    assert b"title: Waited for" in file.read_bytes()
    editor = held_for(15000, "a line of the editor's\n")
    line = [*program.words, "--store", program.path(store), "update", file.stem, "--title", "Refused"]
    refused = subprocess.run(line, capture_output=True, timeout=60, **program.options())
    # Of Wine's messages; those of Windows are in its language, with the same number.
    assert refused.returncode == 2 and b"os error 32" in refused.stderr, refused
    editor.wait()
    text = file.read_bytes()
    assert b"title: Waited for" in text and b"a line of the editor's" in text, text
    assert [file] == [path for path in (store / "files").iterdir()], "something is left beside it"
    told = refused.stderr.decode().replace("\r", "").split("\n")
    return "update of a held file", 0.0, 0, " ".join(told)[:300]


def deep_folders(program):
    """A store whose paths have more than the 260 characters that Windows once allowed."""
    store = new_store(program, "/".join(["deep", *["a-folder-with-a-long-name"] * 11]))
    assert len(str(store)) > 290
    program.run("remember", "Deep down lies a trilobite.", store=store)
    assert "trilobite" in program.run("think", "trilobite", store=store)
    [file] = memories(store)
    program.run("update", file.stem, "--title", "Deep", store=store)
    program.run("forget", file.stem, store=store)
    assert not memories(store)


def default_folders(program):
    """Without `--store` the memories lie where the system keeps data of programs."""
    if program.is_windows:
        # Wine has its own user; nothing is written there.
        said = program.run("path", home="default").strip()
        assert said.lower().endswith("\\appdata\\roaming\\memdir"), said
        return "path", 0.0, 0, "%APPDATA%\\memdir"
    program.run("remember", "Kept where the system says.", home="default")
    found = [path for path in (program.work / "default").rglob("files/*.md")]
    assert len(found) == 1, found
    home = program.work / "default"
    assert home / ".local/share" in found[0].parents, found
    return "remember", 0.0, 0, str(found[0].relative_to(home).parent)


def kills(program):
    """Commands are killed at random moments: the memory is whole, what was acknowledged is there."""
    store = new_store(program, "kills")
    dice = random.Random(7)
    begun = time.monotonic()
    program.run("remember", "number 0", store=store)
    usual = time.monotonic() - begun
    [file] = memories(store)
    last, ended = None, 0
    for number in range(1, 41):
        words = ["update", file.stem, "--content", f"number {number} " + "yak " * 5000 + "end."]
        line = [*program.words, "--store", program.path(store), *words]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **program.options())
        try:
            process.communicate(timeout=dice.uniform(0.0, 1.5 * usual))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        ended += process.returncode == 0
        text = file.read_text()
        body = text.split("---\n\n", 1)[1]
        assert body == "number 0" or body.rstrip("\n").endswith("end."), f"a torn memory: {text[-60:]!r}"
        if process.returncode == 0:
            last = number
            assert f"number {number} " in text, f"acknowledged and not there: {number}"
    proof = json.loads(program.run("verify", "--json", store=store, code=(0, 1)))
    assert not proof["index_faults"], proof["index_faults"]
    program.run("reindex", store=store)
    left = [path.name for path in (store / "files").iterdir() if path.name != file.name]
    assert all(".conflict-" in name for name in left), left
    return "update, killed", 0.0, 0, f"40 updates, {ended} ended, the last is {last}, {len(left)} conflict copies"


def sync(program):
    """Two homes exchange memories by way of a bare repository at a path."""
    remote = program.work / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
    flags = ["--remote", program.path(remote), "--allow-local"]
    one, other = program.work / "one", program.work / "other"
    begun = time.monotonic()
    program.run("init", program.path(one), *flags, home="home-one")
    program.run("remember", "Told on the first machine.", store=one, home="home-one")
    program.run("sync", store=one, home="home-one")
    program.run("init", program.path(other), *flags, home="home-other")
    program.run("sync", store=other, home="home-other")
    assert "first machine" in program.run("think", "first machine", store=other, home="home-other")
    program.run("remember", "Told on the second machine.", store=other, home="home-other")
    program.run("sync", store=other, home="home-other")
    program.run("sync", store=one, home="home-one")
    assert len(memories(one)) == len(memories(other)) == 2
    [first] = [path for path in memories(one) if b"first machine" in path.read_bytes()]
    # Both change one memory: the two texts are merged, or both are kept.
    program.run("update", first.stem, "--title", "One", store=one, home="home-one")
    program.run("update", first.stem, "--status", "Other", store=other, home="home-other")
    for store, home in ((one, "home-one"), (other, "home-other"), (one, "home-one")):
        program.run("sync", store=store, home=home)
    for store in (one, other):
        text = (store / "files" / first.name).read_bytes()
        assert b"title: One" in text and b"status: Other" in text, text
    log = subprocess.run(["git", "-C", remote, "log", "--oneline", "main"], capture_output=True, text=True, check=True)
    fsck = subprocess.run(["git", "-C", remote, "fsck", "--strict"], capture_output=True, text=True)
    assert fsck.returncode == 0, fsck.stderr
    return "sync by a path", time.monotonic() - begun, 0, f"{len(log.stdout.splitlines())} commits, whole by git fsck"


def race(program, seconds=40):
    """Two servers, commands, an editor and git on one store: every acknowledged text is somewhere."""
    store = new_store(program, "race")
    program.run("remember", "a first one", store=store)
    acknowledged, faults, over = [], [], threading.Event()
    counts = {"told": 0, "commands": 0, "refused": 0, "edits": 0, "commits": 0}
    tell = threading.Lock()

    def guarded(job):
        def all_of_it():
            try:
                while not over.is_set():
                    job()
            except Exception as error:  # noqa: BLE001  (it is reported, and fails the check)
                faults.append(f"{job.__name__}: {error!r}"[:400])
        return all_of_it

    def note(kind, token=None):
        with tell:
            counts[kind] += 1
            if token:
                acknowledged.append(token)

    def served(number):
        client = Client(program, store)
        round = 0

        def remember():
            nonlocal round
            round += 1
            token = f"served{number}x{round}y"
            client.call("remember", {"agent": "a", "user": "u", "topics": ["t"], "content": f"It says {token}."})
            note("told", token)
            found = client.call("think", {"query": token})
            assert token in found, f"{token} is not found: {found[:200]}"
        return client, remember

    dice = random.Random(3)
    number = 0

    def commands():
        nonlocal number
        number += 1
        token = f"updated{number}z"
        file = dice.choice(memories(store))
        line = [*program.words, "--store", program.path(store), "update", file.stem, "--title", token]
        ran = subprocess.run(line, capture_output=True, timeout=120, **program.options())
        # Refused is whatever somebody else holds, or has changed or moved; not acknowledged either way.
        note("commands" if ran.returncode == 0 else "refused", token if ran.returncode == 0 else None)
        if ran.returncode not in (0, 1, 2):
            faults.append(f"update ended with {ran.returncode}: {ran.stderr[-300:]}")

    edits = 0

    def editor():
        """Adds a line, as an editor that has just read the file: over it, or by a new file renamed to it."""
        nonlocal edits
        edits += 1
        token = f"edited{edits}w"
        file = dice.choice(memories(store))
        text = file.read_bytes() + f"\n{token}\n".encode()
        draft = file.with_name(file.name + "~")
        draft.write_bytes(text)
        os.replace(draft, file)
        note("edits", token)
        time.sleep(0.2)

    def git():
        ran = subprocess.run(["git", "-C", store, "log", "--oneline", "-3"], capture_output=True, env=program.environment())
        subprocess.run(["git", "-C", store, "status", "--short"], capture_output=True, env=program.environment())
        if ran.returncode == 0:
            note("commits")
        time.sleep(0.3)

    clients = [served(number) for number in (1, 2)]
    jobs = [remember for _, remember in clients] + [commands, editor, git]
    threads = [threading.Thread(target=guarded(job)) for job in jobs]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    for client, _ in clients:
        client.close()
    # What was replaced is in the history; what excludes each other, in conflict copies.
    everything = b"".join(path.read_bytes() for path in store.rglob("*.md") if path.is_file())
    history = subprocess.run(["git", "-C", store, "log", "--all", "-p", "--text"], capture_output=True,
                             env=program.environment()).stdout
    aside = b"".join(path.read_bytes() for path in (store / ".memdir" / "replaced").rglob("*") if path.is_file())
    lost = [token for token in acknowledged if token.encode() not in everything + history + aside]
    assert not faults, faults
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged texts are lost: {lost[:5]}"
    # It also tells of the conflict copies that an editor and a command have made of one memory.
    proof = json.loads(program.run("verify", "--json", store=store, code=(0, 1)))
    assert not proof["index_faults"], proof["index_faults"]
    return "race", float(seconds), 0, f"{counts}; {len(acknowledged)} acknowledged, 0 lost"


class Client:
    """A client of one server."""

    def __init__(self, program, store):
        line = [*program.words, "--store", program.path(store), "mcp"]
        self.server = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, **program.options())
        self.number = 0
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.ask("initialize", about)

    def ask(self, method, params):
        self.number += 1
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.server.stdin.flush()
        reply = json.loads(self.server.stdout.readline())
        assert "result" in reply, reply
        return reply["result"]

    def call(self, tool, arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def close(self):
        self.server.stdin.close()
        self.server.wait(60)


CHECKS = [first_answer, commands, server, line_ends, held_files, deep_folders, default_folders, kills, sync, race]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--by", help="what runs it, such as wine64")
    parser.add_argument("--only", help="these checks, with commas between")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="memdir-elsewhere-")).resolve()
    program = Program(args.program.resolve(), args.by, work)
    table = Table()
    for check in CHECKS:
        if not args.only or check.__name__ in args.only.split(","):
            table.check(check.__name__, ["git"] if check in (sync, race) else [], check, program)
    shutil.rmtree(work, ignore_errors=True)
    print(f"{table.passed} checks passed, {len(table.failed)} failed")
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
