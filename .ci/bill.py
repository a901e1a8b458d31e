#!/usr/bin/env python3
"""Prints what the program is built of, as CycloneDX 1.5: python3 .ci/bill.py [TARGET]

Every crate that goes into the program on this system or the target, or into building it, by name,
version and checksum, as `cargo tree` and `Cargo.lock` say. Needs no network once the crates are there.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def locked():
    """(name, version) → checksum, or None for what is no crate of a registry."""
    with open(os.path.join(ROOT, "Cargo.lock")) as file:
        blocks = file.read().split("[[package]]")[1:]
    found = {}
    for block in blocks:
        fields = dict(re.findall(r'^(\w+) = "(.*)"$', block, re.M))
        found[fields["name"], fields["version"]] = fields.get("checksum")
    return found


def used():
    """(name, version) of the crates that are built for the program, itself first."""
    line = ["tree", "--locked", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]
    line += ["--target", sys.argv[1]] if len(sys.argv) > 1 else []
    tree = subprocess.run([os.environ.get("CARGO", "cargo")] + line, cwd=ROOT, capture_output=True, text=True)
    if tree.returncode != 0:
        sys.exit(f"cannot list the crates: {tree.stderr.strip()}")
    crates = dict.fromkeys(tuple(each.split()[:2]) for each in tree.stdout.splitlines() if each.strip())
    return [(name, version.removeprefix("v")) for name, version in crates]


def component(name, version, checksum):
    made = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


def main():
    checksums = locked()
    (name, version), *crates = used()
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(name, version, None), "type": "application"}},
        "components": [component(*crate, checksums[crate]) for crate in sorted(crates)],
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


main()
