#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two network namespaces joined by veth, MTU 1500 and 9000, CRC on and off.

The script runs itself inside `unshare -Urnm`, so it does not affect the host's
network and needs no privilege.
"""
import functools
import ipaddress
import re
import subprocess

import harness
import perftest
import ports
import rping
from harness import Failure, Skip, Test, check
from netns import ADDRESS, ADDRESS6, Net

def pings(net, env, address, size):
    with Test(f"rping {address} size {size} {env}") as test:
        rping.pair(test, 300, size, address, listen=address, env=env,
                   inside=net.inside)


def perf(net, env, program, options):
    with Test(f"{program} {' '.join(options)} {env}") as test:
        perftest.pair(test, program, options, address=ADDRESS["server"],
                      env=env, inside={"server": net.inside})


DEVICE = {"server": "usiw_veth1", "client": "usiw_veth0"}


def gid_index(test, net, end, address):
    """The index of the address in the GID table of that end's device."""
    inside = net.inside if end == "server" else ()
    wanted = ipaddress.IPv6Address(
        address if ":" in address else "::ffff:" + address)
    for index in range(8):
        show = test.start("show", [
            "cat", f"/sys/class/infiniband/{DEVICE[end]}/ports/1/gids/{index}"],
            inside=inside)
        show.wait(10)
        if ipaddress.IPv6Address(show.text().strip()) == wanted:
            return index
    raise Failure(f"{DEVICE[end]} has no GID {wanted}")


def hand_pair(net, personas, program, addresses, gid_option, options, octets,
              device=DEVICE):
    """Programs that exchange GIDs, or, without addresses, what they choose
    themselves; without device they take the first one."""
    name = " ".join([program, *options, *personas.values()] +
                    ["first device"] * (not device))
    with Test(f"{name} {addresses and addresses['server']}") as test:
        before = test.counters.sum()
        port = harness.free_port()
        command = {}
        for end in DEVICE:
            harness.PERSONA[:] = ["--persona", personas[end]]
            command[end] = [program, "-p", port, *options]
            if device:
                command[end] += ["-d", device[end]]
            if addresses:
                command[end] += [gid_option,
                                 gid_index(test, net, end, addresses[end])]
        harness.PERSONA[:] = ["--persona", personas["server"]]
        server = test.start("server", command["server"], inside=net.inside)
        server.wait_listening(port)
        harness.PERSONA[:] = ["--persona", personas["client"]]
        client = test.start("client", command["client"] + [ADDRESS["server"]])
        harness.PERSONA.clear()
        client.wait(60)
        server.wait(20)
        test.demand_payload(before, octets)


def by_hand():
    """Queue pairs connected by ibv_modify_qp(), with any persona."""
    net = Net(1500)
    try:
        for server, client in (("rnic", "rnic"), ("ca", "ca"), ("rnic", "ca"),
                               ("ca", "rnic")):
            personas = {"server": server, "client": client}
            for addresses in (ADDRESS, ADDRESS6, None):
                hand_pair(net, personas, "ibv_rc_pingpong", addresses, "-g",
                          ["-n", "200", "-e"], 2 * 200 * 4096)
            if server != client:
                continue
            hand_pair(net, personas, "ibv_rc_pingpong", None, "-g",
                      ["-n", "200"], 2 * 200 * 4096, device=None)
            hand_pair(net, personas, "ib_write_bw", None, "-x",
                      ["-s", "65536", "-n", "200"], 200 << 16, device=None)
            for addresses in (ADDRESS, ADDRESS6):
                hand_pair(net, personas, "ibv_srq_pingpong", addresses, "-g",
                          ["-n", "200"], 2 * 200 * 4096)
                hand_pair(net, personas, "ib_write_bw", addresses, "-x",
                          ["-s", "65536", "-n", "200"], 200 << 16)
    finally:
        net.close()


def two_ports():
    """TCP and rdma_cm on one port of another host."""
    net = Net(1500)
    try:
        for persona in ("rnic", "ca"):
            harness.PERSONA[:] = ["--persona", persona]
            for order in ports.ORDERS:
                ports.both(ADDRESS["server"], order, net.inside)
    finally:
        harness.PERSONA.clear()
        net.close()


def libfabric():
    """
    libfabric's verbs provider leaves loopback out, and wants to be told no
    device where it binds to it.
    """
    harness.need("fi_pingpong")
    net = Net(1500)
    try:
        for persona in ("rnic", "ca"):
            for kind, provider in (("msg", "verbs"),
                                   ("rdm", "verbs;ofi_rxm")):
                fi_pingpong(net, persona, kind, provider)
    finally:
        net.close()


def fi_pingpong(net, persona, kind, provider):
    count = 20
    sizes = (64, 256, 1024, 4096, 65536, 1 << 20)
    words = ["fi_pingpong", "-p", provider, "-e", kind, "-c", "-I", count]
    harness.PERSONA[:] = ["--persona", persona]
    with Test(f"fi_pingpong -p '{provider}' -e {kind} {persona}") as test:
        port = harness.free_port()
        server = test.start("server", words + ["-B", port],
                            env={"USIW_INTERFACES": "veth1"},
                            inside=net.inside)
        server.wait_listening(port)
        client = test.start("client", words + ["-P", port, ADDRESS["server"]],
                            env={"USIW_INTERFACES": "veth0"})
        client.wait(60)
        server.wait(20)
        for size in ("64", "256", "1k", "4k", "64k", "1m"):
            check(re.search(rf"^{size} +{count} +={count} ", client.text(),
                            re.M), f"no row of {size}")
        test.demand_payload({}, 2 * count * sum(sizes))
    harness.PERSONA.clear()


MPI_PROGRAM = """
import array
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
octets = 1 << 18
for turn in range(5):
    out = b"".join(bytes([16 * rank + peer + turn]) * octets
                   for peer in range(size))
    got = bytearray(size * octets)
    world.Alltoall(out, got)
    assert got == b"".join(bytes([16 * peer + rank + turn]) * octets
                           for peer in range(size))
    assert world.allreduce(rank) == size * (size - 1) // 2
    world.Barrier()
if rank == 0:
    print("good", size)
"""


def mpi():
    """
    Open MPI on libfabric.  Persona ca: told that it is iWARP, libfabric has
    no remote data in completions, and Open MPI 4.1.4 then hangs, over TCP as
    well (mtl_ofi_tag_mode ofi_tag_1).
    """
    harness.need("mpirun.openmpi")
    python = "/usr/bin/python3"  # Debian's, which has Debian's modules
    if subprocess.run([python, "-c", "import mpi4py"],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("mpi4py is not installed")
    net = Net(1500)
    harness.PERSONA[:] = ["--persona", "ca"]
    try:
        with Test("mpirun -n 3 ca") as test:
            program = test.start("mpi", [
                "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
                "-n", 3, "--mca", "plm", "isolated", "--mca", "pml", "cm",
                "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include",
                "verbs;ofi_rxm", python, "-c", MPI_PROGRAM],
                env={"USIW_INTERFACES": "veth0", "HOME": test.directory,
                     "TMPDIR": test.directory})
            program.wait(60)
            check("good 3" in program.text(), program.text())
            # With three processes, each one sends to two.
            test.demand_payload({}, 5 * 3 * 2 << 18)
    finally:
        harness.PERSONA.clear()
        net.close()


def over(mtu, crc):
    net = Net(mtu)
    env = {"USIW_CRC": crc}
    try:
        print(f"MTU {mtu}, CRC {crc}:")
        pings(net, env, ADDRESS["server"], 64)
        pings(net, env, ADDRESS["server"], 65000)
        pings(net, env, ADDRESS6["server"], 4000)
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            perf(net, env, program, ["-s", "65536", "-n", "500"])
            perf(net, env, program, ["-s", "1000", "-n", "1000"])
    finally:
        net.close()


if __name__ == "__main__":
    harness.confine(__file__)
    harness.main([(f"mtu{mtu}-crc-{crc}", functools.partial(over, mtu, crc))
                  for mtu in (1500, 9000) for crc in ("on", "off")] +
                 [("by-hand", by_hand), ("two-ports", two_ports),
                  ("libfabric", libfabric), ("mpi", mpi)])
