# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A terminal for tests of programs that use the whole screen: a pty, and a type
of terminal with few capabilities, so that a few lines can follow what the
program draws."""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

TYPE = r"""usiw-test|terminal of usiw's tests,
	am, cols#80, lines#24,
	clear=\E[H\E[2J, cup=\E[%i%p1%d;%p2%dH, el=\E[K, ed=\E[J,
	cr=\r, ind=\n, bel=^G, smso=\E[7m, rmso=\E[27m, rev=\E[7m, sgr0=\E[0m,
	kcuu1=\E[A, kcud1=\E[B, kcuf1=\E[C, kcub1=\E[D,
	kpp=\E[5~, knp=\E[6~, khome=\E[1~, kend=\E[4~, kbs=\177,
"""
UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
PAGE_UP, PAGE_DOWN, HOME, END = "\x1b[5~", "\x1b[6~", "\x1b[1~", "\x1b[4~"
ENTER, ESC, BACKSPACE = "\r", "\x1b", "\x7f"
LIMIT = 60
TICK = 0.02


class Screen:
    """What is on it. Fails on a sequence that the type does not have."""

    def __init__(self, lines, columns):
        self.resize(lines, columns)
        self.pending = ""

    def resize(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.y = self.x = 0

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            end = at + 2
            while end < len(text) and not text[end].isalpha():
                end += 1
            if end >= len(text):
                self.pending = text[at:]
                return
            self.sequence(text[at + 1:end + 1])
            at = end + 1

    def put(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.y = min(self.y + 1, self.lines - 1)
        elif char == "\b":
            self.x = max(self.x - 1, 0)
        elif char != "\a":
            self.cells[self.y][self.x] = char
            self.x += 1
            if self.x == self.columns:
                self.x, self.y = 0, min(self.y + 1, self.lines - 1)

    def sequence(self, text):
        kind, arguments = text[-1], text[1:-1]
        if text[0] != "[":
            raise AssertionError(f"ESC {text!r}")
        if kind == "H":
            y, x = (arguments or "1;1").split(";")
            self.y = min(int(y), self.lines) - 1
            self.x = min(int(x), self.columns) - 1
        elif kind == "K":
            self.blank(self.y, self.x)
        elif kind == "J":
            if arguments == "2":
                self.y = self.x = 0
            self.blank(self.y, self.x)
            for y in range(self.y + 1, self.lines):
                self.blank(y, 0)
        elif kind != "m":
            raise AssertionError(f"ESC {text!r}")

    def blank(self, y, x):
        self.cells[y][x:] = [" "] * (self.columns - x)

    def text(self):
        return ["".join(line).rstrip() for line in self.cells]


class Terminal:
    def __init__(self, command, lines=24, columns=80, env=None):
        self.directory = tempfile.TemporaryDirectory(prefix="usiw-terminal.")
        source = os.path.join(self.directory.name, "source")
        with open(source, "w") as out:
            out.write(TYPE)
        subprocess.run(["tic", "-x", "-o", self.directory.name, source],
                       check=True)
        self.screen = Screen(lines, columns)
        self.fd, child = pty.openpty()
        self.set_size(child, lines, columns)
        environment = dict(os.environ if env is None else env,
                           TERM="usiw-test", TERMINFO=self.directory.name)
        for name in ("LINES", "COLUMNS"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child,
            env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(child)
        self.output = ""

    @staticmethod
    def set_size(fd, lines, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        self.screen.resize(lines, columns)
        self.set_size(self.fd, lines, columns)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Takes what the program has written. False: it has closed it."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        text = data.decode(errors="replace")
        self.output += text
        self.screen.feed(text)
        return bool(data)

    def wait(self, condition, what):
        """Until condition(lines of the screen) holds."""
        deadline = time.monotonic() + LIMIT
        while True:
            value = condition(self.screen.text())
            if value:
                return value
            if time.monotonic() > deadline or not self.read(TICK):
                shown = "\n".join(self.screen.text())
                raise AssertionError(f"not seen: {what}\n{shown}")

    def wait_text(self, text):
        return self.wait(lambda lines: any(text in line for line in lines),
                         text)

    def end(self, sig=None):
        """Return: the exit code."""
        if sig:
            self.process.send_signal(sig)
        deadline = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(TICK)
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            raise AssertionError("it does not end")
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self.directory.cleanup()
