#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""An interface is deleted or set down, or loses its address, for good.  What
is connected by rdma_cm ends on both sides.

The script runs itself inside `unshare -Urnm`, with its own interfaces.
"""
import re
import signal
import subprocess

import harness
from harness import Failure, Test, check, wait_until
from netns import ADDRESS, Net

RETRY_MS = "2000"
# Far more than the 5 s after which an address counts as gone.
LIMIT = 60
REMOVED = "cma detected device removal"


def ip(*words):
    done = subprocess.run(["ip", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"ip {' '.join(words)}: {done.stdout}")


def moved(test, octets):
    wait_until(lambda: test.counters.sum()["tx_payload"] > octets, LIMIT,
               "the connection to be in use")


def probes_window(pid):
    """Whether a TCP socket in the process's namespace waits for its peer's
    closed window (timer 4)."""
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
        return any(line.split()[5].startswith("04:") for line in f)


def close_window(sender, receiver):
    """The receiver reads nothing any more, until the sender's TCP may send
    nothing."""
    receiver.signal(signal.SIGSTOP)
    wait_until(lambda: probes_window(sender.pid), LIMIT,
               "the receiver's window to close")


def ends(*change, is_closed=False):
    """The receiver's address goes; the sender is on another host.  Its window
    may be closed at that moment."""
    net = Net(1500)
    try:
        with Test(" ".join([*change, *["closed"] * is_closed])) as test:
            port = harness.free_port()
            # Writes need no word of the receiver. ib_send_bw waits for
            # credits, with all octets acknowledged: such a sender does not
            # notice that its peer is gone. And the receiver would end
            # because its credits stay without an answer.
            common = ["ib_write_bw", "-R", "-F", "-s", "65536", "-D", "600",
                      "-p", port]
            env = {"USIW_RETRY_MS": RETRY_MS}
            receiver = test.start("receiver", common, env=env)
            receiver.wait_listening(port)
            sender = test.start("sender", common + [ADDRESS["client"]],
                                env=env, inside=net.inside)
            moved(test, 1 << 24)
            if is_closed:
                close_window(sender, receiver)
            ip(*change)
            if is_closed:
                sender.wait(LIMIT, codes=None)
                receiver.signal(signal.SIGCONT)
            receiver.wait(LIMIT, codes=None)
            code = sender.wait(LIMIT, codes=None)
            check(code, "the sender ended without an error")
            if change[:2] != ("link", "del"):
                check("status 12" in sender.text(), "no RETRY_EXC_ERR")
    finally:
        net.close()


def removed():
    """The events of a device that does not exist any more."""
    net = Net(1500)
    try:
        with Test("events of a removed interface") as test:
            port = harness.free_port()
            idle = test.start("idle", ["rping", "-s", "-a", ADDRESS["client"],
                                       "-p", port])
            idle.wait_listening(port)
            harness.need("ibv_asyncwatch", "stdbuf")
            watch = test.start("watch", ["stdbuf", "-oL", "ibv_asyncwatch",
                                         "-d", "usiw_veth0"])
            watch.wait_text(re.compile("async event FD"))
            ip("link", "del", "veth0")
            idle.wait(LIMIT, codes=None)
            check(REMOVED in idle.text(), "no DEVICE_REMOVAL")
            watch.wait_text(re.compile("IBV_EVENT_DEVICE_FATAL"))
    finally:
        net.close()


def back():
    """An interface that comes back soon has lost nothing."""
    net = Net(1500)
    try:
        with Test("down and up again") as test:
            port = harness.free_port()
            common = ["ib_send_bw", "-R", "-F", "-s", "65536", "-D", "9",
                      "-p", port]
            receiver = test.start("receiver", common)
            receiver.wait_listening(port)
            sender = test.start("sender", common + [ADDRESS["client"]],
                                inside=net.inside)
            moved(test, 1 << 24)
            ip("link", "set", "veth0", "down")
            ip("link", "set", "veth0", "up")
            sender.wait(LIMIT)
            receiver.wait(LIMIT)
    finally:
        net.close()


harness.confine(__file__)
harness.main([
    ("deleted", lambda: ends("link", "del", "veth0")),
    ("down", lambda: ends("link", "set", "veth0", "down")),
    ("closed", lambda: ends("link", "set", "veth0", "down", is_closed=True)),
    ("address", lambda: ends("addr", "del", ADDRESS["client"] + "/24", "dev",
                             "veth0")),
    ("removed", removed), ("back", back)])
