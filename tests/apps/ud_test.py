#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ud_test.py PROGRAM [CASE...]: a program of datagrams, on one host.

PROGRAM is one of pingpong, perftest, qperf, ucx, libfabric.
"""
import functools
import re
import sys

import cases
import datagrams
import harness
import perftest
from datagrams import DEVICE, MTU, Test
from harness import check

# ---- ibv_ud_pingpong -----------------------------------------------------


def pingpong(options, env):
    name = " ".join(["ibv_ud_pingpong", *options])
    with Test(f"{name} {env}") as test:
        command = ["ibv_ud_pingpong", "-d", DEVICE, "-p", "PORT", "-s", 2048,
                   *options]
        datagrams.pair(test, command, command + ["127.0.0.1"], env)
        test.demand_datagrams(2 * 1000 * 2048, 2 * 1000)
        test.demand_way(env)


# By GID (IPv4, IPv6) and by LID; polling and with events; octets compared.
PINGPONG = [
    (f"pingpong{''.join(options)}-{name}",
     functools.partial(pingpong, options, env))
    for options in (["-g0"], ["-g1"], [], ["-g0", "-e"], ["-g1", "-e"],
                    ["-e"], ["-g0", "-c"])
    for name, env in (("local", harness.LOCAL), ("wire", harness.WIRE))
    if name == "local" or "-e" not in options]

# ---- perftest ------------------------------------------------------------


def demand(test, _, program, options, table):
    count = sum(row[1] for row in table)
    count *= perftest.directions(program, options)
    test.demand_datagrams(perftest.moved(program, options, table), count)


def perf(program, options, env, gid):
    """perftest waits for ever for a datagram that is lost, as without a receive
    for long: all receives of ib_send_bw are posted beforehand."""
    words = [str(o) for o in options]
    if program == "ib_send_bw":
        words += ["-n", "400"]
    with Test(f"{program} -x {gid} {' '.join(words)} {env}") as test:
        perftest.pair(test, program, ["-c", "UD", *words], env=env,
                      connect=("-d", DEVICE, "-x", gid), demand=demand,
                      max_size=MTU)
        test.demand_way(env)


PERFTEST = [
    (f"{program}{''.join(map(str, options))}-{name}-gid{gid}",
     functools.partial(perf, program, options, env, gid))
    for program, options in (
        ("ib_send_bw", ()), ("ib_send_bw", ("-b",)), ("ib_send_bw", ("-e",)),
        ("ib_send_bw", ("--use-srq",)), ("ib_send_bw", ("-q", 4)),
        ("ib_send_bw", ("-a",)), ("ib_send_bw", ("-s", 64, "-I", 64)),
        ("ib_send_lat", ()), ("ib_send_lat", ("-e",)),
        ("ib_send_lat", ("-s", MTU)))
    for name, env, gid in (("local", harness.LOCAL, 0),
                           ("local", harness.LOCAL, 1),
                           ("wire", harness.WIRE, 0))
    if (name, gid) == ("local", 0) or not options]

# ---- qperf ---------------------------------------------------------------

QPERF_ROW = re.compile(r"^ +(latency|send_bw|recv_bw) += +([0-9.]+) ", re.M)


def qperf(names):
    """It sends a LID and the number of its queue pair by its own TCP
    connection. It runs for a second: what is sent at its end may be lost."""
    with Test(f"qperf {' '.join(names)}") as test:
        harness.need("qperf")
        port = harness.free_port()
        server = test.start("server", ["qperf", "-lp", port])
        server.wait_listening(port)
        client = test.start("client", ["qperf", "-lp", port, "127.0.0.1", "-i",
                                       f"{DEVICE}:1", "-t", 1, *names])
        client.wait(30)
        figures = QPERF_ROW.findall(client.text())
        check(len(figures) == len(names) + sum("bw" in n for n in names) and
              all(float(figure) > 0 for _, figure in figures),
              f"figures: {client.text()}")
        check(server.process.poll() is None, "the server died")
        # `usiw check` makes each of them slower.
        part = 10 if harness.IS_CHECK else 1
        test.demand_datagrams((10 << 20) // part, 10000 // part)


QPERF = [("qperf", functools.partial(qperf, ["ud_lat", "ud_bw", "ud_bi_bw"]))]

# ---- UCX -----------------------------------------------------------------


def ucx_command(what, count, size):
    return ["ucx_perftest", *cases.ucx_without_mpi(), "-t", what, "-n", count,
            "-s", size, "-w", 10, "-p", "PORT"]


def ucx_check(client, count):
    check(re.search(rf"^Final: +{count} ", client.text(), re.M), "no result")
    check("ERROR" not in client.text(), "an error")


def uct(what, count=1000, size=8):
    """The lower layer's own queue pairs."""
    with Test(f"ucx_perftest -x ud_verbs -t {what}") as test:
        harness.need("ucx_perftest")
        command = ucx_command(what, count, size) + ["-d", f"{DEVICE}:1", "-x",
                                                    "ud_verbs"]
        client = datagrams.pair(test, command, command + ["127.0.0.1"])
        ucx_check(client, count)
        test.demand_datagrams(count * size, 10)


def ucp(what, size, tls, count=500):
    """
    The upper layer: it connects by datagrams, whatever carries the data.
    ucx_perftest's puts end with a fence. The strong one of UCX 1.18, its
    default, needs a region that only its mlx5 code makes.
    """
    with Test(f"ucx_perftest -t {what} -s {size} {tls}") as test:
        harness.need("ucx_perftest")
        command = ucx_command(what, count, size)
        client = datagrams.pair(test, command, command + ["127.0.0.1"], {
            "UCX_TLS": tls, "UCX_NET_DEVICES": f"{DEVICE}:1",
            "UCX_FENCE_MODE": "weak"})
        ucx_check(client, count)
        test.demand_datagrams(count * size, 4, "rc" not in tls)


UCX = [(f"uct-{what}", functools.partial(uct, what))
       for what in ("am_lat", "am_bw")] + [
    (f"{what}-{size}-{tls}", functools.partial(ucp, what, size, tls))
    for tls in ("ud_verbs,self", "rc_verbs,ud_verbs,self", "rc_verbs,ud_verbs")
    for what, size in (("tag_lat", 8), ("tag_bw", 65536), ("tag_bw", 1 << 20),
                       ("ucp_put_bw", 65536), ("stream_bw", 4096))]

# ---- libfabric -----------------------------------------------------------


def libfabric(kind, provider, sizes, count=50):
    with Test(f"fi_pingpong -p '{provider}' -e {kind}") as test:
        harness.need("fi_pingpong")
        command = ["fi_pingpong", "-p", provider, "-e", kind, "-c", "-I",
                   count, "-d", f"{DEVICE}-dgram"]
        client = datagrams.pair(test, command + ["-B", "PORT"],
                                command + ["-P", "PORT", "127.0.0.1"])
        rows = re.findall(rf"^(\S+) +{count} +={count} ", client.text(), re.M)
        check(len(rows) == len(sizes), f"rows: {rows}")
        test.demand_datagrams(2 * count * sum(sizes),
                              2 * count * len(sizes))


LIBFABRIC = [
    ("dgram", functools.partial(libfabric, "dgram", "verbs",
                                (64, 256, 1024, 4096))),
    ("rxd", functools.partial(libfabric, "rdm", "verbs;ofi_rxd",
                              (64, 256, 1024, 4096, 65536, 1 << 20)))]

PROGRAMS = {
    "pingpong": ("ibv_ud_pingpong", "UD", PINGPONG),
    "perftest": ("perftest: ib_send_bw, ib_send_lat -c UD", "UD", PERFTEST),
    "qperf": ("qperf: ud_lat, ud_bw, ud_bi_bw", "UD", QPERF),
    "ucx": ("UCX: ucx_perftest by ud_verbs, and by rc_verbs that ud_verbs "
            "connects", "UD+RC", UCX),
    "libfabric": ("libfabric: fi_pingpong by verbs -e dgram, and by "
                  "verbs;ofi_rxd", "UD", LIBFABRIC),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"programs: {' '.join(PROGRAMS)}")
    harness.PERSONA[:] = ["--persona", "ca"]
    datagrams.main(*PROGRAMS[sys.argv.pop(1)])
