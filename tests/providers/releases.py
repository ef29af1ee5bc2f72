#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The one provider on real releases of rdma-core, built from their source.

    releases.py [SUITE|DIRECTORY]...

SUITE is a Debian suite. Its rdma-core is fetched, built in USIW_RELEASES_DIR
(default: build/releases) and used. Without arguments: bookworm, trixie and
sid. DIRECTORY contains an unpacked source of rdma-core. The libibverbs and
librdmacm of each release replace the installed ones. Runs ibv_devinfo,
ibv_rc_pingpong, rping, every verb of the table called wrongly, ibv_wr_*, and
the release's own test suite with both personas, and prints the table of
doc/verbs.md at the end. What cannot be fetched is skipped.
"""
import glob
import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "apps"))
import harness  # noqa: E402
import rping  # noqa: E402
from harness import BUILD, Skip, Test, check, free_port  # noqa: E402

SUITES = ("bookworm", "trixie", "sid")
WORK = os.environ.get("USIW_RELEASES_DIR", os.path.join(BUILD, "releases"))
TARGETS = ("ibverbs", "rdmacm", "ibv_devinfo", "ibv_rc_pingpong", "rping")
# The suite imports modules of two vendors, whatever it runs.
PYVERBS = re.compile(r"^(python/pyverbs/\S+\.so): ", re.M)
PYTHON = "/usr/bin/python3"
SUITE = os.path.join(here, "..", "..", "pyverbs-tests", "suite.py")
FLAGS = ("-DNO_MAN_PAGES=1", "-DENABLE_STATIC=0", "-DIN_PLACE=1",
         "-DCMAKE_C_FLAGS=-Wno-error", f"-DPYTHON_EXECUTABLE={PYTHON}")
ORIGINAL = re.compile(r"'([^']+\.orig\.tar\.\w+)' \S+ \d+ (SHA256:\w+)")
NUMBER = re.compile(r"verbs_register_driver_(\d+)@")


def run(words, log, **kwargs):
    """Runs a program with its output in a file. A failure shows the end of the
    file."""
    with open(log, "wb") as out:
        ended = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, **kwargs)
    if ended.returncode:
        with open(log, encoding="utf-8", errors="replace") as text:
            print("".join(text.readlines()[-20:]))
        raise harness.Failure(f"{' '.join(words)}: exit code "
                              f"{ended.returncode}")


# ---- sources -----------------------------------------------------------------

def archive(suite):
    """"URI SUITE", from the configuration of this machine's apt."""
    script = (f". {here}/../install/package/root.sh; root_lists {suite} | "
              f"awk '$2 == \"{suite}\"' | head -n 1")
    return subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.split()


def unpacked(directory):
    found = glob.glob(os.path.join(directory, "*", "libibverbs", "driver.h"))
    return [os.path.dirname(os.path.dirname(name)) for name in found]


def fetch(suite, directory):
    """The unpacked source of the suite's rdma-core, fetched once."""
    found = unpacked(directory)
    if found:
        return found[0]
    harness.need("apt-get", "tar")
    where = archive(suite)
    if len(where) != 2:
        raise Skip("apt is configured with no archive of this machine's release")
    for name in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    sources = os.path.join(directory, "sources.list")
    with open(sources, "w", encoding="utf-8") as out:
        out.write(f"deb-src {where[0]} {where[1]} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={sources}",
           "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State={directory}/state",
           "-o", f"Dir::Cache={directory}/cache", "-o", "APT::Sandbox::User=",
           "-o", "Acquire::Retries=1"]
    log = os.path.join(directory, "fetch.log")
    tarball = os.path.join(directory, "source.tar")
    try:
        run([*apt, "update"], log)
        # Debian changes nothing in the sources that are built here.
        run([*apt, "source", "--print-uris", "rdma-core"], log)
        with open(log, encoding="utf-8") as text:
            uri, digest = ORIGINAL.search(text.read()).groups()
        run(["/usr/lib/apt/apt-helper", "-o", "APT::Sandbox::User=",
             "download-file", uri, tarball, digest], log)
    except harness.Failure as e:
        raise Skip(f"its source cannot be fetched: {e}") from None
    run(["tar", "-xf", tarball, "-C", directory], log)
    found = unpacked(directory)
    check(found, f"{directory}: no source of rdma-core was unpacked")
    return found[0]


def build(source, directory):
    """The directory with bin, lib and python."""
    os.makedirs(directory, exist_ok=True)
    if not os.path.exists(os.path.join(directory, "build.ninja")):
        run(["cmake", "-GNinja", *FLAGS, "-S", source, "-B", directory],
            os.path.join(directory, "cmake.log"))
    known = subprocess.run(["ninja", "-C", directory, "-t", "targets", "all"],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    run(["ninja", "-C", directory, *TARGETS, *PYVERBS.findall(known)],
        os.path.join(directory, "ninja.log"))
    # Its list of drivers names those that were not built.
    for name in glob.glob(os.path.join(directory, "etc/libibverbs.d/*")):
        os.unlink(name)
    return directory


# ---- verbs -------------------------------------------------------------------

class Release:
    def __init__(self, source, directory):
        self.source = source
        self.directory = directory
        self.bin = os.path.join(directory, "bin")
        self.lib = os.path.join(directory, "lib")
        self.env = {"LD_LIBRARY_PATH": self.lib}
        real = os.path.realpath(os.path.join(self.lib, "libibverbs.so.1"))
        self.version = re.search(r"so\.1\.\d+\.(\d+\.\d+)$", real).group(1)
        symbols = subprocess.run(["nm", "-D", real], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
        self.number = int(NUMBER.search(symbols).group(1))

    def program(self, name):
        return os.path.join(self.bin, name)


def devinfo(test, release):
    program = test.start("ibv_devinfo", [release.program("ibv_devinfo")],
                         env=release.env)
    program.wait(30)
    for words in ("usiw_lo", "iWARP", "PORT_ACTIVE"):
        check(words in program.text(), f"ibv_devinfo does not say {words}")


def pingpong(test, release):
    port = free_port()
    words = [release.program("ibv_rc_pingpong"), "-d", "usiw_lo", "-g", "0",
             "-n", "1000", "-s", "4096", "-p", port]
    before = test.counters.sum()
    server = test.start("server", words, env=release.env)
    server.wait_listening(port)
    test.start("client", [*words, "127.0.0.1"], env=release.env).wait(60)
    server.wait(60)
    test.demand_payload(before, 2 * 1000 * 4096)


def pings(test, release):
    rping.pair(test, 20, 64, env=release.env,
               program=(release.program("rping"),))


def own_program(name):
    def job(test, release):
        test.start(name, [os.path.join(BUILD, "bin", name)],
                   env=release.env).wait(120)
    return job


def suite(persona):
    """The suite's results are compared with pyverbs-tests/verdicts.txt."""
    def job(test, release):
        python = os.path.join(release.directory, "python")
        check(os.path.exists(python), "the release was built without pyverbs")
        run([PYTHON, "-B", SUITE, "--source", release.source],
            os.path.join(release.directory, f"suite-{persona}.log"),
            env={**os.environ, **release.env, "PYTHONPATH": python,
                 "USIW_PERSONA": persona, "USIW_BUILD_DIR": BUILD})
    return job


# The first release that each can run on: apps-verbs-errno calls a verb of 36.
JOBS = (("devinfo", devinfo, 0), ("rc_pingpong", pingpong, 0),
        ("rping", pings, 0),
        ("verbs", own_program("apps-verbs-errno"), 36),
        ("ibv_wr", own_program("apps-wr-loop"), 0),
        ("suite", suite("rnic"), 44), ("suite-ca", suite("ca"), 44))


def release_of(name):
    if os.path.isdir(name):
        source = os.path.abspath(name)
        directory = os.path.join(WORK, os.path.basename(source))
    else:
        directory = os.path.join(WORK, name)
        os.makedirs(directory, exist_ok=True)
        source = fetch(name, directory)
    return Release(source, build(source, os.path.join(directory, "build")))


def case_of(name, table):
    def case():
        release = release_of(name)
        done = []
        for job, function, since in JOBS:
            if float(release.version) < since:
                continue
            with Test(f"{name}: {job} on rdma-core {release.version}") as test:
                function(test, release)
                done.append(job)
        table.append((release.number, release.version, name, " ".join(done)))
    return case


def main():
    names = sys.argv[1:] or SUITES
    if sys.argv[1:] and sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    sys.argv = sys.argv[:1]
    table = []
    try:
        harness.main([(name, case_of(name, table)) for name in names])
    finally:
        for row in sorted(table):
            print("number {}: rdma-core {} ({}): {}".format(*row))


if __name__ == "__main__":
    main()
