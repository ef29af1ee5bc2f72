# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The targets, as data, and whether a run has met them."""
import dataclasses
import fnmatch

import rows

KIB, MIB = rows.KIB, rows.MIB
MET, MISSED, UNKNOWN = "met", "NOT MET", "not measured"


@dataclasses.dataclass(frozen=True)
class Target:
    """At least or at most `bound`: the metric itself; with a peer, its ratio
    to that peer; with is_slowest, the worst round's ratio to the median."""
    rows: str  # pattern of names
    way: str
    bound: float
    is_least: bool
    peer: str = None
    metric: str = None  # None: the row's first
    is_slowest: bool = False


def least(names, way, bound, **how):
    return Target(names, way, bound, True, **how)


def most(names, way, bound, **how):
    return Target(names, way, bound, False, **how)


def local_targets():
    for op in ("send", "write"):
        row = f"*{op}-lat-8"
        yield most(row, "local", 0.5)
        yield most(row, "local", 1 / 8, peer="TCP spinning")
        yield most(row, "local", 5, metric="p99.9")
        yield least(f"{op}-rate-64-list1-qp1", "local", 6)
        yield least(f"{op}-rate-64-list32-qp1", "local", 10)
        yield least(f"{op}-bw-4096", "local", round(8e9 / MIB))
    yield most("*send-lat-8-events", "local", 0.9, peer="TCP blocking")
    yield most("ud-lat-8", "local", 1.2, peer="RC, local")
    yield least("ud-rate-64", "local", 1, peer="UDP, lists of 32")
    for way in rows.DEFAULT:
        yield most("uc-lat-*", way, 1, peer=f"RC, {way}")
        yield least("uc-bw-*", way, 1, peer=f"RC, {way}")
    for op in rows.OPS:
        for size in (64 * KIB, 256 * KIB, MIB):
            yield least(f"{op}-64-buffers-{size}", "local", 1.8, peer="TCP")
            yield least(f"*{op}-bw-{size}", "local", 2, peer="TCP")
        yield least(f"{op}-bw-{MIB}", "local", 1, peer="UCX shm")
    for size in (64 * KIB, MIB):
        yield least(f"sdp-iperf3-{size}", "local", 1.3, peer="TCP")
    for place in rows.PLACES:
        yield least(f"sdp-redis-50-{place}", "local", 1.3, peer="TCP")


def wire_targets():
    shares = {"write": (0.95, 0.85), "send": (0.95, 0.85),
              "read": (0.90, 0.80)}
    for size in (64 * KIB, 256 * KIB, MIB, 8 * MIB):
        for op, bounds in shares.items():
            for way, bound in zip(("wire", "wire CRC"), bounds):
                row = f"*{op}-bw-{size}"
                yield least(row, way, bound, peer="TCP")
                yield least(row, way, 0.7, is_slowest=True)
    yield most("*send-lat-8", "wire CRC", 1.15, peer="TCP spinning")
    yield most("*send-lat-8-events", "wire CRC", 1.3, peer="TCP blocking")
    yield most("*write-lat-8", "wire CRC", 1, peer="TCP blocking")
    yield most("*write-lat-8", "wire CRC", 100, metric="p99")
    yield most("*write-lat-8", "wire CRC", 300, metric="p99.9")
    yield least("write-rate-64-list1-qp1", "wire CRC", 2.5)
    yield least("send-rate-64-list1-qp1", "wire CRC", 1.5)


def other_targets():
    for way in rows.DEFAULT:
        yield least("connect-modify", way, 5000)
        yield least("connect-cm", way, 2000)
        yield most("memory", way, 16)
        yield most("send-lat-8-among-idle", way, 1.2, peer=f"alone, {way}")
        yield least("*-threads-2", f"{way}, engines", 1,
                    peer=f"2 processes, {way}")
        # Equal, within the spread.
        yield least("*-loops-2", f"{way}, engines", 0.95,
                    peer=f"2 processes, {way}")
    for way, other in (("markers", "no markers"),
                       ("markers CRC", "no markers, CRC")):
        yield least("markers-*", way, 0.25, peer=other)
    yield most("sdp-idle", "wire", 100)


def socket_targets():
    for way in rows.SDP_LOADED:
        yield most("sdp-pingpong-1-*-cpu", way, 1.5, peer="TCP")
        yield most("sdp-redis-50-*-cpu", way, 1, peer="TCP")
        yield most("sdp-iperf3-65536-cpu", way, 0.7, peer="TCP")
        yield most("sdp-pingpong-1-apart", way, 1, peer="TCP")
        yield most("sdp-pingpong-1-together", way, 1, peer="TCP")
        yield most("sdp-pingpong-loaded", way, 1.5, peer="TCP")
        for row in ("redis", "iperf3"):
            yield least(f"sdp-{row}-loaded", way, 1 / 1.5, peer="TCP")


# usiw should be faster than these in every row that has them.
BEHIND = ("libfabric tcp", "UCX tcp", "rsockets", "siw", "rxe")


def table(all_rows, is_kernel=False):
    """In the guest only the comparison with the kernel's drivers counts."""
    found = [] if is_kernel else [*local_targets(), *wire_targets(),
                                  *other_targets(), *socket_targets()]
    for row in all_rows:
        peers = [w.name for w in row.ways if w.is_peer and w.name in BEHIND]
        for way in row.ways:
            if not way.is_peer:
                found += [Target(row.name, way.name, 1,
                                 row.better == rows.MORE, peer=p)
                          for p in peers]
    return found


@dataclasses.dataclass(frozen=True)
class Verdict:
    row: rows.Row
    target: Target
    value: float  # None: not measured
    state: str
    reason: str = ""

    @property
    def what(self):
        """The target in words."""
        sign = ">=" if self.target.is_least else "<="
        metric = self.target.metric or self.row.metrics[0]
        text = f"{sign} {self.target.bound:g}"
        if self.target.is_slowest:
            return f"{text} of its median, the slowest round"
        if self.target.peer:
            return f"{text} of {self.target.peer}"
        unit = self.row.unit
        return f"{metric} {text} {unit}" if metric != unit else \
            f"{text} {unit}"


def value_of(row, target, samples):
    """The measured number, or the reason why there is none."""
    metric = target.metric or row.metrics[0]
    own = samples.get(row.name, target.way, metric)
    if own is None:
        return None, samples.why_not(row.name, target.way) or "did not run"
    if target.is_slowest:
        if len(own.values) < 2:
            return None, "one round has no spread"
        worst = own.low if row.better == rows.MORE else own.high
        return worst / own.median, ""
    if not target.peer:
        return own.median, ""
    other = samples.get(row.name, target.peer, metric)
    if other is None:
        return None, samples.why_not(row.name, target.peer) or "did not run"
    return own.median / other.median, ""


def judge(all_rows, targets, samples):
    """The result for each target in each row that it applies to."""
    found = []
    for target in targets:
        for row in all_rows:
            if not fnmatch.fnmatchcase(row.name, target.rows):
                continue
            value, reason = value_of(row, target, samples)
            if value is None:
                state = UNKNOWN
            else:
                is_met = (value >= target.bound if target.is_least
                          else value <= target.bound)
                state = MET if is_met else MISSED
            found.append(Verdict(row, target, value, state, reason))
    return found
