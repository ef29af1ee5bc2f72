# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs the cases of roce_cases.py: datagrams between usiw with persona ca on
the host and the kernel's rdma_rxe in the guest. All packets of a case are
captured and read by two other decoders."""
import ipaddress
import os
import re
import shutil
import socket
import sys
import tempfile

import guest as kernel_lab
import roce_cases
from guest import InteropTest, harness
from harness import Failure, check, wait_until
from sniffer import HostSniffer

sys.path.insert(0, os.path.join(kernel_lab.HERE, ".."))

import roce_tshark  # noqa: E402
import rocev2  # noqa: E402

PROGRAMS = ("ibv_ud_pingpong", "udaddy", "mckey")
HAS_TSHARK = shutil.which("tshark") is not None
ADDRESS = {"ipv4": {"host": "10.9.0.1", "guest": "10.9.0.2"},
           "ipv6": {"host": "fd09::1", "guest": "fd09::2"}}
DEVICE = {"host": "usiw_tap0", "guest": "rxe0"}
GIDS = "/sys/class/infiniband/{}/ports/1/gids/{}"
ERRORS_OF_RXE = re.compile(r"^.*(?:rdma_rxe|rxe0).*(?:[Ff]ail|[Ee]rr).*$", re.M)


def prepare_host():
    done = harness.subprocess.run(
        ["ip", "addr", "add", ADDRESS["ipv6"]["host"] + "/64", "dev", "tap0",
         "nodad"], stderr=harness.subprocess.PIPE, text=True)
    check(done.returncode == 0 or "exists" in done.stderr,
          f"ip addr add: {done.stderr.strip()}")


def prepare_guest(guest):
    guest.shell(f"ip -6 addr add {ADDRESS['ipv6']['guest']}/64 dev "
                f"{guest.device} nodad && modprobe -a ib_uverbs rdma_rxe rdma_ucm && "
                f"rdma link add rxe0 type rxe netdev {guest.device}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class RocePair:
    """Server and client of a case; usiw has one of them."""

    def __init__(self, test, guest, case):
        self.test, self.guest, self.case = test, guest, case
        self.port = guest.next_port()
        self.server = self.client = None

    def where(self, role):
        return "host" if role == self.case.usiw else "guest"

    def gid_text(self, where, index):
        path = GIDS.format(DEVICE[where], index)
        if where == "guest":
            return self.guest.shell(f"cat {path}")
        show = self.test.start("show", ["cat", path])
        show.wait(10)
        return show.text()

    def gid_index(self, where):
        address = ADDRESS[self.case.ip][where]
        wanted = ipaddress.IPv6Address(
            address if ":" in address else "::ffff:" + address)
        for index in range(8):
            text = self.gid_text(where, index).strip()
            if ipaddress.IPv6Address(text) == wanted:
                return index
        raise Failure(f"{DEVICE[where]} has no GID {wanted}")

    def words(self, where):
        programs = os.path.join(harness.BUILD, "bin") if where == "host" \
            else "/host/bin"
        names = {"PORT": self.port, "DEVICE": DEVICE[where],
                 "UD_VERIFY": os.path.join(programs, "ud-verify")}
        if "GID" in self.case.words:
            names["GID"] = self.gid_index(where)
        return [str(names.get(w, w)) for w in self.case.words]

    def start(self, role):
        case, where = self.case, self.where(role)
        words = self.words(where)
        if where == "host":
            words += case.own
        words += case.client if role == "client" else case.server
        peer = ADDRESS[case.tcp_ip][self.where("server")]
        words = [{"OWN": ADDRESS[case.ip][where], "PEER": peer}.get(w, w)
                 for w in words]
        name = f"{role} on {'usiw' if where == 'host' else 'rxe'}"
        if where == "host":
            return self.test.start(name, words, env={"USIW_LOG": "info"})
        program = self.guest.start(name, words)
        self.test.others.append(program)
        return program

    def has_listener(self):
        """Of rdma_cm, or a member of the group."""
        is_guest = self.where("server") == "guest"
        if self.case.group:
            number = int(ipaddress.IPv4Address(self.case.group))
            wanted = f"{socket.htonl(number):08X}"
            return wanted in (self.guest.shell("cat /proc/net/igmp")
                              if is_guest else read("/proc/net/igmp"))
        if is_guest:
            return "LISTEN" in self.guest.shell("rdma resource show cm_id")
        return "@usiw-sidr/" in read("/proc/net/unix")

    def serve(self):
        self.server = self.start("server")
        if self.case.listens == "tcp":
            self.server.wait_listening(self.port, self.case.timeout)
        else:
            wait_until(self.has_listener, self.case.timeout, "a listener")

    def wait(self):
        self.client.wait(self.case.timeout)
        self.server.wait(self.case.timeout)


def run_pairs(test, guest, case):
    """Return: the output of the first client."""
    pairs = [RocePair(test, guest, case) for _ in range(case.pairs)]
    for pair in pairs:
        pair.serve()
    for pair in pairs:
        pair.client = pair.start("client")
    for pair in pairs:
        pair.wait()
    return pairs[0].client.text()


def check_packets(case, path, drops):
    """What crossed the wire is right, and is what the case has."""
    try:
        packets = rocev2.read(path)
    except rocev2.Wrong as e:
        raise Failure(f"on the wire: {e}") from None
    ours, theirs = (ADDRESS[case.ip][w] for w in ("host", "guest"))
    for source, target, wanted in (
            (ours, case.group or theirs, case.packets[0]),
            (theirs, case.group or ours, case.packets[1])):
        mine = [p for p in packets
                if (p.source, p.target) == (source, target)]
        check(len(mine) >= wanted or drops,
              f"{len(mine)} packets from {source}, not {wanted}")
        sizes = {len(p.payload) for p in mine}
        check(not wanted or case.sizes <= sizes or drops,
              f"from {source} no packets of {case.sizes - sizes} octets")
    strange = [p for p in packets if not {p.source, p.target} <= {
        ours, theirs, case.group}]
    check(not strange, f"whose packet is this? {strange and strange[0]}")
    # QP 1 of usiw belongs to all processes of the host: its PSN is 0.
    gaps = rocev2.gaps(p for p in packets
                       if (p.source, p.source_qpn) != (ours, rocev2.GSI))
    check(not gaps or drops, f"not in order: {gaps and gaps[0]}")
    if HAS_TSHARK:
        roce_tshark.check_all(path, packets, may_lack_sums=True)


def check_usiw(test, case):
    """Nothing but what the case loses on purpose."""
    counters = test.counters.sum()
    # A sender that is in a group gets what it sends, and has no receives. MADs
    # that come at once may be more than an AF_UNIX socket holds; they come
    # again.
    lost = 0 if case.listens == "cm" else counters.get("ud_lost", 0)
    check(counters.get("ud_bad", 0) == 0 and lost == 0,
          f"usiw lost packets, or found them bad: {counters}")
    check(counters.get("ud_received", 0) >= case.packets[1],
          f"usiw received {counters.get('ud_received')} datagrams")


def run_case(guest, case):
    guest.clear_kernel_log()
    with InteropTest(case.name, guest) as test:
        path = os.path.join(test.directory, "roce.pcap")
        sniffer = HostSniffer("tap0", path, f"udp port {rocev2.PORT}")
        try:
            text = run_pairs(test, guest, case)
            if case.table:
                check_table(case, text)
            check_usiw(test, case)
            wait_until(sniffer.is_idle, 10, "the capture to be whole")
            sniffer.stop()
            check_packets(case, path, sniffer.drops)
        except Failure:
            sniffer.stop()
            keep(path)
            raise
        found = ERRORS_OF_RXE.search(guest.kernel_log())
        check(not found, f"the guest's kernel: {found and found[0]}")


def check_table(case, text):
    program, size, count = case.table
    rows = [(int(a), int(b)) for a, b in re.findall(
        r"^ *(\d+) +(\d+) +[0-9i]", text, re.M)]
    check(rows == [(size, count)], f"{program}'s table: {rows}")


def keep(path):
    directory = tempfile.mkdtemp(prefix="usiw-interop-failed.")
    shutil.copy(path, directory)
    print(f"--- its capture is kept in {directory}")


def table():
    return list(roce_cases.table())
