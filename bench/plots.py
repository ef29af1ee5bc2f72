# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The figures of a run as SVG plots, drawn by gnuplot."""
import os
import re
import shutil
import subprocess

SPDX = "SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB"
HEAD = """\
set terminal svg size {width},{height} font 'sans-serif,12' background 'white'
set output '{output}'
set title '{title}'
set grid
"""


def quote(text):
    return text.replace("'", "''").replace("_", "\\_").replace("`", "")


def line_plot(title, axis, series, output):
    """series: {name: [(x, median, low, high)]}.  Both axes are logarithmic; a
    whisker shows lowest and highest."""
    lines = [HEAD.format(width=900, height=560, title=quote(title),
                         output=output),
             "set logscale x 2\nset logscale y 10\nset key outside right",
             f"set ylabel '{quote(axis)}'\nset xlabel 'octets of a message'",
             "set format x '%.0b%B'"]
    parts = []
    for number, (name, points) in enumerate(series.items()):
        block = f"$d{number}"
        rows = "\n".join(" ".join(f"{v:.6g}" for v in p) for p in points)
        lines.append(f"{block} << EOD\n{rows}\nEOD")
        style = f"lc {number + 1} pt {number % 12 + 1}"
        parts.append(f"{block} using 1:2:3:4 with yerrorlines {style} "
                     f"title '{quote(name)}'")
    lines.append("plot " + ", ".join(parts))
    return "\n".join(lines) + "\n"


def bar_plot(title, axis, bars, output):
    """bars: [(name, median, low, high)], from the top; a logarithmic scale."""
    count = len(bars)
    names = ", ".join(f"'{quote(b[0])}' {count - 1 - i}"
                      for i, b in enumerate(bars))
    data = "\n".join(f"{b[1]:.6g} {count - 1 - i} {b[2]:.6g} {b[3]:.6g}"
                     for i, b in enumerate(bars))
    low = min(b[2] for b in bars) / 2
    return "\n".join([
        HEAD.format(width=900, height=120 + 22 * count, title=quote(title),
                    output=output),
        f"set logscale x 10\nset xlabel '{quote(axis)}'\nunset key",
        f"set ytics ({names})\nset yrange [-0.7:{count - 0.3}]",
        f"set xrange [{low:.6g}:*]\nset style fill solid 0.6",
        f"$d << EOD\n{data}\nEOD",
        f"plot $d using ({low:.6g}):2:({low:.6g}):1:($2-0.35):($2+0.35) "
        "with boxxyerror lc 3, "
        "$d using 1:2:3:4 with xerrorbars lc 'black' pt 0"]) + "\n"


def bandwidth_series(rows, samples):
    """{way: points} of rows "OP-bw-SIZE"."""
    series = {}
    for row in rows:
        size = int(row.name.rsplit("-", 1)[1])
        for way in row.ways:
            figures = samples.get(row.name, way.name, row.metrics[0])
            if figures:
                series.setdefault(way.name, []).append(
                    (size, figures.median, figures.low, figures.high))
    return series


def bars_of(row, samples):
    found = []
    for way in row.ways:
        figures = samples.get(row.name, way.name, row.metrics[0])
        if figures:
            found.append((way.name, figures.median, figures.low,
                          figures.high))
    return found


# Name of the plot, and its rows.
LINES = (("write-bandwidth", r"write-bw-\d+"), ("send-bandwidth",
                                                r"send-bw-\d+"),
         ("read-bandwidth", r"read-bw-\d+"))
BARS = (("send-latency", "send-lat-8"), ("write-latency", "write-lat-8"),
        ("send-latency-events", "send-lat-8-events"),
        ("write-rate", "write-rate-64-list1-qp1"),
        ("send-rate", "send-rate-64-list1-qp1"))


def scripts(rows, samples):
    """{name of the SVG file: gnuplot script} of the measured rows."""
    found = {}
    for name, pattern in LINES:
        chosen = [r for r in rows if re.fullmatch(pattern, r.name)]
        series = bandwidth_series(chosen, samples)
        if any(len(points) > 1 for points in series.values()):
            found[f"{name}.svg"] = line_plot(
                name.replace("-", " "), chosen[0].unit, series, f"{name}.svg")
    for name, wanted in BARS:
        for row in rows:
            bars = bars_of(row, samples) if row.name == wanted else ()
            if bars:
                found[f"{name}.svg"] = bar_plot(row.title, row.unit, bars,
                                                f"{name}.svg")
    return found


def draw(rows, samples, directory, wanted=None):
    """Writes the SVG files, or only the one that is wanted. Returns the reason
    why not, or their names."""
    found = {name: script for name, script in scripts(rows, samples).items()
             if wanted in (None, name)}
    if found and not shutil.which("gnuplot"):
        return "no plots: gnuplot is not installed (gnuplot-nox)"
    for name, script in found.items():
        subprocess.run(["gnuplot"], input=script, text=True, check=True,
                       cwd=directory)
        path = os.path.join(directory, name)
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().split("\n")
        lines.insert(1, f"<!-- {SPDX} -->")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(line.rstrip() for line in lines))
    return "plots: " + (" ".join(found) or "none")
