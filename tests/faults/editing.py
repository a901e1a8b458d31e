"""Changes a memory's text as people do. Every line holds a token of its own, such as `qa17z`.

Also a program for $EDITOR, which makes one change and records which tokens it removed:

usage: editing.py KIND LINE AT RECORD FILE
"""
import json
import re
import sys

TOKEN = re.compile(r"qa\d+z")
KINDS = ["append", "append", "insert", "change", "change", "remove", "replace"]


def tokens_of(text):
    return set(TOKEN.findall(text))


def changed(text, kind, line, at):
    """The text after a change. `line` is what is new; `at` chooses the line that it is about."""
    front, content = parts(text)
    lines = content.splitlines()
    place = at % max(len(lines), 1)
    if kind == "append":
        lines.append(line)
    elif kind == "insert":
        lines.insert(place, line)
    elif kind == "change":
        lines[place : place + 1] = [line]
    elif kind == "remove":
        del lines[place : place + 1]
    elif kind == "replace":
        lines = [line]
    else:
        raise ValueError(kind)
    return front + "".join(line + "\n" for line in lines)


def parts(text):
    """The frontmatter with the blank line after it, and the content."""
    if not text.startswith("---\n") or "\n---\n" not in text:
        return "", text
    front, content = text.split("\n---\n", 1)
    blank = "\n" if content.startswith("\n") else ""
    return front + "\n---\n" + blank, content.removeprefix("\n")


def main():
    kind, line, at, record, path = sys.argv[1:]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    new = changed(text, kind, line, int(at))
    # Before the text is changed: what is taken out was seen from now on, whatever is killed.
    with open(record, "w", encoding="utf-8") as file:
        json.dump(sorted(tokens_of(text) - tokens_of(new)), file)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(new)


if __name__ == "__main__":
    main()
