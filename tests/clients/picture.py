#!/usr/bin/env python3
"""Draws the picker on the sample store, for the README: picture.py MEMDIR [FILE]

What stands on the screen after the keys below is written as an SVG, cell by cell; the same store gives the same bytes.
Without FILE the picture in docs/pictures is compared, and a difference is a failure. Needs `pyte`.
"""

import os
import re
import shutil
import sys
import tempfile
from xml.sax.saxutils import escape

from terminal import Terminal

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PICTURE = os.path.join(ROOT, "docs", "pictures", "pick.svg")
COLUMNS, LINES = 104, 22
# What is typed, and what then stands on the screen.
KEYS, SEEN = "deploy atlas", "just release"
# Pixels of a cell.
WIDTH, HEIGHT = 8, 18
MARGIN = 14
# Of the terminal's own colours.
COLOURS = {"default": "#d6d9de", "cdcd00": "#d8b45c", "00cdcd": "#6cc0cf", "cd0000": "#f0907f"}


def picture_of(memdir, expected):
    """Returns the picture of the picker after the keys, in a fresh home with a copy of the sample store.

    A screen comes in pieces: the picture is of the expected one as soon as it stands there, or of the one after which
    nothing more comes.
    """
    with tempfile.TemporaryDirectory(prefix="memdir-picture-") as home:
        shutil.copytree(os.path.join(ROOT, "examples", "sample-store"), f"{home}/store")
        environment = {"PATH": os.environ["PATH"], "HOME": home, "MEMDIR_STORE": f"{home}/store", "TERM": "xterm-256color",
                       "MEMDIR_EMBEDDING": "off", "MEMDIR_USER": "mira", "TZ": "UTC", "LANG": "C.UTF-8"}
        terminal = Terminal([memdir, "pick"], environment, COLUMNS, LINES)
        try:
            if not terminal.until(lambda text: "> " in text):
                sys.exit("the picker shows nothing")
            terminal.press(KEYS)
            if not terminal.until(lambda text: KEYS in text and SEEN in text):
                sys.exit(f"`{SEEN}` never comes:\n{terminal.text()}")
            if expected:
                terminal.until(lambda text: svg_of(terminal.screen) == expected)
            else:
                while terminal.read(0.7):
                    pass
            return svg_of(terminal.screen)
        finally:
            terminal.close()


def runs_of(row):
    """Returns the pieces of a line in one style: first column, style, text."""
    runs = []
    for column in range(COLUMNS):
        cell = row[column]
        style = (cell.fg, cell.bold, cell.underscore)
        if not runs or runs[-1][1] != style:
            runs.append((column, style, ""))
        start, style, text = runs.pop()
        # The second cell of a wide character is empty, also where that was overwritten.
        runs.append((start, style, text + (cell.data or " ")))
    # Wide gaps are left out: a font that is not the asked one would move what follows.
    return [(start + found.start(), style, found[0]) for start, style, text in runs
            for found in re.finditer(r"\S+(?: \S+)*", text)]


def svg_of(screen):
    """Returns the picture of a screen."""
    width, height = COLUMNS * WIDTH + 2 * MARGIN, LINES * HEIGHT + 2 * MARGIN
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
             f'<rect width="{width}" height="{height}" rx="8" fill="#1d2026"/>',
             '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" style="white-space: pre">']
    for number in range(LINES):
        y = MARGIN + number * HEIGHT + 13
        for start, (colour, is_bold, is_underlined), text in runs_of(screen.buffer[number]):
            style = f'fill="{COLOURS[colour]}"'
            style += ' font-weight="bold"' if is_bold else ""
            style += ' text-decoration="underline"' if is_underlined else ""
            lines.append(f'<text x="{MARGIN + start * WIDTH}" y="{y}" textLength="{len(text) * WIDTH}" '
                         f'lengthAdjust="spacingAndGlyphs" {style}>{escape(text)}</text>')
    return "\n".join([*lines, "</g>", "</svg>", ""])


def main():
    memdir = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        picture = picture_of(memdir, None)
        with open(sys.argv[2], "w") as file:
            file.write(picture)
        return
    with open(PICTURE) as file:
        expected = file.read()
    if picture_of(memdir, expected) != expected:
        sys.exit(f"docs/pictures/pick.svg is not what the picker shows: {sys.argv[0]} MEMDIR docs/pictures/pick.svg")
    print("the picture of the picker is what it shows")


if __name__ == "__main__":
    main()
