# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two network namespaces joined by veth, for scripts that harness.confine()
runs in one."""
import ctypes
import os
import subprocess

import harness
from harness import Failure

CLONE_NEWNET = 0x40000000
IPV6_MTU = 1280  # IPv6 is off on an interface of a smaller one

ADDRESS = {"server": "192.0.2.1", "client": "192.0.2.2"}
ADDRESS6 = {"server": "fd00:7573::1", "client": "fd00:7573::2"}


def leave():
    """The calling thread, and what it starts from now on, is in a new
    namespace: cases that run at once each have theirs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise Failure(f"unshare(): {os.strerror(ctypes.get_errno())}")


class Net:
    """The client runs in this namespace, the server in that of a child."""

    def __init__(self, mtu):
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "echo; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()  # it is in its namespace now
        self.inside = ["nsenter", "-t", str(self.holder.pid), "-n", "--"]
        ip = ["ip"]
        there = self.inside + ip
        has_ipv6 = mtu >= IPV6_MTU
        for words in filter(None, (
                ip + ["link", "add", "veth0", "mtu", str(mtu), "type",
                      "veth", "peer", "name", "veth1", "mtu", str(mtu),
                      "netns", str(self.holder.pid)],
                ip + self.address("veth0", ADDRESS["client"] + "/24"),
                has_ipv6 and ip + self.address(
                    "veth0", ADDRESS6["client"] + "/64"),
                there + self.address("veth1", ADDRESS["server"] + "/24"),
                has_ipv6 and there + self.address(
                    "veth1", ADDRESS6["server"] + "/64"),
                ip + ["link", "set", "lo", "up"],
                there + ["link", "set", "lo", "up"],
                ip + ["link", "set", "veth0", "up"],
                there + ["link", "set", "veth1", "up"])):
            done = subprocess.run(words, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                self.close()
                raise Failure(f"{' '.join(words)}: {done.stdout}")

        # Before that no port is active.
        for words in (ip + ["link", "show", "veth0"],
                      there + ["link", "show", "veth1"]):
            harness.wait_until(
                lambda words=words: "state UP" in subprocess.run(
                    words, stdout=subprocess.PIPE, text=True).stdout,
                10, f"the link of {words[-1]}")

    @staticmethod
    def address(device, address):
        words = ["addr", "add", address, "dev", device]
        return words + (["nodad"] if ":" in address else [])

    def close(self):
        subprocess.run(["ip", "link", "del", "veth0"],
                       stderr=subprocess.DEVNULL)
        self.holder.stdin.close()
        self.holder.wait()
