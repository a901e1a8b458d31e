"""An MCP bundle (.mcpb), which Claude Desktop and others install by a click."""
import json

from common import DESCRIPTION, LICENSE, MANIFEST, NAME, REPOSITORY, TITLE, VERSION, write, zipped
from stage import DOCUMENTS


def manifest(target):
    program = f"server/{target.program}"
    said = {
        "manifest_version": "0.3",
        "name": NAME,
        "display_name": NAME,
        "version": VERSION,
        "description": TITLE,
        "long_description": f"{DESCRIPTION} One memory is one markdown file that you can read, edit and keep under "
        "version control. No service, no account, no model.",
        "author": {"name": "the memdir contributors"},
        "license": LICENSE,
        "keywords": MANIFEST["keywords"],
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {
                "command": f"${{__dirname}}/{program}",
                "args": ["mcp"],
                "env": {"MEMDIR_STORE": "${user_config.store}"},
            },
        },
        "tools": [
            {"name": "remember", "description": "Store a memory"},
            {"name": "think", "description": "Find memories by a question or by keywords"},
            {"name": "recall", "description": "Read whole memories"},
        ],
        "user_config": {
            "store": {
                "type": "directory",
                "title": "Folder of the memories",
                "description": "Each memory is a markdown file in it; it is made at the first memory.",
                "required": True,
                "default": "${HOME}/memories",
            }
        },
        "compatibility": {"platforms": [target.system]},
    }
    if REPOSITORY:
        said["repository"] = {"type": "git", "url": REPOSITORY}
    return json.dumps(said, indent=2) + "\n"


def make(prefix, target, folder, _work):
    documents = prefix / DOCUMENTS
    entries = [
        ("manifest.json", manifest(target).encode(), False),
        (f"server/{target.program}", (prefix / "bin" / target.program).read_bytes(), True),
        ("LICENSE", (documents / "LICENSE").read_bytes(), False),
        ("LICENCES.md", (documents / "LICENCES.md").read_bytes(), False),
    ]
    write(folder / f"{target.archive}.mcpb", zipped(entries))
