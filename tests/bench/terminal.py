"""Runs a program in a pseudo terminal, presses keys, and measures when the screen was painted.

A frame is complete when the program has written nothing for a moment. The time of a frame is that of its last byte,
without the pause.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

# Seconds without output after which a frame is complete.
QUIET = 0.12
# Seconds to wait for a program that does not respond.
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
        """Presses keys and returns the seconds until the first and the last byte of the output that follows."""
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
                # The program asks for the cursor position.
                os.write(self.fd, b"\x1b[1;1R")
            last = time.perf_counter()
            first = first or last
        if first is None:
            raise SystemExit("the program paints nothing")
        return first - start, last - start

    def memory_mb(self):
        """Returns the private memory. Excludes pages of the index, because the system shares and reclaims them."""
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
