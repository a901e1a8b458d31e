#!/usr/bin/env python3
"""Asks a folder and three servers of a workspace the same questions by `think`, and compares the answers byte for byte.

    tests/team/with_postgres.sh python3 benches/team_sets.py --memdir PROGRAM [--questions 900] [SET …]

PROGRAM has the feature `team`. A SET is a folder with `corpus.jsonl` and `queries.jsonl`; without one those of the
repository are asked. Each set has its own workspace; the questions are drawn evenly, each is asked with and without its
namespace. Of the three servers the first one reads the rows, and the others copies of its index where there are some.
Exit code 1 for a difference.
"""

import argparse
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

from team import Server

SERVERS = 3


def questions(set, count, dice):
    lines = [json.loads(line) for line in open(os.path.join(set, "queries.jsonl"))]
    return dice.sample(lines, min(count, len(lines)))


def asked_about(question):
    yield {"query": question["query"], "limit": 10}
    if question.get("scope"):
        yield {"query": question["query"], "limit": 10, "namespace": question["scope"]}


def think(client, arguments, prefix=""):
    """Returns what the tool `think` answers; the number of the last change, which a folder has not, is no part of it."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "think", "arguments": arguments, "_meta": meta}}
    headers = {"Authorization": f"Bearer {client.server.token}", "Content-Type": "application/json", "Mcp-Name": "think",
               "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
               "Mcp-Method": "tools/call"}
    client.connection.request("POST", prefix + "/mcp", json.dumps(body), headers)
    said = client.connection.getresponse().read().decode()
    lines = [line.removeprefix("data:") for line in said.splitlines() if line.startswith(("{", "data:"))]
    for line in lines:
        if line.strip() and "result" in (answer := json.loads(line)):
            return json.dumps({part: answer["result"].get(part) for part in ("content", "structuredContent", "isError")})
    sys.exit(f"no answer to {arguments}: {said[:500]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memdir", required=True)
    parser.add_argument("--questions", type=int, default=900)
    parser.add_argument("sets", nargs="*")
    given = parser.parse_args()
    repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sets = given.sets or sorted(glob.glob(os.path.join(repository, "fixtures/eval/*/")))
    dice, asked, different, found = random.Random(1), 0, 0, 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        os.makedirs(home)
        environment = {"HOME": home, "PATH": os.environ["PATH"], "MEMDIR_GIT": "off",
                       "MEMDIR_DATABASE": os.environ["MEMDIR_TEST_POSTGRES"]}
        run = lambda *words: subprocess.run([given.memdir, *words], env=environment, check=True,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listen = ["serve", "--listen", "127.0.0.1:0", "--reads-per-second", "0", "--writes-per-second", "0"]
        run("team", "migrate")
        for number, set in enumerate(sets):
            store = os.path.join(folder, str(number))
            run("init", store)
            run("--store", store, "import", "--from", "jsonl", os.path.join(set, "corpus.jsonl"))
            run("team", "create", f"set-{number}")
            run("team", "import", f"set-{number}", store)
        on_rows = []
        for number in range(SERVERS):
            cache = os.path.join(folder, f"cache-{number}")
            on_rows.append(Server(given.memdir, [*listen, "--database", "--cache", cache], environment, "",
                                  f"{cache}/tokens").client())
        for number, set in enumerate(sets):
            store = os.path.join(folder, str(number))
            on_folder = Server(given.memdir, ["--store", store, *listen], environment, "", f"{store}/.memdir/tokens")
            client, of_set = on_folder.client(), 0
            for question in questions(set, -(-given.questions // len(sets)), dice):
                asked += 1
                of_set += 1
                for arguments in asked_about(question):
                    expected = think(client, arguments)
                    found += len(json.loads(json.loads(expected)["content"][0]["text"])) > 0
                    for server, one in enumerate(on_rows):
                        answer = think(one, arguments, f"/w/set-{number}")
                        if answer != expected:
                            different += 1
                            print(f"server {server}, {arguments}:\n  folder {expected}\n  rows   {answer}", file=sys.stderr)
            print(f"{os.path.basename(os.path.normpath(set)):20} {of_set} questions")
            on_folder.end()
        for one in on_rows:
            one.server.end()
    print(f"{asked} questions, {found} answers of folders with memories; of {SERVERS} servers {different} answers differ")
    if different or not found:
        sys.exit(1)


main()
