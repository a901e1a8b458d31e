#!/usr/bin/env python3
"""Do hits to one word hold the word, where notes were copied in the same moment?

usage: benches/single_words.py MEMDIR FOLDER... [--words N] [--seed N] [--imported] [--model FOLDER]

Copies every markdown file below the folders into a fresh store, or with --imported imports them, and
asks for N words that two to five of them hold. Counts the hits whose text holds neither the word nor
another form of it, and those of them that are not marked as found by context, meaning or date. Forms
are told by Snowball's English stems: the package `snowballstemmer` up to 2.2, as version 3 has other
rules than memdir. With --model, the embedding model in that folder is used too; hits without the word
have to stand behind all hits with it.

Exits with 1 if more than 2 % of the hits hold no form of the word (without --model), if a hit
without it is not marked, or if one stands before a hit with it.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import snowballstemmer

WORD = re.compile(r"[A-Za-z]{5,}")
STEM = snowballstemmer.stemmer("english").stemWord


def texts(folders, most_bytes=200_000):
    seen = {}
    for folder in folders:
        for root, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                path = os.path.join(root, name)
                if name.lower().endswith(".md") and os.path.getsize(path) < most_bytes:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        seen.setdefault(file.read(), path)
    return list(seen)


def stems(text):
    """Of all words, also of the parts of identifiers such as `camelCase` and `snake_case`."""
    words = re.findall(r"[A-Za-z]+", text) + re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return {STEM(word.lower()) for word in words}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("memdir")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--imported", action="store_true")
    parser.add_argument("--model")
    given = parser.parse_args()
    notes = texts(given.folders)
    held = [stems(note) for note in notes]
    often = collections.Counter(stem for its in held for stem in its)
    words = sorted({word.lower() for note in notes for word in WORD.findall(note)})
    rare = [word for word in words if 2 <= often[STEM(word)] <= 5]
    random.Random(given.seed).shuffle(rare)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "XDG_DATA_HOME": home + "/data"}
        store = os.path.join(home, "store")
        run = lambda *words: subprocess.run(
            [os.path.abspath(given.memdir), "--store", store, *words],
            env=environment, capture_output=True, text=True, check=False)
        run("init", store)
        copied = os.path.join(home, "notes") if given.imported else os.path.join(store, "files")
        os.makedirs(copied, exist_ok=True)
        for number, note in enumerate(notes):
            with open(os.path.join(copied, f"note-{number:05}.md"), "w", encoding="utf-8") as file:
                file.write(note)
        if given.imported:
            run("import", "--from", "markdown", copied)
        if given.model:
            run("model", "use", os.path.abspath(given.model))
        run("reindex", "--full")
        stored = {}
        id_of = lambda name: name.removesuffix(".md")[-8:] if given.imported else name.removesuffix(".md")
        for name in os.listdir(os.path.join(store, "files")):
            with open(os.path.join(store, "files", name), encoding="utf-8") as file:
                stored[id_of(name)] = file.read()
        stored = {name: (text.lower(), stems(text)) for name, text in stored.items()}
        hits = without = unmarked = misplaced = 0
        for word in rare[:given.words]:
            is_behind = False
            for hit in json.loads(run("think", "--json", "--limit", "25", word).stdout or "[]"):
                text, its = stored[hit["id"]]
                holds = STEM(word) in its or word in text
                hits += 1
                without += not holds
                misplaced += holds and is_behind
                is_behind |= not holds
                if not holds:
                    marked = hit.get("found_by")
                    unmarked += marked is None
                    print(f"  {word}: {hit['id']} does not hold it, marked {marked}")
        share = 100 * without / max(hits, 1)
        print(f"{len(stored)} notes, {given.words} words, {hits} hits: {without} ({share:.1f} %) without "
              f"the word, {unmarked} of them not marked, {misplaced} hits behind one")
    too_many = share > 2 and not given.model
    return 1 if too_many or unmarked or misplaced or not hits else 0


if __name__ == "__main__":
    sys.exit(main())
