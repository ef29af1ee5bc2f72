#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_handed_test.py [NAME...]: servers that hand a connection to another
process, by fork, exec or SCM_RIGHTS. The connections begin as TCP, so all of
that works as the kernel has it."""
import os
import pwd
import subprocess

import harness
from harness import check, free_port
from sdp_program import SIZE, YoungTest, checksum, main

PYTHON = "/usr/bin/python3"


def same(path, wanted):
    check(checksum(path) == wanted, "other octets came")


# ---- ssh -------------------------------------------------------------------

SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {d}/host-key
AuthorizedKeysFile {d}/key.pub
PidFile none
UsePAM no
StrictModes no
AllowUsers nobody
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
"""
# The server sees other users than the machine: nobody may log in.
SSHD_INSIDE = """
mount --bind "$0" /etc/passwd && mount -t tmpfs tmpfs /run &&
mkdir -m 755 /run/sshd && exec "$@"
"""


def other_users(test):
    """Return: a file of users like the machine's."""
    with open("/etc/passwd", encoding="utf-8") as f:
        users = [line for line in f if not line.startswith("nobody:")]
    users.append(f"nobody:x:{harness.reach.NOBODY}:{harness.reach.NOBODY}::"
                 f"{test.directory}:/bin/sh\n")
    return test.file("passwd", "".join(users))


def sshd():
    """A server of root, one process of user sshd for the login, and one of the
    user. Each gets the connection by exec or fork."""
    with YoungTest("sshd with privilege separation, ssh and scp") as test:
        if not harness.changes_user():
            raise harness.Skip("sshd needs root to change users")
        harness.need("/usr/sbin/sshd", "ssh", "scp", "ssh-keygen", "unshare")
        if subprocess.run(["unshare", "-m", "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            raise harness.Skip("mount namespaces are forbidden")
        path, wanted = test.payload()
        folder, port = test.folder("ssh"), free_port()
        for name in ("host-key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                            "-f", f"{folder}/{name}"], check=True)
        os.chown(f"{folder}/key", harness.reach.NOBODY, -1)
        settings = test.file("conf", SSHD.format(port=port, d=folder))
        server = test.start(
            "server", ["/usr/sbin/sshd", "-D", "-e", "-f", settings],
            keep_user=True, inside=["unshare", "-m", "sh", "-c", SSHD_INSIDE,
                                    other_users(test)])
        server.wait_listening(port)
        words = ["-q", "-F", "/dev/null", "-i", f"{folder}/key"]
        for word in ("BatchMode=yes", "StrictHostKeyChecking=no",
                     "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes"):
            words += ["-o", word]
        there = f"nobody@127.0.0.1:{folder}"
        for how in ("-O", "-s"):
            scp = ["scp", how, *words, "-P", port]
            test.run(f"push{how}", [*scp, path, f"{there}/there{how}"])
            same(f"{folder}/there{how}", wanted)
            test.run(f"pull{how}", [*scp, f"{there}/there{how}",
                                    f"{folder}/back{how}"])
            same(f"{folder}/back{how}", wanted)
        same(test.run("cat", ["ssh", *words, "-p", port, "nobody@127.0.0.1",
                              f"cat {path}"]).output_path, wanted)
        test.demand_sdp(5 * SIZE, is_handed_over=True)


# ---- ftp -------------------------------------------------------------------

VSFTPD = """
listen=YES
background=NO
listen_address=127.0.0.1
listen_port={port}
run_as_launching_user={launching}
secure_chroot_dir={d}/empty
ftp_username=daemon
nopriv_user=nobody
anonymous_enable=YES
no_anon_password=YES
anon_root={d}
anon_umask=022
write_enable=YES
anon_upload_enable=YES
xferlog_enable=NO
connect_from_port_20=NO
"""


def vsftpd_start(test):
    """Return: its directory and port."""
    folder, port = os.path.join(test.directory, "ftp"), free_port()
    is_root = harness.changes_user()
    for name in ("", "empty"):
        os.mkdir(os.path.join(folder, name), 0o755)
    os.mkdir(f"{folder}/in")
    os.chmod(f"{folder}/in", 0o777)
    settings = test.file("conf", VSFTPD.format(
        port=port, d=folder, launching="NO" if is_root else "YES"))
    test.start("server", ["/usr/sbin/vsftpd", settings],
               keep_user=True).wait_listening(port)
    return folder, port


def curl(test, is_active, port, path, back):
    words = ["curl", "-sSf", "--max-time", 30]
    if is_active:
        words += ["--ftp-port", "127.0.0.1"]
    there = f"ftp://127.0.0.1:{port}/in/up"
    test.run("push", [*words, "-T", path, there])
    test.run("pull", [*words, "-o", back, there])


def lftp(test, is_active, port, path, back):
    commands = [
        f"set ftp:passive-mode {'off' if is_active else 'on'}",
        "set net:max-retries 1", "set net:timeout 30", "set cmd:fail-exit yes",
        "set ftp:port-ipv4 127.0.0.1", f"open -p {port} 127.0.0.1",
        f"put {path} -o in/up", f"get in/up -o {back}"]
    test.run("both", ["lftp", "-c", "; ".join(commands)],
             env={"HOME": os.path.dirname(back)})


def vsftpd(client, is_active):
    """As root it has a process of another user for each connection, which gets
    its data connections from the one of root."""
    mode = "active" if is_active else "passive"
    with YoungTest(f"vsftpd and {client.__name__}, {mode}") as test:
        harness.need("/usr/sbin/vsftpd", client.__name__)
        path, wanted = test.payload()
        folder, port = vsftpd_start(test)
        back = os.path.join(test.folder("back"), "payload")
        client(test, is_active, port, path, back)
        same(f"{folder}/in/up", wanted)
        same(back, wanted)
        test.demand_sdp(2 * SIZE, is_handed_over=True)


# ---- inetd -----------------------------------------------------------------

def echoed(test, port, path, wanted):
    """Sends a file, and gets it back, twice."""
    for i in range(2):
        same(test.run(f"client-{i}", [
            "socat", "-t", "30", "-", f"TCP:127.0.0.1:{port}"],
            stdin=path).output_path, wanted)


def inetd():
    with YoungTest("inetutils-inetd with cat, and socat") as test:
        harness.need("/usr/sbin/inetutils-inetd", "socat")
        path, wanted = test.payload()
        port = free_port()
        user = ("nobody" if harness.changes_user() else
                pwd.getpwuid(os.geteuid()).pw_name)
        server = test.start("server", [
            "/usr/sbin/inetutils-inetd", "-d",
            f"--pidfile={test.folder('run')}/pid", test.file(
                "conf", f"127.0.0.1:{port} stream tcp nowait {user} /bin/cat "
                "cat\n")])
        server.wait_listening(port)
        echoed(test, port, path, wanted)
        test.demand_sdp(4 * SIZE, is_handed_over=True)


ACTIVATE = "systemd-socket-activate"


def activated(test, port, words, command):
    """It gives programs few of its variables, so not those of `usiw run`."""
    server = test.start("server", [
        ACTIVATE, "-E", "USIW_STAT_DIR", "-l", f"127.0.0.1:{port}", *words,
        test.usiw, "run", *harness.PERSONA, "--", *command])
    server.wait_listening(port)


def activate_inetd():
    with YoungTest(f"{ACTIVATE} with cat for each connection, and "
                   "socat") as test:
        harness.need(ACTIVATE, "socat")
        path, wanted = test.payload()
        port = free_port()
        activated(test, port, ["--accept", "--inetd"], ["cat"])
        echoed(test, port, path, wanted)
        test.demand_sdp(4 * SIZE, is_handed_over=True)


# It serves a file to each client: HTTP 0.9.
SERVER = """
import socket, sys
listener = socket.socket(fileno=3)
while True:
    sock, _ = listener.accept()
    with sock, open(sys.argv[1], "rb") as file:
        sock.recv(65536)
        while data := file.read(1 << 20):
            sock.sendall(data)
"""


def activate():
    """The program gets the listener with the first connection in it. What comes
    by a listener that a program inherits stays TCP."""
    with YoungTest(f"{ACTIVATE} with a Python server, and curl") as test:
        harness.need(ACTIVATE, "curl")
        path, wanted = test.payload()
        port = free_port()
        activated(test, port, [], [PYTHON, "-c", SERVER, path])
        for i in range(2):
            same(test.run(f"client-{i}", [
                "curl", "-s", "--http0.9", f"http://127.0.0.1:{port}"
            ]).output_path, wanted)
        test.demand_sdp(2 * SIZE, is_handed_over=True)


main([
    ("sshd", sshd),
    *((f"vsftpd-{client.__name__}-{mode}",
       lambda client=client, mode=mode: vsftpd(client, mode == "active"))
      for client in (curl, lftp) for mode in ("passive", "active")),
    ("inetd", inetd), ("activate-inetd", activate_inetd),
    ("activate", activate),
])
