"""A container image, as an OCI archive: the program, nothing else to run, and a volume for the store.

A static program is alone in it. One for glibc takes along the libraries that it asks for, of this
machine; a release uses the static one. The check of health stands where Docker reads it; OCI has no
field for it.
"""
import datetime
import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from shutil import copyfile

from common import DESCRIPTION, LICENSE, NAME, REPOSITORY, SERVER, VERSION, gzipped, run, tar, time_of_commit, write
from stage import DOCUMENTS

NOBODY = "65534:65534"


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data)


def libraries(program):
    """The files that the system's loader takes for a program, the loader among them."""
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def layer(prefix, target, root):
    program = prefix / "bin" / NAME
    (root / "usr" / "bin").mkdir(parents=True)
    copyfile(program, root / "usr" / "bin" / NAME)
    (root / "usr" / "bin" / NAME).chmod(0o755)
    if not target.musl:
        for library in libraries(program):
            place = root / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            copyfile(Path(library).resolve(), place)
            place.chmod(0o755)
    put(root / "etc" / "passwd", "nobody:x:65534:65534:nobody:/data:/\n")
    put(root / "etc" / "group", "nogroup:x:65534:\n")
    for name in ["LICENSE", "LICENCES.md"]:
        put(root / "usr" / DOCUMENTS / name, (prefix / DOCUMENTS / name).read_text())


def labels():
    said = {
        "org.opencontainers.image.title": NAME,
        "org.opencontainers.image.description": DESCRIPTION,
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": LICENSE,
    }
    if REPOSITORY:
        said["org.opencontainers.image.source"] = REPOSITORY
        said["io.modelcontextprotocol.server.name"] = SERVER
    return said


def make(prefix, target, folder, work):
    root = work / "root"
    layer(prefix, target, root)
    data = owned(tar(root))
    config = {
        "created": datetime.datetime.fromtimestamp(time_of_commit(), datetime.timezone.utc).isoformat(),
        "architecture": target.debian or {"x64": "amd64", "arm64": "arm64"}[target.cpu],
        "os": "linux",
        "config": {
            "User": NOBODY,
            "Env": ["HOME=/data", "MEMDIR_STORE=/data/memories", "PATH=/usr/bin"],
            "Entrypoint": [f"/usr/bin/{NAME}"],
            "Cmd": ["mcp"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "ExposedPorts": {"9077/tcp": {}},
            "Healthcheck": {"Test": ["CMD", f"/usr/bin/{NAME}", "status"], "Interval": 60 * 10**9},
            "Labels": labels(),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}"]},
        "history": [{"created_by": f"{NAME} {VERSION}"}],
    }
    layout = work / "layout"
    kind = "application/vnd.oci.image"
    packed = blob(layout, gzipped(data), f"{kind}.layer.v1.tar+gzip")
    described = blob(layout, encoded(config), f"{kind}.config.v1+json")
    manifest = {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": described, "layers": [packed]}
    entry = blob(layout, encoded(manifest), f"{kind}.manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": VERSION}
    entry["platform"] = {"architecture": config["architecture"], "os": "linux"}
    put(layout / "oci-layout", '{"imageLayoutVersion": "1.0.0"}')
    put(layout / "index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    write(folder / f"{target.archive}.oci.tar", tar(layout))


def owned(data):
    """Adds the folder of the volume, which belongs to who runs the program."""
    made = io.BytesIO(data)
    with tarfile.open(fileobj=made, mode="a", format=tarfile.GNU_FORMAT) as archive:
        # An SQLite or ONNX library may want a folder for temporary files.
        for name, mode, owner in [("data", 0o700, 65534), ("tmp", 0o1777, 0)]:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.uid, info.gid, info.mtime = tarfile.DIRTYPE, mode, owner, owner, time_of_commit()
            archive.addfile(info)
    return made.getvalue()


def encoded(value):
    return json.dumps(value, sort_keys=True).encode()


def blob(layout, data, kind):
    digest = hashlib.sha256(data).hexdigest()
    path = layout / "blobs" / "sha256" / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}
