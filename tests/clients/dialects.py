"""Drives every tool set with the Python MCP client: dialects.py MEMDIR FOLDER

Runs what the guides of the four tool sets tell an agent to do, once as a client of the revisions
with `initialize` and once as one of the revision without, over `memdir mcp` and over `memdir serve`,
and then all tool sets at once on one store. Wants a client that speaks both.
"""

import asyncio
import json
import os
import re
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError
from mcp.shared._httpx_utils import create_mcp_http_client

from serving import Served


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"failed: {what}: {found!r} is not {expected!r}")


def holds(what, found, part):
    if part not in found:
        sys.exit(f"failed: {what}: {found!r} does not hold {part!r}")


class Agent:
    """A client of one dialect."""

    def __init__(self, program, store, dialect, mode, *more):
        command = ["--store", store, "mcp", "--dialect", dialect, *more]
        env = {"PATH": os.environ["PATH"], "HOME": store}
        self.client = Client(StdioServerParameters(command=program, args=command, env=env), mode=mode)

    @classmethod
    def over_http(cls, served, web, mode):
        agent = cls.__new__(cls)
        agent.client = Client(streamable_http_client(served.url, http_client=web), mode=mode)
        return agent

    async def __aenter__(self):
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self.client.__aexit__(*error)

    async def text(self, tool, arguments=None, fails=False):
        result = await self.client.call_tool(tool, arguments or {})
        equal(f"{tool} {arguments} fails ({result.content})", bool(result.is_error), fails)
        return result.content[0].text

    async def call(self, tool, arguments=None, fails=False):
        return json.loads(await self.text(tool, arguments, fails))


async def core(agent):
    stored = await agent.call(
        "remember",
        {"agent": "python", "user": "mira", "topics": ["atlas", "deploy"], "content": "Atlas is deployed on Tuesdays."},
    )
    memory_id = stored["memory_id"]
    hits = await agent.call("think", {"query": "when is atlas deployed?"})
    equal("the hit", [hit["id"] for hit in hits], [memory_id])
    found = await agent.call("recall", {"memory_ids": [memory_id]})
    equal("the content", found[0]["content"], "Atlas is deployed on Tuesdays.")
    resources = (await agent.client.list_resources()).resources
    equal("the resources", [str(one.uri) for one in resources], ["memory://recent", "memory://topics"])
    read = await agent.client.read_resource(f"memory://{memory_id}")
    holds("the file", read.contents[0].text, "Atlas is deployed on Tuesdays.")
    prompts = (await agent.client.list_prompts()).prompts
    equal("the prompts", [one.name for one in prompts], ["recall-context", "summarize-session", "review-memories", "review-proposals"])
    prompt = await agent.client.get_prompt("recall-context", {"topic": "atlas"})
    holds("the prompt", prompt.messages[0].content.text, "Atlas is deployed on Tuesdays.")


async def loci(agent):
    """The guidance for agents: store by type, scan summaries, hydrate, relate, forget."""
    person = await agent.call(
        "store_memory",
        {
            "content": "John Smith is the engineering manager on the platform team",
            "type": "entity",
            "metadata": {"entity_type": "person", "name": "John Smith", "aliases": ["John", "JS"]},
        },
    )
    equal("what was stored", (person["type"], person["deduplicated"], person["superseded"]), ("entity", False, None))
    company = await agent.call(
        "store_memory",
        {"content": "Acme Corp makes anvils", "type": "entity", "metadata": {"entity_type": "company", "name": "Acme Corp"}},
    )
    relation = {"subject_id": person["id"], "predicate": "works_at", "object_id": company["id"]}
    await agent.call("store_relation", relation)
    equal("again", (await agent.call("store_relation", relation))["deduplicated"], True)
    preference = await agent.call(
        "store_memory",
        {
            "content": "User prefers Rust over Go for systems programming",
            "type": "semantic",
            "metadata": {"category": "preference", "subject": "programming_language"},
        },
    )
    summaries = await agent.call("recall_memory", {"query": "programming preference", "summary_only": True, "max_results": 10})
    equal("the first summary", summaries["results"][0]["id"], preference["id"])
    equal("its fields", sorted(summaries["results"][0]), ["id", "preview", "score", "type"])
    whole = await agent.call("recall_memory", {"ids": [preference["id"], person["id"]]})
    equal("the order asked", [one["id"] for one in whole["results"]], [preference["id"], person["id"]])
    seen = await agent.call("memory_inspect", {"memory_id": person["id"]})
    equal("the relation", seen["relations"][0]["predicate"], "works_at")
    equal("its object", seen["relations"][0]["object"]["id"], company["id"])
    newer = await agent.call(
        "store_memory",
        {"content": "User prefers Zig over Rust since March", "type": "semantic", "supersedes": preference["id"]},
    )
    equal("what it replaced", newer["superseded"], preference["id"])
    await agent.call("store_memory", {"content": "Session summary: languages were compared.", "type": "episodic"})
    await agent.call("forget_memory", {"memory_id": company["id"], "reason": "It was sold"})
    stats = await agent.call("memory_stats")
    equal("by type", stats["by_type"], {"episodic": 1, "semantic": 1, "procedural": 0, "entity": 1})
    await agent.call("recall_memory", {}, fails=True)


def rows(toon):
    """The rows of a TOON text, as its specification says to read it."""
    lines = toon.split("\n")
    if not re.match(r"\w+\[", lines[0]):
        lines = lines[1:]
    names = re.fullmatch(r"\w+\[(.*)\]:", lines[0])[1].split("|")
    values = [re.split(r"(?<!\\)\|", line) for line in lines[1:] if line]
    return [dict(zip(names, (value.replace("\\|", "|").replace("\\n", "\n") for value in row))) for row in values]


async def ai_memory(agent):
    await agent.text("memory_session_start", {"namespace": "infra"})
    stored = await agent.call(
        "memory_store",
        {
            "title": "PostgreSQL 16 config",
            "content": "shared_buffers is 4 GB.",
            "namespace": "infra",
            "tags": ["postgres", "database"],
            "priority": 9,
            "tier": "long",
        },
    )
    equal("what was stored", (stored["tier"], stored["namespace"], stored["title"]), ("long", "infra", "PostgreSQL 16 config"))
    other = await agent.call("memory_store", {"title": "Redis cache", "content": "Redis runs on A|B.", "namespace": "infra"})
    found = rows(await agent.text("memory_recall", {"context": "postgresql config", "namespace": "infra"}))
    equal("the row", (found[0]["id"], found[0]["tags"]), (stored["id"], "postgres,database"))
    as_json = await agent.call("memory_search", {"query": "shared_buffers", "format": "json"})
    equal("the result", [one["id"] for one in as_json["results"]], [stored["id"]])
    await agent.call("memory_promote", {"id": other["id"]})
    await agent.call("memory_link", {"source_id": stored["id"], "target_id": other["id"], "relation": "related_to"})
    links = (await agent.call("memory_get_links", {"id": other["id"]}))["links"]
    equal("the link", (links[0]["source_id"], links[0]["relation"]), (stored["id"], "related_to"))
    await agent.call("memory_namespace_set_standard", {"namespace": "infra", "id": stored["id"]})
    begun = rows(await agent.text("memory_session_start", {"namespace": "infra"}))
    equal("the standard comes first", begun[0]["id"], stored["id"])
    made = await agent.call(
        "memory_consolidate", {"ids": [stored["id"], other["id"]], "title": "Data stores", "summary": "Postgres and Redis."}
    )
    equal("how many", made["consolidated"], 2)
    archived = await agent.call("memory_archive_list", {})
    equal("the archive", sorted(one["id"] for one in archived["archived"]), sorted([stored["id"], other["id"]]))
    wrong = await agent.call("memory_store", {"title": "x" * 513, "content": "c"}, fails=True)
    equal("its code", wrong["code"], "VALIDATION_FAILED")
    prompts = (await agent.client.list_prompts()).prompts
    equal("the prompts", [one.name for one in prompts], ["recall-first", "memory-workflow"])
    await agent.client.get_prompt("recall-first", {"namespace": "infra"})


async def i_am(agent):
    begun = await agent.call("session_start")
    equal("the first session", begun["session_count"], 1)
    added = await agent.call(
        "remember",
        {"category": "user", "key": "editor", "value": "Uses Helix", "tags": ["tools", "editor"], "source_type": "user-stated"},
    )
    equal("what was done", added["action"], "ADD")
    await agent.call("remember", {"category": "tools", "key": "shell", "value": "fish with vi keys", "importance": 8})
    updated = await agent.call("remember", {"category": "user", "key": "editor", "value": "Uses Zed now"})
    equal("the same key", (updated["action"], updated["entry"]["value"]), ("UPDATE", "Uses Zed now"))
    found = await agent.call("search", {"query": "vi fish"})
    equal("the key found", found["results"][0]["key"], "shell")
    await agent.call(
        "add_link",
        {
            "source_category": "user",
            "source_key": "editor",
            "target_category": "tools",
            "target_key": "shell",
            "relation": "depends-on",
        },
    )
    linked = await agent.call("connections", {"category": "tools", "key": "shell"})
    equal("who links here", linked["incoming"][0]["source"], "user.editor")
    exported = await agent.call("export_memories", {"output_format": "json"})
    equal("the export", exported["memories"]["tools"]["shell"]["importance"], 8)
    for tool in ["status", "about_me", "about_us", "reflect"]:
        await agent.call(tool)
    schema = await agent.client.read_resource("memory://schema")
    holds("the schema", schema.contents[0].text, "relationships")
    await agent.call("forget", {"category": "user", "key": "editor"})
    await agent.call("recall", {"category": "user", "key": "editor"}, fails=True)


async def listening(agent):
    """A client is told when what it follows has changed."""
    try:
        async with agent.client.listen(resource_subscriptions=["memory://recent"]) as subscription:
            await agent.call("remember", {"agent": "a", "user": "u", "topics": ["t"], "content": "News."})
            async for event in subscription:
                holds("the news", str(event), "memory://recent")
                return
    except ListenNotSupportedError:
        equal("who cannot listen", agent.client.protocol_version < "2026", True)


async def together(program, store):
    """Agents of different tool sets see each other's memories in their own words."""
    async with (
        Agent(program, store, "loci", "legacy") as one,
        Agent(program, store, "ai-memory", "auto") as two,
        Agent(program, store, "i-am", "auto") as three,
        Agent(program, store, "core", "legacy") as four,
    ):
        stored = await one.call("store_memory", {"content": "The herons nest behind the mill", "type": "semantic"})
        seen = await two.call("memory_get", {"id": stored["id"]})
        equal("its title", seen["memory"]["title"], "The herons nest behind the mill")
        found = await three.call("search", {"query": "herons"})
        equal("its category", found["results"][0]["category"], "learnings")
        recalled = await four.call("recall", {"memory_ids": [stored["id"]]})
        equal("its kind", recalled[0]["kind"], "semantic")
        entry = await three.call("remember", {"category": "project", "key": "mill", "value": "The mill is rebuilt in spring"})
        equal("what was done", entry["action"], "ADD")
        hits = await one.call("recall_memory", {"query": "mill rebuilt spring"})
        equal("its type", hits["results"][0]["type"], "semantic")
        holds("its content", hits["results"][0]["content"], "rebuilt in spring")
        mine = await two.call("memory_store", {"title": "Ferry", "content": "The ferry leaves at nine.", "tags": ["travel"]})
        hits = await four.call("think", {"query": "when does the ferry leave?"})
        equal("found by the usual set", hits[0]["id"], mine["id"])


async def over_http(program, folder, flows, mode):
    for dialect, flow in flows.items():
        store = os.path.join(folder, f"{dialect}-{mode}-http")
        os.makedirs(os.path.join(store, "files"))
        with Served(program, store, "--dialect", dialect) as served:
            async with create_mcp_http_client(headers=served.headers) as web:
                async with Agent.over_http(served, web, mode) as agent:
                    await flow(agent)
                    if dialect == "core":
                        await listening(agent)
                    version = agent.client.protocol_version
    print(f"dialects: all four work over HTTP for a client that connects by {mode!r} ({version})")


async def main(program, folder):
    flows = {"core": core, "loci": loci, "ai-memory": ai_memory, "i-am": i_am}
    for mode in ["legacy", "2026-07-28", "auto"]:
        for dialect, flow in flows.items():
            store = os.path.join(folder, f"{dialect}-{mode}")
            os.makedirs(os.path.join(store, "files"))
            async with Agent(program, store, dialect, mode) as agent:
                await flow(agent)
                if dialect == "core":
                    await listening(agent)
                version = agent.client.protocol_version
        print(f"dialects: all four work for a client that connects by {mode!r} ({version})")
        await over_http(program, folder, flows, mode)
    store = os.path.join(folder, "together")
    os.makedirs(os.path.join(store, "files"))
    await together(program, store)
    print("dialects: four tool sets at once on one store see each other's memories")


asyncio.run(main(sys.argv[1], sys.argv[2]))
