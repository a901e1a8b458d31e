"""Archives to unpack by hand or by `install.sh` and `install.ps1`: .tar.gz and .tar.xz, for Windows .zip.

In them is one folder, called as the archive, with what belongs below a prefix such as `~/.local`.
"""
from common import files_below, gzipped, is_program, tar, write, xz, zipped


def make(prefix, target, folder, _work):
    if target.system != "win32":
        write(folder / f"{target.archive}.tar.gz", gzipped(tar(prefix, target.archive)))
        return
    entries = [
        (f"{target.archive}/{path.relative_to(prefix)}", path.read_bytes(), is_program(path))
        for path in files_below(prefix)
    ]
    write(folder / f"{target.archive}.zip", zipped(entries))


def make_small(prefix, target, folder, _work):
    """A fifth smaller, and not for machines without an `xz`."""
    write(folder / f"{target.archive}.tar.xz", xz(tar(prefix, target.archive)))
