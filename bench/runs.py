# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the benchmarks share: one measurement, and many in turn."""
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tests", "apps"))
import harness  # noqa: E402  (after the path is known)
import perftest  # noqa: E402

RAW = os.path.join(harness.BUILD, "bin", "bench-raw-tcp")
LATENCY_TYPICAL, BANDWIDTH_AVERAGE = 2, 1  # columns after size, iterations


def usiw_of(build):
    """The usiw of a build directory; None: that of this build."""
    if build is None:
        return harness.USIW
    return os.path.join(os.path.abspath(build), "bin", "usiw")


def need(*programs, builds=(None,), raw=True):
    """Ends the program when something is missing, and says how to get it."""
    missing = []
    for build in dict.fromkeys(builds):
        if not os.access(usiw_of(build), os.X_OK):
            missing.append(f"{usiw_of(build)}: build it, 'make demo' or "
                           "'cmake --build build'; USIW_BUILD_DIR names "
                           "another build directory")
    if raw and not os.access(RAW, os.X_OK):
        missing.append(f"{RAW}: 'cmake --build build --target bench-raw-tcp'")
    for program in programs:
        if not shutil.which(program):
            missing.append(f"{program}: 'scripts/install-deps demo' installs "
                           "perftest")
    if missing:
        sys.exit("missing:\n  " + "\n  ".join(missing))
    try:
        harness.check_environment()
    except (harness.Failure, harness.Skip) as e:
        sys.exit(str(e))


def raw(mode, size, count, spin=False):
    """One figure of plain TCP: microseconds or MiB/s."""
    with Quiet(f"raw {mode}") as test:
        port = harness.free_port()
        words = [RAW, mode, port, size, count] + (["spin"] if spin else [])
        server = test.start("server", words, usiw=False)
        server.wait_listening(port)
        client = test.start("client", words + ["127.0.0.1"], usiw=False)
        client.wait(120)
        server.wait(20)
        return float(client.text())


def perf(program, size, count, column, env, build=None):
    """One figure of perftest under the usiw of a build."""
    with Quiet(program) as test:
        test.usiw = usiw_of(build)
        table = perftest.pair(test, program,
                              ["-s", str(size), "-n", str(count)], env=env)
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


class Figures:
    """What one measurement gave in each round."""

    def __init__(self):
        self.values = []

    def quartiles(self):
        if len(self.values) < 2:
            return self.values * 3
        return statistics.quantiles(self.values, n=4, method="inclusive")

    @property
    def median(self):
        return statistics.median(self.values)

    def spread(self, digits):
        """The middle half of the rounds lies between these."""
        low, _, high = self.quartiles()
        return f"{low:.{digits}f}..{high:.{digits}f}"

    def over(self, other):
        """Round by round, this divided by another."""
        ratios = Figures()
        ratios.values = [a / b for a, b in zip(self.values, other.values)]
        return ratios


def interleave(rounds, measurements):
    """{name: Figures} of {name: function}, each called once per round: what
    disturbs one disturbs its neighbours as well.  Every second round goes
    backwards, so that none always comes first."""
    figures = {name: Figures() for name in measurements}
    for i in range(rounds):
        turn = list(measurements.items())
        for name, measure in reversed(turn) if i % 2 else turn:
            figures[name].values.append(measure())
    return figures


def medians(rounds, measurements):
    return {name: figures.median for name, figures in
            interleave(rounds, measurements).items()}


def compare(title, rounds, base, this, digits):
    """One row: a measurement with the usiw of another build, and this one.
    Return: the ratio of the medians."""
    figures = interleave(rounds, {"base": base, "this": this})
    ratios = figures["this"].over(figures["base"])
    ratio = figures["this"].median / figures["base"].median
    print(f"{title:<34} "
          f"{figures['base'].median:9.{digits}f} "
          f"{figures['base'].spread(digits):>15} "
          f"{figures['this'].median:9.{digits}f} "
          f"{figures['this'].spread(digits):>15} "
          f"{ratio:6.3f} {ratios.spread(3):>13}", flush=True)
    return ratio


def compare_head(unit):
    print(f"{unit:<34} {'base':>9} {'middle half':>15} {'this':>9} "
          f"{'middle half':>15} {'ratio':>6} {'middle half':>13}")
