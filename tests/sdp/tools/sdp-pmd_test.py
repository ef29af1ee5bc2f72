#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp-pmd(8): its replies over UDP, its arguments and its exit. The test
itself announces the listeners, as doc/design/sdp.md describes."""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

PMD = ""
LIMIT = 50
REQ, ACCEPT, ACK, DENY = range(4)


def packed(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address)


def message(kind, ap, ap_port, cp="127.0.0.1", cp_port=40000, handle=7,
            pm_time=0):
    ipv = 6 if ":" in ap else 4
    return struct.pack(">BBHHHQ16s16s", kind << 4 | ipv, pm_time, 0, ap_port,
                       cp_port, handle, packed(cp), packed(ap))


class Announced:
    """A TCP listener with an SDP port that is only announced."""
    def __init__(self, address="127.0.0.1", sdp_port=4242):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.tcp = socket.socket(family, socket.SOCK_STREAM)
        self.tcp.bind((address, 0))
        self.port = self.tcp.getsockname()[1]
        self.name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        inode = os.fstat(self.tcp.fileno()).st_ino
        self.name.bind(f"\0usiw-sdp/1/{inode}/{sdp_port}/{os.getpid()}")
        self.tcp.listen(1)

    def close(self):
        self.name.close()
        self.tcp.close()


class Daemon:
    """sdp-pmd on a free port; its log line has the number."""
    def __init__(self, *args):
        self.process = subprocess.Popen(
            [PMD, "--port", "0", *args], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.log = [self.process.stderr.readline()]
        match = re.search(r"answering on UDP port (\d+) of", self.log[0])
        if not match:
            raise AssertionError("".join(self.log) + self.stop()[1])
        self.port = int(match.group(1))

    def log_until(self, text):
        while text not in self.log[-1]:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(f"no '{text}' in {self.log}")
            self.log.append(line)

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        out, err = self.process.communicate(timeout=LIMIT)
        return out, "".join(self.log) + err


class Answers(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--address", "0.0.0.0")
        self.addCleanup(lambda: self.daemon.process.poll() is None
                        and self.daemon.stop())
        self.udp = self.connected("127.0.0.1")

    def connected(self, address, port=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        udp = socket.socket(family, socket.SOCK_DGRAM)
        udp.settimeout(LIMIT)
        udp.connect((address, port or self.daemon.port))
        self.addCleanup(udp.close)
        return udp

    def listener(self, *args):
        announced = Announced(*args)
        self.addCleanup(announced.close)
        return announced

    def ask(self, datagram, udp=None):
        udp = udp or self.udp
        udp.send(datagram)
        return udp.recv(100)

    def test_accepts_a_listener_that_is_announced(self):
        port = self.listener().port
        reply = self.ask(message(REQ, "127.0.0.1", port))
        self.assertEqual(reply, message(ACCEPT, "127.0.0.1", 4242))
        # The PMAck has no answer. The next reply belongs to the next query.
        self.udp.send(message(ACK, "127.0.0.1", 4242))
        reply = self.ask(message(REQ, "127.0.0.1", port, handle=8))
        self.assertEqual(reply, message(ACCEPT, "127.0.0.1", 4242, handle=8))
        log = self.daemon.stop()[1]
        self.assertIn("accepted 2", log)
        self.assertIn(" acknowledged 1,", log)

    def test_denies_what_is_not_announced(self):
        announced = self.listener()
        announced.name.close()
        for ap in ("127.0.0.1", "127.0.0.2", "192.0.2.1", "0.0.0.0"):
            request = message(REQ, ap, announced.port)
            self.assertEqual(self.ask(request),
                             bytes([DENY << 4 | 4]) + request[1:], ap)

    def test_answers_for_a_connection(self):
        """It is announced for itself. Who has no end of it hears of the
        listener."""
        announced = self.listener("0.0.0.0")
        client = socket.create_connection(("127.0.0.1", announced.port))
        self.addCleanup(client.close)
        accepted, _ = announced.tcp.accept()
        self.addCleanup(accepted.close)
        port = client.getsockname()[1]
        request = message(REQ, "127.0.0.1", announced.port, cp_port=port)
        self.assertEqual(self.ask(request)[0], DENY << 4 | 4)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
            inode = os.fstat(accepted.fileno()).st_ino
            name.bind(f"\0usiw-sdp/1/{inode}/4343/{os.getpid()}")
            self.assertEqual(self.ask(request),
                             message(ACCEPT, "127.0.0.1", 4343, cp_port=port))
            other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            other.bind(("127.0.0.5", 0))
            other.settimeout(LIMIT)
            other.connect(("127.0.0.1", self.daemon.port))
            self.addCleanup(other.close)
            self.assertEqual(self.ask(request, other),
                             message(ACCEPT, "127.0.0.1", 4242, cp_port=port))

    def test_answers_from_the_address_that_was_asked(self):
        port = self.listener("0.0.0.0").port
        udp = self.connected("127.0.0.5")
        self.assertEqual(self.ask(message(REQ, "127.0.0.5", port), udp),
                         message(ACCEPT, "127.0.0.5", 4242))

    def test_drops_what_is_no_request(self):
        good = message(REQ, "127.0.0.1", 1)
        for bad in (b"", good[:47], good + b"\0", b"\x44" + good[1:],
                    b"\x05" + good[1:], message(ACCEPT, "127.0.0.1", 1),
                    message(ACK, "127.0.0.1", 1),
                    message(DENY, "127.0.0.1", 1)):
            self.udp.send(bad)
        reply = self.ask(message(REQ, "127.0.0.1", 1, handle=99))
        self.assertEqual(reply, message(DENY, "127.0.0.1", 1, handle=99))
        log = self.daemon.stop()[1]
        self.assertIn("malformed 5, unexpected 3", log)

    def test_hides_loopback_from_others(self):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with udp:
            try:
                udp.connect(("192.0.2.1", 9))
                own = udp.getsockname()[0]
            except OSError:
                print("skipped: no address but loopback here")
                return
        if own.startswith("127."):
            print("skipped: no address but loopback here")
            return
        port = self.listener("0.0.0.0").port
        udp = self.connected(own)
        self.assertEqual(self.ask(message(REQ, own, port), udp)[0],
                         ACCEPT << 4 | 4)
        self.assertEqual(self.ask(message(REQ, "127.0.0.1", port), udp)[0],
                         DENY << 4 | 4)

    def test_goes_on_after_a_flood(self):
        port = self.listener().port
        for i in range(5000):
            self.udp.send(message(REQ, "127.0.0.1", port, handle=i,
                                  cp_port=i + 1))
        # Replies to the flood come first. Then the rate allows more queries.
        self.udp.settimeout(0.2)
        want = message(ACCEPT, "127.0.0.1", 4242, handle=1 << 40)
        end = time.monotonic() + LIMIT
        reply = b""
        while reply != want and time.monotonic() < end:
            try:
                if reply == b"":
                    self.udp.send(message(REQ, "127.0.0.1", port,
                                          handle=1 << 40))
                reply = self.udp.recv(100)
            except TimeoutError:
                reply = b""
        self.assertEqual(reply, want)

    def test_counts_on_request_and_ends_on_signals(self):
        self.daemon.process.send_signal(signal.SIGUSR1)
        self.daemon.log_until("accepted 0, denied 0")
        self.assertIsNone(self.daemon.process.poll())
        self.daemon.stop(signal.SIGINT)
        self.assertEqual(self.daemon.process.returncode, 0)

    def test_says_who_has_the_port(self):
        done = subprocess.run([PMD, "-a", "127.0.0.1", "-p",
                               str(self.daemon.port)], capture_output=True,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"UDP port {self.daemon.port} of 127.0.0.1: "
                      "Address already in use; is another Port Mapper",
                      done.stderr)


class Addresses(unittest.TestCase):
    def test_ipv6(self):
        try:
            announced = Announced("::1")
        except OSError:
            print("skipped: no IPv6 here")
            return
        daemon = Daemon("--address", "::1", "--cache", "10")
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
            udp.settimeout(LIMIT)
            udp.connect(("::1", daemon.port))
            udp.send(message(REQ, "::1", announced.port, cp="::1"))
            self.assertEqual(udp.recv(100), message(
                ACCEPT, "::1", 4242, cp="::1", pm_time=40))
        daemon.stop()
        announced.close()

    def test_every_address_without_option(self):
        daemon = Daemon()
        announced = Announced()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(LIMIT)
            udp.connect(("127.0.0.1", daemon.port))
            udp.send(message(REQ, "127.0.0.1", announced.port))
            self.assertEqual(udp.recv(100)[0], ACCEPT << 4 | 4)
        daemon.stop()
        announced.close()

    def test_tells_systemd(self):
        name = f"\0usiw-pmd-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(name)
            notify.settimeout(LIMIT)
            os.environ["NOTIFY_SOCKET"] = "@" + name[1:]
            daemon = Daemon("--address", "127.0.0.1")
            del os.environ["NOTIFY_SOCKET"]
            self.assertEqual(notify.recv(100), b"READY=1")
            daemon.stop()
            self.assertEqual(notify.recv(100), b"STOPPING=1")


class Words(unittest.TestCase):
    def run_pmd(self, *args):
        return subprocess.run([PMD, *args], capture_output=True, text=True,
                              timeout=LIMIT)

    def test_help_and_version(self):
        done = self.run_pmd("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Usage: sdp-pmd", done.stdout)
        done = self.run_pmd("--version")
        self.assertRegex(done.stdout, r"^sdp-pmd \d+\.\d+\.\d+\n$")

    def test_manual_has_each_option(self):
        with open(os.path.join(os.environ["USIW_SOURCE_DIR"],
                               "man/sdp-pmd.8"), encoding="utf-8") as stream:
            page = stream.read().replace("\\-", "-")
        for option in re.findall(r"--\w+", self.run_pmd("--help").stdout):
            self.assertIn(option, page)

    def test_wrong_usage_is_2_and_says_how(self):
        for words in (["nonsense"], ["--nonsense"], ["--port", "65536"],
                      ["--port", "x"], ["--cache", "255"],
                      ["--address", "host"], ["--address"]):
            done = self.run_pmd(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("Usage: sdp-pmd", done.stderr)

    def test_address_of_another_host(self):
        done = self.run_pmd("-p", "0", "-a", "192.0.2.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("192.0.2.1: Cannot assign requested address",
                      done.stderr)


if __name__ == "__main__":
    PMD = sys.argv.pop(1)
    unittest.main(verbosity=2)
