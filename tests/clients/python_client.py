"""Drives `memdir mcp` and `memdir serve` with the Python MCP client: python_client.py MEMDIR FOLDER

The client validates every structured reply against the tool's output schema, which is what this
check is for: a server that passes its own tests may still be unusable.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from serving import Served


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


async def drive(session):
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


def store_in(folder, name):
    store = os.path.join(folder, name)
    os.makedirs(os.path.join(store, "files"))
    return store


async def by_stdio(program, store, arguments):
    server = StdioServerParameters(
        command=program, args=["--store", store, "mcp", *arguments], env={"PATH": os.environ["PATH"], "HOME": store}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await drive(session)


async def main(program, folder):
    await by_stdio(program, store_in(folder, "stdio"), [])
    print("python client: initialize, tools/list and all three tools are as they should be")

    bridged = store_in(folder, "bridged")
    with Served(program, bridged):
        await by_stdio(program, bridged, ["--connect"])
    print("python client: the same by a bridge to a server")

    with Served(program, store_in(folder, "http")) as served:
        async with (
            create_mcp_http_client(headers=served.headers) as web,
            streamable_http_client(served.url, http_client=web) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await drive(session)
    print("python client: the same over HTTP, with a token")


asyncio.run(main(sys.argv[1], sys.argv[2]))
