# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The tables of a run, as Markdown and as JSON."""
import targets


def number(value):
    """Three significant digits, and no more than the value needs."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def markdown(head, lines):
    """A table with columns of equal width, so that it can be read as text,
    too."""
    cells = [head, *lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]

    def row(line):
        return "| " + " | ".join(c.ljust(w) for c, w in
                                 zip(line, widths)) + " |"
    rule = ["-" * w for w in widths]
    return "\n".join([row(head), row(rule), *map(row, lines)])


def groups(rows):
    """{group: rows}, in the order of the table."""
    found = {}
    for row in rows:
        found.setdefault(row.group, []).append(row)
    return found


def peers_of(rows):
    """Names of the peers of some rows, each once."""
    return list(dict.fromkeys(w.name for r in rows for w in r.ways
                              if w.is_peer))


def ratio(row, way, peer, samples):
    own = samples.get(row.name, way.name, row.metrics[0])
    other = samples.get(row.name, peer, row.metrics[0])
    if own is None or other is None or not other.median:
        return "-"
    return number(own.median / other.median)


def group_table(rows, samples):
    peers = peers_of(rows)
    lines = []
    for row in rows:
        title = row.title  # once
        for way in row.ways:
            for metric in row.metrics:
                figures = samples.get(row.name, way.name, metric)
                if figures is None:
                    continue
                is_first = metric == row.metrics[0]
                unit = row.unit if metric.startswith("p") else metric
                name = way.name if is_first else f"{way.name}, {metric}"
                lines.append([
                    title, name, number(figures.median),
                    number(figures.low), number(figures.high), unit,
                    *(ratio(row, way, p, samples)
                      if is_first and not way.is_peer else "" for p in peers)])
                title = ""
    head = ["what", "way", "median", "min", "max", "unit",
            *(f"/ {p}" for p in peers)]
    return markdown(head, lines) if lines else ""


OWN = ("local", "wire CRC", "wire")


def spread(figures):
    if figures is None:
        return "-"
    return f"{number(figures.median)} ({number(figures.low)} to " \
           f"{number(figures.high)})"


def short_table(rows, samples):
    """Median and spread of usiw's main ways, and the medians of all others."""
    lines = []
    for row in rows:
        found = {w.name: samples.get(row.name, w.name, row.metrics[0])
                 for w in row.ways}
        others = "; ".join(f"{name} {number(f.median)}"
                           for name, f in found.items()
                           if f and name not in OWN)
        if any(found.values()):
            lines.append([f"{row.title}, {row.unit}",
                          *(spread(found.get(name)) for name in OWN),
                          others or "-"])
    return markdown(["what", *OWN, "beside"], lines)


def targets_table(verdicts):
    lines = []
    for v in verdicts:
        state = v.state + (f": {v.reason}" if v.reason else "")
        lines.append([v.row.title, v.target.way, v.what, number(v.value),
                      state])
    return markdown(["what", "way", "target", "measured", "verdict"], lines)


def missing(samples):
    """One line for each reason, with the measurements concerned."""
    lines = []
    for title, found in (("skipped", samples.skipped),
                         ("FAILED", samples.failed)):
        reasons = {}
        for (row, way), reason in found.items():
            reasons.setdefault(reason, []).append(f"{row} ({way})")
        for reason, places in reasons.items():
            shown = ", ".join(places[:4])
            more = f" and {len(places) - 4} more" if len(places) > 4 else ""
            lines.append(f"- {title}, {len(places)}: {reason}: {shown}{more}")
    return "\n".join(lines)


def counts(verdicts):
    found = {targets.MET: 0, targets.MISSED: 0, targets.UNKNOWN: 0}
    for verdict in verdicts:
        found[verdict.state] += 1
    return found


def text(rows, samples, verdicts, about, short=()):
    """The whole report. about: {what: text} of the run; short: names of the
    rows of the first table."""
    parts = ["\n".join(f"- {k}: {v}" for k, v in about.items())]
    first = [row for row in rows if row.name in short]
    if first:
        parts.append("## In short\n\nMedian (minimum to maximum).\n\n" +
                     short_table(first, samples))
    for group, members in groups(rows).items():
        table = group_table(members, samples)
        if table:
            parts.append(f"## {group[0].upper()}{group[1:]}\n\n{table}")
    if verdicts:
        parts.append("## Targets\n\n" + targets_table(verdicts))
    gone = missing(samples)
    if gone:
        parts.append("## Not measured\n\n" + gone)
    total = counts(verdicts)
    last = ", ".join(f"{count} {state}" for state, count in total.items())
    parts.append(f"Targets: {last}. Samples: {len(samples.skipped)} skipped, "
                 f"{len(samples.failed)} failed.")
    return "\n\n".join(parts) + "\n"


def as_json(rows, samples, verdicts, about):
    return {
        "about": about,
        "rows": [{
            "name": row.name, "group": row.group, "title": row.title,
            "unit": row.unit, "better": row.better,
            "ways": [{
                "name": way.name, "is_peer": way.is_peer,
                "tool": way.tool, "args": dict(way.args),
                "missing": samples.why_not(row.name, way.name),
                "metrics": {m: samples.get(row.name, way.name, m).values
                            for m in row.metrics
                            if samples.get(row.name, way.name, m)},
            } for way in row.ways],
        } for row in rows],
        "targets": [{"row": v.row.name, "way": v.target.way, "target": v.what,
                     "measured": v.value, "verdict": v.state,
                     "reason": v.reason} for v in verdicts],
    }
