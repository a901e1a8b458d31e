"""Listens in place of a memdir server: another user's program on a port, a relay to the real server, a
socket in a folder that all may write. Whatever the listener answers, it must receive no byte of the store's
token, and none of the question."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import harness

# Nobody's user id, where this runs as root.
STRANGER = 65534
QUESTION = "where does the heron hide"

# Listens, answers each connection in one way, and prints all it gets in hexadecimal.
LISTENER = r"""
import encodings.idna, os, socket, sys, threading
place, way, target, user = sys.argv[1:]
if user != "None":
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
if place.isdigit():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(place)))
else:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(place)
    os.chmod(place, 0o777)
listener.listen(16)
print(listener.getsockname()[1] if place.isdigit() else place, flush=True)
BODY = {
    "refuses": b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="memdir"\r\nContent-Length: 0\r\n\r\n',
    "welcomes": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    "proves": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 154\r\n\r\n{"nonce":"' + b"0" * 64 + b'","proof":"' + b"0" * 64 + b'"}',
    "redirects": b'HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/mcp\r\nContent-Length: 0\r\n\r\n',
    "errs": b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
}
def pump(source, sink):
    while data := source.recv(65536):
        print(data.hex(), flush=True)
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
def serve(client):
    try:
        if way == "relays":
            server = socket.create_connection(("127.0.0.1", int(target)))
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            while data := server.recv(65536):
                client.sendall(data)
            return
        while data := client.recv(65536):
            print(data.hex(), flush=True)
            if way in BODY and b"\r\n\r\n" in data:
                client.sendall(BODY[way])
    except OSError:
        pass
    finally:
        client.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def listening(place, way, target=0):
    """A listener as another user, where that can be; yields its place and what to call for what it got."""
    user = STRANGER if os.geteuid() == 0 else None
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(place), way, str(target), str(user)],
        stdout=subprocess.PIPE, text=True, cwd="/",
    )
    at = process.stdout.readline().strip()

    def got():
        process.kill()
        rest = process.stdout.read().split()
        return b"".join(bytes.fromhex(line) for line in rest)

    try:
        yield at, got
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def serving(store, *more):
    """A real server of the store; yields its port and its process."""
    process = subprocess.Popen(
        [store.setting.program, "--store", store.root, "serve", "--listen", "127.0.0.1:0", *more],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=harness.environment(store.setting), cwd=store.setting.work,
    )
    try:
        line = process.stderr.readline()
        yield int(line.rsplit(":", 1)[1]), process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()


def bridge(store, address=None, **variables):
    """Asks one question over `memdir mcp --connect`; the answer, if it is one."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    }
    params = {"name": "think", "arguments": {"query": QUESTION}, "_meta": meta}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}) + "\n"
    words = ["mcp", "--connect", *([address] if address else [])]
    done = store.run(*words, text=line, env=variables)
    for answer in done.out.splitlines():
        answer = json.loads(answer)
        if answer.get("id") == 1:
            return answer
    return {"error": {"message": done.err}}


def holds_token(got, token):
    """Whether any twelve digits of the token are in what was got."""
    digits = token.removeprefix("memdir_")
    return any(digits[at:at + 12].encode() in got for at in range(len(digits) - 11))


def run(setting, tally):
    store = harness.Store(setting)
    store.fill(3)
    token = store.run("token", "show").out.strip()

    def judge(what, got, may_ask=False):
        tally.fault()
        tally.log(f"{what}: {len(got)} bytes")
        tally.check(not holds_token(got, token), f"{what}: the token was sent to a stranger")
        tally.check(may_ask or QUESTION.encode() not in got, f"{what}: the question was sent to a stranger")

    for way in ("refuses", "welcomes", "proves", "redirects", "errs", "hangs up"):
        with listening(0, way) as (port, got):
            answer = bridge(store, f"http://127.0.0.1:{port}")
            tally.check("error" in answer, f"a stranger that {way}: it was believed: {answer}")
            judge(f"a stranger that {way}", got())
    with listening(0, "refuses") as (port, got):
        bridge(store, f"http://localhost:{port}", MEMDIR_TOKEN=token)
        judge("a stranger, and the token in the environment", got())

    with serving(store) as (port, server):
        # What is refused below is not refused because nothing works.
        for address in (None, f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            answer = bridge(store, address)
            tally.check("result" in answer, f"the store's own server is not used at {address}: {answer}")
        with listening(0, "relays", port) as (relay, got):
            answer = bridge(store, f"http://127.0.0.1:{relay}")
            tally.check("error" in answer, f"a relay to the real server was not noticed: {answer}")
            judge("a relay to the real server", got())
        server.kill()
        server.wait()
        with listening(port, "welcomes") as (_, got):
            bridge(store)
            judge("a stranger in the place of a killed server", got())
            bridge(store, f"http://127.0.0.1:{port}")
            judge("a stranger in the place of a killed server, by its address", got())
    with serving(store, "--no-token") as (port, _):
        answer = bridge(store, f"http://127.0.0.1:{port}")
        tally.check("result" in answer, f"a server without a token is not used: {answer}")

    # Who names the address in his own settings means it.
    with listening(0, "errs") as (port, got):
        bridge(store, MEMDIR_CONNECT=f"http://127.0.0.1:{port}", MEMDIR_TOKEN=token)
        tally.check(holds_token(got(), token), "an address of the user's own settings gets no token")

    if os.geteuid() != 0:
        tally.skip("sockets of another user", "only root makes one")
        return
    folder = tempfile.mkdtemp(prefix="memdir-hostile-")
    try:
        os.chmod(folder, 0o777)
        with listening(os.path.join(folder, "memdir.sock"), "welcomes") as (path, got):
            answer = bridge(store, f"unix:{path}")
            tally.check("error" in answer, f"a stranger's socket was believed: {answer}")
            judge("a stranger's socket", got())
    finally:
        shutil.rmtree(folder)
