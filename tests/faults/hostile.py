#!/usr/bin/env python3
"""Attacks a store as a handed-over folder, a remote, a listener or a caller would, and counts what gets through.

usage: tests/faults/hostile.py PROGRAM [--long] [--only NAME,…] [--seed N] [-v]

Every module `hostile_NAME.py` is a scene, written like a set of run.py. A *fault* is one attack; a *loss* is an
attack that reached what it wanted: a program that ran, a foreign file that was read or moved, a token that was
given away, a command that hung or died. The short scenes take less than three minutes together on two cores.
"""
import pathlib
import sys

import run

SCENES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("hostile_*.py"))

if __name__ == "__main__":
    sys.exit(run.main(about=__doc__, sets=SCENES, long_sets=[]))
