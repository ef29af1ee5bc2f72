#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Datagrams between two network namespaces joined by veth, MTU 1500: by UDP
packets, with IPv4 and IPv6.

The script runs itself inside `unshare -Urnm`.
"""
import functools
import re

import cases
import datagrams
import harness
import perftest
from datagrams import Test
from harness import check
from netns import ADDRESS, ADDRESS6, Net
from netns_test import DEVICE, gid_index

MTU = 1024  # what 1500 less the headers holds

EACH = ((ADDRESS, "ipv4"), (ADDRESS6, "ipv6"))


def in_net(function, *arguments):
    net = Net(1500)
    try:
        function(net, *arguments)
    finally:
        net.close()


def commands(test, net, program, addresses, gid_option, options):
    """The words of the server's and the client's command. Without addresses
    they tell each other LIDs."""
    made = {}
    for end, device in DEVICE.items():
        made[end] = [program, "-d", device, "-p", "PORT", *options]
        if addresses:
            made[end] += [gid_option, gid_index(test, net, end,
                                                addresses[end])]
    return made["server"], made["client"] + [ADDRESS["server"]]


def pingpong(net, addresses, options):
    count = 500
    with Test(f"ibv_ud_pingpong {' '.join(options)} "
              f"{addresses and addresses['server']}") as test:
        server, client = commands(
            test, net, "ibv_ud_pingpong", addresses, "-g",
            ["-s", MTU, "-n", count, *options])
        datagrams.pair(test, server, client, inside=net.inside)
        test.demand_datagrams(2 * count * MTU, 2 * count)


def pingpongs(net):
    for addresses in (ADDRESS, ADDRESS6, None):
        pingpong(net, addresses, [])
        pingpong(net, addresses, ["-e", "-c"])


def perf(net, addresses, program, options):
    """A datagram is lost without a receive, or if the UDP socket is full, and
    perftest waits for it for ever: ib_send_bw sends no more than both hold."""
    with Test(f"{program} {' '.join(options)} {addresses['server']}") as test:
        server, client = commands(test, net, program, addresses, "-x",
                                  ["-c", "UD", *options])
        client = datagrams.pair(test, server, client, inside=net.inside)
        table = perftest.rows(client.text())
        check(table, f"{program} printed no table")
        if "-a" in options:
            sizes = [size for size in perftest.ALL_SIZES if size <= MTU]
            check([row[0] for row in table] == sizes, f"sizes: {table}")
        test.demand_datagrams(
            perftest.moved(program, options, table),
            sum(row[1] for row in table) *
            perftest.directions(program, options))


def perfs(net):
    bandwidth = ["-n", "100"]
    for addresses, _ in EACH:
        for options in ([], ["-b"], ["-e"], ["--use-srq"], ["-s", "100"]):
            perf(net, addresses, "ib_send_bw", bandwidth + options)
        for options in ([], ["-e"], ["-s", str(MTU)]):
            perf(net, addresses, "ib_send_lat", options)
    perf(net, ADDRESS, "ib_send_bw", ["-a", *bandwidth])


def shared(net, addresses):
    """
    On each side three processes share the UDP port. The first of them has the
    packets of all: it waits for a client that does not come. The two others
    exchange datagrams at the same time, and another pair sends a burst. Then
    the first ones are killed, and one more pair exchanges datagrams, whose
    server is there already.
    """
    count, burst = 300, 100

    def start(command, name, inside=()):
        """Return: who waits for a client, and its port."""
        port = harness.free_port()
        program = test.start(name, datagrams.at_port(command, port),
                             inside=inside)
        program.wait_listening(port)
        return program, port

    def finish(servers, command):
        """A client for each of them, at the same time."""
        clients = [test.start("client", datagrams.at_port(command, port))
                   for _, port in servers]
        for program in clients + [server for server, _ in servers]:
            program.wait(60)

    with Test(f"three processes share the port {addresses['server']}") as test:
        server, client = commands(
            test, net, "ibv_ud_pingpong", addresses, "-g",
            ["-s", MTU, "-n", count])
        first = [start(server, "first server", net.inside),
                 start(client[:-1], "first client")]
        finish([start(server, f"server {number}", net.inside)
                for number in range(2)], client)
        datagrams.pair(test, *commands(
            test, net, "ib_send_bw", addresses, "-x",
            ["-c", "UD", "-n", burst]), inside=net.inside)
        test.demand_datagrams((2 * 2 * count + burst) * MTU,
                              2 * 2 * count + burst)
        last = start(server, "last server", net.inside)
        for program, _ in first:
            check(program.process.poll() is None, f"{program.name} ended")
            program.stop()
        finish([last], client)
        test.demand_datagrams((3 * 2 * count + burst) * MTU,
                              3 * 2 * count + burst)


def ucx(net, addresses, what, size, tls):
    """UCX sends again what is lost."""
    count = 300
    with Test(f"ucx_perftest -t {what} -s {size} {tls} "
              f"{addresses['server']}") as test:
        harness.need("ucx_perftest")
        command = ["ucx_perftest", *cases.ucx_without_mpi(), "-t", what, "-n",
                   count, "-s", size, "-w", 10, "-p", "PORT"]
        words = {end: ["env", f"UCX_NET_DEVICES={device}:1",
                       "UCX_IB_GID_INDEX=" + str(gid_index(
                           test, net, end, addresses[end])), *command]
                 for end, device in DEVICE.items()}
        client = datagrams.pair(
            test, words["server"], words["client"] + [ADDRESS["server"]],
            {"UCX_TLS": tls}, net.inside)
        check(re.search(rf"^Final: +{count} ", client.text(), re.M),
              "no result")
        test.demand_datagrams(count * size, 4, "rc" not in tls)


def ucxs(net):
    for addresses, _ in EACH:
        for tls in ("ud_verbs,self", "rc_verbs,ud_verbs,self"):
            for what, size in (("tag_lat", 8), ("tag_bw", 65536)):
                ucx(net, addresses, what, size, tls)


def libfabric(net, kind, provider, sizes):
    count = 50
    with Test(f"fi_pingpong -p '{provider}' -e {kind}") as test:
        harness.need("fi_pingpong")
        command = {end: ["fi_pingpong", "-p", provider, "-e", kind, "-c", "-I",
                         count, "-d", f"{device}-dgram"]
                   for end, device in DEVICE.items()}
        client = datagrams.pair(
            test, command["server"] + ["-B", "PORT"],
            command["client"] + ["-P", "PORT", ADDRESS["server"]],
            inside=net.inside)
        rows = re.findall(rf"^(\S+) +{count} +={count} ", client.text(), re.M)
        check(len(rows) == len(sizes), f"rows: {rows}")
        test.demand_datagrams(2 * count * sum(sizes), 2 * count * len(sizes))


def libfabrics(net):
    libfabric(net, "dgram", "verbs", (64, 256, 1024))
    libfabric(net, "rdm", "verbs;ofi_rxd", (64, 256, 1024, 4096, 65536,
                                            1 << 20))


if __name__ == "__main__":
    harness.confine(__file__)
    harness.PERSONA[:] = ["--persona", "ca"]
    datagrams.main("ibv_ud_pingpong, perftest, UCX and libfabric between two "
                   "network namespaces", "UD+RC", [
        ("pingpong", functools.partial(in_net, pingpongs)),
        ("perftest", functools.partial(in_net, perfs)),
        ("shared-ipv4", functools.partial(in_net, shared, ADDRESS)),
        ("shared-ipv6", functools.partial(in_net, shared, ADDRESS6)),
        ("ucx", functools.partial(in_net, ucxs)),
        ("libfabric", functools.partial(in_net, libfabrics))])
