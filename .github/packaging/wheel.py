"""A Python wheel that holds the program and no Python: `uvx memdir mcp`, `pipx install memdir`.

What `maturin` makes with `bindings = "bin"`, around a program that is built already: maturin would
compile it once more, and wheel and archive would hold different bytes. The tag of the platform
follows from the program: the glibc that it asks for, or any libc where it is static.
"""
import base64
import hashlib

from common import DESCRIPTION, LICENSE, MANIFEST, NAME, REPOSITORY, ROOT, SERVER, VERSION, glibc_of, write, zipped
from stage import DOCUMENTS


def platform(target, program):
    cpu = {"x64": "x86_64", "arm64": "aarch64"}[target.cpu]
    if target.system == "darwin":
        return f"macosx_11_0_{'arm64' if target.cpu == 'arm64' else cpu}"
    if target.system == "win32":
        return "win_arm64" if target.cpu == "arm64" else "win_amd64"
    if target.musl:
        return f"manylinux_2_17_{cpu}.manylinux2014_{cpu}.musllinux_1_1_{cpu}"
    major, minor = glibc_of(program)
    return f"manylinux_{major}_{minor}_{cpu}"


def metadata():
    head = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {VERSION}",
        f"Summary: {DESCRIPTION}",
        f"License-Expression: {LICENSE}",
        "License-File: LICENSE",
        "License-File: LICENCES.md",
        f"Keywords: {','.join(MANIFEST['keywords'])}",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM",
    ]
    page = (ROOT / "README.md").read_text()
    if REPOSITORY:
        head.append(f"Project-URL: Source, {REPOSITORY}")
        page += f"\n<!-- mcp-name: {SERVER} -->\n"
    return "\n".join(head) + "\n\n" + page


def make(prefix, target, folder, _work):
    program = prefix / "bin" / target.program
    tag = platform(target, program)
    info, scripts = f"{NAME}-{VERSION}.dist-info", f"{NAME}-{VERSION}.data"
    tags = "".join(f"Tag: py3-none-{each}\n" for each in tag.split("."))
    entries = [
        (f"{scripts}/scripts/{target.program}", program.read_bytes(), True),
        (f"{info}/METADATA", metadata().encode(), False),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: memdir\nRoot-Is-Purelib: false\n{tags}".encode(), False),
        (f"{info}/licenses/LICENSE", (prefix / DOCUMENTS / "LICENSE").read_bytes(), False),
        (f"{info}/licenses/LICENCES.md", (prefix / DOCUMENTS / "LICENCES.md").read_bytes(), False),
        # The inventory of a wheel's parts (PEP 770).
        (f"{info}/sboms/{NAME}.cdx.json", (prefix / DOCUMENTS / f"{NAME}.cdx.json").read_bytes(), False),
    ]
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in entries]
    entries.append((record, ("".join(lines) + f"{record},,\n").encode(), False))
    write(folder / f"{NAME}-{VERSION}-py3-none-{tag}.whl", zipped(entries))


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
