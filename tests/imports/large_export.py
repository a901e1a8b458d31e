#!/usr/bin/env python3
"""Mines generated exports of 5,000 conversations of each format, with what real ones have, and bounds the memory.

    tests/imports/large_export.py PROGRAM [--conversations 5000] [--long 100] [FORMAT…]

Every export is built from the published shape of its format, with null times, times as floats, milliseconds and texts,
branches that were abandoned, hidden messages, attachments, edits, users who were deleted, helpers' sessions, code that
looks like a speaker, empty conversations, and one conversation with a string of `--long` MB (in databases of 10 MB at most: a value is in memory
whole, several times). What is to be kept holds the word "seen", what is not the
word "hidden". Checked are the numbers of sessions and messages, that nothing is damaged, that no talk holds "hidden",
that a second run changes nothing, and that no run takes more than 200 MB of memory. Linux only: the peak is the kernel's.
"""
import argparse
import datetime
import json
import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

MOST_KB = 200_000
WORDS = "deploy token train river atlas quokka index commit memory window garden lemon".split()
START = 1_700_000_000


class Maker:
    """Writes files below a folder, and counts what is to be found in them."""

    def __init__(self, folder, count, long):
        self.folder, self.count, self.long = folder, count, long
        self.rng = random.Random(7)
        self.sessions = self.messages = 0

    def said(self, number=None):
        """A text that is to be kept."""
        self.messages += 1
        return f"seen {number if number is not None else ''} " + " ".join(self.rng.choices(WORDS, k=30))

    def texts(self, number, count=4):
        """Texts of a conversation, the second of the last one long."""
        self.sessions += 1
        texts = [self.said(number) for _ in range(count)]
        if number == self.count - 1:
            texts[1] = "seen " + "x y " * (self.long * 250_000)
        return texts

    def write(self, name, value):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            if isinstance(value, str):
                file.write(value)
            else:
                json.dump(value, file)

    def write_array(self, name, values):
        with open(os.path.join(self.folder, name), "w") as file:
            for place, value in enumerate(values):
                file.write(",\n" if place else "[")
                json.dump(value, file)
            file.write("]")

    def write_lines(self, name, values):
        self.write(name, "".join(json.dumps(value) + "\n" for value in values))


def a_time(number, seconds):
    """A time in one of the ways that exports have it, or none."""
    return [seconds, seconds + 0.25, None, float(seconds), seconds * 1000, str(seconds)][number % 6]


def iso(seconds):
    minutes = seconds // 60
    return f"2025-{minutes // 40320 % 12 + 1:02}-{minutes // 1440 % 28 + 1:02}T{minutes // 60 % 24:02}:{minutes % 60:02}:00.000Z"


def chatgpt(make):
    def message(role, text, at, **more):
        content = {"content_type": "text", "parts": [text]}
        return {"author": {"role": role, "name": None, "metadata": {}}, "create_time": at, "content": content,
                "recipient": "all", "weight": 1.0, "metadata": {}, **more}

    def conversation(number):
        at = START + 1000 * number
        mapping = {"root": {"id": "root", "message": None, "parent": None, "children": ["h"]}}
        previous = "root"

        def add(key, value):
            nonlocal previous
            mapping[key] = {"id": key, "parent": previous, "children": [], "message": value}
            previous = key

        add("h", message("system", "hidden", None, metadata={"is_visually_hidden_from_conversation": True}))
        for place, text in enumerate(make.texts(number)):
            parts = message(["user", "assistant"][place % 2], text, a_time(number, at + place))
            if place == 2 and number % 3 == 0:
                picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://hidden", "size_bytes": 1}
                parts["content"] = {"content_type": "multimodal_text", "parts": [picture, text]}
                # A line for the picture.
                make.messages += 1
            add(f"n{place}", parts)
            if place == 0:
                mapping["other"] = {"id": "other", "parent": "n0", "children": [],
                                    "message": message("assistant", "hidden branch", at + 900)}
        add("tool", message("tool", "hidden result", at + 10))
        add("thought", {**message("assistant", "", at), "content": {"content_type": "thoughts", "thoughts": [{"content": "hidden"}]}})
        return {"title": [f"Talk {number}", None, "", f"Talk {number} \U0001f995"][number % 4], "create_time": a_time(number, at),
                "update_time": None, "conversation_id": f"id-{number}", "id": f"id-{number}",
                "current_node": None if number % 10 == 0 else previous, "mapping": mapping}

    # Without `current_node` the branch that was written last is the one; these have none that is later.
    def all_of(part):
        for number in part:
            value = conversation(number)
            if value["current_node"] is None:
                del value["mapping"]["other"]
            yield value

    middle = make.count // 2
    make.write_array("conversations-000.json", all_of(range(middle)))
    make.write_array("conversations-001.json", all_of(range(middle, make.count)))
    make.write("user.json", {"id": "hidden", "email": "hidden@example.com"})


def claude(make):
    def conversation(number):
        messages, above = [], "00000000-0000-4000-8000-000000000000"
        for place, text in enumerate(make.texts(number)):
            key = f"m{number}-{place}"
            content = [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": text},
                       {"type": "tool_result", "content": [{"type": "text", "text": "hidden"}]}]
            messages.append({"uuid": key, "parent_message_uuid": above, "sender": ["human", "assistant"][place % 2],
                             "text": text if number % 2 else "", "content": content if number % 3 else [{"type": "text", "text": text}],
                             "created_at": None if number % 4 == 0 else iso(number * 60 + place), "files": None,
                             "attachments": [] if place else [{"file_name": "a.txt", "extracted_content": "hidden"}]})
            if place == 1:
                messages.insert(-1, {**messages[-1], "uuid": key + "b", "text": "hidden edit",
                                     "content": [{"type": "text", "text": "hidden edit"}]})
            above = key
        # A line for the attachment.
        make.messages += 1
        return {"uuid": f"c-{number}", "name": ["", f"Talk {number}", None][number % 3], "created_at": iso(number * 60),
                "updated_at": iso(number * 60 + 9), "account": {"uuid": "hidden"}, "chat_messages": messages}

    empty = {"uuid": "empty", "name": "hidden", "created_at": iso(0), "updated_at": iso(0), "chat_messages": []}
    make.write_array("conversations.json", (value for number in range(make.count)
                                            for value in ([conversation(number)] + [empty] * (number == 5))))
    make.write("users.json", [{"uuid": "hidden", "full_name": "hidden"}])


def slack(make):
    users = [{"id": f"U{at}", "name": f"user{at}", "deleted": at % 5 == 0, "profile": {"display_name": "" if at % 3 else f"User {at}",
              "real_name": f"Real {at}"}} for at in range(20)]
    make.write("users.json", users)
    channels = 50
    make.write("channels.json", [{"id": f"C{at}", "name": f"channel-{at}"} for at in range(channels)])
    make.write("integration_logs.json", [])
    for number in range(make.count):
        at = START + 86_400 * (number // channels)
        day = day_of(at)
        messages = [{"type": "message", "subtype": "channel_join", "user": "U1", "text": "hidden", "ts": f"{at}.000000"},
                    {"type": "message", "subtype": "bot_message", "hidden": True, "text": "", "ts": f"{at}.000050"}]
        for place, text in enumerate(make.texts(number)):
            message = {"type": "message", "user": f"U{(number + place) % 24}", "text": f"{text} &amp; <@U1> <#C1|channel-1>",
                       "ts": f"{at + place}.{place:06}"}
            if place == 2:
                message["edited"] = {"user": "U1", "ts": f"{at + 90}.000000"}
            if place == 3:
                # It was deleted, and its profile is only here.
                message.update(user="U99", user_profile={"display_name": "Gone"})
            messages.append(message)
        make.write(f"channel-{number % channels}/{day}.json", messages)


def day_of(seconds):

    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d")


def claude_code(make):
    for number in range(make.count):
        session = f"{number:08x}-0000-4000-8000-000000000000"
        line = lambda kind, content, **more: {"type": kind, "sessionId": session, "cwd": f"/home/ada/p{number % 9}", "uuid": "u",
                                              "timestamp": iso(number), "message": {"role": kind, "content": content}, **more}
        lines = [{"type": "file-history-snapshot", "snapshot": {"hidden": 1}}, line("user", "hidden", isMeta=True),
                 line("user", "hidden", isSidechain=True), {"type": "summary", "summary": f"Talk {number}", "leafUuid": "x"},
                 {"type": "a kind of tomorrow", "content": {"hidden": [None]}}]
        for place, text in enumerate(make.texts(number)):
            block = [{"type": "text", "text": text}, {"type": "thinking", "thinking": "hidden"}]
            lines.append(line(["user", "assistant"][place % 2], text if place == 0 else block))
            lines.append(line("user", [{"type": "tool_result", "content": "hidden"}], toolUseResult={"stdout": "hidden"}))
        make.write_lines(f"projects/-home-ada-p{number % 9}/{session}.jsonl", lines)


def codex(make):
    for number in range(make.count):
        line = lambda kind, payload: {"timestamp": iso(number), "type": kind, "payload": payload}
        said = lambda role, text: line("response_item", {"type": "message", "role": role, "content": [
            {"type": "output_text" if role == "assistant" else "input_text", "text": text}]})
        lines = [line("session_meta", {"id": f"codex-{number}", "timestamp": iso(number), "cwd": "/home/ada/web"}),
                 said("developer", "hidden"), said("user", "<environment_context>hidden</environment_context>")]
        for place, text in enumerate(make.texts(number)):
            lines.append(said(["user", "assistant"][place % 2], text))
            lines.append(line("event_msg", {"type": "user_message", "message": "hidden"}))
            lines.append(line("response_item", {"type": "reasoning", "summary": [{"text": "hidden"}]}))
        make.write_lines(f"sessions/2025/01/01/rollout-2025-01-01T00-00-00-{number}.jsonl", lines)


def gemini(make):
    for number in range(make.count):
        messages = [{"id": str(place), "timestamp": iso(number), "type": ["user", "gemini"][place % 2],
                     "content": text if number % 2 else [{"text": text}], "thoughts": [{"subject": "hidden"}]}
                    for place, text in enumerate(make.texts(number))]
        messages.append({"id": "i", "timestamp": iso(number), "type": "info", "content": "hidden"})
        session = {"sessionId": f"gem-{number}", "projectHash": "h", "startTime": iso(number), "messages": messages}
        make.write(f"tmp/p{number % 9}/chats/session-{number}.json", session)


def opencode_session(make, number):
    """The session, its messages and their parts, each with its ids."""
    at = START + number * 100
    head = {"id": f"ses_{number:05}", "projectID": "p", "directory": "/home/ada/tapir", "title": [f"Talk {number}", None][number % 2],
            "time": {"created": at * 1000}}
    messages, parts = [], []
    for place, text in enumerate(make.texts(number)):
        key = f"msg_{number:05}_{place}"
        role = ["user", "assistant"][place % 2]
        messages.append((key, {"id": key, "role": role, "time": {"created": a_time(number, at + place)} if place != 2 else None}))
        parts.append((f"prt_{number:05}_{place}a", key, {"type": "text", "text": text}))
        parts.append((f"prt_{number:05}_{place}b", key, {"type": "text", "text": "hidden", "synthetic": True}))
        parts.append((f"prt_{number:05}_{place}c", key, {"type": "reasoning", "text": "hidden"}))
    # An answer that was taken back, what a tool said, and a file, of which there is a line.
    messages.append((f"msg_{number:05}_z", {"id": f"msg_{number:05}_z", "role": "assistant", "time": None}))
    parts.append((f"prt_{number:05}_0d", f"msg_{number:05}_0", {"type": "file", "filename": "seen.png", "url": "data:hidden"}))
    parts.append((f"prt_{number:05}_1d", f"msg_{number:05}_1", {"type": "tool", "tool": "bash", "state": {
        "status": "completed", "input": {"command": "seen"}, "output": "hidden", "time": None}}))
    parts.append((f"prt_{number:05}_1e", f"msg_{number:05}_1", {"type": ["patch", "snapshot", None, 7][number % 4], "hash": "hidden"}))
    make.messages += 2
    return head, messages, parts


def opencode(make):
    for number in range(make.count):
        head, messages, parts = opencode_session(make, number)
        make.write(f"storage/session/p/{head['id']}.json", head)
        for key, message in messages:
            make.write(f"storage/message/{head['id']}/{key}.json", message)
        for key, message, part in parts:
            make.write(f"storage/part/{message}/{key}.json", part)
    make.write("storage/session/p/ses_helper.json", {"id": "ses_helper", "projectID": "p", "parentID": "ses_00000"})


def opencode_database(make):
    database = sqlite3.connect(os.path.join(make.folder, "opencode.db"))
    database.executescript("CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, time_created);"
                           "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);"
                           "CREATE INDEX one ON message (session_id);"
                           "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);"
                           "CREATE INDEX two ON part (message_id);")
    for number in range(make.count):
        head, messages, parts = opencode_session(make, number)
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", (
            head["id"], None, head["directory"], head["title"], head["time"]["created"]))
        database.executemany("INSERT INTO message VALUES (?, ?, ?)", [
            (key, head["id"], json.dumps(message)) for key, message in messages])
        database.executemany("INSERT INTO part VALUES (?, ?, ?)", [
            (key, message, json.dumps(part)) for key, message, part in parts])
    database.execute("INSERT INTO session VALUES ('ses_helper', 'ses_00000', '/', 'hidden', NULL)")
    database.commit()
    database.close()


def cursor(make):
    database = sqlite3.connect(os.path.join(make.folder, "state.vscdb"))
    database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
    put = lambda key, value: database.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))
    for number in range(make.count):
        session = f"c{number:05}"
        bubbles = [{"type": 1 + place % 2, "text": text, "thinking": {"text": "hidden"},
                    "createdAt": iso(number) if number % 2 else None} for place, text in enumerate(make.texts(number))]
        composer = {"composerId": session, "name": f"Talk {number}", "createdAt": a_time(number, START + number)}
        if number % 4:
            composer["fullConversationHeadersOnly"] = [{"bubbleId": f"b{place}"} for place in range(len(bubbles))] + [{"bubbleId": "gone"}]
            for place, bubble in enumerate(bubbles):
                put(f"bubbleId:{session}:b{place}", bubble)
        else:
            composer["conversation"] = bubbles
        put(f"composerData:{session}", json.dumps(composer) if number % 7 == 0 else composer)
    put("composerData:helper", {"subagentInfo": {}, "conversation": [{"type": 1, "text": "hidden"}]})
    put("composerData:empty", {"fullConversationHeadersOnly": []})
    database.commit()
    database.close()


def plain(make):
    for number in range(make.count):
        people, assistant, end = [("User: ", "Assistant: ", "\n"), ("**Human:** ", "**Claude:** ", "\r\n"),
                                  ("## You\n\n", "## ChatGPT\n\n", "\n"), ("> Me: ", "> Bot: ", "\n")][number % 4]
        time = f"[{iso(number)[:16].replace('T', ' ')}] " * (number % 8 == 0)
        lines = [time + [people, assistant][place % 2] + text + end for place, text in enumerate(make.texts(number))]
        # A speaker in no other place: keys of a file, in a code block, and one that is never closed.
        lines[1] += f"{end}```yaml{end}user: root{end}answer: 42{end}```{end}" if number % 3 else f"~~~{end}model: x{end}"
        heading = "Of a meeting.\n\n" if number % 5 else "\ufeff"
        make.write(f"{number % 50}/talk-{number}.{['txt', 'md'][number % 2]}", heading + "".join(lines))


# MB of the longest string of formats that are not read as a stream.
LONGEST = {"opencode-database": 10, "cursor": 10}
FORMATS = {"chatgpt": chatgpt, "claude": claude, "slack": slack, "claude-code": claude_code, "codex": codex, "gemini": gemini,
           "opencode": opencode, "opencode-database": opencode_database, "cursor": cursor, "plain": plain}


def mined(program, home, folder, *arguments):
    """The report of a run, with the peak of its memory in KB and its processor time in seconds."""
    environment = {"HOME": home, "MEMDIR_STORE": os.path.join(home, "store"), "PATH": os.environ["PATH"], "MEMDIR_EMBEDDING": "off"}
    process = subprocess.Popen([program, "mine", "--json", *arguments, folder], env=environment, stdout=subprocess.PIPE)
    answer = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"mine ended with {process.returncode}")
    return json.loads(answer), used.ru_maxrss, used.ru_utime + used.ru_stime


def talks_with(word, store):
    talks = os.path.join(store, "files", "talks")
    found = [os.path.join(at, name) for at, _, names in os.walk(talks) for name in names if name.endswith(".md")]
    return [path for path in found if word in open(path).read()], len(found)


def made(name, folder, count, long):
    """Writes an export, and returns its maker with the numbers of what is in it."""
    make = Maker(folder, count, min(long, LONGEST.get(name, long)))
    FORMATS[name](make)
    return make


def run(program, name, count, long):
    wrong = []
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, "export")
        os.makedirs(folder)
        os.makedirs(os.path.join(home, "store/files"))
        # In a process of its own: what a process needs when it starts another counts as that one's, too.
        with multiprocessing.Pool(1) as pool:
            make = pool.apply(made, (name, folder, count, long))
        size = sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(folder) for file in files)
        report, peak, seconds = mined(program, home, folder)
        again, second_peak, _ = mined(program, home, folder)
        messages = sum(of["messages"] for of in report["formats"])
        hidden, memories = talks_with("hidden", os.path.join(home, "store"))
        print(f"{name}: {size / 1e6:.0f} MB, {report['new']} sessions, {messages} messages, {memories} memories: "
              f"peak {max(peak, second_peak) / 1000:.0f} MB, {seconds:.1f} s CPU", flush=True)
        for what, seen, expected in [("damaged", report["damaged"][:3], []), ("sessions", report["new"], make.sessions),
                                     ("messages", messages, make.messages), ("hidden texts in", hidden[:3], []),
                                     ("new in the second run", (again["new"], again["continued"]), (0, 0))]:
            if seen != expected:
                wrong.append(f"{name}: {what}: {seen}, expected {expected}")
        if max(peak, second_peak) > MOST_KB:
            wrong.append(f"{name}: {max(peak, second_peak)} KB of memory, more than {MOST_KB}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("formats", nargs="*", default=[], metavar="FORMAT", choices=[[], *FORMATS])
    parser.add_argument("--conversations", type=int, default=5_000)
    parser.add_argument("--long", type=int, default=100, help="MB of the longest string")
    options = parser.parse_args()
    wrong = [line for name in options.formats or FORMATS
             for line in run(os.path.abspath(options.program), name, options.conversations, options.long)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
