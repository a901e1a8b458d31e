#!/usr/bin/env python3
"""Installs memdir with `install.sh`, and removes it: python3 tests/packages/installing.py MEMDIR

Packs MEMDIR as a release would, signs it with a key made for this, and serves it on the loopback. Each
check has a fresh home. Needs a shell, tar, curl, and minisign or OpenSSL 3 for the signatures.
"""
import functools
import http.server
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from harness import PACKAGING, Table, ask, environment, fails, has, left_in, run, timed

REPOSITORY = "https://github.com/example/memdir"
# What stays when memdir goes: the memories, and where their remotes are.
KEPT = [".local/share/memdir", ".local/state/memdir"]


def release(program, folder, *kinds):
    """Makes the files of a release in `folder`; returns the public key, or "" where nothing can sign."""
    public = ""
    if has("minisign"):
        run(["minisign", "-GWfp", folder.parent / "public", "-s", folder.parent / "secret"])
        public = (folder.parent / "public").read_text().splitlines()[1]
    settings = {**os.environ, "MEMDIR_REPOSITORY": REPOSITORY, "MEMDIR_PUBLIC_KEY": public}
    print(run([sys.executable, PACKAGING / "pack.py", program, folder, *kinds], env=settings), end="")
    print(run([sys.executable, PACKAGING / "release.py", folder], env=settings), end="")
    if public:
        [sums] = folder.glob("*.sha256")
        run(["minisign", "-S", "-s", folder.parent / "secret", "-m", sums])
    return public


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """Serves a folder on the loopback; returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Installer:
    def __init__(self, folder, work):
        self.folder, self.work, self.address = folder, work, serve(folder)

    def home(self):
        home = Path(tempfile.mkdtemp(dir=self.work))
        (home / ".bashrc").write_text("# Mira's settings\nalias ll='ls -l'\n")
        return home

    def line(self, *options, at=None):
        return ["sh", self.folder / "install.sh", "--from", at or self.address, *options]

    def options(self, home):
        # Without a terminal of its own, so that nobody is asked.
        return {"env": environment(home), "stdin": subprocess.DEVNULL, "start_new_session": True}

    def copy(self):
        """The release once more, to be damaged."""
        folder = Path(tempfile.mkdtemp(dir=self.work)) / "release"
        shutil.copytree(self.folder, folder)
        return folder

    def is_installed_asked_and_removed(self):
        home = self.home()
        seconds = timed(self.line("--yes"), **self.options(home))
        assert str(home / ".local" / "bin") in (home / ".bashrc").read_text()
        line = ["bash", "-ic", 'memdir "$@"', "-"]
        answer = ask(line, **self.options(home))
        run([home / ".local/bin/memdir", "man"], **self.options(home))
        said = run(self.line("--uninstall", "--yes"), **self.options(home))
        assert said == ""
        assert (home / ".bashrc").read_text() == "# Mira's settings\nalias ll='ls -l'\n"
        left = left_in(home, KEPT)
        assert left == {".bashrc"}, left
        assert list((home / ".local/share/memdir/files").iterdir()), "the memories are gone"
        return "sh install.sh --yes", seconds, self.bytes(), answer

    def bytes(self):
        archives = [*self.folder.glob("*.tar.xz"), *self.folder.glob("*.tar.gz")]
        return archives[0].stat().st_size

    def asks_before_it_changes_a_profile(self):
        home = self.home()
        before = (home / ".bashrc").read_bytes()
        run(self.line(), **self.options(home))
        assert (home / ".bashrc").read_bytes() == before
        run(self.line("--yes", "--no-profile"), **self.options(home))
        assert (home / ".bashrc").read_bytes() == before

    def does_as_a_person_answers(self):
        for answer, is_changed in [("n", False), ("y", True)]:
            home = self.home()
            terminal, own = pty.openpty()
            os.write(terminal, f"{answer}\n".encode())
            run(self.line(), env=environment(home), stdin=own, start_new_session=True)
            os.close(terminal)
            assert (">>> memdir >>>" in (home / ".bashrc").read_text()) is is_changed, answer

    def installs_twice_and_keeps_one_entry(self):
        home = self.home()
        for _ in range(2):
            run(self.line("--yes"), **self.options(home))
        assert (home / ".bashrc").read_text().count(">>> memdir >>>") == 1

    def refuses_a_file_of_somebody_else(self):
        home = self.home()
        program = home / ".local" / "bin" / "memdir"
        program.parent.mkdir(parents=True)
        program.write_text("mine")
        fails(self.line("--yes"), "is not from this script", **self.options(home))
        assert left_in(home) == {".bashrc", ".local/bin/memdir"} and program.read_text() == "mine"

    def refuses_a_changed_archive(self):
        home, folder = self.home(), self.copy()
        for archive in folder.glob("*.tar.*"):
            archive.write_bytes(archive.read_bytes()[:-1])
        fails(self.line("--yes", at=folder), "the checksum of", **self.options(home))
        assert left_in(home) == {".bashrc"}

    def refuses_changed_sums(self):
        """A changed archive whose new sum stands in the list: only the signature tells."""
        home, folder = self.home(), self.copy()
        [sums] = folder.glob("*.sha256")
        sums.write_text(sums.read_text().replace("a", "b", 1))
        fails(self.line("--yes", at=folder), "the signature of", **self.options(home))
        assert left_in(home) == {".bashrc"}

    def refuses_a_missing_signature(self):
        home, folder = self.home(), self.copy()
        [signature] = folder.glob("*.minisig")
        signature.unlink()
        fails(self.line("--yes", at=folder), "no signature", **self.options(home))

    def checks_signatures_with_openssl(self):
        """The same two, where there is no minisign."""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        for program in Path("/usr/bin").iterdir():
            if program.name != "minisign":
                (folder / program.name).symlink_to(program)
        home = self.home()
        options = self.options(home)
        options["env"]["PATH"] = f"{folder}"
        run(self.line("--yes", "--require-signature"), **options)
        changed = self.copy()
        [sums] = changed.glob("*.sha256")
        sums.write_text(sums.read_text().replace("a", "b", 1))
        fails(self.line("--yes", at=changed), "the signature of", **options)

    def removes_nothing_it_did_not_install(self):
        home = self.home()
        fails(self.line("--uninstall", "--yes"), "nothing below", **self.options(home))


def main():
    program = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "release"
        public = release(program, folder, "archive")
        test, table = Installer(folder, work), Table()
        table.check("install.sh", ["curl"], test.is_installed_asked_and_removed)
        table.check("a profile is changed after a yes only", ["curl"], test.asks_before_it_changes_a_profile)
        table.check("a person is asked at a terminal", ["curl"], test.does_as_a_person_answers)
        table.check("twice is once", ["curl"], test.installs_twice_and_keeps_one_entry)
        table.check("a file of somebody else stays", ["curl"], test.refuses_a_file_of_somebody_else)
        table.check("a changed archive is refused", [], test.refuses_a_changed_archive)
        table.check("what was not installed is not removed", [], test.removes_nothing_it_did_not_install)
        if public:
            table.check("changed sums are refused", [], test.refuses_changed_sums)
            table.check("a missing signature is refused", [], test.refuses_a_missing_signature)
            table.check("signatures are checked with OpenSSL", ["curl", "openssl"], test.checks_signatures_with_openssl)
        else:
            print("skipped: signatures: there is no minisign")
        table.end()


if __name__ == "__main__":
    main()
