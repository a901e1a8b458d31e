#!/usr/bin/env python3
"""The migration of a team's database is killed at every statement, and repeated.

usage: tests/faults/migrating.py PROGRAM [--every 1] [--seed N]

PROGRAM has the feature `team`. Triggers count the statements that change the schema, the workspaces or the list of
migrations since the last migration that was committed, and end the connection at one of them; `--every N` leaves out all
but each N-th, from one that is drawn. As soon as there are tables, they are filled with a workspace. After each kill the
database has the schema of a whole number of migrations, and the memories; at the end, it has the schema of a database whose
migration nobody disturbed, and its workspace is sound. Two programs that migrate at once, of which one is killed with its
connection open, end the same. Exit code 1 for a difference, 3 if there is no PostgreSQL.
"""
import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile

from database import HANGS_AFTER, Postgres, programs_of_postgres

# Numbers of `nextval` outlive the transactions that drew them.
TRIGGER = """
CREATE SCHEMA fault;
CREATE SEQUENCE fault.statement;
CREATE SEQUENCE fault.struck;
CREATE FUNCTION fault.count() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('fault.statement') = current_setting('fault.at', true)::bigint THEN
        PERFORM nextval('fault.struck');
        PERFORM pg_terminate_backend(pg_backend_pid());
        PERFORM pg_sleep(60);
    END IF;
END $$;
CREATE FUNCTION fault.strike() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fault.count();
END $$;
CREATE FUNCTION fault.strike_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fault.count();
    RETURN NULL;
END $$;
CREATE EVENT TRIGGER strike ON ddl_command_end EXECUTE FUNCTION fault.strike();
"""
# Statements of a migration that change no schema.
ROWS_TRIGGERS = """
CREATE TRIGGER strike AFTER UPDATE ON workspace EXECUTE FUNCTION fault.strike_rows();
CREATE TRIGGER strike AFTER INSERT OR UPDATE ON migration EXECUTE FUNCTION fault.strike_rows();
"""
# Tables of the first migration, which hold a workspace.
TABLES = ["workspace", "memory", "version", "change", "journal", "journal_head"]
WORKSPACE, MEMORIES = "atlas", 400
APPLIED = "SELECT CASE WHEN to_regclass('migration') IS NULL THEN '' ELSE " \
          "(xpath('/row/n/text()', query_to_xml('SELECT string_agg(number::text, '','' ORDER BY number) AS n " \
          "FROM migration', false, true, '')))[1]::text END"
RELATIONS = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


class Scene:
    def __init__(self, program, programs, folder):
        self.program, self.programs, self.folder = program, programs, folder
        base = os.path.join(folder, "postgres")
        os.mkdir(base)
        os.chmod(folder, 0o755)
        if os.getuid() == 0:
            shutil.chown(base, "postgres", "postgres")
        self.server = Postgres(programs, os.path.join(base, "data"))
        self.server.make()
        self.server.start()

    def make(self, database, trigger):
        self.server.sql(f"CREATE DATABASE {database}")
        if trigger:
            self.server.sql(trigger, database)

    def begin(self, database, *words):
        environment = {"HOME": self.folder, "PATH": os.environ["PATH"], "MEMDIR_DATABASE": self.server.address(database)}
        return subprocess.Popen([self.program, *words], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def memdir(self, database, *words):
        process = self.begin(database, *words)
        _, said = process.communicate(timeout=HANGS_AFTER)
        return process.returncode, said

    def make_folder(self):
        """Returns a folder with memories."""
        store = os.path.join(self.folder, "store")
        os.makedirs(os.path.join(store, "files"))
        for number in range(MEMORIES):
            with open(os.path.join(store, "files", f"20260101_000000_{number:07x}a.md"), "w") as file:
                file.write(f"---\ntopics: [bench]\n---\n\nThe heron number {number} stands in the lake.\n")
        return store

    def columns(self, database, table):
        listed = self.server.sql("SELECT string_agg(column_name, ',' ORDER BY column_name) FROM information_schema.columns "
                                 f"WHERE table_schema = 'public' AND table_name = '{table}'", database)
        return listed.split(",")

    def fill(self, database, source):
        """Copies the workspace from the database `source`, as far as the schema of `database` goes; returns the columns."""
        copied = {}
        for table in TABLES:
            columns = copied[table] = self.columns(database, table)
            names = ", ".join(columns)
            taken = subprocess.run(["psql", "-XAtqc", f"COPY (SELECT {names} FROM {table}) TO STDOUT",
                                    self.server.address(source)], check=True, stdout=subprocess.PIPE, timeout=HANGS_AFTER)
            subprocess.run(["psql", "-XAtqc", f"COPY {table} ({names}) FROM STDIN", self.server.address(database)],
                           check=True, input=taken.stdout, timeout=HANGS_AFTER)
        # Nothing is struck meanwhile.
        self.server.sql("SET fault.at = '0'; " + ROWS_TRIGGERS, database)
        return copied

    def contents(self, database, copied):
        """Returns hashes of the rows in `copied` columns of each table."""
        return {table: self.server.sql(
            f"SELECT md5(string_agg(r::text, E'\\n' ORDER BY r::text)) FROM (SELECT {', '.join(columns)} FROM {table}) r",
            database) for table, columns in copied.items()}

    def schema(self, database):
        address = self.server.address(database)
        dumped = subprocess.run([os.path.join(self.programs, "pg_dump"), "--schema-only", "--exclude-schema=fault", address],
                                check=True, stdout=subprocess.PIPE, text=True, timeout=HANGS_AFTER).stdout
        # Some versions print a random word in two lines.
        return [line for line in dumped.splitlines() if not line.startswith("\\")]


def kill_at_every_statement(scene, every, dice, fail):
    """Kills and repeats; returns the number of kills."""
    scene.make("struck", TRIGGER)
    sql = lambda statement: scene.server.sql(statement, "struck")
    kills, at, relations, copied = 0, 1 + dice.randrange(every), {}, None
    while True:
        before = sql(APPLIED)
        sql(f"ALTER DATABASE struck SET fault.at = '{at}'")
        sql("SELECT setval('fault.statement', 1, false)")
        code, said = scene.memdir("struck", "team", "migrate")
        after = sql(APPLIED)
        count = relations.setdefault(after, sql(RELATIONS))
        if count != sql(RELATIONS):
            fail(f"after the migrations {after} there are {sql(RELATIONS)} relations, and {count} before")
        if copied is None and after:
            copied = scene.fill("struck", "whole")
            before_all = scene.contents("struck", copied)
        elif copied is not None and scene.contents("struck", copied) != before_all:
            fail(f"after the migrations {after} the memories are others")
        if code == 0:
            return kills
        if not said.strip():
            fail("a killed migration ends without a word")
        kills += 1
        # The count of statements begins again with each migration.
        at = 1 + dice.randrange(every) if after != before else at + every


def kill_one_of_two(scene, dice, fail):
    """Has two programs migrate at once, and kills one."""
    scene.make("shared", "")
    first, second = (scene.begin("shared", "team", "migrate") for _ in range(2))
    try:
        first.wait(dice.random())
    except subprocess.TimeoutExpired:
        pass
    first.kill()
    first.communicate()
    _, said = second.communicate(timeout=HANGS_AFTER)
    if second.returncode != 0:
        fail(f"a migration beside one that was killed: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    programs = programs_of_postgres()
    if not programs:
        print("skipped: migrations of a team's database that are killed: there is no PostgreSQL")
        return 3
    dice, failures = random.Random(given.seed), []
    folder = tempfile.mkdtemp(prefix="memdir-migrating-")
    scene = Scene(os.path.abspath(given.program), programs, folder)
    try:
        scene.make("whole", "")
        code, said = scene.memdir("whole", "team", "migrate")
        if code != 0:
            raise SystemExit(f"the migration fails undisturbed: {said}")
        for words in (["create", WORKSPACE], ["import", WORKSPACE, scene.make_folder()]):
            code, said = scene.memdir("whole", "team", *words)
            if code != 0:
                raise SystemExit(f"team {' '.join(words)}: {said}")
        kills = kill_at_every_statement(scene, given.every, dice, failures.append)
        if kills != int(scene.server.sql("SELECT last_value FROM fault.struck", "struck")):
            failures.append("a migration failed without being killed")
        kill_one_of_two(scene, dice, failures.append)
        scene.server.sql("SET fault.at = '0'; DROP EVENT TRIGGER strike; DROP TRIGGER strike ON workspace; "
                         "DROP TRIGGER strike ON migration", "struck")
        expected = scene.schema("whole")
        for database in ("struck", "shared"):
            difference = list(difflib.unified_diff(expected, scene.schema(database), lineterm="", n=0))
            if difference:
                failures.append(f"the schema of {database} is another one: {difference[2:8]}")
            words_of = {"struck": [["check", WORKSPACE]], "shared": [["create", WORKSPACE], ["check", WORKSPACE]]}
            for words in words_of[database]:
                code, said = scene.memdir(database, "team", *words)
                if code != 0:
                    failures.append(f"team {' '.join(words)} in {database}: {said}")
    finally:
        scene.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for failure in failures[:10]:
        print("   ", failure[:400])
    print(f"migrations: {kills} kills, one in {given.every} statements, seed {given.seed}; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
