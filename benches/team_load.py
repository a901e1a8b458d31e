#!/usr/bin/env python3
"""Times of three servers on a primary with a standby, with many workspaces, beside those of a server on a folder.

    tests/team/with_postgres.sh python3 benches/team_load.py --memdir PROGRAM [--workspaces 100] [--memories 10000]
        [--large 100000] [--calls 2000] [--clients 8 64] [--vectors] [--folders 60] [--kinds think …]

PROGRAM is a release build with the feature `team`. The workspaces hold the same made up memories, copied by SQL; the
large one holds texts of its own. Prints p50 and p99 of the tools `think`, `recall` of one memory and `remember` by MCP
for each number of clients and each call at a workspace drawn at random, with replicas for reads: as a load balancer
sends them, to the server that the workspace prefers (`Memdir-Server`), and with each client at one of the three servers,
so that every server works for every workspace; the same for one workspace alone, and for a folder with as many
memories; the writes a second in all and on one workspace; the first answer of a server with an empty cache; the bytes
of the database a memory; and the resident memory of the servers. With `--folders N` the calls at workspaces drawn at random are made at so many folders, too,
each with a server of its own: a folder that is asked all the time lies in the caches of the processor. All of it runs on one machine, these clients included,
so with 64 of them the figures are those of a busy machine. With `--vectors` each memory and each question has a vector,
made up by `made_up_vectors.py`. Needs `psql`.
"""

import argparse
import glob
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from team import Client, Server, measured, sql, text, tools

SERVERS = 3
TABLES = {"memory": "place, name, bytes, hash, seq, modified, changed",
          "change": "seq, op, place, name, hash, token, at", "journal": "number, line"}


class FolderServer(Server):
    """A server of one folder, which is named like a workspace and answers without a name in the path."""

    def client(self):
        return FolderClient(self)


class FolderClient(Client):
    def call(self, tool, arguments, place=None):
        try:
            super().call(tool, arguments)
        except (BrokenPipeError, http.client.RemoteDisconnected):
            # With many servers a connection is idle for longer than they keep it.
            self.connection.close()
            super().call(tool, arguments)


def resident(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def preference(server, place):
    """The number of the server that the workspace at `place` prefers."""
    client = server.client()
    client.connection.request("GET", f"{place}/api/v1/search?q=harbour", headers={
        "Authorization": f"Bearer {server.token}"})
    answer = client.connection.getresponse()
    answer.read()
    return int(answer.headers["Memdir-Server"].removeprefix("server-"))


def await_row(database, question):
    while not sql(database, question):
        time.sleep(1)


def computed(server):
    """Seconds of processor that a server has used."""
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def await_rest(servers):
    """Waits until the servers together use less than half of a core: they publish what they have indexed first."""
    before = None
    while True:
        now = sum(map(computed, servers))
        if before is not None and now - before < 2.5:
            return
        before = now
        time.sleep(5)


def await_vectors(database, folder):
    """Waits until no server makes or fetches a vector: neither the table nor a folder of theirs grows within 10 s."""
    state, since = None, time.monotonic()
    while time.monotonic() - since < 10:
        files = [file for places in ("cache-*", "*/.memdir")
                 for file in glob.glob(f"{folder}/{places}/**/*.vec", recursive=True, include_hidden=True)]
        now = sql(database, "SELECT count(bytes) FROM vector"), sorted(files)
        if now != state:
            state, since = now, time.monotonic()
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memdir", required=True)
    parser.add_argument("--workspaces", type=int, default=100)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--clients", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--kinds", nargs="+", default=["think", "recall", "remember"])
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--folders", type=int, default=0)
    given = parser.parse_args()
    admin, standby = os.environ["MEMDIR_TEST_POSTGRES"], os.environ["MEMDIR_TEST_POSTGRES_STANDBY"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = os.path.join(folder, "home")
        os.makedirs(home)
        environment = {"HOME": home, "PATH": os.environ["PATH"], "MEMDIR_DATABASE": admin, "MEMDIR_GIT": "off"}
        host = None
        if given.vectors:
            host = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "made_up_vectors.py")],
                                    stdout=subprocess.PIPE, text=True)
            os.makedirs(f"{home}/.config/memdir")
            with open(f"{home}/.config/memdir/config.toml", "w") as settings:
                settings.write(f'[embedding]\nprovider = "openai"\nendpoint = "{host.stdout.readline().strip()}"\n'
                               'model = "made-up"\ndimensions = 384\n')
        else:
            environment["MEMDIR_EMBEDDING"] = "off"
        run = lambda *words: subprocess.run([given.memdir, *words], env=environment, check=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

        def fill(name, count, seed):
            """Makes a folder and a workspace of `count` memories; returns the folder and ids."""
            dice, store = random.Random(seed), os.path.join(folder, name)
            source = os.path.join(folder, f"{name}.jsonl")
            with open(source, "w") as lines:
                for number in range(count):
                    line = {"id": f"{seed}-{number}", "timestamp": f"2025-0{1 + number % 9}-{1 + number % 28:02}T08:00:00Z",
                            "user": "mira", "agent": "bench", "text": text(dice)}
                    lines.write(json.dumps(line) + "\n")
            run("init", store)
            run("--store", store, "import", "--from", "jsonl", source)
            run("team", "create", name)
            begun = time.perf_counter()
            run("team", "import", name, store)
            print(f"{name}: {count} memories copied in {time.perf_counter() - begun:.0f} s", flush=True)
            listed = json.loads(run("--store", store, "list", "--json", "--limit", "2000"))["memories"]
            return store, [one["id"] for one in listed]

        run("team", "migrate")
        store, ids = fill("bench-0", given.memories, 1)
        before = int(sql(admin, "SELECT pg_database_size(current_database())"))
        begun = time.perf_counter()
        for number in range(1, given.workspaces):
            name = f"bench-{number}"
            run("team", "create", name)
            for table, columns in TABLES.items():
                keep = " ON CONFLICT DO NOTHING" if table == "journal" else ""
                sql(admin, f"INSERT INTO {table} (workspace, {columns}) SELECT '{name}', {columns} FROM {table} "
                           f"WHERE workspace = 'bench-0'{keep}")
            sql(admin, f"UPDATE workspace SET (head, memories, bytes) = (SELECT head, memories, bytes FROM workspace "
                       f"WHERE name = 'bench-0') WHERE name = '{name}'")
            sql(admin, f"INSERT INTO journal_head (workspace, head) SELECT '{name}', head FROM journal_head "
                       "WHERE workspace = 'bench-0' ON CONFLICT (workspace) DO UPDATE SET head = excluded.head")
        sql(admin, "ANALYZE")
        print(f"{given.workspaces - 1} workspaces copied in {time.perf_counter() - begun:.0f} s", flush=True)
        if given.workspaces > 1:
            grown = int(sql(admin, "SELECT pg_database_size(current_database())")) - before
            print(f"{grown / ((given.workspaces - 1) * given.memories):.0f} bytes of the database a memory")
        large, large_ids = fill("large", given.large, 2)

        listen = ["serve", "--listen", "127.0.0.1:0", "--reads-per-second", "0", "--writes-per-second", "0"]
        on_rows = []
        for number in range(SERVERS):
            cache = os.path.join(folder, f"cache-{number}")
            options = ["--database", "--replica", standby, "--cache", cache, "--advertise", f"server-{number}"]
            on_rows.append(Server(given.memdir, [*listen, *options], environment, "", f"{cache}/tokens"))
        on_folder = {name: Server(given.memdir, ["--store", path, *listen], environment, "", f"{path}/.memdir/tokens")
                     for name, path in (("bench-0", store), ("large", large))}

        many = [f"/w/bench-{number}" for number in range(given.workspaces)]
        # What the scenes ask is open before.
        begun = time.perf_counter()
        for server in on_rows:
            client = server.client()
            for place in [*many[-60:], "/w/large"]:
                client.ask("GET", "/search?q=harbour+gauge", prefix=place)
        for server in on_folder.values():
            server.client().ask("GET", "/search?q=harbour+gauge")
        print(f"every server opened its workspaces in {time.perf_counter() - begun:.0f} s", flush=True)
        if host:
            await_vectors(admin, folder)
            print(f"every text had its vector after {time.perf_counter() - begun:.0f} s", flush=True)
        folders = {}
        for number in range(given.folders):
            path = os.path.join(folder, f"copy-{number}")
            subprocess.run(["cp", "-a", "--reflink=auto", store, path], check=True)
            subprocess.run(["rm", "-rf", f"{path}/.memdir/tokens"], check=True)
            folders[f"copy-{number}"] = FolderServer(given.memdir, ["--store", path, *listen], environment, "",
                                                     f"{path}/.memdir/tokens")
            folders[f"copy-{number}"].client().ask("GET", "/search?q=harbour+gauge")
        await_rest([*on_rows, *on_folder.values(), *folders.values()])
        print(f"all servers were at rest after {time.perf_counter() - begun:.0f} s", flush=True)
        # A server keeps 64 open.
        open_ones = many[-60:]
        for name in (open_ones[-1].removeprefix("/w/"), "large"):
            await_row(admin, f"SELECT number FROM index_copy WHERE workspace = '{name}' AND number > 0")
            cache = os.path.join(folder, f"cold-{name}")
            server = Server(given.memdir, [*listen, "--database", "--cache", cache], environment, f"/w/{name}",
                            f"{cache}/tokens")
            begun = time.perf_counter()
            server.client().ask("GET", "/search?q=lantern+ribbon")
            print(f"first answer of {name} with an empty cache: {time.perf_counter() - begun:.2f} s", flush=True)
            server.end()
        preferred = {place: on_rows[preference(on_rows[0], place)] for place in [*open_ones, "/w/large"]}
        scenes = []
        for shown, folder_of, places, of_ids in ((given.memories, "bench-0", open_ones, ids),
                                                 (given.large, "large", ["/w/large"], large_ids)):
            scenes.append((f"folder of {shown}", [on_folder[folder_of]], [""], of_ids, None))
            for some in (places[-1:], places)[:len(places)]:
                what = f"one workspace of {shown}" if len(some) == 1 else f"{len(some)} workspaces of {shown}"
                scenes.append((what, on_rows, some, of_ids, preferred))
                scenes.append((f"{what}, any server", on_rows, some, of_ids, None))
        if folders:
            scenes.insert(0, (f"{len(folders)} folders of {given.memories}", None, list(folders), ids, folders))
        for kind in given.kinds:
            for clients in given.clients:
                for shown, servers, places, of_ids, route in scenes:
                    make = tools(of_ids, places)[kind]
                    measured(servers, clients, max(1, given.calls // 10 // clients), make, route)
                    middle, slow, rate = measured(servers, clients, given.calls // clients, make, route)
                    print(f"{kind:9}{clients:3} clients  {shown:40} p50 {middle:8.2f} ms  p99 {slow:8.2f} ms  "
                          f"{rate:6.0f} a second", flush=True)
        for server in on_rows:
            print(f"resident memory of a server with {len(open_ones) + 1} workspaces: {resident(server)} MB")
        for server in [*on_rows, *on_folder.values(), *folders.values()]:
            server.end()
        if host:
            host.kill()


main()
