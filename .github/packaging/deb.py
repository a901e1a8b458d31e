"""A Debian package, by `dpkg-deb`, of the program that is in the archives."""
import os
import time
from email.utils import formatdate
from pathlib import Path
from shutil import copytree, which

from common import LICENSE, NAME, REPOSITORY, VERSION, glibc_of, gzipped, run, time_of_commit, write

# Where Debian has them otherwise than others: share/… below the prefix.
MOVED = {f"zsh/site-functions/_{NAME}": f"zsh/vendor-completions/_{NAME}"}

CONTROL = """\
Package: {name}
Version: {version}-1
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= {glibc}), libgcc-s1
Recommends: git
Section: utils
Priority: optional
Homepage: {homepage}
Description: memory of AI agents as a folder of markdown files
 memdir stores the memories of AI agents as plain files: one memory is one
 markdown file, and the folder is the database. On the command line it stores,
 finds and changes memories; as an MCP server it gives agents the tools
 remember, think and recall. It needs no service, no account and no model.
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: {name}
Source: {homepage}

Files: *
Copyright: {year} the memdir contributors
License: {license}
 On Debian systems the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.

Files: usr/bin/{name}
Copyright: {year} the authors of the crates that are linked into it
License: various
 The texts are in /usr/share/doc/{name}/LICENCES.md.gz.
"""

CHANGELOG = """\
{name} ({version}-1) stable; urgency=medium

  * Release {version}; changelog.gz says what is new.

 -- {maintainer}  {date}
"""

# What lintian finds and is meant so: the tag, and why.
OVERRIDES = [
    ("hardening-no-pie", "build.rs says why; MEMDIR_PIE=1 builds it otherwise"),
    ("embedded-library", "libgit2, libyaml, SQLite and zlib are compiled in, of the versions that are tested"),
    ("initial-upload-closes-no-bugs", "not made for Debian's archive"),
]


def maintainer():
    """Who stands for the packages; a release sets it."""
    return os.environ.get("MEMDIR_MAINTAINER", "memdir maintainers <maintainers@memdir.invalid>")


def homepage():
    return REPOSITORY or "https://memdir.invalid"


def make(prefix, target, folder, work):
    if not which("dpkg-deb"):
        return print("skipped: .deb: there is no dpkg-deb")
    root = work / "root"
    copytree(prefix, root / "usr")
    share = root / "usr" / "share"
    for name, moved in MOVED.items():
        (share / moved).parent.mkdir(parents=True)
        (share / name).rename(share / moved)
        (share / name).parent.rmdir()
    documents = share / "doc" / NAME
    (documents / "LICENSE").unlink()
    values = {
        "name": NAME, "version": VERSION, "architecture": target.debian, "maintainer": maintainer(),
        "homepage": homepage(), "license": LICENSE,
        "year": time.gmtime(time_of_commit()).tm_year, "date": formatdate(time_of_commit()),
        "glibc": ".".join(map(str, glibc_of(root / "usr" / "bin" / NAME))),
    }
    (documents / "copyright").write_text(COPYRIGHT.format(**values))
    compressed(share / "man" / "man1" / f"{NAME}.1")
    compressed(documents / "LICENCES.md")
    compressed(documents / "CHANGELOG.md", documents / "changelog.gz")
    (documents / "changelog.Debian.gz").write_bytes(gzipped(CHANGELOG.format(**values).encode()))
    overrides = root / "usr" / "share" / "lintian" / "overrides" / NAME
    overrides.parent.mkdir(parents=True)
    overrides.write_text("".join(f"# {why}\n{NAME}: {tag}\n" for tag, why in OVERRIDES))

    control = root / "DEBIAN"
    control.mkdir()
    paths = sorted(path for path in root.rglob("*"))
    size = sum(path.stat().st_size for path in paths if path.is_file())
    (control / "control").write_text(CONTROL.format(size=-(-size // 1024), **values))
    sums = [
        f"{run('md5sum', path.relative_to(root), cwd=root).split()[0]}  {path.relative_to(root)}\n"
        for path in paths
        if path.is_file() and "DEBIAN" not in path.parts
    ]
    (control / "md5sums").write_text("".join(sums))
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (time_of_commit(), time_of_commit()))
    made = work / "made.deb"
    run(
        "dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, made,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(time_of_commit())},
    )
    write(folder / f"{NAME}_{VERSION}-1_{target.debian}.deb", made.read_bytes())


def compressed(path, to=None):
    path, to = Path(path), Path(to or f"{path}.gz")
    data = path.read_bytes()
    path.unlink()
    to.write_bytes(gzipped(data))
