# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Measurements in turns, and their figures."""
import statistics


class Figures:
    """The figures of one measurement, one per round."""

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
    """The order of the positions 0 to count - 1 in round `turn`. Each round
    begins at another position, and every second one goes backwards, so that
    none always comes first or always follows the same one."""
    if count == 0:
        return []
    start = turn * (count // 3 + 1) % count
    found = [(start + i) % count for i in range(count)]
    return found[::-1] if turn % 2 else found


class Samples:
    """All measurements: figures by (row, way, metric), and the reasons why
    others are missing."""

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

    measure() returns {metric: value}. It raises LookupError if the way cannot
    be measured here, which is not tried again, and RuntimeError if it failed.
    A measurement that several rows share is made once in a round. A row may
    have fewer rounds than the others.
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
