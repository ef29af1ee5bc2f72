# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table of cases: the two sides, their network, their settings, and the
programs.

A case is data; interop.py runs it. "net" is user, tap (usiw on the host) or
guest (both stacks in one guest). "usiw" is the side that uses usiw; None: both
use siw.
"""
import itertools
import re

VERIFY_SIZES = (1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 511, 1000, 1426, 1427, 1428,
                1429, 1440, 1448, 1460, 4095, 4096, 4097, 16384, 32767, 32768,
                32769, 65535, 65536, 65537, 262144, 1048575, 1048576)
FEW_SIZES = (1, 64, 1429, 65537, 1048576)
PERF_SIZES = {"user": (1, 4096, 1048576),
              "tap": (1, 64, 4096, 65536, 1048576)}
PERFTESTS = ("ib_write_bw", "ib_read_bw", "ib_send_bw",
             "ib_write_lat", "ib_read_lat", "ib_send_lat")
# A guest is emulated, and the machine may have other work.
LIMIT = 4
# For development: one boot, a minute.
QUICK = [r"^user-(client|server)-(verify|rping-4096|ib_send_lat-1|"
         r"ib_(write|read|send)_bw-4096)$", "^guest-client-verify$"]
# siw 6.1 as built: the values of what set_siw() does not set
SIW = {"mpa_crc_required": 0, "mpa_crc_strict": 0, "peer_to_peer": 0,
       "mpa_version": 2}


class Case:
    def __init__(self, name, net, usiw, server, client, moved=0, siw=None,
                 env=None, log=None, starts=None, timeout=30,
                 server_codes=(0,), codes=(0,), table=None, pace=0):
        self.net, self.usiw = net, usiw
        self.name = f"{net}-{usiw or 'siw'}-{name}"
        self.server, self.client = server, client
        self.moved = moved  # payload octets that cross usiw, at least
        self.siw, self.env = dict(siw or {}), dict(env or {})
        self.log = log  # pattern that usiw's log must contain
        self.starts = starts  # None: by the settings; else a function
        self.timeout, self.server_codes = timeout * LIMIT, server_codes
        self.table = table  # perftest: (program, octets, iterations)
        self.codes = codes  # the client's
        self.pace = pace  # microseconds between connects, through QEMU
        self.repeats = 0  # for reasons that are neither side's fault

    # ---- what the wire must have ----

    def siw_has(self, name):
        return self.siw.get(name, SIW[name])

    def usiw_crc(self):
        crc = self.env.get("USIW_CRC", "on")
        if crc == "auto":  # there is none towards the host's own addresses
            return self.net == "tap"
        return crc == "on"

    def expected(self):
        """(Request, Reply) as dicts of wire.Start's attributes."""
        if self.usiw == "client":
            rev = int(self.env.get("USIW_MPA_REV", "2"))
            crc = self.usiw_crc()
            p2p = rev == 2 and self.env.get("USIW_RTR", "on") == "on"
        else:
            rev = self.siw_has("mpa_version")
            crc = bool(self.siw_has("mpa_crc_required"))
            p2p = rev == 2 and bool(self.siw_has("peer_to_peer"))
        request = {"rev": rev, "crc": crc, "enhanced": rev == 2, "p2p": p2p,
                   "markers": False}
        reply = dict(request, rejected=False)
        if self.usiw == "server":  # MPA-24; siw's Reply echoes
            reply["crc"] = crc or self.usiw_crc()
        return request, reply


class Script:
    """One command in the guest; its output says what is wrong."""

    def __init__(self, name, command, timeout=100):
        self.net, self.usiw, self.name = "guest", None, f"guest-siw-{name}"
        self.command, self.timeout = command, timeout * LIMIT
        self.siw, self.repeats = {}, 0


# ---- programs --------------------------------------------------------------

def verify(net, usiw, name, options=(), sizes=FEW_SIZES, connections=1,
           server_options=(), client_options=(), **kwargs):
    words = ["VERIFY", "-p", "PORT", "-n", connections, "-S",
             ",".join(map(str, sizes)), *options]
    quiet = "-x" in words or "-b" in words
    return Case(name, net, usiw, words + ["-s", *server_options],
                words + ["-c", "ADDRESS", *client_options],
                moved=0 if quiet else 6 * sum(sizes) * connections, **kwargs)


def rping(net, usiw, size, count, name=None, **kwargs):
    words = ["rping", "-V", "-C", count, "-S", size, "-p", "PORT"]
    # The server reports an error of its own at a disconnect.
    return Case(name or f"rping-{size}", net, usiw, words + ["-s"],
                words + ["-c", "-a", "ADDRESS"], moved=2 * size * count,
                server_codes=None, **kwargs)


def ucmatose(net, usiw, count, name, **kwargs):
    words = ["ucmatose", "-p", "PORT", "-c", count, "-C", 10, "-S", 1000]
    return Case(name, net, usiw, words, words + ["-s", "ADDRESS"],
                moved=2 * count * 10 * 1000, **kwargs)


def perf(net, usiw, program, size, **kwargs):
    count = 20 if size > (4096 if "lat" in program else 65536) else 200
    kwargs.setdefault("timeout", 60)
    if program == "ib_write_lat" and usiw == "server":
        # Its server sends first. RFC 5044 forbids that unless both sides
        # agree.
        kwargs.setdefault("siw", {"peer_to_peer": 1})
    words = [program, "-R", "-F", "-p", "PORT", "-s", size, "-n", count]
    return Case(f"{program}-{size}", net, usiw, words, words + ["ADDRESS"],
                moved=size * count, table=(program, size, count), **kwargs)


def sdp_links(net, usiw, carrier, **kwargs):
    """All of link_cases.c: two ends of SDP connections by rdma_cm."""
    words = ["env", "USIW_SDP_SCALE=50", "SDP_LINKS", "all", carrier]
    kwargs.setdefault("timeout", 300)
    return Case(f"sdp-links-{carrier}", net, usiw,
                words + ["listen", "0.0.0.0", "PORT"],
                words + ["connect", "ADDRESS", "PORT"], moved=1_000_000,
                **kwargs)


# ---- expectations that are not "both agree" ---------------------------------

def refused_once(starts):
    """One Request, one Reply that rejects."""
    return len(starts) == 2 and starts[1].is_reply and starts[1].rejected


def unanswered(starts):
    return [s.is_reply for s in starts] == [False]


def second_try_is_rev_1(starts):
    """Request 2 unanswered, Request 1, Reply 1."""
    return [(s.is_reply, s.rev) for s in starts] == \
        [(False, 2), (False, 1), (True, 1)]


# ---- the table ----------------------------------------------------------------

SIDES = ("client", "server")


def programs(net):
    """Every program once with the default settings."""
    for usiw in SIDES:
        yield verify(net, usiw, "verify", sizes=VERIFY_SIZES, timeout=120)
        for size, count in ((64, 200), (4096, 100), (65000, 50)):
            yield rping(net, usiw, size, count)
        for program, size in itertools.product(PERFTESTS, PERF_SIZES[net]):
            yield perf(net, usiw, program, size)
        yield verify(net, usiw, "100-connects", sizes=(64,), connections=100,
                     timeout=120)
    yield ucmatose(net, "client", 10, "ucmatose")
    yield ucmatose(net, "client", 25, "ucmatose-25", timeout=60, pace=20_000)
    # Its server sends first. RFC 5044 allows that only after the Request's
    # side has sent. With peer_to_peer siw takes care of it, not the program.
    for count in (10, 25):
        yield ucmatose(net, "server", count, f"ucmatose-p2p-{count}",
                       siw={"peer_to_peer": 1}, timeout=60)


def settings(net):
    """Each setting of one side with each setting of the other."""
    for usiw, crc, required, p2p, rev in itertools.product(
            SIDES, ("on", "off", "auto"), (0, 1), (0, 1), (1, 2)):
        if crc == "auto" and (p2p, rev) != (0, 2):
            continue
        env = {"USIW_CRC": crc}
        siw = {"mpa_crc_required": required, "peer_to_peer": p2p}
        if usiw == "client":
            env["USIW_MPA_REV"] = str(rev)
        else:
            siw["mpa_version"] = rev
        name = f"crc-{crc}-siw-{required}-p2p-{p2p}-rev-{rev}"
        # -r: revision 1 has no depths; siw's listener gets 0
        yield verify(net, usiw, f"verify-{name}", ("-r", 4), siw=siw, env=env)
        if rev == 2:
            yield rping(net, usiw, 5000, 20, name=f"rping-{name}", siw=siw,
                        env=env)
    # usiw does not offer a ready-to-receive message
    yield verify(net, "client", "verify-no-rtr", env={"USIW_RTR": "off"})
    # siw does not try revision 1 if the peer does not support revision 2
    yield Case("usiw-rev-1", net, "server",
               ["VERIFY", "-p", "PORT", "-S", 64, "-s"],
               ["VERIFY", "-p", "PORT", "-S", 64, "-c", "ADDRESS"],
               env={"USIW_MPA_REV": "1", "USIW_LOG": "info"}, codes=(1,),
               server_codes="killed", starts=unanswered,
               log=r"invalid Request")
    for setting in ("try_gso", "siw_tcp_nagle"):
        for usiw in SIDES:
            yield verify(net, usiw, f"verify-{setting}", siw={setting: 1})
    for usiw in SIDES:
        yield verify(net, usiw, "verify-no-zcopy", siw={"zcopy_tx": 0})


def corners(net):
    info = {"USIW_LOG": "info"}
    for usiw in SIDES:
        # siw 6.1 counts its private data, with the four octets of revision 2,
        # in one octet. It would announce none if there are 252.
        for octets in (1, 196, 251):
            yield verify(net, usiw, f"private-data-{octets}", ("-d", octets))
        yield verify(net, usiw, "rejects", ("-x", "-d", 100),
                     starts=refused_once)
        yield verify(net, usiw, "wrong-stag", ("-b",), env=info,
                     sizes=(64,),
                     log=(r"TERMINATE .*from the peer" if usiw == "client"
                          else r"refused|broke the protocol"))
        yield verify(net, usiw, "strict-crc-off", env={"USIW_CRC": "off"},
                     siw={"mpa_crc_strict": 1})
    # siw accepts 256 octets, and revision 2 of usiw has 4 of its own.
    yield verify(net, "client", "private-data-255", ("-d", 255, "-r", 4),
                 env=info, starts=second_try_is_rev_1,
                 log=r"trying revision 1; Linux's siw takes 256 octets")
    # siw that refuses CRC, and usiw that requires it: a plain rejection
    yield Case("strict-crc-on", net, "client",
               ["VERIFY", "-p", "PORT", "-S", 64, "-s"],
               ["VERIFY", "-p", "PORT", "-S", 64, "-x", "-c", "ADDRESS"],
               siw={"mpa_crc_strict": 1}, env=info, server_codes="killed",
               starts=refused_once, log=r"[Rr]eject")
    # siw sends directly after its Reply, against the RFC; usiw accepts it
    yield verify(net, "client", "responder-first", ("-f",))
    yield verify(net, "client", "responder-first-no-rtr", ("-f",),
                 env={"USIW_RTR": "off"})
    # usiw does not, whatever the application posts; an application that waits
    # forever gets the reason in the log
    yield Case("server-first-is-named", net, "server",
               ["VERIFY", "-p", "PORT", "-S", 64, "-f", "-s"],
               ["VERIFY", "-p", "PORT", "-S", 64, "-f", "-c", "ADDRESS"],
               env=dict(info, USIW_START_MS="2000"), codes=(1,),
               server_codes=(1,), log=r"the side that accepted may not send")
    yield verify(net, "server", "responder-holds-back", ("-f", "-q", 400))
    yield verify(net, "server", "responder-first-p2p", ("-f",),
                 siw={"peer_to_peer": 1})


def both_in_guest():
    for usiw in SIDES:
        yield verify("guest", usiw, "verify", sizes=VERIFY_SIZES, timeout=180)
        yield verify("guest", usiw, "verify-crc-off",
                     env={"USIW_CRC": "off"})
        yield rping("guest", usiw, 65000, 50)
        yield verify("guest", usiw, "100-connects", sizes=(64,),
                     connections=100, timeout=180)
        for program in PERFTESTS:
            yield perf("guest", usiw, program, 65536, timeout=90)


def sdp():
    """siw cannot start if something follows directly after an MPA Reply.
    Therefore HelloAck is private data, unless there is an RTR."""
    for usiw in (None, *SIDES):
        yield sdp_links("guest", usiw, "cm-priv")
    yield sdp_links("guest", "server", "cm-port")
    yield sdp_links("tap", "server", "cm-port")
    for usiw in SIDES:
        yield sdp_links("tap", usiw, "cm-priv")
        yield sdp_links("tap", usiw, "cm-send", siw={"peer_to_peer": 1})
    yield sdp_links("guest", None, "cm-send", siw={"peer_to_peer": 1})
    yield sdp_links("tap", "client", "request")
    for server, client in (("siw", "siw"), ("usiw", "siw"), ("siw", "usiw")):
        yield Script(f"sdp-sockets-{server}-{client}", [
            "python3", "/host/sockets.py", server, client, "ADDRESS",
            "PORT"], timeout=300)


def table():
    found = [*programs("user"), *both_in_guest(), *programs("tap"),
             *settings("tap"), *corners("tap"), *corners("user"), *sdp()]
    found += [c for c in settings("user")
              if re.search(r"verify-crc-o(n|ff)-siw-.-p2p-0-rev-2", c.name)]
    names = [c.name for c in found]
    assert len(set(names)) == len(names)
    return found
