"""A PostgreSQL of its own, with what can be done to it and to the cable that leads to it. Python 3.11 and Linux."""
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

# Nothing that works takes so long. It only ends what hangs.
HANGS_AFTER = 90


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def programs_of_postgres():
    """The folder of the programs of a database, or None: the named one, Debian's newest, or the one on PATH."""
    found = [shutil.which("initdb"), *sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))]
    newest = [os.path.dirname(program) for program in found if program]
    named = os.environ.get("MEMDIR_POSTGRES_BIN") or (newest and newest[-1])
    return named if named and shutil.which("psql") else None


class Postgres:
    """A server of the database in a folder."""

    def __init__(self, programs, folder, room=None):
        self.programs, self.folder, self.port, self.room = programs, folder, free_port(), room
        self.as_user = []
        if os.getuid() == 0:
            self.as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]

    def run(self, program, *arguments, **options):
        words = [*self.as_user, os.path.join(self.programs, program), *arguments]
        # A server that stays must not hold the pipe of what started it.
        return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
                              stderr=subprocess.DEVNULL, timeout=HANGS_AFTER, **options)

    def make(self):
        self.run("initdb", "-D", self.folder, "-A", "trust", "-U", "memdir", "-E", "UTF8", "--locale=C", "--no-sync")

    def copy(self, primary):
        self.run("pg_basebackup", "-D", self.folder, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", "127.0.0.1",
                 "-p", str(primary.port), "-U", "memdir", "-d", "application_name=standby")

    def start(self):
        self.run("pg_ctl", "-D", self.folder, "-l", self.folder + ".log", "-w", "start", "-o",
                 f"-p {self.port} -k {os.path.dirname(self.folder)} -c listen_addresses=127.0.0.1 "
                 "-c max_connections=200 -c fsync=off")

    def sql(self, statement, database="postgres"):
        answer = subprocess.run(["psql", "-XAtqc", statement, self.address(database)], check=True,
                                stdout=subprocess.PIPE, text=True, timeout=HANGS_AFTER)
        return answer.stdout.strip()

    def address(self, database="postgres"):
        return f"postgres://memdir@127.0.0.1:{self.port}/{database}"

    def kill(self):
        """Ends every process of it at once, as a power cut does."""
        leader = int(open(os.path.join(self.folder, "postmaster.pid")).readline())
        children = open(f"/proc/{leader}/task/{leader}/children").read().split()
        os.kill(leader, signal.SIGKILL)
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def promote(self):
        self.run("pg_ctl", "-D", self.folder, "-w", "promote")

    def stop(self):
        try:
            self.run("pg_ctl", "-D", self.folder, "-m", "immediate", "stop")
        except subprocess.CalledProcessError:
            pass  # It was killed before.


class Cable:
    """Leads connections to a port, until something is done to it."""

    def __init__(self, port):
        self.target, self.mode, self.lock, self.pairs = port, "passes", threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.mode == "cut":
                self.end(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                self.end(client)
                continue
            server.settimeout(None)
            pair = (client, server)
            with self.lock:
                self.pairs.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self.carry, args=(source, sink, pair), daemon=True).start()

    def carry(self, source, sink, pair):
        try:
            while data := source.recv(65536):
                while self.mode == "silent":
                    time.sleep(0.02)
                sink.sendall(data)
        except OSError:
            pass
        self.drop(pair)

    @staticmethod
    def end(connection):
        # Resets it: data on the way is lost.
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def drop(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for connection in pair:
            self.end(connection)

    def drop_some(self, dice, part):
        with self.lock:
            chosen = [pair for pair in self.pairs if dice.random() < part]
        for pair in chosen:
            self.drop(pair)

    def cut(self):
        self.mode = "cut"
        self.drop_some(random, 2)

    def silence(self):
        self.mode = "silent"

    def mend(self):
        was, self.mode = self.mode, "passes"
        if was == "silent":
            return
        self.drop_some(random, 2)
