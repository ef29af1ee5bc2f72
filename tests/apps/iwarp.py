# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""MPA, DDP and RDMAP as a second implementation, written from doc/spec, which
can also violate the protocol."""
import ctypes
import socket
import struct

# ---- CRC32c (mpa.md 4) ---------------------------------------------------

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)

try:
    _ISAL = ctypes.CDLL("libisal.so.2").crc32_iscsi
    _ISAL.argtypes = ctypes.c_char_p, ctypes.c_int, ctypes.c_uint
    _ISAL.restype = ctypes.c_uint
except (OSError, AttributeError):
    _ISAL = None


def crc32c(octets):
    crc = 0xFFFFFFFF
    if _ISAL:  # a hundred times as fast
        return _ISAL(bytes(octets), len(octets), crc) ^ 0xFFFFFFFF
    for octet in octets:
        crc = crc >> 8 ^ _TABLE[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283

# ---- MPA -----------------------------------------------------------------

REQUEST_KEY = b"MPA ID Req Frame"
REPLY_KEY = b"MPA ID Rep Frame"
FLAG_CRC, FLAG_REJECT, FLAG_ENHANCED = 0x40, 0x20, 0x10


def fpdu(ulpdu, bad_crc=False):
    head = struct.pack(">H", len(ulpdu)) + ulpdu
    head += bytes(-len(head) % 4)
    crc = crc32c(head) ^ (1 if bad_crc else 0)
    return head + struct.pack("<I", crc)


def request(private_data=b"", rev=1, flags=FLAG_CRC):
    return REQUEST_KEY + struct.pack(">BBH", flags, rev,
                                     len(private_data)) + private_data


# ---- DDP and RDMAP -------------------------------------------------------

(OP_WRITE, OP_READ_REQUEST, OP_READ_RESPONSE, OP_SEND, OP_SEND_INV,
 OP_SEND_SE, OP_SEND_SE_INV, OP_TERMINATE, OP_IMM, OP_IMM_SE) = range(10)


def tagged(opcode, stag, to, payload=b"", last=True, dv=1, rv=1):
    return struct.pack(">BBIQ", 0x80 | last << 6 | dv, rv << 6 | opcode,
                       stag, to) + payload


def untagged(opcode, payload=b"", qn=0, msn=1, mo=0, last=True, dv=1, rv=1,
             reserved=0):
    return struct.pack(">BBIIII", last << 6 | dv, rv << 6 | opcode, reserved,
                       qn, msn, mo) + payload


def write(stag, to, payload, **kwargs):
    return tagged(OP_WRITE, stag, to, payload, **kwargs)


def send(payload, msn=1, opcode=OP_SEND, **kwargs):
    return untagged(opcode, payload, msn=msn, **kwargs)


def read_request(src_stag, src_to, length, msn=1, sink_stag=0x01020304,
                 sink_to=0x1000, **kwargs):
    return untagged(OP_READ_REQUEST, struct.pack(
        ">IQIIQ", sink_stag, sink_to, length, src_stag, src_to), qn=1,
        msn=msn, **kwargs)


def header_of(ulpdu):
    """The DDP header of a segment."""
    return ulpdu[:14 if ulpdu[0] & 0x80 else 18]


def terminate(layer_type, code, cause=None, read_header=False):
    """The ULPDU of a Terminate (part 6): two octets of error, and, if there is
    a cause, its length, DDP header and RDMAP Read Request header."""
    flags, copied = 0, b""
    if cause is not None:
        flags = 0xC0
        copied = struct.pack(">H", len(cause)) + header_of(cause)
        if read_header:
            flags |= 0x20
            copied += cause[18:46]
    return untagged(OP_TERMINATE, struct.pack(">BBBB", layer_type, code,
                                              flags, 0) + copied, qn=2)


# ---- a connection --------------------------------------------------------

class Closed(Exception):
    """The other side ended the stream too early."""


class Peer:
    def __init__(self, port, timeout, host="127.0.0.1", rcvbuf=None):
        self.socket = socket.socket()
        if rcvbuf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                   rcvbuf)
        self.socket.settimeout(timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect((host, port))

    def put(self, octets):
        self.socket.sendall(octets)

    def get(self, length):
        octets = bytearray()
        while len(octets) < length:
            try:
                more = self.socket.recv(length - len(octets))
            except ConnectionResetError as e:
                raise Closed(f"reset after {bytes(octets).hex()}") from e
            if not more:
                raise Closed(f"end after {bytes(octets).hex()}")
            octets += more
        return bytes(octets)

    def start(self, private_data=b"", **kwargs):
        """Exchanges Request and Reply. Return: the Reply's flags, rev, private
        data."""
        self.put(request(private_data, **kwargs))
        frame = self.get(20)
        flags, rev, length = struct.unpack_from(">BBH", frame, 16)
        if frame[:16] != REPLY_KEY:
            raise Closed(f"no Reply frame: {frame.hex()}")
        return flags, rev, self.get(length)

    def get_ulpdu(self):
        """Reads one FPDU and verifies its CRC."""
        head = self.get(2)
        length = struct.unpack(">H", head)[0]
        rest = self.get(length + -(length + 2) % 4 + 4)
        crc = struct.unpack("<I", rest[-4:])[0]
        if crc32c(head + rest[:-4]) != crc:
            raise Closed("wrong CRC from the other side")
        return rest[:length]

    def is_closed(self):
        """Whether the stream ends, in order or not, without further octets,
        within the time limit."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.socket.close()
