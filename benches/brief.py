#!/usr/bin/env python3
"""Measures what `memdir brief` holds of what a session needs, beside simpler choices.

usage: brief.py [--memdir PROGRAM] [--limit N] [--characters N] SET [SET ...]

A set is a folder as `memdir eval` takes it, whose memories name their `session`. Each conversation becomes the
namespace of a store, which is filled session by session; the start of each session but the first is a moment. A
question belongs to the session of the latest memory that answers it, and needs, at the start of that session, the
answers that lie before it. After a session the answers of its questions are used (`memdir recall`), so that uses
grow as they do in life. At each moment with a question the brief is asked for, and compared with as many lines,
cut in the same way, of the same characters: newest first, most used (newest first among equals), random (mean of
20 draws).

Prints for each set and choice the recall: of the answers that the questions of a session need, the share that
stands in what the session began with; in all, and for the first, third, ... conversations and the others. Sets
without questions over several sessions, or that are missing, are named and left out.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

CHOICES = ["brief", "newest", "most used", "random"]
DRAWS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memdir", default="memdir")
    parser.add_argument("--limit", type=int, default=12, help="most lines")
    parser.add_argument("--characters", type=int, default=4000)
    parser.add_argument("--misses", action="store_true", help="print what was needed and is not there")
    parser.add_argument("sets", nargs="+")
    given = parser.parse_args()
    measured = 0
    for path in given.sets:
        if not os.path.exists(os.path.join(path, "corpus.jsonl")):
            print(f"{path} is missing: nothing is measured with it", file=sys.stderr)
            continue
        measured += 1
        name = os.path.basename(os.path.normpath(path))
        halves = [{choice: [0.0, 0] for choice in CHOICES} for _ in range(2)]
        reasons = {}
        for number, conversation in enumerate(conversations(path)):
            moments(given, *conversation, halves[number % 2], reasons)
        report(name, halves, reasons)
    sys.exit(0 if measured else 1)


def conversations(path):
    """Each conversation as its sessions in their order, each a list of memories, and its questions."""
    with open(os.path.join(path, "corpus.jsonl")) as file:
        memories = [json.loads(line) for line in file]
    with open(os.path.join(path, "queries.jsonl")) as file:
        questions = [json.loads(line) for line in file]
    for scope in sorted({memory["scope"] for memory in memories}):
        sessions = {}
        for memory in memories:
            if memory["scope"] == scope:
                sessions.setdefault(memory["session"], []).append(memory)
        yield list(sessions.values()), [one for one in questions if one["scope"] == scope]


class Store:
    """A store of one conversation, in a home of its own."""

    def __init__(self, program, folder):
        self.program = os.path.abspath(program) if os.path.exists(program) else program
        self.folder = folder
        self.environment = {"HOME": folder, "PATH": os.environ["PATH"], "TZ": "UTC", "MEMDIR_EMBEDDING": "off"}
        self.run("init", "--no-git", os.path.join(folder, "store"))
        self.run("review", "--source", "import")

    def run(self, *words, text=None, codes=(0,)):
        command = [self.program, "--store", os.path.join(self.folder, "store"), *words]
        if words[0] == "init":
            command = [self.program, *words]
        ran = subprocess.run(command, cwd=self.folder, env=self.environment, input=text, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if ran.returncode not in codes:
            sys.exit(f"{' '.join(command)}: {ran.stderr}")
        return ran.stdout

    def add(self, memories):
        """Imports memories; returns the id of each."""
        rows = [json.dumps({"id": memory["id"], "timestamp": memory["timestamp"] + "+00:00", "user": memory["user"],
                            "agent": memory["agent"], "namespace": "talk", "content": memory["text"]})
                for memory in memories]
        file = os.path.join(self.folder, "batch.jsonl")
        with open(file, "w") as batch:
            batch.write("\n".join(rows) + "\n")
        imported = json.loads(self.run("import", "--from", "jsonl", "--json", file))
        return {memory["source_id"]: memory["id"] for memory in imported}

    def brief(self, limit, characters):
        words = ["brief", "--namespace", "talk", "--json", "--limit", str(limit), "--budget", str(characters)]
        return json.loads(self.run(*words, codes=(0, 1)))


def moments(given, sessions, questions, results, reasons):
    """Goes through the moments of a conversation, and adds up what was needed and what was there."""
    session_of = {memory["id"]: number for number, session in enumerate(sessions) for memory in session}
    belonging, needs = {}, {}
    for question in questions:
        answers = [answer for answer in question["relevant_ids"] if answer in session_of]
        if not answers:
            continue
        latest = max(session_of[answer] for answer in answers)
        belonging.setdefault(latest, []).extend(answers)
        earlier = {answer for answer in answers if session_of[answer] < latest}
        needs.setdefault(latest, []).extend(earlier)
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(given.memdir, folder)
        ids, past, uses = {}, [], {}
        for number, session in enumerate(sessions):
            needed = needs.get(number, [])
            if needed:
                brief = store.brief(given.limit, given.characters)
                shown = {item["id"]: item for item in brief["items"]}
                known = {answer for answer in needed if ids[answer] in shown}
                count(results["brief"], needed, known)
                for answer in needed:
                    if ids[answer] in shown:
                        reason = shown[ids[answer]]["reason"]
                        reasons[reason] = reasons.get(reason, 0) + 1
                    elif given.misses:
                        print(next(memory["text"] for memory in past if memory["id"] == answer)[:160])
                for item in brief["items"]:
                    key = ("shown", item["reason"])
                    reasons[key] = reasons.get(key, 0) + 1
                newest = list(reversed(past))
                used = sorted(newest, key=lambda memory: -uses.get(memory["id"], 0))
                around = brief["characters"] - sum(len(item["line"]) + 1 for item in brief["items"])
                limits = (given.limit, given.characters - around)
                count(results["newest"], needed, first(newest, *limits))
                count(results["most used"], needed, first(used, *limits))
                for _ in range(DRAWS):
                    drawn = first(draw.sample(past, len(past)), *limits)
                    count(results["random"], needed, drawn, 1 / DRAWS)
            ids.update(store.add(session))
            past += session
            used_now = belonging.get(number, [])
            for answer in used_now:
                uses[answer] = uses.get(answer, 0) + 1
            if used_now:
                store.run("recall", *[ids[answer] for answer in used_now])


def first(memories, limit, characters):
    """The ids of the first memories whose lines have a place."""
    taken = set()
    for memory in memories:
        # As a line of the brief: the id, the day and the text.
        length = min(300, len("- 01234567 2026-01-01  ") + len(memory["text"])) + 1
        if len(taken) == limit or length > characters:
            break
        characters -= length
        taken.add(memory["id"])
    return taken


def count(result, needed, known, weight=1.0):
    result[0] += weight * sum(answer in known for answer in needed)
    result[1] += weight * len(needed)


def report(name, halves, reasons):
    total = {choice: [halves[0][choice][0] + halves[1][choice][0], halves[0][choice][1] + halves[1][choice][1]]
             for choice in CHOICES}
    if not total["brief"][1]:
        print(f"{name}: no question needs what an earlier session said", file=sys.stderr)
        return
    for label, results in [("all", total), ("first, third, …", halves[0]), ("others", halves[1])]:
        recall = {choice: 100 * found / max(1, of) for choice, (found, of) in results.items()}
        best = max(recall[choice] for choice in CHOICES[1:])
        row = "  ".join(f"{choice} {recall[choice]:5.1f}" for choice in CHOICES)
        ratio = f"{recall['brief'] / best:.2f}" if best else "-"
        print(f"{name:16} {label:16} needed {results['brief'][1]:5.0f}  {row}  brief / best {ratio}")
    by_reason = {reason: found for reason, found in reasons.items() if isinstance(reason, str)}
    shown = {reason[1]: found for reason, found in reasons.items() if isinstance(reason, tuple)}
    parts = [f"{reason} {by_reason.get(reason, 0)}/{count}" for reason, count in sorted(shown.items())]
    print(f"{name:16} needed/shown by reason: {', '.join(parts)}")


if __name__ == "__main__":
    main()
