#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_data_test.py [NAME...]: databases, caches and file servers over SDP.
Each one runs its own instance in a scratch directory, on a free port."""
import glob
import os
import re
import signal

import harness
from harness import check, free_port
from sdp_program import SIZE, SdpTest, checksum, main


# One in three operations writes.
MEMCASLAP = """
key
64 64 1
value
1024 1024 1
cmd
0 0.33
1 0.67
"""


def memcached():
    with SdpTest("memcached, its copy tools and memcaslap") as test:
        harness.need("memcached", "memccp", "memccat", "memcaslap")
        path, wanted = test.payload()
        port = free_port()
        at = f"127.0.0.1:{port}"
        server = test.start("server", [
            "memcached", "-l", "127.0.0.1", "-p", port, "-U", 0, "-t", 4,
            "-m", 1024, "-I", "128m"])
        server.wait_listening(port)
        test.run("write", ["memccp", f"--servers={at}", "--set", path])
        read = test.run("read", ["memccat", f"--servers={at}",
                                 os.path.basename(path)])
        # It adds a line end to the value.
        with open(path, "rb") as f:
            check(read.octets().rstrip(b"\n") == f.read().rstrip(b"\n"),
                  "other octets came")
        load = test.run("load", [
            "memcaslap", "-s", at, "-T", 2, "-c", 16, "-x", 4000, "-F", test.file("load", MEMCASLAP)],
            timeout=60)
        check("TPS" in load.text(), "it did not end well")
        test.demand_sdp(2 * SIZE + 4000 * 1024 // 2)


RSYNCD = """
pid file = {d}/pid
use chroot = no
[files]
	path = {d}
	read only = no
"""


def rsync():
    """A daemon that forks for each connection."""
    with SdpTest("rsync daemon and rsync") as test:
        harness.need("rsync")
        path, wanted = test.payload()
        directory = test.folder("module")
        settings = test.file("conf", RSYNCD.format(d=directory))
        port = free_port()
        server = test.start("server", [
            "rsync", "--daemon", "--no-detach", "--address=127.0.0.1",
            f"--port={port}", f"--config={settings}"])
        server.wait_listening(port)
        there = f"rsync://127.0.0.1:{port}/files"
        back = os.path.join(test.folder("back"), "payload")
        test.run("push", ["rsync", path, f"{there}/"])
        check(checksum(os.path.join(directory, "payload")) == wanted,
              "other octets went")
        test.run("pull", ["rsync", "-z", f"{there}/payload", back])
        check(checksum(back) == wanted, "other octets came")
        test.demand_sdp(2 * SIZE, is_handed_over=True)


def git():
    """A daemon that starts a program for each connection. That program starts
    another one with the socket as its standard streams."""
    with SdpTest("git daemon and git") as test:
        harness.need("git")
        path, _ = test.payload(16 << 20)
        home = test.folder("home")
        settings = {"HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        origin = os.path.join(home, "origin")
        as_someone = ["git", "-c", "user.name=usiw", "-c",
                      "user.email=usiw@localhost", "-C"]

        def plain(*words):
            return test.run("git", [str(w) for w in words], usiw=False,
                            env=settings).text().strip()
        plain("git", "init", "-q", origin)
        plain("cp", path, origin)
        plain("git", "-C", origin, "add", "payload")
        plain(*as_someone, origin, "commit", "-qm", "first")
        plain("git", "init", "-q", "--bare", f"{home}/empty")
        port = free_port()
        server = test.start("server", [
            "git", "daemon", "--listen=127.0.0.1", f"--port={port}",
            f"--base-path={home}", "--export-all", "--enable=receive-pack",
            home], env=settings)
        server.wait_listening(port)
        copy = os.path.join(home, "copy")
        there = f"git://127.0.0.1:{port}"
        test.run("clone", ["git", "clone", "-q", f"{there}/origin", copy],
                 timeout=60, env=settings)
        commit = plain("git", "-C", origin, "rev-parse", "HEAD")
        check(plain("git", "-C", copy, "rev-parse", "HEAD") == commit,
              "another commit came")
        check("" == plain("git", "-C", copy, "status", "--porcelain"),
              "other files came")
        test.run("push", ["git", "-C", copy, "push", "-q", f"{there}/empty",
                          "HEAD:refs/heads/main"], timeout=60, env=settings)
        check(plain("git", "-C", f"{home}/empty", "rev-parse", "main")
              == commit, "another commit went")
        plain("git", "-C", f"{home}/empty", "fsck", "--full")
        test.demand_sdp(2 * 16 << 20, is_handed_over=True)


def postgresql():
    """A process for each connection, and pgbench over the TCP address."""
    with SdpTest("PostgreSQL, pgbench and psql") as test:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        if not found:
            raise harness.Skip("postgresql is not installed")
        tools = os.path.dirname(found[-1])
        harness.need("psql")
        directory = test.folder("run")
        data = os.path.join(directory, "data")
        test.run("initdb", [f"{tools}/initdb", "-D", data, "-A", "trust",
                            "-U", "usiw", "--no-sync", "-E", "UTF8",
                            "--locale=C"], usiw=False, timeout=120)
        port = free_port()
        server = test.start("server", [
            f"{tools}/postgres", "-D", data, "-k", directory, "-h",
            "127.0.0.1", "-p", port, "-c", "fsync=off"])
        server.wait_text(re.compile("ready to accept connections"), 60)
        to = ["-h", "127.0.0.1", "-p", port, "-U", "usiw"]
        test.run("fill", [f"{tools}/pgbench", "-i", "-q", *to, "postgres"],
                 timeout=120)
        load = test.run("load", [f"{tools}/pgbench", "-c", 8, "-j", 2, "-t",
                                 100, *to, "postgres"], timeout=120)
        check("800/800" in load.text(), "transactions are missing")
        load = test.run("select", [f"{tools}/pgbench", "-S", "-C", "-c", 4,
                                   "-t", 20, *to, "postgres"], timeout=120)
        check("80/80" in load.text(), "transactions are missing")
        big = test.run("big", [
            "psql", "-X", "-A", "-t", *to, "postgres", "-c",
            "select repeat('usiw', 4000000)"], timeout=60)
        check(big.text().strip() == "usiw" * 4000000, "other octets came")
        # When it is killed, its shared memory stays in /dev/shm.
        server.signal(signal.SIGINT)
        server.wait(60)
        test.demand_sdp(16000000, is_handed_over=True)


def mariadb():
    """A thread for each connection."""
    with SdpTest("MariaDB and its client, 8 at once") as test:
        harness.need("mariadbd", "mariadb", "mariadb-install-db")
        directory = test.folder("run")
        data = os.path.join(directory, "data")
        test.run("install", [
            "mariadb-install-db", "--no-defaults", f"--datadir={data}",
            "--auth-root-authentication-method=normal", "--skip-test-db"],
            usiw=False, timeout=120)
        port = free_port()
        server = test.start("server", [
            "mariadbd", "--no-defaults", f"--datadir={data}",
            f"--port={port}", "--bind-address=127.0.0.1",
            f"--socket={directory}/s", f"--pid-file={directory}/pid",
            f"--tmpdir={directory}", "--skip-name-resolve",
            "--max-allowed-packet=64M", "--innodb-flush-method=fsync"])
        server.wait_listening(port, 60)
        client = ["mariadb", "--no-defaults", "--protocol=tcp", "-N",
                  "--skip-ssl", "--raw", "--max-allowed-packet=64M", "-h", "127.0.0.1",
                  "-P", port, "-u", "root"]
        test.run("prepare", client + [
            "-e", "create database d; create table d.t "
            "(who int, what longtext)"])
        row = "insert into d.t values ({}, '{}');\n"
        clients = [
            test.start(f"client-{i}", client + [
                "-e", f"source {test.file(f'sql-{i}', text)}"])
            for i, text in enumerate(
                "".join(row.format(i, "usiw" * 25000) for _ in range(10))
                for i in range(8))]
        for program in clients:
            program.wait(60)
        big = test.run("big", client + [
            "-e", "select count(distinct who), count(*), "
            "sum(what = repeat('usiw', 25000)) from d.t; "
            "select repeat('usiw', 4000000)"])
        counts, octets = big.text().strip().split("\n")
        check(counts.split() == ["8", "80", "80"], f"rows: {counts}")
        check(octets == "usiw" * 4000000, "other octets came")
        test.demand_sdp(8 * 10 * 100000 + 16000000)


main([
    ("memcached", memcached), ("rsync", rsync), ("git", git),
    ("postgresql", postgresql), ("mariadb", mariadb),
])
