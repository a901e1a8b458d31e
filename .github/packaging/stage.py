"""The tree that every package holds: program, manual page, completions, documents, licences."""
import sys
from pathlib import Path
from shutil import copyfile

from common import HERE, NAME, ROOT, VERSION, run

# Where shells look for completions below a prefix.
COMPLETIONS = {
    "bash": f"share/bash-completion/completions/{NAME}",
    "zsh": f"share/zsh/site-functions/_{NAME}",
    "fish": f"share/fish/vendor_completions.d/{NAME}.fish",
    "elvish": f"share/doc/{NAME}/completions/{NAME}.elv",
    "powershell": f"share/doc/{NAME}/completions/{NAME}.ps1",
}
DOCUMENTS = f"share/doc/{NAME}"


def stage(program, target, folder, speaker):
    """Fills `folder` as a prefix: `bin`, `share/man`, completions, `share/doc/memdir`.

    `speaker` is the program that prints manual page and completions: `program` itself, or one of this
    machine where `program` is built for another.
    """
    folder = Path(folder)
    said = run(speaker, "--version").strip()
    if said != f"{NAME} {VERSION}":
        sys.exit(f"{speaker} is {said}, and Cargo.toml says {VERSION}")

    def put(name, data, mode=0o644):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)

    put(f"bin/{target.program}", Path(program).read_bytes(), 0o755)
    put(f"share/man/man1/{NAME}.1", run(speaker, "man"))
    for shell, name in COMPLETIONS.items():
        put(name, run(speaker, "completions", shell))
    for name in ["README.md", "CHANGELOG.md", "LICENSE"]:
        copyfile(ROOT / name, folder / DOCUMENTS / name)
    put(f"{DOCUMENTS}/LICENCES.md", run(sys.executable, HERE / "licences.py", target.triple))
    put(f"{DOCUMENTS}/{NAME}.cdx.json", run(sys.executable, ROOT / ".ci" / "bill.py", target.triple))
    return folder
