#!/usr/bin/env python3
"""Makes data sets for `memdir eval` of any folder of documentation: is a note found by its heading?

usage: benches/known_items.py FOLDER... --out DIR [--most N]

Every section of every markdown file below the folders becomes a memory, its heading a question, the
section the one answer. Headings of one word, headings that stand in several places, and sections of
less than twenty words are left out. Writes two sets below DIR:

  titled    the heading is the memory's title
  untitled  the heading is nowhere in the memory but where its text repeats it
"""
import argparse
import json
import os
import random
import re
import sys

HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*#*\s*$")


def sections(path):
    """Each heading of a file with the text below it, up to the next one."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    heading, text, is_code = None, [], False
    for line in lines + ["# "]:
        is_code ^= line.lstrip().startswith("```")
        found = None if is_code else HEADING.match(line)
        if found or line == "# ":
            if heading:
                yield heading, "\n".join(text).strip()
            heading, text = found and re.sub(r"[`*_\[\]]|\(.*?\)", "", found.group(2)).strip(), []
        else:
            text.append(line)


def collect(folders, most):
    found, often = [], {}
    for folder in folders:
        for root, names, files in os.walk(folder):
            names.sort()
            for name in sorted(file for file in files if file.endswith(".md")):
                for heading, text in sections(os.path.join(root, name)):
                    often[heading.lower()] = often.get(heading.lower(), 0) + 1
                    if len(heading.split()) > 1 and len(text.split()) >= 20:
                        found.append((heading, text[:20000]))
    found = [item for item in dict.fromkeys(found) if often[item[0].lower()] == 1]
    random.Random(1).shuffle(found)
    return found[:most]


def write(folder, items, is_titled):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "corpus.jsonl"), "w", encoding="utf-8") as corpus, \
            open(os.path.join(folder, "queries.jsonl"), "w", encoding="utf-8") as queries:
        for number, (heading, text) in enumerate(items):
            # A day apart: sections of one file are no conversation.
            day = f"{2000 + number // 336}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
            memory = {"id": str(number), "timestamp": f"{day}T12:00:00Z", "user": "author", "text": text}
            if is_titled:
                memory["title"] = heading
            print(json.dumps(memory), file=corpus)
            question = {"qid": str(number), "query": heading, "relevant_ids": [str(number)], "type": "heading"}
            print(json.dumps(question), file=queries)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--most", type=int, default=1500, metavar="N")
    arguments = parser.parse_args()
    items = collect(arguments.folders, arguments.most)
    if not items:
        print("skipped: there is no markdown file with headings below the folders")
        return 0
    for name, is_titled in (("titled", True), ("untitled", False)):
        write(os.path.join(arguments.out, name), items, is_titled)
    print(f"{len(items)} sections; now: memdir eval {arguments.out}/titled {arguments.out}/untitled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
