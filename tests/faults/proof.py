"""Proves the harness: each classic mistake of writing a file is found, and the right way passes.

The subject is the toy writer, which makes one mistake at a time. The real program only judges the
store that the toy leaves behind. A mistake that is not found, or a false alarm, counts as a loss.
"""
import os
import shutil
import sys

import deeds
import powercut
import race
import sweep
from harness import Tally

# Mistake → the sets that must find it. What they do not show, such as a missing sync to a kill, is
# not for them.
FOUND_BY = {
    "good": set(),
    "no fsync": {"powercut"},
    "no folder fsync": {"powercut"},
    "in place": {"sweep", "powercut", "race"},
    "rename over": {"race"},
    "swallowed fsync error": {"sweep"},
}


def run(setting, tally):
    if not shutil.which("strace"):
        tally.skip("proof of sweep and powercut", "strace is not installed")
    toy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "toy.py")
    for mode, expected in FOUND_BY.items():
        # Without the site module and the user's settings it starts twice as fast.
        subject = [sys.executable, "-I", "-S", toy, mode]
        tries = {
            "race": lambda tried: race.race_to_remember(setting, tried, subject, writers=6, each=8),
        }
        if shutil.which("strace"):
            tries["sweep"] = lambda tried: sweep.sweep(setting, tried, deeds.Remember(), ["EIO"], subject=subject)
            tries["powercut"] = lambda tried: powercut.cut(setting, tried, deeds.Remember(), subject)
        for name, attempt in tries.items():
            tried = Tally()
            # Whether two meet in a race is a matter of chance.
            for _ in range(3):
                attempt(tried)
                if tried.losses or name not in expected:
                    break
            tally.fault(tried.faults)
            tally.log(f"{mode}, {name}: {tried.losses[:3]}")
            if name in expected:
                tally.check(tried.losses, f"{name} does not find the mistake `{mode}`")
            else:
                tally.check(not tried.losses, f"{name} raises a false alarm for `{mode}`: {tried.losses[:2]}")
        finders = sorted(expected & set(tries))
        tally.note(f"{mode}: tried by {', '.join(sorted(tries))}; to be found by {', '.join(finders) or 'none'}")
