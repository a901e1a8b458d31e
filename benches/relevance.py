#!/usr/bin/env python3
"""Fits the relevance of hits, and says how well it is calibrated on conversations that were not used.

usage: relevance.py [--unanswered RUNS] RUNS SET [SET ...]

RUNS holds what `memdir eval --run-dir RUNS --explain SET` kept. The scopes of a set in their order are two
halves: the first, third, … are fitted, the others are reported. Prints the coefficients as src/ranking/parts/relevance.rs has them, then per set the expected
calibration error (ten bins of equal width) and the area under the ROC curve, over the first ten hits of
every question. Needs numpy.
"""
import argparse
import glob
import json
import os

import numpy

# Number of the first hits of a question that count.
HITS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unanswered", help="runs of the same sets in other scopes, where nothing answers")
    parser.add_argument("runs")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--coefficients", help="bias and values, by commas, instead of those that are fitted")
    parser.add_argument("--ridge", type=float, default=1.0)
    given = parser.parse_args()
    rows = {half: [] for half in (0, 1)}
    for folder in given.sets:
        for half, sample in read(given.runs, folder):
            rows[half].append(sample)
        for half, sample in read(given.unanswered, folder) if given.unanswered else []:
            rows[half].append((*sample[:2], 0 * sample[2], sample[3] + ", unanswered"))
    names = rows[0][0][0]
    fitted = fit(*stacked(rows[0]), given.ridge)
    if given.coefficients:
        fitted = numpy.array([float(value) for value in given.coefficients.split(",")])
    print("\n".join(f"    {name}: {value:.3f}," for name, value in zip(["bias", *names], fitted)))
    for half, label in enumerate(["fitted", "reported"]):
        report(label, rows[half], fitted)


def read(runs, folder):
    """Yields (half, (names, values, answers, set, group)) for each question of a set."""
    name = os.path.basename(os.path.normpath(folder))
    with open(os.path.join(folder, "queries.jsonl")) as file:
        questions = {question["qid"]: question for question in map(json.loads, file)}
    scopes = sorted({question.get("scope") or "" for question in questions.values()})
    for path in sorted(glob.glob(os.path.join(runs, name + ".*.jsonl"))):
        with open(path) as file:
            for line in map(json.loads, file):
                question = questions[line["qid"]]
                evidence = line["evidence"][:HITS]
                # A list of words has no relevance.
                if not evidence or not evidence[0]:
                    continue
                names = sorted(evidence[0])
                values = numpy.array([[hit[key] for key in names] for hit in evidence])
                relevant = set(question["relevant_ids"])
                answers = numpy.array([hit in relevant for hit in line["ranked"][:HITS]], dtype=float)
                half = scopes.index(question.get("scope") or "") % 2
                yield half, (names, values, answers, folder)


def stacked(samples):
    values = numpy.vstack([values for _, values, _, _ in samples])
    answers = numpy.concatenate([answers for _, _, answers, _ in samples])
    # Every set counts the same, however many questions it has.
    sizes = {}
    for _, values_, _, folder in samples:
        sizes[folder] = sizes.get(folder, 0) + len(values_)
    weights = numpy.concatenate([numpy.full(len(v), 1000 / sizes[folder]) for _, v, _, folder in samples])
    return values, answers, weights


def fit(values, answers, weights, ridge):
    """Logistic regression by Newton's method, with a small ridge on all but the bias."""
    inputs = numpy.hstack([numpy.ones((len(values), 1)), values])
    penalty = ridge * numpy.eye(inputs.shape[1])
    penalty[0, 0] = 0
    fitted = numpy.zeros(inputs.shape[1])
    for _ in range(50):
        chance = sigmoid(inputs @ fitted)
        gradient = inputs.T @ (weights * (answers - chance)) - penalty @ fitted
        curvature = (inputs.T * (weights * chance * (1 - chance))) @ inputs + penalty
        step = numpy.linalg.solve(curvature, gradient)
        fitted += step
        if numpy.abs(step).max() < 1e-8:
            break
    return fitted


def sigmoid(value):
    return 1 / (1 + numpy.exp(-numpy.clip(value, -30, 30)))


def report(label, samples, fitted):
    by_set = {}
    for _, values, answers, folder in samples:
        chances = sigmoid(fitted[0] + values @ fitted[1:])
        by_set.setdefault(os.path.basename(os.path.normpath(folder)), []).append((chances, answers))
        by_set.setdefault("all", []).append((chances, answers))
    for name, pairs in by_set.items():
        chances, answers = (numpy.concatenate(part) for part in zip(*pairs))
        first = numpy.array([pair[0].max() for pair in pairs])
        print(
            f"{label:9} {name:24} hits {len(answers):6}  answers {answers.mean():.3f}  mean {chances.mean():.3f}"
            f"  ECE {calibration_error(chances, answers):.3f}  AUC {area(chances, answers):.3f}"
            f"  best hit {numpy.median(first):.2f}"
        )


def calibration_error(chances, answers):
    bins = numpy.minimum((chances * 10).astype(int), 9)
    error = 0
    for number in range(10):
        inside = bins == number
        if inside.any():
            error += inside.mean() * abs(chances[inside].mean() - answers[inside].mean())
    return error


def area(chances, answers):
    if answers.min() == answers.max():
        return float("nan")
    _, places, counts = numpy.unique(chances, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[places]
    positive = answers == 1
    count = positive.sum()
    return (ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(answers) - count))


if __name__ == "__main__":
    main()
