# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Programs without RDMA support, under `usiw run --sdp` at both ends.

Each case transfers octets and compares them. It checks with usiw's counters
and the statistics page that the payload went over SDP, and that no connection
fell back to TCP. It prints a line that `scripts/apps-table` turns into a row
of its table.

In a YoungTest, and in all tests of a script with the option --young, connections
begin as TCP, and SDP enters them when the library's default wants it to. Half of
the payload has to go over SDP, and none if the connections have to stay TCP, as
one that a server accepts in one process and serves in another.
"""
import hashlib
import json
import os
import subprocess
import sys

import harness
from harness import BUILD, Test, check

IS_YOUNG = "--young" in sys.argv
# SDP enters within milliseconds, of which a busy machine makes more.
SIZE = (64 if IS_YOUNG else 16) << 20
SDPSTAT = os.path.join(BUILD, "bin", "sdpstat")
MECHANISMS = ("tx_bcopy", "tx_read", "tx_write", "tx_transaction")


def checksum(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class SdpTest(Test):
    """One case. Its name is the name of the programs in the table."""

    is_young = IS_YOUNG

    def __init__(self, name, way="SDP"):
        super().__init__(name + (", from TCP" if self.is_young else ""))
        self.way = way
        if self.is_young:
            self.sdp_after = None

    def conclude(self, kind, value, states):
        if kind is not harness.Skip:
            octets = self.octets()
            if self.is_young:
                self.way = "TCP+SDP" if octets else "TCP"
            print(f"program: {self.name} | {self.way} | {octets}")
        super().conclude(kind, value, states)

    def payload(self, size=SIZE):
        """A file of incompressible octets. Return: its path and checksum."""
        path = os.path.join(self.directory, "payload")
        with open(path, "wb") as f:
            f.write(os.urandom(size))
        os.chmod(path, 0o644)
        return path, checksum(path)

    def file(self, name, text):
        """A file that all programs may read. Return: its path."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o644)
        return path

    def certify(self, key, certificate):
        """A key for 127.0.0.1, and its self-signed certificate."""
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
            "-keyout", key, "-out", certificate, "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, stderr=subprocess.DEVNULL)
        os.chmod(key, 0o644)

    def folder(self, name):
        """A directory that all programs may write to. Return: its path."""
        path = os.path.join(self.directory, name)
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def run(self, name, command, timeout=30, **kwargs):
        """Runs a program until it ends with success."""
        program = self.start(name, command, **kwargs)
        program.wait(timeout)
        return program

    def processes(self):
        """What sdpstat reports for the processes that left a page."""
        done = subprocess.run([SDPSTAT, "--json", self.counters.directory],
                              stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout or b"{}").get("processes", [])

    def octets(self):
        """Octets that all of them sent over SDP, by the statistics page."""
        return sum(process["totals"][name] for process in self.processes()
                   for name in MECHANISMS)

    def fallbacks(self):
        """Reason -> count, summed over all of them."""
        found = {}
        for process in self.processes():
            for reason, count in process["fallbacks"].items():
                if count and reason != "total":
                    found[reason] = found.get(reason, 0) + count
        return found

    def demand_sdp(self, octets, is_handed_over=False):
        """is_handed_over: another process serves a connection than the one that
        accepted it, so one that is young stays TCP."""
        if self.is_young:
            if not is_handed_over:
                self.demand_payload({}, octets // 2)
            return
        self.demand_payload({}, octets)
        sent = self.octets()
        check(sent >= octets, f"the statistics pages count {sent} octets, "
              f"the programs moved {octets}")
        found = self.fallbacks()
        check(not found, f"connections fell back to TCP: {found}")


class YoungTest(SdpTest):
    is_young = True


def main(cases):
    harness.PERSONA[:] = ["--sdp"]
    if IS_YOUNG:
        sys.argv.remove("--young")
    harness.main(cases)
