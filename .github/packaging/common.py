"""What every package says of memdir, the targets it is built for, and files that come out equal twice."""
import gzip
import hashlib
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MANIFEST = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
NAME = MANIFEST["name"]
VERSION = MANIFEST["version"]
DESCRIPTION = MANIFEST["description"]
LICENSE = MANIFEST["license"]
# A release sets it, so that a copy of the repository elsewhere names itself.
REPOSITORY = os.environ.get("MEMDIR_REPOSITORY") or MANIFEST.get("repository")
# The name of the server in the registry of MCP servers, by which packages say whose they are.
SERVER = f"io.github.{REPOSITORY.split('/')[3]}/{NAME}" if REPOSITORY else None
TITLE = "Memory of AI agents as markdown files"


@dataclass(frozen=True)
class Target:
    """One target of the compiler, with the names that package managers have for it."""

    triple: str
    system: str  # As Node says it: linux, darwin, win32.
    cpu: str  # As Node says it: x64, arm64.
    debian: str = ""
    rpm: str = ""
    musl: bool = False

    @property
    def program(self):
        return f"{NAME}.exe" if self.system == "win32" else NAME

    @property
    def archive(self):
        """The file name without its ending."""
        return f"{NAME}-{VERSION}-{self.triple}"

    @property
    def npm(self):
        return f"@{NAME}/{self.system}-{self.cpu}{'-musl' if self.musl else ''}"


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", "linux", "x64", "amd64", "x86_64"),
        Target("aarch64-unknown-linux-gnu", "linux", "arm64", "arm64", "aarch64"),
        Target("x86_64-unknown-linux-musl", "linux", "x64", musl=True),
        Target("aarch64-unknown-linux-musl", "linux", "arm64", musl=True),
        Target("x86_64-apple-darwin", "darwin", "x64"),
        Target("aarch64-apple-darwin", "darwin", "arm64"),
        Target("x86_64-pc-windows-gnu", "win32", "x64"),
        Target("x86_64-pc-windows-msvc", "win32", "x64"),
    ]
}


def target_of(program):
    """The target that a program was built for, as its own header says."""
    head = Path(program).read_bytes()[:4096]
    if head.startswith(b"\x7fELF"):
        cpu = {0x3E: "x86_64", 0xB7: "aarch64"}[int.from_bytes(head[18:20], "little")]
        # A static program names no loader.
        loader = re.search(rb"/lib[^\0]*/ld-[^\0]*", head)
        return TARGETS[f"{cpu}-unknown-linux-{'gnu' if loader and b'musl' not in loader[0] else 'musl'}"]
    if head.startswith(b"\xcf\xfa\xed\xfe"):
        cpu = {0x01000007: "x86_64", 0x0100000C: "aarch64"}[int.from_bytes(head[4:8], "little")]
        return TARGETS[f"{cpu}-apple-darwin"]
    if head.startswith(b"MZ"):
        # What MinGW links in tells its name.
        is_gnu = b"Mingw-w64 runtime" in Path(program).read_bytes()
        return TARGETS[f"x86_64-pc-windows-{'gnu' if is_gnu else 'msvc'}"]
    sys.exit(f"no target is known for {program}")


def glibc_of(program):
    """The oldest glibc that a program runs with, such as (2, 28), or None where it asks for none."""
    asked = re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", Path(program).read_bytes())
    return (2, max(map(int, asked))) if asked else None


def time_of_commit():
    """Seconds since 1970 that stand in all files that are made: those of the commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    # A source archive has no history: the first time that a zip can hold.
    return int(said.stdout) if said.returncode == 0 else 315532800


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def files_below(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def is_program(path):
    return os.access(path, os.X_OK)


def tar(folder, top=""):
    """The bytes of a tar of what is below `folder`, with names, times, owners and order that do not vary."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(Path(folder).rglob("*")):
            info = tarfile.TarInfo(str(Path(top) / path.relative_to(folder)))
            info.mtime = time_of_commit()
            if path.is_dir():
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            else:
                info.size, info.mode = path.stat().st_size, 0o755 if is_program(path) else 0o644
                with open(path, "rb") as file:
                    archive.addfile(info, file)
    return made.getvalue()


def gzipped(data):
    return gzip.compress(data, 9, mtime=0)


def xz(data):
    return lzma.compress(data, preset=9)


def zipped(entries):
    """The bytes of a zip of (name, bytes, whether it is a program), in this order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, runs in entries:
            info = zipfile.ZipInfo(name, max(time.gmtime(time_of_commit())[:6], (1980, 1, 1, 0, 0, 0)))
            info.create_system = 3
            info.external_attr = (0o100755 if runs else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return made.getvalue()


def write(path, data):
    """Writes a file that a release consists of, and says its size."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    print(f"{path.stat().st_size:>12,} bytes  {path.name}", flush=True)
    return path


def run(*line, **options):
    """Runs a program; where it fails, its output is printed and everything ends."""
    ran = subprocess.run([str(part) for part in line], capture_output=True, text=True, **options)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, line))} failed with code {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout
