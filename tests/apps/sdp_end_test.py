#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a program wrote before it ended, when its peer takes part late: it
arrives, or the peer is told that octets are missing. The peer never reads less
and then an end of the stream.

Each case is a writer and a reader, which may be client or server. The reader
looks at the connection after the writer has ended.
"""
import os
import re
import signal
import sys

from harness import SLOW, check
from sdp_program import SdpTest, main

# As sdp_hostile_test.py says of its server: a listener, and a pause until this
# script says so. The first line is the port.
LISTEN = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0), backlog=8)
print("port", listener.getsockname()[1], flush=True)
"""
CONNECT = """
import os, socket, sys, time
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("connected", flush=True)
"""
ACCEPT = """
sock, _ = listener.accept()
"""
# The file appears when the writer has ended.
PAUSE = """
print("pausing", flush=True)
while not os.path.exists(sys.argv[-1]):
    time.sleep(0.01)
"""
READ = f"""
sock.settimeout({30 * SLOW})
got, end = b"", "EOF"
try:
    while data := sock.recv(65536):
        got += data
except OSError as e:
    end = e.strerror
print("got", len(got), got == b"x" * len(got), "then", end, flush=True)
"""
WRITE = """
size = int(sys.argv[-1])
sock.sendall(b"x" * size)
print("wrote", size, flush=True)
"""
# As much as the library takes, to a peer that has received one octet.
FILL = """
import select
sock.recv(1)
sock.setblocking(False)
size = 0
while select.select([], [sock], [], 1)[1]:
    size += sock.send(b"x" * 65536)
print("wrote", size, flush=True)
"""
STEP = """
sock.sendall(b"y")
"""
STAY = """
time.sleep(1000)
"""


def case(name, is_client, size, how, accepts_late=False, want=None, env=None,
         after=None):
    """@is_client: the writer is. @size: None: as much as it can. @how: what the
    writer does when it has written. @want: what the reader says; default: all
    of it, then the end. @env: of the client. @after: "0": SDP begins with the
    first octet; default: the connection begins as TCP."""
    def run():
        with SdpTest(name) as test:
            test.sdp_after = after
            go = os.path.join(test.directory, "go")
            read = [STEP * (size is None), PAUSE]
            if is_client:
                read.insert(2 if accepts_late else 0, ACCEPT)
            write = "" if is_client else ACCEPT
            both = ["".join(read) + READ,
                    write + (WRITE if size else FILL) + how]
            server, client = both if is_client else reversed(both)
            first = test.start("server", [
                sys.executable, "-c", LISTEN + server,
                go if is_client else size])
            port = first.wait_text(re.compile(r"port (\d+)")).group(1)
            second = test.start("client", [
                sys.executable, "-c", CONNECT + client, port,
                size if is_client else go], env=env)
            writer, reader = [(first, second), (second, first)][is_client]
            reader.wait_text(re.compile("pausing"))
            wrote = writer.wait_text(re.compile(r"wrote (\d+)\n")).group(1)
            if how == STAY:
                writer.signal(signal.SIGKILL)
                writer.wait(20, codes=(-signal.SIGKILL,))
            else:
                writer.wait(20)
            with open(go, "w", encoding="ascii"):
                pass
            found = reader.wait_text(re.compile(r"got .*\n"), 60).group(0)[:-1]
            check(found == (want or f"got {wrote} True then EOF"), found)
            reader.wait(20)
    return name, run


EXIT = ""
EXIT_AT_ONCE = """
os._exit(0)
"""
CLOSE = """
sock.close()
"""
HALF = """
sock.shutdown(socket.SHUT_WR)
"""
LOST = "got 0 True then Connection reset by peer"

if __name__ == "__main__":
    main([
        case("client", True, 100, EXIT),
        case("client-late-accept", True, 100, EXIT, accepts_late=True),
        case("client-64k", True, 65536, EXIT),
        case("client-exit-at-once", True, 100, EXIT_AT_ONCE),
        case("client-close", True, 100, CLOSE, accepts_late=True),
        case("client-shutdown", True, 100, HALF),
        case("server", False, 100, EXIT),
        case("server-64k", False, 65536, EXIT),
        case("server-close", False, 100, CLOSE),
        case("client-full", True, None, EXIT),
        case("server-full", False, None, EXIT),
        case("killed-client", True, 100, STAY),
        case("first-octet-client-full", True, None, EXIT, after="0"),
        case("first-octet-server-full", False, None, EXIT, after="0"),
        case("first-octet-server-full-cm", False, None, EXIT, after="0",
             env={"USIW_SDP_CARRIER": "cm"}),
        # What the peer has not begun to take within ten seconds is lost, and
        # it is told so.
        case("first-octet-client", True, 100, EXIT, after="0", want=LOST),
        case("first-octet-killed-client", True, 100, STAY, after="0",
             want=LOST),
        case("first-octet-killed-client-late-accept", True, 100, STAY,
             accepts_late=True, after="0", want=LOST),
        case("first-octet-killed-server", False, 100, STAY, after="0",
             want=LOST),
    ])
