# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""In the guest: programs that do not use RDMA, under libsdp.so.

    sockets.py siw|usiw siw|usiw ADDRESS PORT

The first word is the server's device, the second the client's. siw does not
have usiw's direct verb, so rdma_cm makes its connections. Each pair of
programs moves octets, which are compared. Both sides must count them as octets
of SDP, and no connection may have fallen back to TCP.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

SERVER, CLIENT, ADDRESS, PORT = sys.argv[1:5]
LIMIT = 120
SIZE = 1 << 20
MECHANISMS = ("bcopy", "read", "write", "transaction")
FORKER = f"""
import os, socket
with socket.create_server(("{ADDRESS}", {PORT})) as listener:
    for _ in range(2):
        sock, _ = listener.accept()
        if os.fork() == 0:
            with sock:
                while data := sock.recv(65536):
                    sock.sendall(data)
            os._exit(0)
        sock.close()
    for _ in range(2):
        os.wait()
"""
FORKS_CLIENT = f"""
import socket, sys
for _ in range(2):
    with socket.create_connection(("{ADDRESS}", {PORT})) as sock:
        sock.sendall(bytes(1000))
        sock.shutdown(socket.SHUT_WR)
        got = 0
        while data := sock.recv(65536):
            got += len(data)
        assert got == 1000, got
"""
LATER = f"""
import select, socket, sys
events = select.epoll()
sock = socket.socket()
sock.setblocking(False)
events.register(sock, select.EPOLLOUT)
sock.connect_ex(("{ADDRESS}", {PORT}))
while not events.poll() or sock.getsockopt(socket.SOL_SOCKET,
                                           socket.SO_ERROR):
    pass
sock.setblocking(True)
assert sock.getpeername() == ("{ADDRESS}", {PORT}), sock.getpeername()
with sock, open(sys.argv[1], "rb") as source:
    sock.sendfile(source)
"""


def words_of(device, words):
    return (["/host/bin/usiw", "run", "--sdp", "--"] if device == "usiw"
            else []) + words


class Side:
    """One program. Its statistics page is kept."""

    all = []  # a program that still runs keeps the device from being removed

    def __init__(self, directory, device, words, **kwargs):
        self.all.append(self)
        self.pages = tempfile.mkdtemp(dir=directory)
        env = {**os.environ, "USIW_STAT_DIR": self.pages,
               "LIBSDP_CONFIG_FILE": "/dev/null", "USIW_LOG": "info:sdp",
               "USIW_SDP_AFTER": "0"}
        if device == "siw":
            env["LD_PRELOAD"] = "/host/lib/libsdp.so"
        self.program = subprocess.Popen(words_of(device, words), env=env,
                                        **kwargs)

    def wait(self):
        code = self.program.wait(LIMIT)
        assert code == 0, f"{self.program.args} ended with {code}"

    def stop(self):
        if self.program.poll() is None:
            self.program.terminate()
            self.program.wait(LIMIT)

    def counted(self):
        """Octets both ways over SDP, and the connections that fell back."""
        out = subprocess.run(["/host/bin/sdpstat", "--json", self.pages],
                             stdout=subprocess.PIPE, check=True).stdout
        octets = fallbacks = 0
        for process in json.loads(out)["processes"]:
            octets += sum(process["totals"][way + name] for name in MECHANISMS
                          for way in ("tx_", "rx_"))
            fallbacks += process["fallbacks"]["total"]
        return octets, fallbacks


def listens():
    with open("/proc/net/tcp") as four, open("/proc/net/tcp6") as six:
        rows = [row.split() for row in [*four, *six]]
    return any(row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) ==
               int(PORT) for row in rows)


def listen(directory, words, **kwargs):
    side = Side(directory, SERVER, words, **kwargs)
    deadline = time.monotonic() + LIMIT
    while not listens() and side.program.poll() is None:
        assert time.monotonic() < deadline, f"{words} does not listen"
        time.sleep(0.05)
    return side


def checksum(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def verify(name, sides, octets, fallbacks=0, server_octets=None):
    for side in sides:
        side.stop()
    counts = [side.counted() for side in sides]
    print(f"{name}: (octets, fallbacks) of server and client: {counts}",
          flush=True)
    least = (octets if server_octets is None else server_octets, octets)
    for (count, _), want in zip(counts, least):
        assert count >= want, f"{name}: SDP has not carried {want}"
    assert counts[1][1] == fallbacks, f"{name}: fell back to TCP"


def nc(directory, payload):
    got = os.path.join(directory, "got")
    with open(got, "wb") as sink, open(payload, "rb") as source:
        server = listen(directory, ["nc", "-l", ADDRESS, PORT], stdout=sink,
                        stdin=subprocess.DEVNULL)
        client = Side(directory, CLIENT, ["nc", "-N", ADDRESS, PORT],
                      stdin=source, stdout=subprocess.DEVNULL)
        client.wait()
        server.wait()
    assert checksum(got) == checksum(payload), "nc: octets differ"
    verify("nc", (server, client), SIZE)


def http(directory, payload, *where):
    """Without an address the listener is one of both families."""
    got = os.path.join(directory, "got")
    server = listen(directory, ["python3", "-m", "http.server", PORT,
                                "--directory", directory, *where],
                    stdout=subprocess.DEVNULL)
    fetch = ("import sys, urllib.request; "
             "urllib.request.urlretrieve(*sys.argv[1:])")
    for _ in range(3):
        client = Side(directory, CLIENT, [
            "python3", "-c", fetch,
            f"http://{ADDRESS}:{PORT}/{os.path.basename(payload)}", got])
        client.wait()
        assert checksum(got) == checksum(payload), "http: octets differ"
    verify(f"http.server {where}", (server, client), SIZE)


def iperf3(directory, _payload):
    server = listen(directory, ["iperf3", "-s", "-1", "-p", PORT],
                    stdout=subprocess.DEVNULL)
    client = Side(directory, CLIENT, ["iperf3", "-c", ADDRESS, "-p", PORT,
                                      "-n", str(SIZE)])
    client.wait()
    server.wait()
    # It does not read all that its client has sent.
    verify("iperf3", (server, client), SIZE, server_octets=1)


def later(directory, payload):
    """connect() does not wait, and epoll reports its end."""
    got = os.path.join(directory, "got")
    with open(got, "wb") as sink:
        server = listen(directory, ["nc", "-l", ADDRESS, PORT], stdout=sink,
                        stdin=subprocess.DEVNULL)
        client = Side(directory, CLIENT, ["python3", "-c", LATER, payload])
        client.wait()
        server.wait()
    assert checksum(got) == checksum(payload), "epoll: octets differ"
    verify("epoll", (server, client), SIZE)


def forks(directory, _payload):
    """A listener of rdma_cm falls back to TCP with the first fork."""
    server = listen(directory, ["python3", "-c", FORKER])
    client = Side(directory, CLIENT, ["python3", "-c", FORKS_CLIENT])
    client.wait()
    server.wait()
    verify("forks", (server, client), 2000 if SERVER == "siw" else 4000,
          1 if SERVER == "siw" else 0)


def main():
    with tempfile.TemporaryDirectory() as directory:
        payload = os.path.join(directory, "payload")
        with open(payload, "wb") as f:
            f.write(os.urandom(SIZE))
        nc(directory, payload)
        http(directory, payload, "--bind", ADDRESS)
        http(directory, payload)
        iperf3(directory, payload)
        later(directory, payload)
        forks(directory, payload)


try:
    main()
finally:
    for each in Side.all:
        each.stop()
