#!/usr/bin/env python3
"""Makes what a release needs beside its packages: python3 .github/packaging/release.py FOLDER [--tag TAG]

FOLDER holds the packages of all targets, as `pack.py` made them. This adds the scripts that install
them, the manifests of package managers with the sums of the archives, the entry for the registry of
MCP servers, the notes of the version from CHANGELOG.md, and, last, the checksums of all of it.

MEMDIR_REPOSITORY is the address of the repository, and MEMDIR_PUBLIC_KEY the public key of minisign.
"""
import argparse
import json
import os
import re
import sys
from pathlib import Path

from common import DESCRIPTION, HERE, LICENSE, MANIFEST, NAME, REPOSITORY, ROOT, SERVER, TARGETS, TITLE, VERSION
from common import sha256, write

DOWNLOADS = f"{REPOSITORY}/releases/download/v{VERSION}"


def notes(is_rehearsal):
    """The section of this version in the changelog; a rehearsal takes what is not released yet."""
    sections = re.split(r"^## \[(.+?)\].*$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    found = dict(zip(sections[1::2], sections[2::2]))
    name = "Unreleased" if is_rehearsal else VERSION
    if not found.get(name, "").strip():
        sys.exit(f"CHANGELOG.md has nothing under [{name}]")
    return found[name].strip() + "\n"


def filled(name, values):
    """A template in which {{name}} stands for a value. A part between {{?name}} and {{/}} stays where there is one."""
    text = (HERE / "templates" / name).read_text()
    text = re.sub(r"\{\{\?(\w+)\}\}\n(.*?)\{\{/\}\}\n", lambda part: part[2] if part[1] in values else "", text, flags=re.S)
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], text)


def values(folder):
    """What the templates may name: the sums of those archives that are there, as x86_64_apple_darwin and so on."""
    found = {
        "name": NAME, "version": VERSION, "license": LICENSE, "description": DESCRIPTION, "title": TITLE,
        "repository": REPOSITORY, "downloads": DOWNLOADS, "owner": REPOSITORY.split("/")[3],
    }
    for target in TARGETS.values():
        for ending in ["tar.gz", "zip"]:
            archive = folder / f"{target.archive}.{ending}"
            if archive.exists():
                found[target.triple.replace("-", "_")] = sha256(archive)
    return found


def scoop(known):
    """The manifest for Scoop."""
    triple = "x86_64-pc-windows-msvc"
    return {
        "version": VERSION,
        "description": DESCRIPTION,
        "homepage": REPOSITORY,
        "license": LICENSE,
        "architecture": {
            "64bit": {
                "url": f"{DOWNLOADS}/{TARGETS[triple].archive}.zip",
                "hash": known[triple.replace("-", "_")],
                "extract_dir": TARGETS[triple].archive,
            }
        },
        "bin": f"bin\\{NAME}.exe",
        "checkver": {"github": REPOSITORY},
        "autoupdate": {
            "architecture": {
                "64bit": {
                    "url": f"{REPOSITORY}/releases/download/v$version/{NAME}-$version-{triple}.zip",
                    "extract_dir": f"{NAME}-$version-{triple}",
                }
            },
            "hash": {"url": f"{REPOSITORY}/releases/download/v$version/{NAME}-$version.sha256"},
        },
    }


def server(folder):
    """The entry for the registry of MCP servers; `server.schema.json` says what it may hold."""
    mcp = {"packageArguments": [{"type": "positional", "value": "mcp"}], "transport": {"type": "stdio"}}
    packages = []
    if list(folder.glob("*.whl")):
        packages.append({"registryType": "pypi", "identifier": NAME, "version": VERSION, "runtimeHint": "uvx", **mcp})
    if (folder / f"{NAME}-{VERSION}.tgz").exists():
        packages.append({"registryType": "npm", "identifier": NAME, "version": VERSION, "runtimeHint": "npx", **mcp})
    if list(folder.glob("*.oci.tar")):
        image = f"ghcr.io/{SERVER.split('.')[2].lower()}:{VERSION}"
        packages.append({"registryType": "oci", "identifier": image, "transport": {"type": "stdio"}})
    for bundle in sorted(folder.glob("*.mcpb")):
        address, sum_of_it = f"{DOWNLOADS}/{bundle.name}", sha256(bundle)
        packages.append(
            {"registryType": "mcpb", "identifier": address, "fileSha256": sum_of_it, "transport": {"type": "stdio"}}
        )
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": SERVER,
        "title": NAME,
        "description": TITLE,
        "version": VERSION,
        "repository": {"url": REPOSITORY, "source": "github"},
        "packages": packages,
    }


def installers(folder):
    """The two scripts, which know their release."""
    said = {"version": VERSION, "from": DOWNLOADS, "key": os.environ.get("MEMDIR_PUBLIC_KEY", "")}
    if not said["key"]:
        print("note: without MEMDIR_PUBLIC_KEY the scripts check sums only")
    for name, mark in [("install.sh", ""), ("install.ps1", "$")]:
        text = (HERE / name).read_text()
        for variable, value in said.items():
            if mark:
                variable = {"version": "Version", "from": "From", "key": "Key"}[variable]
                line, filled_in = f'${variable} = ""', f'${variable} = "{value}"'
            else:
                line, filled_in = f'{variable}=""', f'{variable}="{value}"'
            if text.count(f"\n{line}\n") != 1:
                sys.exit(f"{name} has not one line {line}")
            text = text.replace(f"\n{line}\n", f"\n{filled_in}\n")
        write(folder / name, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag", help="the tag of the release; without it this is a rehearsal")
    args = parser.parse_args()
    folder = args.folder
    if not REPOSITORY:
        sys.exit("MEMDIR_REPOSITORY is not set, and Cargo.toml names no repository")
    if args.tag and args.tag != f"v{VERSION}":
        sys.exit(f"the tag is {args.tag}, and Cargo.toml says {VERSION}")
    if "repository" not in MANIFEST:
        print("note: Cargo.toml names no repository, so `cargo binstall` does not find the archives")
    known = values(folder)
    missing = [triple for triple in TARGETS if triple.replace("-", "_") not in known]
    if missing:
        print(f"note: no archive for {', '.join(missing)}")

    write(folder / "notes.md", notes(not args.tag))
    installers(folder)
    write(folder / f"{NAME}.rb", filled("homebrew.rb", known))
    if "x86_64_unknown_linux_gnu" in known:
        write(folder / "PKGBUILD", filled("PKGBUILD", known))
    if "x86_64_pc_windows_msvc" in known:
        write(folder / f"{NAME}.scoop.json", json.dumps(scoop(known), indent=4) + "\n")
        for kind in ["installer", "locale.en-US", "version"]:
            end = "" if kind == "version" else f".{kind}"
            write(folder / f"Memdir.Memdir{end}.yaml", filled(f"winget.{kind}.yaml", known))
    write(folder / "server.json", json.dumps(server(folder), indent=2) + "\n")

    sums = folder / f"{NAME}-{VERSION}.sha256"
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(sums.name))
    write(sums, "".join(f"{sha256(path)}  {path.name}\n" for path in files))


if __name__ == "__main__":
    main()
