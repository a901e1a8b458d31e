"""Makes transcripts as Claude Code writes them, to measure with. The same numbers give the same transcripts, always."""
import datetime
import json
import os
import random

from notes import WORDS, vocabulary

# Words that stand beside credentials, and mostly beside none: what reads texts for credentials has to look at them.
SUSPICIOUS = ("token", "password", "key", "secret", "api key", "authorization", "login", "basic", "code", "passes")
TOOLS = ("Bash", "Read", "Grep", "Edit", "Write")


class Writer:
    """Draws texts: sentences of common and rare words, code, output of programs."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.words = vocabulary(random.Random(42))
        total, self.totals = 0, []
        for place in range(len(self.words)):
            total += 1 / (place + 2.7)
            self.totals.append(total)

    def drawn(self, count):
        return self.dice.choices(self.words, cum_weights=self.totals, k=count)

    def sentences(self, count):
        made = []
        for _ in range(count):
            words = self.drawn(self.dice.randint(6, 18))
            if self.dice.random() < 0.15:
                words.insert(self.dice.randint(1, 5), self.dice.choice(SUSPICIOUS))
            if self.dice.random() < 0.2:
                words.insert(3, f"`{self.dice.choice(WORDS)}_{self.dice.choice(WORDS)}`")
            made.append(" ".join(words).capitalize() + self.dice.choice((".", ".", ".", "?", ":")))
        return " ".join(made)

    def code(self, lines):
        made = []
        for number in range(lines):
            one, two, three = self.drawn(3)
            made.append("    " * (number % 3) + f"let {one}_{two} = {three}(&self.{one}, {self.dice.randint(0, 999)});")
        return "\n".join(made)

    def answer(self):
        """An answer of an assistant, of 1 to 6 paragraphs, some with a list or code."""
        parts = []
        for _ in range(self.dice.randint(1, 6)):
            kind = self.dice.random()
            if kind < 0.2:
                parts.append(f"```rust\n{self.code(self.dice.randint(4, 30))}\n```")
            elif kind < 0.4:
                parts.append("\n".join(f"- **{self.drawn(1)[0]}**: {self.sentences(1)}" for _ in range(4)))
            else:
                parts.append(self.sentences(self.dice.randint(2, 6)))
        return "\n\n".join(parts)

    def output(self, size):
        """Output of a tool of about this size, which no memory holds."""
        lines, length = [], 0
        while length < size:
            lines.append(f"{self.dice.randint(1, 999):5}→{self.code(1)}")
            length += len(lines[-1]) + 1
        return "\n".join(lines)


def make_transcript(path, number, size, share, writer):
    """Writes a session of about `size` bytes, of which this share is what people read: requests, answers, calls."""
    at = datetime.datetime(2026, 1, 1, 8, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=3 * number)
    session = f"{number:08x}-0000-4000-8000-{number:012x}"
    written, said = 0, 0
    with open(os.path.join(path, f"{session}.jsonl"), "w") as file:
        def line(kind, content, **more):
            nonlocal at, written
            at += datetime.timedelta(seconds=writer.dice.choice((5, 9, 20, 40, 90, 2400)))
            record = {"parentUuid": f"{written:036x}", "isSidechain": False, "userType": "external", "version": "2.1.0",
                      "cwd": f"/home/ada/projects/{WORDS[number % 20]}", "sessionId": session, "gitBranch": "main",
                      "type": kind, "message": {"role": kind, "content": content}, "uuid": f"{written:036x}",
                      "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), **more}
            written += file.write(json.dumps(record, ensure_ascii=False) + "\n")

        turn = 0
        while written < size:
            if turn % 6 == 0:
                request = writer.sentences(writer.dice.randint(1, 4))
                said += len(request)
                line("user", request)
            answer = writer.answer()
            tool = TOOLS[turn % len(TOOLS)]
            given = {"command": f"cargo test {writer.drawn(1)[0]}", "old_string": writer.code(5), "new_string": writer.code(7)}
            said += len(answer) + 40
            line("assistant", [{"type": "thinking", "thinking": writer.sentences(2), "signature": "s" * 200},
                               {"type": "text", "text": answer},
                               {"type": "tool_use", "id": f"toolu_{turn}", "name": tool, "input": given}])
            room = max(200, int(said / share) - written)
            result = writer.output(room)
            line("user", [{"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": result}],
                 toolUseResult={"stdout": result[: room // 4], "stderr": ""})
            turn += 1
    return written


def make_transcripts(folder, count, total, share=0.3):
    """Writes `count` sessions of together about `total` bytes below `folder`, and returns how many bytes they have."""
    writer = Writer(11)
    made = 0
    for number in range(count):
        project = os.path.join(folder, f"-home-ada-projects-{WORDS[number % 20]}")
        os.makedirs(project, exist_ok=True)
        # Long ones and short ones.
        size = int(total / count * (0.25, 0.5, 0.75, 1.0, 2.5)[number % 5])
        made += make_transcript(project, number, size, share, writer)
    return made
