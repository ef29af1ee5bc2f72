#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""SDP beside raw TCP, and beside rsockets over usiw, in the same run.

	sdp.py [--rounds N] [--seconds N] [--only NAME,...] [--ways A,B,...]
		[--crc off,on] [--idle N] [--check]

Rows: iperf3 with writes of 64 KiB and of 1 MiB, redis-benchmark (GET) with 1
and with 20 clients, half the round trip of 1 octet and of 64 KiB between
blocking programs, and the memory of an idle connection in its server.  --only
takes rows whose name contains one of the words.  The ways take turns; a row has
the median of each, the middle half of its rounds, and its ratio to TCP.  A way
that does not run is named with the reason.  --idle is cut to what the limit of
descriptors allows; that row has one round.  Client and server of the rows with
redis and of the round trips are bound to two processors (apart), then to one
(together): left to the scheduler they have two speeds, as a thread that is
woken on another processor has to wait until that wakes.  With --check the exit
code is 1 when a figure is not what is aimed at, or rsockets are better.
"""
import argparse
import functools
import glob
import itertools
import json
import os
import re
import resource
import sys

import runs
from runs import harness

WAYS = ("tcp", "sdp", "rsockets")
RSPRELOAD = "/usr/lib/*/rsocket/librspreload.so"
# Seconds that only a hang reaches, beside what a measurement takes.
LIMIT = 30
ROUND_TRIPS = {1: 10000, 65536: 3000}
PLACES = ("apart", "together")
LESS, MORE = "less is better", "more is better"
KIB = 1024
IDLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "idle_sockets.py")
# Descriptors of a connection over SDP; of the rest of the process.
FDS_EACH, FDS_REST = 4, 200
IDLE_KIB = 100


class Way:
    """How a program's sockets are carried."""

    def __init__(self, name, crc, place):
        self.name = name
        self.place = place
        self.env = {"USIW_CRC": crc}

    def start(self, test, name, command):
        usiw = self.name != "tcp"
        harness.PERSONA[:] = ["--sdp"] if self.name == "sdp" else []
        if self.name == "rsockets":
            # Behind the library that `usiw run` puts there.
            command = ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{rspreload()}" '
                       'exec "$@"', "sh", *command]
        if self.place:
            cpus = sorted(os.sched_getaffinity(0))
            apart = self.place == "apart" and name == "client"
            command = ["taskset", "-c", cpus[-1 if apart else 0], *command]
        return test.start(name, command, env=self.env, usiw=usiw)


def rspreload():
    found = glob.glob(RSPRELOAD)
    if not found:
        raise harness.Skip("librspreload.so is not installed (librdmacm1)")
    return found[0]


def text_of(program, limit):
    """What it printed, when it has ended well."""
    try:
        program.wait(limit / harness.SLOW)
    except harness.Failure as e:
        raise harness.Skip(str(e).splitlines()[0]) from e
    return program.text()


def demand_usiw(test, way):
    """The figure is this way's: octets went through the RNIC."""
    if way.name != "tcp" and not test.counters.sum().get("tx_payload"):
        raise harness.Skip("the program's sockets were plain TCP")


def listening(way, server, port):
    """rsockets listen where no list of the kernel shows it."""
    if way.name == "rsockets":
        server.wait_waiting()
    else:
        server.wait_listening(port)


# ---- rows ----------------------------------------------------------------

def iperf3(size, seconds, way):
    """Gbit/s that the receiver has seen."""
    harness.need("iperf3")
    with runs.Quiet("iperf3") as test:
        port = harness.free_port()
        server = way.start(test, "server", ["iperf3", "-s", "-1", "-p", port])
        listening(way, server, port)
        client = way.start(test, "client", [
            "iperf3", "-c", "127.0.0.1", "-p", port, "-l", size, "-t",
            seconds, "-J"])
        text = text_of(client, LIMIT + seconds)
        text_of(server, LIMIT)
        rate = json.loads(text[text.index("{"):])["end"]["sum_received"]
        if rate["bytes"] < size:
            raise harness.Skip("nothing has come through")
        demand_usiw(test, way)
        return rate["bits_per_second"] / 1e9


def redis(clients, seconds, way):
    """Requests a second."""
    harness.need("redis-server", "redis-benchmark")
    with runs.Quiet("redis") as test:
        port = harness.free_port()
        server = way.start(test, "server", [
            "redis-server", "--port", port, "--bind", "127.0.0.1", "--save",
            "", "--appendonly", "no", "--dir", test.directory])
        try:
            listening(way, server, port)
        except harness.Failure as e:
            raise harness.Skip(str(e).splitlines()[0]) from e
        client = way.start(test, "client", [
            "redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", clients,
            "-n", 10000 * seconds, "-t", "get", "--csv"])
        text = text_of(client, LIMIT + 10 * seconds)
        found = re.search(r'"GET","([0-9.]+)"', text)
        if not found:
            raise harness.Skip("redis-benchmark prints no rate")
        demand_usiw(test, way)
        return float(found.group(1))


def round_trip(size, way):
    """Microseconds: the median of half a round trip."""
    with runs.Quiet("round trip") as test:
        port = harness.free_port()
        words = [runs.RAW, "pingpong", port, size, ROUND_TRIPS[size]]
        server = way.start(test, "server", words)
        listening(way, server, port)
        client = way.start(test, "client", words + ["127.0.0.1"])
        text = text_of(client, LIMIT)
        text_of(server, LIMIT)
        demand_usiw(test, way)
        return float(text)


def idle(count, way):
    """KiB of the server's memory for each connection on which one octet went
    each way."""
    with runs.Quiet("idle") as test:
        port = harness.free_port()
        limit = f"--nofile={FDS_EACH * count + FDS_REST}"
        words = ["prlimit", limit, "/usr/bin/python3", "-B", IDLE]
        server = way.start(test, "server", words + ["serve", port, count])
        server.wait_text(re.compile("listens"))
        client = way.start(test, "client", words + ["connect", port, count])
        text = text_of(server, 10 * LIMIT + count // 50)
        text_of(client, LIMIT)
        demand_usiw(test, way)
        return float(text.split()[-1]) / KIB


def all_rows(args):
    """(name, unit, digits, what is better, aim of SDP's ratio to TCP, CRC,
    place, measurement of a way)."""
    for crc in args.crc:
        for size in (65536, 1048576):
            yield (f"iperf3, {size >> 10} KiB, CRC {crc}", "Gbit/s", 2, MORE,
                   0.85 if crc == "off" else None, crc, None,
                   functools.partial(iperf3, size, args.seconds))
    for clients, place in itertools.product((1, 20), PLACES):
        yield (f"redis GET, {clients} clients, {place}", "1/s", 0, MORE, None,
               "off", place, functools.partial(redis, clients, args.seconds))
    for size, place in itertools.product(ROUND_TRIPS, PLACES):
        yield (f"half round trip, {size} octets, {place}", "us", 1, LESS,
               1.3 if size == 1 else None, "off", place,
               functools.partial(round_trip, size))
    yield (f"{args.idle} idle connections, each", "KiB", 1, LESS, None, "off",
           None, functools.partial(idle, args.idle))


# ---- the table -----------------------------------------------------------

def measure(rounds, ways, crc, place, run):
    """{way: Figures}, {way: why it does not run}."""
    skipped = {}

    def once(name):
        if name in skipped:
            return None
        try:
            return run(Way(name, crc, place))
        except harness.Skip as e:
            skipped[name] = str(e)
        return None

    figures = runs.interleave(
        rounds, {name: functools.partial(once, name) for name in ways})
    return ({name: figures[name] for name in ways if name not in skipped},
            skipped)


def show(name, unit, digits, figures, skipped):
    base = figures.get("tcp")
    for way, value in figures.items():
        ratio = f"{value.median / base.median:7.2f}" if base else ""
        print(f"{name:<38} {way:<9} {value.median:10.{digits}f} {unit:<7}"
              f"{value.spread(digits):>17} {ratio}", flush=True)
    for way, reason in skipped.items():
        print(f"{name:<38} {way:<9} skipped: {reason}", flush=True)


def compare(name, better, aim, figures):
    """What is not as it is aimed at."""
    found = []
    sdp, tcp = figures.get("sdp"), figures.get("tcp")
    other = figures.get("rsockets")
    if sdp and tcp and aim:
        ratio = sdp.median / tcp.median
        if ratio < aim if better == MORE else ratio > aim:
            found.append(f"{name}: {ratio:.2f} of TCP, aim {aim}")
    if sdp and "idle" in name and sdp.median > IDLE_KIB:
        found.append(f"{name}: {sdp.median:.0f} KiB, aim {IDLE_KIB}")
    if sdp and other:
        worse = (sdp.median < other.median if better == MORE
                 else sdp.median > other.median)
        if worse:
            found.append(f"{name}: rsockets are better")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--crc", default="off,on")
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    args.crc = args.crc.split(",")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    args.idle = min(args.idle, (hard - FDS_REST) // FDS_EACH)
    ways = args.ways.split(",")
    runs.need()

    missed = []
    for name, unit, digits, better, aim, crc, place, run in all_rows(args):
        if not any(word in name for word in args.only.split(",")):
            continue
        rounds = 1 if "idle" in name else args.rounds
        figures, skipped = measure(rounds, ways, crc, place, run)
        show(name, unit, digits, figures, skipped)
        missed += compare(name, better, aim, figures)
    for line in missed:
        print("not as aimed at: " + line)
    sys.exit(1 if missed and args.check else 0)


main()
