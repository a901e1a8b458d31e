#!/usr/bin/env python3
"""Measures what memdir costs on a store of N notes, and whether writes are seen at once.

usage: benches/speed.py [--memdir PROGRAM] [--notes 10000] [--from DIR] [--questions 200]

Makes N notes of about 1.9 KB (or copies those of --from DIR/*.md) into a temporary store and prints
a table: full reindex, warm `think` over MCP by keywords and by query, a whole `memdir think`
process, `initialize`, idle memory, and visibility of a new memory. CPU is user + system time of
the process, which a busy machine disturbs less than the clock does. Linux only.
"""
import argparse
import datetime
import glob
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from mcp_server import Server

WORDS = """postgres sqlite rust python async mutex deadlock retry timeout cache index vector search token login cookie
docker kubernetes nginx tls certificate git commit rebase merge branch deploy rollback release schema migration backup
restore replica queue kafka redis json yaml markdown editor agent memory recall prompt context latency profile heap
thread signal watcher atomic rename checksum uuid timezone unicode parser regex compiler fixture benchmark budget
invoice customer meeting decision preference allergy travel berlin tokyo birthday recipe garden piano""".split()
SYLLABLES = "ba co di fu ga he ji ko lu ma ne pi qua ro sa te ul vi wo xa ye zo tra ste plo".split()


def vocabulary(dice):
    made = {"".join(dice.choice(SYLLABLES) for _ in range(dice.randint(2, 4))) for _ in range(8000)}
    words = sorted(made)
    dice.shuffle(words)
    for word in WORDS:
        words.insert(dice.randint(20, 1500), word)
    return words


def make_notes(folder, count):
    dice = random.Random(42)
    words = vocabulary(dice)
    weights = [1 / (place + 2.7) for place in range(len(words))]
    totals = []
    total = 0
    for weight in weights:
        total += weight
        totals.append(total)
    at = datetime.datetime(2024, 1, 1, 8, tzinfo=datetime.timezone.utc)
    for number in range(count):
        at += datetime.timedelta(seconds=dice.randint(60, 5000))
        handle = hashlib.sha1(str(number).encode()).hexdigest()[:7] + "a"
        title = " ".join(dice.choice(WORDS) for _ in range(3)).title() + f" {number}"
        body = dice.choices(words, cum_weights=totals, k=int(dice.triangular(60, 400, 160)))
        sentences = [" ".join(body[i:i + 12]).capitalize() + "." for i in range(0, len(body), 12)]
        if number % max(1, count // 20) == 0:
            sentences.append(f"Marker zqneedle{number // max(1, count // 20)} here.")
        topics = ", ".join(dice.sample(WORDS, 4))
        with open(os.path.join(folder, f"{at:%Y%m%d_%H%M%S}_{handle}.md"), "w") as note:
            note.write(
                f"---\nid: {handle}\ntimestamp: {at.isoformat()}\nagent: claude\nuser: alice\n"
                f"topics: [{topics}]\ntitle: {title}\n---\n\n# {title}\n\n" + "\n".join(sentences) + "\n"
            )


def questions(count):
    dice = random.Random(7)
    words = vocabulary(random.Random(42))
    kinds = [
        lambda: f"zqneedle{dice.randint(0, 19)}",
        lambda: dice.choice(WORDS),
        lambda: f"{dice.choice(WORDS)} {dice.choice(WORDS)}",
        lambda: f"{dice.choice(words[200:3000])} {dice.choice(WORDS)}",
        lambda: " ".join(dice.choice(words[50:3000]) for _ in range(3)),
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


def child_cpu(command, environment):
    """Runs a command; returns its CPU time in ms and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return 1000 * used, done.stdout.decode()


def spread(values):
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]


def print_table(rows):
    """Prints rows of a label, a value, and the bar that it is to stay below, if there is one."""
    width = max(len(row[0]) for row in rows)
    for label, value, bar in rows:
        print(f"{label:<{width}}  {value:>18}  {'(bar ' + bar + ')' if bar else ''}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--notes", type=int, default=10000)
    parser.add_argument("--from", dest="source", metavar="DIR")
    parser.add_argument("--questions", type=int, default=200)
    arguments = parser.parse_args()
    environment = {**os.environ, "MEMDIR_NAMESPACE": "global"}
    rows = []
    with tempfile.TemporaryDirectory() as store:
        files = os.path.join(store, "files")
        os.mkdir(files)
        if arguments.source:
            for path in glob.glob(os.path.join(arguments.source, "*.md")):
                shutil.copy(path, files)
        else:
            make_notes(files, arguments.notes)
        names = os.listdir(files)
        size = sum(os.path.getsize(os.path.join(files, name)) for name in names)
        memdir = [arguments.memdir, "--store", store]
        asked = questions(arguments.questions)
        print(f"{len(names)} notes, {size / 1e6:.1f} MB, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")

        cpu = [child_cpu(memdir + ["reindex", "--full"], environment)[0] for _ in range(3)]
        rows.append(("full reindex, CPU", f"{min(cpu) / 1000:.2f} s", "4 s"))

        cpu = [
            child_cpu(memdir + ["--json", "think", *words.split()], environment)[0]
            for words in ["postgres docker", "travel berlin", "deploy rollback"] * 10
        ]
        rows.append(("`memdir think`, whole process, CPU median / p99", "{:.1f} / {:.1f} ms".format(*spread(cpu)), "30 ms"))

        starts = []
        for _ in range(10):
            server = Server(arguments.memdir, store, environment)
            starts.append(server.initialize_ms)
            server.close()
        rows.append(("`initialize` answered after start, median / p99", "{:.0f} / {:.0f} ms".format(*spread(starts)), "100 ms"))

        server = Server(arguments.memdir, store, environment)
        server.call("think", {"query": "warm up"})
        rows.append(("idle server, resident memory", f"{server.rss_mb():.1f} MB", "40 MB"))
        for label, make in (
            ("keywords", lambda question: {"keywords": question.split()}),
            ("query", lambda question: {"query": question}),
        ):
            cpu, wall = [], []
            for question in asked:
                before, started = server.cpu_ms(), time.perf_counter()
                server.call("think", make(question))
                wall.append(1000 * (time.perf_counter() - started))
                cpu.append(server.cpu_ms() - before)
            rows.append((f"warm `think` over MCP by {label}, CPU median / p99", "{:.2f} / {:.2f} ms".format(*spread(cpu)), "2 ms"))
            rows.append((f"warm `think` over MCP by {label}, wall median / p99", "{:.2f} / {:.2f} ms".format(*spread(wall)), ""))
        rows.append(("server after these calls, resident memory", f"{server.rss_mb():.1f} MB", ""))

        cpu, wall, seen, seen_elsewhere = [], [], 0, 0
        for number in range(20):
            word = f"zqfresh{number}x"
            before, started = server.cpu_ms(), time.perf_counter()
            stored = server.call("remember", {"agent": "bench", "user": "bench", "topics": ["bench"], "content": f"The word is {word}."})
            wall.append(1000 * (time.perf_counter() - started))
            cpu.append(server.cpu_ms() - before)
            hits = server.call("think", {"keywords": [word]})["results"]
            seen += [hit["id"] for hit in hits] == [stored["memory_id"]]
            _, out = child_cpu(memdir + ["--json", "think", "--keywords", word], environment)
            seen_elsewhere += [hit["id"] for hit in json.loads(out)] == [stored["memory_id"]]
        rows.append(("`remember` over MCP, wall median / p99", "{:.2f} / {:.2f} ms".format(*spread(wall)), ""))
        rows.append(("seen by the next `think` of the same process", f"{seen} of 20", "20 of 20"))
        rows.append(("seen by another process's next command", f"{seen_elsewhere} of 20", "20 of 20"))
        server.close()
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
