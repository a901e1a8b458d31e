#!/usr/bin/env python3
"""Prints the licences of all that is in the program: python3 .github/packaging/licences.py TARGET

One heading a text, below it the crates whose text it is. The texts are those that the crates were
published with; the folders of the crates must be there, as they are after a build.
"""
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from common import ROOT

# Names of files that hold a licence or a notice.
IS_LICENCE = re.compile(r"^(licen[cs]e|copying|notice|unlicense|copyright)([-_.].*)?$", re.I)


def cargo(*line):
    line = [os.environ.get("CARGO", "cargo"), *line, "--locked", "--offline"]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def crates(target):
    """Name, version, licence and folder of each crate of a registry that is linked into the program."""
    used = cargo("tree", "--edges", "normal", "--target", target, "--prefix", "none", "--format", "{p}")
    used = {tuple(row.split()[:2]) for row in used.splitlines() if row.strip()}
    known = cargo("metadata", "--filter-platform", target, "--format-version", "1")
    for package in json.loads(known)["packages"]:
        if package["source"] and (package["name"], f"v{package['version']}") in used:
            yield package["name"], package["version"], package["license"], Path(package["manifest_path"]).parent


def texts(folder):
    """The licence texts in a crate's folder, also those of the C code that lies deeper in it."""
    for path in sorted(folder.rglob("*")):
        if IS_LICENCE.match(path.name) and path.is_file():
            yield path.read_text(errors="replace").strip().replace("\r\n", "\n")


def main():
    # Texts that differ in the width of their lines are one.
    whose, text_of, without = {}, {}, []
    for name, version, licence, folder in sorted(crates(sys.argv[1])):
        found = list(texts(folder))
        for text in found:
            key = " ".join(text.split())
            text_of.setdefault(key, text)
            whose.setdefault(key, []).append(f"{name} {version} ({licence})")
        if not found:
            without.append(f"{name} {version}: {licence}")
    print("# Licences of what is in memdir\n")
    print("memdir itself: Apache-2.0, see LICENSE. The vectors of words and the rules for credentials come last.\n")
    if without:
        print("Crates that were published without a text, with the licence that they name:\n")
        print("".join(f"- {line}\n" for line in without))
    for number, (key, names) in enumerate(sorted(whose.items(), key=lambda each: each[1]), 1):
        print(f"## Text {number}\n")
        print("".join(f"- {line}\n" for line in dict.fromkeys(names)))
        print("```text")
        print(text_of[key].replace("```", "'''"))
        print("```\n")
    print((ROOT / "src/words/vectors/LICENSES.md").read_text())
    print("# Rules for credentials\n\n```text")
    rules = (ROOT / "src/secrets/published/gitleaks.txt").read_text().splitlines()
    print("\n".join(line[1:].strip() for line in itertools.takewhile(lambda line: line.startswith("#"), rules)))
    print("```")


if __name__ == "__main__":
    sys.exit(main())
