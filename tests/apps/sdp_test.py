#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_test.py [NAME...]: programs that know nothing of RDMA, under
`usiw run --sdp` at both ends.

Each case moves octets, compares what came, and demands that the payload went
over SDP by usiw's counters and that nobody fell back to TCP by the statistics
page.
"""
import hashlib
import json
import os
import re
import subprocess
import sys

import harness
from harness import BUILD, Test, check, free_port, wait_until

SIZE = 16 << 20
SDPSTAT = os.path.join(BUILD, "bin", "sdpstat")


def payload(test, size=SIZE):
    """A file of octets that no program would make up.  Return: its path and
    checksum."""
    path = os.path.join(test.directory, "payload")
    octets = os.urandom(1 << 16) * (size >> 16)
    with open(path, "wb") as f:
        f.write(octets)
    os.chmod(path, 0o644)
    return path, hashlib.sha256(octets).hexdigest()


def checksum(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def fallbacks(test):
    """Reason -> how often, over all processes that left a page."""
    found = {}
    done = subprocess.run([SDPSTAT, "--json", test.counters.directory],
                          stdout=subprocess.PIPE, check=False)
    for process in json.loads(done.stdout or b"[]").get("processes", []):
        for reason, count in process.get("fallbacks", {}).items():
            if count and reason != "total":
                found[reason] = found.get(reason, 0) + count
    return found


def demand_sdp(test, octets):
    test.demand_payload({}, octets)
    found = fallbacks(test)
    check(not found, f"connections fell back to TCP: {found}")


def writable(test, name):
    """A path that the unprivileged programs may write."""
    path = os.path.join(test.directory, name)
    with open(path, "wb"):
        pass
    os.chmod(path, 0o666)
    return path


def netcat():
    with Test("netcat") as test:
        harness.need("nc")
        path, wanted = payload(test)
        port = free_port()
        server = test.start("server", ["nc", "-l", "-N", "127.0.0.1", port])
        server.wait_listening(port)
        client = test.start("client", [
            "sh", "-c", f"nc -N 127.0.0.1 {port} < {path}"])
        client.wait(30)
        server.wait(30)
        check(checksum(server.output_path) == wanted, "other octets came")
        demand_sdp(test, SIZE)


def socat():
    """Its server forks for each connection, before the first octet."""
    with Test("socat") as test:
        harness.need("socat")
        path, wanted = payload(test)
        port = free_port()
        server = test.start("server", [
            "socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork",
            f"OPEN:{path},rdonly"])
        server.wait_listening(port)
        for i in range(3):
            client = test.start(f"client-{i}", [
                "socat", "-u", f"TCP:127.0.0.1:{port}", "-"])
            client.wait(30)
            check(checksum(client.output_path) == wanted,
                  "other octets came")
        demand_sdp(test, 3 * SIZE)


def http():
    with Test("Python's http.server and curl") as test:
        harness.need("curl")
        path, wanted = payload(test)
        port = free_port()
        server = test.start("server", [
            "/usr/bin/python3", "-m", "http.server", port, "--bind",
            "127.0.0.1", "--directory", test.directory])
        server.wait_listening(port)
        client = test.start("client", [
            "curl", "-sf", f"http://127.0.0.1:{port}/{os.path.basename(path)}"
        ])
        client.wait(30)
        check(checksum(client.output_path) == wanted, "other octets came")
        demand_sdp(test, SIZE)


def iperf3():
    with Test("iperf3") as test:
        harness.need("iperf3")
        port = free_port()
        for words in ((), ("-R", ), ("-P", 4)):
            server = test.start("server", ["iperf3", "-s", "-1", "-p", port])
            server.wait_listening(port)
            client = test.start("client", [
                "iperf3", "-c", "127.0.0.1", "-p", port, "-n", SIZE, *words])
            client.wait(30)
            server.wait(30)
            check("iperf Done" in client.text(), "it did not end well")
        # It stops when the sender has sent so much; the last is not read.
        demand_sdp(test, 3 * SIZE * 9 // 10)


def redis():
    with Test("redis") as test:
        harness.need("redis-server", "redis-benchmark")
        port = free_port()
        server = test.start("server", [
            "redis-server", "--port", port, "--bind", "127.0.0.1", "--save",
            "", "--dir", "/tmp"])
        server.wait_listening(port)
        client = test.start("client", [
            "redis-benchmark", "-p", port, "-n", 2000, "-c", 20, "-d", 4096,
            "-q", "-t", "set,get"])
        client.wait(60)
        rates = re.findall(r"(\w+): ([0-9.]+) requests per second",
                           client.text())
        check({name for name, _ in rates} == {"SET", "GET"},
              f"rates: {rates}")
        demand_sdp(test, 2 * 2000 * 4096)


NGINX = """
daemon off; worker_processes 2; pid {d}/pid; error_log {d}/error;
events {{ worker_connections 256; }}
http {{
	access_log off; sendfile on;
	client_body_temp_path {d}/t1; proxy_temp_path {d}/t2;
	fastcgi_temp_path {d}/t3; uwsgi_temp_path {d}/t4; scgi_temp_path {d}/t5;
	server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def nginx():
    with Test("nginx and curl") as test:
        harness.need("curl")
        if not os.path.exists("/usr/sbin/nginx"):
            raise harness.Skip("nginx is not installed")
        path, wanted = payload(test)
        port = free_port()
        directory = os.path.join(test.directory, "nginx")
        os.mkdir(directory)
        os.chmod(directory, 0o777)
        settings = os.path.join(directory, "conf")
        with open(settings, "w", encoding="utf-8") as f:
            f.write(NGINX.format(d=directory, port=port, root=test.directory))
        os.chmod(settings, 0o644)
        server = test.start("server", [
            "/usr/sbin/nginx", "-e", f"{directory}/error", "-c", settings])
        server.wait_listening(port)
        for i in range(4):
            client = test.start(f"client-{i}", [
                "curl", "-sf", *[f"http://127.0.0.1:{port}/"
                                 f"{os.path.basename(path)}"] * 2])
            client.wait(30)
            with open(client.output_path, "rb") as f:
                for _ in range(2):
                    check(hashlib.sha256(f.read(SIZE)).hexdigest() == wanted,
                          "other octets came")
        demand_sdp(test, 8 * SIZE)


ONE_END = {
    "server": "the client has no SDP",
    "client": "the server has no SDP",
}


def one_end(which):
    """The other end has only TCP: all octets come nevertheless."""
    with Test(f"only the {which} has SDP") as test:
        harness.need("socat")
        path, wanted = payload(test, 1 << 20)
        port = free_port()
        server = test.start("server", [
            "socat", "-u", f"OPEN:{path}",
            f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr"],
            usiw=which == "server")
        server.wait_listening(port)
        client = test.start("client", [
            "socat", "-u", f"TCP:127.0.0.1:{port}", "-"],
            usiw=which == "client")
        client.wait(30)
        check(checksum(client.output_path) == wanted, "other octets came")
        found = fallbacks(test)
        check(bool(found) == (which == "client"), f"fallbacks: {found}")


harness.PERSONA[:] = ["--sdp"]
harness.main([
    ("nc", netcat), ("socat", socat), ("http", http), ("iperf3", iperf3),
    ("redis", redis), ("nginx", nginx),
    ("only-server", lambda: one_end("server")),
    ("only-client", lambda: one_end("client")),
])
