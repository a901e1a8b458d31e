"""A proxy between machines and a server that fails as cables and networks do.

Promises: bytes arrive in order or the connection ends. While the proxy is silent, nothing passes in either direction,
the end of a connection neither; afterwards each connection continues where it stopped. While the proxy refuses
connections, it keeps its port. One thread accepts, one thread serves each connection.
"""
import collections
import dataclasses
import select
import socket
import struct
import threading
import time

# How soon a connection notices that the cable is treated in another way.
TICK = 0.02
PIECE = 1 << 16
# From the machine to the server, and back.
UP, DOWN = "up", "down"


@dataclasses.dataclass(frozen=True)
class Manner:
    """What the cable does."""

    refuses: bool = False
    is_silent: bool = False
    # Bytes a second, each way of each connection.
    rate: int | None = None
    # Ends a connection when so many bytes went this way.
    cut: tuple[str, int] | None = None


class Wire:
    """Listens at `place` and carries what comes to `target`, both a host and a port."""

    def __init__(self, target):
        self.target, self.manner = target, Manner()
        # What happened to connections.
        self.counted = collections.Counter()
        # Bound and deaf, it keeps the port while nobody listens.
        self.holder = bound(("127.0.0.1", 0))
        self.place = self.holder.getsockname()
        self.listener = None
        self.listen()

    # ---- what it does

    def let_pass(self):
        self.become(Manner())

    def refuse(self):
        """Breaks all connections off, and lets nobody connect."""
        self.become(Manner(refuses=True))

    def fall_silent(self):
        """Accepts, and says nothing any more."""
        self.become(Manner(is_silent=True))

    def slow_down(self, rate):
        self.become(Manner(rate=rate))

    def cut_after(self, way, count):
        """Breaks each connection off as soon as it has carried so many bytes this way."""
        self.become(Manner(cut=(way, count)))

    def close(self):
        self.refuse()
        self.holder.close()

    def become(self, manner):
        self.manner = manner
        if manner.refuses and self.listener:
            # Wakes up the thread that accepts; those that wait in the queue are refused.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        elif not manner.refuses and not self.listener:
            self.listen()

    # ---- how

    def listen(self):
        self.listener = bound(self.place)
        self.listener.listen(128)
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        self.counted["connections"] += 1
        with client:
            while self.manner.is_silent:
                time.sleep(TICK)
            try:
                with socket.create_connection(self.target) as server:
                    Connection(self, client, server).carry()
            except OSError:
                abort(client)


class Connection:
    """A connection that has reached the server. Used by one thread."""

    def __init__(self, wire, client, server):
        self.wire = wire
        self.ways = [Way(UP, client, server), Way(DOWN, server, client)]
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def carry(self):
        while not all(way.is_closed for way in self.ways):
            manner = self.wire.manner
            if manner.refuses or any(way.is_used_up(manner) for way in self.ways):
                self.wire.counted["broken off"] += 1
                return self.break_off()
            if manner.is_silent:
                time.sleep(TICK)
                continue
            sources = [way.source for way in self.ways if way.may_read()]
            sinks = [way.sink for way in self.ways if way.may_write()]
            readable, writable, _ = select.select(sources, sinks, [], TICK)
            for way in self.ways:
                if way.source in readable and way.may_read():
                    way.read()
                if way.sink in writable and way.may_write():
                    way.write(manner)
                way.pass_on_the_end()

    def break_off(self):
        for way in self.ways:
            abort(way.source)


class Way:
    """One direction of a connection."""

    def __init__(self, name, source, sink):
        self.name, self.source, self.sink = name, source, sink
        self.held, self.carried = b"", 0
        self.is_ended = self.is_closed = False
        # When the next byte may be sent.
        self.free_at = 0.0

    def is_used_up(self, manner):
        return manner.cut is not None and manner.cut[0] == self.name and self.carried >= manner.cut[1]

    def may_read(self):
        return not self.is_ended and not self.held

    def may_write(self):
        return bool(self.held) and time.monotonic() >= self.free_at

    def read(self):
        self.held = self.source.recv(PIECE)
        self.is_ended = not self.held

    def write(self, manner):
        most = len(self.held)
        if manner.rate:
            most = max(1, int(manner.rate * TICK))
        if manner.cut and manner.cut[0] == self.name:
            most = min(most, manner.cut[1] - self.carried)
        sent = self.sink.send(self.held[:most])
        self.held, self.carried = self.held[sent:], self.carried + sent
        if manner.rate:
            self.free_at = time.monotonic() + sent / manner.rate

    def pass_on_the_end(self):
        if self.is_ended and not self.held and not self.is_closed:
            self.sink.shutdown(socket.SHUT_WR)
            self.is_closed = True


def bound(place):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(place)
    return made


def abort(end):
    """Closes one end so that the other is told of a fault, not of an end."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
