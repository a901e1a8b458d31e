"""An RPM package, by `rpmbuild`, of the program that is in the archives."""
import os
import time
from shutil import copytree, which

from common import HERE, LICENSE, NAME, VERSION, run, time_of_commit, write
from deb import homepage, maintainer


def make(prefix, target, folder, work):
    if not which("rpmbuild"):
        return print("skipped: .rpm: there is no rpmbuild")
    root = work / "root" / "usr"
    copytree(prefix, root)
    top = work / "top"
    top.mkdir()
    spec = (HERE / "templates" / f"{NAME}.spec").read_text()
    values = {
        "name": NAME, "version": VERSION, "license": LICENSE, "homepage": homepage(),
        "maintainer": maintainer(), "prefix": root,
        "date": time.strftime("%a %b %d %Y", time.gmtime(time_of_commit())),
    }
    (top / f"{NAME}.spec").write_text(spec.format(**values))
    settings = {
        "_topdir": top,
        "_rpmdir": top,
        # So that two machines and two times give the same bytes.
        "_buildhost": "memdir",
        "use_source_date_epoch_as_buildtime": 1,
        "clamp_mtime_to_source_date_epoch": 1,
        "_binary_payload": "w9.xzdio",
    }
    defines = [part for name, value in settings.items() for part in ("--define", f"{name} {value}")]
    run(
        "rpmbuild", "-bb", "--target", target.rpm, *defines, top / f"{NAME}.spec",
        env={**os.environ, "SOURCE_DATE_EPOCH": str(time_of_commit())},
    )
    [made] = top.rglob("*.rpm")
    write(folder / made.name, made.read_bytes())
