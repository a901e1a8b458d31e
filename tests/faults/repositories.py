"""Inspects git repositories, and ends a program together with the git processes that it started."""
import hashlib
import os
import signal

import harness

# The folder of a remote; nothing else is called so.
REMOTE = "remote.git"


def git(setting, folder, *words):
    """Runs git as a user would, in a repository or a store."""
    who = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"]
    return harness.run(["git", "-C", folder, *who, *words], setting, env={"GIT_CONFIG_NOSYSTEM": "1"})


def asked(setting, folder, *words):
    """What git prints; fails if it does."""
    done = git(setting, folder, *words)
    if done.code != 0:
        raise harness.Failed(f"git {' '.join(words)} in {folder} ended with {done.code}: {done.err.strip()[:300]}")
    return done.out.strip()


def new_remote(setting, path):
    """A bare repository that writes down whatever its branches were."""
    os.makedirs(path)
    asked(setting, path, "init", "--bare", "--quiet", "--initial-branch", "main")
    asked(setting, path, "config", "core.logAllRefUpdates", "always")
    return path


def tip(setting, folder, reference="refs/heads/main"):
    """The commit of a branch; empty if there is none."""
    return git(setting, folder, "rev-parse", "--verify", "--quiet", reference).out.strip()


def broken(setting, folder):
    """What git finds broken in a repository."""
    done = git(setting, folder, "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
    said = [line for line in (done.out + done.err).splitlines() if not line.startswith("notice: ")]
    return said if done.code else []


def locks(git_folder):
    """Lock files: what lies there while nobody is at work stops somebody. Those set aside do not."""
    found = []
    for folder, folders, names in os.walk(git_folder):
        if "memdir-stale" in folders:
            folders.remove("memdir-stale")
        found += [os.path.relpath(os.path.join(folder, name), git_folder) for name in names if name.endswith(".lock")]
    return sorted(found)


def uncommitted(setting, root, tree):
    """Paths below `files` and `archive` at which the newest commit and `tree` differ."""
    listed = git(setting, root, "ls-tree", "-r", "-z", "HEAD", "files", "archive").out
    committed = {}
    for entry in filter(None, listed.split("\0")):
        kind, path = entry.split("\t", 1)
        committed[path] = kind.split()[2]
    there = {path: blob_id(text) for path, text in tree.items()}
    return sorted(path for path in committed.keys() | there.keys() if committed.get(path) != there.get(path))


def blob_id(text):
    return hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest()


# ---- processes


def is_remote_side(pid):
    """Whether a process belongs to the other end of a connection, which would be another machine."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read()
        folder = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False
    if any(os.path.basename(word) == b"ssh" for word in line.split(b"\0")[:2]):
        return False  # It names what the other end shall run.
    return b"receive-pack" in line or b"upload-pack" in line or "/" + REMOTE in folder


def end(process, with_children):
    """Kills a process, alone or with all that it started on this side of the connection."""
    for pid in [process.pid, *(descendants(process.pid) if with_children else [])]:
        kill(pid)
    process.wait()


def descendants(pid):
    """Stops a process and what it started, so that nothing more is started; the ids of the latter."""
    kill(pid, signal.SIGSTOP)
    found = []
    for child in map(int, harness.children(pid)):
        if not is_remote_side(child):
            found += [child, *descendants(child)]
    return found


def end_session(session):
    """Kills what is left, on this side, of the processes of a session."""
    for pid in of_session(session):
        if not is_remote_side(pid):
            kill(pid)


def of_session(session):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # State, parent, group, session. A zombie does nothing any more.
        if fields[3] == str(session) and fields[0] not in "ZX":
            found.append(int(name))
    return found


def kill(pid, with_signal=signal.SIGKILL):
    try:
        os.kill(pid, with_signal)
    except ProcessLookupError:
        pass


def running_in(folder, but=()):
    """The processes that work in a folder or below, or were started with its path."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
            at_work = os.readlink(f"/proc/{name}/cwd") + " " + line
            if int(name) not in (os.getpid(), *but) and folder in at_work:
                found.append(f"{name}: {line[:200]}")
        except OSError:
            continue
    return found
