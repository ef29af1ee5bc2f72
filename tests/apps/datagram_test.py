#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Datagrams by rdma_cm, with persona ca, on one host and between two.

The programs have fixed ports, so each case has network namespaces of its own.
"""
import subprocess

import harness
from harness import Test, check
from netns import ADDRESS, ADDRESS6, Net, leave

HERE = {"IPv4": "127.0.0.1", "IPv6": "::1"}
THERE = {"IPv4": ADDRESS["server"], "IPv6": ADDRESS6["server"]}
FAMILY = {"IPv4": ((), ()), "IPv6": (("-f", "ip"), ("-b", "::"))}


def lo_up():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def ends_well(*programs):
    for program in programs:
        check("return status 0" in program.text(), program.text())


def udaddy(address, inside=(), family="IPv4", options=(), connections=1,
           count=10, size=100):
    """Each connection asks for a queue pair of the server; then both sides
    send count datagrams."""
    both, bind = FAMILY[family]
    words = ["udaddy", "-c", connections, "-C", count, "-S", size, *both,
             *options]
    with Test(f"{' '.join(map(str, words))} -s {address}") as test:
        server = test.start("server", words + list(bind), inside=inside)
        server.wait_waiting()
        client = test.start("client", words + ["-s", address])
        client.wait(60)
        server.wait(20)
        ends_well(client, server)
        total = test.counters.sum()
        check(total["accepts"] == connections, f"{total['accepts']} accepts")
        check(total["mads_sent"] >= 2 * connections,
              f"{total['mads_sent']} MADs")
        check(total["mads_bad"] == 0, f"{total['mads_bad']} bad MADs")
        check(total["ud_received"] == 2 * count * connections,
              f"{total['ud_received']} datagrams")


def unanswered(address):
    """Nobody listens there: the client hears it at once."""
    with Test(f"udaddy -s {address}, where nobody listens") as test:
        client = test.start("client", ["udaddy", "-s", address])
        client.wait(3, codes=None)
        check("UNREACHABLE, error: 1" in client.text(), client.text())


GROUP = {"IPv4": "239.1.2.3", "IPv6": "ff0e::1234"}


def mckey(address, family="IPv4", inside=(), there=None, receivers=2,
          count=10):
    """Each receiver gets each datagram of the sender, and so does the sender
    itself, which has joined but posts no receives.
    address, there: of the sender, and of receivers on another host."""
    words = ["mckey", "-m", GROUP[family], "-C", count]
    with Test(f"{' '.join(map(str, words))} -b {address}, {receivers} "
              f"receivers{' there' if there else ''}") as test:
        ready = [test.start(f"receiver{i}", words + ["-b", there or address],
                            inside=inside) for i in range(receivers)]
        # They have joined by the time that the sender, which waits for three
        # seconds first, sends.
        for program in ready:
            program.wait_waiting()
        sender = test.start("sender", words + ["-b", address, "-s"])
        sender.wait(30)
        for program in ready:
            program.wait(20)
        ends_well(sender, *ready)
        total = test.counters.sum()
        check(total["ud_received"] == receivers * count,
              f"{total['ud_received']} received")
        check(total["ud_no_recv"] <= count,
              f"{total['ud_no_recv']} without a receive: not the sender's only")
        check(total["ud_bad"] == 0, f"{total['ud_bad']} bad datagrams")


def udpong(address, inside=()):
    """rsockets of datagrams: each of 1000 is answered. The server runs for
    ever."""
    words = ["udpong", "-T", "e", "-C", 1000, "-S", 100]
    with Test(f"{' '.join(map(str, words))} -s {address}") as test:
        server = test.start("server", words + ["-b", address], inside=inside)
        server.wait_waiting()
        client = test.start("client", words + ["-s", address])
        client.wait(30)
        check(server.process.poll() is None, "the server died")
        check("custom    100     2k" in client.text(), client.text())
        total = test.counters.sum()
        check(total["ud_received"] >= 2 * 1000,
              f"{total['ud_received']} datagrams")


def one_host():
    leave()
    lo_up()
    unanswered("127.0.0.1")
    for family, address in HERE.items():
        udaddy(address, family=family)
    udaddy("127.0.0.1", connections=50, count=3)
    udaddy("127.0.0.1", options=("-P", "ipoib"))
    udaddy("127.0.0.1", options=("-t", "40"))
    mckey("127.0.0.1")
    udpong("127.0.0.1")


def two_hosts():
    leave()
    net = Net(1500)
    try:
        for family, address in THERE.items():
            udaddy(address, net.inside, family)
        udaddy(THERE["IPv4"], net.inside, connections=50, count=3)
        udaddy(THERE["IPv4"], net.inside, size=1024)
        mckey(ADDRESS["client"], inside=net.inside, there=ADDRESS["server"])
        mckey(ADDRESS6["client"], "IPv6", net.inside, ADDRESS6["server"])
        mckey(ADDRESS6["client"], "IPv6")
        udpong(THERE["IPv4"], net.inside)
        with Test("a host with datagrams, but without the service") as test:
            # It has the UDP port of RoCEv2 while its queue pair lives.
            other = test.start("server", [
                "ibv_ud_pingpong", "-d", "usiw_veth1", "-g", "0", "-p",
                harness.free_port()], inside=net.inside)
            other.wait_listening(4791, protocol="udp")
            unanswered(THERE["IPv4"])
    finally:
        net.close()


harness.confine(__file__)
harness.PERSONA[:] = ["--persona", "ca"]
harness.main([("one-host", one_host), ("two-hosts", two_hosts)])
