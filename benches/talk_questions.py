#!/usr/bin/env python3
"""Compares questions over mined talks with the same messages stored a memory each.

usage: benches/talk_questions.py [--memdir PROGRAM] [--half tune|report|all] [--mixed] [--check] DATASET...

A DATASET is a folder with corpus.jsonl {id, timestamp, user, text, scope} and queries.jsonl {qid, query, relevant_ids,
scope}, whose memories are messages of conversations; a scope is a conversation. It becomes two stores:

  messages   a memory a message (`memdir import`): a message is found if it is one of ten hits
  talks      transcripts, mined (`memdir mine`): a message is found if one of ten hits names a passage (`at`) that
             shares a line with it. A talk of less than 4 KB has no passage: all of it counts, as it is read in one piece.

Messages less than an hour apart are one session. Where the users are `user` and `assistant`, sessions are transcripts of
Claude Code, else channels of a Slack export. Every question is asked through the MCP server, pooled and in the namespace of its
scope: by words alone, or with the model that MEMDIR_EMBEDDING, MEMDIR_MODEL_DIR and ORT_DYLIB_PATH set up.
"R@10" is the share of the messages of an answer that is found, "reading" the mean size of
what the ten hits name. Halves are of the scopes: weights are chosen on `tune`, and reported on `report`. `--check` ends with
1 if a recall of talks is more than two points below that of messages.

`--mixed` makes one store of every second scope as messages and the others as talks, and asks all questions pooled: whether
either hides the other.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

from mcp_server import Server

PAUSE = datetime.timedelta(hours=1)
HITS = 10
MOST_BELOW = 2.0
# Variables that set up a model, which is off without the first one.
MODEL = ("MEMDIR_EMBEDDING", "MEMDIR_MODEL_DIR", "ORT_DYLIB_PATH")


def lines_of(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


class Data:
    def __init__(self, folder, half):
        self.name = os.path.basename(folder.rstrip("/"))
        corpus, queries = (lines_of(os.path.join(folder, f"{name}.jsonl")) for name in ("corpus", "queries"))
        scopes = sorted({message["scope"] for message in corpus})
        middle = (len(scopes) + 1) // 2
        scopes = {"tune": scopes[:middle], "report": scopes[middle:], "all": scopes}[half]
        self.messages = [message for message in corpus if message["scope"] in scopes]
        self.queries = [query for query in queries if query["scope"] in scopes]

    def sessions(self):
        """Lists of messages of one scope without a pause, in order."""
        sessions, last = [], {}
        for message in self.messages:
            at = moment(message)
            open_session = last.get(message["scope"])
            if open_session is None or at - moment(open_session[-1]) > PAUSE:
                open_session = last[message["scope"]] = []
                sessions.append(open_session)
            open_session.append(message)
        return sessions

    def has_assistant(self):
        return {message["user"] for message in self.messages} <= {"user", "assistant"}


def moment(message):
    at = datetime.datetime.fromisoformat(message["timestamp"])
    return at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)


def write_claude_code(folder, sessions):
    for number, session in enumerate(sessions):
        name = f"{number:08x}-0000-4000-8000-000000000000"
        with open(os.path.join(folder, f"{name}.jsonl"), "w") as file:
            for message in session:
                file.write(json.dumps({
                    "type": message["user"], "sessionId": name, "cwd": f"/home/ada/{message['scope']}",
                    "timestamp": moment(message).isoformat(), "uuid": message["id"], "isSidechain": False,
                    "message": {"role": message["user"], "content": message["text"]}}) + "\n")


def write_slack(folder, sessions):
    users = sorted({message["user"] for session in sessions for message in session})
    scopes = sorted({session[0]["scope"] for session in sessions})
    write = lambda name, value: json.dump(value, open(os.path.join(folder, name), "w"))
    write("users.json", [{"id": f"U{at}", "name": user, "profile": {"display_name": user}} for at, user in enumerate(users)])
    write("channels.json", [{"id": f"C{at}", "name": scope} for at, scope in enumerate(scopes)])
    days = {}
    for session in sessions:
        for message in session:
            text = message["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            at = moment(message)
            days.setdefault((message["scope"], f"{at:%Y-%m-%d}"), []).append({
                "type": "message", "user": f"U{users.index(message['user'])}", "text": text, "ts": f"{at.timestamp():.6f}"})
    for (scope, day), messages in days.items():
        os.makedirs(os.path.join(folder, scope), exist_ok=True)
        write(os.path.join(scope, f"{day}.json"), messages)


class Store:
    """A store with a server, and for each of its memories the messages in it, with the lines they stand on."""

    def __init__(self, program, home, name):
        self.program, self.path = program, os.path.join(home, name)
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "TZ": "UTC", "MEMDIR_NAMESPACE": "global",
                            "MEMDIR_EMBEDDING": "off", "MEMDIR_GIT": "off", "LANG": "C.UTF-8"}
        self.environment |= {name: os.environ[name] for name in MODEL if name in os.environ}
        self.run("init")
        self.held, self.namespaces, self.sizes = {}, {}, {}

    def run(self, *arguments):
        ran = subprocess.run([self.program, "--store", self.path, *arguments], env=self.environment, capture_output=True)
        if ran.returncode:
            sys.exit(f"memdir {' '.join(arguments)}: {ran.stderr.decode()}")
        return ran.stdout

    def serve(self):
        # Makes the vectors, if there is a model.
        self.run("reindex")
        self.server = Server(self.program, self.path, self.environment)

    def answer(self, query, scope):
        """Messages that ten hits name, and the size of what they name."""
        arguments = {"query": query, "limit": HITS}
        if scope:
            arguments["namespace"] = scope
        named = [self.named(hit) for hit in self.server.call("think", arguments)["results"]]
        return set().union(*(found for found, _ in named)), sum(size for _, size in named)

    def named(self, hit):
        """Messages that a hit names, and the size of what it names."""
        lines = hit.get("at") or "1-1000000000"
        first, last = int(lines.split("-")[0]), int(lines.split("-")[-1])
        held = self.held[hit["id"]].items()
        return ({message for message, (one, two) in held if one <= last and two >= first},
                sum(self.sizes[hit["id"]][first - 1:last]))


def store_of_messages(program, home, data):
    store = Store(program, home, "messages")
    add_messages(store, home, data.messages)
    store.serve()
    return store


def add_messages(store, home, messages):
    corpus = os.path.join(home, "corpus.jsonl")
    with open(corpus, "w") as file:
        file.writelines(json.dumps(message) + "\n" for message in messages)
    imported = json.loads(store.run("import", "--from", "jsonl", corpus, "--json"))
    texts = {message["id"]: message for message in messages}
    for pair in imported:
        message = texts[pair["source_id"]]
        store.sizes[pair["id"]] = [len(message["text"])]
        store.held[pair["id"]] = {message["id"]: (1, 10**9)}
        store.namespaces[message["scope"]] = message["scope"]


def store_of_talks(program, home, data):
    store = Store(program, home, "talks")
    add_talks(store, home, data, {message["scope"] for message in data.messages})
    store.serve()
    return store


def mixed_store(program, home, data):
    """A store with every second scope as messages and the others as talks, with the scopes of the talks."""
    store = Store(program, home, "mixed")
    scopes = sorted({message["scope"] for message in data.messages})
    talks = set(scopes[1::2])
    add_messages(store, home, [message for message in data.messages if message["scope"] not in talks])
    add_talks(store, home, data, talks)
    store.serve()
    return store, talks


def add_talks(store, home, data, scopes):
    folder = os.path.join(home, "transcripts")
    os.makedirs(folder)
    sessions = [session for session in data.sessions() if session[0]["scope"] in scopes]
    (write_claude_code if data.has_assistant() else write_slack)(folder, sessions)
    store.run("mine", folder)
    memories = [json.loads(line) for line in store.run("export", "--talks", "--to", "jsonl").splitlines()]
    memories = [memory for memory in memories if (memory.get("metadata") or {}).get("talk")]
    by_scope = {}
    for memory in memories:
        by_scope.setdefault(memory["namespace"], []).append(memory)
        store.sizes[memory["id"]] = [len(line) + 1 for line in memory["content"].split("\n")]
        store.held[memory["id"]] = {}
    for scope in scopes:
        namespace = next(name for name in by_scope if name.lower() == scope.lower())
        store.namespaces[scope] = namespace
        place(store, [message for message in data.messages if message["scope"] == scope],
              sorted(by_scope[namespace], key=lambda memory: memory["timestamp"]))


def place(store, messages, memories):
    """Notes in which lines of which memory each message stands; both are in order."""
    at, offset, missing = 0, 0, 0
    for message in messages:
        # A message whose end was left out is found by its beginning.
        start = next(line for line in message["text"].strip().splitlines() if line.strip()).strip()[:80]
        for number in range(at, len(memories)):
            content = memories[number]["content"]
            found = content.find(start, offset if number == at else 0)
            if found >= 0:
                at, offset = number, found + len(start)
                first = content.count("\n", 0, found) + 1
                store.held[memories[at]["id"]][message["id"]] = (first, first + message["text"].strip().count("\n"))
                break
        else:
            missing += 1
    if missing > len(messages) / 100:
        sys.exit(f"{missing} of {len(messages)} messages are not where they should be")


def measure(store, queries, is_scoped):
    recall = size = 0
    for query in queries:
        found, read = store.answer(query["query"], store.namespaces[query["scope"]] if is_scoped else None)
        relevant = set(query["relevant_ids"])
        recall += len(relevant & found) / len(relevant)
        size += read
    return 100 * recall / len(queries), size / len(queries) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    options = parser.parse_args()
    missing = [folder for folder in options.datasets if not os.path.exists(os.path.join(folder, "corpus.jsonl"))]
    if missing or not options.datasets:
        print("skipped: no data set was given or found" + "".join(f"; no {folder}/corpus.jsonl" for folder in missing))
        return 0
    if options.mixed:
        print("| set | about messages R@10 | about talks R@10 | all |")
        print("|---|---|---|---|")
        for folder in options.datasets:
            data = Data(folder, options.half)
            with tempfile.TemporaryDirectory() as home:
                store, talks = mixed_store(os.path.abspath(options.memdir), home, data)
                of = [[query for query in data.queries if (query["scope"] in talks) is kind] for kind in (False, True)]
                recalls = [measure(store, queries, False)[0] for queries in (*of, data.queries)]
                print(f"| {data.name} | " + " | ".join(f"{recall:.1f}" for recall in recalls) + " |", flush=True)
                store.server.close()
        return 0
    print("| set | asked | messages R@10 | talks R@10 | difference | reading, messages | reading, talks |")
    print("|---|---|---|---|---|---|---|")
    failed = False
    for folder in options.datasets:
        data = Data(folder, options.half)
        with tempfile.TemporaryDirectory() as home:
            stores = [make(os.path.abspath(options.memdir), home, data) for make in (store_of_messages, store_of_talks)]
            for asked in ("pooled", "scoped"):
                (messages, much), (talks, size) = (measure(store, data.queries, asked == "scoped") for store in stores)
                failed |= talks < messages - MOST_BELOW
                print(f"| {data.name}, {len(data.queries)} questions | {asked} | {messages:.1f} | {talks:.1f} | "
                      f"{talks - messages:+.1f} | {much:.1f} KB | {size:.1f} KB |", flush=True)
            for store in stores:
                store.server.close()
    return int(failed and options.check)


if __name__ == "__main__":
    sys.exit(main())
