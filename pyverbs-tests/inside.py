# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Common parts of suite.py and run.py: how they run under `usiw run`, and the
results that they leave in the build tree for the verb table."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("USIW_BUILD_DIR") or
                        os.path.join(HERE, "..", "build"))
PYTHON = "/usr/bin/python3"  # the system's, the only one pyverbs is built for
INSIDE = "USIW_PYVERBS_INSIDE"  # set below `usiw run`; names the device
RESULTS = os.path.join(BUILD, "pyverbs-results")


def enter(device):
    """Runs this program again below `usiw run`, unless it runs there
    already."""
    if os.environ.get(INSIDE) == device:
        return
    usiw = os.path.join(BUILD, "bin", "usiw")
    if not os.access(usiw, os.X_OK):
        sys.exit(f"{usiw} is not built")
    environment = dict(os.environ, **{INSIDE: device})
    os.execve(usiw, [usiw, "run", "--", PYTHON, "-B",
                     os.path.abspath(sys.argv[0])] + sys.argv[1:],
              environment)


class Results:
    """Verdicts by test, and what each test shows; one file per kind of run."""

    def __init__(self, names):
        self.path = os.path.join(RESULTS, "-".join(names) + ".json")
        self.rows = {}

    def take(self, test, outcome):
        method = getattr(test, getattr(test, "_testMethodName", ""), None)
        self.rows[test.id()] = {"verdict": outcome.verdict,
                                "shows": list(getattr(method, "shows", ()))}

    def count(self, condition):
        return sum(condition(row["verdict"]) for row in self.rows.values())

    def write(self):
        os.makedirs(RESULTS, exist_ok=True)
        aside = f"{self.path}.{os.getpid()}"
        with open(aside, "w", encoding="utf-8") as stream:
            json.dump(self.rows, stream, indent=0, sort_keys=True)
        os.rename(aside, self.path)
