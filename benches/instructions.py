#!/usr/bin/env python3
"""Counts the instructions of fixed operations, and fails where one takes many more than it did.

usage: benches/instructions.py PROGRAM [--only WORD] [--runs N]
       MEMDIR_RENEW=1 benches/instructions.py PROGRAM [--only WORD]

Time on a clock differs from run to run; the number of instructions hardly does. PROGRAM is a release build of memdir.
Each operation is a whole process on a store of 1,000 notes, under valgrind, with one thread where rayon has several.
The least of at most three counts is compared with benches/instructions.json: more than 10 % above it is a failure, more
than 10 % below it is said. What another compiler or another kind of machine made is not compared.

With MEMDIR_RENEW=1 the counts become the baseline, those of `--only` or all; the commit says why. With `--runs N` it
only prints how far N counts of each operation differ. Needs valgrind.
"""
import argparse
import hashlib
import http.client
import json
import mmap
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from mcp_server import Server
from notes import make_notes, questions

BASELINE = pathlib.Path(__file__).with_name("instructions.json")
NOTES = 1000
# A count may be this share above the baseline, or below it.
TOLERANCE = 0.10
RUNS = 3
# When every note was changed: long ago, so that no file counts as one that may still change.
CHANGED = 1_710_000_000
# In how many requests of each kind the session consists.
ASKED = 20
# How many memories are written.
WRITTEN = 10
# Age from which git's index vouches for a file, in seconds.
CERTAIN = 3


def handle(number):
    """The id of a note."""
    return hashlib.sha1(str(number).encode()).hexdigest()[:7] + "a"


def commands(*arguments):
    return lambda counting: counting.command(arguments)


def session(counting):
    """A conversation over MCP: each question is asked when the one before it has been answered."""
    asked = questions(ASKED)

    def talk(server):
        for number in range(ASKED):
            server.call("think", {"query": asked[number]})
        for number in range(ASKED):
            server.call("recall", {"memory_ids": [handle(number * NOTES // ASKED)]})

    return counting.server(talk)


def remembering(counting):
    """A write of the usual size."""
    return counting.command(["remember", "--topics", "measured", written(1)[0]])


def adding_and_finding(counting):
    """Each memory is asked for as soon as it is written, by a process that stays and indexes nothing behind its answers:
    when a server does that is chance, and how busy the machine is decides it."""
    lines = []
    for number, text in enumerate(written(WRITTEN)):
        lines += [f"remember --topics measured 'zq{number}needle. {text}'", f"think zq{number}needle"]
    return counting.command(["shell"], lines=lines)


def over_http(counting):
    asked = questions(ASKED)

    def talk(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        for question in asked:
            connection.request("GET", "/api/v1/recall?" + urllib.parse.urlencode({"context": question, "limit": 10}))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                sys.exit(f"no answer over HTTP: {answer.status} {text}")
        connection.close()

    return counting.http(talk)


def touched(counting):
    """Every file got another time, and keeps its bytes: a copy of a folder, or a clone."""
    for name in counting.notes:
        os.utime(os.path.join(counting.files, name), (CHANGED + 60, CHANGED + 60))
    count = counting.command(["reindex"])
    for name in counting.notes:
        os.utime(os.path.join(counting.files, name), (CHANGED, CHANGED))
    return count


def committing(counting):
    """A commit of one new memory, in a store whose other memories are committed."""
    newest = max(os.stat(os.path.join(counting.files, name)).st_ctime for name in counting.notes)
    time.sleep(max(0, newest + CERTAIN - time.time()))
    with_git = {"MEMDIR_GIT": "true"}
    text = "The nightly backup of the archive takes eleven minutes."
    subprocess.run([counting.program, "sync"], env={**counting.environment, **with_git}, check=True, capture_output=True)
    subprocess.run([counting.program, "remember", text], env=counting.environment, check=True, capture_output=True)
    return counting.command(["sync"], with_git)


def written(count):
    """Texts of 1.9 KB, as the notes of the store have."""
    with tempfile.TemporaryDirectory() as folder:
        make_notes(folder, NOTES + count)
        names = sorted(os.listdir(folder))[NOTES:]
        texts = [pathlib.Path(folder, name).read_text().split("---\n", 2)[2] for name in names]
        return [" ".join(text.split()) for text in texts]


SENTENCE = "which of the two deploys broke the login of the customers in berlin, and how did we roll back the migration?"

# By name; the baseline has the same names.
OPERATIONS = {
    "--version": commands("--version"),
    "reindex --full, 1,000 notes": commands("reindex", "--full"),
    "reindex, nothing to do": commands("reindex"),
    "think, two words": commands("think", "postgres", "deadlock"),
    "think --keywords, two words": commands("think", "--keywords", "postgres", "deadlock"),
    "recall, one id": commands("recall", handle(500)),
    "remember": commands("remember", "--topics", "build", "The build takes 31 minutes on two cores."),
    "grep, a rare literal": commands("grep", "zqneedle7 here"),
    "mcp, 20 think and 20 recall": session,
    "think, a sentence": commands("think", SENTENCE),
    "remember, 1.9 KB": remembering,
    "shell, 10 times remember and think": adding_and_finding,
    "http, 20 recall": over_http,
    "reindex, 1,000 touched": touched,
    "sync, a commit of one": committing,
}


class Counting:
    """A store, and the program on it under valgrind."""

    def __init__(self, program, folder):
        self.program = program
        self.store = os.path.join(folder, "store")
        self.files = os.path.join(self.store, "files")
        self.log = os.path.join(folder, "log")
        self.under = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={self.log}",
                      "--vgdb=no"]
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8", "TZ": "UTC", "MEMDIR_STORE": self.store,
            "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "false", "MEMDIR_EMBEDDING": "off", "RAYON_NUM_THREADS": "1",
        }
        os.makedirs(self.files)
        make_notes(self.files, NOTES)
        self.notes = set(os.listdir(self.files))
        for name in self.notes:
            os.utime(os.path.join(self.files, name), (CHANGED, CHANGED))

    def prepare(self):
        """Makes the store what it was at first, with a full index."""
        for name in os.listdir(self.store):
            if name != "files":
                shutil.rmtree(os.path.join(self.store, name))
        for name in set(os.listdir(self.files)) - self.notes:
            os.remove(os.path.join(self.files, name))
        for command in (["reindex", "--full"], ["reindex"]):
            subprocess.run([self.program, *command], env=self.environment, check=True, capture_output=True)

    def command(self, arguments, more=(), lines=()):
        environment = {**self.environment, **dict(more)}
        ended = subprocess.run([*self.under, self.program, *arguments], env=environment, capture_output=True, text=True,
                               input="".join(line + "\n" for line in lines))
        if ended.returncode:
            sys.exit(f"`memdir {' '.join(arguments)}` ended with code {ended.returncode}: {ended.stderr}")
        return self.counted()

    def server(self, talk):
        server = Server(self.program, self.store, self.environment, self.under)
        talk(server)
        server.close(60)
        return self.counted()

    def http(self, talk):
        server = subprocess.Popen([*self.under, self.program, "serve", "--no-token", "--listen", "127.0.0.1:0"],
                                  env=self.environment, stderr=subprocess.PIPE, text=True)
        talk(int(re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline())[1]))
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
        return self.counted()

    def counted(self):
        with open(self.log) as log:
            text = log.read()
        found = re.search(r"Collected : (\d+)", text)
        if not found:
            sys.exit(f"valgrind counted nothing: {text}")
        return int(found[1])

    def count(self, operation):
        self.prepare()
        return OPERATIONS[operation](self)


def made_with(program):
    """What the counts depend on: the compiler, as the program names it, and the kind of machine; and what they depend on
    a little."""
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        found = re.search(rb"rustc version ([^\0]+)", text)
        compiler = f"rustc {found[1].decode()}" if found else "an unknown compiler"
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"compiler": compiler, "target": f"{platform.machine()}-{sys.platform}", "libc": "-".join(platform.libc_ver()),
            "valgrind": valgrind.removeprefix("valgrind-")}


def print_spread(counting, operations, runs):
    for operation in operations:
        counts = [counting.count(operation) for _ in range(runs)]
        share = 100 * (max(counts) - min(counts)) / min(counts)
        print(f"{operation:<30} {min(counts):>14,} to {max(counts):>14,}  {share:6.2f} %", flush=True)


def renew(counting, operations, made):
    old = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    kept = old.get("instructions", {})
    if len(operations) < len(OPERATIONS) and any(old.get(key) != made[key] for key in ("compiler", "target")):
        sys.exit("the baseline is of another compiler or machine: renew all of it, without --only")
    for operation in operations:
        count = min(counting.count(operation) for _ in range(RUNS))
        print(f"{operation:<30} {count:>14,}  was {kept.get(operation, 0):>14,}", flush=True)
        kept[operation] = count
    ordered = {operation: kept[operation] for operation in OPERATIONS if operation in kept}
    BASELINE.write_text(json.dumps({**made, "instructions": ordered}, indent=1) + "\n")
    print(f"renewed {BASELINE}: say in the commit why the numbers changed")


def compare(counting, operations, baseline, made, program):
    """What failed, as sentences."""
    failures, remarks = [], []
    again = f"MEMDIR_RENEW=1 benches/instructions.py {program}"
    for operation in operations:
        known = baseline["instructions"].get(operation)
        if known is None:
            failures.append(f"`{operation}` has no baseline. Make one: {again} --only='{operation}'")
            continue
        count = None
        for _ in range(RUNS):
            one = counting.count(operation)
            count = one if count is None else min(count, one)
            # Chance adds instructions and never takes any away, so one count that is low enough proves it.
            if count <= known * (1 + TOLERANCE):
                break
        change = count / known - 1
        print(f"{operation:<30} {count:>14,}  baseline {known:>14,}  {100 * change:+6.1f} %", flush=True)
        if change > TOLERANCE:
            failures.append(f"`{operation}` takes {100 * change:.1f} % more instructions than it did: {count:,} instead of {known:,}."
                            f" Above {100 * TOLERANCE:.0f} % is a failure. If the change is worth it, renew the baseline by hand and"
                            f" say why in the commit: {again} --only='{operation}'")
        elif change < -TOLERANCE:
            remarks.append(f"`{operation}` takes {-100 * change:.1f} % fewer instructions than it did. Renew the baseline, so that it"
                           f" stays so: {again} --only='{operation}'")
    differing = [f"{key} {baseline.get(key)}, here {made[key]}" for key in ("libc", "valgrind") if baseline.get(key) != made[key]]
    if failures and differing:
        remarks.append("The baseline was counted with " + "; ".join(differing) + ": that may be a part of the difference.")
    for remark in remarks:
        print(f"note: {remark}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--runs", type=int, metavar="N")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: the count of instructions: valgrind is not installed")
        return 0
    program = os.path.abspath(arguments.program)
    operations = [name for name in OPERATIONS if arguments.only in name]
    if not operations:
        sys.exit(f"no operation has `{arguments.only}` in its name: {', '.join(OPERATIONS)}")
    made = made_with(program)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.runs:
            print_spread(Counting(program, folder), operations, arguments.runs)
            return 0
        if os.environ.get("MEMDIR_RENEW") == "1":
            renew(Counting(program, folder), operations, made)
            return 0
        baseline = json.loads(BASELINE.read_text())
        for key in ("compiler", "target"):
            if baseline[key] != made[key]:
                print(f"skipped: the count of instructions: the baseline is of {baseline[key]}, the program of {made[key]};"
                      f" renew it: MEMDIR_RENEW=1 benches/instructions.py {arguments.program}")
                return 0
        failures = compare(Counting(program, folder), operations, baseline, made, arguments.program)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
