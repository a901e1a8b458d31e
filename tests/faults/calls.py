"""Reads what strace recorded of a command, as operations on files, names and folders.

Only calls below one folder are kept, and what was written to standard output: that is when
something was acknowledged. Files are told apart by numbers, as inodes are, for names move.
"""
import dataclasses
import os
import re

from harness import Failed
from harness import run as run_command

CALLS = (
    "openat,open,creat,openat2,write,pwrite64,writev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,"
    "unlink,unlinkat,mkdir,mkdirat,rmdir,close,dup,dup2,dup3,fcntl"
)
FOLDER = -1


@dataclasses.dataclass
class Operation:
    """One thing that a command did.

    Kinds: `make` a file, `write` and `cut` one, `sync` one, `name` (a change of names that lie in
    `folder`), `sync folder`, and `said` (bytes on standard output).
    """

    kind: str
    path: str = ""
    file: int | None = None
    offset: int | None = None
    size: int = 0
    data: bytes = b""
    folder: str = ""
    # Path → file, or None where the name is removed; all of it happens in one step.
    names: dict = dataclasses.field(default_factory=dict)
    # A name that must be there first: a rename never removes the only name.
    needs: tuple | None = None
    is_derived: bool = False

    def apply(self, names):
        if self.needs and names.get(self.needs[0]) != self.needs[1]:
            return
        for path, file in self.names.items():
            if file is None:
                names.pop(path, None)
            else:
                names[path] = file


def recorded(setting, line, root, disk):
    """Runs a command that must succeed; the operations on the files below `root`."""
    trace = os.path.join(setting.folder("trace"), "trace")
    strace = ["strace", "-f", "-qq", "-xx", "-s", str(1 << 24), "-o", trace, "-e", "trace=" + CALLS]
    done = run_command(strace + line, setting)
    if done.code != 0:
        raise Failed(f"cannot record {line[3:5]}: {done.err[:200]}")
    reader = Reader(root, dict(disk.names), setting.work)
    with open(trace) as lines:
        for call in whole_calls(lines):
            reader.read(call)
    return reader.operations


def whole_calls(lines):
    """Joins the two halves of calls during which another thread had its turn."""
    halves = {}
    for line in lines:
        thread, rest = line.rstrip("\n").split(None, 1)
        if rest.endswith("<unfinished ...>"):
            rest = rest.removesuffix("<unfinished ...>")
            if rest.startswith("close("):
                # Its number may be given to another file before it returns.
                yield rest.rstrip() + ") = 0"
            else:
                halves[thread] = rest
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        if resumed:
            if thread not in halves:
                continue
            rest = halves.pop(thread) + resumed[1]
        yield rest


class Reader:
    """Follows descriptors and names through the calls of a process with many threads."""

    def __init__(self, root, names, folder):
        self.root, self.names, self.cwd = root, names, folder
        self.operations = []
        self.known_derived = set()
        # Descriptor → [path of a folder, or file number, and position; None appends]
        self.open = {}
        self.next_file = 1 + max([0, *names.values()])

    def read(self, line):
        found = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", line)
        if not found or int(found[3]) < 0:
            return
        call, arguments, result = found[1], found[2], int(found[3])
        texts = [bytes.fromhex(text.replace("\\x", "")) for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', arguments)]
        bare = re.sub(r'"[^"]*"', '""', arguments)
        numbers = [part.strip() for part in bare.split(",")]
        descriptor = int(numbers[0]) if numbers[0].isdigit() else None
        kind = call.removesuffix("at2").removesuffix("at") if call not in ("creat",) else "open"
        handler = {
            "open": self.opened, "close": self.closed, "dup": self.doubled, "dup2": self.doubled, "dup3": self.doubled,
            "fcntl": self.doubled, "write": self.wrote, "pwrite64": self.wrote, "writev": self.wrote,
            "ftruncate": self.cut, "fsync": self.synced, "fdatasync": self.synced, "rename": self.renamed,
            "link": self.linked, "unlink": self.unlinked, "mkdir": self.made_folder, "rmdir": self.unlinked,
        }[kind]
        handler(call, bare, numbers, descriptor, texts, result)

    def add(self, kind, **values):
        operation = Operation(kind, **values)
        paths = [operation.path, operation.folder, *operation.names]
        derived = os.path.join(self.root, ".memdir")
        operation.is_derived = operation.file in self.derived_files() or any(
            path == derived or path.startswith(derived + "/") for path in paths
        )
        self.operations.append(operation)

    def derived_files(self):
        derived = os.path.join(self.root, ".memdir") + "/"
        """Files that have, or had, a name in `.memdir`."""
        self.known_derived |= {file for path, file in self.names.items() if path.startswith(derived) and file != FOLDER}
        return self.known_derived

    def path(self, folder, text):
        base = self.cwd
        if folder is not None and folder.isdigit():
            base = self.open.get(int(folder), [self.cwd])[0]
            base = base if isinstance(base, str) else self.cwd
        return os.path.normpath(os.path.join(base, os.fsdecode(text)))

    def is_below(self, path):
        return path == self.root or path.startswith(self.root + "/")

    def name(self, path, file):
        """Gives a new name to a file or takes it away."""
        self.names_changed({path: file}, os.path.dirname(path))

    def names_changed(self, names, folder, needs=None):
        for path, file in names.items():
            if file is None:
                self.names.pop(path, None)
            else:
                self.names[path] = file
        self.add("name", names=names, folder=folder, needs=needs)

    def opened(self, call, bare, numbers, descriptor, texts, result):
        path = self.path(numbers[0] if call.startswith("openat") else None, texts[0])
        self.open.pop(result, None)
        if not self.is_below(path):
            return
        file = self.names.get(path)
        if file == FOLDER and "O_TMPFILE" not in bare:
            self.open[result] = [path, 0]
            return
        if "O_TMPFILE" in bare or file is None:
            if not any(flag in bare for flag in ("O_CREAT", "O_TMPFILE")) and call != "creat":
                return
            file, self.next_file = self.next_file, self.next_file + 1
            if "O_TMPFILE" in bare:
                self.add("make", file=file)
            else:
                self.names[path] = file
                self.add("make", file=file)
                self.name(path, file)
        elif "O_TRUNC" in bare or call == "creat":
            self.add("cut", file=file, size=0)
        self.open[result] = [file, None if "O_APPEND" in bare else 0]

    def closed(self, call, bare, numbers, descriptor, texts, result):
        self.open.pop(descriptor, None)

    def doubled(self, call, bare, numbers, descriptor, texts, result):
        if (call != "fcntl" or "F_DUPFD" in bare) and descriptor in self.open:
            # Both share one position.
            self.open[result] = self.open[descriptor]

    def wrote(self, call, bare, numbers, descriptor, texts, result):
        data = b"".join(texts)[:result]
        if descriptor == 1 and descriptor not in self.open:
            self.add("said", data=data)
        elif descriptor in self.open:
            opened = self.open[descriptor]
            offset = int(numbers[-1]) if call == "pwrite64" else opened[1]
            if call != "pwrite64" and offset is not None:
                opened[1] += result
            self.add("write", file=opened[0], offset=offset, data=data)

    def cut(self, call, bare, numbers, descriptor, texts, result):
        if descriptor in self.open:
            self.add("cut", file=self.open[descriptor][0], size=int(numbers[1]))

    def synced(self, call, bare, numbers, descriptor, texts, result):
        opened = self.open.get(descriptor)
        if opened is None:
            return
        if isinstance(opened[0], str):
            self.add("sync folder", path=opened[0])
        else:
            self.add("sync", file=opened[0])

    def pair(self, call, numbers, texts):
        if call in ("rename", "link"):
            return self.path(None, texts[0]), self.path(None, texts[1])
        return self.path(numbers[0], texts[0]), self.path(numbers[2], texts[1])

    def renamed(self, call, bare, numbers, descriptor, texts, result):
        source, target = self.pair(call, numbers, texts)
        file = self.names.get(source)
        if file is None:
            return
        folders = os.path.dirname(source), os.path.dirname(target)
        if "RENAME_EXCHANGE" in bare:
            self.names_changed({source: self.names[target], target: file}, folders[0])
        elif folders[0] == folders[1]:
            self.names_changed({source: None, target: file}, folders[0])
        else:
            self.name(target, file)
            self.names_changed({source: None}, folders[0], needs=(target, file))

    def linked(self, call, bare, numbers, descriptor, texts, result):
        source, target = self.pair(call, numbers, texts)
        by_descriptor = re.match(r"/proc/self/fd/(\d+)$", source)
        file = self.open.get(int(by_descriptor[1]), [None])[0] if by_descriptor else self.names.get(source)
        if file is not None and self.is_below(target):
            self.name(target, file)

    def unlinked(self, call, bare, numbers, descriptor, texts, result):
        path = self.path(numbers[0] if call == "unlinkat" else None, texts[0])
        if path in self.names:
            self.name(path, None)

    def made_folder(self, call, bare, numbers, descriptor, texts, result):
        path = self.path(numbers[0] if call == "mkdirat" else None, texts[0])
        if self.is_below(path):
            self.name(path, FOLDER)
