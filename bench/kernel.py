#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Compares usiw with the Linux kernel's siw and rxe, all in one QEMU guest.

	kernel.py [OPTION OF bench.py]...

The guest is that of tests/kernel-lab, which is built first if it does not
exist (root, and a Debian mirror). bench.py --kernel runs in it. Only the
ratios are meaningful: the guest is slower than the machine, by a different
factor for each kind of work. Exit code 77: it cannot run here, the reason is
printed.
"""
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LAB = os.path.join(ROOT, "tests", "kernel-lab")
BUILD = os.path.abspath(os.environ.get("USIW_BUILD_DIR") or
                        os.path.join(ROOT, "build"))
IMAGE = os.path.join(os.environ.get("KERNEL_LAB_DIR", "/var/tmp/kernel-lab"),
                     os.environ.get("KERNEL_LAB_SUITE", "bookworm"))
LIFE_SECONDS = 3600
SKIP = 77
# One interface for each driver: rdma_cm finds a device by address.
DEVICES = {"siw": ("siw", "10.8.1.1"), "rxe": ("rdma_rxe", "10.8.2.1")}
# An emulated CPU is about ten times slower than a virtual one.
SCALES = {"kvm": 0.5, "tcg": 0.03}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def prepare():
    """The guest's image."""
    if not shutil.which("qemu-system-x86_64"):
        skip("qemu-system-x86 is not installed (scripts/install-deps interop)")
    if os.geteuid() == 0:
        if subprocess.run([os.path.join(LAB, "build")]).returncode:
            skip("the guest image cannot be built (it needs a Debian mirror)")
    elif not os.path.exists(os.path.join(IMAGE, "stamp")):
        skip(f"no guest image in {IMAGE}: as root, run tests/kernel-lab/build")


def foreign_libraries(file):
    """The libraries that usiw needs and the image lacks."""
    listing = subprocess.run(["ldd", file], check=True,
                             capture_output=True, text=True).stdout
    fields = [line.split() for line in listing.split("\n")]
    return [f[2] for f in fields
            if len(f) > 2 and f[0].startswith(
                ("libisal", "libjansson", "libncursesw", "libtinfo"))]


def fill(share):
    """Copies the programs for the guest."""
    shutil.copytree(HERE, os.path.join(share, "bench"))
    shutil.copytree(os.path.join(ROOT, "tests", "apps"),
                    os.path.join(share, "tests", "apps"))
    shutil.copytree(os.path.join(BUILD, "lib"),
                    os.path.join(share, "build", "lib"), symlinks=True,
                    ignore=shutil.ignore_patterns("*.a"))
    os.mkdir(os.path.join(share, "build", "bin"))
    for name in ("usiw", "bench-verbs"):
        shutil.copy(os.path.join(BUILD, "bin", name),
                    os.path.join(share, "build", "bin"))
    for file in [os.path.join(BUILD, "bin", "usiw"),
                 *glob.glob(os.path.join(BUILD, "lib", "libusiw-rnic-*.so"))]:
        for path in foreign_libraries(file):
            shutil.copy(path, os.path.join(share, "build", "lib"))


def script(options, scale):
    """The script for the guest's shell. It copies the programs into memory.
    Otherwise the first rounds would measure access to the host's files."""
    lines = ["set -e", "cp -r /host/bench /host/tests /host/build /tmp",
             "modprobe -a iw_cm ib_uverbs rdma_ucm libcrc32c"]
    words = []
    for driver, (module, address) in DEVICES.items():
        lines += [f"modprobe {module}",
                  f"ip link add {driver}d0 type dummy",
                  f"ip addr add {address}/24 dev {driver}d0",
                  f"ip link set {driver}d0 up",
                  f"rdma link add {driver}0 type {driver} netdev {driver}d0"]
        words += ["--address", f"{driver}={address}"]
    words += ["--scale", str(scale), "--out", "/host/out", *options]
    lines += ["export USIW_TEST_KEEP_USER=1 USIW_BUILD_DIR=/tmp/build",
              "export USIW_TEST_SLOW=10 LD_LIBRARY_PATH=/tmp/build/lib",
              "python3 -B /tmp/bench/bench.py --kernel " +
              shlex.join(words)]
    return "\n".join(lines)


def accelerator():
    """The accelerator that tests/kernel-lab/run has found for this machine."""
    chosen = os.environ.get("KERNEL_LAB_ACCEL")
    if chosen:
        return chosen
    subprocess.run([os.path.join(LAB, "run"), "-t", "120", "--", "true"],
                   check=True)
    for path in glob.glob(os.path.join(IMAGE, "accel.*")):
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    return "tcg"


def main():
    prepare()
    accel = accelerator()
    out = os.path.join(BUILD, "bench-kernel")
    with tempfile.TemporaryDirectory(prefix="usiw-bench.") as share:
        fill(share)
        code = subprocess.run(
            [os.path.join(LAB, "run"), "-s", share, "-t", str(LIFE_SECONDS),
             "--", script(sys.argv[1:], SCALES[accel])]).returncode
        made = os.path.join(share, "out")
        if os.path.isdir(made):
            shutil.copytree(made, out, dirs_exist_ok=True)
            print(f"results: {os.path.relpath(out)} (guest under {accel})")
    return code


if __name__ == "__main__":
    sys.exit(main())
