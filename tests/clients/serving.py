"""Starts `memdir serve`, for the clients that are driven over HTTP."""

import re
import subprocess


class Served:
    """A store served at a free port, behind a token, until the block is left."""

    def __init__(self, program, store, *more):
        self.command = [program, "serve", "--store", store, "--listen", "127.0.0.1:0", *more]
        self.env = {"HOME": store}
        self.show = [program, "--store", store, "token", "show"]

    def __enter__(self):
        self.child = subprocess.Popen(self.command, env=self.env, stderr=subprocess.PIPE)
        for line in self.child.stderr:
            found = re.search(rb"^serving .* at (http://\S+:\d+)", line)
            if found:
                self.url = found[1].decode() + "/mcp"
                break
        else:
            raise SystemExit(f"failed: {self.command} does not listen")
        token = subprocess.run(self.show, env=self.env, stdout=subprocess.PIPE, check=True).stdout
        self.headers = {"Authorization": f"Bearer {token.decode().strip()}"}
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.stderr.read()
        if self.child.wait(timeout=60) != 0:
            raise SystemExit(f"failed: {self.command} ended with {self.child.returncode}")
