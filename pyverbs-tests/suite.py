#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs rdma-core's test suite on a usiw device and compares the verdicts with
a list.

  suite.py [-j JOBS] [--dev DEVICE] [--source DIRECTORY] [--check] [NAME...]

Takes the suite from the installed package python3-pyverbs, or from rdma-core's
source in DIRECTORY, whose pyverbs PYTHONPATH must have. Unpacks it below the
build directory, and runs every test that is not for one vendor, each in its
own process. verdicts.txt names each test. Every difference from it is a
failure: a failed test, an error, a hang, a crash, a skip for another reason, a
test that passes although a skip is listed, a missing test, and a new one. NAME
limits the run to tests that begin with it.

With USIW_PERSONA=ca in the environment the device is a channel adapter. What
the list lets skip because persona rnic has it not must pass then. The tests
that are skipped with both personas are left out.

With --check the tests run by the rules of `usiw check`, and what it finds is
compared with findings.txt, too.
"""
import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import inside  # noqa: E402
import isolate  # noqa: E402

INSTALLED = "/usr/share/doc/rdma-core/tests"
VENDORS = ("mlx5", "efa", "cuda")
PERSONA = os.environ.get("USIW_PERSONA") or "rnic"
LIMIT = 40 * float(os.environ.get("USIW_TEST_SLOW", "1"))


# ---- the list ------------------------------------------------------------

class Reason:
    """Why tests are skipped, and how this reason is recognised."""

    def __init__(self, word, text, proof):
        self.text = text
        self.is_machines = word == "machine"  # another might run them
        self.is_rnics = word == "rnic"  # they run with persona ca
        self.kind, _, self.pattern = proof.partition(": ")
        if self.kind not in ("says", "prints", "raises") or \
                not self.pattern:
            raise ValueError(f"proof '{proof}'")

    def explains(self, outcome):
        if self.kind == "says":
            return outcome.verdict == "skip" and \
                re.search(self.pattern, outcome.text) is not None
        told = outcome.output if self.kind == "prints" else outcome.text
        return outcome.verdict == "error" and \
            re.search(self.pattern, told) is not None


class Verdicts:
    """verdicts.txt: reasons to skip, and the allowed results of each test."""

    def __init__(self, path, version):
        self.version = int(version.split(".")[0])  # of the suite
        self.reasons = {}
        self.tests = {}  # name: (may it pass?, reasons that may skip it)
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                try:
                    self.take(line)
                except (ValueError, KeyError) as err:
                    sys.exit(f"{path}:{number}: not understood ({err}): "
                             f"{line}")

    def take(self, line):
        name, *words = line.split()
        if name in ("reason", "rnic", "machine"):
            _, text, proof = re.split(r"\s*\|\s*", line, maxsplit=2)
            self.reasons[words[0]] = Reason(name, text, proof)
            return
        span = re.fullmatch(r"(\d*)-(\d*)", name)
        if span:
            first, last = span.groups()
            if not int(first or 0) <= self.version <= int(last or sys.maxsize):
                return
            name, *words = words
        may_pass = words[:1] == ["pass"]
        rest = words[1:] if may_pass else words
        if name in self.tests or not words or rest and \
                (rest[0] != "skip" or len(rest) == 1):
            raise ValueError("neither 'pass' nor 'skip REASON', or twice")
        reasons = [self.reasons[w] for w in rest[1:]]
        if PERSONA == "ca" and any(r.is_rnics for r in reasons):
            may_pass, reasons = True, []
        self.tests[name] = (may_pass, reasons)

    def is_for_persona(self, name):
        """A test that is refused whatever the persona is needs no second
        run."""
        return PERSONA == "rnic" or self.tests.get(name, (True, []))[0]

    def machines_reason(self, name, outcome):
        """What the machine lacks, if the test was skipped for that."""
        for reason in self.tests.get(name, (False, []))[1]:
            if reason.is_machines and reason.explains(outcome):
                return reason.text
        return None

    def complaint(self, name, outcome):
        """What is wrong with this outcome, or None."""
        if name not in self.tests:
            return "not in the list"
        may_pass, reasons = self.tests[name]
        if may_pass and outcome.verdict == "pass" or \
                any(reason.explains(outcome) for reason in reasons):
            return None
        wanted = ["pass"] if may_pass else []
        wanted += [f"skip for '{reason.text}'" for reason in reasons]
        return "listed as " + " or ".join(wanted)

    def proposal(self, name, outcome):
        """The line that would match, as a proposal."""
        if outcome.verdict == "pass":
            return f"{name}  pass"
        fits = [key for key, reason in self.reasons.items()
                if reason.explains(outcome)]
        return f"{name}  skip {' '.join(fits) or '???'}"


class Findings:
    """findings.txt: the rules of `usiw check` that a test breaks."""

    LINE = re.compile(r"(\S+) +([\w-]+) \| \S.*")

    def __init__(self, path):
        self.rules = {}
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip() or line.startswith("#"):
                    continue
                match = self.LINE.match(line)
                if not match:
                    sys.exit(f"{path}:{number}: not understood: {line}")
                self.rules.setdefault(match[1], set()).add(match[2])

    def complaint(self, name, outcome):
        """What is wrong with what was found, or None."""
        found = {rule for rule, is_note, _ in outcome.findings if not is_note}
        wanted = self.rules.get(name, set())
        if outcome.verdict != "pass" or found == wanted:
            return None
        return f"finds {sorted(found)}, listed are {sorted(wanted)}"


# ---- the suite -----------------------------------------------------------

def package_version():
    """Debian's version number: 44.0-2."""
    return subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "python3-pyverbs"],
        check=True, capture_output=True, text=True).stdout


def source_version(source):
    """rdma-core's version number: 65.0."""
    with open(os.path.join(source, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r'PACKAGE_VERSION "([\d.]+)"', f.read()).group(1)


def unpack_package(target, version):
    """Container images have no documentation: the files come from the package
    itself, in the installed version."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["apt-get", "download", "-q",
                        f"python3-pyverbs={version}"], cwd=work, check=True)
        deb = [n for n in os.listdir(work) if n.endswith(".deb")]
        subprocess.run(["dpkg-deb", "-x", deb[0], "root"], cwd=work,
                       check=True)
        unpack_directory(os.path.join(work, "root" + INSTALLED), target)


def unpack_directory(source, target):
    for name in sorted(os.listdir(source)):
        plain = name[:-3] if name.endswith(".gz") else name
        if plain.startswith("test_") and \
                any(vendor in plain for vendor in VENDORS):
            continue
        opener = gzip.open if name.endswith(".gz") else open
        with opener(os.path.join(source, name), "rb") as stream:
            text = stream.read()
        with open(os.path.join(target, plain), "wb") as stream:
            stream.write(text)


def unpack(version, source):
    """Unpacks the suite as a directory `tests` below the returned one. It is
    moved into place at the end, because several runs may start at once."""
    installed = os.path.join(source, "tests") if source else INSTALLED
    parent = os.path.join(inside.BUILD, "pyverbs-suite", version)
    final = os.path.join(parent, "tests")
    if os.path.exists(os.path.join(final, "__init__.py")):
        return parent
    os.makedirs(parent, exist_ok=True)
    work = tempfile.mkdtemp(dir=parent)
    if os.path.exists(os.path.join(installed, "__init__.py")):
        unpack_directory(installed, work)
    else:
        unpack_package(work, version)
    os.chmod(work, 0o755)
    try:
        os.rename(work, final)
    except OSError:  # another process was faster
        shutil.rmtree(work)
    return parent


def load(parent, device):
    """The suite's tests by name, without the leading 'tests.'."""
    sys.path[:0] = [parent, os.path.join(parent, "tests")]
    sys.argv[1:] = ["--dev", device]
    from args_parser import parser
    parser.parse_args()
    import settle
    import tests
    settle.install()
    cases = {}
    for module in tests.__test_modules__:
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        for case in isolate.tests_in(suite):
            cases[case.id().removeprefix("tests.")] = case
    return cases


# ---- the run -------------------------------------------------------------

class Report:
    """Counts results and prints them while tests run. findings: None: they
    are not looked for."""

    def __init__(self, verdicts, findings):
        self.verdicts = verdicts
        self.findings = findings
        self.results = inside.Results(
            ["suite"] if PERSONA == "rnic" else ["suite", PERSONA])
        self.wrong = []

    def tell(self, test, outcome):
        name = test.id().removeprefix("tests.")
        self.results.take(test, outcome)
        print(f"{outcome.verdict:6} {outcome.seconds:5.1f} s  {name}",
              flush=True)
        lacks = self.verdicts.machines_reason(name, outcome)
        if lacks:
            print(f"skipped {name}: {lacks}", flush=True)
        complaint = self.verdicts.complaint(name, outcome)
        if complaint:
            self.wrong.append(name)
            print(f"FAILED {name}: {complaint}, came out {outcome.verdict}\n"
                  f"{outcome.text.rstrip()}\n{outcome.output.rstrip()}\n"
                  f"would fit: {self.verdicts.proposal(name, outcome)}",
                  flush=True)
        elif self.findings:
            self.tell_findings(name, outcome)

    def tell_findings(self, name, outcome):
        complaint = self.findings.complaint(name, outcome)
        if complaint:
            self.wrong.append(name)
            print(f"FAILED {name}: {complaint}")
            for rule, is_note, text in outcome.findings:
                print(f"  {'note: ' if is_note else ''}{rule}: {text}")
            sys.stdout.flush()

    def close(self, expected):
        """Reports expected tests that did not run. Return: the exit code."""
        gone = [name for name in expected
                if f"tests.{name}" not in self.results.rows]
        for name in gone:
            print(f"FAILED {name}: in the list, not in the suite")
        ran = len(self.results.rows)
        passed = self.results.count(lambda verdict: verdict == "pass")
        bad = len(self.wrong) + len(gone)
        print(f"suite: {ran} tests ran, {passed} passed, {ran - passed} not, "
              f"{bad} not as listed")
        return 1 if bad or not passed else 0


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("-j", dest="jobs", type=int, default=2)
    parse.add_argument("--dev", default="usiw_lo")
    parse.add_argument("--source")
    parse.add_argument("--check", action="store_true")
    parse.add_argument("name", nargs="*")
    arguments = parse.parse_args()
    inside.enter(arguments.dev)
    source = arguments.source
    version = source_version(source) if source else package_version()
    verdicts = Verdicts(os.path.join(HERE, "verdicts.txt"), version)
    cases = load(unpack(version, source), arguments.dev)
    names = set(cases) | set(verdicts.tests)
    names = [name for name in sorted(names)
             if name.startswith(tuple(arguments.name)) or
             not arguments.name and verdicts.is_for_persona(name)]
    findings = Findings(os.path.join(HERE, "findings.txt")) \
        if arguments.check else None
    report = Report(verdicts, findings)
    tests = [cases[name] for name in names if name in cases]
    isolate.run(tests, arguments.jobs, LIMIT, report.tell, arguments.check)
    if not arguments.name and not source and not arguments.check:
        report.results.write()  # for the verb table
    return report.close(names)


if __name__ == "__main__":
    sys.exit(main())
