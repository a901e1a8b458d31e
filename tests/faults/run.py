#!/usr/bin/env python3
"""Injects faults of disks, kernels, editors and other processes into a store, and counts losses.

usage: tests/faults/run.py PROGRAM [--long] [--only NAME,…] [--seed N] [-v]

Prints a line for each set of faults, then a table, and "faults injected: N, losses found: M".
Exit code 1 if anything was lost. What this machine cannot do is named in a line that begins with
"skipped:". The short set takes less than three minutes on two cores; README.md describes the sets.
"""
import argparse
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import Setting, Tally

SETS = [
    "proof",
    "sweep",
    "powercut",
    "full",
    "readonly",
    "race",
    "editors",
    "checkout",
    "watches",
    "limits",
    "ending",
    "gitkill",
]
# Only with --long, or if asked for by name.
LONG_SETS = ["shutdown"]
# At most so many losses of a set are printed; the rest is counted.
SHOWN_LOSSES = 20
NAMESPACE = "MEMDIR_FAULTS_NAMESPACE"


def main(about=__doc__, sets=SETS, long_sets=LONG_SETS):
    """Runs the chosen of these sets, which are modules beside this one. Returns the exit code."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the memdir to test")
    parser.add_argument("--long", action="store_true", help="every error at every call, more rounds, more sets")
    parser.add_argument("--only", metavar="NAME,…", help="only these sets: " + ", ".join(sets + long_sets))
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn at random")
    parser.add_argument("-v", action="store_true", help="every fault and every loss as it comes")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",") if arguments.only else sets + (long_sets if arguments.long else [])
    for name in chosen:
        if name not in sets + long_sets:
            parser.error(f"there is no set called {name}")
    program = os.path.abspath(arguments.program)
    if not os.access(program, os.X_OK):
        parser.error(f"{program} is no program")
    cannot_mount = enter_namespace()
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    work = tempfile.mkdtemp(prefix="memdir-faults-", dir=in_memory)
    disk = tempfile.mkdtemp(prefix="memdir-faults-")
    os.mkdir(os.path.join(work, "home"))
    setting = Setting(
        program=program, work=work, disk=disk, long=arguments.long, verbose=arguments.v, seed=arguments.seed,
        jobs=len(os.sched_getaffinity(0)), cannot_mount=cannot_mount,
    )
    # Ended from outside, it tidies up as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run_sets(setting, chosen)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(disk, ignore_errors=True)


def enter_namespace():
    """Starts this program anew with mounts of its own, which end with it; else says why not."""
    state = os.environ.get(NAMESPACE)
    if state:
        return "" if state == "own" else state
    options = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    why = "unshare is not installed"
    if shutil.which("unshare"):
        tried = subprocess.run(["unshare", *options, "true"], capture_output=True, text=True)
        if tried.returncode == 0:
            os.environ[NAMESPACE] = "own"
            os.execvp("unshare", ["unshare", *options, sys.executable, *sys.argv])
        why = tried.stderr.strip()
    os.environ[NAMESPACE] = why
    return why


def run_sets(setting, chosen):
    rows, skipped = [], []
    for name in chosen:
        tally, begun = Tally(setting.verbose), time.monotonic()
        try:
            importlib.import_module(name).run(setting, tally)
        except Exception as error:  # One set that breaks down must not hide the others.
            if setting.verbose:
                raise
            tally.loss(f"the set broke down: {type(error).__name__}: {error}")
        seconds = time.monotonic() - begun
        print(f"{name}: {tally.faults} faults, {len(tally.losses)} losses, {seconds:.0f} s", flush=True)
        for note in tally.notes:
            print("   ", note)
        for loss in tally.losses[:SHOWN_LOSSES]:
            print("    LOST", loss)
        if len(tally.losses) > SHOWN_LOSSES:
            print(f"    … and {len(tally.losses) - SHOWN_LOSSES} more")
        for line in tally.skipped:
            print("skipped:", line)
        sys.stdout.flush()
        rows.append((name, tally.faults, len(tally.losses), seconds))
        skipped += tally.skipped
    faults, losses = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"\n{'set':<12}{'faults':>8}{'losses':>8}{'seconds':>9}")
    for name, of_faults, of_losses, seconds in rows:
        print(f"{name:<12}{of_faults:>8}{of_losses:>8}{seconds:>9.0f}")
    for line in skipped:
        print("skipped:", line)
    print(f"seed {setting.seed}; faults injected: {faults}, losses found: {losses}")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
