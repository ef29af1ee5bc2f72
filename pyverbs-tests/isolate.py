# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs tests of unittest, each in its own process with a watchdog.

The parent loads the modules once and never uses a device. Each test is a
forked child, so a crash, a hang or a leaked object ends with its test.
"""
import contextlib
import ctypes
import fcntl
import gc
import json
import os
import pickle
import select
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
import unittest


CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def bring_up_loopback():
    """In this process: ip(8), started by a user other than root, would lose
    the capabilities that the process has in its own user namespace."""
    request = struct.pack("16sH22x", b"lo", IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, request)


def enter_namespace():
    """A network namespace for this process with only lo, so that tests that
    use the same port can run in parallel."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if uid:
        maps = (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"),
                ("gid_map", f"{gid} {gid} 1"))
        for name, text in maps:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
    bring_up_loopback()


def has_namespaces():
    """Whether a process may have its own network namespace here."""
    pid = os.fork()
    if pid == 0:
        try:
            enter_namespace()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


class Outcome:
    """The result of a test: a verdict, and the reason."""

    def __init__(self, verdict, text="", errno=None, frames=()):
        self.verdict = verdict  # pass, skip, fail, error, hang, crash
        self.text = text
        self.errno = errno  # of the exception, if it has one
        self.frames = frames  # names of the functions in its trace
        self.output = ""
        self.findings = []  # of `usiw check`: (rule, is it a note?, text)
        self.seconds = 0.0


class Watcher(unittest.TestResult):
    """Keeps the worst result of the one test that is run."""

    def __init__(self):
        super().__init__()
        self.outcome = None

    def addSuccess(self, test):
        self.outcome = self.outcome or Outcome("pass")

    def addSkip(self, test, reason):
        self.outcome = self.outcome or Outcome("skip", reason)

    def take(self, verdict, err):
        kind, value, trace = err
        if self.outcome and self.outcome.verdict in ("fail", "error"):
            return
        text = "".join(traceback.format_exception(kind, value, trace))
        frames = [f.name for f in traceback.extract_tb(trace)]
        self.outcome = Outcome(verdict, text,
                               getattr(value, "error_code", None), frames)

    def addError(self, test, err):
        self.take("error", err)

    def addFailure(self, test, err):
        self.take("fail", err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.take("fail", err)

    def addExpectedFailure(self, test, err):
        self.take("error", err)

    def addUnexpectedSuccess(self, test):
        self.outcome = Outcome("fail", "unexpected success")


def tests_in(suite):
    """The test cases of a suite as a flat list."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_in(entry)
        else:
            yield entry


def found_in(text):
    """The findings in what a checked process has written. Lines without a rule
    are counts of those before."""
    lines = map(json.loads, text.splitlines())
    return [(one["rule"], one["level"] == "note", one["what"])
            for one in lines if "rule" in one]


def end():
    """Ends the process like a program in C, with what libraries do at its end.
    The end of Python would touch, and so copy, all that the parent has
    loaded."""
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.PyDLL(None).exit(0)


class Child:
    """A test that runs in its process. is_checked: by the rules of `usiw
    check`."""

    def __init__(self, test, limit, is_checked=False):
        self.test = test
        self.begin = time.monotonic()
        self.deadline = self.begin + limit
        self.log = tempfile.TemporaryFile()
        self.findings = tempfile.NamedTemporaryFile() if is_checked else None
        self.answer, writer = os.pipe()
        self.pid = os.fork()
        self.is_child = self.pid == 0
        if self.is_child:
            os.close(self.answer)
            self.answer = writer
        else:
            os.close(writer)

    def work(self, is_alone):
        """In the child: runs the test, reports the result, and ends."""
        os.setsid()
        if is_alone:
            enter_namespace()
        for fd in (1, 2):
            os.dup2(self.log.fileno(), fd)
        if self.findings:
            # As tools/cmd-check.c names it to a process.
            os.environ["USIW_CHECK"] = self.findings.name
        watcher = Watcher()
        unittest.TestSuite([self.test]).run(watcher)
        outcome = watcher.outcome or Outcome("error", "no result")
        with os.fdopen(self.answer, "wb") as pipe:
            pickle.dump(outcome, pipe)
        end()

    def kill(self):
        """Also kills what the test has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def collect(self, is_late):
        """The result after the child has ended, or was too late."""
        outcome = None
        if is_late:
            outcome = Outcome("hang", "killed after "
                              f"{time.monotonic() - self.begin:.0f} s")
            self.kill()
        status = os.waitpid(self.pid, 0)[1]
        # Processes that it left in its session must end too.
        self.kill()
        os.set_blocking(self.answer, False)
        with os.fdopen(self.answer, "rb") as pipe:
            said = pipe.read()
        if outcome is None and status != 0:
            outcome = Outcome("crash", f"wait status {status:#x}")
        if outcome is None:
            outcome = pickle.loads(said) if said else \
                Outcome("crash", "ended without a word")
        self.log.seek(0)
        outcome.output = self.log.read().decode(errors="replace")
        self.log.close()
        if self.findings:
            outcome.findings = found_in(self.findings.read().decode())
            self.findings.close()
        outcome.seconds = time.monotonic() - self.begin
        return outcome


def run(tests, jobs, limit, tell, is_checked=False):
    """Runs each test in a child, `jobs` at a time, each for at most `limit`
    seconds. Calls tell(test, outcome) when one ends. Without network
    namespaces tests share ports, so they run one after the other, also beside
    other calls of this function."""
    # A child's garbage collector would visit, and so copy, all that the parent
    # has loaded.
    gc.freeze()
    is_alone = has_namespaces()
    if is_alone:
        run_beside(tests, jobs, limit, tell, is_alone, is_checked)
        return
    print("no network namespaces here: one test at a time")
    for test in tests:
        # A lock needs a file that exists for every user.
        with open(__file__, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run_beside([test], 1, limit, tell, is_alone, is_checked)


def run_beside(tests, jobs, limit, tell, is_alone, is_checked):
    """The same, `jobs` at a time whatever they share."""
    waiting = list(tests)
    running = []
    while waiting or running:
        while waiting and len(running) < jobs:
            child = Child(waiting.pop(0), limit, is_checked)
            if child.is_child:
                child.work(is_alone)
            running.append((child, os.pidfd_open(child.pid)))
        first = min(child.deadline for child, _ in running)
        ready = select.select([fd for _, fd in running], [], [],
                              max(0.0, first - time.monotonic()))[0]
        now = time.monotonic()
        going = []
        for child, fd in running:
            if fd not in ready and now < child.deadline:
                going.append((child, fd))
                continue
            os.close(fd)
            tell(child.test, child.collect(fd not in ready))
        running = going
