#!/usr/bin/env python3
"""Simulates which servers of a team hold which workspaces: how often a request finds its workspace open, its index in the
server's cache, or neither.

    python3 benches/placement.py [--workspaces 10000] [--servers 30] [--requests 2000000] [--deaths 12] [--seed 1]

Sizes and requests of the workspaces follow Zipf's law, each in an order of its own. While the requests come, servers die,
lose their cache, and are back with an empty one 100,000 requests later. Four ways to choose a server are compared: any;
the n-th, n being a hash modulo the number of living servers; the highest random weight (rendezvous hashing), of which
the consistent hash of `examples/team` is an equivalent; and that with a bound on each server's share of the requests that
are now under way, where what is over the bound goes to the server with the second highest weight.

A cold start costs what `benches/team.py --cold` measured from a copy of the index: 0.23 s with 10,000 memories, 1.2 s with
100,000.
"""

import argparse
import bisect
import collections
import itertools
import random

# Bytes of an index a memory, and of all indexes that one server may cache.
INDEX_BYTES = 720
CACHE_BYTES = 20_000_000_000
# Workspaces that a server keeps open, as the program does.
OPEN = 64
# Time of a cold start from a copy.
COLD_SECONDS = 0.15
COLD_SECONDS_A_MEMORY = 10.5e-6
# Requests until a dead server is back, and requests that are under way at once.
AWAY = 100_000
UNDER_WAY = 240
BOUND = 1.25


class Server:
    def __init__(self, capacity):
        self.capacity = capacity
        self.lose()

    def lose(self):
        self.open = collections.OrderedDict()
        self.cached = collections.OrderedDict()
        self.bytes = 0

    def answer(self, workspace, memories):
        """Says what this server had of the workspace, and has it open from then on; the least used ones go."""
        had = "open" if workspace in self.open else "cached" if workspace in self.cached else "cold"
        self.open[workspace] = None
        self.open.move_to_end(workspace)
        if len(self.open) > OPEN:
            self.open.popitem(last=False)
        if workspace not in self.cached:
            self.cached[workspace] = memories * INDEX_BYTES
            self.bytes += memories * INDEX_BYTES
        self.cached.move_to_end(workspace)
        while self.bytes > self.capacity and len(self.cached) > 1:
            _, freed = self.cached.popitem(last=False)
            self.bytes -= freed
        return had


def weights(workspaces, servers, seed):
    """The servers in the order of their weights for each workspace."""
    dice = random.Random(seed)
    orders = []
    for _ in range(workspaces):
        order = list(range(servers))
        dice.shuffle(order)
        orders.append(order)
    return orders


def simulate(way, given, sizes, popularity, orders, capacity):
    dice = random.Random(given.seed)
    servers = [Server(capacity) for _ in range(given.servers)]
    away = {}
    living = list(range(given.servers))
    deaths = sorted(dice.randrange(given.requests // 4, given.requests) for _ in range(given.deaths))
    under_way, load = collections.deque(), [0] * given.servers
    asked, had, seconds = [0] * given.servers, collections.Counter(), []
    steps = list(itertools.accumulate(popularity))
    for request in range(given.requests):
        while deaths and request >= deaths[0]:
            deaths.pop(0)
            dead = dice.choice(living)
            servers[dead].lose()
            away[dead] = request + AWAY
            living = [one for one in range(given.servers) if one not in away]
        for server in [one for one, until in away.items() if until <= request] if away else ():
            del away[server]
            living = [one for one in range(given.servers) if one not in away]
        workspace = bisect.bisect(steps, dice.random() * steps[-1])
        if way == "any":
            chosen = dice.choice(living)
        elif way == "hash modulo n":
            chosen = living[hash((given.seed, workspace)) % len(living)]
        else:
            alive = [one for one in orders[workspace] if one not in away] if away else orders[workspace]
            chosen = alive[0]
            if way == "highest weight, bounded" and load[chosen] > BOUND * UNDER_WAY / len(living):
                chosen = alive[1]
        under_way.append(chosen)
        load[chosen] += 1
        if len(under_way) > UNDER_WAY:
            load[under_way.popleft()] -= 1
        answer = servers[chosen].answer(workspace, sizes[workspace])
        # The first quarter fills the caches.
        if request >= given.requests // 4:
            asked[chosen] += 1
            had[answer] += 1
            if answer == "cold":
                seconds.append(COLD_SECONDS + sizes[workspace] * COLD_SECONDS_A_MEMORY)
    counted = sum(had.values())
    seconds.sort()
    share = lambda kind: f"{100 * had[kind] / counted:8.3f} %"
    slow = f"{seconds[int(len(seconds) * 0.99)]:6.1f} s" if seconds else "      -"
    over = sum(second > 2 for second in seconds)
    print(f"{way:24} {share('open')} {share('cached')} {share('cold')} {slow} {over:10} "
          f"{max(asked) * given.servers / counted:8.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspaces", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=30)
    parser.add_argument("--requests", type=int, default=2_000_000)
    parser.add_argument("--deaths", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    # The largest has 1,000,000 memories.
    sizes = [max(100, 1_000_000 // rank) for rank in range(1, given.workspaces + 1)]
    popularity = [1 / rank for rank in range(1, given.workspaces + 1)]
    dice.shuffle(sizes)
    total = sum(sizes)
    print(f"{given.workspaces} workspaces with {total} memories, {total * INDEX_BYTES / 1e9:.1f} GB of indexes; "
          f"{given.servers} servers, {given.deaths} deaths, {given.requests} requests, seed {given.seed}")
    orders = weights(given.workspaces, given.servers, given.seed)
    ways = ("any", "hash modulo n", "highest weight", "highest weight, bounded")
    for capacity in (CACHE_BYTES, CACHE_BYTES // 40):
        print(f"\ncache of {capacity / 1e9:.1f} GB a server")
        print(f"{'':24} {'open':>10} {'cached':>10} {'cold':>10} {'p99 cold':>8} {'over 2 s':>10} {'busiest':>8}")
        for way in ways:
            simulate(way, given, sizes, popularity, orders, capacity)


main()
