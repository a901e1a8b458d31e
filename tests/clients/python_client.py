"""Drives `memdir mcp` with the Python MCP client: python_client.py MEMDIR STORE [ARGUMENT…]

Further arguments are those of `memdir mcp`: with `--connect` a server of the store has to run.

The client validates every structured reply against the tool's output schema, which is what this
check is for: a server that passes its own tests may still be unusable.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"failed: {what}: {found!r} is not {expected!r}")


async def call(session, tool, arguments, fails=False):
    """Calls a tool; returns its text as JSON, which its structured content must equal."""
    result = await session.call_tool(tool, arguments)
    equal(f"{tool} fails", bool(result.isError), fails)
    equal(f"{tool} has one text", [c.type for c in result.content], ["text"])
    said = json.loads(result.content[0].text)
    structured = result.structuredContent
    equal(f"{tool} says the same twice", structured["results"] if isinstance(said, list) else structured, said)
    return said


async def main(program, store, arguments):
    server = StdioServerParameters(
        command=program, args=["--store", store, "mcp", *arguments], env={"PATH": os.environ["PATH"], "HOME": store}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        equal("the server's name", opened.serverInfo.name, "AI Agnostic Memory Layer")
        tools = (await session.list_tools()).tools
        equal("the tools", [tool.name for tool in tools], ["remember", "think", "recall"])
        equal("every output is an object", {tool.outputSchema["type"] for tool in tools}, {"object"})

        memory = {"agent": "python", "user": "mira", "topics": ["atlas", "deploy"], "content": "Deploys go out on Tuesdays. 日本語 😀"}
        stored = await call(session, "remember", memory)
        memory_id = stored["memory_id"]
        equal("the message", stored["message"], f"Memory stored successfully with ID: {memory_id}")

        hits = await call(session, "think", {"keywords": ["deploy", "atlas"]})
        equal("the ids found", [hit["id"] for hit in hits], [memory_id])
        # Topics 2 + 2, `Deploys` 1, and the two topics as whole words.
        equal("the score", hits[0]["relevance_score"], 7)
        equal("the keywords", hits[0]["matching_keywords"], ["deploy", "atlas"])
        hits = await call(session, "think", {"query": "when do we deploy?"})
        equal("the ids found by a question", [hit["id"] for hit in hits], [memory_id])

        recalled = await call(session, "recall", {"memory_ids": [memory_id, "00000000"]})
        equal("the fields", {key: recalled[0][key] for key in memory}, memory)
        missing = {"id": "00000000", "error": "Memory with ID 00000000 not found"}
        equal("the unknown id", recalled[1], missing)

        await call(session, "think", {"keyword": "x"}, fails=True)
        await call(session, "recall", {}, fails=True)
        await call(session, "remember", {"content": "x"}, fails=True)
        await session.send_ping()
    print("python client: initialize, tools/list and all three tools are as they should be")


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
