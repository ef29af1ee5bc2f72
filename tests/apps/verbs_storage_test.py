#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""verbs_storage_test.py PROGRAM [CASE...]: what moves blocks and memory by
reliable connections.

PROGRAM is one of ceph, fio, iser, qemu. What arrives is compared, except with
fio, whose engine keeps no data.
"""
import functools
import json
import os
import re
import socket
import subprocess
import sys
import uuid

import datagrams
import harness
from datagrams import DEVICE, Test
from harness import check

MIB = 1 << 20


def octets_of(path):
    with open(path, "rb") as f:
        return f.read()


def random_file(test, size):
    path = os.path.join(test.directory, "random")
    with open(path, "wb") as f:
        f.write(os.urandom(size))
    os.chmod(path, 0o644)
    return path


def run(test, name, command, timeout=60, **kwargs):
    """Runs a program to its end. Return: what it prints."""
    program = test.start(name, command, **kwargs)
    program.wait(timeout)
    return program.text()


# ---- fio -----------------------------------------------------------------

def fio(verb, size=64):
    """The server says "read", the client "write", whatever moves the data."""
    with Test(f"fio, ioengine=rdma, verb={verb}") as test:
        harness.need("fio")
        job = ["fio", "--name=job", "--ioengine=rdma", "--port", "PORT",
               "--bs=64k", f"--size={size}m", "--iodepth=16"]
        client = datagrams.pair(
            test, job + ["--rw=read"],
            job + ["--rw=write", "--hostname=127.0.0.1", f"--verb={verb}"])
        check(re.search(rf"WRITE: bw=.*io={size}\.0MiB", client.text()),
              client.text())
        test.demand_payload({}, size * MIB)
        test.demand_path()


# ---- QEMU: migration -----------------------------------------------------

class Machine:
    """A virtual machine that does not run, and its QMP socket."""

    MEMORY, AT = 64, 16 * MIB

    def __init__(self, test, name, *options):
        self.path = os.path.join(test.directory, "scratch", name)
        self.program = test.start(name, [
            "qemu-system-x86_64", "-accel", "tcg", "-m", self.MEMORY,
            "-nodefaults", "-display", "none", "-S", "-qmp",
            f"unix:{self.path},server=on,wait=off", *options])
        self.socket = socket.socket(socket.AF_UNIX)
        harness.wait_until(self.connect, 20, f"the QMP socket of {name}")
        self.lines = self.socket.makefile("r")
        self.lines.readline()
        self.call("qmp_capabilities")

    def connect(self):
        check(self.program.process.poll() is None, "qemu ended")
        try:
            self.socket.connect(self.path)
            return True
        except OSError:
            return False

    def call(self, command, **arguments):
        self.socket.sendall(json.dumps(
            {"execute": command, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.lines.readline())
            if "event" not in answer:
                check("return" in answer, f"{command}: {answer}")
                return answer["return"]

    def pin(self):
        self.call("migrate-set-capabilities", capabilities=[
            {"capability": "rdma-pin-all", "state": True}])

    def quit(self):
        self.call("quit")
        self.socket.close()
        self.program.wait(20)


def qemu(pins, size=16):
    """Memory that the first machine has from a file is in the second one
    afterwards."""
    with Test(f"QEMU, migration by rdma:, pins all: {pins}") as test:
        harness.need("qemu-system-x86_64")
        saved = os.path.join(test.folder(), "saved")
        content = random_file(test, size * MIB)
        port = harness.free_port()
        uri = f"rdma:127.0.0.1:{port}"
        target = Machine(test, "target", "-incoming", "defer")
        source = Machine(test, "source", "-device", "loader,force-raw=on,file="
                         f"{content},addr={Machine.AT:#x}")
        if pins:
            target.pin()
            source.pin()
        target.call("migrate-incoming", uri=uri)
        target.program.wait_listening(port)
        source.call("migrate", uri=uri)

        def ended():
            state = source.call("query-migrate")
            check(state.get("status") not in ("failed", "cancelled"), state)
            return state.get("status") == "completed"
        harness.wait_until(ended, 60, "the migration")
        target.call("pmemsave", val=Machine.AT, size=size * MIB,
                    filename=saved)
        check(octets_of(saved) == octets_of(content), "the memory differs")
        source.quit()
        target.quit()
        test.demand_payload({}, size * MIB)
        test.demand_path()


# ---- Ceph ----------------------------------------------------------------

CEPH = """[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{port}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_type = async+rdma
ms_async_rdma_device_name = {device}
log_file =
log_to_stderr = true
admin_socket =
run_dir = {scratch}
mon_data = {scratch}/mon
mon_allow_pool_size_one = true
osd_data = {scratch}/osd
osd_objectstore = memstore
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_crush_chooseleaf_type = 0
"""


def ceph(size=16):
    """A monitor, an OSD and their clients talk by RDMA only. An object is
    stored, fetched and compared."""
    with Test("Ceph, ms_type=async+rdma") as test:
        harness.need("ceph", "ceph-mon", "ceph-osd", "monmaptool", "rados")
        scratch = test.folder()
        content = random_file(test, size * MIB)
        fsid, disk = (str(uuid.uuid4()) for _ in range(2))
        config, monmap, back = (os.path.join(scratch, name)
                                for name in ("ceph.conf", "monmap", "back"))
        port = harness.free_port()
        with open(config, "w", encoding="utf-8") as f:
            f.write(CEPH.format(fsid=fsid, port=port, device=DEVICE,
                                scratch=scratch))
        for name in ("mon", "osd"):
            os.mkdir(os.path.join(scratch, name))
            os.chmod(os.path.join(scratch, name), 0o777)
        run(test, "monmaptool", [
            "monmaptool", "--create", "--fsid", fsid, "--addv", "a",
            f"[v2:127.0.0.1:{port}]", monmap], usiw=False)
        monitor = ["ceph-mon", "-c", config, "-i", "a"]
        osd = ["ceph-osd", "-c", config, "-i", 0]
        ask = ["ceph", "-c", config, "--connect-timeout", 60]
        pool = ["rados", "-c", config, "-p", "pool"]
        run(test, "mkfs-mon", [*monitor, "--mkfs", "--monmap", monmap])
        test.start("mon", [*monitor, "-f"]).wait_listening(port)
        run(test, "osd-new", [*ask, "osd", "new", disk])
        run(test, "mkfs-osd", [*osd, "--mkfs", "--osd-uuid", disk])
        test.start("osd", [*osd, "-f"])
        run(test, "pool", [*ask, "osd", "pool", "create", "pool", 8, 8])
        run(test, "put", [*pool, "put", "object", content])
        run(test, "get", [*pool, "get", "object", back])
        check(octets_of(back) == octets_of(content), "the object differs")
        test.demand_payload({}, 2 * size * MIB)
        test.demand_path()


# ---- tgt and libiscsi: iSER ----------------------------------------------

TARGET = "iqn.2026-01.test.usiw:disk"
# In a network namespace: tgtd 1.0.85 refuses a port of its own for iSER, as it
# takes an older errno for that of strtol().
ISER_PORT = 3260
INITIATOR = "iqn.2008-11.org.linux-kvm"  # of qemu-img
BLOCK = 256 << 10  # libiscsi 1.19 refuses more, and hangs or crashes then
# libiscsi 1.19 follows a list in memory from iscsi_malloc() that it has not set
# (iscsi_init_iser_transport() in lib/iser.c; iscsi_zmalloc() in 1.20). So it
# crashes, or does not, as the heap was used before. This sets it to zeros.
ZEROS = {"MALLOC_PERTURB_": "255"}


def iser(size=16):
    """tgtd offers a file by iSER. qemu-img, whose iSCSI driver is libiscsi,
    writes another one to it, and reads it back."""
    with Test("tgtd and qemu-img, iSER") as test:
        harness.need("tgtd", "tgtadm", "qemu-img")
        scratch = test.folder()
        source = random_file(test, size * MIB)
        disk, back, control = (os.path.join(scratch, name)
                               for name in ("disk", "back", "control"))
        with open(disk, "wb") as f:
            f.truncate(size * MIB)
        os.chmod(disk, 0o666)
        env = {"TGT_IPC_SOCKET": control}
        server = test.start("tgtd", ["tgtd", "-f", "--iser",
                                     "pool_sz_mb=128"], env=env)
        harness.wait_until(lambda: os.path.exists(control + ".0"), 20,
                           "the socket of tgtd")
        for words in (
                ["target", "--op", "new", "--targetname", TARGET],
                ["logicalunit", "--op", "new", "--lun", 1, "--backing-store",
                 disk],
                # By iSER it wants both.
                ["target", "--op", "bind", "--initiator-address", "ALL"],
                ["target", "--op", "bind", "--initiator-name", INITIATOR]):
            run(test, "tgtadm", ["tgtadm", "--lld", "iser", "--tid", 1,
                                 "--mode", *words], env=env, usiw=False)
        url = f"iser://127.0.0.1:{ISER_PORT}/{TARGET}/1"
        copy = ["qemu-img", "dd", "-f", "raw", "-O", "raw", f"bs={BLOCK}"]
        run(test, "writer", [*copy, f"if={source}", f"of={url}"], env=ZEROS)
        check(octets_of(disk) == octets_of(source), "what was written differs")
        run(test, "reader", [*copy, f"if={url}", f"of={back}"], env=ZEROS)
        check(octets_of(back) == octets_of(source), "what was read differs")
        check(server.process.poll() is None, "tgtd ended")
        test.demand_payload({}, 2 * size * MIB)
        total = test.counters.sum()
        check(total["read_wr"] >= size * MIB // BLOCK,
              f"{total['read_wr']} reads")
        test.demand_path()


PROGRAMS = {
    "ceph": ("Ceph: monitor, OSD, rados; ms_type=async+rdma, persona ca", [
        ("ceph", ceph)]),
    "fio": ("fio: ioengine=rdma, verb write, read, send", [
        (verb, functools.partial(fio, verb))
        for verb in ("write", "read", "send")]),
    "iser": ("tgt and libiscsi: tgtd, qemu-img dd, by iSER", [("iser", iser)]),
    "qemu": ("QEMU: migration by rdma:, with and without rdma-pin-all", [
        ("chunks", functools.partial(qemu, False)),
        ("pin-all", functools.partial(qemu, True))]),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"programs: {' '.join(PROGRAMS)}")
    if sys.argv[1] == "ceph":
        harness.PERSONA[:] = ["--persona", "ca"]
    if sys.argv[1] == "iser":
        harness.confine(__file__)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    title, cases = PROGRAMS[sys.argv.pop(1)]
    datagrams.main(title, "RC", cases)
