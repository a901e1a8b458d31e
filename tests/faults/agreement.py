"""The checks of `convergence.py` once all machines have synced."""
import json
import os
import re

import repositories
import secrecy
from expected import Loss
from harness import is_memory, leftovers, read_text, wait_until

# What steps like these leave: two machines that moved one file to two places, or forgot and
# changed it; an edit that somebody was faster than; a memory that is named and was deleted.
EXPECTED_PROBLEMS = {"same-stem", "same-handle", "also-archived", "dangling-reference", "conflict-copy"}
MARKER = re.compile(rb"^(<{7} |={7}$|>{7} |\|{7} )", re.MULTILINE)
# Rounds of syncs after which nobody may have news for anybody.
ROUNDS = 6
# What was killed and left alone goes on for a while.
AFTERWARDS = 20


def settle(apart):
    """Syncs all machines, servers running or not."""
    apart.come_back()
    for round in range(1, ROUNDS + 1):
        for machine in apart.machines:
            apart.must_sync(machine)
            apart.note_tip()
        tips = {repositories.tip(machine.setting, machine.root, "HEAD") for machine in apart.machines}
        if tips == {repositories.tip(apart.setting, apart.remote)}:
            return round
    raise Loss(f"after {ROUNDS} rounds of syncs there are {len(tips)} newest commits: {sorted(tips)}")


def wrong(apart):
    """All that is wrong with machines that are in step, as sentences."""
    found = [f"{machine.name}: {fault}" for machine in apart.machines for fault in wrong_machine(apart, machine)]
    first, *others = [(machine.name, machine.tree()) for machine in apart.machines]
    for name, tree in others:
        differing = sorted(path for path in tree.keys() | first[1].keys() if tree.get(path) != first[1].get(path))
        if differing:
            found.append(f"{first[0]} and {name} differ in {len(differing)} files: {differing[:5]}")
    return found + apart.edits.wrong(apart.machines[0]) + wrong_remote(apart)


def wrong_machine(apart, machine):
    tree = machine.tree()
    found = [f"git fsck: {line}" for line in repositories.broken(machine.setting, machine.root)[:5]]
    found += [f"left behind: {path}" for path in leftovers(tree)]
    found += [f"a conflict marker in {path}" for path, text in tree.items() if MARKER.search(text)]
    found += [f"not as committed: {path}" for path in repositories.uncommitted(machine.setting, machine.root, tree)]
    git_folder = machine.path(".git")
    if not wait_until(lambda: not repositories.locks(git_folder), within=AFTERWARDS, pause=0.1):
        found.append(f"locks are left: {repositories.locks(git_folder)}")
    there = machine.tokens()
    for token, entry in apart.acknowledged.items():
        if token not in there and token not in apart.taken_out:
            found.append(f"LOST {token}, acknowledged at {entry}")
    return found + wrong_by_verify(machine, tree)


def wrong_by_verify(machine, tree):
    done = machine.run("verify", "--json")
    found = [fault for fault in done.faults() if "without a word" not in fault]
    try:
        proof = json.loads(done.out)
    except ValueError:
        return found + [f"verify fails: {done.err.strip()[:200]}"]
    found += [f"the index: {fault}" for fault in proof["index_faults"][:3]]
    files = sum(path.startswith("files/") and is_memory(path) for path in tree)
    if proof["files"] != files:
        found.append(f"verify counts {proof['files']} memories of {files}")
    for problem in proof["problems"]:
        if problem["code"] not in EXPECTED_PROBLEMS:
            found.append(f"{problem['file']}: {problem['code']}: {problem['problem']}")
    return found


def wrong_remote(apart):
    """The remote is sound, and has every commit that was ever on it."""
    found = [f"git fsck of the remote: {line}" for line in repositories.broken(apart.setting, apart.remote)[:5]]
    if left := repositories.locks(apart.remote):
        found.append(f"locks are left in the remote: {left}")
    kept = set(repositories.asked(apart.setting, apart.remote, "rev-list", "refs/heads/main").split())
    with open(os.path.join(apart.remote, "logs", "refs", "heads", "main")) as log:
        logged = [line.split()[1] for line in log]
    for tip in dict.fromkeys([*apart.tips, *logged]):
        if tip not in kept:
            found.append(f"the remote has lost its commit {tip}")
    branches = repositories.asked(apart.setting, apart.remote, "for-each-ref", "--format=%(refname)").split()
    if branches != ["refs/heads/main"]:
        found.append(f"the remote has other references: {branches}")
    return found


def wrong_in_the_end(apart):
    """What is wrong with all that was said and written, when nobody runs any more."""
    way, control = apart.way, next(iter(apart.acknowledged))
    stores = [apart.remote, *(machine.root for machine in apart.machines)]
    found = [f"{machine.name}: panicked" for machine in apart.machines if "panicked at" in read_text(machine.said.name)]
    return found + secrecy.leaks(apart.setting, way.secrets, way.kept, stores, control)


def story(apart, token):
    """Where a token was, by the steps and by the history."""
    with open(apart.log.name) as log:
        lines = [line.rstrip() for line in log if re.search(rf"[+-]{token}\b", line)]
    # In step, all have the same history.
    done = apart.machines[0].git("log", "--all", "--reverse", "--format=%h %ad %an: %s", "--date=iso", "--name-status",
                                 "-m", "-S", token)
    return lines + [f"git | {line}" for line in done.out.splitlines() if line]
