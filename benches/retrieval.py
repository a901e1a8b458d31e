#!/usr/bin/env python3
"""Measures how well `memdir think` finds what questions ask for.

usage: benches/retrieval.py [--memdir PROGRAM] [--run-dir DIR] DATASET...

A DATASET is a folder with corpus.jsonl {id, timestamp, user, agent, text, scope} and queries.jsonl
{qid, query, relevant_ids, scope}. Each set becomes a store of its own (`memdir import`), each
question one `think` call with a `query`, words only, through the MCP server. `scope` becomes the
namespace; "scoped" asks with that namespace as a filter, "pooled" without.

Prints recall@10 and NDCG@10 (binary gains, macro mean over questions, in percent). With
--run-dir, writes the rankings as {qid, ranked} lines for other scorers.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from mcp_server import Server


def think(server, arguments):
    """The ids that `think` answers with, best first."""
    return [hit["id"] for hit in server.call("think", arguments)["results"]]


def metrics(relevant, ranked):
    relevant = set(relevant)
    hits = [place for place, found in enumerate(ranked[:10]) if found in relevant]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    gain = sum(1 / math.log2(place + 2) for place in hits)
    return len(hits) / len(relevant), gain / ideal


def measure(program, folder, run_dir):
    environment = {**os.environ, "MEMDIR_NAMESPACE": "global", "TZ": "UTC"}
    with tempfile.TemporaryDirectory() as store:
        subprocess.run([program, "--store", store, "init"], check=True, capture_output=True)
        imported = subprocess.run(
            [program, "--store", store, "import", "--from", "jsonl",
             os.path.join(folder, "corpus.jsonl"), "--json"],
            check=True, capture_output=True, env=environment,
        )
        source = {pair["id"]: pair["source_id"] for pair in json.loads(imported.stdout)}
        with open(os.path.join(folder, "queries.jsonl")) as lines:
            queries = [json.loads(line) for line in lines]
        server = Server(program, store, environment)
        row = {"set": os.path.basename(folder.rstrip("/")), "memories": len(source), "questions": len(queries)}
        for mode in ("pooled", "scoped"):
            scores, runs = [], []
            for query in queries:
                arguments = {"query": query["query"], "limit": 25}
                if mode == "scoped":
                    arguments["namespace"] = query["scope"]
                ranked = [source[found] for found in think(server, arguments)]
                scores.append(metrics(query["relevant_ids"], ranked))
                runs.append({"qid": query["qid"], "ranked": ranked})
            row[mode] = [100 * sum(score[at] for score in scores) / len(scores) for at in (0, 1)]
            if run_dir:
                os.makedirs(run_dir, exist_ok=True)
                with open(os.path.join(run_dir, f"{row['set']}.{mode}.jsonl"), "w") as out:
                    out.writelines(json.dumps(run) + "\n" for run in runs)
        server.close()
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--run-dir")
    parser.add_argument("datasets", nargs="*", metavar="DATASET")
    arguments = parser.parse_args()
    missing = [folder for folder in arguments.datasets if not os.path.exists(os.path.join(folder, "corpus.jsonl"))]
    if missing or not arguments.datasets:
        print("skipped: no data set was given or found" + "".join(f"; no {folder}/corpus.jsonl" for folder in missing))
        return 0
    print("| set | memories | questions | pooled R@10 / NDCG@10 | scoped R@10 / NDCG@10 |")
    print("|---|---|---|---|---|")
    for folder in arguments.datasets:
        row = measure(arguments.memdir, folder, arguments.run_dir)
        shown = ["{:.1f} / {:.1f}".format(*row[mode]) for mode in ("pooled", "scoped")]
        print(f"| {row['set']} | {row['memories']} | {row['questions']} | {' | '.join(shown)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
