"""Time and size of the views of the page.

usage: page.py MEMDIR [--notes N] [--times N]

Serves N made-up notes of some 80 words, logs in by a code, and asks for each view as often as said, one after
another. Prints for each the milliseconds on the wall (median, 95th percentile), the server's CPU, and the bytes of
the answer; and the bytes of the first view with all that it loads.
"""

import argparse
import http.client
import os
import re
import subprocess
import tempfile
import time

from notes import indexed_store, questions


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=40)
    given = parser.parse_args()
    program = os.path.abspath(given.program) if os.path.sep in given.program else given.program
    with tempfile.TemporaryDirectory(prefix="memdir-page-") as work:
        environment = indexed_store(program, work, given.notes)
        server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0"], env=environment, stderr=subprocess.PIPE, text=True)
        try:
            place = next(found[1] for found in (re.search(r"at http://(\S+:\d+)", line) for line in server.stderr) if found)
            measure(program, environment, server.pid, place, given)
        finally:
            server.terminate()
            server.wait()


def measure(program, environment, pid, place, given):
    opened = subprocess.run([program, "open", "--print"], env=environment, check=True, capture_output=True, text=True)
    connection = http.client.HTTPConnection(place)

    def get(path, cookie=""):
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    _, headers, _ = get(opened.stdout.strip().split(place)[1])
    cookie = headers["Set-Cookie"].split(";")[0]
    status, _, first = get("/", cookie)
    assert status == 200, first
    loaded = sum(len(get(path, cookie)[2]) for path in ("/assets/page.css", "/assets/page.js", "/assets/icon.svg"))
    print(f"{given.notes} notes; first view with what it loads: {len(first) + loaded} bytes")
    memory = re.search(rb'href="(/memory/[^"]+)"', first)[1].decode()
    words = [question.replace(" ", "+") for question in questions(given.times)]
    views = {"timeline": ["/"], "older list": ["/?part=1"], "search": [f"/search?q={one}" for one in words],
             "search as you type": [f"/search?part=1&q={one}" for one in words],
             "keywords": [f"/search?part=1&by=keywords&q={one.split('+')[0]}" for one in words],
             "expression": [f"/search?part=1&by=expression&q={one.split('+')[0]}" for one in words],
             "memory": [memory], "raw": [memory + "/raw"], "review": ["/review"], "brief": ["/brief"], "store": ["/store"]}
    print(f"{'view':20} {'p50 ms':>8} {'p95 ms':>8} {'CPU ms':>8} {'bytes':>9}")
    for name, paths in views.items():
        get(paths[0], cookie)
        took, size, before = [], 0, cpu_of(pid)
        for number in range(given.times):
            begun = time.perf_counter()
            status, _, body = get(paths[number % len(paths)], cookie)
            took.append((time.perf_counter() - begun) * 1000)
            assert status == 200, (paths, status)
            size = max(size, len(body))
        took.sort()
        cpu = (cpu_of(pid) - before) * 1000 / given.times
        print(f"{name:20} {took[len(took) // 2]:8.1f} {took[int(len(took) * 0.95)]:8.1f} {cpu:8.1f} {size:9}")


if __name__ == "__main__":
    main()
