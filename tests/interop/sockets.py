# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""In the guest: two programs under libsdp.so, whose only device is siw.

A TCP connection cannot go over to siw, so they stay with TCP: nothing is
announced, no second port listens, and iperf3 moves its octets.
"""
import os
import subprocess
import sys
import time

ADDRESS, PORT = sys.argv[1], sys.argv[2]
OCTETS = 200000
ENV = {**os.environ, "LD_PRELOAD": "/host/lib/libsdp.so",
       "USIW_STAT_DIR": "/tmp/sdp-stat"}
PATIENCE = 120


def listening(pid):
    """Ports that a process listens on."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    with open("/proc/net/tcp") as four, open("/proc/net/tcp6") as six:
        rows = [row.split() for row in [*four, *six]]
    return sorted(int(row[1].rsplit(":", 1)[1], 16) for row in rows
                  if row[3] == "0A" and f"socket:[{row[9]}]" in inodes)


def announced():
    with open("/proc/net/unix") as f:
        return [line for line in f if "@usiw-sdp/" in line]


def main():
    os.makedirs("/tmp/sdp-stat", exist_ok=True)
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", PORT], env=ENV,
                              stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not listening(server.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    ports, names = listening(server.pid), announced()
    client = subprocess.run(["iperf3", "-c", ADDRESS, "-p", PORT, "-n",
                             str(OCTETS)], env=ENV, timeout=PATIENCE)
    print(f"listens on {ports}, announces {names}, "
          f"{client.returncode} and {server.wait(PATIENCE)}")
    print(subprocess.run(["/host/bin/sdpstat", "/tmp/sdp-stat"],
                         stdout=subprocess.PIPE, text=True).stdout)
    if ports != [int(PORT)] or names or client.returncode or \
            server.returncode:
        sys.exit(1)


main()
