"""The transports to a remote (a path, ssh, http and https), each with its server and its users' settings.

Promises: servers listen on loopback, or at the address they are given, run as the user who runs this, and accept only
keys and passwords of the run; all files lie below the run's folder. The servers' output is in `server/said.log` there.
"""
import base64
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys

import harness
from harness import Failed, wait_until
from wire import Wire

HERE = os.path.dirname(os.path.abspath(__file__))
LOOPBACK = "127.0.0.1"
# Where a server stands that not every PATH leads to.
SYSTEM_PATH = "/usr/sbin:/usr/local/sbin:/sbin"


class Unavailable(Exception):
    """Why there is no such way on this machine."""


class Path:
    """The remote is a folder of this machine."""

    name = "path"
    wire = None
    # Words for `memdir init`.
    flags = ["--allow-local"]
    # Words before each command of a machine, by its number.
    entries = {}
    # Ids of processes that belong to the harness; what nobody but their owner may read, and where it may be.
    servers, secrets, kept = [], [], []

    def __init__(self, setting, remote):
        self.setting, self.remote = setting, remote

    def address(self):
        return self.remote

    def furnish(self, home, number, by):
        """Sets a home up as the user of a machine would; the environment that belongs to it."""
        return {"PATH": self.path(home)} if by == "library" else {}

    def path(self, home):
        """A PATH that leads to no git."""
        return os.path.join(home, "bin")

    def cut_off(self):
        """Lets nobody reach the remote, and tells them so."""
        os.rename(self.remote, self.remote + "-away")

    def let_pass(self):
        if not os.path.exists(self.remote):
            os.rename(self.remote + "-away", self.remote)

    def close(self):
        pass


class Served(Path):
    """What both servers share. `at` is where it listens; without it, on loopback behind a wire."""

    flags = []

    def __init__(self, setting, remote, at=None, before=()):
        super().__init__(setting, remote)
        self.folder = os.path.join(setting.work, "server", "private")
        os.makedirs(self.folder)
        self.secrets, self.kept = [], [self.folder]
        self.said = open(os.path.join(setting.work, "server", "said.log"), "ab")
        self.before, self.at = list(before), at
        self.prepare()
        self.process, place = self.start(at)
        self.servers = [self.process.pid]
        self.wire = None if at else Wire(place)
        self.place = at or self.wire.place

    def popen(self, line, **more):
        return subprocess.Popen(
            [*self.before, *line], stderr=self.said, cwd=self.folder, env=harness.environment(self.setting), **more
        )

    def made(self, line):
        done = harness.run(line, self.setting, folder=self.folder)
        if done.code != 0:
            raise Failed(f"{' '.join(line)} ended with {done.code}: {done.err.strip()[:300]}")

    def keep(self, path, text, mode=0o600):
        """Writes a file of a home."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def cut_off(self):
        self.wire.refuse()

    def let_pass(self):
        self.wire.let_pass()

    def close(self):
        if self.wire:
            self.wire.close()
        self.process.kill()
        self.process.wait()
        self.said.close()


class Ssh(Served):
    """An sshd with keys of its own."""

    name = "ssh"

    def prepare(self):
        self.sshd, self.ssh = shutil.which("sshd") or shutil.which("sshd", path=SYSTEM_PATH), shutil.which("ssh")
        if not self.sshd or not self.ssh or not shutil.which("ssh-keygen"):
            raise Unavailable("sshd and ssh are not both installed")
        for key in ("host", "user"):
            self.made(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
            with open(os.path.join(self.folder, key)) as lines:
                self.secrets += [line.strip() for line in lines if "PRIVATE KEY" not in line]
        # Every key of this kind begins like that.
        self.secrets = [line for line in self.secrets if not line.startswith("b3BlbnNzaC1rZXk")]
        shutil.copy(os.path.join(self.folder, "user.pub"), os.path.join(self.folder, "authorized_keys"))
        self.keep(os.path.join(self.folder, "sshd_config"), "\n".join([
            f"HostKey {self.folder}/host", f"AuthorizedKeysFile {self.folder}/authorized_keys", "PidFile none",
            "StrictModes no", "UsePAM no", "PermitRootLogin yes", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "MaxStartups 100",
            f"SetEnv PATH={os.environ['PATH']} GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null", "",
        ]))
        checked = harness.run([self.sshd, "-t", "-f", "sshd_config"], self.setting, folder=self.folder)
        if checked.code != 0:
            raise Unavailable("sshd cannot be run: " + checked.err.strip())

    def start(self, at):
        for _ in range(5):
            place = at or (LOOPBACK, free_port())
            line = [self.sshd, "-D", "-e", "-f", "sshd_config", "-o", f"ListenAddress={place[0]}", "-p", str(place[1])]
            process = self.popen(line, stdin=subprocess.DEVNULL, stdout=self.said)
            if wait_until(lambda: process.poll() is not None or at or answers(place)) and process.poll() is None:
                return process, place
        raise Failed("sshd does not listen: " + harness.read_text(self.said.name)[-300:])

    def address(self):
        return f"ssh://{getpass.getuser()}@{self.place[0]}:{self.place[1]}{self.remote}"

    def furnish(self, home, number, by):
        folder = os.path.join(home, ".ssh")
        self.keep(f"{folder}/id", harness.read_text(os.path.join(self.folder, "user")))
        key = harness.read_text(os.path.join(self.folder, "host.pub"))
        self.keep(f"{folder}/known_hosts", f"[{self.place[0]}]:{self.place[1]} {key}")
        self.keep(f"{folder}/config", "\n".join([
            f"IdentityFile {folder}/id", "IdentitiesOnly yes", "IdentityAgent none", "GlobalKnownHostsFile none",
            f"UserKnownHostsFile {folder}/known_hosts", "StrictHostKeyChecking yes", "",
        ]))
        # ssh takes the home from the list of users, whatever HOME says. So memdir's own ssh command is used.
        self.keep(f"{home}/bin/ssh", f'#!/bin/sh\nexec {self.ssh} -F "$HOME/.ssh/config" "$@"\n', mode=0o755)
        self.kept.append(folder)
        own = self.path(home)
        return {"PATH": own if by == "library" else f"{own}:{os.environ['PATH']}"}


class Http(Served):
    """A web server on this machine that wants a password, without TLS."""

    name = "http"
    flags = ["--allow-local"]
    # By a credential helper, and by the environment, as on a server where nobody logs in.
    users = ["mira", "machine"]

    def prepare(self):
        self.passwords = {user: secrets.token_urlsafe(24) for user in self.users}
        pairs = [f"{user}:{password}" for user, password in self.passwords.items()]
        self.keep(os.path.join(self.folder, "passwords"), "\n".join(pairs))
        for pair in pairs:
            # The last digits of one depend on what follows.
            self.secrets += [pair.split(":")[1], base64.b64encode(pair.encode()).decode()[:-4]]
        harness.run(["git", "-C", self.remote, "config", "http.receivepack", "true"], self.setting)
        self.certificate = []

    def start(self, at):
        host, port = at or (LOOPBACK, 0)
        line = [sys.executable, os.path.join(HERE, "web.py"), os.path.dirname(self.remote), "passwords"]
        process = self.popen([*line, "--host", host, "--port", str(port), *self.certificate], stdin=subprocess.PIPE,
                             stdout=self.said)
        said = lambda: harness.read_text(self.said.name).splitlines()
        if not wait_until(lambda: process.poll() is not None or said()) or process.poll() is not None:
            raise Failed(f"the web server does not start: {said()[-3:]}")
        return process, (host, int(said()[0]))

    def address(self):
        return f"{self.name}://{self.place[0]}:{self.place[1]}/{os.path.basename(self.remote)}"

    def furnish(self, home, number, by):
        environment = super().furnish(home, number, by)
        # Not git's own store: git takes a connection that breaks off within the first lines of a 401 for a refusal of
        # the password, and lets the store forget it.
        helper = f"{home}/bin/passwords"
        self.keep(f"{home}/.gitconfig", "\n".join(["[credential]", f"helper = {helper}", *self.settings(), ""]))
        # libgit2 knows no credential helpers.
        if by == "library" or number % 2:
            return {**environment, **self.variables(), "MEMDIR_GIT_USER": self.users[1],
                    "MEMDIR_GIT_TOKEN": self.passwords[self.users[1]]}
        user = self.users[0]
        answer = f"echo username={user}; echo password={self.passwords[user]}"
        self.keep(helper, f'#!/bin/sh\nif [ "$1" = get ]; then {answer}; fi\n', mode=0o700)
        self.kept.append(helper)
        return environment

    def settings(self):
        return []

    def variables(self):
        return {}


class Https(Http):
    """The same with a certificate that the users trust because they said so."""

    name = "https"
    flags = []

    def prepare(self):
        super().prepare()
        if not shutil.which("openssl"):
            raise Unavailable("openssl is not installed")
        host = self.at[0] if self.at else LOOPBACK
        self.made(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                   "-days", "2", "-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=memories",
                   "-addext", f"subjectAltName=IP:{host}", "-addext", "basicConstraints=critical,CA:FALSE"])
        key = harness.read_text(os.path.join(self.folder, "key.pem"))
        self.secrets.append(key.splitlines()[2])
        self.keep(os.path.join(self.folder, "both.pem"),
                  key + harness.read_text(os.path.join(self.folder, "certificate.pem")))
        self.certificate = ["--certificate", "both.pem"]

    def settings(self):
        return ["[http]", f"sslCAInfo = {self.folder}/certificate.pem"]

    def variables(self):
        return {"GIT_SSL_CAINFO": f"{self.folder}/certificate.pem"}


WAYS = {way.name: way for way in (Path, Ssh, Http, Https)}


def free_port():
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return taken.getsockname()[1]


def answers(place):
    with socket.socket() as tried:
        return tried.connect_ex(place) == 0
