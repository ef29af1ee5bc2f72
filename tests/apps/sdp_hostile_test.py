#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Hostile peers of a server under `usiw run --sdp`: whatever they send, and
however many there are, honest clients beside them and after them are served,
and each of their steps is short.

The hostile peers speak SDP by iwarp.py. Their FPDUs are in TCP's buffers
together, so that receives of a connection complete while it ends.
"""
import hashlib
import os
import re
import socket
import struct
import sys

import iwarp
from harness import SLOW, check, wait_until
from iwarp import fpdu, send
from sdp_program import SdpTest, main

PEERS = 20
# More connections than receives that were ever posted for all of them.
HALVES = 600
ROUNDS = 20
# Enough for the time of the attack.
ROUNDS_BESIDE = 300
# Long beside the microseconds of a step, short beside the 10 s for which usiw
# holds a message that finds no receive.
STEP_S = 2 * SLOW
TIMEOUT = 20 * SLOW
THOUSAND = 1000
# Memory that the library and the allocator keep for the next connections.
MEMORY_MIB = 16

SERVER = """
import resource, socket, threading
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def serve(sock):
    try:
        while data := sock.recv(65536):
            sock.sendall(data)
    except OSError:
        pass
    sock.close()
listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print("port", listener.getsockname()[1], flush=True)
threading.stack_size(262144)
while True:
    sock, _ = listener.accept()
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
"""
CLIENT = f"""
import socket, sys, time
worst = 0
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    sock.settimeout({TIMEOUT})
    for i in range(int(sys.argv[2])):
        begin = time.monotonic()
        sock.sendall(b"%8d" % i * 1000)
        got = b""
        while len(got) < 8000:
            more = sock.recv(8000 - len(got))
            if not more:
                sys.exit(f"end after {{i}} rounds")
            got += more
        worst = max(worst, time.monotonic() - begin)
        if got != b"%8d" % i * 1000:
            sys.exit("wrong octets")
        if i == 0:
            print("first", flush=True)
        time.sleep(float(sys.argv[3]))
print("worst", worst, flush=True)
"""
# Connections in one direction, which SDP enters.
SINK = """
import hashlib, socket, threading
def serve(sock):
    seen = hashlib.sha256()
    while data := sock.recv(65536):
        seen.update(data)
    sock.sendall(seen.digest())
    sock.close()
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
print("port", listener.getsockname()[1], flush=True)
while True:
    sock, _ = listener.accept()
    threading.Thread(target=serve, args=(sock,), daemon=True).start()
"""
SOURCE = f"""
import hashlib, socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    sock.settimeout({TIMEOUT})
    sent = hashlib.sha256()
    for i in range(200):
        data = b"%8d" % i * 1000
        sock.sendall(data)
        sent.update(data)
        time.sleep(0.005)
    sock.shutdown(socket.SHUT_WR)
    print("same", sock.recv(64, socket.MSG_WAITALL) == sent.digest())
"""

# ---- SDP by hand (doc/spec/sdp.md part 1) -------------------------------------

HELLO, DATA, OOB_PRES = 0x00, 0xFF, 0x01
BUFS, ENHANCED_RTR = 33, 0x8000
ACK_IN_RTR = struct.pack(">HH", 8 | ENHANCED_RTR, 8 | ENHANCED_RTR)


def header(mid, length, mseq=0, flags=0):
    return struct.pack(">HBBIII", BUFS, flags, mid, length, mseq, 0)


def hello():
    return header(HELLO, 32) + struct.pack(">HBBIIHH", 8, 0, 0x11, 16384,
                                           16384, 8, 8)


def data(mseq, payload=b"", flags=0):
    return header(DATA, 16 + len(payload), mseq, flags) + payload


def messages(octets):
    """FPDUs with these messages."""
    return b"".join(fpdu(send(one, msn=i + 1))
                    for i, one in enumerate(octets))


def invalid():
    """An urgent octet that is missing, and valid messages behind it."""
    return messages([data(0, flags=OOB_PRES)] +
                    [data(i + 1, b"x") for i in range(29)])


def beyond_credit():
    """More than was granted, unless the server's program receives them as fast
    as they come. So the last one is invalid."""
    return messages([data(i, b"x") for i in range(120)] +
                    [data(120, flags=OOB_PRES)])


def half():
    """The first segment of a message: it takes a receive."""
    return fpdu(send(data(0, b"x" * 64)[:40], last=False))


def sdp_port(server, port):
    """The port that the server's library has announced for its listener."""
    inodes = set()
    for fd in os.listdir(f"/proc/{server.pid}/fd"):
        try:
            found = re.match(r"socket:\[(\d+)\]$", os.readlink(
                f"/proc/{server.pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
        if found:
            inodes.add(found.group(1))
    with open("/proc/net/tcp", encoding="ascii") as f:
        mine = {row[9] for row in map(str.split, f)
                if row[3] == "0A" and row[9] in inodes and
                row[1].endswith(f":{port:04X}")}
    with open("/proc/net/unix", encoding="latin-1") as f:
        for found in re.finditer(r"@usiw-sdp/1/(\d+)/(\d+)/", f.read()):
            if found.group(1) in mine:
                return int(found.group(2))
    return None


def desk_port(server, sock):
    """The port that was announced with the other end of a connection."""
    own = "%08X:%04X" % (struct.unpack("=I", socket.inet_aton("127.0.0.1"))[0],
                         sock.getsockname()[1])
    with open("/proc/net/tcp", encoding="ascii") as f:
        inode = next((row[9] for row in map(str.split, f) if row[2] == own),
                     None)
    with open("/proc/net/unix", encoding="latin-1") as f:
        found = re.search(rf"@usiw-sdp/1/{inode}/(\d+)/", f.read())
    return int(found.group(1)) if found else None


def start_server(test, env):
    """Return: the program, its port, and its SDP port."""
    server = test.start("server", [sys.executable, "-c", SERVER], env=env)
    port = int(server.wait_text(re.compile(r"port (\d+)")).group(1))
    return server, port, wait_until(lambda: sdp_port(server, port), 20,
                                    "the announcement")


def attack(port, octets, is_early):
    """@is_early: does not wait for the HelloAck. Return: the peer."""
    peer = iwarp.Peer(port, TIMEOUT)
    peer.put(hello())
    peer.start(ACK_IN_RTR, rev=2, flags=iwarp.FLAG_CRC | iwarp.FLAG_ENHANCED)
    rtr = fpdu(iwarp.write(0, 0, b""))
    if is_early:
        peer.put(rtr + octets)
        return peer
    peer.put(rtr)
    ack = peer.get_ulpdu()[18:]
    check(ack[3] == 1, f"instead of HelloAck: {ack.hex()}")
    peer.put(octets)
    return peer


def demand_steps(name, client):
    client.wait(60)
    found = re.search(r"worst ([\d.e-]+)", client.text())
    check(found, client.text())
    worst = float(found.group(1))
    print(f"{name}: the longest step {client.name} it took "
          f"{1000 * worst:.1f} ms")
    check(worst < STEP_S, f"a step {client.name} it took {worst:.1f} s")


# ---- what a process has -------------------------------------------------------

def holdings(server):
    """Descriptors, threads, and private memory in MiB."""
    with open(f"/proc/{server.pid}/status", encoding="ascii") as f:
        status = dict(re.findall(r"^(\w+):\s+(\d+)", f.read(), re.M))
    return (len(os.listdir(f"/proc/{server.pid}/fd")), int(status["Threads"]),
            int(status["RssAnon"]) // 1024)


def demand_holdings(server, before):
    """What the hostile peers had is given back."""
    allowed = before[:2] + (before[2] + MEMORY_MIB,)
    with open(f"/proc/{server.pid}/maps", encoding="ascii") as f:
        if "/libasan" in f.read():  # keeps what is freed
            allowed = before[:2]
    wait_until(lambda: all(now <= most for now, most in
                           zip(holdings(server), allowed)), TIMEOUT,
               f"descriptors, threads and memory as before, {before}")
    print(f"thousand: before {before}, after {holdings(server)}")


# ---- the cases -----------------------------------------------------------------

def case(name, octets, count=PEERS, stay=False, is_early=False):
    """@stay: the hostile connections are open while the client is served."""
    def run():
        with SdpTest(name) as test:
            _, port, sdp = start_server(test, {"USIW_LOG": "error"})
            client = [sys.executable, "-c", CLIENT, port]
            beside = test.start("beside", client + [ROUNDS_BESIDE, 0.003])
            beside.wait_text(re.compile("first"))
            peers = []
            for _ in range(count):
                if stay:
                    peers.append(attack(sdp, octets, is_early))
                else:
                    attack_to_the_end(sdp, octets, is_early)
            after = test.start("after", client + [ROUNDS, 0])
            for honest in (beside, after):
                demand_steps(name, honest)
            check(not test.fallbacks(), f"TCP: {test.fallbacks()}")
            for peer in peers:
                peer.close()
    return name, run


KINDS = ((invalid, False), (beyond_credit, False), (invalid, True),
         (beyond_credit, True))


def attack_to_the_end(sdp, octets, is_early):
    peer = attack(sdp, octets, is_early)
    check(ended(peer), "the connection did not end")
    peer.close()


def thousand():
    """All that connections share is there for the next one, each time."""
    with SdpTest("thousand") as test:
        server, port, sdp = start_server(test, {"USIW_LOG": "error"})
        before = None
        for i in range(THOUSAND):
            kind, is_early = KINDS[i % len(KINDS)]
            attack_to_the_end(sdp, kind(), is_early)
            if i % 250 == 9 or i == THOUSAND - 1:
                client = test.start("honest", [sys.executable, "-c", CLIENT,
                                               port, ROUNDS, 0])
                demand_steps(f"behind {i + 1}", client)
            if i == 9:
                before = holdings(server)
        demand_holdings(server, before)
        check(not test.fallbacks(), f"TCP: {test.fallbacks()}")


def name_of(address):
    """As sdp/sock/enter/enter.c writes it."""
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address[0]) + \
        struct.pack(">H", address[1])


def desk():
    """Strangers at the port where SDP enters connections, and one that names
    the ends of a connection which is not its own."""
    with SdpTest("desk") as test:
        test.sdp_after = "20000"
        server = test.start("server", [sys.executable, "-c", SINK],
                            env={"USIW_LOG": "error"})
        port = int(server.wait_text(re.compile(r"port (\d+)")).group(1))
        # Plain TCP, and much enough to be announced.
        victim = socket.create_connection(("127.0.0.1", port))
        victim.sendall(bytes(15000))
        desk_at = wait_until(lambda: desk_port(server, victim), 20,
                             "the announcement")
        ask = b"usiwsdp1" + name_of(victim.getsockname()) + \
            name_of(victim.getpeername())
        silent = []
        for i in range(THOUSAND):
            octets, source = ((b"", "127.0.0.1"), (b"x" * 44, "127.0.0.1"),
                              (ask[:20], "127.0.0.1"), (ask, "127.0.0.1"),
                              (ask, "127.0.0.9"))[i % 5]
            stranger = socket.create_connection(
                ("127.0.0.1", desk_at), source_address=(source, 0))
            stranger.sendall(octets)
            silent.append(stranger)
            if len(silent) == 30:
                silent.pop(0).close()
            if i % 250 == 9:
                test.start(f"beside {i}", [sys.executable, "-c", SOURCE, port])
        for program in test.programs[1:]:
            program.wait(60)
            check("same True" in program.text(), program.text())
        for stranger in silent:
            stranger.settimeout(TIMEOUT)
            check(ended_socket(stranger), "a stranger is still there")
            stranger.close()
        after = test.start("after", [sys.executable, "-c", SOURCE, port])
        after.wait(60)
        check("same True" in after.text(), after.text())
        victim.sendall(bytes(5000))
        victim.shutdown(socket.SHUT_WR)
        check(victim.recv(64, socket.MSG_WAITALL) ==
              hashlib.sha256(bytes(20000)).digest(), "the victim's octets")
        victim.close()
        entered = sum(page["events"]["accepts"] for page in test.processes())
        print(f"desk: SDP has entered {entered} connections of 5")
        check(entered >= 1, "SDP entered none after the strangers")


def ended_socket(sock):
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def ended(peer):
    """Reads what is left, up to the end. Return: whether it comes."""
    try:
        while peer.socket.recv(65536):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


if __name__ == "__main__":
    main([
        case("invalid", invalid()),
        case("beyond-credit", beyond_credit()),
        case("invalid-early", invalid(), is_early=True),
        case("beyond-credit-early", beyond_credit(), is_early=True),
        case("halves", half(), count=HALVES, stay=True),
        ("thousand", thousand),
        ("desk", desk),
    ])
