# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Captures in this namespace and in the guest."""
import ctypes
import socket
import struct
import subprocess
import threading
import time

import wire
from guest import wait_until


class HostSniffer:
    """Captures in this namespace. (tcpdump tries to change to a user that a
    new user namespace does not have; only its compiler is used.)"""

    ALL_PROTOCOLS, ATTACH_FILTER = 0x0003, 26
    OUTGOING = 4
    SOL_PACKET, STATISTICS = 263, 6

    def __init__(self, device, path, what=wire.FILTER):
        self.path, self.is_loopback = path, device == "lo"
        code = subprocess.run(
            ["tcpdump", "-ddd", "-y", "EN10MB", "-i", device, what],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True).stdout.split("\n")[1:]
        code = [tuple(map(int, line.split())) for line in code if line]
        program = b"".join(struct.pack("=HBBI", *line) for line in code)
        buffer = ctypes.create_string_buffer(program)
        self.file = open(path, "wb", buffering=0)
        self.file.write(struct.pack("<IHHiIII", wire.PCAP_MAGIC, 2, 4, 0, 0,
                                    1 << 18, 1))
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.setsockopt(
            socket.SOL_SOCKET, self.ATTACH_FILTER,
            struct.pack("HL", len(code), ctypes.addressof(buffer)))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((device, self.ALL_PROTOCOLS))
        self.socket.settimeout(0.5)
        self.is_stopping = self.is_quiet = False
        self.drops = 0  # packets that the capture lacks, when it has stopped
        self.thread = threading.Thread(target=self.copy, daemon=True)
        self.thread.start()

    def copy(self):
        while not self.is_stopping:
            try:
                frame, address = self.socket.recvfrom(1 << 18)
            except TimeoutError:
                self.is_quiet = True
                continue
            self.is_quiet = False
            if self.is_loopback and address[2] == self.OUTGOING:
                continue  # each packet to lo is captured on its way in as well
            now = time.time()
            self.file.write(struct.pack(
                "<IIII", int(now), int(now % 1 * 1e6), len(frame),
                len(frame)) + frame)

    def read(self):
        with open(self.path, "rb") as f:
            return f.read()

    def is_idle(self):
        """Nothing has come for a while."""
        return self.is_quiet

    def stop(self):
        if self.is_stopping:
            return
        self.is_stopping = True
        self.thread.join()
        _, self.drops = struct.unpack("II", self.socket.getsockopt(
            self.SOL_PACKET, self.STATISTICS, 8))
        self.socket.close()
        self.file.close()


class GuestSniffer:
    def __init__(self, guest, path, what=wire.FILTER):
        self.guest, self.path = guest, path
        self.id = guest.ask("start", argv=["tcpdump", "-Z", "root", "-i", "lo", "-U", "-w",
                                           path, "-B", "8192", what])["id"]
        wait_until(lambda: "listening on" in guest.ask(
            "look", id=self.id)["text"], 20, "tcpdump in the guest")

    def read(self):
        return self.guest.read(self.path)

    def stop(self):
        self.guest.ask("end", id=self.id)
