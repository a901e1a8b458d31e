#!/usr/bin/env python3
"""What simpler searches find on a data set, to compare `memdir eval` with.

usage: benches/baselines.py SET [SET ...]

SET is a folder of corpus.jsonl and queries.jsonl as `memdir eval` reads them. Two searches, both over
all memories of the set: SQLite's FTS5 with the Porter stemmer over user, topics and text, any word of the
question, ranked by its BM25; and the counts of `think`'s keywords (docs/RETRIEVAL.md) with the question's
words as keywords, those of one or two letters and the commonest words of English left out. Recall is the
share of the relevant memories among the first ten. Needs nothing but Python with SQLite.
"""
import json
import math
import pathlib
import re
import sqlite3
import sys

STOP = set(
    "a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it"
    " its me my of on or our she should so that the their them they this to was we were what when where which who whom why"
    " will with would you your".split()
)


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def fields(memory):
    topics = memory.get("topics") or []
    return [memory.get("user") or "", memory.get("agent") or "", topics, memory["text"]]


def fts5(memories):
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table notes using fts5(id unindexed, user, topics, text, tokenize='porter unicode61')")
    rows = ((m["id"], fields(m)[0], " ".join(fields(m)[2]), m["text"]) for m in memories)
    database.executemany("insert into notes values (?, ?, ?, ?)", rows)

    def search(query):
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        found = database.execute("select id from notes where notes match ? order by rank limit 100", [asked])
        return [row[0] for row in found]

    return search


def keywords(memories):
    texts = []
    for memory in memories:
        user, agent, topics, text = fields(memory)
        texts.append((memory["id"], memory.get("timestamp") or "", user.lower(), agent.lower(),
                      [topic.lower() for topic in topics], text.lower()))

    def search(query):
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        asked = [word for word in words if len(word) > 2 and word not in STOP]
        patterns = [(word, re.compile(rf"\b{re.escape(word)}\b")) for word in asked]
        scored = []
        for name, time, user, agent, topics, text in texts:
            score = 0
            for word, whole in patterns:
                within = 2 * sum(topic.count(word) for topic in topics)
                within += text.count(word) + user.count(word) + agent.count(word)
                if within:
                    score += within + sum(len(whole.findall(part)) for part in (*topics, text, user, agent))
            if score:
                scored.append((score, time, name))
        scored.sort(reverse=True)
        return [name for _, _, name in scored[:100]]

    return search


def scores(search, queries):
    recall, gain = 0.0, 0.0
    for query in queries:
        relevant = {str(name) for name in query["relevant_ids"]}
        ranked = [str(name) for name in search(query["query"])][:10]
        hits = [name in relevant for name in ranked]
        recall += sum(hits) / len(relevant)
        best = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
        gain += sum(hit / math.log2(place + 2) for place, hit in enumerate(hits)) / best
    return 100 * recall / len(queries), 100 * gain / len(queries)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in map(pathlib.Path, sys.argv[1:]):
        memories = read(folder / "corpus.jsonl")
        queries = [query for query in read(folder / "queries.jsonl") if query["relevant_ids"]]
        for name, make in [("FTS5", fts5), ("keywords", keywords)]:
            recall, gain = scores(make(memories), queries)
            print(f"{folder.name:<16} {name:<10} {len(queries):>6} questions   R@10 {recall:6.2f}   NDCG@10 {gain:6.2f}")


if __name__ == "__main__":
    main()
