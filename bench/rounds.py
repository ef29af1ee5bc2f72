# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Measurements that take turns, and the figures that come of them."""
import statistics


class Figures:
    """What one measurement gave in each round."""

    def __init__(self, values=()):
        self.values = list(values)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)


def order(count, turn):
    """The positions 0 to count - 1 as round `turn` takes them: each round
    begins elsewhere, and every second one goes backwards, so that none always
    comes first or always follows the same neighbour."""
    if count == 0:
        return []
    start = turn * (count // 3 + 1) % count
    found = [(start + i) % count for i in range(count)]
    return found[::-1] if turn % 2 else found


class Samples:
    """All that was measured: figures by (row, way, metric), and why others
    are missing."""

    def __init__(self):
        self.figures = {}
        self.skipped = {}  # (row, way): reason
        self.failed = {}

    def add(self, row, way, metrics):
        for metric, value in metrics.items():
            self.figures.setdefault((row, way, metric),
                                    Figures()).values.append(value)

    def get(self, row, way, metric):
        """Figures, or None."""
        return self.figures.get((row, way, metric))

    def why_not(self, row, way):
        return self.skipped.get((row, way)) or self.failed.get((row, way))


def interleave(rows, rounds, measure, samples, tell=lambda text: None):
    """measure(way) of each way of each row, once in each round.

    measure() returns {metric: value}; it raises LookupError where the way
    cannot be measured here, which is not tried again, and RuntimeError where
    it went wrong.  What several rows have in common is measured once in a
    round.  A row may have fewer rounds of its own.
    """
    for turn in range(rounds):
        known = {}
        for done, at in enumerate(order(len(rows), turn)):
            row = rows[at]
            if turn >= (row.rounds or rounds):
                continue
            tell(f"round {turn + 1}/{rounds}, row {done + 1}/{len(rows)}: "
                 f"{row.name}")
            for index in order(len(row.ways), turn):
                sample_take(row, row.ways[index], measure, samples, known)


def sample_take(row, way, measure, samples, known):
    place = (row.name, way.name)
    if place in samples.skipped:
        return
    if way.key not in known:
        try:
            known[way.key] = measure(way)
        except (LookupError, RuntimeError) as e:
            known[way.key] = e
    found = known[way.key]
    if isinstance(found, LookupError):
        samples.skipped[place] = str(found.args[0])
    elif isinstance(found, RuntimeError):
        samples.failed[place] = str(found.args[0])
    else:
        samples.add(*place, found)
