#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""idle_sockets.py serve|connect PORT COUNT: COUNT connections over loopback,
one octet each way on each of them, then nothing.

serve prints "listens", and at the end the octets of its own memory for each
connection (proportional set size).
"""
import re
import socket
import sys


def memory():
    with open("/proc/self/smaps_rollup", encoding="ascii") as f:
        return int(re.search(r"^Pss:\s+(\d+) kB", f.read(), re.M).group(1)) << 10


def serve(port, count):
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    print("listens", flush=True)
    held = []
    for i in range(count + 1):
        connection, _ = listener.accept()
        connection.sendall(connection.recv(1))
        held.append(connection)
        if i == 0:  # without the cost of the first connection
            before = memory()
    print((memory() - before) / count)
    held[-1].sendall(b"e")


def connect(port, count):
    held = []
    for _ in range(count + 1):
        held.append(socket.create_connection(("127.0.0.1", port)))
        held[-1].sendall(b"x")
        held[-1].recv(1)
    held[-1].recv(1)


def main():
    mode, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    (serve if mode == "serve" else connect)(port, count)


main()
