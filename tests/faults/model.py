#!/usr/bin/env python3
"""Does random things to a store and compares it with a dictionary of what must be there.

usage: tests/faults/model.py PROGRAM [--steps 2000] [--seed N] [--patience 2.0] [--git] [-v]

Two MCP servers run all the time; beside them commands run, files are made, changed, moved and
deleted by hand, processes are killed at random moments and parts of `.memdir` are deleted. After
every hundred steps, and at the end:
  - every text that was acknowledged, and that nobody forgot or deleted, is in its file, byte for
    byte; every other memory file is explained by a call that was killed;
  - what each server finds exists and is current, and what must be found is: within 100 ms, or
    within the patience if a file was changed in place;
  - every text that a program replaced, and with `--git` a program wrote, is in the history, or
    without one, where somebody had written it, in the archive;
  - `memdir verify` finds nothing, `export` prints just the memories, no temporary file is left;
  - the index that followed all this answers 50 questions, with scores, as one made afresh, and as a
    copy of the folder, in which every file that states a time is new.
Prints the seed, what was done and what was lost; exit code 1 if anything was. Linux or macOS.
"""
import argparse
import glob
import json
import os
import random
import shutil
import sys
import time

from expected import Expected, Loss, VOCABULARY, content_of, stem_of, without_line, words_of

# What a store of this kind may say of itself: foreign names, twins, and what replaced or was replaced and then deleted.
EXPECTED_PROBLEMS = {"foreign-name", "no-frontmatter", "same-handle", "dangling-reference"}
CHECK_EVERY = 100
# So many seconds may pass until a server knows what another process did.
OTHERS_AFTER = 0.1


class Model(Expected):
    """What is done to the store, and what is checked."""

    # ---- what is done by programs

    def remember(self):
        server, content = self.dice.choice(self.servers), self.text()
        arguments = {"agent": "model", "user": "mira", "topics": ["told"], "content": content}
        older = self.any() if self.dice.random() < 0.1 else None
        if older:
            arguments["supersedes"] = [stem_of(older)]
        if self.dice.random() < 0.1:
            arguments["idempotency_key"] = content
        reply = server.tool("remember", arguments)
        if "idempotency_key" in arguments and server.tool("remember", arguments)["memory_id"] != reply["memory_id"]:
            raise Loss("one key, two memories")
        if older:
            text = self.read("files", older)
            if without_line(text, "superseded_by") != without_line(self.live[older], "superseded_by"):
                raise Loss(f"files/{older} changed in more than its mark")
            self.replaced_by_program(older, text)
        self.adopt({content}, {content})
        self.finds(self.dice.choice(self.servers), words_of(content))

    def command_remember(self):
        content = self.text()
        ended = self.must("remember", "--agent", "a", "--user", "mira", "--topics", "x", content,
                          kill=self.dice.random() < 0.5)
        self.adopt({content}, {content} if ended else set())

    def update(self):
        name = self.any()
        if not name:
            return
        self.number += 1
        title = f"Title {self.number}"
        ended = self.must("update", stem_of(name), "--title", title, kill=self.dice.random() < 0.3)
        text = self.read("files", name)
        if without_line(text, "title") != without_line(self.live[name], "title"):
            raise Loss(f"files/{name} changed in more than its title: {text!r}")
        if ended and f"\ntitle: {title}\n" not in text:
            raise Loss(f"files/{name} was not changed, although acknowledged")
        if not ended and text != self.live[name] and f"\ntitle: {title}\n" not in text:
            raise Loss(f"files/{name} has lost its title")
        self.replaced_by_program(name, text)

    def edit(self):
        name = self.any()
        if not name:
            return
        text = self.file_text(stem_of(name), self.text())
        with open(os.path.join(self.work, "edited"), "w", newline="") as file:
            file.write(text)
        self.environment["EDITOR"] = "cp " + os.path.join(self.work, "edited")
        ended = self.must("edit", stem_of(name), kill=self.dice.random() < 0.3)
        now = self.read("files", name)
        if now != text and (ended or now != self.live[name]):
            raise Loss(f"files/{name} is not as edited: {now!r}")
        if now == text:
            self.gone.extend(words_of(self.live[name]))
        self.replaced_by_program(name, now)

    def forget(self):
        name = self.any()
        if name:
            self.move("forget", name, "files", self.live, "archive", self.archived)

    def restore(self):
        if self.archived:
            name = self.dice.choice(sorted(self.archived))
            self.move("restore", name, "archive", self.archived, "files", self.live)

    def move(self, command, name, source, left, target, right):
        ended = self.must(command, stem_of(name), kill=self.dice.random() < 0.3)
        is_there, is_moved = os.path.exists(self.path(source, name)), os.path.exists(self.path(target, name))
        if is_there == is_moved or (ended and is_there):
            raise Loss(f"{command} of {name}: in {source} {is_there}, in {target} {is_moved}")
        if is_moved:
            right[name] = left.pop(name)
            self.in_place.pop(name, None)

    def bring_in(self):
        contents = [self.text() for _ in range(self.dice.randint(1, 5))]
        line = lambda content: json.dumps({"id": words_of(content)[0], "timestamp": "2026-01-02T03:04:05Z",
                                           "user": "mira", "agent": "old", "topics": ["brought"], "content": content})
        lines = "".join(line(content) + "\n" for content in contents)
        ended = self.must("import", "--from", "jsonl", "-", input=lines, kill=self.dice.random() < 0.4)
        self.adopt(contents, contents if ended else ())
        if not ended:
            # Importing again adds what is missing, and nothing twice.
            self.must("import", "--from", "jsonl", "-", input=lines)
            there = {content_of(text) for text in self.live.values()}
            self.adopt(set(contents) - there, set(contents) - there)

    def think(self):
        ended = self.run("think", "--json", *self.dice.choices(VOCABULARY, k=4), kill=self.dice.random() < 0.2)
        if ended and ended[0] == 2:
            raise Loss(f"think fails: {ended[2]}")
        if ended and ended[0] == 0:
            self.check_hits("think", json.loads(ended[1]))

    def recall(self):
        name = self.any()
        if not name:
            return
        [found] = self.dice.choice(self.servers).tool("recall", {"memory_ids": [stem_of(name)]})["results"]
        if found.get("content") != content_of(self.live[name]):
            raise Loss(f"recalled of {name}: {found}")

    def reindex(self):
        self.run("reindex", *(["--full"] if self.dice.random() < 0.5 else []), kill=self.dice.random() < 0.7)

    def kill_server(self):
        which = self.dice.randrange(len(self.servers))
        server = self.servers[which]
        contents = [self.text() for _ in range(self.dice.randint(0, 8))]
        calls = [
            server.call("remember", {"agent": "model", "user": "mira", "topics": ["told"], "content": content})
            for content in contents
        ]
        # Nothing to wait for: the moment is what is tried.
        time.sleep(self.dice.choice([0, self.dice.uniform(0, 0.02), self.dice.uniform(0, 0.5)]))
        replies = server.kill()
        acknowledged = [content for call, content in zip(calls, contents) if replies.get(call, {}).get("memory_id")]
        self.done["killed servers"] += 1
        self.adopt(contents, acknowledged)
        self.servers[which] = self.server()

    def delete_derived(self):
        state = self.path(".memdir")
        parts = [state, *glob.glob(state + "/*"), *glob.glob(state + "/*/*"), *glob.glob(state + "/*/*")]
        part = self.dice.choice(sorted(parts))
        self.is_harmed = True
        if part == state or "replaced" in part or "written.log" in part:
            # What waits there is on its way into the history, and nowhere else.
            waiting = self.waiting()
            self.overwritten = [one for one in self.overwritten if one[1] not in waiting]
        if os.path.isdir(part):
            shutil.rmtree(part, ignore_errors=True)
        elif os.path.exists(part):
            os.unlink(part)

    # ---- what is done by hand

    def make(self):
        content = self.text()
        if self.dice.random() < 0.1:
            name, text = f"note {self.number}.md", f"# A note\n\n{content}"
        else:
            day = self.dice.randint(1, 28)
            stem = f"202605{day:02}_1200{self.dice.randint(0, 59):02}_{self.dice.getrandbits(32):08x}"
            name, text = stem + ".md", self.file_text(stem, content)
        if os.path.exists(self.file(name)):
            return
        self.write(name, text)
        self.live[name] = text
        self.by_hand.add(name)
        self.in_place[name] = time.monotonic()  # Whoever looks between open and write sees it empty.

    def write(self, name, text, mode="w"):
        with open(self.file(name), mode, encoding="utf-8", newline="") as file:
            file.write(text)

    def changed(self, name, text):
        self.gone.extend(set(words_of(self.live[name])) - set(words_of(text)))
        self.live[name] = text
        self.by_hand.add(name)
        self.in_place[name] = time.monotonic()

    def append(self):
        if name := self.any(canonical=False):
            more = self.text()
            self.write(name, more, "a")
            self.changed(name, self.live[name] + more)

    def truncate(self):
        if name := self.any():
            text = self.file_text(stem_of(name), self.text())
            self.write(name, text)
            self.changed(name, text)

    def replace(self):
        if name := self.any():
            text = self.file_text(stem_of(name), self.text())
            draft = os.path.join(self.work, "draft")
            with open(draft, "w", newline="") as file:
                file.write(text)
            os.replace(draft, self.file(name))
            self.changed(name, text)

    def same_size(self):
        if name := self.any(canonical=False):
            text = self.live[name]
            other = text.replace("garden", "budget").replace("heron", "eagle").replace("water", "mills")
            if other != text:
                self.write(name, other, "r+")
                self.changed(name, other)

    def turn_back(self):
        if name := self.any(canonical=False):
            text = self.live[name] + self.text()
            self.write(name, text)
            past = time.time() - self.dice.randint(10, 10**8)
            os.utime(self.file(name), (past, past))
            self.changed(name, text)

    def delete(self):
        if name := self.any(canonical=False):
            os.unlink(self.file(name))
            self.lose(name)

    def relocate(self):
        if name := self.any(canonical=False):
            folder = self.dice.choice(["old", "old/older", "new"])
            target = f"{folder}/{name.rsplit('/')[-1]}"
            if target != name:
                os.makedirs(self.file(folder), exist_ok=True)
                os.rename(self.file(name), self.file(target))
                self.live[target] = self.live.pop(name)
                if name in self.by_hand:
                    self.by_hand.add(target)
                self.in_place.pop(name, None)
                self.in_place[target] = time.monotonic()

    # ---- what is checked

    def check_hits(self, who, hits):
        for hit in hits:
            name = self.named(hit["id"])
            if stale := set(words_of(hit["content_preview"])) - set(words_of(self.live[name])):
                raise Loss(f"{who} shows {stale} of {name}, which holds it no more")

    def finds(self, server, words):
        """Asks for words, and again as long as a change in place may be unseen."""
        holders = {
            word: {name for name, text in self.live.items() if word in text and not self.is_hidden(name)}
            for word in words
        }
        begun = time.monotonic()
        while words:
            asked = [(word, server.call("think", {"keywords": [word]})) for word in words]
            words, waited = [], time.monotonic() - begun
            for word, call in asked:
                hits = server.reply(call)["results"]
                self.check_hits("a server", hits)
                found = {self.named(hit["id"]) for hit in hits}
                if found != holders[word]:
                    may_wait = any(name in self.in_place for name in found ^ holders[word])
                    if waited > (self.patience if may_wait else OTHERS_AFTER):
                        raise Loss(f"after {waited:.2f} s `{word}` is found in {found}, and stands in {holders[word]}")
                    words.append(word)
            if words:
                time.sleep(0.01)
        self.slowest = max(self.slowest, waited)

    def answers(self, server, questions):
        """The best ten of every question, with scores; asked all at once."""
        asked = [server.call("think", {**question, "limit": 10}) for question in questions]
        replies = [server.reply(number)["results"] for number in asked]
        for hits in replies:
            self.check_hits("a server", hits)
        return [[(hit["id"], hit["relevance_score"]) for hit in hits] for hits in replies]

    def check(self):
        for folder, expected in (("files", self.live), ("archive", self.archived)):
            found = self.on_disk(folder)
            if missing := expected.keys() ^ found:
                raise Loss(f"in {folder} either missing or unexplained: {missing}")
            for name, text in expected.items():
                now = self.read(folder, name)
                if now != text and without_line(now, "supersedes") == without_line(text, "supersedes"):
                    # A memory takes over what one that was forgotten had replaced.
                    expected[name] = text = now
                if now != text:
                    raise Loss(f"{folder}/{name} is {now!r}, not {text!r}")
        is_kept = self.kept()
        for name, text in self.overwritten:
            if not is_kept(text):
                raise Loss(f"what stood in {name} before a program replaced it is kept nowhere: {text!r}")
        self.done["texts kept"] = len(self.overwritten)
        changed = [word for name in self.in_place for word in words_of(self.live[name])[-1:]]
        words = [word for text in self.live.values() for word in words_of(text)]
        some = self.dice.sample(words, min(len(words), 20)) + list(self.gone)
        for server in self.servers:
            self.finds(server, changed + some)
        self.in_place.clear()
        proof = json.loads(self.run("verify", "--json")[1])
        if proof["index_faults"] and self.is_harmed:
            # Told once, and mended by whoever opened it then.
            proof = json.loads(self.run("verify", "--json")[1])
        self.is_harmed = False
        problems = [problem for problem in proof["problems"] if problem["code"] not in EXPECTED_PROBLEMS]
        if proof["index_faults"] or problems or proof["files"] != len(self.live):
            raise Loss(f"verify: {proof['files']} of {len(self.live)} files, {proof['index_faults']}, {problems}")
        exported = [json.loads(line) for line in self.run("export", "--to", "jsonl")[1].splitlines()]
        exported = {memory["stem"]: memory["content"] for memory in exported}
        if exported != {stem_of(name): content_of(text) for name, text in self.live.items()}:
            raise Loss("export prints other memories than there are")
        if left := glob.glob(self.path("files", "**", ".memdir-*"), recursive=True):
            raise Loss(f"left behind: {left}")
        questions = [{"keywords": self.dice.sample(VOCABULARY, 2)} for _ in range(25)]
        questions += [{"query": " ".join(self.dice.choices(VOCABULARY, k=5))} for _ in range(25)]
        answers = {f"server {at} before": self.answers(server, questions) for at, server in enumerate(self.servers)}
        self.must("reindex", "--full")
        answers |= {f"server {at} after": self.answers(server, questions) for at, server in enumerate(self.servers)}
        fresh = self.server()
        expected = self.answers(fresh, questions)
        fresh.end()
        for who, answers in answers.items():
            for question, one, other in zip(questions, answers, expected):
                if one != other:
                    raise Loss(f"{who} the index was made afresh: {question}: {one}, and not {other}")
        copied = self.answers_of_copy(questions)
        for question, one, other in zip(questions, copied, expected):
            if one != other:
                raise Loss(f"a copy of the folder: {question}: {one}, and not {other}")

    def answers_of_copy(self, questions):
        """What a server answers on a copy whose files were written now, as by `cp`, `unzip` or a clone."""
        copy = os.path.join(self.work, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        derived = shutil.ignore_patterns(".memdir", ".git")
        shutil.copytree(self.root, copy, ignore=derived, copy_function=shutil.copyfile)
        for name in self.live:
            # The time of its file is all that is known of a note without a frontmatter.
            if not self.live[name].startswith("---"):
                seen = os.stat(self.file(name))
                os.utime(os.path.join(copy, "files", name), ns=(seen.st_atime_ns, seen.st_mtime_ns))
        server = self.server(copy)
        answers = self.answers(server, questions)
        server.end()
        shutil.rmtree(copy)
        return answers

    def end(self):
        for server in self.servers:
            server.end()
        with open(os.path.join(self.work, "servers.log")) as log:
            if "panicked" in (text := log.read()):
                raise Loss(text)


ACTIONS = {
    Model.remember: 30, Model.command_remember: 3, Model.update: 3, Model.edit: 3, Model.forget: 3, Model.restore: 2,
    Model.bring_in: 1, Model.think: 2, Model.recall: 3, Model.reindex: 1, Model.kill_server: 2, Model.delete_derived: 1,
    Model.make: 8, Model.append: 5, Model.truncate: 4, Model.replace: 5, Model.same_size: 4, Model.turn_back: 3,
    Model.delete: 22, Model.relocate: 3,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--patience", type=float, default=2.0, help="seconds until a change in place is seen")
    parser.add_argument("--git", action="store_true", help="with a history")
    parser.add_argument("-v", action="store_true", help="name every step")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    begun = time.monotonic()
    dice = random.Random(arguments.seed)
    model = Model(os.path.abspath(arguments.program), dice, arguments.patience, arguments.v, arguments.git)
    lost, step = None, 0
    try:
        for step in range(1, arguments.steps + 1):
            [action] = dice.choices(list(ACTIONS), ACTIONS.values())
            if arguments.v:
                print(step, action.__name__, flush=True)
            action(model)
            model.done[action.__name__] += 1
            if step % CHECK_EVERY == 0 or step == arguments.steps:
                model.check()
        model.end()
    except (Loss, RuntimeError) as loss:
        lost = loss
    print(", ".join(f"{name} {count}" for name, count in sorted(model.done.items())))
    kills = model.done["killed servers"] + model.done["killed commands"]
    print(f"{step} steps, {kills} kills, {len(model.live)} memories, {len(model.archived)} forgotten, the slowest "
          f"change in place seen after {model.slowest:.2f} s, losses: {1 if lost else 0}, "
          f"{time.monotonic() - begun:.0f} s")
    for server in model.servers:
        server.kill()
    if lost:
        print(f"step {step}: {lost}\nthe store is kept in {model.work}")
        return 1
    shutil.rmtree(model.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
