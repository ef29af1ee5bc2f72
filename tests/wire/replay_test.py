#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""replay_test.py REPLAY DIRECTORY: captures of kernel siw, replayed.

Every connection of every capture is replayed to two engines (replay.c): as it
was cut on the wire, octet by octet, in random pieces, and with payload that
goes directly to its sink. Their output must be the same, line by line, as that
of a second decoder (decode.py) for the capture. The start frames that they
make must be the octets that siw sent.
"""
import difflib
import glob
import os
import subprocess
import sys

import decode
import pcap

# Largest piece (0: as captured), seed, least length to go directly to a sink.
CUTS = ((0, 0, 0), (1, 0, 0), (97, 1, 64), (3000, 2, 64), (0, 0, 64))
# siw's own flag: "FPDUs may be longer than a segment".
SIW_GSO = 0x08
# Not two kernels, but a script that broke the rules on purpose.
PROBE = "mpa-probe.pcap"
# What a file must contain at least, so that the captures prove something:
# (file, side, a line that begins so, how often).
KNOWN = (
    ("rping-3.pcap", "R", "message op=3", 6),
    ("rping-3.pcap", "I", "read ", 3),
    ("rping-65535.pcap", "I", "segment op=0", 2),
    ("rping-3-p2p.pcap", "R", "established crc=0 markers=00 rtr=1", 1),
    ("rping-3-crc-required.pcap", "I", "established crc=1", 1),
    ("ib_read_bw-8192-mtu1500.pcap", "I", "segment op=2", 30),
    # README: siw reset the connection because Sends followed the Reply at
    # once. Our Initiator accepts them.
    ("ucmatose.pcap", "I", "message op=3", 10),
    ("ucmatose.pcap", "R", "message", 0),
    # README: the server cannot read with ORD 0 and closes.
    ("rping-3-mpa1.pcap", "R", "request rev=1", 1),
    ("rping-3-mpa1.pcap", "R", "message op=3", 1),
    ("rping-3-mpa1.pcap", "I", "read", 0),
    ("mpa-probe.pcap", "R", "fault 2004", 6),
    ("mpa-probe.pcap", "R", "fault 2002", 1),
    ("mpa-probe.pcap", "I", "terminate", 10),
)


def switch(value):
    return str(int(bool(value)))


def options(role, rev, frame):
    """The options that make an engine send a frame like this one."""
    words = [role, rev, switch(not frame.has(decode.C)),
             switch(frame.has(decode.M)), frame.rtr, frame.ird, frame.ord]
    return " ".join(map(str, words))


class Script:
    """A connection as commands to replay.c."""

    def __init__(self, connection, story):
        self.story = story
        self.lines = []
        request, reply = story.request, story.reply
        if request:
            self.lines.append(options(
                "initiator", 2 if request.is_enhanced else 1, request) +
                " " + decode.text_pd(request.pd))
        else:
            self.lines.append("initiator 2 0 0 0 0 0 -")
        self.lines.append(options("responder", 2, reply) if reply
                          else "responder 2 0 0 0 0 0")
        self.reply, self.request = reply, request
        self.add_steps(connection)

    def add_steps(self, connection):
        sent = {True: 0, False: 0}
        start = {True: self.request, False: self.reply}
        for kind, is_active, octets in connection.steps:
            to = "R" if is_active else "I"
            if kind == "rst":
                break
            if kind == "fin":
                self.lines.append(f"fin {to}")
                continue
            if not is_active and not sent[False]:
                self.add_answer()
            sent[is_active] += len(octets)
            frame = start[is_active]
            if frame and sent[is_active] > frame.size:
                self.lines.append(f"send {'I' if is_active else 'R'}")
            self.lines.append(f"data {to} {octets.hex()}")

    def add_answer(self):
        reply = self.reply
        if not reply:
            return
        pd = decode.text_pd(reply.pd)
        if reply.has(decode.R):
            self.lines.append(f"reject {pd}")
        else:
            self.lines.append(f"accept {reply.ird} {reply.ord} {pd}")

    def text(self, cut):
        return "\n".join(["cut %d %d %d" % cut, *self.lines, "end"]) + "\n"


def without_gso(octets):
    return octets[:16] + bytes([octets[16] & ~SIW_GSO]) + octets[17:]


def check_starts(script, is_probe, printed):
    """Compares the frames of our engines with siw's."""
    found = []
    for what, frame in (("request", script.request),
                        ("reply", script.reply)):
        if not frame or not frame.is_plain() or \
                (what == "reply" and is_probe):
            continue
        wanted = f"{what} {without_gso(frame.octets).hex()}"
        if wanted not in printed:
            ours = [l for l in printed if l.startswith(what)]
            found.append(f"siw sent {wanted}, we {ours}")
    return found


def replay(program, texts):
    """The lines of each text, from one process."""
    done = subprocess.run([program], input="".join(texts), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    parts = [part.split("\n") for part in ("\n" + done.stdout).split("\nend\n")]
    rest = parts.pop()
    if done.returncode or rest != [""] or len(parts) != len(texts):
        parts.append(rest + [f"replay ended with {done.returncode}"])
    return parts + [["replay has said nothing"]] * (len(texts) - len(parts))


def check_replay(script, cut, printed, is_probe):
    """Complaints about one replay of a connection."""
    found = []
    for side in ("R", "I"):
        wanted = script.story.lines[side]
        ours = [l[2:] for l in printed if l.startswith(side + " ")]
        if ours != wanted:
            found.append(f"cut {cut}, side {side}:\n" + "\n".join(
                difflib.unified_diff(wanted, ours, "decoder", "engine",
                                     lineterm="")))
    found += check_starts(script, is_probe, printed)
    return found + [l for l in printed if l.startswith("replay")]


def check_file(program, path):
    """Complaints, and the lines that were expected, by side."""
    name = os.path.basename(path)
    scripts = [Script(connection, decode.Story(connection))
               for connection in pcap.connections(path)]
    runs = [(number, script, cut) for number, script in enumerate(scripts)
            for cut in CUTS]
    printed = replay(program, [script.text(cut) for _, script, cut in runs])
    found = [f"connection {number}: {complaint}"
             for (number, script, cut), lines in zip(runs, printed, strict=True)
             for complaint in check_replay(script, cut, lines, name == PROBE)]
    lines = {side: [line for script in scripts
                    for line in script.story.lines[side]]
             for side in ("R", "I")}
    return found + check_known(name, lines), lines


def check_known(name, lines):
    found = []
    for file, side, text, count in KNOWN:
        if file != name:
            continue
        have = sum(l.startswith(text) for l in lines[side])
        if have < count or (count == 0 and have):
            found.append(f"{side} '{text}' {have} times, not {count}")
    return found


def main():
    program, directory = sys.argv[1:3]
    files = sorted(glob.glob(os.path.join(directory, "*.pcap")))
    failed, total = [], 0
    for path in files:
        name = os.path.basename(path)
        found, lines = check_file(program, path)
        count = len(lines["R"]) + len(lines["I"])
        total += count
        if not count:
            found.append("no line")
        print(f"{'FAILED' if found else 'ok'} {name}: {count} lines")
        for text in found:
            print("  " + text.replace("\n", "\n  "))
        failed += [name] if found else []
    missing = {k[0] for k in KNOWN} - {os.path.basename(f) for f in files}
    print(f"{len(files)} captures, {total} lines x {len(CUTS)} cuts, "
          f"{len(failed)} failed")
    if missing:
        print(f"missing: {' '.join(sorted(missing))}")
    return 1 if failed or missing or not files else 0


if __name__ == "__main__":
    sys.exit(main())
