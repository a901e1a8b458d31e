"""A program in a pseudo-terminal, with the screen that a person would see: `pyte` interprets what it writes."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pyte
from wcwidth import wcwidth

# Nothing waits as long: a step that has not come by then does not come.
PATIENCE = 120


class Terminal:
    """A terminal of `columns` × `lines` on which a command runs."""

    def __init__(self, command, environment, columns=80, lines=24, piped=False):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.Stream(self.screen)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.written = b""
        self.own, other = pty.openpty()
        self._set_size(columns, lines)
        self.modes_before = self.modes()
        # With `piped` standard output is a pipe, as in `$(memdir pick)`.
        self.child = subprocess.Popen(command, env=environment, stdin=other, stderr=other,
                                      stdout=subprocess.PIPE if piped else other,
                                      start_new_session=True, preexec_fn=self._control(other))
        os.close(other)

    def modes(self):
        """Returns how the terminal takes keys: by lines and with an echo, or not."""
        return termios.tcgetattr(self.own)[:4]

    @staticmethod
    def _control(terminal):
        return lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.own, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def press(self, keys):
        os.write(self.own, keys.encode())

    def read(self, patience):
        """Takes what the program writes next; false if nothing came, or if it ended."""
        if not select.select([self.own], [], [], patience)[0]:
            return False
        try:
            data = os.read(self.own, 1 << 16)
        except OSError:  # Linux says so where the other end is closed.
            return False
        self.written += data
        self.stream.feed(self.decoder.decode(data))
        return bool(data)

    def lines(self):
        return [self._line(self.screen.buffer[line]).rstrip() for line in range(self.screen.lines)]

    def _line(self, row):
        text, is_second = "", False
        for column in range(self.screen.columns):
            cell = row[column].data
            # The second cell of a wide character is empty. One whose first cell was overwritten is a blank, as on
            # every terminal; pyte leaves it empty.
            text += "" if is_second else cell or " "
            is_second = bool(cell) and wcwidth(cell[0]) == 2
        return text

    def text(self):
        return "\n".join(self.lines()).rstrip() + "\n"

    def until(self, is_there):
        """Reads until the screen is as awaited; false if it never is."""
        end = time.monotonic() + PATIENCE
        while not is_there(self.text()):
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                return is_there(self.text())
        return True

    def end(self):
        """Returns the exit code, and what went into the pipe."""
        end = time.monotonic() + PATIENCE
        while self.read(max(0, end - time.monotonic())):
            pass
        piped = self.child.stdout.read().decode() if self.child.stdout else ""
        code = self.child.wait(timeout=PATIENCE)
        return code, piped

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.own)
