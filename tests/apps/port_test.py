#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stock ibv_asyncwatch gets the events of changes of a network interface.

The script runs itself inside `unshare -Urnm`, with its own interfaces.
"""
import os
import re
import subprocess

import harness
from harness import Failure, Test, check, wait_until

ERR, ACTIVE, GID = "PORT_ERR", "PORT_ACTIVE", "GID_CHANGE"
EVENT = re.compile(r"event_type IBV_EVENT_(\w+) \(\d+\), port 1$", re.M)


def ip(*words):
    done = subprocess.run(["ip", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"ip {' '.join(words)}: {done.stdout}")


class Net:
    """Two interfaces, joined as a veth pair, without IPv6, whose addresses
    change by themselves."""

    def __enter__(self):
        ip("link", "set", "lo", "up")
        ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
        for number in "0", "1":
            ip("link", "set", "veth" + number, "addrgenmode", "none")
            ip("addr", "add", f"192.0.2.{number}/24", "dev", "veth" + number)
            ip("link", "set", "veth" + number, "up")
        # The carrier comes a moment later, and is an event for a program that
        # watches.
        wait_until(lambda: subprocess.run(
            ["ip", "-br", "link"], stdout=subprocess.PIPE, check=True,
            text=True).stdout.count(" UP ") == 2, 10, "both ends up")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "link", "del", "veth0"],
                       stderr=subprocess.DEVNULL)


def watch(test, device):
    harness.need("ibv_asyncwatch", "stdbuf")
    program = test.start(device, ["stdbuf", "-oL", "ibv_asyncwatch", "-d",
                                  device])
    program.wait_text(re.compile("async event FD"))
    return program


def expect(program, *wanted):
    """All events from the start."""
    def look():
        check(program.process.poll() is None, "ibv_asyncwatch ended")
        return len(EVENT.findall(program.text())) >= len(wanted)
    wait_until(look, 10, f"{program.name} to hear {wanted}")
    heard = EVENT.findall(program.text())
    check(heard == list(wanted), f"{program.name} heard {heard}, "
          f"not {list(wanted)}")


def up_and_down():
    with Net(), Test("an interface goes down and comes up") as test:
        first, second, other, lo = (
            watch(test, d) for d in ("usiw_veth0", "usiw_veth0",
                                     "usiw_veth1", "usiw_lo"))
        ip("link", "set", "veth0", "down")
        # The other end loses its carrier.
        for program in first, second, other:
            expect(program, ERR)
        ip("link", "set", "veth0", "up")
        for program in first, second, other:
            expect(program, ERR, ACTIVE)
        ip("link", "set", "lo", "down")
        expect(lo, ERR, GID)
        for program in first, second, other:
            expect(program, ERR, ACTIVE)


def addresses():
    with Net(), Test("addresses come and go") as test:
        early = watch(test, "usiw_veth0")
        other = watch(test, "usiw_veth1")
        ip("addr", "add", "192.0.2.7/24", "dev", "veth0")
        expect(early, GID)
        ip("addr", "add", "fd00:7573::7/64", "nodad", "dev", "veth0")
        expect(early, GID, GID)
        late = watch(test, "usiw_veth0")
        ip("addr", "del", "192.0.2.7/24", "dev", "veth0")
        expect(early, GID, GID, GID)
        # Earlier changes are not reported to it.
        expect(late, GID)
        ip("addr", "del", "192.0.2.1/24", "dev", "veth1")
        expect(other, GID)


def flaps():
    """A change that was undone before anyone looked is reported too."""
    # In one process: otherwise the thread would keep up with it.
    with Net(), Test("an interface flaps") as test:
        program = watch(test, "usiw_veth0")
        batch = "link set veth0 down\nlink set veth0 up\n" * 5
        done = subprocess.run(["ip", "-batch", "-"], input=batch, text=True)
        check(done.returncode == 0, "ip -batch")

        # A query in between may be ahead of messages, and add events.
        def heard():
            events = EVENT.findall(program.text())
            is_up = events[-1:] == [ACTIVE] and events.count(ACTIVE) >= 5
            return is_up and events
        events = wait_until(heard, 10, "five times up")
        check(events == [ERR, ACTIVE] * (len(events) // 2), f"heard {events}")


def anew():
    """Removed and made again with its name, then renamed."""
    with Net(), Test("an interface is made anew") as test:
        program = watch(test, "usiw_veth0")
        ip("link", "del", "veth0")
        wait_until(lambda: GID in EVENT.findall(program.text()), 10,
                   "the loss of the address")
        before = len(EVENT.findall(program.text()))
        with Net():
            wait_until(lambda: {ACTIVE, GID} <= set(
                EVENT.findall(program.text())[before:]), 10,
                "the new interface")
            ip("link", "set", "veth0", "down")
            ip("link", "set", "veth0", "name", "wan0")
            before = len(EVENT.findall(program.text()))
            ip("addr", "add", "192.0.2.9/24", "dev", "wan0")
            ip("link", "set", "wan0", "name", "veth0")
            wait_until(lambda: GID in EVENT.findall(
                program.text())[before:], 10, "the address")


def follows():
    """A program that continues while its addresses come and go."""
    with Net(), Test("QPs by GIDs that come and go") as test:
        # A connection through shared memory does not depend on its addresses.
        program = test.start("gid-follow", [
            os.path.join(harness.BUILD, "bin", "apps-gid-follow"), "usiw_veth0", "veth0"],
            env=harness.WIRE)
        for asked in ("add 198.51.100.7/24", "del 192.0.2.0/24",
                      "add 192.0.2.0/24"):
            program.wait_text(re.compile(f"^{asked}$", re.M))
            ip("addr", *asked.split(), "dev", "veth0")
        program.wait(40)
        check("done" in program.text(), "not done")


def gone():
    with Net(), Test("an interface is removed") as test:
        program = watch(test, "usiw_veth0")
        ip("link", "del", "veth0")
        wait_until(lambda: GID in EVENT.findall(program.text()), 10,
                   "the loss of the address")
        heard = EVENT.findall(program.text())
        check(heard.count(ERR) == 1 and ACTIVE not in heard,
              f"heard {heard}")


harness.confine(__file__)
harness.main([("up-and-down", up_and_down), ("addresses", addresses),
              ("flaps", flaps), ("anew", anew), ("follows", follows),
              ("gone", gone)])
