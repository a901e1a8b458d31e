#!/usr/bin/env python3
"""Changes the same memories on several machines at random, and sees whether all come to the same.

usage: tests/faults/convergence.py PROGRAM [--steps 1000 | --minutes N] [--seed N] [--machines 3] [-v]
           [--over path|ssh|http|https] [--by program|library] [--dialects]

The machines are stores in homes of their own, which meet at a bare repository. Beside memories that
are written, changed, forgotten, restored, moved and deleted, by commands, servers and hand, syncs
and servers are killed at random moments (with the gits that they started, or without), users pull and commit with git
themselves and undo what they did, and the remote is away for a while. Over ssh and http a cable lies between, which is
slow, falls silent, or breaks off in the middle, too. With --dialects each machine also runs a server of each
other dialect, which are told lines and killed. After every hundred steps, and at the end, all
machines sync; then
  - their files are equal, byte for byte, and committed;
  - every line that was acknowledged, and that nobody took out who had seen it, is in some file;
  - memories are linked as conflicting only where two people changed one of them without knowing of each other, and no
    more of them than that (`pairs.py`); `undo` takes nothing back that was done on another machine;
  - `memdir verify` and `git fsck` find nothing, on the remote neither; no file holds a conflict
    marker, no lock is left;
  - every commit that ever was the remote's newest is still in its history.
At the very end no process is left, and no credential is in anything that was printed or written.
Prints the seed, what was done and what was lost, and keeps the folders then; exit code 1 if
anything was. `steps.log` in them tells each step. Linux only.
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

import agreement
import repositories
import ways
from deeds_apart import DIALECTS, Apart
from expected import Loss
from harness import Failed, Setting, wait_until
from secrecy import CommandLines

CHECK_EVERY = 100
# So many are there before anything else is done: some steps delete.
FIRST_MEMORIES = 12

ACTIONS = {
    Apart.remember: 14, Apart.change: 12, Apart.update: 6, Apart.forget: 3, Apart.restore: 2, Apart.delete: 1,
    Apart.rename: 1, Apart.user_commit: 3, Apart.user_gc: 1, Apart.user_pull: 5, Apart.undo: 3, Apart.tidy: 2,
    Apart.meet: 22, Apart.add_twice: 3, Apart.sync: 16,
    Apart.kill_sync: 8, Apart.start_server: 3, Apart.end_server: 1, Apart.kill_server: 2, Apart.go_offline: 1,
}
# What servers of other dialects do beside that.
IN_DIALECTS = {Apart.tell: 14, Apart.kill_other: 3}
# What else befalls a way that has a cable.
TROUBLES = {Apart.go_slow: 2, Apart.cut_in_the_middle: 6, Apart.fall_silent: 5}


def walk(apart, arguments, dice):
    """Random steps with checks between them; the number of losses, printed."""
    begun, steps = time.monotonic(), arguments.steps
    is_over = lambda step: step >= steps
    if arguments.minutes:
        is_over = lambda _: time.monotonic() - begun >= 60 * arguments.minutes
    for machine in apart.machines:
        for _ in range(FIRST_MEMORIES // len(apart.machines)):
            apart.remember(machine)
    agreement.settle(apart)
    actions = {**ACTIONS, **(TROUBLES if apart.way.wire else {}), **(IN_DIALECTS if arguments.dialects else {})}
    if arguments.dialects:
        for machine in apart.machines:
            machine.start_server()
            for dialect in DIALECTS:
                machine.other(dialect)
    while not is_over(apart.step):
        apart.step += 1
        if apart.mended_at == apart.step:
            apart.come_back()
        [action] = dice.choices(list(actions), actions.values())
        for machine in apart.machines:
            apart.edits.look(machine)
        action(apart, dice.choice(apart.machines))
        apart.done[action.__name__] += 1
        apart.note_tip()
        if apart.step % CHECK_EVERY == 0 and not is_over(apart.step):
            check(apart)
    for machine in apart.machines:
        apart.end_server(machine)
        for dialect in list(machine.others):
            machine.end_other(dialect, lambda server: server.close_input())
    check(apart)
    left = lambda: repositories.running_in(apart.setting.work, but=apart.way.servers)
    if not wait_until(lambda: not left(), within=agreement.AFTERWARDS):
        raise Loss(f"processes are left: {left()}")
    if found := agreement.wrong_in_the_end(apart):
        raise Loss("\n    ".join(found))


def check(apart):
    rounds = agreement.settle(apart)
    apart.done[f"in step after {rounds} rounds"] += 1
    for machine in apart.machines:
        apart.edits.look(machine)
    found = agreement.wrong(apart)
    apart.edits.settled()
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
    parser.add_argument("--minutes", type=float, help="go on for so long, whatever the number of steps")
    parser.add_argument("--dialects", action="store_true", help="run a server of each dialect on each machine")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--over", choices=ways.WAYS, default="path", help="how the machines reach the remote")
    parser.add_argument("--by", choices=["program", "library"], default="program", help="what memdir uses for it")
    parser.add_argument("-v", action="store_true", help="name every step")
    arguments = parser.parse_args()
    if not shutil.which("git"):
        print("skipped: convergence: git is not installed")
        return 0
    print(f"seed {arguments.seed}, over {arguments.over} by {arguments.by}", flush=True)
    work = tempfile.mkdtemp(prefix="convergence-")
    os.mkdir(os.path.join(work, "home"))
    setting = Setting(
        program=os.path.abspath(arguments.program), work=work, disk=work, long=False, verbose=arguments.v,
        seed=arguments.seed, jobs=1, cannot_mount="",
    )
    remote = repositories.new_remote(setting, os.path.join(work, repositories.REMOTE))
    try:
        way = ways.WAYS[arguments.over](setting, remote)
    except ways.Unavailable as why:
        print(f"skipped: convergence over {arguments.over}: {why}")
        shutil.rmtree(work)
        return 0
    try:
        with CommandLines(os.path.join(work, "command lines.log")):
            return run(setting, way, arguments)
    finally:
        way.close()


def run(setting, way, arguments):
    """One walk; the exit code."""
    begun, dice = time.monotonic(), random.Random(arguments.seed)
    apart, lost = Apart(setting, arguments.machines, dice, way, arguments.by), None
    try:
        walk(apart, arguments, dice)
    except (Loss, Failed) as loss:
        lost = loss
    finally:
        for machine in apart.machines:
            machine.end_sync(within=0)
            machine.kill_server(with_children=True)
            for dialect in list(machine.others):
                machine.end_other(dialect, lambda server: repositories.end(server.process, True))
    report(apart)
    print(f"losses: {1 if lost else 0}, {time.monotonic() - begun:.0f} s")
    if lost:
        print(f"seed {arguments.seed}, step {apart.step}: {lost}\nthe machines are kept in {setting.work}")
        return 1
    shutil.rmtree(setting.work)
    return 0


def report(apart):
    """Prints what was done, and how long memories took where the remote was out of reach."""
    print(", ".join(f"{name} {count}" for name, count in sorted(apart.done.items())))
    for (what, why), count in sorted(apart.refused.items()):
        print(f"    refused {count} times: {what}: {why}")
    memories = len(apart.machines[0].memories()), len(apart.machines[0].memories("archive"))
    for trouble, took in apart.took.items():
        print(f"    remember, {trouble or 'no trouble'}: {len(took)} times, {1000 * statistics.median(took):.0f} ms in "
              f"the median, {1000 * max(took):.0f} ms at most")
    if apart.way.wire:
        print("    the cable:", ", ".join(f"{count} {what}" for what, count in sorted(apart.way.wire.counted.items())))
    print(f"{apart.step} steps, {memories[0]} memories, {memories[1]} forgotten, {len(apart.acknowledged)} lines "
          f"acknowledged, {len(apart.taken_out)} taken out, ", end="")


if __name__ == "__main__":
    sys.exit(main())
