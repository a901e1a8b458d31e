"""Scenes of the page in Chromium.

usage: scenes.py MEMDIR --browser CHROMIUM [--axe FILE] [--all] [--jobs N] [--pictures FOLDER] [--readme FILE] [SCENE…]

Each scene has a store, a server and a window of its own, fails for an error in the browser's console, and for a
request to another host. N of them run at once, 3 by default: they wait more than they compute. Without --all the core of
them runs; with --pictures each view is drawn at three widths, and
with --readme the picture of the README: `--readme docs/pictures/page.png`.

The scene of a workspace needs a program with the feature `team` and PostgreSQL: `tests/team/with_postgres.sh
tests/page/run.sh MEMDIR workspace`; without MEMDIR_TEST_POSTGRES it is left out, and a line says so.
"""

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
import traceback
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from hostile import HOSTILE
from site_of_store import Look, Site, Workspace

# Milliseconds. Several scenes share the processor with other checks: what takes longer does not come.
expect.set_options(timeout=60_000)

ATLAS = ("Atlas keeps tile metadata in PostgreSQL 17, see [[Runbook]].", "--title", "Tiles live in PostgreSQL",
         "--topics", "atlas,database", "--namespace", "atlas")
RUNBOOK = ("# Steps\n\n| step | who |\n|---|---|\n| backup | Mira |\n\n```rust\nlet answer = 42; // why\n```\n",
           "--title", "Runbook", "--topics", "atlas,runbook", "--namespace", "atlas")
ALLERGY = ("Mira is allergic to hazelnuts.", "--topics", "health")
SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sample-store"
THREE = (ATLAS, RUNBOOK, ALLERGY)
VIEWS = ["/", "/search?q=atlas", "/search?q=tile&by=keywords", "/search?q=tile.*&by=expression", "/review", "/brief?namespace=atlas",
         "/store", "/import"]


def login(program, browser):
    """A code is valid once; who has none is told how to come in; after the log out nothing is shown."""
    with Site(program, [ALLERGY]) as site:
        context = browser.new_context()
        page = context.new_page()
        assert page.goto(site.url + "/store").status == 401
        expect(page.locator("pre")).to_have_text("memdir open")
        assert "application/json" not in page.content()
        address = site.address()
        page.goto(address)
        expect(page).to_have_title(re.compile("Timeline"))
        other = browser.new_context().new_page()
        assert other.goto(address).status == 401
        expect(other.locator("[role=alert]")).to_contain_text("not valid")
        other.fill("input[name=code]", address.split("code=")[1])
        other.click("button")
        expect(other.locator("[role=alert]")).to_contain_text("not valid")
        cookie = context.cookies()[0]
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict", cookie
        page.click("text=Log out")
        assert page.goto(site.url + "/").status == 401
        memory = site.listed("grep", "hazelnuts")
        assert memory


def timeline(program, browser):
    """Days and filters; a list goes on by itself and does not grow."""
    with Site(program) as site:
        lines = "\n".join(f'{{"text": "Note number {n} about bread.", "timestamp": "2026-{1 + n // 28 % 9:02}-{1 + n % 28:02}T10:00:00Z", "topics": ["t{n % 3}"]}}' for n in range(260))
        site.run("import", "--from", "jsonl", "-", text=lines)
        with Look(browser, site) as look:
            page = look.page
            expect(page.locator("h2.day").first).to_be_visible()
            expect(page.locator(".entry")).to_have_count(50)
            for _ in range(12):
                page.mouse.wheel(0, 20_000)
                page.wait_for_timeout(60)
            page.wait_for_function("!document.querySelector('.older')")
            assert page.locator(".sheet").count() <= 3
            # Who goes through the list keeps the place, and is told what is new.
            look.goto("/")
            page.keyboard.press("j")
            first = page.locator(".entry.at").get_attribute("data-id")
            site.remember("The newest note of all.")
            expect(page.locator("#newer")).to_have_text("New memories: 1")
            assert page.evaluate("document.activeElement.closest('.entry').dataset.id") == first
            page.click("#newer a")
            expect(page.locator("#newer")).to_have_count(0)
            expect(page.locator("#list")).to_contain_text("The newest note of all")
            # A request that fails ends nothing.
            look.is_expected = lambda text: "503" in text
            page.route("**/*before=*", lambda route: route.fulfill(status=503, body="<main>too much</main>"))
            with page.expect_response(lambda answer: answer.status == 503):
                page.mouse.wheel(0, 20_000)
            page.unroute("**/*before=*")
            # It is tried again where the link comes into sight.
            page.mouse.wheel(0, -20_000)
            page.wait_for_function("scrollY === 0")
            page.mouse.wheel(0, 20_000)
            expect(page.locator(".sheet")).not_to_have_count(1)
            look.is_expected = lambda text: False
            look.goto("/")
            page.click("summary")
            page.click(".filter a.topic >> nth=0")
            expect(page.locator(".chosen a")).to_contain_text("topic")
            assert all("t" in one for one in page.locator(".entry .chip.topic").all_inner_texts())
            page.click(".chosen a")
            expect(page.locator(".chosen")).to_have_count(0)


def live(program, browser):
    """What another process stores or changes appears without a reload."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        page = look.page
        expect(page.locator(".entry")).to_have_count(3)
        site.remember("The printer on the third floor wants A4 by hand.")
        expect(page.locator(".entry").first).to_contain_text("printer")
        memory = site.remember("Bread is at seven.")
        look.goto(f"/memory/{memory}")
        expect(page.locator(".text")).to_contain_text("seven")
        site.run("update", memory, "--content", "Bread is at eight.")
        expect(page.locator("#changed")).to_be_visible()
        page.click("#changed a")
        expect(page.locator(".text")).to_contain_text("eight")

        # Also what changes after a view was made and before it listens, and is known to the server by then.
        def first(change, *words):
            def hold(route):
                change(*words)
                page.request.get(f"{site.url}/")
                route.continue_()
            page.route(re.compile("/live"), hold, times=1)

        first(site.run, "update", memory, "--content", "Bread is at nine.")
        look.goto(f"/memory/{memory}")
        page.click("#changed a")
        expect(page.locator(".text")).to_contain_text("nine")
        # The visitor's own change is not told in this view, though it comes as an event because another tab listens.
        other = look.context.new_page()
        other.goto(f"{site.url}/")
        with page.expect_response(re.compile("/raw")) as compared:
            page.click("text=Pin")
        compared.value.finished()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.locator("#changed").count() == 0
        other.close()
        first(site.remember, "Salt is in the cellar.")
        look.goto("/")
        expect(page.locator(".entry").first).to_contain_text("cellar")


def search(program, browser):
    """As one types, with marks and reasons; by keywords and by expression; the keyboard leads through."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        page = look.page
        page.keyboard.press("/")
        page.keyboard.type("hazelnut")
        page.keyboard.press("Enter")
        expect(page.locator(".entry mark").first).to_have_text(re.compile("hazelnuts"))
        page.fill("input[name=q]", "")
        page.locator("input[name=q]").press_sequentially("postgres tiles", delay=10)
        expect(page.locator(".entry").first).to_contain_text("Tiles live in PostgreSQL")
        expect(page).to_have_url(re.compile(r"q=postgres\+tiles"))
        page.locator(".entry").first.locator("summary").click()
        expect(page.locator(".why table").first).to_contain_text("words")
        page.keyboard.press("Escape")
        page.click("text=keywords")
        page.fill("input[name=q]", "tile")
        expect(page.locator(".entry")).to_have_count(1)
        # A filter takes the words along that were typed here, and the next search the filter.
        page.click("details.filter summary")
        page.click(".filter a.topic >> nth=0")
        expect(page.locator(".chosen a")).to_contain_text("topic")
        expect(page.locator("input[name=q]")).to_have_value("tile")
        page.locator("input[name=q]").press("Enter")
        expect(page).to_have_url(re.compile("topic="))
        page.wait_for_load_state()
        page.click(".chosen a")
        expect(page.locator(".chosen")).to_have_count(0)
        page.click("text=expression")
        expect(page).to_have_url(re.compile("by=expression"))
        page.fill("input[name=q]", "ali?lerg.c")
        expect(page.locator("code.line mark").first).to_have_text("allergic")
        page.locator("input[name=q]").press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("#memory")).to_contain_text("hazelnuts")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("o")
        expect(page).to_have_title(re.compile("Store"))


def memory(program, browser):
    """Text, tables, code in colours, wikilinks, the picture of the neighbourhood, raw, properties."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        page = look.page
        tiles, runbook = (site.listed("think", words)[0]["id"] for words in ("tiles metadata", "runbook steps"))
        site.run("update", tiles, "--content", f"Backups are in [[{runbook}]], see also [[No such note]].")
        look.goto(f"/memory/{tiles}")
        expect(page.locator(".text a").last).to_have_attribute("href", "search?q=No+such+note")
        page.click(".text a >> nth=0")
        expect(page).to_have_title(re.compile("Runbook"))
        expect(page.locator(".text table")).to_contain_text("Mira")
        expect(page.locator(".text .hljs-keyword").first).to_have_text("let")
        expect(page.locator("svg.picture a")).to_have_count(1)
        page.click("svg.picture a circle")
        expect(page).to_have_title(re.compile("Tiles"))
        expect(page.locator(".properties")).to_contain_text("namespace")
        page.click("text=Raw")
        expect(page.locator("pre.raw")).to_contain_text("title: Tiles live in PostgreSQL")
        # What leads within a view stays there, though its document has another base.
        site.run("update", tiles, "--content", "Backups[^1].\n\n[^1]: At night.")
        look.goto(f"/memory/{tiles}")
        page.evaluate("window.stays = true")
        page.click(".footnote-reference a")
        expect(page).to_have_url(f"{site.url}/memory/{tiles}#1")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{site.url}/memory/{tiles}#main")
        assert page.evaluate("window.stays"), "the view was loaded again"


def edit(program, browser):
    """An edit touches only its lines; where somebody else changed the file in between, both texts are shown."""
    with Site(program) as site, Look(browser, site) as look:
        one = site.remember("First line.\nSecond line.", "--title", "Two lines")
        file = site.file_of(one)
        before = file.read_bytes()
        page = look.page
        look.goto(f"/memory/{one}")
        page.keyboard.press("e")
        expect(page.locator("textarea")).to_be_visible()
        page.fill("textarea", page.input_value("textarea").replace("Second line", "Another line"))
        page.click("button >> text=Save")
        expect(page.locator(".text")).to_contain_text("Another line")
        assert file.read_bytes() == before.replace(b"Second line", b"Another line"), file.read_bytes()
        look.goto(f"/memory/{one}/edit")
        site.run("update", one, "--title", "Two lines, renamed")
        theirs = file.read_text()
        page.fill("textarea", page.input_value("textarea").replace("First line", "My line"))
        look.is_expected = lambda text: "409" in text
        expect(page.locator("#changed")).to_contain_text("Save shows both texts")
        assert page.locator("#changed a").count() == 0
        page.click("button >> text=Save")
        expect(page.locator("[role=alert]")).to_contain_text("Somebody else")
        assert file.read_text() == theirs
        expect(page.locator(".difference")).to_contain_text("renamed")
        assert page.locator(".theirs").inner_text().strip() == theirs.strip()
        assert "My line" in page.input_value("textarea")
        page.fill("textarea", theirs.replace("First line", "My line"))
        page.click("button >> text=Save")
        expect(page.locator("h1")).to_have_text("Two lines, renamed")
        expect(page.locator(".text")).to_contain_text("My line")


def unsent(program, browser):
    """A text that is typed is not lost: by leaving, by a refusal, by the end of the session."""
    with Site(program) as site, Look(browser, site) as look:
        one = site.remember("First line.", "--title", "A line")
        file = site.file_of(one)
        before = file.read_text()
        page = look.page
        look.goto(f"/memory/{one}/edit")
        page.fill("textarea", before.replace("First", "Second"))
        page.remove_listener("dialog", look._asked)
        page.on("dialog", lambda dialog: dialog.dismiss())
        with page.expect_event("dialog") as asked:
            page.click("text=Cancel", no_wait_after=True)
        assert asked.value.type == "beforeunload" and page.url.endswith("/edit"), page.url
        # The session ends meanwhile.
        look.is_expected = lambda text: "401" in text or "400" in text
        look.context.clear_cookies()
        page.click("button >> text=Save")
        expect(page.locator("pre")).to_have_text("memdir open")
        assert file.read_text() == before
        site.enter(page)
        look.goto(f"/memory/{one}")
        look.goto(f"/memory/{one}/edit")
        expect(page.locator("#restored")).to_be_visible()
        assert "Second line" in page.input_value("textarea")
        page.click("button >> text=Save")
        expect(page.locator(".text")).to_contain_text("Second line")
        look.goto(f"/memory/{one}/edit")
        expect(page.locator("textarea")).to_be_visible()
        assert page.locator("#restored").count() == 0
        # A refusal: the text is there, and saved once it is right.
        before = file.read_text()
        page.evaluate("document.querySelector('input[name=seen]').value = 'none'")
        page.fill("textarea", before.replace("Second", "Third"))
        page.click("button >> text=Save")
        expect(page.locator("[role=alert]")).to_be_visible()
        assert "Third line" in page.input_value("textarea")
        with page.expect_event("dialog") as asked:
            page.click("text=Cancel", no_wait_after=True)
        assert asked.value.type == "beforeunload", asked.value.type
        assert file.read_text() == before


def history(program, browser):
    """Versions with who and what, their differences, restore and undo."""
    with Site(program) as site, Look(browser, site) as look:
        one = site.remember("The office is on the second floor.", "--agent", "claude-code")
        site.run("sync")
        site.run("update", one, "--content", "The office is on the third floor.")
        site.run("sync")
        page = look.page
        look.goto(f"/memory/{one}/history")
        expect(page.locator("ol.versions > li")).to_have_count(2)
        expect(page.locator("ins mark")).to_have_text(re.compile("third"))
        expect(page.locator("del mark")).to_have_text(re.compile("second"))
        expect(page.locator("ol.versions")).to_contain_text("claude-code")
        page.click("text=Restore this version")
        expect(page.locator("ol.versions > li")).to_have_count(3)
        assert "second floor" in site.file_of(one).read_text()
        page.click("text=Undo the last change")
        expect(page.locator("ol.versions > li")).to_have_count(4)
        assert "third floor" in site.file_of(one).read_text()


def act(program, browser):
    """Pin, link, forget and restore."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        page = look.page
        look.confirms = True
        other = site.listed("think", "hazelnuts")[0]["id"]
        page.click(".entry h3 a >> text=Tiles live in PostgreSQL")
        one = page.locator("#memory").get_attribute("data-id")
        page.click("button >> text=Pin")
        expect(page.locator("button >> text=Unpin")).to_be_visible()
        text = site.file_of(one).read_text()
        assert re.search(r'pinned"?: *true', text), text
        page.fill("input[name=to]", other)
        page.fill("input[name=relation]", "explains")
        page.click("form.link button")
        expect(page.locator("ul.links").first).to_contain_text("explains")
        page.click("ul.links button >> text=Unlink")
        expect(page.locator("ul.links")).to_have_count(0)
        assert other not in site.file_of(one).read_text()
        site.run("link", other, one, "--type", "supports")
        page.reload()
        # Of the other memory, whose file states it.
        page.click("ul.links button >> text=Unlink")
        expect(page.locator("ul.links")).to_have_count(0)
        assert one not in site.file_of(other).read_text()
        page.click("button >> text=Forget")
        expect(page.locator(".problem")).to_contain_text("forgotten")
        assert not list(site.store.glob(f"files/**/*{one}.md"))
        page.click("button >> text=Restore")
        expect(page.locator("button >> text=Forget")).to_be_visible()
        assert site.file_of(one)


def review(program, browser):
    """Proposals and contradictions, one key each; what others wrote is accepted."""
    with Site(program) as site, Look(browser, site) as look:
        talk = site.store.parent / "talk.txt"
        talk.write_text("User: We decided to keep the atlas tiles in PostgreSQL, because two services write at once.\n"
                        "Assistant: Noted.\nUser: I prefer answers in short sentences, always without emojis.\nAssistant: All right.\n")
        site.run("mine", "--format", "plain", "--proposals", str(talk))
        one = site.remember("The licence server answers on port 27000.", "--title", "Licence server", "--namespace", "atlas")
        two = site.remember("The licence server answers on port 28000.", "--title", "Licence server", "--namespace", "atlas")
        page = look.page
        look.goto("/review")
        proposed = page.locator("textarea[name=text]").count()
        assert proposed >= 1, page.locator("main").inner_text()
        # A text whose session ended is there again after the log in.
        page.locator("textarea[name=text]").first.fill("Atlas tiles: PostgreSQL.")
        look.is_expected = lambda text: "401" in text
        look.context.clear_cookies()
        page.locator("button >> text=Accept").first.click()
        expect(page.locator("pre")).to_have_text("memdir open")
        site.enter(page)
        look.goto("/review")
        expect(page.locator("#restored")).to_be_visible()
        expect(page.locator("textarea[name=text]").first).to_have_value("Atlas tiles: PostgreSQL.")
        page.keyboard.press("j")
        page.keyboard.press("a")
        expect(page.locator("textarea[name=text]")).to_have_count(proposed - 1)
        assert site.listed("grep", "Atlas tiles: PostgreSQL.")
        page.wait_for_load_state()
        pair = page.locator(".item", has=page.locator(".pair"))
        expect(pair).to_have_count(1)
        while "at" not in (pair.get_attribute("class") or "").split():
            page.keyboard.press("j")
        page.keyboard.press("1")
        expect(pair).to_have_count(0)
        left = [len(list(site.store.glob(f"files/**/*{memory}.md"))) for memory in (one, two)]
        assert sorted(left) == [0, 1], left


def brief(program, browser):
    """It says exactly what `memdir brief` says."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        look.goto("/brief?namespace=atlas")
        said = site.run("brief", "--namespace", "atlas")
        assert look.page.locator("pre.brief").inner_text().strip() == said, said
        expect(look.page.locator("h2 .count").first).to_contain_text(re.compile(r"\d+ characters"))
        look.page.locator(".entry button").first.click()
        expect(look.page.locator(".entry").first).to_contain_text("pinned")


def store(program, browser):
    """Counts, plots, health."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        look.goto("/store")
        expect(look.page.locator(".card").first).to_contain_text("3")
        expect(look.page.locator("svg.plot")).to_have_count(4)
        expect(look.page.locator("#list")).to_contain_text("checked all of this")
        said = json.loads(site.run("doctor", "--json"))["checks"]
        shown = look.page.locator(".checks li")
        assert shown.count() == len(said), (shown.all_inner_texts(), said)
        for line, check in zip(shown.all_inner_texts(), said):
            assert check["name"] in line and ("✓" in line) == check["well"], (line, check)
        (site.store / "files" / "broken.md").write_bytes(b"---\nid: [\n---\n\xff\n")
        look.page.click("text=Check now")
        expect(look.page.locator(".findings")).to_contain_text("broken.md")
        expect(look.page.locator(".checks .wrong").first).to_contain_text("broken.md")


def imports(program, browser):
    """A file is looked at first, and stored then."""
    with Site(program, THREE) as site, Look(browser, site) as look:
        page = look.page
        look.goto("/import")
        file = site.store.parent / "notes.jsonl"
        file.write_text("".join(f'{{"text": "Imported note {n}."}}\n' for n in range(300)) + "{broken\n")
        page.select_option("select", "jsonl")
        page.set_input_files("input[name=files]", str(file))
        page.click("text=Show what would be imported")
        expect(page.locator("#list")).to_contain_text("300 new")
        expect(page.locator("#list")).to_contain_text("1 that cannot be read")
        assert len(list(site.store.glob("files/**/*.md"))) == 3
        page.click("#list button")
        expect(page.locator("#list a")).to_have_text("Timeline")
        expect(page.locator("#list")).to_contain_text("300 new")
        assert len(list(site.store.glob("files/**/*.md"))) == 303
        assert "memdir-" not in page.locator("#list").inner_text()
        # A folder: its links lead on, hidden files stay where they are.
        vault = site.store.parent / "vault"
        for name, text in {"Bread.md": "Bread is at seven, see [[Oven]].", "kitchen/Oven.md": "The oven is slow.",
                           "kitchen/empty.md": "", ".obsidian/app.md": "Settings."}.items():
            (vault / name).parent.mkdir(parents=True, exist_ok=True)
            (vault / name).write_text(text)
        look.goto("/import")
        page.select_option("select", "obsidian")
        page.set_input_files("input[name=folder]", str(vault))
        page.click("text=Show what would be imported")
        expect(page.locator("#list")).to_contain_text("vault · 3 files")
        expect(page.locator("#list")).to_contain_text("2 new")
        page.click("#list button")
        expect(page.locator("#list a")).to_have_text("Timeline")
        assert len(list(site.store.glob("files/**/*.md"))) == 305
        assert "memdir-" not in page.locator("#list").inner_text()
        # Several files that are dropped.
        look.goto("/import")
        page.select_option("select", "jsonl")
        page.evaluate("""async () => {
            const data = new DataTransfer();
            data.items.add(new File(['{"text": "Dropped one."}\\n'], "one.jsonl"));
            data.items.add(new File(['{"text": "Dropped two."}\\n'], "two.jsonl"));
            document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""")
        expect(page.locator("#list")).to_contain_text("2 new")


def rights(program, browser):
    """A session that may only read has no buttons and no rights; forms of others do nothing."""
    with Site(program, THREE) as site:
        one = site.listed("think", "hazelnuts")[0]["id"]
        with Look(browser, site, "--read-only") as look:
            for view in [*VIEWS, f"/memory/{one}", f"/memory/{one}/history"]:
                look.goto(view)
                assert look.page.locator("main form[method=post]").count() == 0, view
            token = look.page.locator("footer input[name=token]").get_attribute("value")
            look.is_expected = lambda text: "403" in text
            status = look.page.evaluate("""async ([path, token]) => (await fetch(path, {method: "POST",
                headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: `token=${token}`})).status""",
                [f"/memory/{one}/forget", token])
            assert status == 403, status
        with Look(browser, site) as look:
            look.is_expected = lambda text: "403" in text or "415" in text or "401" in text
            assert look.page.evaluate("fetch('/api/v1/stats').then((answer) => answer.status)") == 401
            for body, kind, expected in [("token=x", "application/x-www-form-urlencoded", 403), ("", "application/x-www-form-urlencoded", 403),
                                         ("token=x", "text/plain", 415)]:
                status = look.page.evaluate("""async ([path, body, kind]) => (await fetch(path, {method: "POST",
                    headers: {"Content-Type": kind}, body})).status""", [f"/memory/{one}/forget", body, kind])
                assert status == expected, (body, kind, status)
        assert site.file_of(one)


def two_stores(program, browser):
    """Two stores in two tabs of one browser, both logged in; what one's page may, the other's may not."""
    with Site(program, [ATLAS]) as one, Site(program, [ALLERGY]) as other:
        context = browser.new_context()
        first, second = context.new_page(), context.new_page()
        first.goto(one.address())
        second.goto(other.address())
        first.reload()
        expect(first.locator(".entry")).to_contain_text("PostgreSQL")
        expect(second.locator(".entry")).to_contain_text("hazelnuts")


def workspace(program, browser):
    """The page of a team's workspace: all of it below its address, by the token of a role, until one leaves."""
    with Workspace(program, [("The zebra has stripes.[^1]\n\n[^1]: Black ones.", "Zebra"), ("The otter swims.", "Otter")]) as site:
        with Look(browser, site) as look:
            page = look.page
            expect(page.locator(".entry")).to_have_count(2)
            site.remember("The okapi hides.", "Okapi")
            expect(page.locator(".entry").first).to_contain_text("Okapi")
            page.keyboard.press("/")
            page.keyboard.type("stripes")
            page.keyboard.press("Enter")
            expect(page).to_have_url(f"{site.url}/search?q=stripes")
            expect(page.locator(".entry mark").first).to_have_text("stripes")
            page.fill("input[name=q]", "otter")
            expect(page.locator(".entry").first).to_contain_text("Otter")
            expect(page).to_have_url(f"{site.url}/search?q=otter")
            page.fill("input[name=q]", "zebra stripes")
            expect(page.locator(".entry").first).to_contain_text("Zebra")
            page.keyboard.press("Escape")
            page.keyboard.press("j")
            page.keyboard.press("Enter")
            expect(page.locator("#memory")).to_contain_text("stripes")
            address = page.url
            page.click(".footnote-reference a")
            expect(page).to_have_url(f"{address}#1")
            page.keyboard.press("e")
            page.fill("textarea", page.input_value("textarea").replace("stripes", "spots"))
            page.click("button >> text=Save")
            expect(page).to_have_url(address)
            expect(page.locator(".text")).to_contain_text("spots")
            page.click("button >> text=Pin")
            expect(page.locator("button >> text=Unpin")).to_be_visible()
            page.click("nav.views >> text=History")
            expect(page.locator("ol.versions > li")).to_have_count(3)
            page.locator("button >> text=Restore this version").last.click()
            expect(page.locator("ol.versions > li")).to_have_count(4)
            page.keyboard.press("g")
            page.keyboard.press("o")
            expect(page.locator(".card").first).to_contain_text("3")
            # Of these memories none has a topic.
            expect(page.locator("svg.plot")).to_have_count(3)
            expect(page.locator("nav >> text=Import")).to_have_count(0)
            for view in ("/review", "/brief"):
                assert look.goto(view) == 200, view
            cookie = look.context.cookies(site.url + "/")[0]
            assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and cookie["path"] == f"/w/{site.name}/", cookie
            look.is_expected = lambda text: "401" in text
            assert page.goto(f"{site.server_url}/w/{site.name}x/").status == 401
            expect(page.locator("input[name=token]")).to_be_visible()
            look.wrong.clear()
            look.goto("/")
            page.click("text=Log out")
            expect(page).to_have_url(f"{site.url}/login")
            assert look.goto("/") == 401
        with Look(browser, site, "reader") as look:
            for view in ("/", "/search?q=zebra", "/review", "/brief", "/store"):
                assert look.goto(view) == 200, view
                assert look.page.locator("main form[method=post]").count() == 0, view
            expect(look.page.locator("footer")).to_contain_text("read-only")


def hostile(program, browser):
    """Whatever a memory says is text, in every list, and where it is read."""
    inert(program, browser, VIEWS, ["", "/raw"])


def hostile_forms(program, browser):
    """The same where it is edited, and in its history."""
    inert(program, browser, [], ["/edit", "/history"])


def inert(program, browser, views, of_memories):
    """Looks at these views, and at these of each hostile memory."""
    with Site(program) as site:
        ids = [site.remember(text, *words) for text, words in HOSTILE]
        ids.append(site.remember("x" * 1_000_000, "--title", "One long line"))
        # More than any tool stores: by an editor.
        topics = ", ".join(f"topic{number}" for number in range(10_000))
        many = "ab12cd34"
        fields = f"id: {many}\ntimestamp: 2026-01-01T10:00:00Z\nagent: editor\nuser: mira\ntopics: [{topics}]"
        (site.store / "files" / f"20260101_100000_{many}.md").write_text(f"---\n{fields}\n---\n\nMany topics.\n")
        ids.append(many)
        with Look(browser, site) as look:
            views = [*views, "/search?q=<img src=x onerror=alert(1)>", "/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&by=keywords",
                     "/search?q=many+topics", "/?topic=topic9999"]
            views += ["/?topic=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E", "/brief?namespace=%3Csvg%20onload=alert(1)%3E"]
            for one in ids:
                views += [f"/memory/{one}{view}" for view in of_memories]
            for view in views:
                # Scripts of the page have run by then; pictures and frames would be found among the elements.
                assert look.goto(view, "domcontentloaded") == 200, view
                found, links, wide, ran = look.page.evaluate("""() => [
                    [...document.querySelectorAll("main script, main img, main iframe, main object, [onerror], [onload], [onclick], [onmouseover], main style, main link, [style]")].map((one) => one.outerHTML),
                    [...document.querySelectorAll("main a")].filter((one) => one.protocol).map((one) => one.protocol),
                    document.scrollingElement.scrollWidth - innerWidth, window.ran]""")
                assert not found, (view, found)
                assert set(links) <= {"http:", "https:", "mailto:", "vscode:", "obsidian:"}, (view, links)
                assert wide <= 0, (view, wide)
                assert not ran, view
            look.goto(f"/memory/{many}")
            assert look.page.locator(".properties .chip").count() == 100
        for one, (text, _) in zip(ids, HOSTILE):
            assert text.strip() in site.file_of(one).read_text(), text


def without_script(program, browser):
    """Every view can be read without JavaScript, and its forms work."""
    with Site(program, THREE) as site, Look(browser, site, java_script_enabled=False) as look:
        for view in VIEWS:
            assert look.goto(view) == 200, view
            expect(look.page.locator("h1")).to_be_visible()
        look.goto("/")
        look.page.click(".entry h3 a >> text=Runbook")
        look.page.click("button >> text=Pin")
        expect(look.page.locator("button >> text=Unpin")).to_be_visible()


def access(program, browser, axe):
    """No violation of the rules for accessibility, dark and light; no view is wider than a small screen."""
    with Site(program, THREE) as site:
        one = site.listed("think", "tiles")[0]["id"]
        site.run("update", one, "--content", "Changed.")
        views = [*VIEWS, *(f"/memory/{one}{view}" for view in ("", "/raw", "/history", "/edit"))]
        for scheme in ("light", "dark"):
            with Look(browser, site, color_scheme=scheme, viewport={"width": 320, "height": 700}, bypass_csp=True) as look:
                for view in views:
                    look.goto(view)
                    wide = look.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
                    assert wide <= 0, (view, wide)
                    for details in look.page.locator("details").all():
                        details.evaluate("(one) => { one.open = true; }")
                    look.page.evaluate(axe)
                    found = look.page.evaluate("axe.run().then((done) => done.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]))")
                    assert not found, (scheme, view, found)


def print_times_of_first_views(browser, look, site):
    """Opens views in windows without a cache, and prints when each is drawn and can be used, in ms from its request."""
    memory = "/" + look.page.locator(".entry h3 a").first.get_attribute("href")
    for path in ("/", "/search?q=postgres+deadlock", memory, "/review", "/brief", "/store"):
        times = {"first byte": [], "first contentful paint": [], "DOM interactive": [], "loaded": []}
        for _ in range(9):
            with browser.new_context(storage_state=look.context.storage_state()) as context:
                page = context.new_page()
                assert page.goto(site.url + path).status == 200
                # The paint is told of after it; the observer is also given what was painted before it.
                measured = page.evaluate("""() => new Promise(resolve => new PerformanceObserver(list => {
                    const paint = list.getEntriesByName("first-contentful-paint")[0];
                    const [view] = performance.getEntriesByType("navigation");
                    if (paint) resolve([view.responseStart, paint.startTime, view.domInteractive, view.loadEventEnd]);
                }).observe({type: "paint", buffered: true}))""")
                for values, value in zip(times.values(), measured):
                    values.append(value)
        shown = ", ".join(f"{name} {sorted(values)[4]:.0f} ({max(values):.0f})" for name, values in times.items())
        print(f"    {'/memory/…' if path == memory else path}, ms, median (most) of 9: {shown}", flush=True)


def large(program, browser):
    """A store of 100,000 memories: timeline, search as you type, a memory; the times are printed."""
    with Site(program, notes=100_000) as site, Look(browser, site) as look:
        page = look.page
        expect(page.locator(".entry")).to_have_count(50)
        print_times_of_first_views(browser, look, site)
        for _ in range(8):
            sheets = page.locator(".older").get_attribute("href")
            page.mouse.wheel(0, 20_000)
            page.wait_for_selector(f'.older:not([href="{sheets}"])', state="attached", timeout=60_000)
        assert page.locator(".sheet").count() <= 3
        look.goto("/")
        # The notes are dated beyond today: a new one would not come first.
        site.run("update", page.locator(".entry").first.get_attribute("data-id"), "--title", "The printer wants A4 by hand")
        expect(page.locator(".entry").first).to_contain_text("printer")
        look.goto("/search")
        page.evaluate("""() => {
            window.took = [];
            const field = document.querySelector("#search input");
            const list = document.getElementById("list");
            let begun = 0;
            field.addEventListener("input", () => { begun ||= performance.now(); }, true);
            new MutationObserver(() => requestAnimationFrame(() => {
                if (begun) took.push(performance.now() - begun);
                begun = 0;
            })).observe(list, {childList: true});
        }""")
        for words in ("postgres deadlock", "zqneedle7", "garden recipe berlin"):
            for end in range(1, len(words) + 1):
                shown = page.evaluate("took.length")
                page.locator("#search input").press_sequentially(words[end - 1])
                expect(page.locator("body")).to_be_visible()
                for _ in range(600):
                    if page.evaluate("took.length") > shown:
                        break
                    page.wait_for_timeout(20)
            expect(page.locator(".entry mark").first).to_be_visible()
            expect(page).to_have_url(re.compile(words.replace(" ", r"\+")))
            page.fill("#search input", "")
            expect(page.locator("#list .nothing")).to_be_visible()
        took = sorted(page.evaluate("took"))
        print(f"    from a key to the screen: median {took[len(took) // 2]:.0f} ms, p95 {took[int(len(took) * 0.95)]:.0f} ms of {len(took)}")
        page.fill("#search input", "zqneedle7")
        expect(page.locator(".entry mark").first).to_have_text("zqneedle7")
        page.locator(".entry h3 a").first.click()
        expect(page.locator(".text")).to_contain_text("zqneedle7")
        look.goto("/store")
        expect(page.locator(".card").first).to_contain_text("100000")


def pictures(program, browser, folder):
    """Draws every view of the sample store at three widths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with Site(program, folder=SAMPLE) as site:
        one = "5fa2c8d4"
        site.run("update", one, "--importance", "8")
        talk = site.store.parent / "talk.txt"
        talk.write_text("User: We decided to keep the atlas tiles in PostgreSQL, because two services write at once.\nAssistant: Noted.\n")
        site.run("mine", "--format", "plain", "--proposals", str(talk))
        for port in (27000, 28000):
            site.remember(f"The licence server answers on port {port}.", "--title", "Licence server", "--namespace", "atlas")
        views = {"timeline": "/", "search": "/search?q=deploy atlas", "expression": "/search?q=atlas.*&by=expression", "review": "/review",
                 "brief": "/brief?namespace=atlas", "store": "/store", "import": "/import", "memory": f"/memory/{one}",
                 "history": f"/memory/{one}/history", "edit": f"/memory/{one}/edit", "raw": f"/memory/{one}/raw", "nothing": "/search?q=zzqx&by=keywords",
                 "missing": "/memory/00000000"}
        for width in (320, 800, 1440):
            for scheme in ("light", "dark"):
                with Look(browser, site, color_scheme=scheme, viewport={"width": width, "height": 800}) as look:
                    look.is_expected = lambda text: "404" in text
                    for name, view in views.items():
                        look.goto(view)
                        # Checks that run change the picture when they end.
                        expect(look.page.locator("[data-busy]")).to_have_count(0, timeout=120_000)
                        look.page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
                with browser.new_context(color_scheme="light", viewport={"width": width, "height": 800}) as context:
                    page = context.new_page()
                    page.goto(site.url + "/")
                    page.screenshot(path=Path(folder) / f"entrance-{width}.png")


def readme(program, browser, file):
    """Draws the picture of the README: a search in the sample store."""
    with Site(program, folder=SAMPLE) as site, Look(browser, site, viewport={"width": 960, "height": 640}) as look:
        look.goto("/search?q=deploy atlas")
        expect(look.page.locator(".entry mark").first).to_be_visible()
        look.page.evaluate("document.activeElement.blur()")
        look.page.screenshot(path=file)
        assert Path(file).stat().st_size <= 150_000, "the picture is too large"


# The longest first, so that none is left when the others are done.
SCENES = [hostile, hostile_forms, access, imports, rights, search, act, edit, unsent, timeline, without_script, live, memory, history, review, brief,
          store, login, two_stores]
LONG = [large]
OF_DATABASE = [workspace]


class Worker:
    """A process with a browser of its own, in which scenes run one after another."""

    def __init__(self, given):
        global worker
        worker = self
        self.program = given.program
        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(executable_path=given.browser, args=["--no-sandbox", "--disable-dev-shm-usage"])
        self.rules = Path(given.axe).read_text() if given.axe and Path(given.axe).exists() else None
        self.pictures = given.pictures
        self.readme = given.readme


def run(name):
    """Runs one scene; returns whether it passed, and the line that says so."""
    begun = time.monotonic()
    further = {access: [worker.rules], pictures: [worker.pictures], readme: [worker.readme]}
    scene = globals()[name]
    try:
        scene(worker.program, worker.browser, *further.get(scene, []))
        return True, f"page: {name} ({time.monotonic() - begun:.1f} s)"
    except Exception as error:  # The other scenes are of use, too.
        place = traceback.extract_tb(error.__traceback__)
        line = next(one.line for one in reversed(place) if one.filename == __file__)
        return False, f"failed: {name}: {line}\n    {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--browser", required=True)
    parser.add_argument("--axe")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--pictures")
    parser.add_argument("--readme")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("scenes", nargs="*")
    given = parser.parse_intermixed_args()
    scenes = [*SCENES, *(LONG if given.all else [])]
    if not (given.axe and Path(given.axe).exists()):
        scenes.remove(access)
    if given.scenes:
        scenes = [scene for scene in [*SCENES, *LONG, *OF_DATABASE] if scene.__name__ in given.scenes]
    if any(scene in OF_DATABASE for scene in scenes) and not os.environ.get("MEMDIR_TEST_POSTGRES"):
        print("skipped: the page of a workspace: MEMDIR_TEST_POSTGRES names no database")
        scenes = [scene for scene in scenes if scene not in OF_DATABASE]
        if not scenes:
            return
    if given.pictures:
        scenes = [pictures]
    if given.readme:
        scenes = [readme]
    with multiprocessing.Pool(min(given.jobs, len(scenes)), Worker, [given]) as pool:
        passed = []
        for is_passed, line in pool.imap_unordered(run, [scene.__name__ for scene in scenes]):
            passed.append(is_passed)
            print(line, flush=True)
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
