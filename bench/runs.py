# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the benchmarks share: one measurement, and many in turn."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tests", "apps"))
import harness  # noqa: E402  (after the path is known)
import perftest  # noqa: E402

RAW = os.path.join(harness.BUILD, "bin", "bench-raw-tcp")
LATENCY_TYPICAL, BANDWIDTH_AVERAGE = 2, 1  # columns after size, iterations


def raw(mode, size, count, spin=False):
    """One figure of plain TCP: microseconds or MiB/s."""
    if not os.access(RAW, os.X_OK):
        sys.exit(f"{RAW} is not built; `make` builds it (`make demo` does "
                 "not)")
    with Quiet(f"raw {mode}") as test:
        port = harness.free_port()
        words = [RAW, mode, port, size, count] + (["spin"] if spin else [])
        server = test.start("server", words, usiw=False)
        server.wait_listening(port)
        client = test.start("client", words + ["127.0.0.1"], usiw=False)
        client.wait(120)
        server.wait(20)
        return float(client.text())


def perf(program, size, count, column, crc):
    """One figure of perftest under usiw."""
    with Quiet(program) as test:
        table = perftest.pair(test, program,
                              ["-s", str(size), "-n", str(count)],
                              env={"USIW_CRC": crc})
        return table[0][2][column]


class Quiet(harness.Test):
    """A test that says nothing when it passes."""

    def __exit__(self, kind, value, trace):
        if kind:
            super().__exit__(kind, value, trace)
            return
        stdout, sys.stdout = sys.stdout, open(os.devnull, "w")
        try:
            super().__exit__(kind, value, trace)
        finally:
            sys.stdout.close()
            sys.stdout = stdout


def interleave(rounds, measurements):
    """{name: median} of {name: function}, each called once per round: what
    disturbs one disturbs its neighbours as well."""
    figures = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            figures[name].append(measure())
    return {name: statistics.median(f) for name, f in figures.items()}
