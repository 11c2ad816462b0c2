"""A program in a pseudo terminal: starts it, presses keys, and says when the screen was painted.

A frame is complete when the program has stopped writing for a moment; the time of a frame is that of its last byte. The
pause itself is not part of the time.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

# How long nothing must come for a frame to be complete, in seconds.
QUIET = 0.12
# How long to wait for a program that does not answer.
PATIENCE = 30


class Terminal:
    def __init__(self, command, columns=120, rows=40):
        environment = {name: os.environ[name] for name in ("HOME", "PATH", "LANG", "TZ", "UNSPOOL_NOW") if name in os.environ}
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.raw = b""

    def press(self, keys):
        """Presses keys; returns the seconds to the first and to the last byte of what is painted after that."""
        start = time.perf_counter()
        os.write(self.fd, keys.encode())
        return self.painted(start)

    def painted(self, start):
        first = last = None
        while True:
            patience = QUIET if first else PATIENCE
            if not select.select([self.fd], [], [], patience)[0]:
                break
            try:
                piece = os.read(self.fd, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            self.raw += piece
            if b"\x1b[6n" in piece:
                # The program asks where the cursor is.
                os.write(self.fd, b"\x1b[1;1R")
            last = time.perf_counter()
            first = first or last
        if first is None:
            raise SystemExit("the program paints nothing")
        return first - start, last - start

    def memory_mb(self):
        """Private memory. Pages of the index are not counted, because the system shares and reclaims them."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon:"))

    def end(self):
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        deadline = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.01)
        os.close(self.fd)
