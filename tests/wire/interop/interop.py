#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw against the Linux kernel's siw and rdma_rxe, in a QEMU guest.

    interop.py [-l] [-k] [-r TIMES] [--quick] [PATTERN]...

Runs the cases of cases.py and roce_cases.py with a name that matches a PATTERN (a regular
expression; all cases without one; --quick: a few). -l lists them, -r repeats
each, -k keeps captures and logs and prints their place. Exit code 77: it
cannot run here, the reason is printed.

It needs QEMU, the guest's image, user namespaces, /dev/net/tun, tcpdump,
strace, and rping, ucmatose and perftest on the host. tests/kernel-lab/build
makes the image, if there is none; it needs root and a Debian mirror.
Everything runs in separate namespaces, with 2 CPUs and 4 GiB for one guest at
a time.
"""
import argparse
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
import guest as kernel_lab
import roce
import rping
import siwfault
import wire
from guest import Guest, InteropTest, harness
from harness import Failure, Skip, check, wait_until
from sniffer import GuestSniffer, HostSniffer

INSIDE = "USIW_INTEROP_INSIDE"
IMAGE = os.path.join(os.environ.get("KERNEL_LAB_DIR", "/var/tmp/kernel-lab"),
                     os.environ.get("KERNEL_LAB_SUITE", "bookworm"))
VERIFY = os.path.join(harness.BUILD, "bin", "interop-verify")
PROGRAMS = ("rping", "ucmatose", *cases.PERFTESTS, *roce.PROGRAMS)


# ---- requirements ----------------------------------------------------

def prepare():
    """Image and tools, or the reason why not."""
    harness.need("qemu-system-x86_64", "unshare", "ip", "tcpdump", "strace",
                 *PROGRAMS)
    for product in (harness.USIW, VERIFY):
        if not os.access(product, os.X_OK):
            raise Failure(f"{product} is not built")
    probe = subprocess.run(["unshare", "-Urnm", "true"],
                           stderr=subprocess.PIPE, text=True)
    if probe.returncode:
        raise Skip(f"user namespaces are forbidden: {probe.stderr.strip()}")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Skip("/dev/net/tun is missing or not for this user")
    has_image = os.path.exists(os.path.join(IMAGE, "stamp"))
    if os.geteuid() != 0 and not has_image:
        raise Skip(f"no guest image in {IMAGE}: as root, run "
                   "tests/kernel-lab/build")
    if os.geteuid() == 0:
        if not has_image:
            harness.need("mmdebstrap", "mke2fs", "cpio", "depmod")
        build = subprocess.run(["nice", "-n", "10", os.path.join(
            kernel_lab.LAB, "build")])
        if build.returncode:
            raise Skip("the guest image cannot be built (it needs a Debian "
                       "mirror); see above")
    if not os.access(IMAGE, os.W_OK):  # `run` records there whether KVM works
        os.environ.setdefault("KERNEL_LAB_ACCEL", "tcg")


def enter():
    """Starts again, in namespaces where all ports and interfaces belong to the
    suite, and where no process remains after it."""
    os.environ[INSIDE] = "1"
    os.environ["USIW_TEST_KEEP_USER"] = "1"  # there is no other user inside
    os.execvp("unshare", ["unshare", "-Urnmpf", "--kill-child", "--mount-proc",
                          sys.executable, "-B", os.path.abspath(__file__),
                          *sys.argv[1:]])


def make_network():
    for words in (["link", "set", "lo", "up"],
                  ["tuntap", "add", "tap0", "mode", "tap"],
                  ["addr", "add", "10.9.0.1/24", "dev", "tap0"],
                  ["link", "set", "tap0", "up"]):
        done = subprocess.run(["ip", *words], stderr=subprocess.PIPE,
                              text=True)
        if done.returncode:
            raise Skip(f"ip {' '.join(words)}: {done.stderr.strip()}")


# ---- one case ------------------------------------------------------------------------

def words_of(command, port, address, where):
    """The program's arguments on that machine."""
    programs = os.path.join(harness.BUILD, "bin") if where == "host" \
        else "/host/bin"
    names = {"PORT": str(port), "ADDRESS": address,
             "VERIFY": os.path.join(programs, "interop-verify"),
             "SDP_LINKS": os.path.join(programs, "sdp-link-cases")}
    return [names.get(w, str(w)) for w in command]


class Again(Skip):
    """Neither side is the cause; the case is repeated."""


class Pair:
    """Server and client of a case, each on its machine and its stack."""

    def __init__(self, test, guest, case):
        self.test, self.guest, self.case = test, guest, case
        self.port = guest.next_port()
        if case.net != "guest" and case.usiw == "server":
            self.port += kernel_lab.HOST_SHIFT

    def address(self):
        if self.case.net == "guest":
            return self.guest.own_address
        if self.case.usiw == "server":
            return self.guest.host_address
        return "127.0.0.1" if self.guest.kind == "user" \
            else self.guest.own_address

    def inside(self, role):
        """QEMU's network listens for the guest with a backlog of 1. It drops
        simultaneous handshakes, and connects that wait for their Reply time
        out. perftest's server closes its listener before the second connection
        and opens another, and our client may connect before that. If a
        connection is refused, usiw tries again; QEMU's network accepts it and
        resets it."""
        delay = 400_000 if self.case.table else self.case.pace
        if delay and role == "client" and self.guest.kind == "user":
            return ("strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null",
                    "-e", "trace=connect",
                    "-e", f"inject=connect:delay_enter={delay}")
        return ()

    def start(self, role):
        case = self.case
        is_usiw = role == case.usiw
        where = "host" if is_usiw and case.net != "guest" else "guest"
        words = words_of(getattr(case, role), self.port, self.address(),
                         where)
        name = f"{role} on {'usiw' if is_usiw else 'siw'}"
        env = {"USIW_LOG": "info", **case.env} if is_usiw else None
        if where == "host":
            return self.test.start(name, words, env=env,
                                   inside=self.inside(role))
        program = self.guest.start(name, words, env=env, usiw=is_usiw)
        self.test.others.append(program)
        return program

    def run(self):
        server = self.start("server")
        server.wait_listening(self.port, 30 * cases.LIMIT)
        client = self.start("client")
        if self.case.table:
            self.wait_perftest(server, client)
            return server, client
        if self.case.client[0] == "rping":
            rping.wait_client(client, self.case.timeout)
        else:
            client.wait(self.case.timeout, codes=self.case.codes)
        if self.case.server_codes == "killed":
            server.stop()
        else:
            server.wait(20 * cases.LIMIT, codes=self.case.server_codes)
        return server, client

    def wait_perftest(self, server, client):
        code = client.wait(self.case.timeout, codes=None)
        if code == -signal.SIGSEGV:
            raise Again("perftest's client died of SIGSEGV, as it does now "
                        "and then when it is not let in")
        self.check_perftest("client", client, code)
        self.check_perftest("server", server, server.wait(
            20 * cases.LIMIT, codes=None))

    def check_perftest(self, role, program, code):
        """siw completes its last SEND with an error if the other program,
        which has received it, disconnects meanwhile."""
        is_forgiven = role != self.case.usiw and \
            "Failed to close connection" in program.text()
        check(code == 0 or is_forgiven, f"{program.name} ended with {code}")


def check_starts(case, starts):
    """The start frames in the capture are those that the settings demand."""
    frames = wait_until(starts, 20, "start frames in the capture")
    told = "; ".join(map(str, frames[:6]))
    # The capture may lag behind the programs.
    if case.starts:
        wait_until(lambda: case.starts(starts()), 12,
                   f"not the start frames that should be: {told}")
        return
    request, reply = case.expected()
    wait_until(lambda: any(f.is_reply for f in starts()), 12,
               f"no Reply: {told}")
    for frame in starts():
        for name, value in (reply if frame.is_reply else request).items():
            check(getattr(frame, name) == value,
                  f"{name} is {getattr(frame, name)} in: {frame}")


def keep_capture(path):
    directory = tempfile.mkdtemp(prefix="usiw-interop-failed.")
    shutil.copy(path, directory)
    print(f"--- its capture is kept in {directory}")


def run_pair(test, guest, pair):
    """Runs the programs. QEMU's own TCP cuts the stream at any place, also
    where siw fails then. A case that ended by a bug of siw is repeated, but
    only if capture and kernel log prove it (siwfault.py)."""
    case = pair.case
    if case.net == "guest":
        return pair.run()
    path = os.path.join(test.directory, "all.pcap")
    sniffer = HostSniffer("lo" if case.net == "user" else "tap0", path,
                          f"tcp port {pair.port}")
    try:
        return pair.run()
    except Failure:
        sniffer.stop()
        story = siwfault.explain_capture(path, case.usiw == "client",
                                         guest.kernel_log())
        if story:
            raise Again(f"siw's fault: {story}") from None
        keep_capture(path)
        raise
    finally:
        sniffer.stop()


def crossed(counters):
    return sum(counters.get(n, 0)
               for n in ("tx_payload", "rx_direct", "rx_staged"))


def run_case(guest, sniffers, case):
    for _ in range(4):
        try:
            return run_case_once(guest, sniffers, case)
        except Again as e:
            print(f"again {case.name}: {e}")
            case.repeats += 1
    raise Failure("four times in vain")


def run_case_once(guest, sniffers, case):
    guest.set_siw(case.siw)
    guest.clear_kernel_log()
    sniffer = sniffers[case.net]
    with InteropTest(case.name, guest) as test:
        before = crossed(test.counters.sum())
        pair = Pair(test, guest, case)
        # The capture continues, and ports are used again.
        old = len(wire.starts(sniffer.read(), pair.port))
        server, client = run_pair(test, guest, pair)
        if case.table:
            program, size, count = case.table
            # With the clock of an emulated CPU the other values are sometimes
            # "inf".
            rows = [(int(a), int(b)) for a, b in re.findall(
                r"^ *(\d+) +(\d+) +[0-9i]", client.text(), re.M)]
            check(rows == [(size, count)], f"{program}'s table: {rows}")
        if case.net != "guest":
            moved = crossed(test.counters.sum()) - before
            check(moved >= case.moved, f"{moved} payload octets crossed "
                  f"usiw, {case.moved} should have")
        check_starts(case, lambda: wire.starts(sniffer.read(),
                                               pair.port)[old:])
        if case.log:
            text = (client if case.usiw == "client" else server).text()
            check(re.search(case.log, text), f"usiw does not log {case.log}")


# ---- all of them ----------------------------------------------------------------------

class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []

    def run(self, name, function):
        try:
            function()
        except Skip as e:
            print(f"skipped {name}: {e}")
            self.skipped.append(name)
        except (Failure, OSError) as e:
            if not getattr(e, "is_told", False):
                print(f"FAILED {name}: {e}")
            self.failed.append(name)
        else:
            self.passed.append(name)
        sys.stdout.flush()

    def conclude(self, wanted, repeats, seconds):
        """Prints the summary. Returns the exit code."""
        for name in self.failed:
            print(f"failed: {name}")
        left = wanted - len(self.passed) - len(self.failed) - \
            len(self.skipped)
        print(f"{seconds:.0f} s; {wanted} cases: {len(self.passed)} passed, "
              f"{len(self.failed)} failed, {len(self.skipped)} skipped" +
              (f", {repeats} repeats for a reason above" if repeats else "") +
              (f", {left} did not run" if left else ""))
        if self.failed or left:
            return 1
        return 0 if self.passed else harness.SKIP


def check_usiw_in_guest(guest):
    """The guest cannot run programs that a host of another Debian makes."""
    answer = guest.ask("run", argv=["/host/bin/usiw", "--version"],
                       env=kernel_lab.LIBRARIES)
    if answer["code"] != 0:
        raise Skip("what this host builds does not run in the guest: " +
                   answer["text"].strip())


class Boots:
    """A guest and its sniffers, started anew if its siw cannot recover."""

    LIMIT = 6

    def __init__(self, kind, directory, keep):
        self.kind, self.directory, self.keep = kind, directory, keep
        self.guest, self.sniffers, self.count = None, {}, 0

    def ready(self):
        if self.guest and self.guest.is_spoiled:
            print("the guest has to go: its siw does not recover")
            self.stop()
        if not self.guest:
            check(self.count < self.LIMIT, "enough guests were spoiled")
            self.count += 1
            self.boot(os.path.join(self.directory, str(self.count)))
        return self.guest, self.sniffers

    def boot(self, directory):
        begin = time.monotonic()
        os.makedirs(directory)
        guest = Guest(self.kind, directory)
        try:
            guest.__enter__()
        except BaseException:
            guest.__exit__()
            raise
        self.guest = guest
        if self.kind == "roce":
            roce.prepare_guest(guest)
        print(f"guest ({self.kind}) is up after "
              f"{time.monotonic() - begin:.0f} s")
        sys.stdout.flush()
        if self.kind == "roce":
            return  # each case has a capture of its own
        device = "lo" if self.kind == "user" else "tap0"
        self.sniffers[self.kind] = HostSniffer(
            device, os.path.join(directory, "starts.pcap"))
        if self.keep:
            self.sniffers["all"] = HostSniffer(
                device, os.path.join(directory, "all.pcap"), "tcp")
        if self.kind == "user":
            self.sniffers["guest"] = GuestSniffer(guest, "/tmp/starts.pcap")
            if self.keep:
                self.sniffers["guest-all"] = GuestSniffer(
                    guest, "/host/guest.pcap", "tcp")

    def stop(self):
        for sniffer in self.sniffers.values():
            try:
                sniffer.stop()
            except Failure as e:
                print(e)
        if self.guest:
            self.guest.__exit__()
        self.guest, self.sniffers = None, {}


def run_guest(kind, wanted, tally, directory, keep):
    """Runs all cases of one network. Cases with the same siw come after each
    other."""
    nets = ("user", "guest") if kind == "user" else (kind,)
    mine = [c for c in wanted if c.net in nets]
    # The plain module comes first; sort() keeps the order of the table.
    mine.sort(key=lambda c: sorted(c.siw.items()))
    boots = Boots(kind, directory, keep)
    try:
        for case in mine:
            run = {"guest": run_in_guest, "roce": run_roce}.get(
                case.net, run_case)
            tally.run(case.name, functools.partial(run, *boots.ready(), case))
    finally:
        boots.stop()


def run_in_guest(guest, sniffers, case):
    check_usiw_in_guest(guest)
    if isinstance(case, cases.Script):
        run_script(guest, case)
    else:
        run_case(guest, sniffers, case)


def run_roce(guest, _, case):
    harness.PERSONA[:] = ["--persona", "ca"]  # an iWARP device has no datagrams
    try:
        roce.run_case(guest, case)
    finally:
        harness.PERSONA.clear()


def run_script(guest, case):
    guest.set_siw(case.siw)
    words = words_of(case.command, guest.next_port(), guest.own_address,
                     "guest")
    start = time.monotonic()
    answer = guest.ask("run", argv=words, timeout=case.timeout,
                       env=kernel_lab.LIBRARIES)
    check(answer["code"] == 0, f"{case.name}: {answer['text']}")
    print(f"ok {case.name} ({time.monotonic() - start:.1f} s)", flush=True)


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, usage=argparse.SUPPRESS,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-l", dest="list", action="store_true",
                        help="list the cases")
    parser.add_argument("-k", dest="keep", action="store_true",
                        help="keep captures and logs")
    parser.add_argument("-r", dest="times", type=int, default=1,
                        metavar="TIMES", help="run each case so often")
    parser.add_argument("--quick", action="store_true", help="a few cases")
    parser.add_argument("pattern", nargs="*", metavar="PATTERN",
                        help="a regular expression")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    patterns = arguments.pattern + (cases.QUICK if arguments.quick else [])
    wanted = [c for c in cases.table() + roce.table() if not patterns or
              any(re.search(p, c.name) for p in patterns)]
    if arguments.list:
        print("\n".join(c.name for c in wanted))
        return 0
    if not wanted:
        print(f"FAILED: no case's name has {' or '.join(patterns)} in it")
        return 1
    wanted *= arguments.times
    try:
        if INSIDE not in os.environ:
            prepare()
            enter()
        make_network()
        roce.prepare_host()
    except Skip as e:
        print(f"skipped: {e}")
        return harness.SKIP
    except Failure as e:
        print(f"FAILED: {e}")
        return 1
    tally = Tally()
    begin = time.monotonic()
    directory = tempfile.mkdtemp(prefix="usiw-interop.")
    for kind in ("user", "tap", "roce"):
        try:
            run_guest(kind, wanted, tally, os.path.join(directory, kind),
                      arguments.keep)
        except (Failure, OSError) as e:
            print(f"FAILED guest ({kind}), and what was to run in it: {e}")
    if arguments.keep:
        print(f"kept: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return tally.conclude(len(wanted), sum(c.repeats for c in set(wanted)),
                          time.monotonic() - begin)


sys.exit(main())
