# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Sends MPA Request Frames, then good and bad FPDUs, to an iWARP listener and
prints what comes back.

    mpaprobe.py HOST PORT [CASE-NAME-PREFIX]...

The listener is meant to be `rping -s -P -a ADDRESS -p PORT` (one case per
connection). All cases take about five minutes.
"""
import socket, struct, sys, time
HOST, PORT = sys.argv[1], int(sys.argv[2])
ONLY = sys.argv[3:]
REQ, REP = b"MPA ID Req Frame", b"MPA ID Rep Frame"
M, C, R, S, G = 0x80, 0x40, 0x20, 0x10, 0x08   # markers crc reject enhanced(v2) gso-exp(siw)

def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

def frame(key=REQ, flags=0, rev=1, pd=b"", pdlen=None):
    return key + struct.pack(">BBH", flags, rev, len(pd) if pdlen is None else pdlen) + pd

def v2(ird, ord_, pd=b""):
    return struct.pack(">HH", ird, ord_) + pd

def fpdu(ulpdu, crc=False, badcrc=False):
    f = struct.pack(">H", len(ulpdu)) + ulpdu
    f += bytes(-len(f) % 4)
    c = crc32c(f) if crc else 0
    if badcrc: c ^= 1
    # MPA sends the CRC32c least significant byte first, like iSCSI and SCTP.
    return f + struct.pack("<I", c)

# DDP control byte: T=0x80 L=0x40 DV=1; RDMAP control: RV=1 (0x40) | opcode
def untagged(op, qn, msn, mo, payload, last=1, ddpv=1, rv=1, resv=0):
    return struct.pack(">BBIIII", (0x40 if last else 0) | ddpv, (rv << 6) | op, resv, qn, msn, mo) + payload

def tagged(op, stag, to, payload, last=1):
    return struct.pack(">BBIQ", 0x80 | (0x40 if last else 0) | 1, 0x40 | op, stag, to) + payload

def recv(s, t):
    s.settimeout(t); out = b""; t0 = time.time(); end = "open"
    while True:
        try:
            d = s.recv(65536)
            if not d: end = "FIN"; break
            out += d
        except socket.timeout: break
        except ConnectionError as e: end = type(e).__name__; break
    return out, end, time.time() - t0

def show(b):
    if b[:16] in (REQ, REP) and len(b) >= 20:
        fl, rev, n = struct.unpack(">BBH", b[16:20])
        names = "".join(c for bit, c in ((M, "M"), (C, "C"), (R, "R"), (S, "S"), (G, "G")) if fl & bit) or "-"
        s = f"{b[:16].decode()} flags={fl:#04x}({names}) rev={rev} pdlen={n} pd={b[20:20+n].hex()}"
        if len(b) > 20 + n: s += f" +{len(b)-20-n} bytes: {b[20+n:].hex()}"
        return s
    return b.hex()

def case(name, data, wait=2.0, then=(), expect_reply=True):
    if ONLY and not any(name.startswith(o) for o in ONLY): return
    s = socket.create_connection((HOST, PORT), 5)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for d in ([data] if isinstance(data, bytes) else data):
        s.sendall(d); time.sleep(0.05)
    out, end, dt = recv(s, wait)
    print(f"{name}\n  sent {data.hex() if isinstance(data, bytes) and len(data) <= 80 else '(%d bytes)' % len(data)}\n"
          f"  got  {show(out) if out else 'nothing'} [{len(out)} bytes; connection {end} after {dt:.1f}s]", flush=True)
    for label, d in then:
        try: s.sendall(d)
        except OSError as e: print(f"  then {label}: send failed {e}"); break
        out, end, dt = recv(s, 2.0)
        print(f"  then {label}: sent {d.hex() if len(d) <= 100 else '(%d bytes)' % len(d)}\n       got {out.hex() or 'nothing'} [{len(out)} bytes; connection {end} after {dt:.1f}s]", flush=True)
        if end != "open": break
    s.close(); time.sleep(0.2)

case("rev1 flags -", frame())
case("rev1 flags C", frame(flags=C))
case("rev1 flags M", frame(flags=M))
case("rev1 flags MC", frame(flags=M | C))
case("rev1 flags R (reject in a request)", frame(flags=R))
case("rev1 flags S (reserved in rev 1)", frame(flags=S))
case("rev1 flags G (siw GSO experiment)", frame(flags=G))
case("rev1 flags 0x07 (reserved)", frame(flags=7))
case("rev1 pd 16 bytes", frame(pd=b"0123456789abcdef"))
case("rev1 pd 256 bytes", frame(pd=bytes(256)))
case("rev1 pd 257 bytes", frame(pd=bytes(257)))
case("rev2 flags S, pd 256 in all", frame(rev=2, flags=S, pd=v2(16, 16, bytes(252))))
case("rev2 flags S, pd 260 in all", frame(rev=2, flags=S, pd=v2(16, 16, bytes(256))))
case("rev1 pd 512 bytes", frame(pd=bytes(512)))
case("rev1 pd 513 bytes", frame(pd=bytes(513)))
case("rev1 pd length 65535, 600 sent", frame(pd=bytes(600), pdlen=65535))
case("rev1 pd length 100, 50 sent", frame(pd=bytes(50), pdlen=100), wait=15)
case("rev1 only 10 bytes of header", frame()[:10], wait=15)
case("rev1 header in two pieces", [frame()[:10], frame()[10:]])
case("rev1 pd in two pieces", [frame(pd=b"abcdefgh")[:24], frame(pd=b"abcdefgh")[24:]])
case("rev0", frame(rev=0))
case("rev3", frame(rev=3))
case("rev2 flags -, no pd", frame(rev=2))
case("rev2 flags C, no pd", frame(rev=2, flags=C))
case("rev2 flags S, pd 0", frame(rev=2, flags=S))
case("rev2 flags S, ird 1 ord 1", frame(rev=2, flags=S, pd=v2(1, 1)))
case("rev2 flags SC, ird 1 ord 1", frame(rev=2, flags=S | C, pd=v2(1, 1)))
case("rev2 flags SM, ird 1 ord 1", frame(rev=2, flags=S | M, pd=v2(1, 1)))
case("rev2 flags S, ird 0x3fff ord 0x3fff", frame(rev=2, flags=S, pd=v2(0x3fff, 0x3fff)))
case("rev2 flags S, ird 0 ord 0", frame(rev=2, flags=S, pd=v2(0, 0)))
case("rev2 flags S, p2p + write rtr", frame(rev=2, flags=S, pd=v2(0x8000 | 16, 0x8000 | 16)))
case("rev2 flags S, p2p + zero-length send rtr", frame(rev=2, flags=S, pd=v2(0xc000 | 16, 16)))
case("rev2 flags S, p2p + read rtr", frame(rev=2, flags=S, pd=v2(0x8000 | 16, 0x4000 | 16)))
case("rev2 flags S, p2p + all rtr", frame(rev=2, flags=S, pd=v2(0xc000 | 16, 0xc000 | 16)))
case("rev2 flags S, p2p, no rtr type", frame(rev=2, flags=S, pd=v2(0x8000 | 16, 16)))
case("rev2 flags S, ird/ord + 8 bytes pd", frame(rev=2, flags=S, pd=v2(16, 16, b"hello!!!")))
case("rev2 flags S, pd 512 in all", frame(rev=2, flags=S, pd=v2(16, 16, bytes(508))))
case("rev2 flags S, pd 516 in all", frame(rev=2, flags=S, pd=v2(16, 16, bytes(512))))
case("wrong key", frame(key=b"MPA ID Bad Frame"))
case("reply key in a request", frame(key=REP))
case("HTTP garbage", b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
# After the reply. rping's server waits for a 16 byte Send (buf, rkey, size).
info = struct.pack(">QII", 0x1000, 0x12345678, 64)
send = untagged(3, 0, 1, 0, info)
case("after: good Send, crc off", frame(), then=[("rping advert", fpdu(send))])
case("after: good Send, crc on", frame(flags=C), then=[("rping advert", fpdu(send, crc=True))])
case("after: good Send, crc on, in rev2", frame(rev=2, flags=S | C, pd=v2(16, 16)), then=[("rping advert", fpdu(send, crc=True))])
case("after: bad crc, crc on", frame(flags=C), then=[("rping advert, bad crc", fpdu(send, crc=True, badcrc=True))])
case("after: bad crc field, crc off", frame(), then=[("rping advert, crc field 1", fpdu(send, badcrc=True))])
case("after: correct crc, crc off", frame(), then=[("rping advert, correct crc", fpdu(send, crc=True))])
case("after: Write to unknown stag", frame(), then=[("write", fpdu(tagged(0, 0xdeadbe00, 0, b"abcd")))])
case("after: Write to unknown stag, crc on", frame(flags=C), then=[("write", fpdu(tagged(0, 0xdeadbe00, 0, b"abcd"), crc=True))])
case("after: zero-length Write to stag 0", frame(), then=[("write", fpdu(tagged(0, 0, 0, b""))), ("rping advert", fpdu(send))])
case("after: Read request for unknown stag", frame(),
     then=[("read", fpdu(untagged(1, 1, 1, 0, struct.pack(">IQIIQ", 1, 0, 16, 0xdeadbe00, 0))))])
case("after: zero-length Read request", frame(),
     then=[("read", fpdu(untagged(1, 1, 1, 0, struct.pack(">IQIIQ", 1, 0, 0, 0, 0)))), ("rping advert", fpdu(send))])
case("after: Read response nobody asked for", frame(), then=[("rresp", fpdu(tagged(2, 1, 0, b"abcd")))])
case("after: wrong msn", frame(), then=[("send msn 5", fpdu(untagged(3, 0, 5, 0, info)))])
case("after: wrong queue number", frame(), then=[("send qn 3", fpdu(untagged(3, 3, 1, 0, info)))])
case("after: Send longer than the receive", frame(), then=[("send 2000 bytes", fpdu(untagged(3, 0, 1, 0, bytes(2000))))])
case("after: ddp version 0", frame(), then=[("send", fpdu(untagged(3, 0, 1, 0, info, ddpv=0)))])
case("after: rdmap version 0", frame(), then=[("send", fpdu(untagged(3, 0, 1, 0, info, rv=0)))])
case("after: rdmap version 2", frame(), then=[("send", fpdu(untagged(3, 0, 1, 0, info, rv=2)))])
case("after: opcode 15", frame(), then=[("op 15", fpdu(untagged(15, 0, 1, 0, info)))])
case("after: Terminate", frame(), then=[("term", fpdu(untagged(7, 2, 1, 0, struct.pack(">I", 0x11000000))))])
case("after: ulpdu length 0", frame(), then=[("fpdu of 0", fpdu(b""))])
case("after: ulpdu length 5", frame(), then=[("fpdu of 5", fpdu(b"\x41\x43abc"))])
case("after: Send with mo 4 first", frame(), then=[("send mo 4", fpdu(untagged(3, 0, 1, 4, info)))])
case("after: Send in two segments", frame(), then=[("both", fpdu(untagged(3, 0, 1, 0, info[:8], last=0)) + fpdu(untagged(3, 0, 1, 8, info[8:])))])
case("after: 10 bytes of an fpdu, then silence", frame(), then=[("part", fpdu(send)[:10]), ("rest", fpdu(send)[10:])])
# Good FPDUs in pieces: siw 6.1 fails if the cut is inside what follows the
# payload.
hello, good = frame(flags=C), fpdu(send, crc=True)
for cut in range(5):
    case(f"pieces: {cut} octets of the CRC", hello,
         then=[("front", good[:cut - 4 or None]), ("rest", good[cut - 4 or len(good):])])
for pad in (1, 2, 3):
    first = fpdu(untagged(3, 0, 1, 0, info[:-pad], last=0), crc=True)
    rest = fpdu(untagged(3, 0, 1, 16 - pad, info[-pad:]), crc=True)
    for cut in range(pad + 4):
        at = len(first) - 4 - pad + cut
        case(f"pieces: {cut} octets of {pad} of padding and the CRC", hello,
             then=[("front", first[:at]), ("rest", first[at:] + rest)])
for cut in (1, 15, 16, 17, 18, 19, 20):
    case(f"pieces: {cut} octets of a Send's header", hello, then=[("front", good[:cut]), ("rest", good[cut:])])
read = fpdu(untagged(1, 1, 1, 0, struct.pack(">IQIIQ", 1, 0, 0, 0, 0)), crc=True)
for cut in (16, 17, 40, 47, 48):
    case(f"pieces: {cut} octets of a Read Request's header", frame(rev=2, flags=S | C, pd=v2(16, 16)),
         then=[("front", read[:cut]), ("rest", read[cut:])])
case("fpdu with the request, before the reply", frame() + fpdu(send))
case("after: half-close", frame())
