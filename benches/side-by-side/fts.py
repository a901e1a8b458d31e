#!/usr/bin/env python3
"""The search that anybody can build in an hour: SQLite's FTS5 over the notes, ranked by its BM25.

usage: fts.py [--trigram] DATABASE index FOLDER
       fts.py [--trigram] DATABASE search WORDS
       fts.py [--trigram] DATABASE add FOLDER NAME      the note comes by standard input
       fts.py [--trigram] DATABASE get NAME
       fts.py [--trigram] DATABASE serve                 the same, as lists in lines of JSON

Words are joined by OR. With `--trigram` every three characters are indexed, and the words are one literal, so that parts
of words are found. What is printed is the name and the whole text of the ten best.
"""
import json
import os
import re
import sqlite3
import sys


class Notes:
    def __init__(self, database, trigram):
        self.trigram = trigram
        self.database = sqlite3.connect(database)
        # A note that was added is on the disk, as with memdir.
        self.database.execute("pragma journal_mode = wal")
        self.database.execute("pragma synchronous = full")
        tokenizer = "trigram" if trigram else "porter unicode61"
        self.database.execute(f"create virtual table if not exists notes using fts5(name unindexed, title, body,"
                              f" tokenize = '{tokenizer}')")
        # An index by name: FTS5 itself would read every row.
        self.database.execute("create table if not exists places (name text primary key, place integer) without rowid")

    def insert(self, name, text):
        title = re.search(r"^title: (.*)$", text, re.MULTILINE)
        body = text.split("\n---\n", 1)[-1]
        added = self.database.execute("insert into notes values (?, ?, ?)", [name, title[1] if title else "", body])
        self.database.execute("insert or replace into places values (?, ?)", [name, added.lastrowid])

    def index(self, folder):
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as note:
                self.insert(name, note.read())
        self.database.commit()
        return []

    def search(self, words):
        if self.trigram:
            asked = '"' + words.replace('"', '""') + '"'
        else:
            asked = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", words))
        return self.database.execute("select name, title, body from notes where notes match ? order by rank limit 10",
                                     [asked]).fetchall()

    def add(self, folder, name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as note:
            note.write(text)
            note.flush()
            os.fsync(note.fileno())
        self.insert(name, text)
        self.database.commit()
        return []

    def get(self, name):
        return self.database.execute("select name, title, body from notes where rowid ="
                                     " (select place from places where name = ?)", [name]).fetchall()


def main():
    arguments = sys.argv[1:]
    trigram = arguments[:1] == ["--trigram"]
    database, command, *rest = arguments[trigram:]
    notes = Notes(database, trigram)
    if command == "serve":
        for line in sys.stdin:
            asked, *rest = json.loads(line)
            print(json.dumps(getattr(notes, asked)(*rest)), flush=True)
        return
    if command == "add":
        rest.append(sys.stdin.read())
    for row in getattr(notes, command)(*rest):
        print("\n".join(row))


if __name__ == "__main__":
    main()
