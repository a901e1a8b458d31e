"""Searches everything that a run left for its credentials, which may be only where their owner put them.

Promises: the search covers every file below the run's folder, packed git objects too. It proves that it works: it must
find the credentials where they are kept, and an acknowledged line in every history. Command lines of processes are read
several times a second.
"""
import os
import re
import subprocess
import threading

import harness

PIECE = 1 << 20
# Seconds between two looks at the processes.
PAUSE = 0.03
# A process becomes another program after it has begun; so often it is looked at.
LOOKS = 4


def leaks(setting, secrets, kept, repositories, control):
    """Where secrets are that must not be there, as sentences. `control` is in each of the repositories."""
    if not secrets:
        return []
    pattern = re.compile(b"|".join(re.escape(secret.encode()) for secret in secrets))
    found, is_seen = [], dict.fromkeys(kept, False)
    for folder, _, names in os.walk(setting.work):
        for path in (os.path.join(folder, name) for name in names):
            owner = next((own for own in kept if path == own or path.startswith(own + os.sep)), None)
            if owner is None or not is_seen[owner]:
                holds = is_in_file(pattern, path)
                if owner:
                    is_seen[owner] = holds
                elif holds:
                    found.append(f"a credential is in {path}")
    found += [f"the look for credentials is blind: none in {path}" for path, seen in is_seen.items() if not seen]
    for repository in repositories:
        if is_in_history(setting, pattern, repository):
            found.append(f"a credential is in the history of {repository}")
        if not is_in_history(setting, re.compile(control.encode()), repository):
            found.append(f"the look for credentials is blind: no {control} in the history of {repository}")
    return found


def is_in_file(pattern, path):
    try:
        with open(path, "rb") as file:
            return is_in(pattern, file)
    except OSError:
        return False


def is_in_history(setting, pattern, repository):
    """Whether any object of a repository has it, referred to or not."""
    line = ["git", "-C", repository, "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env=harness.environment(setting, GIT_CONFIG_NOSYSTEM="1")) as process:
        return is_in(pattern, process.stdout)


def is_in(pattern, stream):
    """Whether a stream has it, read to its end."""
    before, is_found = b"", False
    while piece := stream.read(PIECE):
        text = before + piece
        is_found = is_found or pattern.search(text) is not None
        before = text[-1000:]
    return is_found


class CommandLines:
    """Writes down the command lines of all processes that begin while it is used, as far as it sees them."""

    def __init__(self, path):
        self.path, self.is_over = path, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.looks = dict.fromkeys(self.processes(), LOOKS)

    def look(self):
        known = set()
        with open(self.path, "wb") as log:
            while not self.is_over.wait(PAUSE):
                there = self.processes()
                self.looks = {pid: self.looks.get(pid, 0) for pid in there}
                for pid in [pid for pid in there if self.looks[pid] < LOOKS]:
                    self.looks[pid] += 1
                    line = self.command_line(pid)
                    if line not in known:
                        known.add(line)
                        log.write(line + b"\n")

    def processes(self):
        return [name for name in os.listdir("/proc") if name.isdigit()]

    def command_line(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ")
        except OSError:
            return b""

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
