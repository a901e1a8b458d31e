#!/usr/bin/env python3
"""The tables of docs/PERFORMANCE.md: measured, kept as raw results, and written from these alone.

usage: benches/figures.py measure [--memdir PROGRAM] [--sizes 10000,100000] [--runs 3] [--only WORD] [--keep DIR]
       benches/figures.py peers [--memdir PROGRAM] [--sizes 10000,100000] [--runs 3] [--keep DIR]
       benches/figures.py write [--check]

`measure` runs benches/speed.py as often as is said on a store of each size, and `peers` benches/side-by-side/run.py, in
which memdir and other programs do the same work in turn. Each run is added to a file of benches/figures, with the
machine, its load and the speed of a core before and after, the commit, and the size of the program and of the memories;
runs of another commit are dropped. With `--only` the other rows of the runs before stay. With `--keep` the stores lie in
DIR, and what is there from before is used: a million notes take minutes.

`write` puts the medians into the document, between the lines that name a table. A row is marked where its three runs
are not within 25 % of their median, and where there are fewer than three. `--check` changes nothing, and fails where the
document is not what the raw results say.
"""
import argparse
import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import speed
from measure import bytes_below
from notes import make_notes

HERE = pathlib.Path(__file__).parent
DOCUMENT = HERE.parent / "docs/PERFORMANCE.md"
RAW = HERE / "figures"
# How far a run may be from the median of all of them.
NEAR = 0.25
RUNS = 3

# A row of speed.py; what it is called in the table; whether it was asked before; whether it is on disk when it returns.
ROWS = [
    ("full reindex, CPU s", "full reindex, CPU s", "first", "derived"),
    ("full reindex, wall s", "full reindex, wall s", "first", "derived"),
    ("full reindex, peak RSS MB", "its peak RSS, MB", "", ""),
    ("`think`, a server running, wall p50 ms", "`memdir think`, a server running, wall ms", "first", "read"),
    ("`think`, nobody running, wall p50 ms", "`memdir think`, nobody running, wall ms", "first", "read"),
    ("`think`, nobody running, CPU p50 ms", "the same, CPU ms", "first", "read"),
    ("`reindex` with nothing to do, wall p50 ms", "`memdir reindex` with nothing to do, wall ms", "repeated", "derived"),
    ("`recall`, a server running, wall p50 ms", "`memdir recall`, a server running, wall ms", "first", "read"),
    ("`think` query, one of 60 asked again, CPU p50 ms", "`think` query over MCP, one of 60, CPU ms", "repeated", "read"),
    ("warm `think` query, CPU p50 ms", "the same, one of 200, CPU ms", "repeated", "read"),
    ("`think` query, asked first, CPU p50 ms", "the same, CPU ms", "first", "read"),
    ("`think` query, asked first, wall p99 ms", "the same, wall p99 ms", "first", "read"),
    ("warm `think` keywords, wall p50 ms", "`think` keywords over MCP, wall ms", "first", "read"),
    ("warm `think` keywords of two letters, CPU p50 ms", "keywords of two letters, CPU ms", "first", "read"),
    ("`recall` of one id, CPU p50 ms", "`recall` of one id over MCP, CPU ms", "first", "read"),
    ("`recall` of one id, wall p50 ms", "the same, wall ms", "first", "read"),
    ("`remember`, CPU p50 ms", "`remember` over MCP, CPU ms", "first", "file and folder synced"),
    ("`remember`, wall p50 ms", "the same, wall ms", "first", "file and folder synced"),
    ("grep of a rare literal, wall p50 ms", "`grep` of a rare literal, a server running, wall ms", "repeated", "read"),
    ("grep of a rare literal / ripgrep, wall", "the same / ripgrep", "repeated", "read"),
    ("idle server, RSS MB", "idle server, RSS MB", "", ""),
    ("idle server, private MB", "what a second one takes for itself, MB", "", ""),
    ("server after 200 questions, RSS MB", "a server after 200 questions, RSS MB", "", ""),
    ("index bytes / memory bytes", "index bytes / memory bytes", "", ""),
    ("`--version`, wall p50 ms", "`memdir --version`, wall ms", "repeated", ""),
    ("`initialize`, wall p50 ms", "`initialize` of a server, wall ms", "first", ""),
]


def load(name):
    path = RAW / name
    return json.loads(path.read_text()) if path.exists() else None


def keep(name, raw):
    RAW.mkdir(exist_ok=True)
    (RAW / name).write_text(json.dumps(raw, indent=1) + "\n")


def machine():
    with open("/proc/cpuinfo") as text:
        model = next((line.split(":")[1].strip() for line in text if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def commit():
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()


def begun(program):
    """What is the same for all runs of a file."""
    return {"machine": machine(), "commit": commit(), "program_bytes": os.path.getsize(program), "runs": []}


def core_speed():
    """MB that one core hashes in a second of CPU: what it does in a figure of another machine, or of another day."""
    block, hashed = bytes(1_000_000), hashlib.blake2b()
    begun = time.process_time()
    for _ in range(200):
        hashed.update(block)
    return round(200 / (time.process_time() - begun))


def run_of(command, folder):
    """Runs a benchmark; returns what it measured, with load and speed before and after."""
    out = os.path.join(folder, "out.json")
    load, core = [round(os.getloadavg()[0], 2)], [core_speed()]
    subprocess.run([sys.executable, *map(str, command), "--json", out], check=True)
    load.append(round(os.getloadavg()[0], 2))
    core.append(core_speed())
    measured = json.loads(pathlib.Path(out).read_text())
    moment = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {"at": moment, "load": load, "blake2b_mb_s": core, **measured}


@contextlib.contextmanager
def store_of(size, kept, name=None):
    """A folder, and in it a store of so many notes, which are made if the folder that is kept has none."""
    with contextlib.ExitStack() as stack:
        folder = kept or stack.enter_context(tempfile.TemporaryDirectory())
        store = os.path.join(folder, name or str(size))
        files = os.path.join(store, "files")
        if not os.path.isdir(files):
            os.makedirs(files)
            make_notes(files, size)
        yield folder, store


def sizes(arguments):
    return map(int, arguments.sizes.split(","))


def measure(arguments):
    for size in sizes(arguments):
        name = f"{size}.json"
        raw = load(name)
        if raw is None or (raw["commit"] != commit() and not arguments.only):
            raw = begun(arguments.memdir)
        with store_of(size, arguments.keep) as (folder, store):
            raw |= {"memories": size, "bytes": bytes_below(os.path.join(store, "files"))}
            for number in range(arguments.runs):
                command = [HERE / "speed.py", "--memdir", arguments.memdir, "--store", store,
                           "--only", arguments.only]
                run = run_of(command, folder)
                if arguments.only and number < len(raw["runs"]):
                    run["rows"] = {**raw["runs"][number]["rows"], **run["rows"]}
                    raw["runs"][number] = run
                else:
                    raw["runs"].append(run)
                keep(name, raw)


def peers(arguments):
    for size in sizes(arguments):
        name = f"peers-{size}.json"
        raw = load(name)
        if raw is None or raw["commit"] != commit():
            raw = begun(arguments.memdir)
        # The other benchmark adds to its stores.
        with store_of(size, arguments.keep, f"peers-{size}") as (folder, store):
            for _ in range(arguments.runs):
                command = [HERE / "side-by-side/run.py", "--memdir", arguments.memdir, "--store", store]
                raw["runs"].append(run_of(command, folder))
                keep(name, raw)


def shown(values):
    """The median, marked where the runs differ or are few."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    median = statistics.median(values)
    digits = 0 if median >= 100 else 1 if median >= 10 else 2
    text = f"{median:,.{digits}f}"
    if len(values) < RUNS:
        return f"{text} ¹" if len(values) == 1 else f"{text} ²"
    differ = any(abs(value - median) > NEAR * median for value in values)
    return f"{text} ~" if differ else text


def store_table():
    sizes = [size for size in (1_000, *speed.SIZES) if load(f"{size}.json")]
    raws = {size: load(f"{size}.json") for size in sizes}
    heads = [f"{size:,} ({raws[size]['bytes'] / 1e6:,.0f} MB)" for size in sizes]
    lines = [f"| work | asked | on return | {' | '.join(heads)} |", "| --- " * (3 + len(sizes)) + "|"]
    for key, label, asked, durable in ROWS:
        cells = []
        for size in sizes:
            cell = shown([run["rows"].get(key) for run in raws[size]["runs"]])
            bar = speed.BARS.get(key, (None,) * 3)[speed.SIZES.index(size)] if size in speed.SIZES else None
            values = [run["rows"][key] for run in raws[size]["runs"] if key in run["rows"]]
            if bar is not None and values:
                cell = f"**{cell}**" if statistics.median(values) > bar else cell
                cell += f" ({bar:.2g})" if bar < 1 else f" ({bar:,g})"
            cells.append(cell)
        lines.append(f"| {label} | {asked or '–'} | {durable or '–'} | {' | '.join(cells)} |")
    return lines + ["", *origins([(f"{size:,}", raws[size]) for size in sizes])]


def origins(raws):
    for name, raw in raws:
        loads, cores = ([number for run in raw["runs"] for number in run.get(key, [])] for key in ("load", "blake2b_mb_s"))
        speed = f"; a core hashes {min(cores)} to {max(cores)} MB/s (BLAKE2b)" if cores else ""
        yield (f"- {name}: {len(raw['runs'])} run{'s' * (len(raw['runs']) > 1)} of `{raw['commit']}`, a program of "
               f"{raw['program_bytes']:,} bytes; {raw['machine']}; load {min(loads):.1f} to {max(loads):.1f}{speed}.")


def peers_tables():
    raws = [load(f"peers-{size}.json") for size in speed.SIZES]
    return [line for raw in raws if raw for line in [*peers_table(raw), ""]][:-1]


def peers_table(raw):
    works, tools = {}, []
    for run in raw["runs"]:
        for work, rows in run["works"].items():
            for tool, row in rows.items():
                works.setdefault(work, {}).setdefault(tool, []).append(row)
                if tool not in tools:
                    tools.append(tool)
    last = raw["runs"][-1]
    lines = [f"| {last['notes']:,} notes, CPU ms (wall ms) | {' | '.join(works)} |", "| --- " * (1 + len(works)) + "|"]
    for tool in tools:
        cells = []
        for rows in works.values():
            of_tool = rows.get(tool, [])
            cpu, wall = (shown([row[key] for row in of_tool]) for key in ("cpu_p50_ms", "wall_p50_ms"))
            cells.append(f"{cpu} ({wall})" if of_tool else "–")
        lines.append(f"| {tool} | {' | '.join(cells)} |")
    lines += ["", "| index / notes, bytes | of the notes |", "| --- | --- |"]
    lines += [f"| {tool} | {count / last['bytes']:.2f} |" for tool, count in last["index_bytes"].items()]
    return lines + ["", *origins([(f"{last['notes']:,} notes of {last['bytes'] / last['notes'] / 1000:.1f} KB", raw)])]


def write(arguments):
    text = DOCUMENT.read_text()
    written = text
    for name, table in {"store": store_table, "peers": peers_tables}.items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end of figures -->"
        before, rest = written.split(begin)
        written = before + begin + "\n".join(table()) + "\n" + end + rest.split(end, 1)[1]
    if arguments.check:
        if written != text:
            sys.exit("docs/PERFORMANCE.md is not what benches/figures says: run benches/figures.py write")
        print(f"docs/PERFORMANCE.md is what {len(list(RAW.iterdir()))} files of benches/figures say")
        return
    DOCUMENT.write_text(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "peers", "write"])
    parser.add_argument("--memdir", default="target/release/memdir")
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    {"measure": measure, "peers": peers, "write": write}[arguments.command](arguments)


if __name__ == "__main__":
    main()
