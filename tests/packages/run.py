#!/usr/bin/env python3
"""Installs every package for real, asks it a question, and removes it: python3 tests/packages/run.py MEMDIR [NAME…]

Packs MEMDIR, built by `.ci/dist` for this machine's Linux, into every kind of package. Those for Debian,
Fedora and Arch, and the archive, are installed in bare roots that `debootstrap` makes; the others in
fresh homes, from indexes on the loopback. The tools that check them come from PyPI and npm, as
pinned here. What is missing on this machine is skipped, and that is said. Wants root.
"""
import json
import os
import pwd
import re
import shutil
import sys
import tarfile
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import PACKAGING, Table, ask, ask_server, environment, fails, left_in, run, timed
from installing import release

TOOLS = ["uv==0.13.9", "pipx==1.18.4", "twine==7.0.0", "check-wheel-contents==0.6.3", "auditwheel==6.8.2", "jsonschema==4.26.0"]
MCPB = "@anthropic-ai/mcpb@2.1.2"
# What a package manager notes of its own, what it leaves in logs, and what belongs to the user.
NOT_OF_PACKAGES = ["var/lib/dpkg", "var/lib/apt", "var/lib/rpm", "var/lib/pacman", "var/log", "var/cache", "root", "tmp"]
# What rpmlint finds and is meant so.
RPMLINT_ACCEPTED = {
    "no-signature": "signed by who publishes it",
    "no-group-tag": "groups are a thing of the past",
    "position-independent-executable-suggested": "build.rs says why; MEMDIR_PIE=1 builds it otherwise",
    "no-manual-page-for-binary": "it is there; Debian's rpmlint looks for memdir.1.bz2",
    "manpage-not-compressed": "with gzip, and Debian's rpmlint wants bzip2",
    "invalid-license": "Debian's list has no names of SPDX",
}


class Packages:
    def __init__(self, folder, work):
        self.folder, self.work = folder, Path(work)

    def made(self, pattern):
        [file] = self.folder.glob(pattern)
        return file

    def new(self, name):
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.work))

    # Debian, Fedora, Arch: bare roots.

    def bare_root(self):
        """A root with a minimal Debian and nothing else, made once and copied."""
        first = self.work / "bare"
        if not first.exists():
            ready = os.environ.get("MEMDIR_BARE_ROOT")
            if ready:
                run(["cp", "-a", ready, first])
            else:
                run(["debootstrap", "--variant=minbase", "bookworm", first])
        root = self.new("root") / "root"
        run(["cp", "-a", "--reflink=auto", first, root])
        return root

    def chroot(self, root):
        return ["chroot", root, "/usr/bin/env", "-i", "HOME=/root", "PATH=/root/.local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

    def in_root(self, root, file):
        shutil.copy(file, root / "tmp" / file.name)
        return f"/tmp/{file.name}"

    def in_a_bare_root(self, install, remove, file, memdir=("memdir",)):
        """Installs, asks, removes; nothing but the memories may be left."""
        root = self.bare_root()
        before = left_in(root, NOT_OF_PACKAGES)
        self.in_root(root, file)
        install, remove = install(root), remove(root)
        seconds = timed(install)
        answer = ask([*self.chroot(root), *memdir])
        run(remove)
        left = left_in(root, NOT_OF_PACKAGES) - before
        assert not left, f"left: {left}"
        kept = left_in(root / "root") - {".bashrc", ".profile"}
        assert all(name.startswith((".local/share/memdir/", ".local/state/memdir/")) for name in kept), kept
        assert any(name.startswith(".local/share/memdir/files/") for name in kept), kept
        return seconds, file.stat().st_size, answer

    def archive(self):
        """Without a network, as on a machine that has none."""
        file = self.made("*.tar.gz")

        def install(root):
            for name in ["install.sh", "*.sha256", "*.minisig"]:
                for each in self.folder.glob(name):
                    self.in_root(root, each)
            return [*self.chroot(root), "sh", "/tmp/install.sh", "--from", "/tmp", "--yes", "--no-profile"]

        def remove(root):
            return [*self.chroot(root), "sh", "/tmp/install.sh", "--uninstall", "--yes"]

        return "sh install.sh --from .", *self.in_a_bare_root(install, remove, file)

    def deb(self):
        file = self.made("*.deb")
        found = run(["lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", file])
        assert "E:" not in found and "W:" not in found, found
        install = lambda root: [*self.chroot(root), "apt-get", "install", "-y", "-qq", "--no-install-recommends", f"/tmp/{file.name}"]
        remove = lambda root: [*self.chroot(root), "apt-get", "purge", "-y", "-qq", "memdir"]
        return f"apt install ./{file.name}", *self.in_a_bare_root(install, remove, file)

    def rpm(self):
        file = self.made("*.rpm")
        found = os.popen(f"rpmlint {file} 2>&1").read()
        names = re.findall(r"^\S+: [EW]: (\S+)", found, re.M)
        assert names and not set(names) - set(RPMLINT_ACCEPTED), found
        # The root's glibc is Debian's, of which rpm knows nothing.
        install = lambda root: ["rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "-i", file]
        remove = lambda root: ["rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-e", "memdir"]
        return f"dnf install ./{file.name}", *self.in_a_bare_root(install, remove, file)

    def arch(self):
        """Builds the recipe from the archive, which lies where it would have been downloaded to."""
        build = self.new("arch")
        shutil.copy(self.made("PKGBUILD"), build)
        shutil.copy(self.made("*.tar.gz"), build)
        build.parent.chmod(0o755)
        nobody = pwd.getpwnam("nobody")
        for path in [build, *build.iterdir()]:
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        said = {"HOME": str(build), "PATH": os.environ["PATH"], "PKGEXT": ".pkg.tar.gz", "CARCH": "x86_64"}
        run(
            ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "makepkg", "--nodeps"],
            env=said, cwd=build,
        )
        [file] = build.glob("*.pkg.tar.gz")

        def pacman(root, *line):
            (root / "var/lib/pacman").mkdir(parents=True, exist_ok=True)
            settings = build / "pacman.conf"
            settings.write_text("[options]\nArchitecture = x86_64\nSigLevel = Never\n")
            base = ["pacman", "--config", settings, "--root", root, "--dbpath", root / "var/lib/pacman", "--noconfirm"]
            return [*base, *line]

        return "makepkg -si", *self.in_a_bare_root(
            lambda root: pacman(root, "-U", "-dd", file), lambda root: pacman(root, "-R", "-dd", "memdir-bin"), file
        )

    # Python.

    def tools(self):
        folder = self.work / "tools"
        if not folder.exists():
            run([sys.executable, "-m", "venv", folder])
            run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", *TOOLS])
        return folder / "bin"

    def wheel(self):
        file, tools = self.made("*.whl"), self.tools()
        run([tools / "twine", "check", "--strict", file])
        # W007 is about packages with Python in them.
        run([tools / "check-wheel-contents", "--ignore", "W007", file])
        shown = " ".join(run([tools / "auditwheel", "show", file]).split())
        tag = file.name.split("-none-")[1].removesuffix(".whl").split(".")[0]
        assert f'platform tag: "{tag}"' in shown, shown

    def uvx(self):
        file, tools, home = self.made("*.whl"), self.tools(), self.new("home")
        env = environment(home, tools)
        line = ["uvx", "--no-index", "--find-links", self.folder, "memdir"]
        seconds = timed([*line, "--version"], env=env, cwd=home)
        answer = ask_server([*line, "mcp"], env=env, cwd=home)
        run(["uv", "cache", "clean"], env=env)
        assert_only_memories(home, [".cache/uv", ".local/share/uv"])
        return "uvx memdir mcp", seconds, file.stat().st_size, answer

    def pipx(self):
        file, tools, home = self.made("*.whl"), self.tools(), self.new("home")
        env = environment(home, home / ".local/bin", tools)
        env["PIPX_DEFAULT_PYTHON"] = sys.executable
        line = ["pipx", "install", "--pip-args", f"--no-index --find-links {self.folder}", "memdir"]
        seconds = timed(line, env=env)
        answer = ask([home / ".local/bin/memdir"], env=env, cwd=home)
        run(["pipx", "uninstall", "memdir"], env=env)
        assert not (home / ".local/bin/memdir").exists()
        # pipx keeps its own environment and logs.
        assert_only_memories(home, [".local/share/pipx", ".local/state/pipx", ".local/pipx", ".cache"])
        return "pipx install memdir", seconds, file.stat().st_size, answer

    # Node.

    def npx(self):
        registry = NpmRegistry(self.folder)
        home = self.new("home")
        env = {**environment(home), "npm_config_registry": registry.address, "npm_config_update_notifier": "false"}
        seconds = timed(["npx", "--yes", "memdir", "--version"], env=env, cwd=home)
        answer = ask_server(["npx", "--yes", "memdir", "mcp"], env=env, cwd=home)
        fetched = {name for name in registry.fetched if name.startswith("memdir-")}
        assert fetched == {f"memdir-linux-x64-{version()}.tgz", f"memdir-{version()}.tgz"}, fetched
        size = sum((self.folder / name).stat().st_size for name in fetched)
        shutil.rmtree(home / ".npm")
        assert_only_memories(home, [])
        return "npx memdir mcp", seconds, size, answer

    def npm(self):
        registry = NpmRegistry(self.folder)
        home = self.new("home")
        env = {**environment(home, home / "npm/bin"), "npm_config_registry": registry.address, "npm_config_prefix": f"{home}/npm"}
        seconds = timed(["npm", "install", "--global", "--ignore-scripts", "memdir"], env=env, cwd=home)
        answer = ask([home / "npm/bin/memdir"], env=env, cwd=home)
        # The starter ends as the program does.
        fails([home / "npm/bin/memdir", "recall", "00000000"], "00000000", env=env, cwd=home)
        run(["npm", "uninstall", "--global", "memdir"], env=env, cwd=home)
        assert_only_memories(home, [".npm"])
        return "npm install -g memdir", seconds, self.made("memdir-linux-x64-*.tgz").stat().st_size, answer

    # Containers and bundles.

    def image(self):
        file, folder = self.made("*.oci.tar"), self.new("image")
        layout, bundle = folder / "layout", folder / "bundle"
        layout.mkdir()
        with tarfile.open(file) as archive:
            archive.extractall(layout, filter="data")
        seconds = timed(["umoci", "unpack", "--image", f"{layout}:{version()}", bundle])
        said = json.loads((bundle / "config.json").read_text())["process"]
        assert said["user"]["uid"] == 65534 and said["args"] == ["/usr/bin/memdir", "mcp"], said
        programs = [path for path in (bundle / "rootfs/usr/bin").iterdir()]
        assert [path.name for path in programs] == ["memdir"], programs
        config = json.loads(run(["skopeo", "inspect", "--config", f"oci:{layout}:{version()}"]))
        assert "/data" in config["config"]["Volumes"], config
        env = dict(variable.split("=", 1) for variable in said["env"])
        line = [shutil.which("chroot"), "--userspec=65534:65534", bundle / "rootfs"]
        # In place of a container's own namespaces, which not every machine has: its root, user and variables.
        answer = ask_server([*line, *said["args"]], env=env)
        run([*line, "/usr/bin/memdir", "status"], env=env)
        return f"docker load < {file.name}", seconds, file.stat().st_size, answer

    def buildah(self):
        file, folder = self.made("*.oci.tar"), self.new("buildah")
        base = ["buildah", "--storage-driver", "vfs", "--root", folder / "root", "--runroot", folder / "runroot"]
        seconds = timed([*base, "pull", "-q", f"oci-archive:{file}:{version()}"])
        [image] = run([*base, "images", "-q"]).split()
        container = run([*base, "from", image]).strip()
        answer = ask([*base, "run", "--isolation", "chroot", container, "--", "/usr/bin/memdir"])
        return f"podman load < {file.name}", seconds, file.stat().st_size, answer

    def bundle(self):
        file, folder = self.made("*.mcpb"), self.new("bundle")
        run(["npm", "install", "--silent", "--prefix", folder, MCPB])
        mcpb = folder / "node_modules/.bin/mcpb"
        unpacked, home = folder / "unpacked", self.new("home")
        seconds = timed([mcpb, "unpack", file, unpacked])
        run([mcpb, "validate", unpacked / "manifest.json"])
        # As Anthropic's own program packs it, it holds the same files.
        run([mcpb, "pack", unpacked, folder / "again.mcpb"])
        run([mcpb, "unpack", folder / "again.mcpb", folder / "again"])
        same = lambda root: {name: (root / name).read_bytes() for name in left_in(root)}
        assert same(unpacked) == same(folder / "again")
        server = json.loads((unpacked / "manifest.json").read_text())["server"]["mcp_config"]
        filled = lambda text: text.replace("${__dirname}", str(unpacked)).replace("${user_config.store}", f"{home}/memories")
        env = environment(home) | {name: filled(value) for name, value in server["env"].items()}
        answer = ask_server([filled(server["command"]), *server["args"]], env=env, cwd=home)
        return f"a click on {file.name}", seconds, file.stat().st_size, answer

    # What others build or publish: its form.

    def server_json(self):
        check = "import json, sys, jsonschema; jsonschema.validate(*[json.load(open(name)) for name in sys.argv[1:]])"
        python = self.tools() / "python"
        run([python, "-c", check, self.made("server.json"), PACKAGING / "server.schema.json"])
        wrong = json.loads(self.made("server.json").read_text()) | {"description": "x" * 101}
        (self.work / "wrong.json").write_text(json.dumps(wrong))
        fails([python, "-c", check, self.work / "wrong.json", PACKAGING / "server.schema.json"], "too long")

    def homebrew(self):
        run(["ruby", "-c", self.made("memdir.rb")])

    def nix(self):
        run(["nix-instantiate", "--parse", PACKAGING / "nix" / "flake.nix"])

    def crate(self):
        """The crate as it would be published; `--verify` of it is a cold build."""
        target = self.new("crate")
        run(["cargo", "package", "--locked", "--no-verify", "--allow-dirty"], cwd=PACKAGING, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
        [crate] = (target / "package").glob("*.crate")
        assert crate.stat().st_size < 10_000_000, "the registry takes 10 MB"
        with tarfile.open(crate) as archive:
            manifest = archive.extractfile(f"memdir-{version()}/Cargo.toml").read().decode()
        assert '[dev-dependencies.memdir]' not in manifest, "a crate cannot depend on itself"

    def equal(self, program):
        """All packages once more, in another folder: byte for byte the same."""
        again = self.new("again") / "release"
        run([sys.executable, PACKAGING / "pack.py", program, again], env={**os.environ, "MEMDIR_REPOSITORY": "https://github.com/example/memdir"})
        differ = [file.name for file in again.iterdir() if file.read_bytes() != (self.folder / file.name).read_bytes()]
        assert not differ, f"differ: {differ}"


def version():
    return re.search(r'^version = "(.+)"', (PACKAGING.parent.parent / "Cargo.toml").read_text(), re.M)[1]


def assert_only_memories(home, but):
    left = left_in(home, [*but, ".local/share/memdir", ".local/state/memdir"])
    assert not left, f"left: {left}"
    assert list((home / ".local/share/memdir/files").iterdir()), "the memories are gone"


class NpmRegistry:
    """The part of npm's registry that `npm install` asks, on the loopback, with the packages of a release."""

    def __init__(self, folder):
        self.fetched = set()
        registry = self
        packages = {}
        for file in folder.glob("*.tgz"):
            with tarfile.open(file) as archive:
                said = json.load(archive.extractfile("package/package.json"))
            packages[said["name"]] = (said, file.name)
        # Those of other platforms, which a release made on one machine does not have.
        for name in packages["memdir"][0]["optionalDependencies"]:
            system, cpu, *libc = name.removeprefix("@memdir/").split("-")
            said = {"name": name, "version": version(), "os": [system], "cpu": [cpu], **({"libc": libc} if libc else {})}
            packages.setdefault(name, (said, "not-there.tgz"))

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.strip("/").replace("%2f", "/")
                if name.endswith(".tgz"):
                    registry.fetched.add(name)
                    return self.answer((folder / name).read_bytes() if (folder / name).exists() else None)
                if name not in packages:
                    return self.answer(None)
                said, file = packages[name]
                said = said | {"dist": {"tarball": f"{registry.address}/{file}"}}
                page = {"name": name, "dist-tags": {"latest": version()}, "versions": {version(): said}}
                self.answer(json.dumps(page).encode())

            def answer(self, data):
                self.send_response(404 if data is None else 200)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    program, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "release"
        release(program, folder)
        # Users of their own may read what is packed.
        Path(work).chmod(0o755)
        packages, table = Packages(folder, work), Table()
        bare = [] if os.environ.get("MEMDIR_BARE_ROOT") else ["debootstrap"]
        checks = {
            "archive": (bare, packages.archive),
            "deb": ([*bare, "lintian"], packages.deb),
            "rpm": ([*bare, "rpm", "rpmbuild", "rpmlint"], packages.rpm),
            "arch": ([*bare, "makepkg", "pacman", "bsdtar"], packages.arch),
            "wheel": ([], packages.wheel),
            "uvx": ([], packages.uvx),
            "pipx": ([], packages.pipx),
            "npx": (["npx"], packages.npx),
            "npm": (["npm"], packages.npm),
            "image": (["umoci", "skopeo"], packages.image),
            "buildah": (["buildah"], packages.buildah),
            "bundle": (["npm"], packages.bundle),
            "server.json": ([], packages.server_json),
            "homebrew": (["ruby"], packages.homebrew),
            "nix": (["nix-instantiate"], packages.nix),
            "crate": (["cargo"], packages.crate),
            "equal": ([], lambda: packages.equal(program)),
        }
        for name, (needs, test) in checks.items():
            if not names or name in names:
                table.check(name, needs, test)
        table.end()


if __name__ == "__main__":
    main()
