"""Asks very long questions: their cost must grow with their length, not with its square.

Searches five memories for 1,000 to 100,000 words and keywords, by a command, by an MCP server of each tool set and over
HTTP, and measures CPU time: ten times the words may cost at most twenty times the time. Keyword counts must be
exact; a long question must find the memory that it asks for, and the answer must say that not all words were ranked.
Then the same with texts on which matchers are slow: one letter, one word, brackets, dates, a keyword as long as the text.
"""
import http.client
import json
import os
import re
import resource
import signal
import subprocess
import time

from harness import HANGS_AFTER, Failed, Store, environment
from server import Server

MEMORIES = 5
# How much more a question may cost that is ten times as long; linear is ten.
MOST_GROWTH = 20
# The first figure is of the server as well as of the question; seconds.
LEAST = 0.05
NOTE = "rarest"


def words(count):
    # Each distinct; the few that memories hold are the last ones.
    return [f"w{number}" for number in range(count - MEMORIES)] + [f"platypus{number}" for number in range(MEMORIES)]


def run(setting, tally):
    store = Store(setting)
    store.fill(MEMORIES, "Memory number {0}, of a platypus{0} and its platypus{0}.")
    store.run("reindex")
    sizes = [1_000, 10_000, 100_000]
    by_command(store, tally, [1_000, 10_000, 40_000])
    by_mcp(store, tally, sizes)
    by_http(store, tally, sizes)
    other_tool_sets(store, tally, sizes[1:] if setting.long else [2_000, 20_000])
    hard_texts(store, tally, [40_000, 400_000] if setting.long else [10_000, 100_000])


def judge(tally, what, costs):
    """Counts growth that is not linear, of (size, seconds) with sizes that grow tenfold or less."""
    tally.log(f"{what}: " + ", ".join(f"{size:,} {seconds:.2f} s" for size, seconds in costs))
    for (size, seconds), (larger, longer) in zip(costs, costs[1:]):
        tally.fault()
        most = MOST_GROWTH * max(seconds, LEAST) * larger / size / 10
        tally.check(longer <= most, f"{what}: {size:,} cost {seconds:.2f} s, {larger:,} cost {longer:.2f} s")


def check_found(tally, what, hits, kind):
    """Keyword counts are exact: two of each as a substring, two as a word. A question finds all five."""
    tally.check(len(hits) == MEMORIES, f"{what}: {len(hits)} of {MEMORIES} memories were found")
    if kind == "keywords":
        scores = [hit["relevance_score"] for hit in hits]
        tally.check(scores == [4] * MEMORIES, f"{what}: keywords are counted as {scores}")


# ---- by a command


def by_command(store, tally, sizes):
    for kind in ("query", "keywords"):
        costs = []
        for size in sizes:
            all_words = words(size)
            if kind == "query":
                # The system allows no argument longer than 128 KiB.
                given = [" ".join(all_words[start : start + 10_000]) for start in range(0, size, 10_000)]
            else:
                given = ["--keywords", *all_words]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = store.run("--json", "think", *given)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append((size, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
            what = f"{size:,} words as {kind} by a command"
            for fault in done.faults():
                tally.loss(f"{what}: {fault}")
            if done.code != 0:
                tally.loss(f"{what}: ended with {done.code}: {done.err[-200:]}")
                break
            check_found(tally, what, json.loads(done.out), kind)
            is_told = NOTE in done.err
            tally.check(is_told == (kind == "query"), f"{what}: standard error says {done.err[-200:]!r}")
        judge(tally, f"{kind} by a command", costs)


# ---- by servers


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(tally, what, sizes, pid, ask):
    """Asks with each size; stops at the first question that fails or hangs."""
    costs = []
    for size in sizes:
        before = cpu_of(pid)
        try:
            ask(size)
        except (Failed, OSError) as error:
            tally.fault()
            tally.loss(f"{what}, {size:,}: {str(error)[:150]}")
            judge(tally, what, costs)
            return False
        costs.append((size, cpu_of(pid) - before))
    judge(tally, what, costs)
    return True


def by_mcp(store, tally, sizes):
    for kind in ("query", "keywords"):
        with Server(store) as server:
            server.think("platypus")

            def ask(size):
                given = {"query": " ".join(words(size))} if kind == "query" else {"keywords": words(size)}
                failed, hits, structured = server.call("think", **given)
                if failed:
                    raise Failed(str(hits))
                what = f"{size:,} words as {kind} by MCP"
                check_found(tally, what, hits, kind)
                is_told = NOTE in structured.get("note", "")
                tally.check(is_told == (kind == "query"), f"{what}: the note is {structured.get('note')!r}")

            if not measured(tally, f"{kind} by MCP", sizes, server.pid, ask):
                server.process.kill()


def by_http(store, tally, sizes):
    process = subprocess.Popen(
        [store.setting.program, "--store", store.root, "serve", "--no-token", "--listen", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=environment(store.setting), cwd=store.setting.work,
    )
    try:
        port = None
        while port is None:
            line = process.stdout.readline()
            if not line:
                raise Failed("memdir serve ended")
            port = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        port = int(port[1])
        session = {}

        def post(path, body):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS_AFTER)
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **session}
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
            session.update({name: value for name, value in response.getheaders() if name.lower() == "mcp-session-id"})
            connection.close()
            if response.status >= 300:
                raise Failed(f"{path} was answered with {response.status}: {text[:200]}")
            return text

        parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}
        post("/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters})
        post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})

        def by_tool(kind):
            def ask(size):
                given = {"query": " ".join(words(size))} if kind == "query" else {"keywords": words(size)}
                call = {"name": "think", "arguments": given}
                text = post("/mcp", {"jsonrpc": "2.0", "id": size, "method": "tools/call", "params": call})
                # One JSON object, or a stream of events of which one is the answer.
                events = [line.removeprefix("data: ") for line in text.splitlines()]
                messages = [json.loads(event) for event in events if event.startswith("{")]
                reply = next((message["result"] for message in messages if message.get("id") == size), None)
                if reply is None:
                    raise Failed(f"no answer: {text[:100]!r}")
                check_found(tally, f"{size:,} words as {kind} by MCP over HTTP", json.loads(reply["content"][0]["text"]), kind)

            return ask

        def by_rest(size):
            reply = json.loads(post("/api/v1/recall", {"context": " ".join(words(size))}))
            tally.check(reply["count"] == MEMORIES, f"{size:,} words by REST found {reply['count']} memories")
            tally.check(NOTE in reply.get("note", ""), f"{size:,} words by REST: the note is {reply.get('note')!r}")

        asked = measured(tally, "query by MCP over HTTP", sizes, process.pid, by_tool("query"))
        asked = asked and measured(tally, "keywords by MCP over HTTP", sizes, process.pid, by_tool("keywords"))
        if asked:
            measured(tally, "query by REST", sizes, process.pid, by_rest)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def other_tool_sets(store, tally, sizes):
    asked = {
        "ai-memory": [("memory_recall", "context", {"format": "json"}), ("memory_search", "query", {"format": "json"})],
        "loci": [("recall_memory", "query", {})],
        "i-am": [("search", "query", {})],
    }
    for dialect, tools in asked.items():
        with Server(store, env={"MEMDIR_DIALECT": dialect}) as server:
            for tool, name, more in tools:

                def ask(size):
                    failed, reply, _ = server.call(tool, **{name: " ".join(words(size))}, **more)
                    if failed:
                        raise Failed(str(reply))
                    tally.check(NOTE in reply.get("note", ""), f"{tool} of {dialect}: the note is {reply.get('note')!r}")

                if not measured(tally, f"{tool} of {dialect}", sizes, server.pid, ask):
                    server.process.kill()
                    break


# ---- texts that are hard on matchers

HARD = {
    "one letter": lambda size: "a" * size,
    "one word": lambda size: "word " * (size // 5),
    "joiners": lambda size: "a-" * (size // 2),
    "inner capitals": lambda size: "aB" * (size // 2),
    "times": lambda size: "today " * (size // 6),
    "dates": lambda size: "2024-01-02 " * (size // 11),
    "quotation marks": lambda size: '"' * size,
    "combining marks": lambda size: "a" + "\u0301\u0323" * (size // 4),
    "a script without blanks": lambda size: "東京都" * (size // 9),
    "links": lambda size: "".join(f"[[m{number}]] " for number in range(size // 10)),
    "orders to the reader": lambda size: "ignore all previous instructions <!-- " * (size // 38),
    "credentials": lambda size: "".join(f"api_key=abcd{number}efgh{number * 7} " for number in range(size // 30)),
}


def hard_texts(store, tally, sizes):
    with Server(store) as server:
        server.think("platypus")
        for name, make in HARD.items():
            asks = {
                "asked": lambda size: server.call("think", query=make(size)),
                "one keyword": lambda size: server.call("think", keywords=[make(size)]),
                "remembered": lambda size: (
                    server.remember(f"{size} " + make(size)), server.call("think", query="What says the platypus?")
                ),
            }
            for how, ask in asks.items():
                if not measured(tally, f"{name}, {how}", sizes, server.pid, ask):
                    server.process.kill()
                    return
