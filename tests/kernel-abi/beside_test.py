#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""USIW_DEVICES=beside: real entries stay visible beside those of usiw.

Directories on a tmpfs over /sys/class stand in for hardware, in a mount
namespace of the test. A stand-in for the kernel behind the preload library
answers NETLINK_RDMA (fake_kernel.c).
"""
import json
import os
import shutil
import subprocess
import sys

SCENE = """set -e
mount -t tmpfs none /sys/class
mkdir -p /sys/class/infiniband/mlx5_0 /sys/class/infiniband/usiw_lo \
    /sys/class/infiniband_verbs/uverbs0 /sys/class/infiniband_mad \
    /sys/class/misc/rdma_cm
echo 1: CA > /sys/class/infiniband/mlx5_0/node_type
echo 99 > /sys/class/misc/rdma_cm/abi_version
"""

CLASS = "/sys/class/infiniband"
CASES = [  # mode, command, output (None: must fail)
    ("beside", f"ls {CLASS}", "mlx5_0\nusiw_down0\nusiw_lo\n"),
    ("beside", f"cat {CLASS}/mlx5_0/node_type", "1: CA\n"),
    ("beside", f"cat {CLASS}/usiw_lo/node_type", "4: RNIC\n"),
    ("beside", f"cat {CLASS}/../infiniband/mlx5_0/node_type", "1: CA\n"),
    ("beside", f"cd / && echo {CLASS}/*/node_type",
     f"{CLASS}/mlx5_0/node_type {CLASS}/usiw_down0/node_type "
     f"{CLASS}/usiw_lo/node_type\n"),
    ("beside", "ls /sys/class/infiniband_verbs",
     "abi_version\nuverbs0\nuverbs1000\nuverbs1001\n"),
    ("beside", "ls -d /sys/class/infiniband_mad",
     "/sys/class/infiniband_mad\n"),
    ("beside", f"cat {CLASS}/mlx5_1/node_type", None),
    ("beside", f"cat {CLASS}/usiw_lo/mlx5", None),
    # rdma_cm is still usiw's
    ("beside", "cat /sys/class/misc/rdma_cm/abi_version", "4\n"),
    ("only", f"ls {CLASS}", "usiw_down0\nusiw_lo\n"),
    ("only", f"cat {CLASS}/mlx5_0/node_type", None),
    ("only", "ls -d /sys/class/infiniband_mad", None),
    ("only", f"cat {CLASS}/../infiniband/mlx5_0/node_type", None),
]

SEEK = """
import os
d = os.listdir("/sys/class/infiniband")
assert sorted(d) == ["mlx5_0", "usiw_down0", "usiw_lo"], d
assert [e.name for e in os.scandir("/sys/class/infiniband")] == d
fd = os.open("/sys/class/infiniband", os.O_RDONLY)
assert os.listdir(fd) == d
assert os.stat("mlx5_0/node_type", dir_fd=fd).st_size == 6
"""


# What USIW_DEVICES=only says at USIW_LOG=warn:kabi; beside says nothing.
HIDDEN = sorted(f"usiw: kabi: warn: {name}, a device of the machine, is hidden: "
                "USIW_DEVICES=beside shows it" for name in ("mlx5_0", "usiw_lo"))


def inside(command, mode, preload, log="error"):
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    script = SCENE + "export LD_PRELOAD=\"$1\"\nexec \"${@:2}\""
    env["USIW_DEVICES"] = mode
    env["USIW_LOG"] = log
    env.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")
    return subprocess.run(["unshare", "-Urm", "bash", "-c", script, "bash",
                           preload, *command],
                          capture_output=True, text=True, env=env)


BESIDE = 1 << 30  # the first index of usiw's devices in this mode
OURS = [(BESIDE, "usiw_lo"), (BESIDE + 1, "usiw_down0")]
KEYS = "ifindex", "ifname", "netdev"
LISTS = [  # mode, arguments of rdma, what each entry contains
    ("beside", ["dev"], OURS + [(0, "mlx5_0")]),
    ("beside", ["link"],
     [(BESIDE, "usiw_lo", "lo"), (BESIDE + 1, "usiw_down0", "down0"),
      (0, "mlx5_0", "lo")]),
    ("beside", ["link", "show", "mlx5_0/1"], [(0, "mlx5_0", "lo")]),
    ("beside", ["dev", "show", "usiw_lo"], OURS[:1]),
    ("only", ["dev"], [(0, "usiw_lo"), (1, "usiw_down0")]),
    ("only", ["dev", "show", "mlx5_0"], None),
]


def rdma(mode, words, preload, kernel):
    """What the stock tool lists. None: it fails."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    env["LD_PRELOAD"] = preload + (":" + kernel if kernel else "")
    env["USIW_DEVICES"] = mode
    env.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")
    done = subprocess.run(["rdma", "-j", *words], capture_output=True,
                          text=True, env=env)
    if done.returncode:
        return None
    return [tuple(e[k] for k in KEYS if k in e)
            for e in json.loads(done.stdout)]


def refused(preload):
    """A request that usiw does not have is one line."""
    env = dict(os.environ, LD_PRELOAD=preload, USIW_LOG="debug:kabi")
    env.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")
    done = subprocess.run(["rdma", "statistic", "mode"], capture_output=True,
                          text=True, env=env)
    got = [line for line in done.stderr.splitlines() if "kabi: " in line]
    if len(got) == 1 and got[0].startswith(
            "usiw: kabi: debug: RDMA netlink: EOPNOTSUPP: usiw does not have "):
        return 0
    print(f"rdma statistic mode: {done.stderr}")
    return 1


def netlink(preload, kernel):
    bad = 0
    for mode, words, want in LISTS:
        got = rdma(mode, words, preload, kernel)
        if got != want:
            print(f"{mode}: rdma {words}: {got}, wanted {want}")
            bad = 1
    bad |= refused(preload)
    # The kernel of this machine may or may not have NETLINK_RDMA.
    got = rdma("beside", ["dev"], preload, None)
    if got is None or got[:2] != OURS:
        print(f"beside this kernel: {got}")
        bad = 1
    return bad


def main(preload, kernel):
    if not shutil.which("rdma"):
        print("SKIP: no rdma of iproute2")
        return 77
    if netlink(preload, kernel):
        return 1
    probe = subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "none",
                            "/sys/class"], capture_output=True, text=True)
    if probe.returncode:
        print("SKIP: no mount namespace:", probe.stderr.strip())
        return 77
    bad = 0
    for mode, command, want in CASES:
        done = inside(["bash", "-c", command], mode, preload)
        got = None if done.returncode else done.stdout
        if got != want:
            print(f"{mode}: {command}: {got!r}, wanted {want!r}; "
                  f"{done.stderr}")
            bad = 1
    for mode, want in ("only", HIDDEN), ("beside", []):
        done = inside(["ls", CLASS], mode, preload, "warn:kabi")
        got = sorted(done.stderr.splitlines())
        if done.returncode or got != want:
            print(f"{mode}: {got}, wanted {want}")
            bad = 1
    done = inside([sys.executable, "-c", SEEK], "beside", preload)
    if done.returncode:
        print(done.stderr)
        bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
