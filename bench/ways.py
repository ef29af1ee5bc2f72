# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How a row's load is measured: one sample of each tool.

A tool is a function of a Bench, a way of rows.py and the way's arguments, and
returns {metric: value}. It raises LookupError if it cannot run here, and
RuntimeError if it failed.
"""
import functools
import glob
import ipaddress
import os
import re
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "apps"))
import harness  # noqa: E402  (after the path is known)
import outputs  # noqa: E402
import perftest  # noqa: E402
import rows  # noqa: E402

RSPRELOAD = "/usr/lib/*/rsocket/librspreload.so"
GIDS = "/sys/class/infiniband/{}0/ports/1/gids/*"
IDLE_SOCKETS = os.path.join(HERE, "idle_sockets.py")
# Seconds. Only a hang takes that long.
LIMIT = 40
# Programs that compute, on a loaded machine.
LOAD = 20
# For both directions of a connection: by then it has changed to shared memory.
SHORT_FPDUS = 256
# Descriptors of a connection over SDP, and of the rest of the process.
FDS_EACH, FDS_REST = 4, 200
# Used to compute counts of iterations: rates about as high as the fastest way
# reaches on the wire. Faster ways have a shorter window.
MESSAGES_PER_S, OCTETS_PER_S, READS_PER_S = 1e6, 3e9, 4e5
POLLED_PER_S, EVENTS_PER_S = 8e4, 12e3
# For peers that are slower, or report only a median.
SLOW_MESSAGES_PER_S, SLOW_OCTETS_PER_S, SLOW_POLLED_PER_S = 2e5, 8e8, 2e4
# Without hardware, a get of UCX is a message in each direction, and takes
# about a millisecond.
UCX_GETS_PER_S = 500


class Sample(harness.Test):
    """The programs of one sample, with the setting of its way. Prints only
    failures."""

    def __init__(self, bench, way):
        super().__init__(f"{way.tool} {way.name}")
        self.bench = bench
        self.setting = rows.SETTINGS.get(way.setting)
        self.usiw = bench.usiw_of(way.build)
        self.env = {}
        if self.setting:
            known = bench.settings_of(self.usiw)
            self.env = {name: value for name, value in self.setting.env
                        if name in known}

    @property
    def is_usiw(self):
        return bool(self.setting) and self.setting.stack == "usiw"

    @property
    def is_from_tcp(self):
        """SDP may leave its connections to TCP."""
        return "USIW_SDP_AFTER" in self.env

    @property
    def address(self):
        stack = self.setting.stack if self.setting else "usiw"
        return self.bench.addresses.get(stack, "127.0.0.1")

    def start(self, name, command, env=None, words=(), **kwargs):
        """words: options of `usiw run`."""
        harness.PERSONA[:] = list(words)
        return super().start(name, command, env={**self.env, **(env or {})},
                             usiw=kwargs.pop("usiw", self.is_usiw), **kwargs)

    def bin(self, name):
        path = os.path.join(harness.BUILD, "bin", name)
        if not os.access(path, os.X_OK):
            raise LookupError(f"{name} is not built ('make bench' does)")
        return path

    def pair(self, command, to_client, port, is_listed=True):
        """Runs both programs to their end, and returns their output."""
        server = self.start("server", command)
        if is_listed:
            server.wait_listening(port)
        else:
            server.wait_waiting()
        client = self.start("client", command + to_client)
        client.wait(LIMIT)
        server.wait(LIMIT)
        return client.text(), server.text()

    def demand_usiw(self):
        """Checks that the octets went through usiw's RNIC."""
        moved = self.counters.sum()
        if self.is_usiw and not (moved.get("tx_payload") or
                                 moved.get("atomic_served")):
            raise LookupError("the program moved nothing over usiw")

    def demand_carrier(self):
        """Checks that the octets went the way of the setting. A build that
        counts octets by shared memory has counters for it."""
        octets = [value for name, value in self.counters.sum().items()
                  if name.startswith("local_")]
        if not self.is_usiw or not octets or self.is_from_tcp:
            return
        is_local = self.setting.is_local
        if is_local and not sum(octets) and not self.is_short():
            raise LookupError("the connections did not take the local path")
        if not is_local and sum(octets):
            raise harness.Failure("connections took the local path")

    def is_short(self):
        """Connections begin on TCP, and change when they have carried
        USIW_LOCAL_AFTER FPDUs. These have carried too few."""
        moved = self.counters.sum()
        fpdus = moved.get("tx_fpdu", 0) + moved.get("rx_fpdu", 0)
        return fpdus < SHORT_FPDUS * moved.get("streams_opened", 0)

    def conclude(self, kind, value, states):
        if kind and not issubclass(kind, (LookupError, harness.Skip)):
            super().conclude(kind, value, states)
            return
        with open(os.devnull, "w", encoding="ascii") as sink:
            stdout, sys.stdout = sys.stdout, sink
            try:
                super().conclude(None, None, states)
            finally:
                sys.stdout = stdout


class Bench:
    """Common to all samples of a run."""

    def __init__(self, window_ms=300, scale=1.0, addresses=None):
        self.window_ms = window_ms
        self.scale = scale  # of counts: an emulated machine is slower
        self.addresses = addresses or {}

    @staticmethod
    def usiw_of(build):
        if build is None:
            return harness.USIW
        return os.path.join(os.path.abspath(build), "bin", "usiw")

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def settings_of(usiw):
        """Names of the settings that a build has."""
        text = subprocess.run([usiw, "--help"], check=True,
                              capture_output=True, text=True).stdout
        return frozenset(re.findall(r"^ +(USIW_\w+)=", text, re.M))

    def count(self, per_s):
        """The number of iterations that takes about as long as the window."""
        return max(5, int(per_s * self.scale * self.window_ms / 1000))

    def measure(self, way):
        """One sample."""
        setting = rows.SETTINGS.get(way.setting)
        need = setting.need if setting else ""
        if need and need not in self.settings_of(self.usiw_of(way.build)):
            raise LookupError(f"this build has no setting {need}")
        try:
            with Sample(self, way) as sample:
                found = TOOLS[way.tool](sample, **dict(way.args))
                if not found:
                    raise harness.Failure("no figure in the output")
                for name, value in found.items():
                    # A CPU time may be too short for its clock.
                    if not value and "CPU" not in name:
                        raise harness.Failure(f"{name} is 0: nothing moved")
                sample.demand_carrier()
                return found
        except harness.Skip as e:
            raise LookupError(str(e)) from e
        except (harness.Failure, OSError, ValueError, KeyError,
                IndexError) as e:
            raise RuntimeError(str(e).split("\n", maxsplit=1)[0]) from e


# ---- verbs -------------------------------------------------------------------------

def perftest_pair(sample, program, options):
    harness.need(program)
    demand = perftest.demand_moved
    if program == "ib_atomic_lat":
        demand = perftest.demand_atomics
    if not sample.is_usiw:
        demand = demand_nothing
        options = ["-d", f"{sample.setting.stack}0", *options]
    return perftest.pair(sample, program, ["-F", *map(str, options)],
                         address=sample.address, demand=demand,
                         timeout=LIMIT)


def demand_nothing(*_):
    """The kernel's drivers have no counters of usiw."""


def perftest_bw(sample, op, size):
    per_s = min(MESSAGES_PER_S, OCTETS_PER_S / size)
    if op == "read":
        per_s = min(per_s, READS_PER_S)
    table = perftest_pair(sample, f"ib_{op}_bw",
                          ["-s", size, "-n", sample.bench.count(per_s)])
    return outputs.perftest_bandwidth(table)


def perftest_lat(sample, op, size, is_event):
    per_s = EVENTS_PER_S if is_event else POLLED_PER_S
    options = ["-n", sample.bench.count(per_s)]
    if op != "atomic":
        options += ["-s", size]
    if is_event:
        options.append("-e")
    return outputs.perftest_latency(
        perftest_pair(sample, f"ib_{op}_lat", options))


def gid_index(stack, address):
    """Of a device of the kernel: where its table has the address."""
    wanted = ipaddress.IPv6Address("::ffff:" + address)
    for path in glob.glob(GIDS.format(stack)):
        with open(path, encoding="ascii") as stream:
            if ipaddress.IPv6Address(stream.read().strip()) == wanted:
                return os.path.basename(path)
    raise harness.Failure(f"{stack}0 has no GID {wanted}")


def demand_datagrams(test, before, _program, _options, table):
    arrived = (test.counters.sum().get("ud_received", 0) -
               before.get("ud_received", 0))
    wanted = sum(count for _, count, _ in table)
    if arrived < wanted:
        raise harness.Failure(f"{arrived} datagrams by usiw's counters, the "
                              f"programs sent {wanted}")


def perftest_by_hand(sample, program, qp_type, size, per_s):
    harness.need(program)
    connect, demand = perftest.BY_HAND, perftest.demand_moved
    if not sample.is_usiw:
        stack = sample.setting.stack
        connect = ("-d", f"{stack}0", "-x", gid_index(stack, sample.address))
        demand = demand_nothing
    elif qp_type == "UD":
        sample.env["USIW_PERSONA"] = "ca"
        demand = demand_datagrams
    return perftest.pair(sample, program,
                         ["-F", "-c", qp_type, "-s", str(size), "-n",
                          str(sample.bench.count(per_s))],
                         address=sample.address, demand=demand,
                         connect=connect, timeout=LIMIT)


def perftest_type_bw(sample, op, qp_type, size):
    per_s = min(MESSAGES_PER_S, OCTETS_PER_S / size)
    return outputs.perftest_bandwidth(
        perftest_by_hand(sample, f"ib_{op}_bw", qp_type, size, per_s))


def perftest_type_lat(sample, op, qp_type, size):
    return outputs.perftest_latency(perftest_by_hand(
        sample, f"ib_{op}_lat", qp_type, size, POLLED_PER_S))


def raw_udp(sample, mode, size):
    """It spins when it serves."""
    port = harness.free_port()
    command = [sample.bin("bench-raw-udp"), "-w", sample.bench.window_ms, mode,
               port, size]
    server = sample.start("server", command)
    server.wait_waiting()
    client = sample.start("client", command + ["127.0.0.1"])
    client.wait(LIMIT)
    server.wait(LIMIT)
    return outputs.own(client.text())


def verbs_command(sample, port, mode, options):
    return [sample.bin("bench-verbs"), "-w", sample.bench.window_ms,
            *options, mode, port]


def busy(sample):
    """A program that computes, until the sample ends."""
    sample.start("busy", ["sh", "-c", "while :; do :; done"], usiw=False)


def verbs_stream(sample, op, size, bufs=1, qps=1, threads=1, list=1,
                 is_event=False, is_passive=False, is_touched=False,
                 is_busy=False):
    port = harness.free_port()
    options = ["-o", op, "-s", size, "-b", bufs, "-q", qps, "-t", threads,
               "-l", list]
    options += ["-e"] * is_event + ["-p"] * is_passive + ["-d"] * is_touched
    if is_busy:
        busy(sample)
    client, server = map(outputs.own, sample.pair(
        verbs_command(sample, port, "stream", options), [sample.address],
        port))
    sample.demand_usiw()
    return {**client, **outputs.cpu_per_gb(client, server)}


def verbs_pairs(sample, op, size, pairs):
    """Pairs of processes with one thread each, at the same time: what as many
    threads could reach if they shared nothing."""
    ports = [harness.free_port() for _ in range(pairs)]
    commands = [verbs_command(sample, port, "stream", ["-o", op, "-s", size])
                for port in ports]
    servers = [sample.start(f"server {i}", command)
               for i, command in enumerate(commands)]
    for server, port in zip(servers, ports):
        server.wait_listening(port)
    clients = [sample.start(f"client {i}", command + [sample.address])
               for i, command in enumerate(commands)]
    for program in clients + servers:
        program.wait(LIMIT)
    sample.demand_usiw()
    return {"M/s": sum(outputs.own(c.text())["M/s"] for c in clients)}


def verbs_loops(sample, op, size, threads=1, processes=1):
    """Threads that send to themselves, each with a CPU of its own."""
    programs = [sample.start(f"loops {i}", [
        sample.bin("bench-threads"), "-o", op, "-s", size, "-t", threads,
        "-w", sample.bench.window_ms, "-c", i]) for i in range(processes)]
    for program in programs:
        program.wait(LIMIT)
    sample.demand_usiw()
    return {"M/s": sum(outputs.own(p.text())["M/s"] for p in programs)}


def verbs_pingpong(sample, op, size, is_event=False, is_beside_bulk=False,
                   idle=0, is_busy=False):
    port = harness.free_port()
    if is_busy:
        busy(sample)
    options = ["-o", op, "-s", size] + (["-e"] if is_event else []) + \
        (["-B"] if is_beside_bulk else []) + (["-i", idle] if idle else [])
    client, _ = sample.pair(verbs_command(sample, port, "pingpong", options),
                            [sample.address], port)
    sample.demand_usiw()
    return outputs.own(client)


def connect(sample, how):
    """In one process. It exits with 1 if its own goals are missed."""
    program = sample.start("connect", [sample.bin("bench-connect"), 1, 512,
                                       how])
    program.wait(LIMIT, codes=(0, 1))
    return outputs.connections(program.text())


def memory(sample, pairs):
    program = sample.start("memory", [sample.bin("bench-memory"), pairs])
    program.wait(LIMIT, codes=(0, 1))
    return outputs.memory(program.text())


# ---- peers -------------------------------------------------------------------------

def tcp_command(sample, port, mode, size, options):
    return [sample.bin("bench-raw-tcp"), "-w", sample.bench.window_ms,
            *options, mode, port, size]


def tcp_stream(sample, size, bufs=1, is_framed=False, is_touched=False,
               is_busy=False):
    port = harness.free_port()
    options = ["-b", bufs] + ["-s", "-f"] * is_framed + ["-d"] * is_touched
    if is_busy:
        busy(sample)
    client, server = map(outputs.own, sample.pair(
        tcp_command(sample, port, "stream", size, options), ["127.0.0.1"],
        port))
    return {**client, **outputs.cpu_per_gb(client, server)}


def tcp_pingpong(sample, size, is_spin=False, is_busy=False):
    port = harness.free_port()
    if is_busy:
        busy(sample)
    client, _ = sample.pair(
        tcp_command(sample, port, "pingpong", size,
                    ["-s"] if is_spin else []), ["127.0.0.1"], port)
    return outputs.own(client)


def fi_pingpong(sample, provider, size):
    harness.need("fi_pingpong")
    port = harness.free_port()
    command = ["fi_pingpong", "-p", provider, "-e",
               "rdm" if provider == "shm" else "msg", "-S", size, "-I",
               sample.bench.count(SLOW_POLLED_PER_S)]
    server = sample.start("server", [*command, "-B", port])
    server.wait_listening(port)
    client = sample.start("client", [*command, "-P", port, "127.0.0.1"])
    client.wait(LIMIT)
    server.wait(LIMIT)
    return outputs.fi_pingpong(client.text())


def fabric_stream(sample, provider, size):
    port = harness.free_port()
    client, _ = sample.pair(
        [sample.bin("bench-fabric"), "-w", sample.bench.window_ms, provider,
         port, size], ["127.0.0.1"], port)
    return outputs.own(client)


def ucx(sample, tls, test, size, is_latency=False, depth=None):
    harness.need("ucx_perftest")
    port = harness.free_port()
    per_s = SLOW_POLLED_PER_S if is_latency else \
        min(MESSAGES_PER_S, OCTETS_PER_S / size)
    if tls == "tcp" and not is_latency:
        per_s = min(per_s, SLOW_MESSAGES_PER_S, SLOW_OCTETS_PER_S / size)
    if test == "ucp_get":
        per_s = min(per_s, UCX_GETS_PER_S)
    count = sample.bench.count(per_s)
    command = ["ucx_perftest", "-t", test, "-s", size, "-n", count, "-w",
               count // 10, "-p", port, "-f"]
    if depth:
        command += ["-O", depth]
    # Memory from the heap, as programs use it. UCX would allocate memory that
    # is mapped by both processes, and a put into that is a plain copy.
    sample.env.update(UCX_TLS=tls, UCX_ALLOC_PRIO="heap")
    client, _ = sample.pair(command, ["127.0.0.1"], port)
    return outputs.ucx_perftest(client)


def rstream(sample, size, is_stream):
    harness.need("rstream")
    port = harness.free_port()
    # It sends this many in each direction.
    count = sample.bench.count(
        min(SLOW_MESSAGES_PER_S, SLOW_OCTETS_PER_S / size) / 2
        if is_stream else SLOW_POLLED_PER_S)
    turns = ["-I", 1, "-C", count] if is_stream else ["-I", count, "-C", 1]
    client, _ = sample.pair(["rstream", "-S", size, *turns, "-p", port],
                            ["-s", "127.0.0.1"], port, is_listed=False)
    sample.demand_usiw()
    return outputs.rstream(client, size)


def qperf(sample, test, size):
    harness.need("qperf")
    port = harness.free_port()
    server = sample.start("server", ["qperf", "-lp", port])
    server.wait_listening(port)
    client = sample.start("client", ["qperf", "127.0.0.1", "-lp", port, "-t",
                                     1, "-m", size, "-e", 4, test])
    client.wait(LIMIT)
    return outputs.qperf(client.text())


# ---- stream sockets ----------------------------------------------------------------

def carried(sample, name, command, carrier, place=None):
    """A program whose sockets use one of three carriers."""
    if carrier == "rsockets":
        found = glob.glob(RSPRELOAD)
        if not found:
            raise LookupError("librspreload.so is not installed (librdmacm1)")
        # After the library that `usiw run` preloads.
        command = ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{found[0]}" '
                   'exec "$@"', "sh", *command]
    if place:
        cpus = sorted(os.sched_getaffinity(0))
        is_last = place == "apart" and name == "client"
        command = ["taskset", "-c", cpus[-1 if is_last else 0], *command]
    return sample.start(name, command,
                        words=["--sdp"] if carrier == "sdp" else [])


def sockets_pair(sample, carrier, port, server, client, place=None,
                 has_end=True):
    """The output of both. A listener of rsockets is in no list of the
    kernel."""
    first = carried(sample, "server", server, carrier, place)
    if carrier == "rsockets":
        first.wait_waiting()
    else:
        first.wait_listening(port)
    cpu_s = programs_cpu_s(first)
    second = carried(sample, "client", client, carrier, place)
    second.wait(LIMIT)
    sample.cpu_s = programs_cpu_s(first) - cpu_s
    if has_end:
        first.wait(LIMIT)
    if not sample.is_from_tcp:
        sample.demand_usiw()
    return second.text(), first.text()


def programs_cpu_s(running):
    """CPU time of the programs that have ended, and of one that runs."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        with open(f"/proc/{running.pid}/stat", encoding="utf-8") as f:
            field = f.read().rpartition(")")[2].split()
    except OSError:
        field = [0] * 13
    return ended.ru_utime + ended.ru_stime + \
        (int(field[11]) + int(field[12])) / os.sysconf("SC_CLK_TCK")


def loaded(sample):
    for _ in range(LOAD):
        busy(sample)


def iperf3(sample, carrier, size, is_loaded=False):
    harness.need("iperf3")
    port = harness.free_port()
    if is_loaded:
        loaded(sample)
    client, _ = sockets_pair(
        sample, carrier, port, ["iperf3", "-s", "-1", "-p", port],
        ["iperf3", "-c", "127.0.0.1", "-p", port, "-l", size, "-t", 1, "-J"])
    return outputs.iperf3(client)


def redis(sample, carrier, clients, place, is_loaded=False):
    harness.need("redis-server", "redis-benchmark")
    port = harness.free_port()
    count = sample.bench.count(2e4 if clients == 1 or is_loaded else 1e5)
    if is_loaded:
        loaded(sample)
    client, _ = sockets_pair(
        sample, carrier, port,
        ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
         "--appendonly", "no", "--dir", sample.directory],
        ["redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", clients,
         "-n", count, "-t", "get", "--csv"], place, has_end=False)
    found = outputs.redis(client)
    return found and {**found, "CPU us": sample.cpu_s / count * 1e6}


def sockets_pingpong(sample, carrier, size, place, is_loaded=False):
    port = harness.free_port()
    if is_loaded:
        loaded(sample)
    command = tcp_command(sample, port, "pingpong", size, [])
    client, server = map(outputs.own, sockets_pair(
        sample, carrier, port, command, command + ["127.0.0.1"], place))
    return {**client, **outputs.cpu_per_trip(client, server)}


def sockets_idle(sample, carrier, count):
    port = harness.free_port()
    command = ["prlimit", f"--nofile={FDS_EACH * count + FDS_REST}",
               "/usr/bin/python3", "-B", IDLE_SOCKETS]
    _, server = sockets_pair(sample, carrier, port,
                             command + ["serve", port, count],
                             command + ["connect", port, count])
    return {"KiB": float(server.split()[-1]) / 1024}


TOOLS = {tool.__name__: tool for tool in (
    perftest_bw, perftest_lat, verbs_stream, verbs_pairs, verbs_loops,
    verbs_pingpong, connect, memory, tcp_stream, tcp_pingpong, fi_pingpong,
    fabric_stream, ucx, rstream, qperf, iperf3, redis, sockets_pingpong,
    sockets_idle, perftest_type_bw, perftest_type_lat, raw_udp)}
