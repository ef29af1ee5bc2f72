#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw capture with unmodified programs: tshark decodes what it writes, of
each opcode, persona and carrier, and both ends show the same octets. Processes
that run, end, are refused; disks that are full, or read-only.

tshark complains about start frames of revision 2, and about nothing else."""
import functools
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apps"))

import harness  # noqa: E402
import perftest  # noqa: E402
import rping  # noqa: E402
import tshark  # noqa: E402
from harness import USIW, Test, check  # noqa: E402

ADDRESS = "127.0.0.1"
ASKED = ("frame", "raw", "ip", "ipv6", "tcp", "udp", "data", "iwarp_mpa",
         "iwarp_ddp_rdmap", "infiniband")
OPCODES = {"write": 0, "read request": 1, "read response": 2, "send": 3,
           "send inv": 4, "send se": 5, "send se inv": 6, "terminate": 7,
           "imm": 8, "imm se": 9, "atomic request": 10, "atomic response": 11}
COMPLAINTS = re.compile(r"^ *\[Expert Info \((?:Warn|Error)[^\n]*"
                        r"|^\[Malformed[^\n]*", re.M)
# Of revision 2; and of a capture that has lost packets, or does not look at
# both directions.
EXPECTED = re.compile(r"(Res|Rev) field is NOT set")
GAPS = re.compile(r"(Previous segment|ACKed segment)")
SUMMARY = re.compile(r"usiw: capture: (\d+) packets captured, (\d+) dropped "
                     r"\(ring full\), (\d+) dropped \(output\)")
CARRIERS = {"tcp": harness.WIRE, "ring": {**harness.LOCAL,
                                          "USIW_LOCAL_AFTER": "0"}}


class Packets:
    """What tshark reads in a file."""

    FIELDS = ("frame.comment", "tcp.seq_raw", "tcp.len", "tcp.srcport",
              "tcp.dstport", "iwarp_mpa.fpdu", "iwarp_rdma.opcode",
              "infiniband.bth.opcode", "udp.payload", "tcp.payload")

    def __init__(self, path, may_have_gaps=False, most=1000000):
        self.path = path
        read = ["-r", path, "-c", str(most)]
        shown = tshark.run(ASKED, *read, "-V")
        for found in COMPLAINTS.findall(shown):
            check(EXPECTED.search(found) or
                  (may_have_gaps and GAPS.search(found)),
                  f"tshark: {found.strip()}")
        check("(Bad CRC32" not in shown or "without CRC" in shown,
              "bad CRCs, though TCP carries them")
        words = [w for name in self.FIELDS for w in ("-e", name)]
        lines = tshark.run(ASKED, *read, "-T", "fields", "-E", "separator=|",
                           *words).splitlines()
        self.rows = [dict(zip(self.FIELDS, line.split("|"))) for line in lines]

    def opcodes(self):
        return {int(row["iwarp_rdma.opcode"], 16) for row in self.rows
                if row["iwarp_rdma.opcode"]}

    def fpdus(self):
        return [row for row in self.rows if row["iwarp_mpa.fpdu"]]

    def comments(self):
        return "\n".join(row["frame.comment"] for row in self.rows)

    def streams(self):
        """Ports, the sender's first -> the octets of FPDUs, which follow each
        other."""
        found, ends = {}, {}
        for row in self.fpdus():
            key = row["tcp.srcport"], row["tcp.dstport"]
            seq = int(row["tcp.seq_raw"])
            check(ends.get(key, seq) == seq, f"{self.path}: a gap")
            octets = bytes.fromhex(row["tcp.payload"])
            check(len(octets) == int(row["tcp.len"]), "a packet is cut")
            ends[key] = (seq + len(octets)) & 0xffffffff
            found[key] = found.get(key, b"") + octets
        return found

    def datagrams(self):
        return [row["udp.payload"] for row in self.rows
                if row["infiniband.bth.opcode"]]


def summary(text):
    """What it says at the end: captured, lost, dropped."""
    found = SUMMARY.search(text)
    check(found, f"no summary in {text!r}")
    return tuple(map(int, found.groups()))


def capture_words(path, *options):
    return [USIW, "capture", "-o", path, "-B", "64", *options, "--"]


def captured_pair(test, run):
    """Runs a pair of programs, of which each has a capture. Return: what it
    has read in both."""
    paths = [os.path.join(test.directory, f"{side}.pcapng")
             for side in ("server", "client")]
    run({"server": capture_words(paths[0]), "client": capture_words(paths[1])})
    for program in test.programs[-2:]:
        count, lost, dropped = summary(program.text())
        check(count and not lost and not dropped,
              f"{count} captured, {lost} lost, {dropped} dropped")
    return [Packets(path) for path in paths]


def perftest_case(persona, carrier, program, options, opcodes,
                  connect=perftest.BY_CM):
    harness.PERSONA[:] = ["--persona", persona]
    env = CARRIERS[carrier]
    with Test(f"{program} {persona} {carrier}") as test:
        server, client = captured_pair(test, lambda inside: perftest.pair(
            test, program, options, ADDRESS, env=env, inside=inside,
            demand=lambda *_: None, connect=connect))
        for side in server, client:
            check(side.opcodes() >= {OPCODES[name] for name in opcodes},
                  f"opcodes: {side.opcodes()}")
            check(f"persona {persona}" in side.comments(), "no persona")
            check(("shared memory" in side.comments()) == (carrier == "ring"),
                  f"another carrier: {side.comments()}")
        streams = server.streams()
        check(streams == client.streams(), "the ends show other octets")
        # Each process counts the FPDUs that it sends and receives.
        counted = test.counters.sum()
        shown = sum(map(len, streams.values()))
        check(0 <= counted["tx_octets"] - shown <= 600,
              f"{counted['tx_octets']} octets sent, {shown} captured")
        check(len(server.fpdus()) == counted["tx_fpdu"],
              f"{counted['tx_fpdu']} FPDUs sent, {len(server.fpdus())} "
              "captured")


def datagram_case(carrier):
    harness.PERSONA[:] = ["--persona", "ca"]
    with Test(f"UD {carrier}") as test:
        server, client = captured_pair(test, lambda inside: perftest.pair(
            test, "ib_send_lat", ["-c", "UD", "-s", "1001", "-n", "50"],
            ADDRESS, env=CARRIERS[carrier], inside=inside,
            demand=lambda *_: None, connect=perftest.BY_HAND))
        check(len(server.datagrams()) == 100, "not all datagrams")
        check(sorted(server.datagrams()) == sorted(client.datagrams()),
              "the ends show other datagrams")
        check(("AF_UNIX" in server.comments()), "another carrier")


def management_case():
    """rdma_cm's own datagrams, and what they have connected."""
    harness.PERSONA[:] = ["--persona", "ca"]
    with Test("udaddy") as test:
        path = os.path.join(test.directory, "client.pcapng")
        server = test.start("server", ["udaddy", "-b", ADDRESS])
        server.wait_waiting()
        client = test.start("client", ["udaddy", "-b", ADDRESS, "-s", ADDRESS],
                            inside=capture_words(path))
        client.wait(60)
        server.wait(20)
        check("CM: ServiceIDResReq" in tshark.run(ASKED, "-r", path),
              "no management datagrams")
        # Each way 10, and a request and its answer; perhaps once more.
        check(len(Packets(path).datagrams()) >= 22, "not all datagrams")


def payload_case(carrier):
    """The octets are those of the program: rping counts through them."""
    harness.PERSONA[:] = []
    with Test(f"rping {carrier}") as test:
        path = os.path.join(test.directory, "both.pcapng")
        port = harness.free_port()
        words = ["rping", "-V", "-C", "40", "-S", "200", "-p", str(port)]
        server = test.start("server", [*words, "-s", "-a", ADDRESS],
                            inside=capture_words(path),
                            env=CARRIERS[carrier])
        server.wait_listening(port)
        client = test.start("client", [*words, "-c", "-a", ADDRESS],
                            env=CARRIERS[carrier])
        rping.finish(server, client)
        octets = b"".join(Packets(path).streams().values())
        for i in range(40):
            check(octets.count(b"rdma-ping-%d: " % i) == 2,  # there and back
                  f"rdma-ping-{i} is there "
                  f"{octets.count(b'rdma-ping-%d: ' % i)} times")


def opcodes_case(carrier):
    """Each opcode, refusals, ends of all kinds: unit tests of the RNIC, whose
    QPs are all in one process."""
    with Test(f"opcodes {carrier}") as test:
        found = set()
        for name, *some in (("rnic-qp-ops_test",),
                            ("rnic-qp-rnr_test", "a_late_receive*")):
            path = os.path.join(test.directory, f"{name}.pcapng")
            program = test.start(
                name, [*capture_words(path),
                       os.path.join(harness.BUILD, "bin", name), *some],
                usiw=False, env=CARRIERS[carrier])
            program.wait(100)
            check(summary(program.text())[1] == 0, "records were lost")
            found |= Packets(path, may_have_gaps=True).opcodes()
        check(found == set(OPCODES.values()), f"opcodes: {sorted(found)}")


def markers_case():
    """tshark 4.0 reads most FPDUs with markers: see tshark_test.py."""
    with Test("markers") as test:
        env = {**harness.WIRE, "USIW_MARKERS": "on"}
        path = os.path.join(test.directory, "file.pcapng")
        perftest.pair(test, "ib_send_lat", ["-s", "100", "-n", "200"],
                      ADDRESS, env=env, inside={"client": capture_words(path)},
                      demand=lambda *_: None)
        shown = tshark.run(ASKED, "-r", path, "-V")
        check("Malformed" not in shown, "malformed packets")
        check(shown.count("FPDU back pointer") > 50, "no markers")


def sdp_case():
    with Test("SDP") as test:
        path = os.path.join(test.directory, "file.pcapng")
        program = test.start("sock-cases", [
            *capture_words(path), USIW, "run", "--sdp", "--",
            os.path.join(harness.BUILD, "bin", "sock-cases"), "shutdown"],
            usiw=False)
        program.wait(60, codes=None)
        check(OPCODES["send"] in Packets(path, True).opcodes(), "no Sends")


# ---- processes that run ------------------------------------------------------

class Ping:
    """rping between two processes, until it is ended. They sleep in between,
    so that a busy machine has time for them."""

    def __init__(self, test, env):
        port = harness.free_port()
        words = ["rping", "-S", "100", "-a", ADDRESS, "-p", port]
        self.test = test
        self.server = test.start("server", [*words, "-s"], env=env)
        self.server.wait_listening(port)
        self.client = test.start("client", [*words, "-c"], env=env)
        self.wait_moving()

    def octets(self):
        return self.test.counters.of(self.client.pid, "tx_octets")

    def read(self, path, **how):
        """What is in the file, while the programs use no processor."""
        both = (self.server, self.client)
        for program in both:
            program.signal(signal.SIGSTOP)
        packets = Packets(path, **how)
        for program in both:
            program.signal(signal.SIGCONT)
        return packets

    def wait_moving(self):
        begin = self.octets()
        harness.wait_until(lambda: self.octets() > begin + 1000, 20,
                           "messages")


def attach(test, path, *words):
    command = test.start("capture", [USIW, "capture", "-o", path, *words],
                         usiw=False)
    command.wait_text(re.compile("attached"))
    return command


def attach_case(carrier):
    with Test(f"attach {carrier}") as test:
        ping = Ping(test, CARRIERS[carrier])
        path = os.path.join(test.directory, "one.pcapng")
        # Ends by itself; and again.
        for _ in range(2):
            attach(test, path, "-c", "100", str(ping.client.pid)).wait(20)
            packets = ping.read(path)
            check(len(packets.fpdus()) >= 95, "not all decoded")
            check("older than the capture" in packets.comments(), "comment")
            packets.streams()  # without gaps
            ping.wait_moving()
        # Both ends, until it is told to end.
        command = attach(test, path, "-p", str(ping.client.pid), "-p",
                         str(ping.server.pid))
        other = subprocess.run(
            [USIW, "capture", "-o", path + "2", str(ping.client.pid)],
            capture_output=True, text=True, check=False)
        check(other.returncode == 1 and "observes it already" in other.stderr,
              f"a second capture: {other.stderr}")
        check(not os.path.exists(path + "2"), "a file of nothing")
        harness.wait_until(lambda: os.path.getsize(path) > 20000, 20,
                           "packets")
        command.signal(signal.SIGINT)
        command.wait(20)
        ping.read(path, may_have_gaps=True, most=1000)
        ping.wait_moving()
        # The process is killed.
        command = attach(test, path, str(ping.client.pid))
        harness.wait_until(lambda: os.path.getsize(path) > 20000, 20,
                           "packets")
        ping.client.signal(signal.SIGKILL)
        command.wait(20)
        check(len(ping.read(path, may_have_gaps=True, most=1000).fpdus()) >
              50, "few")


def executes(process, name):
    """Is that the program of the process, or has it ended?"""
    try:
        return process.poll() is not None or \
            os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) == name
    except FileNotFoundError:
        return False


def begin_case():
    """A process is asked at any time of its begin and end: it is observed, or
    the reason is said."""
    with Test("begin and end") as test:
        path = os.path.join(test.directory, "file.pcapng")
        verdicts = set()
        for i in range(12):
            # A shell, which executes a program.
            program = subprocess.Popen(
                [USIW, "run", "--", "ibv_devinfo"], stdout=subprocess.DEVNULL)
            while i % 3 and not executes(program, "ibv_devinfo"):
                pass
            done = subprocess.run(
                [USIW, "capture", "-o", path, "-a", "duration:5",
                 str(program.pid)], capture_output=True, text=True,
                timeout=60, check=False)
            check(program.wait() == 0, "the program has failed")
            check(done.returncode in (0, 1), f"{done.returncode}")
            check(re.search("attached|opened no device|there is none|"
                            "No such process|not permitted", done.stderr),
                  done.stderr)
            verdicts.add(done.returncode)
        print(f"attached or refused: {verdicts}")


def pair_script(count, port):
    """ib_send_lat with itself, for a shell."""
    words = f"ib_send_lat -s 64 -n {count} -d usiw_lo -x 0 -p {port}"
    return (f"{words} & i=0; until {words} {ADDRESS}; do "
            "[ $((i += 1)) = 300 ] && exit 1; sleep 0.1; done; wait;")


def several_case():
    """Processes that a shell starts, one after the other and at once, and what
    they execute."""
    with Test("several processes") as test:
        path = os.path.join(test.directory, "file.pcapng")
        script = pair_script(20, harness.free_port()) + \
            pair_script(20, harness.free_port()) + "exec ibv_devinfo"
        program = test.start("shell", [*capture_words(path), "sh", "-c",
                                       script], usiw=False)
        program.wait(60)
        packets = Packets(path)
        # 20 Sends there and back, each once, though both ends are observed.
        check(sum(row["iwarp_rdma.opcode"] == "0x03"
                  for row in packets.rows) == 80, "Sends")
        check(len(set(re.findall(r"process (\d+)", packets.comments()))) >= 4,
              "fewer processes")


# ---- the file ----------------------------------------------------------------

def output(path, *options, into=None):
    """A capture of few packets. Return: exit code, what it says."""
    with subprocess.Popen(
            [USIW, "capture", "-o", path, *options, "--", "sh", "-c",
             pair_script(200, harness.free_port())],
            stdout=into or subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True) as command:
        try:
            said = command.communicate(timeout=60 * harness.SLOW)[1]
        except subprocess.TimeoutExpired:
            os.killpg(command.pid, signal.SIGKILL)
            raise harness.Failure("the capture does not end") from None
    return command.returncode, said


def disk_case():
    with Test("disks") as test:
        disk = os.path.join(test.directory, "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none",
                        disk], check=True)
        path = os.path.join(disk, "file.pcapng")
        code, said = output(path)
        count, lost, dropped = summary(said)
        check(code == 1 and "No space left" in said, f"{code}: {said}")
        check(count > 100 and dropped > 100 and not lost, said)
        check(len(Packets(path).rows) == count, "another number of packets")
        subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
        code, said = output(path)
        check(code == 1 and "Read-only file system" in said, said)
        subprocess.run(["umount", disk], check=True)
        code, said = output("/dev/full")
        check(code == 1 and summary(said)[0] == 0, said)


def files_case():
    with Test("files") as test:
        path = os.path.join(test.directory, "file.pcapng")
        code, said = output(path, "-b", "packets:100", "-b", "files:3")
        names = sorted(n for n in os.listdir(test.directory) if "file_" in n)
        check(code == 0 and len(names) == 3, f"{code}: {names}: {said}")
        for name in names[:2]:
            packets = Packets(os.path.join(test.directory, name))
            check(len(packets.fpdus()) == 95, f"{len(packets.fpdus())} FPDUs")
            check("earlier file" in packets.comments(), "no comment")
        code, said = output(path, "-s", "128", "--port", "1")
        check(code == 0 and summary(said) == (0, 0, 0), said)
        code, said = output(path, "-c", "20")
        check(code == 0 and 20 <= summary(said)[0] < 26, said)


def pipe_case():
    """tshark reads while it is written; a reader that goes ends the capture,
    and one that does not read loses packets. The program goes on."""
    with Test("pipes"):
        reader = subprocess.Popen(
            ["tshark", "-l", "-r", "-", "-T", "fields", "-e",
             "iwarp_rdma.opcode"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        code, said = output("-", into=reader.stdin)
        shown = reader.communicate(timeout=60)[0].split()
        check(code == 0 and shown.count("0x03") == 400, f"{code}: {said}")
        reader = subprocess.Popen(["head", "-c", "1000"],
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL)
        code, said = output("-", into=reader.stdin)
        reader.stdin.close()
        reader.wait()
        check(code == 0, f"{code}: {said}")
        ends = os.pipe()
        code, said = output("-", into=ends[1])
        check(code == 0 and summary(said)[2] > 100, f"{code}: {said}")
        for end in ends:
            os.close(end)


def refused_case():
    with Test("refusals") as test:
        path = os.path.join(test.directory, "file.pcapng")
        for pid, why in ((os.getpid(), "opened no device"),
                         (4194301, "there is none")):
            done = subprocess.run([USIW, "capture", "-o", path, str(pid)],
                                  capture_output=True, text=True, check=False)
            check(done.returncode == 1 and why in done.stderr, done.stderr)
        check(not os.path.exists(path), "a file of nothing")
        code = subprocess.run([USIW, "capture", "-o", path, "--", "sh", "-c",
                               "exit 7"], stderr=subprocess.DEVNULL,
                              check=False).returncode
        check(code == 7, f"exit code {code}")


PAIRS = (
    ("rnic", "ib_write_bw", ["-s", "20000", "-n", "50"], ("write",)),
    ("rnic", "ib_read_bw", ["-s", "20000", "-n", "50"],
     ("write", "read request", "read response")),
    ("rnic", "ib_send_lat", ["-s", "100", "-n", "100"], ("write", "send")),
    ("rnic", "ib_atomic_bw", ["-n", "100"],
     ("write", "atomic request", "atomic response")),
    ("ca", "ib_send_bw", ["-s", "5000", "-n", "50"], ("write", "send")),
    ("ca", "ib_write_bw", ["-b", "-c", "UC", "-s", "5000", "-n", "500"], ("write",),
     perftest.BY_HAND),
)


def perftest_cases():
    for carrier in CARRIERS:
        for persona, program, *how in PAIRS:
            yield (f"{program}-{persona}-{carrier}", functools.partial(
                perftest_case, persona, carrier, program, *how))


def cases():
    for carrier in CARRIERS:
        yield f"ud-{carrier}", functools.partial(datagram_case, carrier)
        yield f"payload-{carrier}", functools.partial(payload_case, carrier)
        yield f"opcodes-{carrier}", functools.partial(opcodes_case, carrier)
        yield f"attach-{carrier}", functools.partial(attach_case, carrier)
    for name in ("management", "markers", "sdp", "begin", "several", "disk",
                 "files", "pipe", "refused"):
        yield name, globals()[f"{name}_case"]


harness.confine(__file__, "tshark")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
if sys.argv[1:2] == ["--perftest"]:
    del sys.argv[1]
    harness.main(list(perftest_cases()))
harness.main(list(cases()))
