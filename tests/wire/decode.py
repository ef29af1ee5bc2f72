# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A second, deliberately simple decoder of MPA, DDP and RDMAP.

It reads whole streams, keeps no state across calls and need not be fast. It
was written from the RFCs and the choices in doc/spec, not from the engine. Its
result for a connection is a list of lines for each receiving side, "R"
(Responder, receives what the Initiator sent) and "I", in the format of
replay.c.
"""
import struct

REQUEST_KEY, REPLY_KEY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
M, C, R, S = 0x80, 0x40, 0x20, 0x10
RTR_SEND, RTR_WRITE, RTR_READ = 1, 2, 4
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, \
    TERMINATE = range(8)
QUEUE_OF = {SEND: 0, SEND_INV: 0, SEND_SE: 0, SEND_SE_INV: 0,
            READ_REQUEST: 1, TERMINATE: 2}
MULPDU_MAX = 64768
PLAIN_MAX = 65486  # without markers: one TCP segment at most
PRIVATE_MAX = 512


class Fault(Exception):
    """The sender broke the protocol; args[0] is the error as in a
    Terminate."""


class NeedMore(Exception):
    """The stream ends inside a frame."""


def make_crc_table():
    table = []
    for octet in range(256):
        for _ in range(8):
            octet = octet >> 1 ^ (0x82f63b78 if octet & 1 else 0)
        table.append(octet)
    return table


CRC_TABLE = make_crc_table()


def crc32c(octets):
    crc = 0xffffffff
    for octet in octets:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ octet) & 0xff]
    return crc ^ 0xffffffff


def fnv(octets):
    """FNV-1a, 32 bits: a payload as one word of a line."""
    value = 0x811c9dc5
    for octet in octets:
        value = (value ^ octet) * 0x01000193 & 0xffffffff
    return value


class Start:
    """A start frame."""

    def __init__(self, octets, key):
        if octets[:16] != key[:len(octets)]:
            raise Fault(0x2004)
        if len(octets) < 20:
            raise NeedMore
        self.flags, self.rev, size = struct.unpack(">BBH", octets[16:20])
        if size > PRIVATE_MAX:
            raise Fault(0x2004)
        self.is_enhanced = self.rev == 2 and bool(self.flags & S)
        if self.is_enhanced and size < 4:
            raise Fault(0x2004)
        if len(octets) < 20 + size:
            raise NeedMore
        self.size = 20 + size
        self.octets = octets[:self.size]
        self.pd = octets[20:self.size]
        self.ird = self.ord = self.rtr = 0
        if self.is_enhanced:
            ird, ord_ = struct.unpack(">HH", self.pd[:4])
            self.pd = self.pd[4:]
            self.ird, self.ord = ird & 0x3fff, ord_ & 0x3fff
            if ird & 0x8000:
                self.rtr = (RTR_SEND if ird & 0x4000 else 0) | \
                    (RTR_WRITE if ord_ & 0x8000 else 0) | \
                    (RTR_READ if ord_ & 0x4000 else 0)
            self.is_peer_to_peer = bool(ird & 0x8000)
        else:
            self.is_peer_to_peer = False

    def has(self, flag):
        return bool(self.flags & flag)

    def is_plain(self):
        """True if a sender that follows the RFCs could have sent this, apart
        from siw's own flag 0x08."""
        allowed = M | C | 0x08 | (S if self.rev == 2 else 0)
        return self.rev in (1, 2) and not self.flags & ~allowed and \
            self.is_enhanced == (self.rev == 2) and \
            self.is_peer_to_peer == bool(self.rtr)


class Sender:
    """All that one side sent, and the state of its half."""

    def __init__(self):
        self.octets = b""
        self.has_fin = False


def senders(connection):
    found = {True: Sender(), False: Sender()}
    for kind, is_active, octets in connection.steps:
        side = found[is_active]
        if kind == "rst":
            break
        if kind == "fin":
            side.has_fin = True
        side.octets += octets
    return found[True], found[False]


def text_pd(pd):
    return pd.hex() or "-"


def fpdu(octets, at, has_crc):
    """(ULPDU, offset after the FPDU)."""
    if len(octets) - at < 2:
        raise NeedMore
    size = struct.unpack_from(">H", octets, at)[0]
    if size > PLAIN_MAX:
        raise Fault(0x2003)
    covered = (2 + size + 3) // 4 * 4
    if len(octets) - at < covered + 4:
        raise NeedMore
    crc = struct.unpack_from("<I", octets, at + covered)[0]
    if has_crc and crc != crc32c(octets[at:at + covered]):
        raise Fault(0x2002)
    return octets[at + 2:at + 2 + size], at + covered + 4


def marked_fpdu(octets, at, has_crc):
    """The same in a half with markers. There is one wherever the offset from
    the start of the first FPDU is a multiple of 512. It points back to the
    ULPDU_Length of the FPDU that contains it, or is 0 if it is in front of
    one. The CRC covers the markers inside of an FPDU. A marker after the CRC
    belongs to the next FPDU."""
    begin, size, length_at, body = at, 2, None, b""
    while True:
        if at % 512 == 0:
            if len(octets) - at < 4:
                raise NeedMore
            pointer = struct.unpack_from(">H", octets, at + 2)[0]
            if pointer != (0 if length_at is None else at - length_at):
                raise Fault(0x2003)
            at += 4
        if len(body) == size:
            break
        if length_at is None:
            length_at = at
        piece = min(size - len(body), 512 - at % 512)
        if len(octets) - at < piece:
            raise NeedMore
        body += octets[at:at + piece]
        at += piece
        if size == 2 and len(body) == 2:
            length = struct.unpack(">H", body)[0]
            if length > MULPDU_MAX:
                raise Fault(0x2003)
            size = (2 + length + 3) // 4 * 4
    if len(octets) - at < 4:
        raise NeedMore
    crc = struct.unpack_from("<I", octets, at)[0]
    if has_crc and crc != crc32c(octets[begin:at]):
        raise Fault(0x2002)
    return body[2:2 + length], at + 4


class Untagged:
    """The state of each queue."""

    def __init__(self):
        self.msn = [1, 1, 1, 1]  # RFC 7306 has added queue 3
        self.mo = [0, 0, 0, 0]
        self.opcode = None  # of the unfinished Send

    def check(self, opcode, qn, msn, mo):
        if qn > 3:
            raise Fault(0x1201)
        if msn != self.msn[qn]:
            raise Fault(0x1203)
        if mo != self.mo[qn]:
            raise Fault(0x1204)

    def advance(self, qn, is_last, size):
        self.mo[qn] = 0 if is_last else self.mo[qn] + size
        self.msn[qn] += is_last


def check_opcode(control, is_tagged):
    if control >> 6 != 1:
        raise Fault(0x0205)
    opcode = control & 15
    if opcode not in QUEUE_OF and opcode not in (WRITE, READ_RESPONSE):
        raise Fault(0x0206)
    if is_tagged != (opcode in (WRITE, READ_RESPONSE)):
        raise Fault(0x0206)
    return opcode


def tagged(ulpdu, rtr, lines):
    if len(ulpdu) < 14:
        raise Fault(0x2003)
    if ulpdu[0] & 3 != 1:
        raise Fault(0x1104)
    opcode = check_opcode(ulpdu[1], True)
    stag, to = struct.unpack_from(">IQ", ulpdu, 2)
    payload, is_last = ulpdu[14:], ulpdu[0] >> 6 & 1
    if not payload and opcode == WRITE and rtr & RTR_WRITE:
        return
    if payload:
        lines.append(f"segment op={opcode} last={is_last} stag={stag:08x} "
                     f"to={to:016x} len={len(payload)} "
                     f"fnv={fnv(payload):08x}")
    if is_last:
        lines.append(f"message op={opcode} len={len(payload)} "
                     f"stag={stag:08x} to={to:016x}")


def send(opcode, head, payload, is_last, queues, lines):
    inv, _, msn, mo = head
    if queues.opcode not in (None, opcode):
        raise Fault(0x0206)
    queues.opcode = None if is_last else opcode
    lines.append(f"segment op={opcode} last={is_last} qn=0 msn={msn} mo={mo} "
                 f"len={len(payload)} fnv={fnv(payload):08x}")
    if is_last:
        if opcode not in (SEND_INV, SEND_SE_INV):
            inv = 0
        lines.append(f"message op={opcode} len={mo + len(payload)} msn={msn} "
                     f"inv={inv:08x}")


def untagged(ulpdu, rtr, queues, lines):
    """True: the stream has ended."""
    if len(ulpdu) < 18:
        raise Fault(0x2003)
    if ulpdu[0] & 3 != 1:
        raise Fault(0x1206)
    head = struct.unpack_from(">IIII", ulpdu, 2)
    _, qn, msn, mo = head
    payload, is_last = ulpdu[18:], ulpdu[0] >> 6 & 1
    queues.check(ulpdu[1], qn, msn, mo)
    opcode = check_opcode(ulpdu[1], False)
    if QUEUE_OF[opcode] != qn:
        raise Fault(0x0206)
    queues.advance(qn, is_last, len(payload))
    if qn == 0:
        if rtr & RTR_SEND and opcode == SEND and not payload and is_last:
            return False
        send(opcode, head, payload, is_last, queues, lines)
        return False
    if opcode == READ_REQUEST:
        if not is_last or len(payload) > 28:
            raise Fault(0x1205)
        if len(payload) < 28:
            raise Fault(0x02ff)
        sink, sink_to, size, source, source_to = \
            struct.unpack(">IQIIQ", payload)
        if rtr & RTR_READ and size == 0:
            return False
        lines.append(f"read sink={sink:08x}:{sink_to:016x} len={size} "
                     f"source={source:08x}:{source_to:016x} msn={msn}")
        return False
    lines.append(f"terminate {struct.unpack('>H', payload[:2])[0]:04x}")
    return True


def fpdus(octets, has_crc, has_markers):
    """(ULPDU, offset of the FPDU, offset after it) of one direction."""
    at = 0
    while at < len(octets):
        begin = at
        # A single marker before the end belongs to no FPDU.
        if has_markers and at % 512 == 0 and octets[at:] == bytes(4):
            return
        ulpdu, at = (marked_fpdu if has_markers else fpdu)(octets, at,
                                                           has_crc)
        yield ulpdu, begin, at


def rdma(octets, has_fin, has_crc, has_markers, rtr, lines):
    """The contents of the FPDUs. @rtr: kinds that the first one may be."""
    queues = Untagged()
    for ulpdu, _, _ in fpdus(octets, has_crc, has_markers):
        if len(ulpdu) < 2:
            raise Fault(0x2003)
        if ulpdu[0] & 0x80:
            tagged(ulpdu, rtr, lines)
        elif untagged(ulpdu, rtr, queues, lines):
            return
        rtr = 0
    if has_fin:
        lines.append("closed")


def guarded(function, has_fin, lines, *args):
    """Its result, or None if the stream breaks; lines then have the reason."""
    try:
        return function(*args)
    except Fault as e:
        lines.append(f"fault {e.args[0]:04x} truncated=0")
    except NeedMore:
        if has_fin:
            lines.append("fault 2001 truncated=1")
    return None


def request_of(octets):
    frame = Start(octets, REQUEST_KEY)
    if frame.rev not in (1, 2):
        raise Fault(0x2004)
    return frame


def reply_of(octets, request):
    frame = Start(octets, REPLY_KEY)
    if frame.rev not in (1, 2):
        raise Fault(0x2004)
    if frame.has(R):
        return frame
    if request is None:
        raise ValueError("a good Reply to a Request that cannot be read")
    if frame.is_enhanced != request.is_enhanced:
        raise Fault(0x2004)
    if request.rtr and frame.is_enhanced and not frame.rtr & request.rtr:
        raise Fault(0x2007)
    return frame


def established(request, reply, markers):
    return (f"established crc={int(request.has(C) or reply.has(C))} "
            f"markers={markers} "
            f"rtr={int(bool(request.rtr & reply.rtr))}")


def responder(initiator, request, reply, lines):
    """What the Responder receives."""
    lines.append(f"request rev={request.rev} "
                 f"enhanced={int(request.is_enhanced)} ird={request.ird} "
                 f"ord={request.ord} pd={text_pd(request.pd)}")
    if reply is None:
        return
    if reply.has(R):
        if initiator.has_fin:
            lines.append("closed")
        return
    markers = f"{int(reply.has(M))}{int(request.has(M))}"
    lines.append(established(request, reply, markers))
    guarded(rdma, initiator.has_fin, lines, initiator.octets[request.size:],
            initiator.has_fin, request.has(C) or reply.has(C), reply.has(M),
            request.rtr & reply.rtr, lines)


def initiator(sender, request, reply, lines):
    """What the Initiator receives. @sender: the Responder's half."""
    if reply.has(R):
        lines.append(f"rejected ird={reply.ird} ord={reply.ord} "
                     f"pd={text_pd(reply.pd)}")
        if sender.has_fin:
            lines.append("closed")
        return
    markers = f"{int(request.has(M))}{int(reply.has(M))}"
    lines.append(established(request, reply, markers) +
                 f" pd={text_pd(reply.pd)}")
    # siw does not wait for the Initiator's first FPDU (MPA-134). What it sends
    # is accepted nevertheless.
    guarded(rdma, sender.has_fin, lines, sender.octets[reply.size:],
            sender.has_fin, request.has(C) or reply.has(C), request.has(M), 0,
            lines)


class Story:
    """A decoded connection: both start frames as sent (None if unreadable),
    and the lines of each receiving side."""

    def __init__(self, connection):
        self.active, self.passive = senders(connection)
        self.lines = {"R": [], "I": []}
        self.request = self.frame(self.active, REQUEST_KEY)
        self.reply = self.frame(self.passive, REPLY_KEY)
        good = guarded(request_of, self.active.has_fin, self.lines["R"],
                       self.active.octets)
        if good:
            responder(self.active, good, self.reply, self.lines["R"])
        self.check_reply()

    @staticmethod
    def frame(sender, key):
        try:
            return Start(sender.octets, key)
        except (Fault, NeedMore):
            return None

    def check_reply(self):
        lines = self.lines["I"]
        if not self.passive.octets:
            if self.passive.has_fin:
                lines.append("fault 2001 truncated=0")
            return
        reply = guarded(reply_of, self.passive.has_fin, lines,
                        self.passive.octets, self.request)
        if reply:
            initiator(self.passive, self.request, reply, lines)
