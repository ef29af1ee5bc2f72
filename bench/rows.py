# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table: the loads, the programs that measure them, and the peers.

A row has ways: usiw in one or several settings, and the peers that carry the
same load. Tools are functions of ways.py, given by name.
"""
import dataclasses
import itertools

LESS, MORE = "less", "more"
KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Setting:
    """The settings of a verbs stack."""
    stack: str  # usiw, or a driver of the kernel
    env: tuple = ()
    need: str = ""  # a setting that the build must have

    @property
    def is_local(self):
        return ("USIW_LOCAL", "auto") in self.env


# The names of usiw's ways. USIW_LOCAL is left out if the build does not have
# it.
SETTINGS = {
    "wire": Setting("usiw", (("USIW_CRC", "off"), ("USIW_LOCAL", "off"))),
    "wire CRC": Setting("usiw", (("USIW_CRC", "on"), ("USIW_LOCAL", "off"))),
    "local": Setting("usiw", (("USIW_LOCAL", "auto"),), "USIW_LOCAL"),
    # Connections of stream sockets that begin as TCP, as by default; bench
    # begins others with SDP.
    "local, from TCP": Setting("usiw", (("USIW_LOCAL", "auto"),
                                        ("USIW_SDP_AFTER", "65536")),
                               "USIW_SDP_AFTER"),
    # An engine for each thread in place of one for two CPUs.
    "wire CRC, engines": Setting("usiw", (("USIW_CRC", "on"),
                                          ("USIW_LOCAL", "off"),
                                          ("USIW_ENGINES", "16")),
                                 "USIW_ENGINES"),
    "local, engines": Setting("usiw", (("USIW_LOCAL", "auto"),
                                       ("USIW_ENGINES", "16")),
                              "USIW_ENGINES"),
    "markers": Setting("usiw", (("USIW_CRC", "off"), ("USIW_LOCAL", "off"),
                                ("USIW_MARKERS", "on"))),
    "markers CRC": Setting("usiw", (("USIW_CRC", "on"), ("USIW_LOCAL", "off"),
                                    ("USIW_MARKERS", "on"))),
    "siw": Setting("siw"),
    "rxe": Setting("rxe"),
}
# Without CRC first, because peers without a checksum are compared with it.
BOTH = ("wire", "wire CRC", "local")
DEFAULT = ("wire CRC", "local")
ENGINES = tuple(f"{way}, engines" for way in DEFAULT)


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    tool: str
    args: tuple = ()  # (name, value)...
    setting: str = None  # of SETTINGS; None: no verbs
    build: str = None  # usiw's build directory; None: this one
    is_peer: bool = True

    @property
    def key(self):
        """Ways with the same key are the same measurement."""
        return self.tool, self.args, self.setting, self.build


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    group: str
    title: str
    unit: str
    better: str
    ways: tuple
    metrics: tuple  # the first is the row's; the ratio is computed from it
    rounds: int = None


def usiw(tool, settings, **args):
    """usiw's own ways of a row."""
    return tuple(Way(s, tool, tuple(args.items()), s, is_peer=False)
                 for s in settings)


def peer(name, tool, setting=None, **args):
    return (Way(name, tool, tuple(args.items()), setting),)


def octets(size):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


# ---- bandwidth -------------------------------------------------------------------

OPS = ("write", "send", "read")
SIZES = (64, KIB, 4 * KIB, 64 * KIB, 256 * KIB, MIB, 8 * MIB)
# The sizes at which the other libraries are measured.
PEER_SIZES = (64, 4 * KIB, 64 * KIB, MIB)
UCX_BANDWIDTH = {"write": "ucp_put_bw", "send": "tag_bw", "read": "ucp_get"}
MANY = 64  # buffers that together do not fit into a cache


def fabric_peers(size):
    return peer("libfabric tcp", "fabric_stream", provider="tcp;ofi_rxm",
                size=size) + \
        peer("libfabric shm", "fabric_stream", provider="shm", size=size)


def framed_peer(size):
    """The most that TCP carries here: nobody sleeps, and each call moves what
    an FPDU holds."""
    return peer("TCP framed, spinning", "tcp_stream", size=size,
                is_framed=True)


def bandwidth_peers(op, size):
    ways = peer("TCP", "tcp_stream", size=size)
    if size >= 64 * KIB:
        ways += framed_peer(size)
    if size in PEER_SIZES:
        ways += peer("UCX tcp", "ucx", tls="tcp", test=UCX_BANDWIDTH[op],
                     size=size)
        ways += peer("UCX shm", "ucx", tls="posix,cma",
                     test=UCX_BANDWIDTH[op], size=size)
        if op == "send":
            ways += peer("rsockets", "rstream", "wire", size=size,
                         is_stream=True)
            ways += fabric_peers(size)
    if size == 64 * KIB and op == "send":
        ways += peer("qperf tcp", "qperf", test="tcp_bw", size=size)
    return ways


def bandwidth():
    for size, op in itertools.product(SIZES, OPS):
        yield Row(f"{op}-bw-{size}", "bandwidth", f"{op} {octets(size)}",
                  "MiB/s", MORE,
                  usiw("verbs_stream", BOTH, op=op, size=size) +
                  bandwidth_peers(op, size), ("MiB/s",))
    for size, op in itertools.product((64 * KIB, 256 * KIB, MIB), OPS):
        yield Row(f"{op}-{MANY}-buffers-{size}", f"bandwidth, {MANY} buffers",
                  f"{op} {octets(size)}, {MANY} buffers in turn", "MiB/s", MORE,
                  usiw("verbs_stream", BOTH, op=op, size=size, bufs=MANY) +
                  peer("TCP", "tcp_stream", size=size, bufs=MANY),
                  ("MiB/s",))


def passive():
    """The program at the other end does not poll, so its completion thread
    serves."""
    for size, op in itertools.product((64, 4 * KIB, 64 * KIB, MIB),
                                      ("write", "read")):
        yield Row(f"{op}-passive-{size}", "bandwidth, passive target",
                  f"{op} {octets(size)}, the target does not poll", "MiB/s",
                  MORE,
                  usiw("verbs_stream", BOTH, op=op, size=size,
                       is_passive=True) +
                  peer("TCP", "tcp_stream", size=size), ("MiB/s",))


def touched():
    """Data that is written before it is sent, and read after it has come. If
    it is not, source and sink stay in the cache of one CPU."""
    for size, op in itertools.product((4 * KIB, 64 * KIB, MIB),
                                      ("send", "read")):
        yield Row(f"{op}-touched-{size}", "bandwidth, data in use",
                  f"{op} {octets(size)}, data in use", "MiB/s", MORE,
                  usiw("verbs_stream", BOTH, op=op, size=size,
                       is_touched=True) +
                  peer("TCP", "tcp_stream", size=size, is_touched=True),
                  ("MiB/s",))


def busy():
    """A third program runs, on two CPUs."""
    for op, size in (("send", 64), ("write", 64), ("read", 64),
                     ("read", 4 * KIB), ("write", 64 * KIB)):
        yield Row(f"{op}-busy-{size}", "beside a busy program",
                  f"{op} {octets(size)} beside a busy program", "MiB/s", MORE,
                  usiw("verbs_stream", BOTH, op=op, size=size, is_busy=True) +
                  peer("TCP", "tcp_stream", size=size, is_busy=True),
                  ("MiB/s",))
    for op in ("send", "write"):
        yield Row(f"{op}-lat-8-busy", "beside a busy program",
                  f"{op} 8 B beside a busy program, half a round trip", "us",
                  LESS,
                  usiw("verbs_pingpong", DEFAULT, op=op, size=8,
                       is_busy=True) +
                  peer("TCP blocking", "tcp_pingpong", size=8, is_busy=True),
                  TIMES)


def markers():
    for op in OPS:
        yield Row(f"markers-{op}", "markers",
                  f"{op} {octets(MIB)}, markers both ways", "MiB/s", MORE,
                  usiw("verbs_stream", ("markers", "markers CRC"), op=op,
                       size=MIB) +
                  peer("no markers", "verbs_stream", "wire", op=op, size=MIB) +
                  peer("no markers, CRC", "verbs_stream", "wire CRC", op=op,
                       size=MIB), ("MiB/s",))


# ---- message rates -----------------------------------------------------------------

LISTS = (1, 32)
QPS = (1, 4, 16)
THREADS = (1, 2, 4)


def rates():
    for op, size, length, qps in itertools.product(("write", "send"), (8, 64),
                                                   LISTS, QPS):
        ways = usiw("verbs_stream", DEFAULT, op=op, size=size, list=length,
                    qps=qps)
        if length == qps == 1:
            test = UCX_BANDWIDTH[op]
            ways += peer("UCX tcp", "ucx", tls="tcp", test=test, size=size)
            ways += peer("UCX shm", "ucx", tls="posix,cma", test=test,
                         size=size)
            if op == "send":
                ways += fabric_peers(size)
        how = f"lists of {length}" if length > 1 else "singly"
        yield Row(f"{op}-rate-{size}-list{length}-qp{qps}", "message rate",
                  f"{op} {octets(size)}, {how}, {qps} QP", "M/s", MORE, ways,
                  ("M/s",))


def threads():
    for count, op in itertools.product(THREADS, ("write", "send")):
        yield Row(f"{op}-threads-{count}", "threads",
                  f"{op} 64 B singly, {count} threads, one context", "M/s",
                  MORE,
                  usiw("verbs_stream", DEFAULT + ENGINES, op=op, size=64,
                       threads=count) +
                  tuple(way for s in DEFAULT for way in
                        peer(f"1 thread, {s}", "verbs_stream", s, op=op,
                             size=64, threads=1) +
                        peer(f"{count} processes, {s}", "verbs_pairs", s,
                             op=op, size=64, pairs=count)), ("M/s",))
    for op in ("write", "send"):
        args = {"op": op, "size": 64}
        yield Row(f"{op}-loops-2", "threads",
                  f"{op} 64 B, 2 threads to themselves, one context", "M/s",
                  MORE,
                  usiw("verbs_loops", DEFAULT + ENGINES, threads=2, **args) +
                  tuple(way for s in DEFAULT for way in
                        peer(f"1 thread, {s}", "verbs_loops", s, **args) +
                        peer(f"2 processes, {s}", "verbs_loops", s,
                             processes=2, **args)), ("M/s",))


# ---- latency -----------------------------------------------------------------------

TIMES = ("p50", "p99", "p99.9")
LATENCY_SIZES = (8, 4 * KIB)
UCX_LATENCY = {"write": "ucp_put_lat", "send": "tag_lat", "read": "ucp_get"}


def blocking_peers(size):
    """The scheduler places both sides of the first; those of the second have a
    processor each, and one has to wake the other's."""
    return peer("TCP blocking", "tcp_pingpong", size=size) + \
        peer("TCP apart", "sockets_pingpong", carrier="tcp", size=size,
             place="apart")


def latency_peers(op, size, is_event):
    if is_event:
        return blocking_peers(size)
    ways = ()
    if op in ("write", "send"):
        ways += peer("TCP spinning", "tcp_pingpong", size=size, is_spin=True)
        ways += blocking_peers(size)
    if op in UCX_LATENCY:
        depth = 1 if op == "read" else None
        for name, tls in (("UCX tcp", "tcp"), ("UCX shm", "posix,cma")):
            ways += peer(name, "ucx", tls=tls, test=UCX_LATENCY[op],
                         size=size, is_latency=True, depth=depth)
    if op == "send":
        for provider in ("tcp", "shm"):
            ways += peer(f"libfabric {provider}", "fi_pingpong",
                         provider=provider, size=size)
        ways += peer("rsockets", "rstream", "wire CRC", size=size,
                     is_stream=False)
        if size == 8:
            ways += peer("qperf tcp", "qperf", test="tcp_lat", size=size)
    return ways


def latency():
    for op, size, is_event in itertools.product(
            ("send", "write", "read", "atomic"), LATENCY_SIZES,
            (False, True)):
        if op == "atomic" and size != 8 or op == "write" and is_event:
            continue  # no event comes to a receiver that spins on memory
        whole = op in ("read", "atomic")
        yield Row(f"{op}-lat-{size}" + ("-events" if is_event else ""),
                  "latency, events" if is_event else "latency, polled",
                  f"{op} {octets(size)}{', events' if is_event else ''}, " +
                  ("a whole" if whole else "half a") + " round trip",
                  "us", LESS,
                  usiw("verbs_pingpong", DEFAULT, op=op, size=size,
                       is_event=is_event) +
                  latency_peers(op, size, is_event), TIMES)
    yield from disturbed()


def programs():
    """The same by perftest, which needs one and a half seconds for a
    sample."""
    for op, size in (("write", 64 * KIB), ("write", MIB), ("send", MIB),
                     ("read", MIB)):
        yield Row(f"perftest-{op}-bw-{size}", "perftest, bandwidth",
                  f"`ib_{op}_bw -R -s {size}`", "MiB/s", MORE,
                  usiw("perftest_bw", BOTH, op=op, size=size) +
                  peer("TCP", "tcp_stream", size=size), ("MiB/s",))
    for op, is_event in (("send", False), ("send", True), ("write", False)):
        yield Row(f"perftest-{op}-lat-8" + ("-events" if is_event else ""),
                  "perftest, latency",
                  f"`ib_{op}_lat -R -s 8{' -e' if is_event else ''}`, half a "
                  "round trip", "us", LESS,
                  usiw("perftest_lat", DEFAULT, op=op, size=8,
                       is_event=is_event) +
                  (() if is_event else
                   peer("TCP spinning", "tcp_pingpong", size=8,
                        is_spin=True)) +
                  blocking_peers(8), TIMES)


def datagrams():
    yield Row("ud-lat-8", "datagrams",
              "`ib_send_lat -c UD -s 8`, half a round trip", "us", LESS,
              usiw("perftest_type_lat", ("local",), qp_type="UD", op="send",
                   size=8) +
              peer("UDP spinning", "raw_udp", mode="pingpong", size=8) +
              peer("RC, local", "perftest_lat", "local", op="send", size=8,
                   is_event=False), TIMES)
    yield Row("ud-rate-64", "datagrams", "`ib_send_bw -c UD -s 64`", "M/s",
              MORE, usiw("perftest_type_bw", ("local",), qp_type="UD",
                         op="send", size=64) +
              peer("UDP, lists of 32", "raw_udp", mode="rate", size=64),
              ("M/s",))


def unreliable():
    """UC beside RC, both connected by hand."""
    for kind, op, size, metrics in (("lat", "send", 8, TIMES),
                                    ("lat", "write", 8, TIMES),
                                    ("bw", "write", 64, ("MiB/s",)),
                                    ("bw", "write", 64 * KIB, ("MiB/s",))):
        tool, args = f"perftest_type_{kind}", {"op": op, "size": size}
        yield Row(f"uc-{kind}-{op}-{size}", "unreliable connections",
                  f"`ib_{op}_{kind} -c UC -s {size}`" +
                  (", half a round trip" if kind == "lat" else ""),
                  *(("us", LESS) if kind == "lat" else ("MiB/s", MORE)),
                  usiw(tool, DEFAULT, qp_type="UC", **args) +
                  tuple(way for s in DEFAULT for way in
                        peer(f"RC, {s}", tool, s, qp_type="RC", **args)),
                  metrics)


IDLE = 1000


def disturbed():
    alone = tuple(way for s in DEFAULT for way in
                  peer(f"alone, {s}", "verbs_pingpong", s, op="send",
                       size=8, is_event=False))
    yield Row("send-lat-8-beside-bulk", "latency, disturbed",
              "8 B send beside a bulk write of 64 KiB messages, half a round "
              "trip", "us", LESS,
              usiw("verbs_pingpong", DEFAULT, op="send", size=8,
                   is_beside_bulk=True) +
              alone, TIMES + ("MiB/s",))
    yield Row("send-lat-8-among-idle", "latency, disturbed",
              f"8 B send among {IDLE} idle connections, half a round trip",
              "us", LESS,
              usiw("verbs_pingpong", DEFAULT, op="send", size=8,
                   idle=IDLE) + alone, TIMES)


# ---- cost --------------------------------------------------------------------------

def costs():
    for op in OPS:
        yield Row(f"{op}-cpu", "cost",
                  f"{op} 1 MiB, events: CPU seconds of both sides per GB",
                  "CPU s/GB", LESS,
                  usiw("verbs_stream", BOTH, op=op, size=MIB, is_event=True) +
                  peer("TCP", "tcp_stream", size=MIB),
                  ("CPU s/GB", "MiB/s"))
    for how, title in (("cm", "`rdma_cm`"), ("modify", "`ibv_modify_qp()`")):
        yield Row(f"connect-{how}", "cost",
                  f"connections by {title}, each with a message", "1/s", MORE,
                  usiw("connect", DEFAULT, how=how) +
                  peer("TCP", "connect", how="tcp"), ("1/s",))
    yield Row("memory", "cost",
              "memory of an idle QP with queues of 128",
              "KiB", LESS, usiw("memory", DEFAULT, pairs=1000),
              ("KiB",), rounds=1)


# ---- stream sockets ----------------------------------------------------------------

# If the scheduler decides, client and server have two speeds: a thread that is
# woken on another processor must wait until that processor wakes up.
PLACES = ("apart", "together")
SDP_IDLE = 4000
# "wire" and "local": SDP begins with the first octet.
SDP_WAYS = ("wire", "local", "local, from TCP")
SDP_LOADED = ("local", "local, from TCP")


def sdp_ways(tool, settings, has_rsockets=True, **args):
    ways = usiw(tool, settings, carrier="sdp", **args)
    ways += peer("TCP", tool, carrier="tcp", **args)
    if has_rsockets:
        ways += peer("rsockets", tool, "wire", carrier="rsockets", **args)
    return ways


def sdp():
    for size in (64 * KIB, MIB):
        ways = sdp_ways("iperf3", (*BOTH, "local, from TCP"), size=size,
                        has_rsockets=False)
        title = f"`iperf3 -l {size}` over SDP"
        yield Row(f"sdp-iperf3-{size}", "SDP", title, "Gbit/s", MORE, ways,
                  ("Gbit/s",))
        yield Row(f"sdp-iperf3-{size}-cpu", "SDP, cost",
                  f"{title}, CPU seconds of both per GB", "CPU s/GB", LESS,
                  ways, ("CPU s/GB",))
    for clients, place in itertools.product((1, 50), PLACES):
        ways = sdp_ways("redis", SDP_WAYS, clients=clients, place=place,
                        has_rsockets=False)
        title = f"`redis-benchmark -t get -c {clients}` over SDP, {place}"
        yield Row(f"sdp-redis-{clients}-{place}", "SDP", title, "1/s", MORE,
                  ways, ("1/s",))
        yield Row(f"sdp-redis-{clients}-{place}-cpu", "SDP, cost",
                  f"{title}, CPU time of both for a request", "CPU us", LESS,
                  ways, ("CPU us",))
    for size, place in itertools.product((1, 64 * KIB), PLACES):
        ways = sdp_ways("sockets_pingpong", SDP_WAYS, size=size, place=place)
        title = f"{octets(size)} over SDP, {place}"
        yield Row(f"sdp-pingpong-{size}-{place}", "SDP",
                  f"{title}, half a round trip", "us", LESS, ways, TIMES)
        yield Row(f"sdp-pingpong-{size}-{place}-cpu", "SDP, cost",
                  f"{title}, CPU time of both for a round trip",
                  "CPU us/trip", LESS, ways, ("CPU us/trip",))
    yield from sdp_loaded()
    yield Row("sdp-idle", "SDP",
              f"memory of a server for each of {SDP_IDLE} idle connections",
              "KiB", LESS,
              sdp_ways("sockets_idle", ("wire",), count=SDP_IDLE,
                       has_rsockets=False), ("KiB",), rounds=1)


def sdp_loaded():
    """Beside 20 programs that compute."""
    group, args = "SDP, loaded machine", {"has_rsockets": False,
                                          "is_loaded": True}
    yield Row("sdp-iperf3-loaded", group, f"`iperf3 -l {64 * KIB}` over SDP",
              "Gbit/s", MORE,
              sdp_ways("iperf3", SDP_LOADED, size=64 * KIB, **args),
              ("Gbit/s",), rounds=3)
    yield Row("sdp-redis-loaded", group,
              "`redis-benchmark -t get -c 50` over SDP", "1/s", MORE,
              sdp_ways("redis", SDP_LOADED, clients=50, place=None, **args),
              ("1/s",), rounds=3)
    yield Row("sdp-pingpong-loaded", group,
              "1 B over SDP, half a round trip", "us", LESS,
              sdp_ways("sockets_pingpong", SDP_LOADED, size=1, place=None,
                       **args), TIMES, rounds=3)


def table():
    return [*bandwidth(), *passive(), *touched(), *markers(), *busy(),
            *rates(), *threads(), *latency(), *programs(), *datagrams(),
            *unreliable(), *costs(), *sdp()]


# The rows of the first table of the report.
SHORT = ("write-bw-65536", "write-bw-1048576", "send-bw-65536",
         "send-bw-1048576", "read-bw-1048576", "write-rate-64-list1-qp1",
         "write-rate-64-list32-qp1", "send-rate-64-list1-qp1", "send-loops-2",
         "send-lat-8", "send-lat-8-events", "send-lat-8-among-idle",
         "write-lat-8", "read-lat-8", "atomic-lat-8", "perftest-send-lat-8",
         "perftest-write-lat-8", "write-cpu", "connect-cm", "memory",
         "sdp-iperf3-65536", "sdp-redis-50-apart", "sdp-pingpong-1-apart")


# ---- in the guest of tests/kernel-lab ----------------------------------------------

def kernel_table():
    """usiw and the kernel's drivers. The clock of an emulated CPU is not good
    enough for perftest, whose latencies are taken only where bench-verbs has
    no such queue pair. A stream of Sends needs perftest's flow control,
    because siw ends a connection if no receive is posted."""
    rows = []
    for size, op in itertools.product((64, 4 * KIB, 64 * KIB, MIB), OPS):
        tool = "perftest_bw" if op == "send" else "verbs_stream"
        rows.append(Row(f"{op}-bw-{size}", "bandwidth",
                        f"{op} {octets(size)}", "MiB/s", MORE,
                        usiw(tool, BOTH, op=op, size=size) +
                        kernel_peers(tool, op=op, size=size), ("MiB/s",)))
    for op, size, is_event in itertools.product(
            OPS, LATENCY_SIZES, (False, True)):
        if op == "write" and is_event:
            continue
        args = {"op": op, "size": size, "is_event": is_event}
        rows.append(Row(f"{op}-lat-{size}" + ("-events" if is_event else ""),
                        "latency",
                        f"{op} {octets(size)}"
                        f"{', events' if is_event else ''}", "us", LESS,
                        usiw("verbs_pingpong", DEFAULT, **args) +
                        kernel_peers("verbs_pingpong", **args), TIMES))
    return rows + list(kernel_types())


def kernel_types():
    """By perftest, connected by hand, which siw cannot be. Datagrams of one
    host always go through memory."""
    for (kind, op), is_rate in itertools.product(
            (("UD", "send"), ("UC", "write"), ("RC", "write")),
            (False, True)):
        op, how, size = (op, "bw", 64) if is_rate else ("send", "lat", 8)
        tool = f"perftest_type_{how}"
        args = {"op": op, "qp_type": kind, "size": size}
        yield Row(f"{kind.lower()}-{op}-{how}-{size}", "connected by hand",
                  f"`ib_{op}_{how} -c {kind} -s {size}`" +
                  ("" if is_rate else ", half a round trip"),
                  *(("M/s", MORE) if is_rate else ("us", LESS)),
                  usiw(tool, ("local",) if kind == "UD" else DEFAULT, **args) +
                  peer("rxe", tool, "rxe", **args),
                  ("M/s",) if is_rate else TIMES)


def kernel_peers(tool, **args):
    """The guest's rxe hangs in a ping-pong with events (Linux 6.1), and its
    programs cannot be ended then."""
    siw = peer("siw", tool, "siw", **args)
    if args.get("is_event"):
        return siw
    return siw + peer("rxe", tool, "rxe", **args)


# ---- two builds --------------------------------------------------------------------

def beside_base(rows, base):
    """Each of usiw's ways, with the build in `base` as its only peer."""
    found = []
    for row in rows:
        for way in row.ways:
            if way.is_peer:
                continue
            before = dataclasses.replace(way, name="base", build=base,
                                         is_peer=True)
            found.append(dataclasses.replace(
                row, name=f"{row.name}, {way.name}",
                title=f"{row.title}, {way.name}",
                ways=(dataclasses.replace(way, name="this"), before)))
    return found
