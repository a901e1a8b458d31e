"""npm packages: `memdir`, which only starts the program, and one a platform, which only holds it.

npm installs those of its `optionalDependencies` whose `os`, `cpu` and `libc` are the machine's. No
package runs anything when it is installed.
"""
import json

from common import DESCRIPTION, HERE, LICENSE, MANIFEST, NAME, REPOSITORY, ROOT, SERVER, TARGETS, VERSION
from common import gzipped, tar, write
from stage import DOCUMENTS

# One a platform: the two builds for Windows have one name.
PLATFORMS = sorted({target.npm for target in TARGETS.values()})


def described(name, description, **more):
    package = {"name": name, "version": VERSION, "description": description, "license": LICENSE, **more}
    if REPOSITORY:
        package["repository"] = {"type": "git", "url": f"git+{REPOSITORY}.git"}
    return json.dumps(package, indent=2) + "\n"


def pack(tree, folder, name):
    """Writes a folder as `npm pack` would."""
    file = f"{name.lstrip('@').replace('/', '-')}-{VERSION}.tgz"
    write(folder / file, gzipped(tar(tree, "package")))


def make(prefix, target, folder, work):
    platform = work / "platform"
    (platform / "bin").mkdir(parents=True)
    program = platform / "bin" / target.program
    program.write_bytes((prefix / "bin" / target.program).read_bytes())
    program.chmod(0o755)
    for name in ["LICENSE", "LICENCES.md"]:
        (platform / name).write_bytes((prefix / DOCUMENTS / name).read_bytes())
    libc = {"libc": ["musl" if target.musl else "glibc"]} if target.system == "linux" else {}
    said = described(
        target.npm, f"The program of {NAME} for {target.triple}", os=[target.system], cpu=[target.cpu], **libc
    )
    (platform / "package.json").write_text(said)
    (platform / "README.md").write_text(f"The program of `{NAME}` for {target.triple}. Install `{NAME}`.\n")
    pack(platform, folder, target.npm)

    starter = work / "starter"
    (starter / "bin").mkdir(parents=True)
    (starter / "bin" / f"{NAME}.js").write_text((HERE / "npm" / f"{NAME}.js").read_text())
    (starter / "bin" / f"{NAME}.js").chmod(0o755)
    for name in ["README.md", "LICENSE"]:
        (starter / name).write_text((ROOT / name).read_text())
    more = {
        "keywords": MANIFEST["keywords"],
        "bin": {NAME: f"bin/{NAME}.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {name: VERSION for name in PLATFORMS},
    }
    if SERVER:
        more["mcpName"] = SERVER
    (starter / "package.json").write_text(described(NAME, DESCRIPTION, **more))
    pack(starter, folder, NAME)
