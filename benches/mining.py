#!/usr/bin/env python3
"""Measures `memdir mine`: processor time, memory, the repository, and what searches cost afterwards.

usage: benches/mining.py PROGRAM [--sessions 1000] [--megabytes 300] [--share 0.3] [--notes 1000] [--sync] [--check]

Makes transcripts as Claude Code writes them (benches/transcripts.py), of which a share is what people read and the rest
results of tools, thinking and the lines' own fields. They are mined into a store of notes, without a model, in a home of
its own; then again, which must change nothing. Figures are processor seconds of the whole process (reading, writing,
indexing; user and system), the peak of its memory, and for searches processor time a call of a server.

  think           a question over everything; afterwards talks are among what it finds
  think, scoped   the same in the namespace of the notes, which holds no talk
  keywords        exact words, without talks

With `--sync` talks are committed (`[talks] sync`), and the number of commits and the size of the repository are told.

With `--check` it ends with 1 if mining takes more than 60 s a 300 MB, or if searches that leave talks out cost more than
a fifth more than before, or if the repository has more than 1.2 times the bytes of the text. Linux only.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from mcp_server import Server
from measure import Cost, bytes_below
from notes import make_notes, questions
from transcripts import make_transcripts

MOST_SECONDS = 60
MOST_GROWTH = 1.2
MOST_OF_TEXT = 1.2
CALLS = 200


def searches(program, store, environment):
    """Processor ms a call, by kind, and the size of the answers."""
    asked = questions(CALLS)
    kinds = {
        "think": lambda text: ("think", {"query": text}),
        "think, scoped": lambda text: ("think", {"query": text, "namespace": "global"}),
        "keywords": lambda text: ("think", {"keywords": text.split()}),
    }
    costs = {}
    for kind, call in kinds.items():
        server = Server(program, store, environment)
        try:
            for text in asked[:20]:
                server.call(*call(text))
            server.rest()
            before = server.cpu_ms()
            for text in asked:
                server.call(*call(text))
            costs[kind] = (server.cpu_ms() - before) / len(asked)
        finally:
            server.close(60)
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=300)
    parser.add_argument("--share", type=float, default=0.3, help="of a transcript that people read")
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as home:
        store, transcripts = os.path.join(home, "store"), os.path.join(home, "projects")
        os.makedirs(transcripts)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TZ": "UTC", "MEMDIR_STORE": store, "MEMDIR_GIT": "on",
                       "MEMDIR_EMBEDDING": "off", "MEMDIR_NAMESPACE": "global", "GIT_CONFIG_NOSYSTEM": "1"}
        if options.sync:
            os.makedirs(os.path.join(home, ".config/memdir"))
            with open(os.path.join(home, ".config/memdir/config.toml"), "w") as file:
                file.write('[talks]\nsync = ["all"]\n')
        made = make_transcripts(transcripts, options.sessions, options.megabytes * 1e6, options.share)
        git = lambda *arguments: subprocess.run(["git", "-C", store, *arguments], env=environment, check=True,
                                                capture_output=True, text=True).stdout
        subprocess.run([program, "remember", "--topics", "bench", "The first."], env=environment, check=True, capture_output=True)
        make_notes(os.path.join(store, "files"), options.notes)
        commits, repository = len(git("log", "--format=%H").split()), bytes_below(os.path.join(store, ".git"))
        subprocess.run([program, "reindex", "--full"], env=environment, check=True, capture_output=True)
        before = searches(program, store, environment)
        mine = [program, "mine", "--format", "claude-code", transcripts]
        first = Cost(mine, environment)
        kept = bytes_below(os.path.join(store, "files", "talks"))
        count = sum(len(names) for _, _, names in os.walk(os.path.join(store, "files", "talks")))
        print(f"{options.sessions} sessions, {made / 1e6:.0f} MB; kept {count} memories, {kept / 1e6:.0f} MB")
        print(first.out.decode().strip().splitlines()[-1])
        print(f"mine: {first.cpu_ms / 1000:.1f} s CPU, {first.wall_ms / 1000:.1f} s, peak {first.rss_mb:.0f} MB")
        repository = bytes_below(os.path.join(store, ".git")) - repository
        print(f"git: {len(git('log', '--format=%H').split()) - commits} commits, {repository / 1e6:.1f} MB "
              f"({repository / kept:.2f} of the text)")
        second = Cost(mine, environment)
        print(f"mine again: {second.cpu_ms / 1000:.1f} s CPU; {second.out.decode().strip().splitlines()[-1]}")
        dry = Cost([*mine, "--dry-run"], environment)
        print(f"mine --dry-run: {dry.cpu_ms / 1000:.1f} s CPU, peak {dry.rss_mb:.0f} MB")
        after = searches(program, store, environment)
        for kind, ms in before.items():
            print(f"{kind}: {ms:.2f} ms CPU before, {after[kind]:.2f} ms after ({after[kind] / ms:.2f})")
        failed = [first.code, second.code] != [0, 0]
        if options.check:
            failed |= repository > MOST_OF_TEXT * kept
            failed |= first.cpu_ms / 1000 > MOST_SECONDS * made / 300e6
            failed |= any(after[kind] > MOST_GROWTH * before[kind] for kind in ("think, scoped", "keywords"))
        sys.exit(int(failed))


if __name__ == "__main__":
    main()
