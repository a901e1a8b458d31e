#!/usr/bin/env python3
"""Makes packages around a program that is built: python3 .github/packaging/pack.py PROGRAM FOLDER

    pack.py target/dist/memdir dist                    every package that suits the program's target
    pack.py target/dist/memdir dist wheel npm          only these
    pack.py PROGRAM dist --speaker OTHER               OTHER prints manual page and completions, where
                                                       PROGRAM does not run on this machine

All packages of a target hold the same program, byte for byte. `release.py` makes what needs all targets.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import archive
import bundle
import deb
import image
import npm
import rpm
import stage
import wheel
from common import target_of

# What makes a package, and for which targets.
KINDS = {
    "archive": (archive.make, lambda target: True),
    "small-archive": (archive.make_small, lambda target: target.system != "win32"),
    "wheel": (wheel.make, lambda target: True),
    "npm": (npm.make, lambda target: True),
    "deb": (deb.make, lambda target: target.debian),
    "rpm": (rpm.make, lambda target: target.rpm),
    "image": (image.make, lambda target: target.system == "linux"),
    "bundle": (bundle.make, lambda target: not target.musl),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--speaker", type=Path, help="a program of this version that runs here")
    args = parser.parse_args()
    unknown = set(args.kinds) - set(KINDS)
    if unknown:
        sys.exit(f"no such package: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    target = target_of(args.program)
    args.folder.mkdir(parents=True, exist_ok=True)
    folder = args.folder.resolve()
    with tempfile.TemporaryDirectory() as work:
        prefix = stage.stage(args.program, target, Path(work) / "prefix", (args.speaker or args.program).resolve())
        for kind in args.kinds or [kind for kind, (_, suits) in KINDS.items() if suits(target)]:
            make = KINDS[kind][0]
            make(prefix, target, folder, Path(work) / kind)


if __name__ == "__main__":
    main()
