#!/usr/bin/env python3
"""Changes the same memories on several machines at random, and sees whether all come to the same.

usage: tests/faults/convergence.py PROGRAM [--steps 1000] [--seed N] [--machines 3] [-v]

The machines are stores in homes of their own, which meet at a bare repository. Beside memories that
are written, changed, forgotten, restored, moved and deleted, by commands, servers and hand, syncs
and servers are killed at random moments (with the gits that they started, or without), users run
git themselves, and the remote is away for a while. After every hundred steps, and at the end, all
machines sync; then
  - their files are equal, byte for byte, and committed;
  - every line that was acknowledged, and that nobody took out who had seen it, is in some file;
  - `memdir verify` and `git fsck` find nothing, on the remote neither; no file holds a conflict
    marker, no lock is left;
  - every commit that ever was the remote's newest is still in its history.
Prints the seed, what was done and what was lost, and keeps the folders then; exit code 1 if
anything was. `steps.log` in them tells each step. Linux only.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time

import agreement
import repositories
from deeds_apart import Apart
from expected import Loss
from harness import Failed, Setting, wait_until

CHECK_EVERY = 100
# So many are there before anything else is done: some steps delete.
FIRST_MEMORIES = 12

ACTIONS = {
    Apart.remember: 14, Apart.change: 12, Apart.update: 6, Apart.forget: 3, Apart.restore: 2, Apart.delete: 1,
    Apart.rename: 1, Apart.user_commit: 3, Apart.user_gc: 1, Apart.meet: 22, Apart.add_twice: 3, Apart.sync: 16,
    Apart.kill_sync: 8, Apart.start_server: 3, Apart.end_server: 1, Apart.kill_server: 2, Apart.go_offline: 1,
}


def walk(apart, steps, dice):
    """Random steps with checks between them; the number of losses, printed."""
    for machine in apart.machines:
        for _ in range(FIRST_MEMORIES // len(apart.machines)):
            apart.remember(machine)
    agreement.settle(apart)
    for apart.step in range(1, steps + 1):
        if apart.online_at == apart.step:
            apart.come_back()
        [action] = dice.choices(list(ACTIONS), ACTIONS.values())
        action(apart, dice.choice(apart.machines))
        apart.done[action.__name__] += 1
        apart.note_tip()
        if apart.step % CHECK_EVERY == 0 and apart.step < steps:
            check(apart)
    for machine in apart.machines:
        apart.end_server(machine)
    check(apart)
    left = lambda: repositories.running_in(apart.setting.work)
    if not wait_until(lambda: not left(), within=agreement.AFTERWARDS):
        raise Loss(f"processes are left: {left()}")


def check(apart):
    rounds = agreement.settle(apart)
    apart.done[f"in step after {rounds} rounds"] += 1
    found = agreement.wrong(apart)
    if not found:
        return
    lost = [fault.split("LOST ")[1].split(",")[0] for fault in found if "LOST " in fault]
    for token in list(dict.fromkeys(lost))[:3]:
        found += ["", *agreement.story(apart, token)]
    raise Loss("\n    ".join(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("-v", action="store_true", help="name every step")
    arguments = parser.parse_args()
    if not shutil.which("git"):
        print("skipped: convergence: git is not installed")
        return 0
    print(f"seed {arguments.seed}", flush=True)
    begun, dice = time.monotonic(), random.Random(arguments.seed)
    work = tempfile.mkdtemp(prefix="convergence-")
    os.mkdir(os.path.join(work, "home"))
    setting = Setting(
        program=os.path.abspath(arguments.program), work=work, disk=work, long=False, verbose=arguments.v,
        seed=arguments.seed, jobs=1, cannot_mount="",
    )
    apart, lost = Apart(setting, arguments.machines, dice), None
    try:
        walk(apart, arguments.steps, dice)
    except (Loss, Failed) as loss:
        lost = loss
    finally:
        for machine in apart.machines:
            machine.kill_server(with_children=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(apart.done.items())))
    for (what, why), count in sorted(apart.refused.items()):
        print(f"    refused {count} times: {what}: {why}")
    memories = len(apart.machines[0].memories()), len(apart.machines[0].memories("archive"))
    print(f"{apart.step} steps, {memories[0]} memories, {memories[1]} forgotten, {len(apart.acknowledged)} lines "
          f"acknowledged, {len(apart.taken_out)} taken out, losses: {1 if lost else 0}, "
          f"{time.monotonic() - begun:.0f} s")
    if lost:
        print(f"seed {arguments.seed}, step {apart.step}: {lost}\nthe machines are kept in {work}")
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
