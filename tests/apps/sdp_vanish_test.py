#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""An interface is removed while a socket sleeps: each case runs over TCP and
over SDP, and the program sees the same.

TCP does not fail at once: TCP_USER_TIMEOUT or keepalive ends the connection.
The script runs itself inside `unshare -Urnm`.
"""
import json
import os
import select
import subprocess
import sys

import harness
from harness import SLOW, USIW, check
from netns import ADDRESS, Net, leave
from sdp_remote_test import Host

# The first octet in each direction starts SDP. A "mute" side waits for the
# other one, or does nothing.
PROGRAM = """
import errno, json, select, socket, sys
role, address, port, call, is_mute, options = sys.argv[1:]

def name(number):
    return errno.errorcode.get(number, number)

def outcome(function):
    try:
        result = function()
    except OSError as e:
        return name(e.errno)
    return len(result) if isinstance(result, bytes) else result

def send():
    while True:
        sock.send(bytes(65536))

def events(maker, what):
    poller = maker()
    poller.register(sock, what)
    return [event for _, event in poller.poll()]

def connect_later():
    sock.setblocking(False)
    first = name(sock.connect_ex((address, int(port))))
    return first if first != "EINPROGRESS" else \\
        [first, events(select.poll, select.POLLOUT)]

CALLS = {
    "recv": lambda: sock.recv(1),
    "send": send,
    "poll": lambda: events(select.poll, select.POLLIN | select.POLLRDHUP),
    "epoll": lambda: events(select.epoll, select.EPOLLIN),
    "connect": lambda: sock.connect((address, int(port))),
    "connect-later": connect_later,
}
if role == "server":
    with socket.create_server((address, 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        sock, _ = listener.accept()
else:
    sock = socket.socket()
for option in filter(None, options.split(",")):
    key, value = option.split("=")
    level = socket.SOL_SOCKET if key.startswith("SO_") else \\
        socket.IPPROTO_TCP
    sock.setsockopt(level, getattr(socket, key), int(value))
if role == "client" and "connect" not in call:
    sock.connect((address, int(port)))
if is_mute == "False" and role == "client" and "connect" not in call:
    sock.sendall(b"x")
    sock.recv(1)
elif is_mute == "False" and role == "server":
    sock.sendall(sock.recv(1))
print("ready", flush=True)
sys.stdin.readline()
if call == "nothing":
    sys.exit()
print(json.dumps([outcome(CALLS[call]), outcome(lambda: name(
    sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))),
    outcome(lambda: sock.recv(1)), outcome(lambda: sock.send(b"x"))]),
    flush=True)
"""
USER_TIMEOUT = "TCP_USER_TIMEOUT=1000"
# Data in flight when the interface is removed delays keepalive.
KEEPALIVE = ("SO_KEEPALIVE=1,TCP_KEEPIDLE=1,TCP_KEEPINTVL=1,TCP_KEEPCNT=2," +
             USER_TIMEOUT)
EVENTS = {
    "deleted": ["link", "del", "veth0"],
    "down": ["link", "set", "veth0", "down"],
    "address": ["addr", "del", ADDRESS["client"] + "/24", "dev", "veth0"],
}
LIMIT = 60
# TCP reports the second or the third if it could not retransmit data in
# flight. SDP's own messages may be in flight when none of the program's are.
LOST = ("ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")


class Side:
    def __init__(self, host, role, is_sdp, port, call, is_mute, options):
        self.host = host
        words = [USIW, "run", "--sdp", "--"] if is_sdp else []
        words += [sys.executable, "-c", PROGRAM, role, ADDRESS["server"],
                  str(port), call, str(is_mute), options]
        self.program = subprocess.Popen(
            (host.net.inside if role == "server" else []) + words,
            env=host.env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        host.programs.append(self.program)

    def line(self):
        ready, _, _ = select.select([self.program.stdout], [], [],
                                    LIMIT * SLOW)
        check(ready, "it hangs")
        return self.program.stdout.readline().strip()

    def go(self):
        self.program.stdin.write("\n")
        self.program.stdin.flush()


def vanish(is_sdp, event, role, call, is_mute, options, is_before):
    """The output of the program. @is_before: the interface is removed before
    the call, otherwise while the call sleeps."""
    net = Net(1500)
    try:
        with Host(net) as host:
            if is_sdp:
                host.mapper()
            calls = {"server": "nothing", "client": "nothing", role: call}
            own = {"server": "", "client": "", role: options}
            server = Side(host, "server", is_sdp, 0, calls["server"], is_mute,
                          own["server"])
            port = int(server.line())
            client = Side(host, "client", is_sdp, port, calls["client"],
                          is_mute, own["client"])
            side = client if role == "client" else server
            check(client.line() == "ready", "the client is not ready")
            if "connect" not in call:
                check(server.line() == "ready", "the server is not ready")
            if not is_before:
                side.go()
            subprocess.run(["ip", *EVENTS[event]], check=True)
            if is_before:
                side.go()
            said = json.loads(side.line())
            side.program.wait(LIMIT * SLOW)
            if is_sdp and not is_mute and "connect" not in call:
                page = host.page(side.program)
                counts = page["events"]
                check(counts["connects"] + counts["accepts"] == 1, page)
                check(page["fallbacks"]["total"] == 0, page)
            return said
    finally:
        net.close()


def plain(said):
    return ["lost" if word in list(LOST) else word for word in said]


def case(event, call, options, role="client", is_mute=False, is_before=False):
    def run():
        leave()
        said = [vanish(is_sdp, event, role, call, is_mute, options, is_before)
                for is_sdp in (False, True)]
        print(f"{call}: {said[0]}")
        told = said if "connect" in call else [plain(each) for each in said]
        check(told[0] == told[1], f"TCP: {said[0]}, SDP: {said[1]}")
    return run


if __name__ == "__main__":
    harness.confine(__file__)
    harness.main([
        *((f"recv-{event}", case(event, "recv", KEEPALIVE))
          for event in EVENTS),
        *((f"send-{event}", case(event, "send", USER_TIMEOUT,
                                 is_before=True)) for event in EVENTS),
        *((f"{call}-server", case("deleted", call, KEEPALIVE, "server"))
          for call in ("recv", "poll", "epoll")),
        # Before the first octet.
        *((f"recv-mute-{role}", case("down", "recv", KEEPALIVE, role, True))
          for role in ("client", "server")),
        *((f"{call}-{event}", case(event, call, "", is_before=True))
          for call in ("connect", "connect-later") for event in EVENTS),
    ], at_once=4)
