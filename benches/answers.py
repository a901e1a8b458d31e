#!/usr/bin/env python3
"""Asks two programs the same questions over MCP and compares their answers byte for byte.

usage: benches/answers.py OLD NEW [--data FOLDER] [--count N]

For a change that must not change an answer: OLD and NEW are builds of memdir from before and after it. Two stores are
asked: 3,000 notes of benches/notes.py, and, where FOLDER (corpus.jsonl, queries.jsonl) is given, its texts as memories;
without it a second set of notes. Each question goes to both programs, one after the other, on copies of one store: half
as a `query`, a quarter as `keywords`, and a quarter as `query` whose first hit is then recalled. N questions a store
(450). Prints how many answers differ, with the first three; ends with 1 if one does.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

from mcp_server import Server
from notes import make_notes, questions


def texts_as_memories(folder, data):
    """Each text of a corpus as a memory file, named by its time and a hash of its id."""
    with open(data / "corpus.jsonl") as lines:
        for text in map(json.loads, lines):
            at = text["timestamp"]
            handle = hashlib.sha1(text["id"].encode()).hexdigest()[:7] + "a"
            name = f"{at[:10].replace('-', '')}_{at[11:19].replace(':', '')}_{handle}.md"
            head = f"id: {handle}\ntimestamp: {at}Z\nagent: {text.get('agent', 'chat')}\nuser: {text.get('user', 'user')}\n"
            (folder / name).write_text(f"---\n{head}topics: [talk]\nnamespace: {text['scope']}\n---\n\n{text['text']}\n")


def queries(data):
    with open(data / "queries.jsonl") as lines:
        return [json.loads(line)["query"] for line in lines]


def answers(server, number, question):
    """What a program says to one question, as bytes."""
    if number % 4 == 1:
        return [server.ask("tools/call", {"name": "think", "arguments": {"keywords": question.split()[:3]}})]
    said = [server.ask("tools/call", {"name": "think", "arguments": {"query": question}})]
    hits = said[0].get("structuredContent", {}).get("results") or [{}]
    if number % 4 == 3 and "id" in hits[0]:
        said.append(server.ask("tools/call", {"name": "recall", "arguments": {"memory_ids": [hits[0]["id"]]}}))
    return said


def compare(programs, fill, asked, folder):
    """How many of the questions the programs answer in different ways, and the first of them."""
    servers = []
    for number, program in enumerate(programs):
        store = folder / f"{number}/store"
        (store / "files").mkdir(parents=True)
        fill(store / "files")
        home = folder / f"{number}/home"
        home.mkdir()
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "MEMDIR_LOG": "error", "TZ": "UTC"}
        servers.append(Server(program, str(store), environment))
    differing = []
    for number, question in enumerate(asked):
        old, new = (json.dumps(answers(server, number, question)) for server in servers)
        if old != new:
            differing.append((question, old, new))
    for server in servers:
        server.close()
    return differing


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("--data", type=pathlib.Path)
    arguments.add_argument("--count", type=int, default=450)
    given = arguments.parse_args()
    programs = [given.old, given.new]
    stores = {"notes": (lambda files: make_notes(files, 3000), questions(given.count))}
    if given.data:
        asked = queries(given.data)
        step = max(1, len(asked) // given.count)
        stores["texts"] = (lambda files: texts_as_memories(files, given.data), asked[::step][:given.count])
    else:
        stores["other notes"] = (lambda files: make_notes(files, 1000), questions(2 * given.count)[given.count:])
    failed = False
    for name, (fill, asked) in stores.items():
        folder = pathlib.Path(tempfile.mkdtemp(prefix="memdir-answers-"))
        try:
            differing = compare(programs, fill, asked, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{name}: {len(asked)} questions, {len(differing)} answered differently")
        for question, old, new in differing[:3]:
            at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
            print(f"    {question!r}, from byte {at}:\n        {old[at - 40:at + 80]}\n        {new[at - 40:at + 80]}")
        failed |= bool(differing)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
