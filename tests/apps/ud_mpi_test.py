#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ud_mpi_test.py PROGRAM [CASE...]: MPI and OpenSHMEM over UCX, by datagrams
alone, and by connections that UCX makes with the help of datagrams.

PROGRAM is one of openmpi, mpich, openshmem. 2 and 4 processes send to each
other, and compare what comes. All other transports are off.
"""
import functools
import os
import re
import subprocess
import sys

import datagrams
import harness
from datagrams import DEVICE, Test
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK, TURNS = 1 << 18, 5  # as in the programs

OPEN_MPI = ["--allow-run-as-root", "--oversubscribe", "--mca", "plm",
            "isolated", "--mca", "pml", "ucx", "--mca", "btl", "self", "--mca",
            "osc", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
            "pml_ucx_devices", "any"]
# Name, compiler, source, what starts the processes, its environment
PROGRAMS = {
    "openmpi": ("Open MPI, pml ucx, 2 and 4 ranks", "mpicc.openmpi",
                "mpi_exchange.c", ["mpirun.openmpi", *OPEN_MPI], {}),
    "mpich": ("MPICH, ch4:ucx, 2 and 4 ranks", "mpicc.mpich",
              "mpi_exchange.c", ["mpiexec.hydra", "-launcher", "fork"],
              {"MPIR_CVAR_NOLOCAL": "1"}),
    "openshmem": ("OpenSHMEM of Open MPI, spml ucx, 2 and 4 processes",
                  "oshcc", "shmem_exchange.c",
                  ["oshrun", *OPEN_MPI, "--mca", "spml", "ucx"], {}),
}


def build(test, compiler, source):
    path = os.path.join(test.directory, "program")
    done = subprocess.run([compiler, "-O2", "-o", path,
                           os.path.join(HERE, source)], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"{compiler}: {done.stdout}")
    return path


def run(name, tls, size):
    _, compiler, source, starter, more = PROGRAMS[name]
    with Test(f"{name}, {size} processes, {tls}") as test:
        harness.need(compiler, starter[0])
        path = build(test, compiler, source)
        scratch = test.folder()
        started = test.start("starter", [*starter, "-n", size, path], env={
            "UCX_TLS": tls, "UCX_NET_DEVICES": f"{DEVICE}:1", "HOME": scratch,
            "TMPDIR": scratch, **more})
        started.wait(60)
        said = re.search(rf"^good {size}.*", started.text(), re.M)
        check(said, started.text())
        print(said.group(0))
        # To itself a process does not send.
        test.demand_datagrams(TURNS * size * (size - 1) * BLOCK, size,
                              "rc" not in tls)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"programs: {' '.join(PROGRAMS)}")
    program = sys.argv.pop(1)
    harness.PERSONA[:] = ["--persona", "ca"]
    datagrams.main(PROGRAMS[program][0], "UD+RC", [
        (f"{size}-{tls}", functools.partial(run, program, tls, size))
        for size in (2, 4)
        for tls in ("ud_verbs,self", "rc_verbs,ud_verbs,self")])
