#!/usr/bin/env python3
"""Measures how much of what later questions ask for is proposed as a memory.

    benches/proposals.py PROGRAM SET

SET is a folder with `corpus.jsonl` and `queries.jsonl`, as `memdir eval` reads them: messages of chats, and questions that
name the messages that answer them. Each session is written as a transcript, or as an export of Slack where people talk
among themselves, mined with `--proposals`, and the quoted sentences are looked for in the messages. Counts are printed: of
messages of people, of those with a proposal, of those that questions need, and of these with a proposal.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ASSISTANTS = {"assistant", "ai", "bot"}
PEOPLE = {"user", "human"}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def transcript(messages):
    """Returns a transcript of a person and an assistant."""
    named = (("Assistant" if one["user"] in ASSISTANTS else "User", one["text"]) for one in messages)
    return "".join(f"{who}: {text}\n\n" for who, text in named)


def channel(messages):
    """Returns the messages of a day of a channel."""
    return [
        {"type": "message", "user": one["user"], "ts": f"{1_700_000_000 + at * 5}.000000", "text": one["text"]}
        for at, one in enumerate(messages)
    ]


def write_sessions(corpus, folder):
    """Writes the sessions as files below `folder`; returns the format of `memdir mine`."""
    sessions = collections.OrderedDict()
    for one in corpus:
        key = one["scope"] + "/" + (one.get("session") or "")
        sessions.setdefault(key, []).append(one)
    if any(one["user"] in ASSISTANTS | PEOPLE for one in corpus):
        for number, messages in enumerate(sessions.values()):
            (folder / f"{number:05}.txt").write_text(transcript(messages), encoding="utf-8")
        return "plain"
    users = sorted({one["user"] for one in corpus})
    (folder / "users.json").write_text(json.dumps([{"id": name, "name": name} for name in users]))
    names = [f"c{number}" for number in range(len(sessions))]
    (folder / "channels.json").write_text(json.dumps([{"id": name, "name": name} for name in names]))
    for name, messages in zip(names, sessions.values()):
        (folder / name).mkdir()
        (folder / name / "2023-11-14.json").write_text(json.dumps(channel(messages)))
    return "slack"


def words_of(text):
    return " ".join("".join(one if one.isalnum() else " " for one in text.lower()).split())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, data = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not (data / "corpus.jsonl").is_file() or not (data / "queries.jsonl").is_file():
        sys.exit(f"{data} has no corpus.jsonl and queries.jsonl: there is nothing to measure")
    corpus = lines_of(data / "corpus.jsonl")
    needed = {one for query in lines_of(data / "queries.jsonl") for one in query["relevant_ids"]}
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home) / "sessions"
        folder.mkdir()
        kind = write_sessions(corpus, folder)
        environment = {"HOME": home, "PATH": os.environ["PATH"], "MEMDIR_STORE": f"{home}/store"}
        subprocess.run([program, "init", f"{home}/store"], env=environment, check=True, capture_output=True)
        command = [program, "mine", "--yes", "--json", "--proposals", "--format", kind, str(folder)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=home)
        proposals = json.loads(ran.stdout)["proposals"]
    people = [one for one in corpus if one["user"] not in ASSISTANTS]
    texts = [words_of(one["text"]) for one in proposals]
    by_word = collections.defaultdict(list)
    for text in texts:
        # What an answer refers to stands before it, and may be of another message.
        by_word[text.split()[-1] if text else ""].append(text)
    with_proposal = set()
    for one in people:
        words = words_of(one["text"])
        for word in set(words.split()):
            is_long = len(words.split()) >= 3
            if any(text in words or (is_long and words in text) for text in by_word.get(word, ())):
                with_proposal.add(one["id"])
                break
    of_people = {one["id"] for one in people}
    counts = {
        "proposals": len(proposals),
        "messages of people": len(people),
        "with a proposal": len(with_proposal),
        "needed": len(needed & of_people),
        "needed, with a proposal": len(needed & with_proposal),
    }
    for name, count in counts.items():
        print(f"{name}: {count}")


main()
