#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stream sockets of two hosts, found by the Port Mapper: programs under `usiw
run --sdp` in two network namespaces, and sdp-pmd in that of the server.

The script runs itself inside `unshare -Urnm`.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

import harness
from harness import SLOW, USIW, check, wait_until
from netns import ADDRESS, ADDRESS6, Net

BIN = os.path.dirname(USIW)
SIZE = 300000
SERVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], 0), family=family) as listener:
    print(listener.getsockname()[1], flush=True)
    sock, peer = listener.accept()
    got = 0
    while data := sock.recv(65536):
        got += len(data)
        sock.sendall(data)
    sock.close()
    print(got, peer[0], flush=True)
"""
CLIENT = f"""
import socket, sys, threading
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(sock.getpeername()[:2], flush=True)
data = bytes(range(250)) * ({SIZE} // 250)
sender = threading.Thread(target=lambda: (sock.sendall(data),
                                          sock.shutdown(socket.SHUT_WR)))
sender.start()
back = b""
while got := sock.recv(65536):
    back += got
sender.join()
print(back == data, flush=True)
"""

# A non-blocking connect(): select(), then SO_ERROR; or an edge-triggered epoll
# set to which the socket was added before. The argument after the port selects
# it.
LATER = f"""
import errno, os, select, socket, sys, warnings
# Python 3.12 warns of a fork beside threads, and the library may have one.
warnings.simplefilter("ignore", DeprecationWarning)
address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
sock.setblocking(False)
if how == "epoll":
    events = select.epoll()
    events.register(sock, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    events.poll()
error = sock.connect_ex((address, port))
if how == "fork" and os.fork() == 0:
    os._exit(0)
print(errno.errorcode[error], flush=True)
if how == "again":
    print(errno.errorcode[sock.connect_ex((address, port))], flush=True)
if how == "epoll":
    events.poll()
else:
    select.select([], [sock], [])
error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
print(errno.errorcode.get(error, error), flush=True)
if error:
    sys.exit()
print(sock.getpeername()[:2], flush=True)
sock.setblocking(True)
data = bytes(range(250)) * ({SIZE} // 250)
sock.sendall(data[:1000])
back = b""
while len(back) < 1000:
    back += sock.recv(65536)
sock.shutdown(socket.SHUT_WR)
print(back == data[:1000] and not sock.recv(1), flush=True)
"""

# Many octets in one direction, until the test says enough.
SINK = """
import hashlib, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], 0), family=family) as listener:
    print(listener.getsockname()[1], flush=True)
    sock, peer = listener.accept()
    seen = hashlib.sha256()
    while data := sock.recv(65536):
        seen.update(data)
    sock.sendall(seen.digest())
    sock.close()
"""
SOURCE = """
import hashlib, select, socket, sys, time
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
sent = hashlib.sha256()
cnt = 0
while not select.select([sys.stdin], [], [], 0.001)[0]:
    data = cnt.to_bytes(4, "big") * 2500
    sock.sendall(data)
    sent.update(data)
    cnt += 1
sock.shutdown(socket.SHUT_WR)
print("same", sock.recv(64, socket.MSG_WAITALL) == sent.digest(), flush=True)
"""


class Host:
    """Programs of one test. They end with it in any case."""

    def __init__(self, net, settings=None):
        self.net = net
        self.programs = []
        self.directory = tempfile.TemporaryDirectory(prefix="sdp-remote.")
        self.env = os.environ | {"USIW_STAT_DIR": self.directory.name,
                                 "LIBSDP_CONFIG_FILE": "/dev/null",
                                 **(settings or {"USIW_SDP_AFTER": "0"})}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.communicate()
        self.directory.cleanup()

    def start(self, *words, inside=True, carrier="auto"):
        program = subprocess.Popen(
            (self.net.inside if inside else []) + [str(w) for w in words],
            env=self.env | {"USIW_SDP_CARRIER": carrier}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.programs.append(program)
        return program

    def mapper(self, inside=True):
        program = self.start(os.path.join(BIN, "sdp-pmd"), inside=inside)
        for _ in range(2):
            line = program.stdout.readline()
            check("answering on UDP port 3935" in line, line)
        return program

    def page(self, program):
        """The page that the ended process left."""
        return self.pages(os.path.join(self.directory.name,
                                       f"usiw-sdp.{program.pid}"))[0]

    def pages(self, path=None):
        """Those of all programs and of what they have left to a child."""
        out = subprocess.run([os.path.join(BIN, "sdpstat"), "--json",
                              path or self.directory.name],
                             check=True, text=True, stdout=subprocess.PIPE)
        return json.loads(out.stdout)["processes"]


def exchange(host, address, server_words, carriers=("auto", "auto")):
    """Runs both programs to their end. Return: the client's page, the
    server."""
    server = host.start(*server_words, sys.executable, "-c", SERVER, address,
                        carrier=carriers[0])
    port = server.stdout.readline().strip()
    check(port.isdigit(), f"the server said {port!r}")
    client = host.start(USIW, "run", "--sdp", "--", sys.executable, "-c",
                        CLIENT, address, port, inside=False,
                        carrier=carriers[1])
    out, _ = client.communicate(timeout=60 * SLOW)
    check(client.returncode == 0, f"the client ended with {out}")
    check(out.split("\n")[0] == str((address, int(port))), out)
    check(out.split("\n")[1] == "True", out)
    out, _ = server.communicate(timeout=60 * SLOW)
    check(out.startswith(f"{SIZE} "), f"the server ended with {out}")
    return host.page(client), server


def later(how, address, has_mapper, server_words, totals,
          carriers=("auto", "auto")):
    """A client with a non-blocking connect()."""
    def case():
        net = Net(1500)
        try:
            with Host(net) as host:
                mapper = host.mapper() if has_mapper else None
                port = 9
                if server_words is not None:
                    server = host.start(*server_words, sys.executable, "-c",
                                        SERVER, address, carrier=carriers[0])
                    port = int(server.stdout.readline())
                # It does not answer before connect() was called again.
                if how == "again":
                    mapper.send_signal(signal.SIGSTOP)
                client = host.start(USIW, "run", "--sdp", "--", sys.executable,
                                    "-c", LATER, address, port, how,
                                    inside=False, carrier=carriers[1])
                out = ""
                if how == "again":
                    out = "".join(client.stdout.readline() for _ in range(2))
                    mapper.send_signal(signal.SIGCONT)
                out += client.communicate(timeout=60 * SLOW)[0]
                want = ["EINPROGRESS"] + ["EALREADY"] * (how == "again")
                if server_words is None:
                    want += ["ECONNREFUSED"]
                else:
                    want += ["0", str((address, port)), "True"]
                check(out.split("\n")[:-1] == want, out)
                page = host.page(client)
                found = {"connects": page["events"]["connects"],
                         "tx": page["totals"]["tx_octets"],
                         "fallbacks": page["fallbacks"]["total"]}
                check(found in totals, page)
        finally:
            net.close()
    return case


# Counters that a client may have.
SDP = ({"connects": 1, "tx": 1000, "fallbacks": 0},)
TCP = ({"connects": 0, "tx": 0, "fallbacks": 1},)


def with_sdp(address, carriers=("auto", "auto")):
    def case():
        net = Net(1500)
        try:
            with Host(net) as host:
                host.mapper()
                page, server = exchange(host, address,
                                        (USIW, "run", "--sdp", "--"),
                                        carriers)
                check(page["fallbacks"]["total"] == 0, page)
                check(page["events"]["connects"] == 1, page)
                check(page["totals"]["tx_octets"] == SIZE, page)
                check(page["totals"]["rx_octets"] == SIZE, page)
                # nsenter becomes the program, so its process number is the
                # server's.
                page = wait_until(lambda: host.page(server), 10, "a page")
                check(page["events"]["accepts"] == 1, page)
        finally:
            net.close()
    return case


def line_with(program, text):
    for line in program.stdout:
        if text in line:
            return
    raise harness.Failure(f"the program has not said '{text}'")


def entering(address, mappers, refusal=None):
    """The connection begins as TCP. SDP enters it where the Port Mapper of
    each host answers: @mappers has the hosts that run one. @refusal: which
    program says that it does not, and what."""
    def case():
        net = Net(1500)
        try:
            with Host(net, {"USIW_SDP_AFTER": "20000",
                            "USIW_LOG": "debug"}) as host:
                for name in mappers:
                    host.mapper(inside=name == "server")
                words = [USIW, "run", "--sdp", "--", sys.executable, "-c"]
                server = host.start(*words, SINK, address)
                port = ""
                while not port.isdigit():
                    port = server.stdout.readline().strip()
                client = host.start(*words, SOURCE, address, port,
                                    inside=False)
                line_with(client, "connected")
                if refusal:
                    line_with({"client": client, "server": server}[refusal[0]],
                              refusal[1])
                else:
                    wait_until(lambda: all(
                        host.page(program)["events"][event]
                        for program, event in ((client, "connects"),
                                               (server, "accepts"))),
                               60 * SLOW, "SDP")
                out, _ = client.communicate("\n", timeout=60 * SLOW)
                check("same True" in out, out)
                page = host.page(client)
                check(page["events"]["connects"] == (not refusal), page)
                check(page["fallbacks"]["no_answer"] ==
                      ("server" not in mappers), page)
        finally:
            net.close()
    return case


def without(reason, has_mapper, server_words):
    """TCP is used, for that reason."""
    def case():
        net = Net(1500)
        try:
            with Host(net) as host:
                if has_mapper:
                    host.mapper()
                page, _ = exchange(host, ADDRESS["server"], server_words)
                check(page["fallbacks"][reason] == 1, page)
                check(page["totals"]["tx_octets"] == 0, page)
        finally:
            net.close()
    return case


if __name__ == "__main__":
    harness.confine(__file__)
    harness.main([
        ("ipv4", with_sdp(ADDRESS["server"])),
        ("ipv6", with_sdp(ADDRESS6["server"])),
        ("entering-ipv4", entering(ADDRESS["server"], ("client", "server"))),
        ("entering-ipv6", entering(ADDRESS6["server"], ("client", "server"))),
        ("entering-client-alone", entering(
            ADDRESS["server"], ("client",),
            ("client", "does not enter a connection: Cannot assign"))),
        ("entering-server-alone", entering(
            ADDRESS["server"], ("server",),
            ("server", "no sdp-pmd answers on the host of the client"))),
        # A server, a client, or both, with a device without the direct verb.
        *((f"{server}-{client}-ipv{6 if ':' in there else 4}",
           with_sdp(there, (server, client)))
          for server, client in (("cm", "cm"), ("cm", "auto"), ("auto", "cm"))
          for there in (ADDRESS["server"], ADDRESS6["server"])),
        *((f"later-{how}-{server}-{client}",
           later(how, ADDRESS["server"], True, (USIW, "run", "--sdp", "--"),
                 SDP, (server, client)))
          for how in ("select", "epoll", "again")
          for server, client in (("cm", "cm"), ("cm", "auto"),
                                 ("auto", "cm"))),
        *((f"later-{how}-cm", later(how, ADDRESS["server"], True, words, TCP,
                                    ("cm", "cm")))
          for how, words in (("select", None), ("epoll", ()))),
        # A fork lets the connection be established first, for a second at
        # most.
        ("later-fork-cm", later("fork", ADDRESS["server"], True,
                                (USIW, "run", "--sdp", "--"), SDP + TCP,
                                ("cm", "cm"))),
        ("no-mapper", without("no_answer", False,
                              (USIW, "run", "--sdp", "--"))),
        ("no-listener", without("denied", True, ())),
        *((f"later-{how}-{name}",
           later(how, there, True, (USIW, "run", "--sdp", "--"), SDP))
          for how in ("select", "epoll", "again")
          for name, there in (("ipv4", ADDRESS["server"]),
                              ("ipv6", ADDRESS6["server"]))),
        ("later-no-mapper", later("select", ADDRESS["server"], False,
                                  (USIW, "run", "--sdp", "--"), TCP)),
        ("later-epoll-no-mapper", later("epoll", ADDRESS["server"], False,
                                        (USIW, "run", "--sdp", "--"), TCP)),
        ("later-denied", later("epoll", ADDRESS["server"], True, (), TCP)),
        ("later-fork", later("fork", ADDRESS["server"], True, (), TCP)),
        ("later-refused", later("select", ADDRESS["server"], True, None,
                                TCP)),
    ])
