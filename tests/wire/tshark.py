# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Captures by tcpdump, and what Wireshark's dissectors read in them. A script
that uses it has tests/apps in its path."""
import functools
import os
import re
import signal
import subprocess
import tempfile

import harness
from harness import check


class Capture:
    """tcpdump on a device, while the block runs."""

    def __init__(self, test, device, what):
        self.path = os.path.join(test.directory, "wire.pcap")
        self.device, self.what = device, what

    def __enter__(self):
        # --immediate-mode: a packet is in the file soon after it came, and not
        # only when a buffer is full.
        self.process = subprocess.Popen(
            ["tcpdump", "-i", self.device, "-s", "0", "-U",
             "--immediate-mode", "-B", "65536", "-w", self.path, self.what],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        check("listening" in line, f"tcpdump: {line.strip()}")
        return self

    def stop(self):
        """Ends tcpdump in any case. Returns its output."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[1]

    def __exit__(self, kind, value, trace):
        try:
            if not kind:
                harness.wait_until(self.is_whole, 10,
                                   "the capture to be whole")
        finally:
            said = self.stop()
        if not kind:
            check(re.search(r"^0 packets dropped", said, re.M),
                  f"tcpdump: {said.strip()}")

    def is_whole(self):
        """Is everything in the file that is to be looked at?"""
        raise NotImplementedError


def run_in(directory, *words):
    """Its output, with the settings in that directory, not the user's."""
    done = subprocess.run(["tshark", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "WIRESHARK_CONFIG_DIR": directory})
    check(done.returncode == 0, f"tshark: {done.stderr.strip()}")
    return done.stdout


@functools.lru_cache(1)
def protocols():
    with tempfile.TemporaryDirectory() as directory:
        return [line.split("\t")[2] for line in
                run_in(directory, "-G", "protocols").splitlines()]


def turn_off_others(directory, asked):
    """All protocols but those. Not by --disable-protocol: tshark 4.4 refuses
    names that it lists itself. In the file it passes over them."""
    names = protocols()
    missing = [name for name in asked if name not in names]
    check(not missing, f"tshark does not know {missing}")
    with open(os.path.join(directory, "disabled_protos"), "w",
              encoding="utf-8") as f:
        f.writelines(f"{name}\n" for name in names if name not in asked)


def run(asked, *words):
    """The output of tshark. It must not guess a protocol in our payload, and
    not by a port number: the kernel chooses those of clients, and some belong
    to a protocol that takes the segments (57000 to IRC)."""
    with tempfile.TemporaryDirectory() as directory:
        turn_off_others(directory, asked)
        return run_in(directory, *words)
