#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/outputs.py: the output of real programs."""
import types
import unittest
from unittest import mock

import place  # noqa: F401
import outputs
import ways

PERFTEST_LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    \
t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \

 8       1000          7.17           17993.13      346.67   \t       3595.62\
     \t4074.98\t\t14194.51 \t\t17993.13
---------------------------------------------------------------
"""
PERFTEST_BANDWIDTH = """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   \
MsgRate[Mpps]
 65536      1000             7443.35            389.29 \t\t   0.006229
---------------------------------------------------------------
"""
FI_PINGPONG = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
8       1k      =1k      15k         0.55s      0.03     276.24       0.00
"""
# 1.13 with -f has no "Final:"; without it, the earlier lines differ.
UCX_SHORT = """\
|     Test     | # iterations | 50.0%ile | average | overall |  average |
+--------------+--------------+----------+---------+---------+----------+
                        8000      7.064    65.144   199.698        0.12     \
  0.04       15351        5008
"""
UCX_LONG = """\
[thread 0]             10000      0.200     0.210     0.210      36.33      \
36.33     4762011     4762011
          20000      0.201     0.211     0.211      36.33      36.33     \
4762012     4762012
Final:                 30000      0.250     0.252     0.253      60.64      \
60.65     3968253     3950000
"""
RSTREAM = """\
name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer
custom    64k     1k      1       125m        0.71s      1.48     354.01
"""
REDIS = """\
"test","rps","avg_latency_ms","min_latency_ms"
"GET","12195.12","0.077","0.016"
"""
CONNECT = """\
connections with one message, per second, median of 1 rounds of 512:
rdma_cm              1639   goal  2000: MISSED
"""
MEMORY = ("""\
100 connected pairs, queues of 128: 20.6 KiB per queue pair
three more rounds of 10000 made and destroyed: +0 KiB
""", """\
100 connected pairs, queues of 128: 12.4 KiB per queue pair, and 8.2 KiB of \
rings
""")
IPERF3 = 'a warning\n{"end": {"sum_received": {"bytes": %d, ' \
    '"seconds": 2, "bits_per_second": 1.5e9}, "cpu_utilization_percent": ' \
    '{"host_total": 30, "remote_total": 20}}}'


class Outputs(unittest.TestCase):
    def test_own_programs(self):
        found = outputs.own("MiB/s=863.233\nGB=0.34\np99.9=1.2e-05\nfree text\n"
                            "CPU s=0.5\n")
        self.assertEqual(found, {"MiB/s": 863.233, "GB": 0.34,
                                 "p99.9": 1.2e-05, "CPU s": 0.5})

    def test_cpu_of_both_sides(self):
        self.assertEqual(
            outputs.cpu_per_gb({"GB": 2.0, "CPU s": 0.5}, {"CPU s": 0.7}),
            {"CPU s/GB": 0.6})
        self.assertEqual(outputs.cpu_per_gb({}, {"CPU s": 0.7}), {})
        self.assertEqual(
            outputs.cpu_per_trip({"trips": 1e6, "CPU s": 2.0}, {"CPU s": 1.0}),
            {"CPU us/trip": 3.0})
        self.assertEqual(outputs.cpu_per_trip({}, {"CPU s": 0.7}), {})

    def test_perftest(self):
        rows = ways.perftest.rows
        self.assertEqual(
            outputs.perftest_latency(rows(PERFTEST_LATENCY)),
            {"p50": 346.67, "p99": 14194.51, "p99.9": 17993.13})
        self.assertEqual(
            outputs.perftest_bandwidth(rows(PERFTEST_BANDWIDTH)),
            {"MiB/s": 389.29, "M/s": 0.006229})

    def tries(self, said):
        """How often a pair is started that fails and says this."""
        sample = types.SimpleNamespace(programs=[])

        def fail(*_, **__):
            sample.programs.append(mock.Mock(text=lambda: said))
            raise ways.perftest.harness.Failure("an empty row")

        with mock.patch.object(ways.perftest, "pair_once", fail):
            with self.assertRaises(ways.perftest.harness.Failure):
                ways.perftest.pair(sample, "ib_send_bw", [])
        return len(sample.programs)

    def test_perftest_is_run_again_without_a_clock(self):
        for said, tries in (
                ("Can't produce a report", ways.perftest.harness.TRIES),
                ("Correlation coefficient r^2: 0.546466 < 0.9",
                 ways.perftest.harness.TRIES),
                ("Unable to create QP.", 1)):
            self.assertEqual(self.tries(said), tries, said)

    def test_fi_pingpong(self):
        self.assertEqual(outputs.fi_pingpong(FI_PINGPONG), {"p50": 276.24})

    def test_ucx_perftest(self):
        self.assertEqual(outputs.ucx_perftest(UCX_SHORT),
                         {"p50": 7.064, "MiB/s": 0.04, "M/s": 0.005008})
        self.assertEqual(outputs.ucx_perftest(UCX_LONG),
                         {"p50": 0.25, "MiB/s": 60.65, "M/s": 3.95})

    def test_rstream(self):
        found = outputs.rstream(RSTREAM, 65536)
        self.assertEqual(found["p50"], 354.01)
        self.assertAlmostEqual(found["MiB/s"], 176.5, places=1)

    def test_qperf(self):
        for text, metric, value in (
                ("tcp_lat:\n    latency  =  14.73 us\n", "p50", 14.73),
                ("tcp_lat:\n    latency  =  1.5 ms\n", "p50", 1500),
                ("tcp_bw:\n    bw  =  1.053 GB/sec\n", "MiB/s", 1004.2),
                ("tcp_bw:\n    bw  =  500 MB/sec\n", "MiB/s", 476.8)):
            with self.subTest(text=text):
                found = outputs.qperf(text)
                self.assertAlmostEqual(found[metric], value, places=1)

    def test_stream_sockets(self):
        self.assertEqual(outputs.iperf3(IPERF3 % 5e9),
                         {"Gbit/s": 1.5, "CPU s/GB": 0.2})
        self.assertEqual(outputs.iperf3(IPERF3 % 0), {})
        self.assertEqual(outputs.redis(REDIS), {"1/s": 12195.12})

    def test_connections_and_memory(self):
        self.assertEqual(outputs.connections(CONNECT), {"1/s": 1639})
        for text in MEMORY:
            self.assertEqual(outputs.memory(text), {"KiB": 20.6})

    def test_no_result_is_no_figure(self):
        for function in (outputs.own, outputs.fi_pingpong,
                         outputs.ucx_perftest, outputs.qperf, outputs.iperf3,
                         outputs.redis, outputs.connections, outputs.memory):
            for text in ("", "error: connection refused\n", "{ no JSON"):
                with self.subTest(function=function.__name__, text=text):
                    self.assertEqual(function(text), {})
        self.assertEqual(outputs.rstream("rconnect: refused\n", 8), {})
        self.assertEqual(outputs.perftest_latency([]), {})
        self.assertEqual(outputs.perftest_bandwidth([]), {})


if __name__ == "__main__":
    unittest.main()
