#!/usr/bin/env python3
"""Cuts the cables between two machines and their server, and sees what a user notices.

usage: tests/faults/namespaces.py PROGRAM [--over ssh|https] [--by program|library] [--seed N] [-v]

Machines and server have networks of their own: what is cut off gets no word of it, so that connections hang as they do
when a train enters a tunnel. Servers run on both machines, and all syncs are theirs. While
one is cut off in the midst of an exchange
  - remembering takes as long as before, by a command and by the server;
  - `status` says after some time what is wrong, and a `sync` by hand ends with a reason;
and when the cable is back, both are in step without a hand, whole, and with no process left that hangs. Then the same
with a cable that is pulled out at the machine, and at last both are in sync although packets get lost.

Needs root and Linux; takes 3 to 10 minutes. What cannot be done is said in a line that begins with "skipped:".
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import agreement
import harness
import repositories
import ways
from deeds_apart import Apart
from editing import tokens_of
from expected import Loss
from harness import Failed, Setting, wait_until

SERVER = "10.77.9.1"
PORTS = {"ssh": 2222, "https": 4443}
# Memories for a median, and by how much the median may be larger for the lack of a remote, in seconds.
COUNT, SLOWER = 30, 0.005
# Other programs may have kept this machine busy: so often it is measured before it counts.
TRIES = 3
# memdir gives a silent remote up after two minutes; then it says so.
GIVEN_UP = 150
# The pause after some failures, and one more attempt that began before.
IN_STEP_WITHIN = 240
# The far end is no longer there, and packets are lost in silence; or the machine itself has no network.
FAR, NEAR = "the cable is cut far away", "the cable is pulled out"
# How a kernel's discipline of queues makes a link slow, and how it loses packets.
HARDSHIPS = {
    "netem": {"slow": ["delay", "150ms"], "lossy": ["loss", "15%"]},
    # Whatever comes faster than that waits, and is thrown away when too much waits.
    "tbf": {"slow": ["rate", "30kbit", "burst", "1600", "limit", "60000"],
            "lossy": ["rate", "100kbit", "burst", "1600", "limit", "1700"]},
}


class Namespace:
    """A network of its own. Ends with the value, or with this program."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        # Machines may have a PATH of their own.
        self.entry = [shutil.which("nsenter"), f"--net=/proc/{self.holder.pid}/ns/net"]
        if not wait_until(lambda: self.id(self.holder.pid) not in (None, self.id(os.getpid())), within=5):
            raise Failed("no namespace for a network")
        self.ip("link", "set", "lo", "up")

    def id(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            return None

    def run(self, *line):
        done = subprocess.run([*self.entry, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"{' '.join(line)}: {done.stderr.strip()}")
        return done.stdout

    def ip(self, *words):
        return self.run("ip", *words)

    def processes(self):
        """The ids of all that works here, but for what holds it."""
        own = self.id(self.holder.pid)
        there = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in there if pid != self.holder.pid and self.id(pid) == own]

    def is_connected(self):
        """Whether a connection stands."""
        with open(f"/proc/{self.holder.pid}/net/tcp") as lines:
            return any(line.split()[3] == "01" for line in list(lines)[1:])

    def close(self):
        self.holder.kill()
        self.holder.wait()


class Cable:
    """Between a machine and the server, which has an end for each."""

    def __init__(self, machine, server, number):
        self.machine, self.server, self.far = machine, server, f"to{number}"
        self.here, self.there = f"10.77.{number}.2", f"10.77.{number}.1"
        machine.ip("link", "add", "up0", "type", "veth", "peer", "name", self.far, "netns", str(server.holder.pid))
        server.ip("address", "add", self.there + "/24", "dev", self.far)
        machine.ip("address", "add", self.here + "/24", "dev", "up0")
        self.plug_in()

    def plug_in(self):
        """Both ends, as after the next look for a network. Who the neighbours are is known: nobody notices silence."""
        self.server.ip("link", "set", self.far, "up")
        self.machine.ip("link", "set", "up0", "up")
        self.machine.ip("route", "replace", "default", "via", self.there)
        for one, other, name, place, peer in [(self.machine, self.server, "up0", self.there, self.far),
                                              (self.server, self.machine, self.far, self.here, "up0")]:
            [link] = json.loads(other.ip("-json", "link", "show", peer))
            one.ip("neigh", "replace", place, "lladdr", link["address"], "dev", name, "nud", "permanent")

    def cut(self, how):
        if how == FAR:
            self.server.ip("link", "set", self.far, "down")
        else:
            self.machine.ip("link", "set", "up0", "down")

    def suffer(self, discipline, hardship):
        """Delays or loses packets on both ends. Fails where the system cannot."""
        for end, name in [(self.machine, "up0"), (self.server, self.far)]:
            end.run("tc", "qdisc", "replace", "dev", name, "root", discipline, *HARDSHIPS[discipline][hardship])

    def lost(self):
        """How many packets were lost."""
        ends = [(self.machine, "up0"), (self.server, self.far)]
        shown = [json.loads(end.run("tc", "-json", "-s", "qdisc", "show", "dev", name)) for end, name in ends]
        return sum(discipline["drops"] for disciplines in shown for discipline in disciplines)

    def recover(self):
        for end, name in [(self.machine, "up0"), (self.server, self.far)]:
            end.run("tc", "qdisc", "del", "dev", name, "root")


class Trial:
    """Two machines that run servers, and their cables."""

    def __init__(self, apart, cables, discipline):
        self.apart, self.cables, self.discipline = apart, cables, discipline
        self.cut_off, self.other = apart.machines

    def say(self, text):
        print(f"    {text}", flush=True)

    def run(self):
        for machine in self.apart.machines:
            machine.start_server()
            self.remember(machine, 3)
        self.come_into_step("at first")
        for how in (FAR, NEAR):
            self.cut(how)
        if self.discipline:
            self.lose_packets()
        for machine in self.apart.machines:
            self.apart.end_server(machine)
        self.nothing_hangs()
        if found := agreement.wrong(self.apart) + agreement.wrong_in_the_end(self.apart):
            raise Loss("\n    ".join(found))

    # ---- what happens

    def cut(self, how):
        [before] = self.medians(self.cut_off)
        cable = self.cables[0]
        if self.discipline:
            # So that an exchange takes long enough to be met.
            cable.suffer(self.discipline, "slow")
        self.remember(self.cut_off, 1)
        if not wait_until(cable.machine.is_connected, pause=0.002):
            raise Loss("the server does not send what it was told")
        time.sleep(0.5 if self.discipline else 0)
        cable.cut(how)
        self.say(how + (", in the midst of an exchange" if cable.machine.is_connected() else ", after an exchange"))
        begun = time.monotonic()
        # The server is at it.
        self.sync_by_hand()
        self.are_quick(before)
        self.is_told(begun)
        self.sync_by_hand()
        cable.plug_in()
        if self.discipline:
            cable.recover()
        self.come_into_step("when the cable is back")
        self.nothing_hangs()

    def lose_packets(self):
        for cable in self.cables:
            cable.suffer(self.discipline, "lossy")
        for machine in self.apart.machines * 2:
            self.remember(machine, 2)
            time.sleep(2)
        self.come_into_step(f"while packets get lost, {sum(cable.lost() for cable in self.cables)} of them")
        for cable in self.cables:
            cable.recover()

    # ---- what must hold

    def medians(self, *machines):
        """How long it takes on each to remember something, by a command and by the server; taken in turns."""
        took = [([], []) for _ in machines]
        for _ in range(COUNT):
            for machine, (commands, tools) in zip(machines, took):
                line = self.apart.line()
                begun = time.monotonic()
                done = machine.run("remember", "--topics", "told", line)
                commands.append(time.monotonic() - begun)
                self.apart.ended(machine, "remember", done.out.strip(), done, tokens_of(line))
                begun = time.monotonic()
                self.remember(machine, 1)
                tools.append(time.monotonic() - begun)
        return [tuple(map(statistics.median, times)) for times in took]

    def remember(self, machine, count):
        for _ in range(count):
            line = self.apart.line()
            name, why = machine.server.remember(line)
            if name is None:
                raise Loss(f"the server on {machine.name} does not remember: {why}")
            self.apart.note(machine, "remember by a server", name, tokens_of(line))

    def are_quick(self, before):
        """Compares medians with those before, and with those of the other machine at the same time."""
        for _ in range(TRIES):
            now, elsewhere = self.medians(self.cut_off, self.other)
            is_quick = True
            for what, *times in zip(["a command", "the server"], before, now, elsewhere):
                then, here, there = [f"{1000 * seconds:.1f} ms" for seconds in times]
                self.say(f"remember by {what}: {then} before, {here} cut off; {there} on the other machine")
                is_quick = is_quick and times[1] <= max(times[0], times[2]) + SLOWER
            if is_quick:
                return
        raise Loss("cut off, remembering takes longer than before")

    def status(self, machine):
        begun = time.monotonic()
        done = machine.run("status", "--json")
        if done.faults() or not done.out:
            raise Loss(f"status on {machine.name}: {done.faults()} {done.err[:200]}")
        return json.loads(done.out)["git"]["remote"], time.monotonic() - begun

    def is_told(self, begun):
        slowest = 0

        def is_failed():
            nonlocal slowest
            remote, took = self.status(self.cut_off)
            slowest = max(slowest, took)
            return remote if remote["state"] == "failed" else None

        remote = wait_until(is_failed, within=GIVEN_UP, pause=0.5)
        if not remote:
            raise Loss(f"cut off for {GIVEN_UP} s, status says {self.status(self.cut_off)[0]}")
        self.say(f"status, in {1000 * slowest:.0f} ms at most, says after {time.monotonic() - begun:.0f} s: "
                 f"{remote['state']}, {remote['unsent']} unsent, {remote['reason']}")
        if not remote["reason"]:
            raise Loss("cut off, status gives no reason")

    def sync_by_hand(self):
        """It may find the server at it, and has to end in any case."""
        begun, process = time.monotonic(), self.cut_off.begin("sync", "--json", output=subprocess.PIPE)
        try:
            said = b"".join(process.communicate(timeout=GIVEN_UP))
        except subprocess.TimeoutExpired:
            repositories.end(process, with_children=True)
            raise Loss(f"cut off, a sync by hand did not end within {GIVEN_UP} s") from None
        self.cut_off.said.write(said)
        took = f"{time.monotonic() - begun:.0f} s"
        ended = f"a sync by hand ended with {process.returncode} after {took}: {said.decode()}"
        self.say(ended.strip()[:300])
        if process.returncode != 2 or not said:
            raise Loss("cut off, " + ended)

    def come_into_step(self, when):
        begun = time.monotonic()
        if not wait_until(self.are_in_step, within=IN_STEP_WITHIN, pause=0.2):
            tips = [repositories.tip(machine.setting, machine.root, "HEAD") for machine in self.apart.machines]
            said = [self.status(machine)[0] for machine in self.apart.machines]
            raise Loss(f"{when}, not in step within {IN_STEP_WITHIN} s: {tips}, {said}")
        self.apart.note_tip()
        self.say(f"in step after {time.monotonic() - begun:.0f} s, {when}")

    def are_in_step(self):
        machines = self.apart.machines
        tips = {repositories.tip(machine.setting, machine.root, "HEAD") for machine in machines}
        trees = [machine.tree() for machine in machines]
        is_same = tips == {repositories.tip(self.apart.setting, self.apart.remote)} and trees[0] == trees[1]
        return is_same and not repositories.uncommitted(machines[0].setting, machines[0].root, trees[0])

    def nothing_hangs(self):
        """Beside the servers, nothing works on the machines any more."""
        servers = [machine.server.pid for machine in self.apart.machines if machine.server]
        left = lambda: [pid for cable in self.cables for pid in cable.machine.processes() if pid not in servers]
        # The servers look at the remote once a second.
        if not wait_until(lambda: not left(), within=agreement.AFTERWARDS, pause=0.03):
            lines = [harness.read_text(f"/proc/{pid}/cmdline").replace("\0", " ") for pid in left()]
            raise Loss(f"processes hang: {lines}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--over", choices=sorted(PORTS), default="ssh", help="how the machines reach the remote")
    parser.add_argument("--by", choices=["program", "library"], default="program", help="what memdir uses for it")
    parser.add_argument("--seed", type=int, default=1, help="of the words")
    parser.add_argument("-v", action="store_true", help="name every step")
    arguments = parser.parse_args()
    if why := why_not():
        print(f"skipped: namespaces: {why}")
        return 0
    print(f"over {arguments.over} by {arguments.by}", flush=True)
    work = tempfile.mkdtemp(prefix="namespaces-")
    os.mkdir(os.path.join(work, "home"))
    setting = Setting(
        program=os.path.abspath(arguments.program), work=work, disk=work, long=False, verbose=arguments.v,
        seed=arguments.seed, jobs=1, cannot_mount="",
    )
    spaces = [Namespace() for _ in range(3)]
    try:
        lost = attempt(setting, spaces, arguments)
    except ways.Unavailable as why:
        print(f"skipped: namespaces over {arguments.over}: {why}")
        lost = None
    finally:
        for space in spaces:
            space.close()
    if lost:
        print(f"LOST {lost}\nthe machines are kept in {work}")
        return 1
    shutil.rmtree(work)
    return 0


def why_not():
    """Why this machine is not fit for it."""
    missing = [name for name in ("git", "ip", "unshare", "nsenter") if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if os.geteuid() != 0:
        return "only root may make networks"
    tried = subprocess.run(["unshare", "--net", "ip", "link", "add", "type", "veth"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


def discipline_of(cable):
    """The first that the kernel has."""
    reasons = []
    for discipline in HARDSHIPS:
        try:
            cable.suffer(discipline, "slow")
            cable.recover()
        except (Failed, FileNotFoundError) as why:
            reasons.append(str(why))
            continue
        print("links are slow, and lose packets, by", discipline)
        return discipline
    print("skipped: namespaces with lost packets:", "; ".join(reasons))
    return None


def attempt(setting, spaces, arguments):
    """One trial; what was lost, if anything."""
    *networks, server = spaces
    server.ip("address", "add", SERVER + "/32", "dev", "lo")
    cables = [Cable(network, server, number) for number, network in enumerate(networks)]
    discipline = discipline_of(cables[0])
    remote = repositories.new_remote(setting, os.path.join(setting.work, repositories.REMOTE))
    way = ways.WAYS[arguments.over](setting, remote, (SERVER, PORTS[arguments.over]), server.entry)
    way.entries = {number: network.entry for number, network in enumerate(networks)}
    begun, apart = time.monotonic(), None
    try:
        apart = Apart(setting, len(networks), random.Random(arguments.seed), way, arguments.by)
        Trial(apart, cables, discipline).run()
        print(f"{len(apart.acknowledged)} lines acknowledged, losses: 0, {time.monotonic() - begun:.0f} s")
    except (Loss, Failed) as lost:
        return lost
    finally:
        for machine in apart.machines if apart else []:
            machine.kill_server(with_children=True)
        way.close()
    return None


if __name__ == "__main__":
    sys.exit(main())
