#!/usr/bin/env python3
"""Mines an export of 300 MB in one line, with a string of 100 MB in it, and bounds the memory it takes.

    tests/imports/large_export.py PROGRAM [--conversations N]

The export is ChatGPT's; it is read with --dry-run, so that nothing but reading is measured. Linux only:
the peak is read from /proc.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

MOST_KB = 200_000
WORDS = "deploy token train river atlas quokka index commit memory window garden lemon".split()


def conversation(number, rng, longest=None):
    mapping = {"root": {"id": "root", "message": None, "parent": None}}
    previous = "root"
    for at in range(20):
        text = longest if longest and at == 3 else " ".join(rng.choices(WORDS, k=120))
        mapping[f"n{at}"] = {"id": f"n{at}", "parent": previous, "message": {
            "author": {"role": ["user", "assistant"][at % 2]}, "create_time": 1.7e9 + number * 1000 + at,
            "content": {"content_type": "text", "parts": [text]}, "recipient": "all", "weight": 1.0}}
        previous = f"n{at}"
    return {"title": f"Talk {number}", "create_time": 1.7e9, "conversation_id": f"id-{number}",
            "current_node": previous, "mapping": mapping}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--conversations", type=int, default=9_000)
    options = parser.parse_args()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as home:
        path = os.path.join(home, "conversations.json")
        with open(path, "w") as file:
            file.write("[")
            for number in range(options.conversations):
                json.dump(conversation(number, rng), file)
                file.write(",")
            json.dump(conversation(options.conversations, rng, "x y " * 25_000_000), file)
            file.write("]")
        os.makedirs(os.path.join(home, "store/files"))
        environment = {"HOME": home, "MEMDIR_STORE": os.path.join(home, "store"), "PATH": os.environ["PATH"]}
        answer = subprocess.run([os.path.abspath(options.program), "mine", "--dry-run", "--json", path], env=environment,
                                check=True, stdout=subprocess.PIPE)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        report = json.loads(answer.stdout)
        size = os.path.getsize(path) / 1e6
        print(f"{size:.0f} MB, {report['new']} sessions: peak {peak / 1000:.0f} MB, "
              f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.1f} s CPU")
        assert report["new"] == options.conversations + 1 and not report["damaged"], report["damaged"][:3]
        if peak > MOST_KB:
            sys.exit(f"more than {MOST_KB} KB")


if __name__ == "__main__":
    main()
