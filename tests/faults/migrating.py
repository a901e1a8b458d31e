#!/usr/bin/env python3
"""The migration of a team's database is killed at every statement, and repeated.

usage: tests/faults/migrating.py PROGRAM [--every 1] [--seed N]

PROGRAM has the feature `team`. An event trigger counts the statements that change the schema since the last migration
that was committed, and ends the connection at one of them; `--every N` leaves out all but each N-th, from one that is
drawn. After each kill the database has the schema of a whole number of migrations; at the end, it has that of a database
whose migration nobody disturbed, and works. Two programs that migrate at once, of which one is killed with its
connection open, end the same. Exit code 1 for a difference, 3 if there is no PostgreSQL.
"""
import argparse
import difflib
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

from team import HANGS_AFTER, Postgres

# Numbers of `nextval` outlive the transactions that drew them.
TRIGGER = """
CREATE SCHEMA fault;
CREATE SEQUENCE fault.statement;
CREATE SEQUENCE fault.struck;
CREATE FUNCTION fault.strike() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('fault.statement') = current_setting('fault.at', true)::bigint THEN
        PERFORM nextval('fault.struck');
        PERFORM pg_terminate_backend(pg_backend_pid());
        PERFORM pg_sleep(60);
    END IF;
END $$;
CREATE EVENT TRIGGER strike ON ddl_command_end EXECUTE FUNCTION fault.strike();
"""
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
    kills, at, relations = 0, 1 + dice.randrange(every), {}
    while True:
        before = sql(APPLIED)
        sql(f"ALTER DATABASE struck SET fault.at = '{at}'")
        sql("SELECT setval('fault.statement', 1, false)")
        code, said = scene.memdir("struck", "team", "migrate")
        after = sql(APPLIED)
        count = relations.setdefault(after, sql(RELATIONS))
        if count != sql(RELATIONS):
            fail(f"after the migrations {after} there are {sql(RELATIONS)} relations, and {count} before")
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
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found or not shutil.which("psql"):
        print("skipped: migrations of a team's database that are killed: there is no PostgreSQL")
        return 3
    dice, failures = random.Random(given.seed), []
    folder = tempfile.mkdtemp(prefix="memdir-migrating-")
    scene = Scene(os.path.abspath(given.program), os.path.dirname(found[-1]), folder)
    try:
        scene.make("whole", "")
        code, said = scene.memdir("whole", "team", "migrate")
        if code != 0:
            raise SystemExit(f"the migration fails undisturbed: {said}")
        kills = kill_at_every_statement(scene, given.every, dice, failures.append)
        if kills != int(scene.server.sql("SELECT last_value FROM fault.struck", "struck")):
            failures.append("a migration failed without being killed")
        kill_one_of_two(scene, dice, failures.append)
        scene.server.sql("DROP EVENT TRIGGER strike", "struck")
        expected = scene.schema("whole")
        for database in ("struck", "shared"):
            difference = list(difflib.unified_diff(expected, scene.schema(database), lineterm="", n=0))
            if difference:
                failures.append(f"the schema of {database} is another one: {difference[2:8]}")
            for words in (["create", "atlas"], ["check", "atlas"]):
                code, said = scene.memdir(database, "team", *words)
                if code != 0:
                    failures.append(f"team {' '.join(words)} in {database}: {said}")
    finally:
        scene.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for failure in failures[:10]:
        print("   ", failure[:400])
    print(f"migrations: {kills} kills, each {given.every}. statement, seed {given.seed}; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
