#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""netlink_test.py [--persona NAME]: the stock `rdma` tool and stock libibverbs
find usiw's devices by netlink.

The script runs itself inside `unshare -Urnm`, with its own interfaces.
"""
import json
import os
import subprocess
import sys

import harness
from harness import PERSONA, Failure, Test, check, need

# A program gets the index of a device from netlink; from sysfs it is -1.
INDEX = """
import ctypes
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_get_device_name.restype = ctypes.c_char_p
verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
verbs.ibv_get_device_index.argtypes = [ctypes.c_void_p]
cnt = ctypes.c_int()
devices = verbs.ibv_get_device_list(ctypes.byref(cnt))
for device in devices[:cnt.value]:
    print(verbs.ibv_get_device_index(device),
          verbs.ibv_get_device_name(device).decode())
"""


def output(words, env=None):
    with Test(words[0] + " " + words[1][:20] if words[1:] else words[0]) \
            as test:
        program = test.start(os.path.basename(words[0]), words, env=env)
        program.wait(30)
        return program.text()


def rows(words):
    return json.loads(output(words))


def ip(*words):
    done = subprocess.run(["ip", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"ip {' '.join(words)}: {done.stdout}")


def links():
    """usiw_lo and usiw_veth0. The second one has no carrier."""
    expected = [("usiw_lo", 1, "ACTIVE", "LINK_UP", "lo"),
                ("usiw_veth0", 1, "DOWN", "DISABLED", "veth0")]
    keys = "ifname", "port", "state", "physical_state", "netdev"
    got = rows(["rdma", "-j", "link", "show"])
    check([tuple(r[k] for k in keys) for r in got] == expected, str(got))
    check([r["netdev_index"] for r in got] ==
          [int(open(f"/sys/class/net/{r[4]}/ifindex").read())
           if os.path.exists(f"/sys/class/net/{r[4]}") else g["netdev_index"]
           for r, g in zip(expected, got)], str(got))
    # rdma-core's suite expects this spelling
    check(rows(["rdma", "link", "show", "-j"]) == got, "-j at the end")
    plain = output(["rdma", "link", "show"])
    check("link usiw_lo/1 state ACTIVE physical_state LINK_UP netdev lo"
          in plain, plain)
    check("link usiw_veth0/1 state DOWN" in plain, plain)
    one = output(["rdma", "link", "show", "usiw_veth0/1"])
    check("usiw_veth0/1" in one and "usiw_lo" not in one, one)


def devices():
    got = rows(["rdma", "-j", "dev", "show"])
    guids = {}
    for line in output(["ibv_devices"]).splitlines():
        words = line.split()
        if words and words[0].startswith("usiw_"):
            guids[words[0]] = words[1]
    check(len(guids) == 2, str(guids))
    check({r["ifname"]: r["node_guid"].replace(":", "") for r in got} ==
          guids, f"{got}, ibv_devices: {guids}")
    kind = "ca" if "ca" in PERSONA else "rnic"
    check([r["node_type"] for r in got] == [kind, kind], str(got))
    plain = output(["rdma", "dev", "show"])
    check(f"0: usiw_lo: node_type {kind}" in plain, plain)
    check("1: usiw_veth0:" in plain, plain)
    check("netns exclusive" in output(["rdma", "system", "show"]), "system")


def verbs():
    """libibverbs used netlink, and has the same order as sysfs."""
    got = output([sys.executable, "-c", INDEX])
    check(sorted(got.splitlines()) == ["0 usiw_lo", "1 usiw_veth0"], got)
    names = [line.split()[1] for line in got.splitlines()]
    listed = [line.split()[0] for line in
              output(["ibv_devices"]).splitlines()[2:]]
    check(listed == names, f"{listed}, {names}")


def refusals():
    """Errors are returned without a hang."""
    for words in (["rdma", "dev", "show", "nosuch"],
                  ["rdma", "link", "show", "usiw_lo/2"],
                  ["rdma", "dev", "set", "usiw_lo", "name", "other"],
                  ["rdma", "link", "add", "x", "type", "siw", "netdev", "lo"],
                  ["rdma", "system", "set", "netns", "shared"],
                  ["rdma", "statistic", "mr"]):
        with Test(" ".join(words)) as test:
            program = test.start("rdma", words)
            program.wait(30, codes=None)
            check(program.process.returncode > 0, program.text())


if __name__ == "__main__":
    harness.confine(__file__)
    if sys.argv[1:2] == ["--persona"]:
        PERSONA[:] = sys.argv[1:3]
        del sys.argv[1:3]
    try:
        need("rdma", "ibv_devices")
        ip("link", "set", "lo", "up")
        ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
        ip("addr", "add", "192.0.2.1/24", "dev", "veth0")
        ip("link", "set", "veth0", "up")
    except harness.Skip as e:
        print(f"skipped: {e}")
        sys.exit(harness.SKIP)
    harness.main([("links", links), ("devices", devices), ("verbs", verbs),
                  ("refusals", refusals)])
