# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Reads the output of measuring programs, as {metric: value}.

Bandwidth is in MiB/s, message rates are in millions per second, times in
microseconds. A function returns {} if the text has no result.
"""
import json
import re

NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
MIB = 1 << 20


def own(text):
    """The lines "name=value" of bench/measure.c."""
    return {m.group(1): float(m.group(2)) for m in
            re.finditer(rf"^([^=\n]+)=({NUMBER})$", text, re.M)}


def cpu_per_gb(client, server):
    """From the output of both sides of a stream of bench/."""
    if not client.get("GB"):
        return {}
    return {"CPU s/GB": (client["CPU s"] + server["CPU s"]) / client["GB"]}


def cpu_per_trip(client, server):
    """From the output of both sides of a ping-pong."""
    if not client.get("trips"):
        return {}
    return {"CPU us/trip":
            (client["CPU s"] + server["CPU s"]) / client["trips"] * 1e6}


def perftest_bandwidth(table):
    """From the rows of tests/apps/perftest.py: peak, average, Mpps."""
    if not table or len(table[0][2]) < 3:
        return {}
    return {"MiB/s": table[0][2][1], "M/s": table[0][2][2]}


def perftest_latency(table):
    """Minimum, maximum, typical, average, deviation, p99, p99.9."""
    if not table or len(table[0][2]) < 7:
        return {}
    figures = table[0][2]
    return {"p50": figures[2], "p99": figures[5], "p99.9": figures[6]}


def fi_pingpong(text):
    """bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec"""
    found = re.search(rf"^\d\S* +\d\S* +=\S+ +\S+ +\S+ +{NUMBER} +"
                      rf"({NUMBER}) +{NUMBER}", text, re.M)
    return {"p50": float(found.group(1))} if found else {}


def ucx_perftest(text):
    """Iterations; time: percentile, average, overall; bandwidth: average,
    overall; messages per second: average, overall.  The last line counts."""
    found = re.findall(rf"^(?:Final:)? +(\d+(?: +{NUMBER}){{7}})\s*$", text,
                       re.M)
    if not found:
        return {}
    words = found[-1].split()
    return {"p50": float(words[1]), "MiB/s": float(words[5]),
            "M/s": float(words[7]) / 1e6}


def rstream(text, size):
    """name bytes xfers iters total time Gb/sec usec/xfer. The rate has two
    decimals, too few for small messages."""
    found = re.search(rf"^\S+ +\S+ +\S+ +\S+ +\S+ +{NUMBER}s +{NUMBER} +"
                      rf"({NUMBER})\s*$", text, re.M)
    if not found or not float(found.group(1)):
        return {}
    us = float(found.group(1))
    return {"MiB/s": size / us * 1e6 / MIB, "p50": us}


QPERF_UNITS = {"GB/sec": ("MiB/s", 1e9 / MIB), "MB/sec": ("MiB/s", 1e6 / MIB),
               "KB/sec": ("MiB/s", 1e3 / MIB), "ns": ("p50", 1e-3),
               "us": ("p50", 1), "ms": ("p50", 1e3)}


def qperf(text):
    found = re.search(rf"(?:bw|latency) += +({NUMBER}) (\S+)", text)
    if not found or found.group(2) not in QPERF_UNITS:
        return {}
    metric, factor = QPERF_UNITS[found.group(2)]
    return {metric: float(found.group(1)) * factor}


def iperf3(text):
    """The rate at the receiver, in Gbit/s, and the CPU time of both sides,
    which iperf3 tells in percent of its time."""
    if "{" not in text:
        return {}
    try:
        end = json.loads(text[text.index("{"):])["end"]
        rate, cpu = end["sum_received"], end["cpu_utilization_percent"]
        if not rate["bytes"]:
            return {}
        cpu_s = (cpu["host_total"] + cpu["remote_total"]) / 100 * \
            rate["seconds"]
    except (ValueError, KeyError):
        return {}
    return {"Gbit/s": rate["bits_per_second"] / 1e9,
            "CPU s/GB": cpu_s / (rate["bytes"] / 1e9)}


def redis(text):
    found = re.search(r'"GET","([0-9.]+)"', text)
    return {"1/s": float(found.group(1))} if found else {}


def connections(text):
    """From bench-connect, for one way: its name, and connections a second."""
    found = re.search(r"^(?:plain TCP|ibv_modify_qp|rdma_cm) +(\d+)", text,
                      re.M)
    return {"1/s": float(found.group(1))} if found else {}


def memory(text):
    """Earlier builds tell the rings' part separately."""
    found = re.search(rf"({NUMBER}) KiB per queue pair(?:, and ({NUMBER}) KiB)?",
                      text)
    if not found:
        return {}
    return {"KiB": float(found.group(1)) + float(found.group(2) or 0)}
