#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_scp_test.py: OpenSSH's scp to and from dropbear over SDP.

An ssh server accepts users of the machine. So the script runs itself inside
`unshare -Urnm`, where it replaces the machine's list of users, and the
programs run as such a user in a nested user namespace.
"""
import os
import subprocess

import harness
from harness import check, free_port
from sdp_program import SdpTest, checksum, main

SIZE = 64 << 20
USER = 1000
INSIDE = ["unshare", f"--map-user={USER}", f"--map-group={USER}"]
PASSWD = """root:x:0:0:root:/root:/bin/sh
usiw:x:{user}:{user}::{home}:/bin/sh
"""


def make_user(test):
    """Return: its home, with a key for the login."""
    home = os.path.join(test.directory, "home")
    os.mkdir(home, 0o755)
    os.mkdir(os.path.join(home, ".ssh"), 0o700)
    subprocess.run(["mount", "--bind", test.file(
        "passwd", PASSWD.format(user=USER, home=home)), "/etc/passwd"],
        check=True)
    key = os.path.join(home, "key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key],
                   check=True)
    os.rename(f"{key}.pub", os.path.join(home, ".ssh", "authorized_keys"))
    return home


def scp():
    """A process for each session, which executes itself again."""
    with SdpTest("dropbear and OpenSSH's scp") as test:
        harness.need("dropbear", "dropbearkey", "scp", "ssh-keygen")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        path, wanted = test.payload(SIZE)
        home = make_user(test)
        try:
            copy_both_ways(test, home, path, wanted)
        finally:
            subprocess.run(["umount", "/etc/passwd"], check=True)
        test.demand_sdp(2 * SIZE)


def copy_both_ways(test, home, path, wanted):
    port = free_port()
    host_key = os.path.join(home, "host-key")
    subprocess.run(["dropbearkey", "-t", "ed25519", "-f", host_key],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    server = test.start("server", [
        "dropbear", "-F", "-E", "-s", "-r", host_key, "-p",
        f"127.0.0.1:{port}", "-P", f"{home}/pid"], inside=INSIDE)
    server.wait_listening(port)
    command = ["scp", "-O", "-q", "-F", "/dev/null", "-P", port, "-i",
               f"{home}/key"]
    for word in ("BatchMode=yes", "StrictHostKeyChecking=no",
                 "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes"):
        command += ["-o", word]
    there = f"usiw@127.0.0.1:{home}/there"
    test.run("push", [*command, path, there], timeout=120, inside=INSIDE)
    check(checksum(f"{home}/there") == wanted, "other octets went")
    test.run("pull", [*command, there, f"{home}/back"], timeout=120,
             inside=INSIDE)
    check(checksum(f"{home}/back") == wanted, "other octets came")


harness.confine(__file__)
main([("scp", scp)])
