#!/usr/bin/env python3
"""Measures what `memdir hook prompt` shows: how much of it is right, and when it is silent.

usage: prompts.py [--memdir PROGRAM] [--floor N] [--keep DIR] [--prompts FILE] SET [SET ...]

Each question of a set is a prompt in its own conversation (it can be answered) and in another one (it is
unrelated); so is each line of FILE, fixtures/prompts/everyday.txt unless another is named. As in the hook, of the
first three memories of the conversation the best must have a relevance of at least the floor, and the others a
tenth of the best one's, and one memory must hold a third of the prompt's content words. The conversations of a set in their order are two halves: the floor is chosen on the
first, third, ... and reported on the others.

Prints per half and floor: right (share of the prompts with something shown that are shown something right; "all"
counts unrelated prompts that are shown something as wrong), memories (share of the memories shown to own
questions that answer them), answered (share of own questions with something right), silent (share of unrelated
prompts that are shown nothing: questions of others, everyday prompts). Sets that are missing are named and left
out. The searches are those of `memdir eval --scoped --explain`, without a model.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# Most memories that a prompt is shown.
SHOWN = 3
# Share of the best relevance that the others must have.
FOLLOWING = 0.1
# Share of the prompt's content words that one memory must hold.
COVERED = 0.34


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memdir", default="memdir")
    parser.add_argument("--floor", type=float, help="report this one alone")
    parser.add_argument("--keep", help="folder for stores and answers, so that nothing is asked twice")
    parser.add_argument("--prompts", default=os.path.join(ROOT, "fixtures/prompts/everyday.txt"))
    parser.add_argument("sets", nargs="+")
    given = parser.parse_args()
    there = [path for path in given.sets if os.path.exists(os.path.join(path, "corpus.jsonl"))]
    for path in sorted(set(given.sets) - set(there)):
        print(f"{path} is missing: nothing is measured with it", file=sys.stderr)
    if not there:
        sys.exit(1)
    with open(given.prompts) as file:
        everyday = [line.strip() for line in file if line.strip()]
    weights = coefficients()
    with tempfile.TemporaryDirectory() as scratch:
        work = given.keep or scratch
        asked = []
        for path in there:
            asked += ask(given.memdir, path, everyday, weights, work)
    floors = [given.floor] if given.floor is not None else [n / 20 for n in range(1, 20)]
    for half, label in enumerate(["chosen on", "reported on"]):
        for name in ["all", *sorted({one["set"] for one in asked})]:
            part = [one for one in asked if one["half"] == half and name in ("all", one["set"])]
            for floor in floors:
                report(label, name, floor, part)


def coefficients():
    """The coefficients of the relevance, as the program has them."""
    with open(os.path.join(ROOT, "src/ranking/parts/relevance.rs")) as file:
        text = file.read()
    bias = float(re.search(r"const BIAS: f32 = (-?[\d.]+);", text)[1])
    table = text.split("evidence! {\n    ///")[1].split("\n}")[0]
    return bias, {name: float(value) for name, value in re.findall(r"(\w+) = (-?[\d.]+),", table)}


def relevance(evidence, weights):
    bias, named = weights
    return 1 / (1 + math.exp(-bias - sum(named[name] * value for name, value in evidence.items())))


def ask(program, path, everyday, weights, work):
    """Asks all prompts of a set; returns what each is shown, in the order of relevance."""
    name = os.path.basename(os.path.normpath(path))
    folder = os.path.join(work, "sets", name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(path, "queries.jsonl")) as file:
        questions = [json.loads(line) for line in file]
    with open(os.path.join(path, "corpus.jsonl")) as file:
        corpus = file.read()
    scopes = sorted({question["scope"] for question in questions})
    prompts = {}
    for number, question in enumerate(questions):
        at = scopes.index(question["scope"])
        if not question["relevant_ids"]:
            continue
        prompts[f"own-{number}"] = (question["query"], at, question["relevant_ids"])
        if len(scopes) > 1:
            # Two further on is the same half; one further where there are two in all.
            other = (at + (2 if len(scopes) > 2 else 1)) % len(scopes)
            prompts[f"other-{number}"] = (question["query"], other, [])
    for number, prompt in enumerate(everyday):
        for turn in range(min(2, len(scopes))):
            prompts[f"everyday-{number}-{turn}"] = (prompt, (number + turn) % len(scopes), [])
    with open(os.path.join(folder, "corpus.jsonl"), "w") as file:
        file.write(corpus)
    with open(os.path.join(folder, "queries.jsonl"), "w") as file:
        for qid, (prompt, at, relevant) in prompts.items():
            # The hook takes every prompt for a question.
            row = {"qid": qid, "query": prompt + "?", "relevant_ids": relevant or ["none"], "type": "prompt",
                   "scope": scopes[at]}
            file.write(json.dumps(row) + "\n")
    run = os.path.join(work, "runs", f"{name}.scoped.jsonl")
    if not os.path.exists(run):
        environment = {**os.environ, "MEMDIR_EMBEDDING": "off", "TZ": "UTC"}
        command = [program, "eval", "--scoped", "--explain", "--keep", os.path.join(work, "stores"),
                   "--run-dir", os.path.join(work, "runs"), folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    asked = []
    with open(run) as file:
        for line in map(json.loads, file):
            _, at, relevant = prompts[line["qid"]]
            hits = []
            for found, evidence in zip(line["ranked"][:SHOWN], line["evidence"][:SHOWN]):
                if evidence and evidence["best_covered"] >= COVERED:
                    hits.append((relevance(evidence, weights), found in relevant))
            kind = line["qid"].split("-")[0]
            asked.append({"set": name, "half": at % 2, "kind": kind, "hits": hits})
    return asked


def shown_of(hits, floor):
    """Whether each of the memories that are shown is right."""
    best = max((chance for chance, _ in hits), default=0)
    return [right for chance, right in hits if best >= floor and chance >= FOLLOWING * best]


def report(label, name, floor, asked):
    shown = {kind: [shown_of(one["hits"], floor) for one in asked if one["kind"] == kind]
             for kind in ("own", "other", "everyday")}
    own = [hits for hits in shown["own"] if hits]
    wrong = sum(bool(hits) for kind in ("other", "everyday") for hits in shown[kind])
    right = sum(any(hits) for hits in own)
    memories = share(right for hits in own for right in hits)
    silent = [share(not hits for hits in shown[kind]) for kind in ("other", "everyday")]
    print(f"{label:11} {name:15} floor {floor:.2f}  right {100 * right / max(1, len(own)):5.1f} "
          f"(all {100 * right / max(1, len(own) + wrong):5.1f}, memories {100 * memories:5.1f})  "
          f"answered {100 * right / max(1, len(shown['own'])):5.1f}  "
          f"silent others {100 * silent[0]:5.1f}, everyday {100 * silent[1]:5.1f}")


def share(values):
    values = list(values)
    return sum(values) / max(1, len(values))


if __name__ == "__main__":
    main()
