#!/usr/bin/env python3
"""Servers of a team's workspaces under load, while a part dies, hangs or lies; and what they acknowledged is looked for.

usage: tests/faults/team.py PROGRAM [--runs 20] [--fault NAME …] [--seconds 6] [--first-write SECONDS] [--seed N] [-v]

PROGRAM has the feature `team`. Each run has a PostgreSQL of its own with a synchronous standby, two workspaces and three
servers, which reach the database through a cable that can be cut. Five clients, one of them in the second workspace, write
memories and change their own ones, each at a server drawn at random, and ask another server for what was acknowledged,
by its id or by a search: with the number of the change, or without it 100 ms later. The events of both workspaces are
read at each server. Then:

    server    a server is killed, and started again
    primary   the primary is killed, and the standby promoted; the cable leads to it after that
    cut       the cable is cut: connections end, and new ones are refused
    silent    the cable transports nothing, and nobody is told: for a moment, or for longer than a server waits
    pooler    connections end at random, in whatever they were doing
    behind    a replica applies nothing any more, and is asked for reads
    clocks    the clock of one server is ten minutes ahead, and that of another ten behind (needs `faketime`)
    disk      the database has no room (needs the right to mount)
    cold      servers are killed, and started again without their indexes, which takes as long as 4,000 memories do
    hostile   whoever may write one workspace sends 10,000 requests for another one: its name in every spelling, its ids,
              its cursors, tokens of others and made up ones, numbers of changes, streams of events, tools of MCP

The oracle: everything that was acknowledged is there afterwards, at each server, in its last acknowledged text or in a
later one whose outcome nobody was told; an answer with a number holds the change of that number, and one without holds
what was acknowledged 100 ms before its request, or says how old it is and holds what is older than that; no answer and no
event shows anything of the other workspace; `memdir team check` finds nothing. Prints the time until the first
acknowledged write after each fault; with `--first-write`, a longer time after the death of the primary is a loss. Exit
code 1 for a loss, 3 if there is no PostgreSQL. Python 3.11 and Linux.
"""
import argparse
import collections
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from database import HANGS_AFTER, Cable, Postgres, programs_of_postgres

WORKSPACE, OTHER = "atlas", "other"
CLIENTS, SERVERS = 4, 3
# A word of each memory of a workspace.
MARKS = {WORKSPACE: "zqhome", OTHER: "zqforeign"}
# Time after which a change is seen without its number, in seconds.
SEEN_AFTER = 0.1
# A silence that is longer than what a server waits for, in seconds.
LONG_SILENCE = 8
# Memories of the other workspace before the fault: some pages of them.
FOREIGN_MEMORIES = 20
# Memories before the fault that takes the indexes away.
MANY = 4_000
# Number of requests of one run of `hostile`.
HOSTILE = 10_000
FOREIGN = MARKS[OTHER]

# Status 0 if there was none; the number of the last change that it holds; its age in seconds where it says one.
Answer = collections.namedtuple("Answer", "status said number stale")


def other_than(workspace):
    return OTHER if workspace == WORKSPACE else WORKSPACE


class Server:
    """A server of the workspaces."""

    def __init__(self, scene, number):
        self.scene, self.cache = scene, os.path.join(scene.folder, f"cache-{number}")
        self.clock = None
        self.replica = None
        self.process = None

    def start(self):
        scene = self.scene
        words = [scene.program, "serve", "--listen", "127.0.0.1:0", "--reads-per-second", "0", "--writes-per-second", "0",
                 "--database", f"postgres://memdir@127.0.0.1:{scene.cable.port}/postgres", "--cache", self.cache]
        if self.replica:
            words += ["--replica", self.replica]
        if self.clock:
            words = ["faketime", "-f", self.clock, *words]
        self.process = subprocess.Popen(words, env=scene.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise SystemExit("a server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.token = open(os.path.join(self.cache, "tokens")).read().split()[-1]

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # What a faketime that is killed leaves is in the way of a later one with its number.
        for left in glob.glob(f"/dev/shm/*faketime*_{self.process.pid}"):
            os.remove(left)

    def ask_raw(self, request):
        """Sends the bytes of a request that ends its connection; returns the bytes of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANGS_AFTER) as connection:
            connection.sendall(request)
            answer = b""
            while data := connection.recv(65536):
                answer += data
                # A stream of events has no end.
                if b"text/event-stream" in answer:
                    break
            return answer

    def ask(self, method, path, body=None, number=None, workspace=WORKSPACE):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if number:
            headers["Memdir-Sequence"] = str(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS_AFTER)
        try:
            connection.request(method, f"/w/{workspace}/api/v1{path}", json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            said = answer.read()
            number, stale = (answer.headers.get(name) for name in ("Memdir-Sequence", "Memdir-Stale-Seconds"))
            return Answer(answer.status, json.loads(said or b"null"), int(number or 0), stale and int(stale))
        except (OSError, http.client.HTTPException, ValueError):
            return Answer(0, None, 0, None)
        finally:
            connection.close()


class Client(threading.Thread):
    """Writes memories, and asks for what was acknowledged."""

    def __init__(self, scene, number, workspace):
        super().__init__(daemon=True)
        self.scene, self.number, self.dice = scene, number, random.Random(f"{scene.seed} {number}")
        self.workspace = workspace
        # Id of each memory -> the texts that may stand there: the last acknowledged one, and later ones of which nothing
        # was heard.
        self.texts = {}
        # Id of each memory -> time of its last acknowledged text.
        self.times = {}
        self.counts = {"acknowledged": 0, "refused": 0, "unknown": 0, "read": 0, "read as of earlier": 0}

    def run(self):
        serial = 0
        while not self.scene.is_over.is_set():
            serial += 1
            word = f"zq{self.number}x{serial}"
            text = f"Client {self.number} says {word} about {self.dice.random()} in {MARKS[self.workspace]}."
            known = self.dice.choice(list(self.texts)) if self.texts and self.dice.random() < 0.4 else None
            server = self.dice.choice(self.scene.servers)
            if known:
                written = server.ask("PUT", f"/memories/{known}", {"content": text}, workspace=self.workspace)
            else:
                body = {"title": f"Title {self.number} {serial} {self.dice.random()}", "content": text, "tier": "long"}
                written = server.ask("POST", "/memories", body, workspace=self.workspace)
            if written.status in (200, 201):
                self.counts["acknowledged"] += 1
                self.scene.acknowledged()
                id = known or written.said["id"]
                self.texts[id], self.times[id] = [text], time.monotonic()
                number = written.number
                if self.dice.random() < 0.5:
                    number = None
                    # It is the promise that is awaited here, not an event.
                    time.sleep(SEEN_AFTER)
                path, shown = self.dice.choice([(f"/memories/{id}", [text]), (f"/search?q={word}", [word])])
                self.look_elsewhere(id, path, shown, number)
            elif written.status in (503, 429, 409):
                # Nothing was written.
                self.counts["refused"] += 1
                if self.texts:
                    id = self.dice.choice(list(self.texts))
                    self.look_elsewhere(id, f"/memories/{id}", self.texts[id], None)
                time.sleep(0.02)
            else:
                self.counts["unknown"] += 1
                if known:
                    self.texts[known].append(text)
                time.sleep(0.02)

    def look_elsewhere(self, id, path, shown, number):
        """Asks a server for the memory `id`, of which it has to show one of `shown`."""
        server, asked = self.dice.choice(self.scene.servers), time.monotonic()
        answer = server.ask("GET", path, number=number, workspace=self.workspace)
        said = json.dumps(answer.said)
        what = f"{path} after the change {number}, {asked - self.times[id]:.2f} s later: {answer}, and not {shown}"
        self.scene.check(MARKS[other_than(self.workspace)] not in said, f"the other workspace shows: {what}")
        if answer.status == 200:
            self.counts["read"] += 1
            self.counts["read as of earlier"] += answer.stale is not None
            may_lack_it = number is None and answer.stale is not None and self.times[id] > asked - answer.stale
            holds_it = id in said and any(text in said for text in shown)
            self.scene.check(holds_it or may_lack_it, f"stale: {what}")
        else:
            self.scene.check(answer.status in (0, 503, 500), what)


class Listener(threading.Thread):
    """Reads the events of a workspace at a server, again when they end."""

    def __init__(self, scene, server, workspace):
        super().__init__(daemon=True)
        self.scene, self.server, self.workspace = scene, server, workspace
        self.ids = set()

    def run(self):
        while not self.scene.is_over.is_set():
            try:
                self.read()
            except (OSError, http.client.HTTPException, ValueError):
                # A server that is killed cuts a line.
                self.scene.is_over.wait(0.1)

    def read(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=1)
        try:
            connection.request("GET", f"/w/{self.workspace}/api/v1/events", headers={
                "Authorization": f"Bearer {self.server.token}", "Accept": "text/event-stream"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise http.client.HTTPException(answer.status)
            while not self.scene.is_over.is_set():
                try:
                    line = answer.readline()
                except TimeoutError:
                    # The reader keeps nothing of a line after that: another stream.
                    return
                if not line:
                    return
                if line.startswith(b"data: "):
                    self.ids.update(json.loads(line[6:]).get("ids", []))
        finally:
            connection.close()


class Scene:
    """One run."""

    def __init__(self, given, programs, fault, seed):
        self.program, self.seed, self.fault, self.verbose = os.path.abspath(given.program), seed, fault, given.v
        self.dice, self.losses, self.is_over = random.Random(seed), [], threading.Event()
        self.seconds, self.first_write, self.lock = given.seconds, given.first_write, threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="memdir-team-")
        os.chmod(self.folder, 0o755)
        base = os.path.join(self.folder, "postgres")
        os.mkdir(base)
        if os.getuid() == 0:
            shutil.chown(base, "postgres", "postgres")
        self.primary = Postgres(programs, os.path.join(base, "primary"))
        self.standby = Postgres(programs, os.path.join(base, "standby"))
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        self.environment = {"HOME": home, "PATH": os.environ["PATH"], "MEMDIR_EMBEDDING": "off", "MEMDIR_GIT": "off"}
        self.last, self.longest, self.fault_at, self.first_after = time.monotonic(), 0, None, None
        self.mounted = None

    def check(self, holds, text):
        if not holds:
            with self.lock:
                self.losses.append(text)
            if self.verbose:
                print("    loss:", text, flush=True)

    def acknowledged(self):
        with self.lock:
            now = time.monotonic()
            self.longest, self.last = max(self.longest, now - self.last), now
            if self.fault_at and not self.first_after:
                self.first_after = now - self.fault_at

    def memdir(self, *words):
        return subprocess.run([self.program, *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=HANGS_AFTER,
                              env={**self.environment, "MEMDIR_DATABASE": self.database.address()}).stdout

    def prepare(self):
        self.primary.make()
        self.primary.start()
        self.database = self.primary
        if self.fault == "disk":
            self.use_small_disk()
        self.memdir("team", "migrate")
        for name in (WORKSPACE, OTHER):
            self.memdir("team", "create", name)
        if self.fault == "cold":
            many = os.path.join(self.folder, "many", "files")
            os.makedirs(many)
            for number in range(MANY):
                with open(os.path.join(many, f"20260101_000000_a{number:07x}.md"), "w") as file:
                    file.write(f"A heron stands at lake {number}.\n")
            self.memdir("team", "import", WORKSPACE, os.path.dirname(many))
        if self.fault in ("primary", "behind"):
            self.standby.copy(self.primary)
            self.standby.start()
        if self.fault == "primary":
            self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.primary.sql("SELECT pg_reload_conf()")
        self.cable = Cable(self.primary.port)
        self.servers = [Server(self, number) for number in range(SERVERS)]
        if self.fault == "clocks":
            self.servers[0].clock, self.servers[1].clock = "+10m", "-10m"
        for server in self.servers:
            if self.fault == "behind":
                server.replica = self.standby.address()
            server.start()
        self.foreign = []
        for number in range(FOREIGN_MEMORIES):
            body = {"title": f"Foreign {number}", "content": f"It is {FOREIGN} {number}.", "tier": "long"}
            made = self.servers[0].ask("POST", "/memories", body, workspace=OTHER)
            self.check(made.status == 201, f"the other workspace: {made}")
            self.foreign.append(made.said["id"])

    def use_small_disk(self):
        self.mounted = os.path.join(self.folder, "postgres", "room")
        os.mkdir(self.mounted)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0777", "tmpfs", self.mounted], check=True)
        shutil.chown(self.mounted, "postgres", "postgres")
        self.primary.sql(f"CREATE TABLESPACE room LOCATION '{self.mounted}'")
        self.primary.sql("ALTER SYSTEM SET default_tablespace = room")
        self.primary.sql("SELECT pg_reload_conf()")

    def run(self):
        self.prepare()
        clients = [Client(self, number, WORKSPACE) for number in range(CLIENTS)] + [Client(self, CLIENTS, OTHER)]
        listeners = [Listener(self, server, workspace) for server in self.servers for workspace in MARKS]
        for thread in [*clients, *listeners]:
            thread.start()
        time.sleep(self.seconds / 3)
        self.fault_at = time.monotonic()
        getattr(self, "do_" + self.fault)()
        time.sleep(self.seconds / 3)
        self.is_over.set()
        for client in clients:
            client.join(HANGS_AFTER)
            self.check(not client.is_alive(), "a client hangs")
        for listener in listeners:
            listener.join(HANGS_AFTER)
        self.look_at_everything(clients)
        self.look_at_events(clients, listeners)
        counts = {name: sum(client.counts[name] for client in clients) for name in clients[0].counts}
        return {**counts, "told by events": sum(len(listener.ids) for listener in listeners)}

    def do_server(self):
        server = self.dice.choice(self.servers)
        server.kill()
        time.sleep(self.dice.random() * 0.5)
        server.start()

    def do_cold(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            server = self.dice.choice(self.servers)
            server.kill()
            for name in os.listdir(server.cache):
                if name != "tokens":
                    shutil.rmtree(os.path.join(server.cache, name), ignore_errors=True)
            server.start()
            time.sleep(self.dice.random())

    def do_primary(self):
        self.primary.kill()
        self.standby.promote()
        self.standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.sql("SELECT pg_reload_conf()")
        self.database = self.standby
        self.cable.target = self.standby.port
        # It is the time of the servers that is measured, not that of the promotion.
        self.fault_at, self.first_after = time.monotonic(), None

    def do_cut(self):
        self.cable.cut()
        time.sleep(self.seconds / 3)
        self.cable.mend()
        self.fault_at, self.first_after = time.monotonic(), None

    def do_silent(self):
        self.cable.silence()
        time.sleep(self.dice.choice([self.seconds / 3, LONG_SILENCE]))
        self.cable.mend()
        self.fault_at, self.first_after = time.monotonic(), None

    def do_pooler(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            self.cable.drop_some(self.dice, 0.1)
        self.fault_at, self.first_after = time.monotonic(), None

    def do_behind(self):
        self.standby.sql("SELECT pg_wal_replay_pause()")
        time.sleep(self.seconds)
        self.standby.sql("SELECT pg_wal_replay_resume()")

    def do_clocks(self):
        time.sleep(self.seconds)

    def do_disk(self):
        filling = os.path.join(self.mounted, "filling")
        try:
            with open(filling, "wb") as file:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
        except OSError:
            pass
        time.sleep(self.seconds / 3)
        os.remove(filling)
        self.fault_at, self.first_after = time.monotonic(), None

    def do_hostile(self):
        grant = lambda workspace, name, role: self.memdir("team", "grant", workspace, name, "--role", role).split()[-1]
        tokens = [grant(WORKSPACE, "writer", "writer"), grant(WORKSPACE, "reader", "reader")]
        operator = self.servers[0].token
        asked = [self.servers[0].ask("GET", path, workspace=OTHER).said
                 for path in ("/memories?limit=1", f"/search?q={FOREIGN}&limit=1", "/status")]
        foreign = self.foreign[0]
        cursors = re.findall(r'"[a-z_]*cursor[a-z_]*": ?"([^"]+)"', json.dumps(asked)) + ["", "MQ==", "9" * 40, "null"]
        names = [WORKSPACE, OTHER, "Other", "OTHER", "%6fther", "oth%65r", f"{WORKSPACE}/../{OTHER}", f"..%2f{OTHER}",
                 f"{WORKSPACE}%2f..%2f{OTHER}", f"./{OTHER}", f"{OTHER}%00", f"{OTHER}%0a", f"{OTHER}/", f"/{OTHER}",
                 f"{OTHER};", f"{OTHER}'--", f"{WORKSPACE}' OR name='{OTHER}", "%25", "w", "", f"{WORKSPACE}?w={OTHER}"]
        ids = [foreign, foreign.upper(), foreign + "%00", f"files/{foreign}.md", f"../{OTHER}/{foreign}", "%2e%2e", "*", "_",
               f"{foreign}' OR '1'='1", "0", "zq", "archive%2f" + foreign]
        secrets = tokens * 4 + ["", "x", tokens[0][:-1], tokens[0].swapcase(), tokens[0] + "0", operator[:-1], "null"]
        count = 0
        for number in range(HOSTILE):
            dice, server = self.dice, self.dice.choice(self.servers)
            name, id, secret = dice.choice(names), dice.choice(ids), dice.choice(secrets)
            body = dice.choice([
                {"content": "taken over", "title": "taken over"}, {"ids": [foreign]}, {"query": FOREIGN, "workspace": OTHER},
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": dice.choice(["think", "recall"]),
                 "arguments": {"query": FOREIGN, "ids": [foreign], "workspace": OTHER, "namespaces": [OTHER, "*"]}}},
                {"files": [f"files/{foreign}.md"], "paths": [f"files/{foreign}.md"]},
                {"changes": [{"path": f"files/{foreign}.md", "before": None, "text": "taken over"}]},
            ])
            cursor = dice.choice(cursors)
            method, path = dice.choice([
                ("GET", f"/api/v1/memories/{id}"), ("PUT", f"/api/v1/memories/{id}"), ("DELETE", f"/api/v1/memories/{id}"),
                ("GET", f"/api/v1/search?q={FOREIGN}&workspace={OTHER}&cursor={cursor}"), ("POST", "/api/v1/recall"),
                ("GET", f"/api/v1/memories?cursor={cursor}&limit=100"), ("GET", f"/api/v1/events?cursor={cursor}"),
                ("GET", f"/api/v1/export?workspace={OTHER}"), ("GET", f"/api/v1/memories/{id}/history"),
                ("GET", f"/api/v1/audit?after={cursor}"), ("GET", "/api/v1/tokens"), ("POST", "/mcp"),
                ("POST", "/api/v1/exchange/listing"), ("POST", "/api/v1/exchange/texts"), ("GET", f"/api/v1/links/{id}"),
                ("POST", "/api/v1/exchange/changes"), ("POST", "/api/v1/forget"), ("GET", "/metrics"),
            ])
            sent = json.dumps(body).encode() if method in ("POST", "PUT") else b""
            head = (f"{method} /w/{name}{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
                    f"Authorization: Bearer {secret}\r\nMemdir-Sequence: {dice.choice(['', '1', '-1', '9' * 30])}\r\n"
                    f"Memdir-Workspace: {OTHER}\r\nX-Forwarded-Prefix: /w/{OTHER}\r\n"
                    f"Accept: application/json, text/event-stream\r\nLast-Event-ID: {cursor}\r\n"
                    f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n")
            if dice.random() < 0.7:
                head = head.replace(f"Memdir-Sequence: {'9' * 30}\r\n", "").replace("Memdir-Sequence: -1\r\n", "")
            answer = server.ask_raw(head.encode() + sent)
            # What was asked for may be repeated in an error; the text of the memory is not asked for.
            self.check(not re.search(rb"It is %s|in %s" % (FOREIGN.encode(), FOREIGN.encode()), answer),
                       f"{head[:200]}: {answer[:600]}")
            self.check(not re.match(rb"HTTP/1.1 50[0124]", answer) and answer, f"{head[:200]} {sent[:200]}: {answer[:300]}")
            count += 1
        print(f"    {count} hostile requests")
        self.fault_at, self.first_after = time.monotonic(), None

    def look_at_everything(self, clients):
        self.check(self.first_after is not None, "no write was acknowledged after the fault")
        if self.fault == "primary" and self.first_after and self.first_write:
            self.check(self.first_after <= self.first_write, f"the first write came after {self.first_after:.2f} s")
        for number, id in enumerate(self.foreign):
            self.look_at(OTHER, id, [f"It is {FOREIGN} {number}."])
        for client in clients:
            self.check(client.texts, "nothing was written")
            for id, texts in client.texts.items():
                self.look_at(client.workspace, id, texts)
        # Nobody else added to it.
        mine = set(self.foreign).union(*(client.texts for client in clients if client.workspace == OTHER))
        unknown = sum(client.counts["unknown"] for client in clients if client.workspace == OTHER)
        listed, after = [], ""
        while after is not None:
            page = self.servers[0].ask("GET", f"/memories?limit=100{after}", workspace=OTHER).said
            listed += [one["id"] for one in page["memories"]]
            after = page.get("next_cursor") and f"&cursor={page['next_cursor']}"
        self.check(mine <= set(listed) and len(listed) <= len(mine) + unknown, f"the other workspace holds {len(listed)} "
                   f"memories, {len(mine)} were written, and of {unknown} nobody knows")
        for server in self.servers:
            answer = server.ask("GET", f"/search?q={FOREIGN}")
            self.check(answer.status == 200 and FOREIGN not in json.dumps(answer.said.get("results", answer.said)),
                       f"the other workspace: {answer}")
        for name in MARKS:
            try:
                self.memdir("team", "check", name)
            except subprocess.CalledProcessError as error:
                self.check(False, f"team check {name}: {error.stdout} {error.stderr}")

    def look_at(self, workspace, id, texts):
        """Checks that each server shows one of `texts`, and all the same."""
        seen = set()
        for server in self.servers:
            answer = server.ask("GET", f"/memories/{id}", workspace=workspace)
            said = json.dumps(answer.said)
            self.check(answer.status == 200 and any(text in said for text in texts), f"lost: {texts}: {answer}")
            seen.add(said)
        self.check(len(seen) == 1, f"servers disagree about {id}: {seen}")

    def look_at_events(self, clients, listeners):
        """Checks that the events of a workspace name none of the memories of another."""
        for workspace in MARKS:
            foreign = {id for client in clients if client.workspace != workspace for id in client.texts}
            told = set().union(*(listener.ids for listener in listeners if listener.workspace == workspace))
            self.check(told, f"the events of {workspace} told of nothing")
            self.check(not told & foreign, f"the events of {workspace} name memories of another: {told & foreign}")

    def end(self):
        self.is_over.set()
        for server in getattr(self, "servers", []):
            if server.process:
                server.kill()
        for database in (self.primary, self.standby):
            database.stop()
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def can_mount():
    if os.getuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return done.returncode == 0


FAULTS = ["server", "cold", "primary", "cut", "silent", "pooler", "behind", "clocks", "disk", "hostile"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--seconds", type=float, default=6, help="of load, without the fault itself")
    parser.add_argument("--first-write", type=float, help="seconds after the death of the primary")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("-v", action="store_true", help="each loss as it comes")
    given = parser.parse_args()
    programs = programs_of_postgres()
    if not programs:
        print("skipped: faults of a team's servers: there is no PostgreSQL")
        return 3
    lost = 0
    for fault in given.fault or FAULTS:
        if fault == "clocks" and not shutil.which("faketime"):
            print("skipped: clocks of a team's servers: there is no faketime")
            continue
        if fault == "disk" and not can_mount():
            print("skipped: a database without room: nothing can be mounted")
            continue
        total, after, losses = {}, [], []
        for run in range(given.runs):
            scene = Scene(given, programs, fault, f"{given.seed} {fault} {run}")
            try:
                counts = scene.run()
            finally:
                scene.end()
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
            after.append(scene.first_after or float("inf"))
            losses += scene.losses
        shown = ", ".join(f"{count} {name}" for name, count in total.items())
        print(f"{fault}: {given.runs} runs, {shown}; first write accepted after {max(after):.2f} s at most, "
              f"{sorted(after)[len(after) // 2]:.2f} s in the middle; {len(losses)} losses", flush=True)
        for loss in losses[:10]:
            print("   ", loss[:400])
        lost += len(losses)
    print(f"seed {given.seed}, losses: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
