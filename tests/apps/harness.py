# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""End-to-end tests: unmodified programs under `usiw run`, and their counters.

A test starts programs (Program), waits for events (never for a time), lets the
programs end, and reads the counter pages that every usiw process leaves in the
test's directory, to check how many octets were transferred.
"""
import concurrent.futures
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import reach

BUILD = os.environ.get("USIW_BUILD_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build")
BUILD = os.path.abspath(BUILD)
USIW = os.path.join(BUILD, "bin", "usiw")
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
# What programs of user nobody use of the clone.
USED = ((BUILD, ("bin", "lib", "tests/install")),
        (os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")),
         ("tests",)))
MEMLOCK = 65536
# One factor scales all time limits, for slow or instrumented builds.
SLOW = float(os.environ.get("USIW_TEST_SLOW", "1"))
SKIP = 77
SANITIZER_SAYS = re.compile(
    r"(WARNING: ThreadSanitizer|ERROR: \w+Sanitizer|runtime error).*")
ERROR_SAYS = re.compile(r"fail|error|could ?n|unable|abort|assert", re.I)
FINDING_SAYS = re.compile(r"^usiw: check: \[\d+\] (?!note: ).*", re.M)
PERSONA = []  # arguments of `usiw run`
# Another command in its place, with options: "check --error-exitcode=99".
COMMAND = os.environ.get("USIW_TEST_COMMAND", "run").split()
IS_CHECK = COMMAND[0] == "check"
if IS_CHECK:
    COMMAND += ["--suppressions", os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "known-findings.txt")]
CASE = threading.local()  # .name: of what main() runs, for messages
PRINTING = threading.RLock()  # what one case prints stays together
ENGINES = {}  # USIW_ENGINES, of programs under usiw
# For programs whose octets have to go by TCP, whatever USIW_LOCAL the caller
# has chosen; and for those whose octets go through shared memory.
WIRE = {"USIW_LOCAL": "off"}
LOCAL = {"USIW_LOCAL": "auto"}
TICK = 0.005  # interval between two checks of a condition


class Failure(Exception):
    """The test found an error. The text describes it."""

    is_told = False


class Skip(Exception):
    """The test cannot run here. The text has the reason."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(condition, timeout, what):
    """Waits until condition() is true, and returns its value."""
    deadline = time.monotonic() + timeout * SLOW
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < deadline,
              f"{what}: not within {timeout * SLOW:.0f} s")
        time.sleep(TICK)


# ---- counters ------------------------------------------------------------

PARTS_AT = 64 + 32 * 60  # USIW_STAT_MAX entries
# Behind it the file may have records for a command that observes the process.
PAGE_MAX = 65536


def read_page(path):
    """A struct usiw_stat_page (abi/usiw-abi.h) as a dict, or None."""
    with open(path, "rb") as f:
        page = f.read(PAGE_MAX)
    if len(page) < 64:
        return None
    magic, version, _, count = struct.unpack_from("=IIII", page)
    if magic != 0x75736977:  # not filled yet
        return None
    # Version 1, of builds that are compared with this one, has no parts.
    check(version in (1, 2, 3, 4), f"{path}: counter page version {version}")
    parts = struct.unpack_from("=I", page, 16)[0] if version >= 2 else 0
    check(len(page) >= PARTS_AT + 512 * parts,
          f"{path}: counter page cut off")
    values = {}
    for i in range(count):
        name, value = struct.unpack_from("=24sQ", page, 64 + 32 * i)
        for part in range(parts):
            value += struct.unpack_from("=Q", page,
                                        PARTS_AT + 512 * part + 8 * i)[0]
        values[name.rstrip(b"\0").decode()] = value
    return values


class Counters:
    """Sums over all pages of a directory."""

    def __init__(self, directory):
        self.directory = directory

    def pages(self):
        pages = {}
        for name in os.listdir(self.directory):
            if not name.startswith("usiw."):
                continue  # SDP's, of 16 MiB each
            page = read_page(os.path.join(self.directory, name))
            if page is not None:
                pages[int(name[5:])] = page
        return pages

    def sum(self):
        total = {}
        for page in self.pages().values():
            for name, value in page.items():
                total[name] = total.get(name, 0) + value
        return total

    def of(self, pid, name):
        return self.pages().get(pid, {}).get(name, 0)


# ---- ports and addresses -------------------------------------------------

PORT_HOLDERS = []


def hold_port(port):
    """Whether no other test has taken the port.  It stays this process's: a
    program binds it only later."""
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(f"\0usiw-test-port-{port}")
    except OSError:
        holder.close()
        return False
    PORT_HOLDERS.append(holder)
    return True


# perftest compares two clocks, and gives up if it was interrupted in between;
# with -F it says so and reports zeros.
CLOCKLESS = re.compile("Can't produce a report|Correlation coefficient")
TRIES = 3


def with_clock(test, run):
    """What run() returns. It is called again if it fails and a perftest that it
    has started has given up like that."""
    for left in reversed(range(TRIES)):
        count = len(test.programs)
        try:
            return run()
        except Failure:
            if not left or not any(CLOCKLESS.search(started.text())
                                   for started in test.programs[count:]):
                raise
            for started in test.programs[count:]:
                started.stop()
    return None


def free_port():
    """A free TCP port below the range that connect() uses."""
    while True:
        port = random.randrange(10000, 30000)
        if not hold_port(port):
            continue
        try:
            for family in (socket.AF_INET, socket.AF_INET6):
                with socket.socket(family, socket.SOCK_STREAM) as s:
                    if family == socket.AF_INET6:
                        s.setsockopt(socket.IPPROTO_IPV6,
                                     socket.IPV6_V6ONLY, 1)
                    s.bind(("", port))
            return port
        except OSError as e:
            if e.errno == 97:  # no IPv6 on this machine: free for IPv4
                return port


def is_listening(port, pid="self", protocol="tcp"):
    """Whether a socket listens in the network namespace of that process; for
    udp, whether one is bound to the port."""
    state = {"tcp": "0A", "udp": "07"}[protocol]
    for table in (protocol, protocol + "6"):
        try:
            with open(f"/proc/{pid}/net/{table}") as f:
                rows = f.readlines()[1:]
        except FileNotFoundError:
            continue
        for row in rows:
            field = row.split()
            if field[3] == state and int(field[1].rsplit(":", 1)[1],
                                         16) == port:
                return True
    return False


def machine_address():
    """An IPv4 address of an interface that is up and not lo, or None."""
    links = json.loads(subprocess.run(["ip", "-j", "addr"], check=True,
                                      stdout=subprocess.PIPE).stdout)
    for link in links:
        if "LOOPBACK" in link["flags"] or "UP" not in link["flags"]:
            continue
        for info in link["addr_info"]:
            if info["family"] == "inet":
                return info["local"]
    return None


# ---- programs ------------------------------------------------------------

def stat_of(pid):
    """The fields of /proc/PID/stat, from the state on; None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def need(*names):
    """Skips the test if one of these programs is missing."""
    for name in names:
        if not shutil.which(name):
            raise Skip(f"{name} is not installed")


def need_pyverbs():
    """Skips the test if Debian's Python has no pyverbs."""
    done = subprocess.run([PYTHON, "-c", "import pyverbs.cq"],
                          capture_output=True, check=False)
    if done.returncode:
        raise Skip("python3-pyverbs is not installed")


def changes_user():
    """Whether programs run as user nobody, because root runs the tests."""
    return os.geteuid() == 0 and not os.environ.get("USIW_TEST_KEEP_USER")


def unprivileged():
    """Arguments before a command that run it as user nobody. The low limit is
    set here: programs inherit it from this process."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK, MEMLOCK))
    if not changes_user():
        return []
    return ["setpriv", f"--reuid={reach.NOBODY}", f"--regid={reach.NOBODY}",
            "--clear-groups"]


def usable(text):
    """A word of a command or of its environment, with paths of the clone as
    the program's user can reach them."""
    return reach.reachable(text, USED) if changes_user() else text


class Program:
    """One running program. All arguments before it exec, so pid is its own."""

    def __init__(self, test, name, command, env=None, usiw=True, inside=(),
                 keep_user=False, stdin=os.devnull):
        self.name = name
        self.test = test
        words = list(inside) + ([] if keep_user else unprivileged())
        self.is_checked = usiw and IS_CHECK
        if usiw:
            words += [test.usiw, *COMMAND, *PERSONA, "--"]
        self.words = [usable(str(w)) for w in [*words, *command]]
        # The caller chooses the path of connections for all tests that do not.
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("USIW_") or k == "USIW_LOCAL"}
        environment["USIW_STAT_DIR"] = test.counters.directory
        if test.sdp_after is not None:
            environment["USIW_SDP_AFTER"] = test.sdp_after
        environment.update(ENGINES)
        environment.update(env or {})
        environment = {k: usable(v) for k, v in environment.items()}
        self.output_path = os.path.join(
            test.directory, f"{len(test.programs)}-{name}.out")
        self.output = open(self.output_path, "wb")
        with open(stdin, "rb") as f:
            self.process = subprocess.Popen(
                self.words, stdin=f, stdout=self.output,
                stderr=subprocess.STDOUT, env=environment, cwd="/",
                start_new_session=True)
        self.pid = self.process.pid
        self.env = env or {}
        test.programs.append(self)

    def octets(self):
        """The output as it is: some programs print files."""
        with open(self.output_path, "rb") as f:
            return f.read()

    def text(self):
        return self.octets().decode(errors="replace")

    def told(self):
        """The last line that tells of an error, or else the last line. Standard
        error may stand before what a program printed earlier."""
        lines = [line for line in self.text().splitlines() if line.strip()]
        errors = [line for line in lines if ERROR_SAYS.search(line)]
        return ["it says nothing", *lines[-1:], *errors[-1:]][-1]

    def wait_text(self, pattern, timeout=20):
        """Waits until the output matches."""
        def look():
            match = pattern.search(self.text())
            check(match or self.process.poll() is None,
                  f"{self.name} ended without saying {pattern.pattern}")
            return match
        return wait_until(look, timeout, f"{self.name}: {pattern.pattern}")

    def wait_listening(self, port, timeout=20, protocol="tcp"):
        def look():
            check(self.process.poll() is None,
                  f"{self.name} ended with {self.process.returncode} "
                  "instead of listening")
            return is_listening(port, self.pid, protocol)
        wait_until(look, timeout, f"{self.name} to listen on {port}")

    def wait_waiting(self, timeout=20):
        """Waits until the program sleeps in four checks in a row, or has used
        20 ms of CPU time: by then it waits for a peer or polls for one."""
        sleeps, begin = 0, None

        def look():
            nonlocal sleeps, begin
            pid = self.checked_pid() if self.is_checked else self.pid
            field = stat_of(pid) if pid else None
            if not field:
                return False
            ticks = int(field[11]) + int(field[12])
            begin = ticks if begin is None else begin
            sleeps = sleeps + 1 if field[0] == "S" else 0
            return sleeps == 4 or ticks >= begin + 2
        wait_until(look, timeout, f"{self.name} to wait for a peer")

    def wait(self, timeout, codes=(0,)):
        """Waits until it ends. Its exit code must be one of codes."""
        try:
            code = self.process.wait(timeout * SLOW)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} still runs after "
                          f"{timeout * SLOW:.0f} s: {self.told()}") from None
        if codes is not None and code not in codes:
            raise Failure(f"{self.name} ended with {code}, not {codes}: "
                          f"{self.told()}")
        return code

    def signal(self, number):
        self.process.send_signal(number)

    def checked_pid(self):
        """Of the program that `usiw check` has started, and waits for; or
        None."""
        if not self.is_checked:
            return None
        path = f"/proc/{self.pid}/task/{self.pid}/children"
        try:
            with open(path, encoding="utf-8") as f:
                return next(map(int, f.read().split()), None)
        except (FileNotFoundError, ProcessLookupError):
            return None

    def stop_checked(self):
        """`usiw check` ends after the program, and has told all by then."""
        if pid := self.checked_pid():
            try:
                os.kill(pid, signal.SIGKILL)
                self.process.wait(20 * SLOW)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def stop(self):
        """Kills the program with its children, in any state."""
        self.stop_checked()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.output.close()

    def report(self):
        setting = "".join(f"{k}={shlex.quote(v)} " for k, v in
                          self.env.items())
        print(f"--- {self.name}: {setting}{shlex.join(self.words)}")
        print(f"--- exit code {self.process.returncode}, output:")
        text = self.text()
        if "\ufffd" in text:
            print("(no text)")
        elif at := self.sanitizer_says():
            print(text[at.start():][:6000])
        else:
            print(text[-(6000 if self.process.returncode else 1000):])

    def sanitizer_says(self):
        """Or `usiw check`, if the test runs with it."""
        text = self.text()
        return SANITIZER_SAYS.search(text) or (
            self.is_checked and FINDING_SAYS.search(text))


class Test:
    """Scratch directory, counters and programs of one case."""

    usiw = USIW
    # Most tests of SDP are of what begins with the first octet. None: the
    # default of the library.
    sdp_after = "0"

    def __init__(self, name):
        self.name = name
        self.programs = []
        self.directory = None
        self.counters = None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(
            prefix="usiw-apps.",
            dir=reach.scratch() if changes_user() else None)
        os.chmod(self.directory, 0o755)
        stat_directory = os.path.join(self.directory, "stat")
        os.mkdir(stat_directory)
        os.chmod(stat_directory, 0o1777)
        self.counters = Counters(stat_directory)
        self.started = time.monotonic()
        return self

    def __exit__(self, kind, value, trace):
        states = [p.process.poll() for p in self.programs]
        for program in self.programs:
            program.stop()
        try:
            if not kind:
                self.check_outputs()
        except Failure as e:
            kind, value = Failure, e
            raise
        finally:
            with PRINTING:
                self.conclude(kind, value, states)

    def check_outputs(self):
        """Errors reported by sanitizers, and findings of `usiw check`, count,
        however a program ended."""
        for program in self.programs:
            if found := program.sanitizer_says():
                raise Failure(f"{program.name}: {found.group(0)}")

    def conclude(self, kind, value, states):
        if kind and kind is not Skip:
            # What main() takes to run it alone, then what it is.
            words = [getattr(CASE, "name", ""), *PERSONA, f"({self.name})"]
            where = " ".join(filter(None, words))
            print(f"FAILED {where} after "
                  f"{time.monotonic() - self.started:.1f} s: "
                  f"{value or kind.__name__}")
            value.is_told = True
            # Those with a sanitizer's report first.
            for program, state in sorted(
                    zip(self.programs, states),
                    key=lambda item: not item[0].sanitizer_says()):
                if state is None:
                    print(f"--- {program.name} was still running")
                program.report()
            moved = {k: v for k, v in self.counters.sum().items() if v}
            print(f"--- counters: {moved}")
        elif not kind:
            print(f"ok {self.name} "
                  f"({time.monotonic() - self.started:.1f} s)")
        sys.stdout.flush()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, name, command, **kwargs):
        return Program(self, name, command, **kwargs)

    def demand_payload(self, before, octets):
        """Checks that at least that many payload octets were sent since
        `before`."""
        moved = (self.counters.sum().get("tx_payload", 0) -
                 before.get("tx_payload", 0))
        check(octets > 0, "the case demands no payload: it proves nothing")
        check(moved >= octets,
              f"{moved} payload octets by usiw's counters, the programs "
              f"moved {octets}: they went another way")

    def demand_path(self):
        """Checks that connections which have moved much took the path that the
        caller has chosen for programs that do not choose one themselves."""
        path = os.environ.get("USIW_LOCAL")
        octets = self.counters.sum().get("local_tx_octets", 0)
        check(octets > 0 or path != "auto", "nothing was local")
        check(octets == 0 or path != "off", f"{octets} octets were local")


def check_environment():
    """Check that the products exist, and that the tests can change users."""
    if not os.access(USIW, os.X_OK):
        raise Failure(f"{USIW} is not built")
    if changes_user():
        need("setpriv")
        usable("")  # copies, if it has to, before cases run at once


INSIDE = "USIW_TEST_INSIDE_NETNS"


def confine(script, *programs, is_root=True):
    """Runs the script again in a separate network namespace, where it is root,
    or another user with its capabilities: tcpdump as root changes to a user
    that does not exist there. Skips it if a program is missing."""
    if INSIDE in os.environ:
        return
    words = ["unshare", "-Unm", "--map-user=1000", "--map-group=1000",
             "--keep-caps"]
    if is_root:
        words = ["unshare", "-Urnm"]
    try:
        need("unshare", "nsenter", "ip", *programs)
        probe = subprocess.run([*words, "true"], stderr=subprocess.PIPE,
                               text=True)
        if probe.returncode:
            raise Skip(f"user namespaces are forbidden: "
                       f"{probe.stderr.strip()}")
    except Skip as e:
        print(f"skipped: {e}")
        sys.exit(SKIP)
    os.environ[INSIDE] = "1"
    # Inside, there is no other user to change to.
    os.environ["USIW_TEST_KEEP_USER"] = "1"
    os.execvp("unshare", [*words, sys.executable, "-B",
                          os.path.abspath(script), *sys.argv[1:]])


def run_case(name, function):
    """Return: passed, failed or skipped."""
    CASE.name = name
    try:
        function()
        verdict = "passed"
    except Skip as e:
        verdict = "skipped"
        print(f"skipped {name}: {e}")
    except (Failure, OSError) as e:
        verdict = "failed"
        if not getattr(e, "is_told", False):
            print(f"FAILED {name}: {e}")
    sys.stdout.flush()
    return verdict


def main(cases, at_once=1):
    """Runs [(name, function)] one after the other, or so many at once, which is
    for cases that wait most of the time. Return: exit code for ctest."""
    wanted = sys.argv[1:]
    try:
        check_environment()
    except Failure as e:
        print(f"FAILED: {e}")
        sys.exit(1)
    cases = [(name, function) for name, function in cases
             if not wanted or name in wanted]
    if at_once > 1:
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            verdicts = list(pool.map(lambda case: run_case(*case), cases))
    else:  # in the main thread, which alone may handle signals
        verdicts = [run_case(*case) for case in cases]
    failed = [name for (name, _), verdict in zip(cases, verdicts)
              if verdict == "failed"]
    skipped = verdicts.count("skipped")
    print(f"{len(cases)} cases, {len(failed)} failed, {skipped} skipped"
          + (": " + " ".join(failed) if failed else ""))
    if failed or not cases:
        sys.exit(1)
    sys.exit(SKIP if skipped == len(cases) else 0)
