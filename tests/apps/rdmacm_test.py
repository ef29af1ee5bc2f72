#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Uses of rdma_cm that the stock programs do not cover: see rdmacm.c."""
import functools
import os
import subprocess
import sys

import harness
import ports
from harness import Skip, Test, check

PROGRAM = os.path.join(harness.BUILD, "bin", "apps-rdmacm")
# Two interfaces in a separate namespace.
SETUP = """set -e
ip link set lo up
for i in 0 1; do
	ip link add d$i type veth peer name p$i
	ip link set p$i up
	ip addr add 192.0.$((2 + i)).1/24 dev d$i
	ip link set d$i up
done
ip route add 198.51.100.0/24 dev d0
exec "$@"
"""


def call(word, env=None, counters=()):
    with Test(word) as test:
        program = test.start(word, [PROGRAM, word], env=env)
        program.wait(90)
        total = test.counters.sum()
        for name, value in counters:
            check(total[name] == value, f"{name} is {total[name]}")


def inside(*words, env=None):
    harness.need("unshare", "ip")
    if subprocess.run(["unshare", "-Urn", "true"],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("user namespaces are forbidden")
    # There is no other user in it to change to.
    os.environ["USIW_TEST_KEEP_USER"] = "1"
    try:
        with Test(words[0]) as test:
            program = test.start(words[0], [PROGRAM, *words], env=env, inside=[
                "unshare", "-Urn", "sh", "-c", SETUP, "sh"])
            program.wait(60)
    finally:
        del os.environ["USIW_TEST_KEEP_USER"]


if sys.argv[1:2] == ["--persona"]:
    harness.PERSONA[:] = sys.argv[1:3]
    del sys.argv[1:3]
harness.main([
    ("many", functools.partial(call, "many", counters=(
        ("connects", 1000), ("accepts", 1000), ("streams_opened", 2000)))),
    ("reject", functools.partial(call, "reject",
                                 counters=(("rejects", 1),))),
    ("migrate", functools.partial(call, "migrate")),
    ("mute", functools.partial(call, "mute", env={"USIW_START_MS": "500"})),
] + [
    (word, functools.partial(call, word)) for word in (
        "refused", "commands", "addrinfo", "endpoint", "sync", "establish",
        "early", "path", "tos", "ack-timeout", "reuseaddr", "afonly", "no-option",
        "backlog", "data", "edge", "order", "unacked")
] + [
    (f"ports-{order}", functools.partial(ports.both, "127.0.0.1", order))
    for order in ports.ORDERS
] + [
    ("ports-shared", functools.partial(call, "ports-shared", env={
        "USIW_PORT_SPACE": "shared"})),
    ("unreachable", functools.partial(inside, "unreachable", "now",
                                      env={"USIW_START_MS": "700"})),
    ("ack-stopped", functools.partial(call, "ack-stopped", env=harness.WIRE)),
    # Shared memory does not depend on the address.
    ("ack-gone", functools.partial(
        inside, "ack-gone", "192.0.2.1", "ip addr del 192.0.2.1/24 dev d0",
        env={"USIW_DRAIN_MS": "100", **harness.WIRE})),
    ("afonly-default", functools.partial(
        inside, "afonly-default", "echo 1 > /proc/sys/net/ipv6/bindv6only")),
    ("wildcard", functools.partial(
        inside, "wildcard", "127.0.0.1", "usiw_lo", "192.0.2.1", "usiw_d0",
        "192.0.3.1", "usiw_d1")),
    ("route", functools.partial(
        inside, "route", "198.51.100.9", "usiw_d0",
        "ip route replace 198.51.100.0/24 dev d1", "198.51.100.9",
        "usiw_d1")),
])
