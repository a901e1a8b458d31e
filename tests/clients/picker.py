#!/usr/bin/env python3
"""Drives `memdir pick` in a pseudo-terminal, and compares what stands on the screen: picker.py MEMDIR [SCENE…]

Each scene opens the picker on a store of its own, presses keys, and waits after each step until the screen is the one
in `picker.screens.txt`. Commit ids and times of commits are written as # there. MEMDIR_RENEW=1 writes the file anew:
read the difference. Needs `pyte`.
"""

import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile

from terminal import Terminal

UP, DOWN, ENTER, ESCAPE, TAB = "\x1b[A", "\x1b[B", "\r", "\x1b", "\t"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
SCREENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "picker.screens.txt")
RENEWS = bool(os.environ.get("MEMDIR_RENEW"))
SCENES = []

NOTES = [
    ("20260114_091500_1f3a9c02", "How we deploy", "topics: [deploy, atlas]\nkind: procedural\nnamespace: atlas",
     "Deploys of atlas go out on Tuesdays, after the backup.\n\n1. Tag the release.\n2. Wait for the checks.\n"
     "3. Run `deploy --canary`, and look at the errors for ten minutes.\n"),
    ("20260115_101500_2f3a9c03", "Backups run at night", "topics: [backup]\nkind: semantic\nnamespace: atlas\ntier: long",
     "The backup of the database starts at two.\n"),
    ("20260116_111500_3f3a9c04", "Mira prefers small commits", "topics: [style]\nkind: semantic",
     "One idea each.\n"),
    ("20260117_121500_4f3a9c05", "東京 meeting 🗼 with wide characters that are cut somewhere at the edge",
     "topics: [travel]\nkind: episodic", "会議は火曜日です。\n\twith a tab\n"),
    ("20260118_131500_5f3a9c06", '"\\e]0;title\\a\\e[2J hostile \\u202eabc"', "topics: [hostile]",
     "\x1b]52;c;ZXZpbA==\x07 \x1b[2J \x9b2J \u202eabc\u2069 end\n"),
]


def environment(home, **more):
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    editor = os.path.join(home, "editor")
    return {**kept, "HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache", "XDG_DATA_HOME": f"{home}/data", "MEMDIR_STORE": f"{home}/store",
            "MEMDIR_NAMESPACE": "global", "MEMDIR_EMBEDDING": "off", "MEMDIR_USER": "mira", "TZ": "UTC",
            "TERM": "xterm-256color", "EDITOR": editor, "MEMDIR_PAGER": "", "LANG": "C.UTF-8", **more}


def put(store, name, title, fields, text):
    with open(f"{store}/files/{name}.md", "w") as note:
        note.write(f"---\nid: {name[-8:]}\ntimestamp: {name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:00Z\n"
                   f"agent: claude\nuser: mira\ntitle: {title}\n{fields}\n---\n\n{text}")


def masked(text):
    """Takes out what differs from run to run, without moving anything."""
    pattern = r"\d{4}-\d\d-\d\d \d\d:\d\d  [0-9a-f]{10}|newest +\S+|bytes +\d+"
    return re.sub(pattern, lambda found: "#" * len(found[0]), text)


class Scene:
    """A store with the notes above, and the screens of one scene."""

    def __init__(self, program, name, home, screens):
        self.program, self.name, self.home, self.screens = program, name, home, screens
        self.store = f"{home}/store"
        self.seen = []
        self.terminal = None
        with open(f"{home}/editor", "w") as editor:
            editor.write('#!/bin/sh\nprintf "And a line more.\\n" >> "$1"\n')
        os.chmod(f"{home}/editor", 0o755)
        git = [] if "history" in name else ["--no-git"]
        self.run("init", *git, self.store)
        for note in NOTES:
            put(self.store, *note)

    def run(self, *arguments, **more):
        command = [self.program, *arguments]
        return subprocess.run(command, env=environment(self.home), check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **more).stdout.strip()

    def more_notes(self, count):
        for number in range(count):
            name = f"20251201_{number // 60:02}{number % 60:02}00_{number:07x}a"
            put(self.store, name, f"Note {number}", "topics: [many]", f"Text of note {number}.\n" * (number % 5 + 1))
        self.run("reindex")

    def open(self, *arguments, ready="> ", columns=80, lines=24, piped=False, **more):
        """Starts the program, and waits until it reads single keys: before, the terminal takes Enter otherwise."""
        command = [self.program, *(arguments or ("pick",))]
        self.terminal = Terminal(command, environment(self.home, **more), columns, lines, piped)
        check(self.terminal.until(lambda text: ready in text), f"`{ready}` never comes")

    def press(self, keys):
        self.terminal.press(keys)

    def sees(self, mark):
        """Waits for the next screen, which holds `mark`, and compares it."""
        place = len(self.seen)
        if RENEWS:
            if not self.terminal.until(lambda text: mark in text):
                raise SystemExit(f"{self.name}: `{mark}` never comes:\n{self.terminal.text()}")
            while self.terminal.read(0.7):
                pass
            self.seen.append(masked(self.terminal.text()))
            return
        expected = self.screens[self.name][place]
        if not self.terminal.until(lambda text: masked(text) == expected):
            shown = masked(self.terminal.text())
            print("\n".join(difflib.unified_diff(expected.split("\n"), shown.split("\n"), "expected", "on the screen",
                                                 lineterm="")))
            raise SystemExit(f"failed: {self.name}, screen {place + 1}")
        self.seen.append(expected)

    def ends(self, code, piped=""):
        got = self.terminal.end()
        if got != (code, piped):
            raise SystemExit(f"failed: {self.name} ends with {got}, not {(code, piped)}: {self.terminal.text()}")

    def close(self):
        if self.terminal:
            self.terminal.close()
            self.terminal = None


def scene(act):
    SCENES.append(act)
    return act


def check(is_so, what):
    if not is_so:
        raise SystemExit(f"failed: {what}")


@scene
def the_newest_are_listed_first_with_the_text_of_the_first(it):
    it.open()
    it.sees("1/5")


@scene
def down_selects_the_next_one_and_shows_its_text(it):
    it.open()
    it.sees("1/5")
    it.press(DOWN * 4)
    it.sees("5/5")
    it.press("\x10")
    it.sees("4/5")


@scene
def enter_prints_the_id(it):
    it.open(piped=True)
    it.press(DOWN)
    it.sees("2/5")
    it.press(ENTER)
    it.ends(0, "4f3a9c05\n")


@scene
def escape_leaves_without_an_id(it):
    it.open(piped=True)
    it.sees("1/5")
    it.press(ESCAPE)
    it.ends(1)


@scene
def words_search_as_they_are_typed(it):
    it.open()
    it.press("backup")
    it.sees("> backup")


@scene
def a_part_of_a_word_is_enough(it):
    it.open()
    it.press("commi")
    it.sees("1/1")


@scene
def what_is_not_there_is_not_found(it):
    it.open()
    it.press("zeppelin")
    it.sees("nothing found")
    it.press("\x15")
    it.sees("1/5")


@scene
def conditions_may_be_typed_as_in_think(it):
    it.open("pick", "topic:backup")
    it.sees("1/1")


@scene
def a_long_list_is_paged(it):
    it.more_notes(60)
    it.open()
    it.press(PAGE_DOWN)
    it.sees("22/65")
    it.press(PAGE_DOWN * 3)
    it.sees("65/65")
    it.press(PAGE_UP)
    it.sees("44/65")


@scene
def tab_goes_to_the_text_which_scrolls(it):
    put(it.store, "20260201_000000_6f3a9c07", "Long", "topics: [long]", "".join(f"line {n}\n" for n in range(100)))
    it.open()
    it.sees("line 0")
    it.press(TAB + PAGE_DOWN)
    it.sees("line 30")
    it.press(PAGE_DOWN * 9)
    it.sees("line 99")
    it.press(TAB + UP)
    it.sees("line 0")


@scene
def a_question_mark_shows_the_keys(it):
    it.open()
    it.press("?")
    it.sees("^K")
    it.press(ESCAPE)
    it.sees("1/5")


@scene
def filters_are_chosen_by_key(it):
    it.open()
    it.press("\x06")
    it.sees("Filter by")
    it.press("k")
    it.sees("semantic")
    it.press("proc")
    it.sees("kind> proc")
    it.press(ENTER)
    it.sees("1/1")
    it.press("\x06c")
    it.sees("1/5")


@scene
def filters_of_time_and_of_what_ended(it):
    it.open()
    it.press("\x06ss")
    it.sees("last week")
    # Month, year, no span: how old the notes are does not matter.
    it.press("sssa")
    it.sees("expired, superseded, talks too")


@scene
def forgetting_asks_first(it):
    it.open()
    it.press(DOWN * 4 + "\x18")
    it.sees("forget 1f3a9c02")
    it.press("n")
    it.sees("nothing was forgotten")
    it.press("\x18y")
    it.sees("forgot 1f3a9c02")
    it.press(ESCAPE)
    it.ends(1)
    check("1f3a9c02" in it.run("archived"), "the memory is in the archive")


@scene
def an_id_is_copied_by_the_terminal(it):
    it.open()
    it.press("\x19")
    it.sees("copied 5f3a9c06")
    check(b"\x1b]52;c;NWYzYTljMDY=\x07" in it.terminal.written, "the clipboard gets the id")


@scene
def two_memories_are_linked(it):
    it.open()
    it.press(DOWN * 4 + "\x0b")
    it.sees("link 1f3a9c02 to>")
    it.press(UP + ENTER)
    it.sees("relation to 2f3a9c03: related-to")
    it.press("\x15depends-on" + ENTER)
    it.sees("1f3a9c02 depends-on 2f3a9c03")
    it.press("\x03")
    it.ends(1)
    check("depends-on" in it.run("links", "1f3a"), "the link is in the file")


@scene
def a_link_may_be_given_up(it):
    it.open()
    it.press("\x0b" + ENTER)
    it.sees("choose another memory")
    it.press(ESCAPE)
    it.sees("> ")


@scene
def the_history_shows_what_each_version_changed(it):
    it.run("sync")
    it.run("update", "1f3a", "--title", "How atlas is deployed")
    it.run("update", "1f3a", "--content", "Deploys go out on Fridays.")
    it.open("pick", "fridays")
    it.sees("1/1")
    it.press("\x12")
    it.sees("+Deploys go out on Fridays.")
    it.press(DOWN)
    it.sees("+title: How atlas is deployed")
    it.press(DOWN)
    it.sees("+id: 1f3a9c02")
    it.press(ESCAPE)
    it.sees("1/1")


@scene
def the_editor_gets_the_terminal_and_gives_it_back(it):
    it.open(piped=True)
    it.press(DOWN * 2 + "\x0f")
    it.sees("saved 3f3a9c04")
    it.press(ENTER)
    it.ends(0, "3f3a9c04\n")
    check("And a line more." in it.run("recall", "3f3a"), "what was edited is saved")


@scene
def what_others_write_appears(it):
    it.open()
    it.sees("1/5")
    put(it.store, "20260301_000000_7f3a9c08", "Written meanwhile", "topics: [new]", "New.\n")
    it.sees("Written meanwhile")


@scene
def a_larger_terminal_shows_more(it):
    it.more_notes(40)
    it.open()
    it.sees("1/45")
    it.terminal.resize(120, 40)
    it.sees("Note 10 ")
    it.terminal.resize(80, 24)
    it.sees("1/45")


@scene
def on_a_narrow_terminal_the_text_stands_below(it):
    it.open(columns=60, lines=20)
    it.press(DOWN * 4)
    it.sees("5/5")


@scene
def on_a_small_terminal_the_text_takes_the_place_of_the_list(it):
    it.open(columns=38, lines=10)
    it.press(DOWN * 4)
    it.sees("5/5")
    it.press(TAB)
    it.sees("Deploys of atlas")


@scene
def on_a_tiny_terminal_nothing_breaks(it):
    it.open(ready="too", columns=8, lines=3)
    it.sees("too")
    it.terminal.resize(30, 6)
    it.sees("1/5")


@scene
def a_contradiction_is_decided_by_a_key(it):
    it.run("link", "1f3a9c02", "2f3a9c03", "--type", "conflicts-with")
    it.open("resolve", ready="q: quit")
    it.sees("q: quit")
    it.press("x")
    it.sees("q: quit")
    it.press("2")
    it.ends(0)
    check("2f3a9c03 supersedes 1f3a9c02" in it.terminal.text(), "the second holds")
    check(it.terminal.modes() == it.terminal.modes_before, "lines and echo are back")
    check(it.run("resolve") == "no memories contradict each other", "no pair is left")


@scene
def no_key_of_a_question_is_shown_and_the_terminal_comes_back(it):
    it.run("link", "1f3a9c02", "2f3a9c03", "--type", "conflicts-with")
    it.run("link", "3f3a9c04", "2f3a9c03", "--type", "conflicts-with")
    # The second key comes while the first is obeyed, the third is no letter.
    for keys, number in (("sxq", None), (UP + ESCAPE, None), ("s" + UP + "\x03", signal.SIGINT), ("s", signal.SIGTERM)):
        it.open("resolve", ready="q: quit")
        check(it.terminal.modes() != it.terminal.modes_before, "the terminal takes single keys")
        it.press(keys)
        if number == signal.SIGTERM:
            check(it.terminal.until(lambda text: text.count("q: quit") == 2), "the second question comes")
            it.terminal.child.send_signal(number)
        it.ends(-number if number else 0)
        text = it.terminal.text()
        check("\nx" not in text and "^[" not in text and "sx" not in text, f"a key is shown: {text}")
        check(it.terminal.modes() == it.terminal.modes_before, "lines and echo are back")
        it.close()
    check(it.run("resolve", "--json").count("1f3a9c02") > 0, "nothing is decided")


@scene
def two_of_one_title_are_decided_by_a_key(it):
    put(it.store, "20260201_000000_6f3a9c07", "How we deploy", "topics: [deploy]\nnamespace: atlas", "By hand.\n")
    it.open("resolve", ready="q: quit")
    it.sees("q: quit")
    it.press("b")
    it.sees("q: quit")
    it.press("1")
    it.ends(0)
    check("kept" in it.terminal.text() and "forgotten" in it.terminal.text(), "one is kept")
    check(it.run("resolve") == "no memories contradict each other", "no pair is left")


@scene
def proposals_are_decided_by_a_key_each(it):
    talk = f"{it.home}/talk.txt"
    with open(talk, "w") as file:
        file.write("User: We decided to deploy atlas on Tuesdays from now on, after the backup.\n\nAssistant: Noted.\n\n"
                   "User: No, we use pnpm here, never npm.\n\nAssistant: All right.\n\n"
                   "User: I prefer short answers without tables.\n\nAssistant: Yes.\n")
    it.run("mine", talk, "--proposals", "--yes")
    it.open("review", ready="We decided to deploy")
    it.press("a")
    check(it.terminal.until(lambda text: "never npm" in text), "the second proposal comes")
    it.press("d")
    check(it.terminal.until(lambda text: "short answers" in text), "the third proposal comes")
    it.press("e")
    it.ends(0)
    check("accepted" in it.terminal.text(), "what was decided is said")
    check(it.terminal.modes() == it.terminal.modes_before, "lines and echo are back")
    check("And a line more." in it.run("grep", "a line more", "--namespace", "global"), "it was edited")
    check("deploy atlas on Tuesdays" in it.run("grep", "Tuesdays from now on", "--namespace", "global"), "it is a memory")
    check("pnpm" not in it.run("list"), "the other one is none")


@scene
def without_colours_it_looks_the_same(it):
    it.open(NO_COLOR="1")
    it.sees("1/5")
    check(not re.search(rb"\x1b\[(?:[0-9;]*;)?[349][0-8][;m]", it.terminal.written), "no colour is sent")


@scene
def a_memory_moves_no_cursor_and_sets_no_title(it):
    it.open("pick", "hostile")
    it.sees("1/1")
    it.press(TAB)
    it.press(PAGE_DOWN)
    it.sees("1/1")
    sent = it.terminal.written
    check(b"ZXZpbA==\x07" not in sent and b"]0;" not in sent.replace(b"x1b]0;", b""), "nothing of it is obeyed")
    check("\u202e".encode() not in sent and b"\xc2\x9b" not in sent, "nothing turns the line around")


@scene
def edit_without_an_id_asks_which(it):
    it.open("edit")
    it.sees("edit> ")
    it.press("small" + ENTER)
    it.ends(0)
    check("And a line more." in it.run("recall", "3f3a"), "what was edited is saved")


@scene
def recall_without_an_id_asks_which(it):
    it.open("recall")
    it.press("backups")
    it.sees("recall> backups")
    it.press(ENTER)
    it.ends(0)
    check("starts at two" in it.terminal.text(), "the memory is shown")


@scene
def forget_without_an_id_asks_which_and_whether(it):
    it.open("forget")
    it.press("backups" + ENTER)
    it.sees("forget 2f3a9c03")
    it.press("y")
    it.ends(0)
    check("2f3a9c03" in it.run("archived"), "the memory is in the archive")


@scene
def link_without_ids_asks_for_both(it):
    it.open("link", "--type", "elaborates")
    it.sees("link from> ")
    it.press(DOWN + ENTER)
    it.sees("link 4f3a9c05 to> ")
    it.press(DOWN + ENTER)
    it.ends(0)
    check("4f3a9c05 elaborates 3f3a9c04" in it.run("links", "4f3a"), "the link is in the file")


@scene
def in_plain_lines_nothing_moves(it):
    it.open("pick", "--plain", ready=":", piped=True, lines=40)
    it.sees("for help:")
    it.press("backup\n")
    it.sees("2 memories")
    it.press("v 1\n")
    it.sees("starts at two")
    it.press("f 1\n")
    it.sees("y or n:")
    it.press("n\n")
    it.press("1\n")
    it.ends(0, "2f3a9c03\n")
    check(b"\x1b" not in it.terminal.written, "no escape sequence is sent")


@scene
def plain_lines_filter_link_and_show_the_history(it):
    it.run("sync")
    it.run("update", "1f3a", "--title", "How atlas is deployed")
    it.open("pick", "--plain", ready=":", lines=50)
    it.sees("for help:")
    it.press("filter kind procedural\n")
    it.sees("1 to 1 of 1 memories, kind procedural")
    it.press("h 1\n")
    it.sees("version 2:")
    it.press("h 1 1\n")
    it.sees("+title: How atlas is deployed")
    it.press("filter none\n")
    it.sees("1 to 5 of 5 memories")
    it.press("l 1 2\n")
    it.sees("5f3a9c06 related-to 4f3a9c05")
    it.press("?\n")
    it.sees("leave")
    it.press("q\n")
    it.ends(1)


@scene
def a_dumb_terminal_gets_lines(it):
    it.open(TERM="dumb", ready=":", lines=40)
    it.sees("for help:")
    check(b"\x1b" not in it.terminal.written, "no escape sequence is sent")


@scene
def stats_show_the_growth_on_a_terminal(it):
    it.run("remember", "New.")
    it.open("stats", ready="growth", columns=100)
    it.sees("growth")


@scene
def log_shows_the_history_of_one_memory(it):
    it.run("sync")
    it.run("update", "1f3a", "--title", "How atlas is deployed")
    it.open("log", "1f3a", ready="versions")
    it.sees("+title: How atlas is deployed")
    it.press(DOWN)
    it.sees("+id: 1f3a9c02")
    it.press("q")
    code, _ = it.terminal.end()
    check(code == 0, f"the exit code is {code}")
    # The words of a script stay what they were.
    lines = it.run("log", "1f3a")
    check("\x1b" not in lines and len(lines.splitlines()) == 2, lines)
    it.close()
    it.open("log", "1f3a", "--plain", ready="Change memory")
    it.terminal.end()
    check(b"\x1b[?1049h" not in it.terminal.written, "lines leave the screen as it is")


@scene
def a_signal_leaves_the_terminal_in_order(it):
    for number in (signal.SIGTERM, signal.SIGHUP):
        it.open("pick", ready="1/5")
        usual = it.terminal.modes_before
        check(it.terminal.modes() != usual, "the terminal takes single keys")
        it.terminal.child.send_signal(number)
        code, _ = it.terminal.end()
        check(code == -number, f"it ended with {code}")
        check(it.terminal.modes() == usual, "lines and echo are back")
        check(it.terminal.written.rstrip().endswith(b"\x1b[?1049l"), it.terminal.written[-80:])
        check(b"\x1b[?25h" in it.terminal.written[-80:], "the cursor is shown")
        it.close()


@scene
def without_a_terminal_it_says_what_to_use(it):
    for arguments in (["pick"], ["edit"], ["recall"], ["link"], ["link", "1f3a"], ["diff"], ["pick", "--plain"]):
        ran = subprocess.run([it.program, *arguments], env=environment(it.home), stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(ran.returncode == 2 and "memdir think WORDS" in ran.stderr, f"{arguments}: {ran}")


def read_screens():
    screens = {}
    with open(SCREENS) as file:
        for part in file.read().split("\n═══ ")[1:]:
            name, _, text = part.partition("\n")
            screens.setdefault(name.rsplit(", ", 1)[0], []).append(text)
    return screens


def write_screens(all_seen):
    with open(SCREENS, "w") as file:
        file.write("The screens of picker.py.\n")
        for name, seen in all_seen.items():
            for number, text in enumerate(seen):
                file.write(f"\n═══ {name}, {number + 1}\n{text}")


def main():
    program = os.path.realpath(sys.argv[1])
    wanted = sys.argv[2:]
    screens = read_screens() if os.path.exists(SCREENS) else {}
    count = 0
    for act in SCENES:
        name = act.__name__.replace("_", " ")
        if wanted and not any(word in act.__name__ for word in wanted):
            continue
        with tempfile.TemporaryDirectory(prefix="memdir-picker-") as home:
            it = Scene(program, name, os.path.realpath(home), screens)
            try:
                act(it)
            finally:
                it.close()
            if RENEWS:
                screens[name] = it.seen
            count += len(it.seen)
    if RENEWS:
        write_screens(screens)
    print(f"{len(SCENES) if not wanted else len(wanted)} scenes, {count} screens")


if __name__ == "__main__":
    main()
