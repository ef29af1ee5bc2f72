#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_test.py [NAME...]: the programs of `make check` over SDP."""
import hashlib
import errno
import os
import re

import harness
from harness import check, free_port
from sdp_program import SIZE, SdpTest, checksum, main

PYTHON = "/usr/bin/python3"


def netcat():
    with SdpTest("nc to nc") as test:
        harness.need("nc")
        path, wanted = test.payload()
        port = free_port()
        server = test.start("server", ["nc", "-l", "-N", "127.0.0.1", port])
        server.wait_listening(port)
        client = test.start("client", [
            "sh", "-c", f"nc -N 127.0.0.1 {port} < {path}"])
        client.wait(30)
        server.wait(30)
        check(checksum(server.output_path) == wanted, "other octets came")
        test.demand_sdp(SIZE)


def socat():
    """Its server forks for each connection, before the first octet."""
    with SdpTest("socat, forking, to socat") as test:
        harness.need("socat")
        path, wanted = test.payload()
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
        test.demand_sdp(3 * SIZE)


def http():
    with SdpTest("Python's http.server and curl") as test:
        harness.need("curl")
        path, wanted = test.payload()
        port = free_port()
        server = test.start("server", [
            PYTHON, "-m", "http.server", port, "--bind",
            "127.0.0.1", "--directory", test.directory])
        server.wait_listening(port)
        client = test.start("client", [
            "curl", "-sf", f"http://127.0.0.1:{port}/{os.path.basename(path)}"
        ])
        client.wait(30)
        check(checksum(client.output_path) == wanted, "other octets came")
        test.demand_sdp(SIZE)


def tls():
    with SdpTest("openssl s_server and curl over TLS") as test:
        harness.need("curl", "openssl")
        path, wanted = test.payload()
        key = os.path.join(test.directory, "key")
        certificate = os.path.join(test.directory, "certificate")
        test.certify(key, certificate)
        port = free_port()
        server = test.start("server", [
            "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet",
            "-key", key, "-cert", certificate, "-WWW"])
        server.wait_listening(port)
        for i in range(2):
            client = test.run(f"client-{i}", [
                "curl", "-sf", "--cacert", certificate,
                f"https://127.0.0.1:{port}{path}"])
            check(checksum(client.output_path) == wanted,
                  "other octets came")
        test.demand_sdp(2 * SIZE)


ASYNCIO = """
import asyncio, hashlib, os, sys

COUNT, SIZE = 20, 1 << 20


async def serve(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = os.urandom(SIZE)

    async def send():
        writer.write(data)
        await writer.drain()
        writer.write_eof()
    back, _ = await asyncio.gather(reader.read(-1), send())
    writer.close()
    await writer.wait_closed()
    return back == data


async def main():
    if sys.argv[1] == "server":
        server = await asyncio.start_server(serve, "127.0.0.1", sys.argv[2])
        async with server:
            await server.serve_forever()
    answers = await asyncio.gather(*(ask(sys.argv[2]) for _ in range(COUNT)))
    print(sum(answers), "of", COUNT, "answers are good")

asyncio.run(main())
"""


def asyncio():
    with SdpTest("Python's asyncio, 20 connections at once") as test:
        script = test.file("both.py", ASYNCIO)
        port = free_port()
        server = test.start("server", [PYTHON, script, "server", port])
        server.wait_listening(port)
        client = test.run("client", [PYTHON, script, "client", port])
        check("20 of 20 answers are good" in client.text(), "bad answers")
        test.demand_sdp(2 * 20 << 20)


def iperf3():
    with SdpTest("iperf3") as test:
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
        # It stops when the sender has sent that much; the last octets are not
        # read.
        test.demand_sdp(3 * SIZE * 9 // 10)


def qperf():
    """It uses AF_INET_SDP with addresses of AF_INET6 and AF_INET."""
    with SdpTest("qperf: sdp_bw, sdp_lat") as test:
        harness.need("qperf")
        port = free_port()
        server = test.start("server", ["qperf", "-lp", port])
        server.wait_listening(port)
        client = test.start("client", [
            "qperf", "-lp", port, "-t", "1", "127.0.0.1", "sdp_bw",
            "sdp_lat"])
        client.wait(60)
        for line in ("sdp_bw:", "bw  =", "sdp_lat:", "latency  ="):
            check(line in client.text(), client.text())
        test.demand_sdp(SIZE)


# A socket of AF_INET_SDP at both ends, with an address of each family; and a
# port where only TCP listens.
FAMILY = '''
import ctypes, errno, os, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
SDP = 27


def address(family, host, port):
    if family == socket.AF_INET6:
        return struct.pack("=HHI16sI", family, socket.htons(port), 0,
                           socket.inet_pton(family, host), 0)
    return struct.pack("=HH4s8x", family, socket.htons(port),
                       socket.inet_aton(host))


def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def sdp_socket(name, family, host, port):
    fd = libc.socket(SDP, socket.SOCK_STREAM, 0)
    assert fd >= 0
    at = address(family, host, port)
    call(name, fd, at, len(at))
    return socket.socket(fileno=fd)


for family, host in ((SDP, "127.0.0.1"), (socket.AF_INET, "127.0.0.1"),
                     (socket.AF_INET6, "::1")):
    listener = sdp_socket("bind", family, host, 0)
    listener.listen()
    port = listener.getsockname()[1]
    client = sdp_socket("connect", family, host, port)
    server, peer = listener.accept()
    assert peer[0] == host and client.getpeername()[:2] == (host, port)
    client.sendall(b"x" * 30000)
    client.shutdown(socket.SHUT_WR)
    count = 0
    while data := server.recv(65536):
        count += len(data)
    assert count == 30000, count
    for sock in (listener, client, server):
        sock.close()
try:
    sdp_socket("connect", SDP, "127.0.0.1", int(sys.argv[1]))
    sys.exit("a port of TCP took SDP")
except OSError as e:
    assert e.errno == errno.ECONNREFUSED, e

# A client without the library.
PLAIN = """
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("connected", flush=True)
try:
    sys.exit(f"received {client.recv(1)}")
except ConnectionResetError:
    print("reset")
"""
listener = sdp_socket("bind", SDP, "127.0.0.1", 0)
listener.listen()
del os.environ["LD_PRELOAD"]
plain = subprocess.Popen([sys.executable, "-c", PLAIN,
                          str(listener.getsockname()[1])],
                         stdout=subprocess.PIPE, text=True)
assert plain.stdout.readline() == "connected\\n"
listener.setblocking(False)
try:
    listener.accept()
    sys.exit("a port of SDP took TCP")
except BlockingIOError:
    pass
assert plain.communicate() == ("reset\\n", None)
print("all is well")
'''


# A program that the rules leave to TCP.
NO_FAMILY = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.socket(27, 1, 0) == -1
print(os.strerror(ctypes.get_errno()))
"""


def family():
    with SdpTest("Python, sockets of AF_INET_SDP") as test:
        port = free_port()
        plain = test.start("plain", ["nc", "-l", "127.0.0.1", port],
                           usiw=False)
        plain.wait_listening(port)
        program = test.start("program", [PYTHON, "-c", FAMILY, port])
        program.wait(30)
        check("all is well" in program.text(), program.text())
        rules = test.file("rules", "use tcp server *:*\nuse tcp client *:*\n")
        refused = test.run("refused", [PYTHON, "-c", NO_FAMILY],
                           env={"LIBSDP_CONFIG_FILE": rules})
        check(os.strerror(errno.EAFNOSUPPORT) in refused.text(),
              refused.text())
        test.demand_sdp(90000)


def redis():
    with SdpTest("redis-server and redis-benchmark") as test:
        harness.need("redis-server", "redis-benchmark")
        port = free_port()
        # With small answers in turn a connection stays TCP.
        count, clients, size = ((200, 4, 1 << 20) if test.is_young else
                                (2000, 20, 4096))
        server = test.start("server", [
            "redis-server", "--port", port, "--bind", "127.0.0.1", "--save",
            "", "--dir", "/tmp"])
        server.wait_listening(port)
        client = test.start("client", [
            "redis-benchmark", "-p", port, "-n", count, "-c", clients, "-d",
            size, "-q", "-t", "set,get"])
        client.wait(60)
        rates = re.findall(r"(\w+): ([0-9.]+) requests per second",
                           client.text())
        check({name for name, _ in rates} == {"SET", "GET"},
              f"rates: {rates}")
        test.demand_sdp(2 * count * size)


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
    with SdpTest("nginx and curl") as test:
        harness.need("curl")
        if not os.path.exists("/usr/sbin/nginx"):
            raise harness.Skip("nginx is not installed")
        path, wanted = test.payload()
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
        test.demand_sdp(8 * SIZE)


def own_dlopen():
    with SdpTest("a program with a dlopen() of its own, as haproxy 3 has "
                 "it") as test:
        program = test.run("program", [
            os.path.join(harness.BUILD, "bin", "apps-own-dlopen")])
        check("all came" in program.text(), "it did not end well")
        test.demand_sdp(1000000)


ONE_END = {
    "server": "the client has no SDP",
    "client": "the server has no SDP",
}


def one_end(which):
    """The other end has only TCP: all octets arrive nevertheless."""
    with SdpTest(f"socat to socat, only the {which} has SDP",
                 way="TCP") as test:
        harness.need("socat")
        path, wanted = test.payload(1 << 20)
        logs = test.folder("logs")
        rules = {"LIBSDP_CONFIG_FILE": test.file(
            "rules", f"log min-level 7 destination file {logs}/log\n")}
        port = free_port()
        server = test.start("server", [
            "socat", "-u", f"OPEN:{path}",
            f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr"],
            usiw=which == "server", env=rules)
        server.wait_listening(port)
        client = test.start("client", [
            "socat", "-u", f"TCP:127.0.0.1:{port}", "-"],
            usiw=which == "client", env=rules)
        client.wait(30)
        check(checksum(client.output_path) == wanted, "other octets came")
        found = test.fallbacks()
        check(bool(found) == (which == "client"), f"fallbacks: {found}")
        said = ""
        for name in os.listdir(logs):
            with open(os.path.join(logs, name), encoding="utf-8") as f:
                said += f.read()
        why = "a connection uses TCP: the peer has no SDP port"
        check((why in said) == (which == "client"), f"the log: {said}")


main([
    ("nc", netcat), ("socat", socat), ("http", http), ("tls", tls),
    ("asyncio", asyncio),
    ("iperf3", iperf3), ("qperf", qperf), ("family", family),
    ("redis", redis), ("nginx", nginx),
    ("own-dlopen", own_dlopen),
    ("only-server", lambda: one_end("server")),
    ("only-client", lambda: one_end("client")),
])
