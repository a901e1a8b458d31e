#!/usr/bin/env python3
"""Measures a model on this machine: is it right, how fast is it, what memory does it take.

usage: benches/embedding.py FOLDER [--library LIBONNXRUNTIME] [--embed PROGRAM] [--threads 2] [--texts 200]

FOLDER holds a model in ONNX and its tokenizer. PROGRAM is what `cargo build --release --example
embed` makes. Each backend that there is (the ONNX Runtime of --library, and the one built in) is
compared with the ONNX Runtime for Python on the same file, over paragraphs of docs/*.md, and timed.
A quantised model gives other last digits wherever a number is rounded, so there only most texts agree.
CPU is user + system time of all threads, which a busy machine disturbs less than the clock does:
where nothing else runs, `threads / CPU` texts a second are embedded.
Needs numpy, onnxruntime and tokenizers; Linux only. For models with mean pooling. The prefixes of
config_sentence_transformers.json count among the tokens of a text.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

import numpy
import onnxruntime
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["model_quantized.onnx", "onnx/model_quantized.onnx", "model.onnx", "onnx/model.onnx"]


class Embed:
    """The program, asked one thing at a time."""

    def __init__(self, program, folder, threads, library):
        command = [program, folder, str(threads)] + ([library] if library else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.opened = json.loads(self.process.stdout.readline())

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def rss_mb(self, which="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith(which))

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Reference:
    """The same model in the ONNX Runtime for Python."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        file = next(folder / name for name in NAMES if (folder / name).is_file())
        self.session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        self.inputs = {given.name for given in self.session.get_inputs()}
        notes = folder / "config_sentence_transformers.json"
        self.prefix = json.loads(notes.read_text()).get("prompts", {}).get("passage", "") if notes.is_file() else ""
        vocabulary = sorted(self.tokenizer.get_vocab())
        # Unigram marks the begin of a word, WordPiece what follows it.
        starts = [word[1:] for word in vocabulary if word.startswith("▁")] or vocabulary
        self.words = [word for word in starts if word.isascii() and word.isalpha() and len(word) > 2]

    def encode(self, text):
        return self.tokenizer.encode(self.prefix + text)

    def states(self, rows):
        """Mean pooling over texts of one length, all in one run."""
        feed = {"input_ids": [row.ids for row in rows], "attention_mask": [row.attention_mask for row in rows],
                "token_type_ids": [row.type_ids for row in rows]}
        feed = {name: numpy.int64(values) for name, values in feed.items() if name in self.inputs}
        means = self.session.run(None, feed)[0].mean(axis=1)
        return means / numpy.linalg.norm(means, axis=1, keepdims=True)

    def vector(self, text):
        return self.states([self.encode(text)])[0]

    def of_tokens(self, dice, count):
        """A text of so many tokens, the special ones and the prefix counted."""
        words = count - len(self.encode(self.words[0]).ids) + 1
        text = " ".join(dice.choice(self.words) for _ in range(words))
        return text if len(self.encode(text).ids) == count else self.of_tokens(dice, count)


def paragraphs(reference, count):
    found = []
    for file in sorted((ROOT / "docs").glob("*.md")):
        for paragraph in file.read_text().split("\n\n"):
            tokens = len(reference.encode(paragraph).ids)
            if 5 < tokens <= 256:
                found.append(" ".join(paragraph.split()))
    random.Random(3).shuffle(found)
    return found[:count]


def neighbours(reference, texts):
    """How much a text's vector differs when others go through the model with it, unpadded."""
    lengths = {}
    for text in texts:
        row = reference.encode(text)
        lengths.setdefault(len(row.ids), []).append(row)
    together = max(lengths.values(), key=len)[:8]
    alone = numpy.concatenate([reference.states([row]) for row in together])
    return len(together), float(numpy.abs(reference.states(together) - alone).max())


def compare(rows, label, mine, expected):
    """Of each text, how far the number that differs most does; and the angle."""
    difference = numpy.sort(numpy.abs(mine - expected).max(axis=1))
    within = (difference <= 0.01).mean()
    rows.append((f"{label}: difference, {len(mine)} texts, median / highest; within 0.01",
                 f"{numpy.median(difference):.6f} / {difference[-1]:.6f}; {100 * within:.1f} %"))
    cosine = numpy.sort((mine * expected).sum(axis=1))
    rows.append((f"{label}: cosine, median / least", f"{numpy.median(cosine):.6f} / {cosine[0]:.6f}"))


def measure(rows, label, arguments, library, reference, texts, expected):
    embed = Embed(arguments.embed, arguments.folder, arguments.threads, library)
    rows.append((f"{label}: folder looked at and hashed", f"{embed.opened['ms']:.0f} ms"))
    empty = embed.rss_mb()
    first = embed.ask(query="what is it")
    rows.append((f"{label}: runs on", pathlib.Path(first["runtime"].rsplit("(", 1)[1].rstrip(")")).name))
    rows.append((f"{label}: loaded, first question answered", f"{first['ms']:.0f} ms, CPU {first['cpu_ms']:.0f}"))
    rows.append((f"{label}: memory before / with model", f"{empty:.0f} / {embed.rss_mb():.0f} MB"))

    found = embed.ask(passages=texts)["vectors"]
    single = [at for at, pieces in enumerate(found) if len(pieces) == 1]
    mine = numpy.array([found[at][0] for at in single])
    compare(rows, f"{label} and Python", mine, expected[single])

    dice = random.Random(11)
    for tokens in (32, 128):
        some = [reference.of_tokens(dice, tokens) for _ in range(32)]
        embed.ask(passages=some)
        for together in (1, 32):
            groups = [some[at:at + together] for at in range(0, 32, together)] * 3
            answers = [embed.ask(passages=group) for group in groups]
            clock = statistics.median(answer["ms"] for answer in answers) / together
            cpu = sum(answer["cpu_ms"] for answer in answers) / (len(groups) * together)
            rows.append((f"{label}: {tokens} tokens, {together} in a call, a text", f"{clock:.1f} ms, CPU {cpu:.1f}"))
    for tokens in (32, 128, 512):
        some = [reference.of_tokens(dice, tokens) for _ in range(256)]
        embed.ask(passages=some[:64], low=True)
        answer = embed.ask(passages=some, low=True)
        a_second, cpu = 1000 * len(some) / answer["ms"], answer["cpu_ms"] / len(some)
        pieces = len(answer["vectors"][0])
        rows.append((f"{label}: rebuild, {len(some)} texts of {tokens} tokens ({pieces} pieces), texts a second",
                     f"{a_second:.1f}, CPU {cpu:.1f} ms a text"))
    asked = [" ".join(text.split()[:10]) for text in texts[:100]]
    answers = [embed.ask(query=text) for text in asked]
    clock = sorted(answer["ms"] for answer in answers)
    cpu = sum(answer["cpu_ms"] for answer in answers) / len(answers)
    rows.append((f"{label}: question of 10 words, median / p90",
                 f"{statistics.median(clock):.1f} / {clock[int(0.9 * len(clock))]:.1f} ms, CPU {cpu:.1f}"))
    busy = embed.rss_mb()
    embed.ask(rest=True)
    rows.append((f"{label}: memory after all this / after rest / highest",
                 f"{busy:.0f} / {embed.rss_mb():.0f} / {embed.rss_mb('VmHWM'):.0f} MB"))
    again = embed.ask(query="what is it")
    rows.append((f"{label}: loaded again", f"{again['ms']:.0f} ms, CPU {again['cpu_ms']:.0f}"))
    embed.close()
    return numpy.array([pieces[0] for pieces in found])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--library")
    parser.add_argument("--embed", default=str(ROOT / "target/release/examples/embed"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=200)
    arguments = parser.parse_args()
    reference = Reference(pathlib.Path(arguments.folder))
    texts = paragraphs(reference, arguments.texts)
    expected = numpy.array([reference.vector(text) for text in texts])
    alike, difference = neighbours(reference, texts)
    rows = [(f"Python: a text among {alike} of its length against alone", f"{difference:.6f} at most")]
    found = {}
    backends = [("ONNX Runtime", arguments.library)] if arguments.library else []
    for label, library in backends + [("built in", None)]:
        found[label] = measure(rows, label, arguments, library, reference, texts, expected)
    if len(found) == 2:
        compare(rows, "both backends", *found.values())
    width = max(len(label) for label, _ in rows)
    print(f"{len(texts)} texts, {arguments.threads} threads\n")
    for label, value in rows:
        print(f"{label:<{width}}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
