"""What a program costs: time on the clock, time of the processor, memory. Linux only."""
import os
import statistics
import time


class Cost:
    """A process that ended: `wall_ms`, `cpu_ms` (user and system), `rss_mb` (at its peak), `code`, `out`.

    `text` is given to its standard input; no more than a pipe holds at once, 64 KiB.
    """

    def __init__(self, command, environment=None, directory=None, text=None):
        reading, writing = os.pipe()
        with open(os.devnull) as nothing:
            actions = [
                (os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_CLOSE, reading),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ]
            if text is not None:
                asking, asked = os.pipe()
                os.write(asked, text.encode())
                os.close(asked)
                actions.append((os.POSIX_SPAWN_DUP2, asking, 0))
            before = os.getcwd()
            if directory:
                os.chdir(directory)
            began = time.perf_counter()
            process = os.posix_spawnp(command[0], command, os.environ if environment is None else environment,
                                      file_actions=actions)
            os.chdir(before)
        os.close(writing)
        if text is not None:
            os.close(asking)
        with os.fdopen(reading, "rb") as pipe:
            self.out = pipe.read()
        _, status, used = os.wait4(process, 0)
        self.wall_ms = 1000 * (time.perf_counter() - began)
        self.cpu_ms = 1000 * (used.ru_utime + used.ru_stime)
        self.rss_mb = used.ru_maxrss / 1024
        self.code = os.waitstatus_to_exitcode(status)


def spread(values):
    """The median and the value that 99 of 100 stay below."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]


def bytes_below(folder):
    """The sizes of all files below a folder, added up."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def cpu_of(process):
    """Processor time of a running process so far, in ms, to the microsecond: a sum over its threads. What threads that
    ended have used is lost."""
    total = 0
    for task in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{task}/schedstat") as text:
                total += int(text.read().split()[0])
        except FileNotFoundError:
            pass
    return total / 1e6


def memory_of(process):
    """Resident memory of a running process in MB, and the part of it that no other process shares."""
    resident = private = 0
    with open(f"/proc/{process}/smaps_rollup") as text:
        for line in text:
            if line.startswith("Rss:"):
                resident = int(line.split()[1])
            elif line.startswith(("Private_Clean:", "Private_Dirty:")):
                private += int(line.split()[1])
    return resident / 1024, private / 1024
