#!/usr/bin/env python3
"""What a server over HTTP bears: benches/http_load.py [MEMDIR] [--memories N] [--seconds S] [--pause MS]

Three loads on loopback, against a release build on a store of its own (10,000 memories):

1. 64 connections at once, 56 that recall and 8 that write, by wrk: no error, how long a recall takes,
   and how large the server grows. Each connection waits `--pause` milliseconds between two requests,
   on the average; 0 is as fast as it goes, and shows how long a queue of 64 takes.
2. 200 sockets that ask for large answers and hardly read them, and what a good client notices.
3. Writers, and `kill -9` in their midst: everything that was acknowledged is there afterwards.

Wants `wrk` (Debian: wrk) for the first; says so where it is missing. Exit code 1 if an answer was an
error, or something acknowledged is lost.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOTS = ("anchor basalt cobalt dapple ember fathom garnet harbor ingot jasper kelp lantern meadow nickel onyx pebble "
         "quartz ripple sable timber umber velvet willow yarrow zephyr").split()
WORDS = [a + b for a in ROOTS for b in [""] + ROOTS]
# As in texts that people write: the n-th commonest word is there a share of 1/n.
WEIGHTS = [1 / (n + 10) for n in range(len(WORDS))]
random.Random(1).shuffle(WORDS)
# What is asked for is what texts are about: words that some per cent of them hold.
ASKED = WORDS[40:400]


def text(rng, words=60):
    return " ".join(rng.choices(WORDS, WEIGHTS, k=words))


class Server:
    # Of each request, beside that of its body.
    headers = {}

    def __init__(self, program, store):
        self.program, self.store = program, store
        self.environment = dict(os.environ, MEMDIR_STORE=store, MEMDIR_GIT="false", MEMDIR_EMBEDDING="off",
                                XDG_CONFIG_HOME=os.path.join(store, "none"))
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--no-token", "--listen", "127.0.0.1:0", "--reads-per-second", "0",
             "--writes-per-second", "0"], stderr=subprocess.PIPE, text=True, env=self.environment)
        line = self.process.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line).group(1))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = dict(self.headers, **{"Content-Type": "application/json"} if body is not None else {})
        connection.request(method, "/api/v1" + path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def memory(self):
        """Resident memory and its peak, in MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            status = file.read()
        number = lambda name: int(re.search(name + r":\s+(\d+)", status).group(1)) / 1024
        return number("VmRSS"), number("VmHWM")

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def fill(server, count):
    rng = random.Random(7)
    for begin in range(0, count, 1000):
        items = [{"title": f"note {n} {rng.choice(WORDS)}", "content": text(rng), "tags": [rng.choice(WORDS)],
                  "tier": "long"} for n in range(begin, min(begin + 1000, count))]
        status, data = server.ask("POST", "/memories/bulk", items)
        answer = json.loads(data)
        if status not in (200, 201) or answer["created"] != len(items):
            sys.exit(f"cannot fill the store: {status} {data[:300]}")


READS = """
local words = {%s}
math.randomseed(os.time())
request = function()
  local a, b = words[math.random(#words)], words[math.random(#words)]
  return wrk.format("GET", "/api/v1/recall?context=" .. a .. "+" .. b .. "&limit=10")
end
function delay() return math.random(0, 2 * %d) end
"""
WRITES = """
local words = {%s}
math.randomseed(os.time())
local n = 0
local id = math.random(1e9)
request = function()
  n = n + 1
  local t = {}
  for i = 1, 60 do t[i] = words[math.random(#words)] end
  local body = '{"title":"load ' .. id .. " " .. n .. '","content":"' .. table.concat(t, " ") .. '","tier":"long"}'
  return wrk.format("POST", "/api/v1/memories", {["Content-Type"] = "application/json"}, body)
end
function delay() return math.random(0, 2 * %d) end
"""
DONE = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %.3f %.3f %.3f\\n", summary.requests, e.connect + e.read + e.write,
    e.timeout, e.status, summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
"""


def wrk(server, script, connections, seconds, folder, name):
    path = os.path.join(folder, name + ".lua")
    with open(path, "w") as file:
        file.write(script + DONE)
    return subprocess.Popen(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", path,
                             f"http://127.0.0.1:{server.port}"], stdout=subprocess.PIPE, text=True)


def result(process):
    out = process.communicate()[0]
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+)", out)
    if not found:
        sys.exit("wrk said: " + out)
    n = [float(x) for x in found.groups()]
    return {"requests": int(n[0]), "errors": int(n[1] + n[2] + n[3]), "a second": round(n[0] / (n[4] / 1e6), 1),
            "p50 ms": n[5], "p99 ms": n[6], "max ms": n[7]}


def mixed(server, seconds, pause, folder):
    if not shutil.which("wrk"):
        print("skipped: the mixed load: wrk is not installed")
        return True
    words = ",".join(f'"{w}"' for w in ASKED)
    before = server.cpu()
    reads = wrk(server, READS % (words, pause), 56, seconds, folder, "reads")
    writes = wrk(server, WRITES % (words, pause), 8, seconds, folder, "writes")
    reads, writes = result(reads), result(writes)
    used = server.cpu() - before
    resident, peak = server.memory()
    print(f"mixed, 64 connections, {seconds} s, pause {pause} ms")
    print("  recalls", reads)
    print("  writes ", writes)
    print(f"  server: {used:.1f} s CPU, RSS {resident:.0f} MB, peak {peak:.0f} MB")
    return reads["errors"] == 0 and writes["errors"] == 0


def timed(server, count):
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    rng = random.Random(3)
    for _ in range(count):
        begun = time.perf_counter()
        connection.request("GET", f"/api/v1/recall?context={rng.choice(ASKED)}+{rng.choice(ASKED)}&limit=10")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        times.append((time.perf_counter() - begun) * 1000)
    connection.close()
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.99)]


def slow(server):
    alone = timed(server, 500)
    asked = b"GET /api/v1/memories?limit=200 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
    sockets = []
    for _ in range(200):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", server.port))
        one.sendall(asked)
        one.setblocking(False)
        sockets.append(one)
    stop = threading.Event()

    def sip():
        while not stop.wait(1):
            for one in sockets:
                try:
                    one.recv(1)
                except OSError:
                    pass

    threading.Thread(target=sip, daemon=True).start()
    among = timed(server, 2000)
    resident, peak = server.memory()
    stop.set()
    for one in sockets:
        one.close()
    print(f"200 sockets that hardly read: a recall alone p50 {alone[0]:.2f} p99 {alone[1]:.2f} ms, "
          f"among them p50 {among[0]:.2f} p99 {among[1]:.2f} ms; RSS {resident:.0f} MB, peak {peak:.0f} MB")
    return True


def killed(server):
    acknowledged, lock = [], threading.Lock()
    rng = random.Random(11)
    bodies = [{"title": f"ack {n}", "content": text(rng), "tier": "long"} for n in range(20000)]
    place = iter(range(len(bodies)))

    def write():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        while True:
            with lock:
                n = next(place, None)
            if n is None:
                return
            try:
                connection.request("POST", "/api/v1/memories", json.dumps(bodies[n]),
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                data = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                return
            if answer.status == 201:
                with lock:
                    acknowledged.append((data["id"], n))

    threads = [threading.Thread(target=write) for _ in range(16)]
    for thread in threads:
        thread.start()
    while True:
        with lock:
            if len(acknowledged) >= 500:
                break
        time.sleep(0.005)
    server.process.kill()
    server.process.wait()
    for thread in threads:
        thread.join()
    server.begin()
    lost = 0
    for handle, n in acknowledged:
        status, data = server.ask("GET", f"/memories/{handle}")
        if status != 200 or json.loads(data)["memory"]["content"] != bodies[n]["content"]:
            lost += 1
    print(f"kill -9 in the midst of 16 writers: {len(acknowledged)} acknowledged, {lost} lost")
    return lost == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("memdir", nargs="?", default="target/release/memdir")
    parser.add_argument("--memories", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--pause", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        os.makedirs(os.path.join(store, "files"))
        server = Server(os.path.realpath(options.memdir), store)
        try:
            begun = time.time()
            fill(server, options.memories)
            print(f"{options.memories} memories in {time.time() - begun:.1f} s")
            fine = [mixed(server, options.seconds, options.pause, folder), slow(server), killed(server)]
            code = server.end()
            print(f"ended with {code}")
            fine.append(code == 0)
        finally:
            server.process.kill()
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
