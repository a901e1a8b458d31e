#!/usr/bin/env python3
"""Measures the hooks of clients: time and size of `memdir hook session-start` and `memdir hook prompt`.

usage: hooks.py [PROGRAM] [--notes 10000] [--calls 300] [--server]

A store of made-up notes, indexed, its files warm; git and models are off, and no server runs without --server. Every session-start is that
of a new session. Half of the prompts are about a note, by its title; half are everyday ones
(fixtures/prompts/everyday.txt), of sessions of their own. Prints wall and CPU time of the process in ms, p50 and p99,
the bytes printed, p50 and most, and how many calls printed something. Nothing is asserted. Linux only.
"""
import argparse
import json
import os
import subprocess
import tempfile

from measure import Cost, spread
from notes import indexed_store

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default="memdir")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--server", action="store_true", help="a server of the store runs, as the service does")
    given = parser.parse_args()
    program = os.path.abspath(given.program) if os.path.sep in given.program else given.program
    with tempfile.TemporaryDirectory(prefix="memdir-hooks-") as work:
        project = os.path.join(work, "project")
        os.makedirs(project)
        environment = indexed_store(program, work, given.notes)
        files = os.path.join(environment["MEMDIR_STORE"], "files")

        server = serve(program, environment) if given.server else None

        def call(event, **message):
            message = {"cwd": project, **message}
            cost = Cost([program, "hook", event, "--client", "claude-code"], environment, project, json.dumps(message))
            assert cost.code == 0, f"{event}: exit code {cost.code}"
            return cost

        titles = []
        for name in sorted(os.listdir(files))[::max(1, given.notes // given.calls)]:
            with open(os.path.join(files, name)) as note:
                titles += [line[len("title: "):].strip() for line in note if line.startswith("title: ")]
        with open(os.path.join(ROOT, "fixtures/prompts/everyday.txt")) as prompts:
            everyday = [line.strip() for line in prompts if line.strip()]

        # The first calls of a program read it and the index from the disk.
        for number in range(5):
            call("session-start", session_id=f"warm-{number}", source="startup")
            call("prompt", session_id=f"warm-{number}", prompt=titles[number])
        half = given.calls // 2
        work_of = {
            "session-start": [("session-start", {"source": "startup"})] * given.calls,
            "prompt, about a note": [("prompt", {"prompt": f"What is known of {titles[at % len(titles)]}?"})
                                     for at in range(half)],
            "prompt, everyday": [("prompt", {"prompt": everyday[at % len(everyday)]})
                                 for at in range(given.calls - half)],
        }
        running = "a server runs" if given.server else "no server runs"
        print(f"{given.notes} notes, {os.path.basename(program)}, {running}; ms")
        print(f"{'hook':<22}{'calls':>6}{'wall p50':>10}{'p99':>8}{'CPU p50':>10}{'p99':>8}{'bytes p50':>11}{'most':>7}"
              f"{'printed':>9}")
        for label, calls in work_of.items():
            costs = [call(event, session_id=f"{label}-{number}", **message)
                     for number, (event, message) in enumerate(calls)]
            wall, cpu = spread([cost.wall_ms for cost in costs]), spread([cost.cpu_ms for cost in costs])
            size = sorted(len(cost.out) for cost in costs)
            print(f"{label:<22}{len(costs):>6}{wall[0]:>10.1f}{wall[1]:>8.1f}{cpu[0]:>10.1f}{cpu[1]:>8.1f}"
                  f"{size[len(size) // 2]:>11}{size[-1]:>7}{sum(map(bool, size)):>9}")
        if server:
            server.terminate()
            server.communicate()


def serve(program, environment):
    """Starts a server of the store, and returns it when it listens."""
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0"], env=environment, text=True,
                              stderr=subprocess.PIPE)
    for line in server.stderr:
        if "MCP at /mcp" in line:
            return server
    raise SystemExit("error: the server ended before it listened")


if __name__ == "__main__":
    main()
