# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A guest of the kernel lab, the programs in it, and its siw."""
import base64
import contextlib
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "..", "..", "kernel-lab")
sys.path.insert(0, os.path.join(HERE, "..", "..", "apps"))

import harness  # noqa: E402
from harness import Failure, Skip, Test, check, wait_until  # noqa: E402

BOOT_SECONDS = 300
LIFE_SECONDS = 7200
# QEMU listens on the first on the host's side; the others are for usiw there.
PORTS = range(20001, 20061)
HOST_SHIFT = 100
# Packages that the image lacks.
LIBRARIES = {"LD_LIBRARY_PATH": "/host/lib:/host/lib/foreign"}
PLAIN = {}  # siw as it is; other settings need siw-tunable


class Guest:
    """Booted on entry.  kind: "user" (QEMU's network), "tap" or "roce" (a tap,
    too)."""

    HOST = {"user": "10.0.2.2", "tap": "10.9.0.1", "roce": "10.9.0.1"}
    SELF = {"user": "10.0.2.15", "tap": "10.9.0.2", "roce": "10.9.0.2"}
    DEVICE = {"user": "eth0", "tap": "eth1", "roce": "eth1"}

    def __init__(self, kind, directory):
        self.kind = kind
        self.directory = directory
        self.share = os.path.join(directory, "share")
        self.device, self.host_address = self.DEVICE[kind], self.HOST[kind]
        self.own_address = self.SELF[kind]
        self.siw = None
        self.link = self.lab = None
        self.ports = iter(())
        self.is_spoiled = False  # its siw will not recover

    def __enter__(self):
        shutil.copytree(os.path.join(HERE), self.share)
        shutil.copytree(os.path.join(harness.BUILD, "lib"),
                        os.path.join(self.share, "lib"), symlinks=True,
                        ignore=shutil.ignore_patterns("*.a"))
        os.mkdir(os.path.join(self.share, "bin"))
        for name in ("usiw", "interop-verify", "ud-verify", "sdp-link-cases",
                     "sdpstat"):
            shutil.copy(os.path.join(harness.BUILD, "bin", name),
                        os.path.join(self.share, "bin"))
        copy_foreign_libraries(os.path.join(self.share, "lib"))
        listener = socket.create_server(
            ("127.0.0.1" if self.kind == "user" else self.host_address, 0))
        port = listener.getsockname()[1]
        words = ["nice", "-n", "10", os.path.join(LAB, "run"), "-s",
                 self.share, "-t", str(LIFE_SECONDS), "-L",
                 os.path.join(self.directory, "console")]
        if self.kind == "user":
            for p in PORTS:
                words += ["-p", f"{p}:{p}"]
        else:
            words += ["-T", f"tap0={self.own_address}/24"]
        words += ["--", "python3", "/host/agent.py", self.host_address,
                  str(port)]
        self.output = open(os.path.join(self.directory, "lab"), "wb")
        self.lab = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                    stdout=self.output,
                                    stderr=subprocess.STDOUT)
        listener.settimeout(1)
        wait_until(lambda: self.take(listener), BOOT_SECONDS,
                   "the guest to boot")
        listener.close()
        return self

    def take(self, listener):
        check(self.lab.poll() is None, f"the guest ended: {self.story()}")
        try:
            self.link, _ = listener.accept()
        except TimeoutError:
            return False
        self.link.settimeout(1000)
        self.lines = self.link.makefile("rw")
        return True

    def story(self):
        with open(os.path.join(self.directory, "lab"), errors="replace") as f:
            return f.read()[-3000:]

    def __exit__(self, *_):
        if self.link:
            # What was not sent fails again here, and would hide the error that
            # a caller gets from ask().
            with contextlib.suppress(OSError):
                self.lines.close()
            self.link.close()
        try:
            self.lab.wait(30)
        except subprocess.TimeoutExpired:
            self.lab.terminate()
            self.lab.wait()
        self.output.close()

    def ask(self, op, **words):
        try:
            self.lines.write(json.dumps({"op": op, **words}) + "\n")
            self.lines.flush()
            line = self.lines.readline()
        except (OSError, ValueError) as e:
            self.is_spoiled = True
            raise Failure(f"the guest does not answer: {e}") from None
        self.is_spoiled |= not line or "unkillable" in line
        check(line, f"the guest has gone: {self.story()}")
        answer = json.loads(line)
        check("error" not in answer, f"agent: {answer.get('error')}")
        return answer

    def shell(self, script, timeout=30):
        answer = self.ask("run", argv=["bash", "-c", script], timeout=timeout)
        check(answer["code"] == 0, f"guest: {script}: {answer['text']}")
        return answer["text"]

    def clear_kernel_log(self):
        self.shell("dmesg -C")

    def kernel_log(self):
        """The kernel's messages since the last call, or the reason why there
        are none."""
        try:
            return self.shell("dmesg")
        except Failure as e:
            return f"({e})\n"

    def next_port(self):
        """Uses each port again only after all the others."""
        for port in self.ports:
            return port
        self.ports = iter(PORTS)
        return self.next_port()

    def set_siw(self, setting):
        """Loads siw with these parameters, unless it is loaded with them
        already."""
        if setting == self.siw:
            return
        words = " ".join(f"{k}={v}" for k, v in sorted(setting.items()))
        load = f"insmod /usr/lib/siw-tunable/siw.ko {words}" if setting \
            else "modprobe siw"
        self.siw = None
        self.is_spoiled = True  # unless there is no error
        self.shell("rdma link del siw0 2>/dev/null; for i in $(seq 50); do "
                   "grep -q '^siw ' /proc/modules || break; "
                   "rmmod siw 2>/dev/null || sleep 0.2; done; "
                   "modprobe -a iw_cm ib_uverbs rdma_ucm libcrc32c && "
                   f"{load} && rdma link add siw0 type siw netdev "
                   f"{self.device}")
        self.siw = dict(setting)
        self.is_spoiled = False

    def read(self, path):
        return base64.b64decode(self.ask("read", path=path)["octets"])

    def start(self, name, command, env=None, usiw=False):
        return GuestProgram(self, name, command, env or {}, usiw)


class GuestProgram:
    """Has the methods of harness.Program."""

    def __init__(self, guest, name, command, env, usiw):
        self.guest, self.name = guest, name
        self.words = [str(w) for w in command]
        self.env = {**LIBRARIES, **env}
        if usiw:
            self.words = ["/host/bin/usiw", "run", "--", *self.words]
        self.answer = None
        self.id = guest.ask("start", argv=self.words, env=self.env)["id"]

    def text(self):
        return (self.answer or self.guest.ask("look", id=self.id))["text"]

    def wait_listening(self, port, timeout=30):
        def look():
            if self.guest.ask("listening", port=port)["yes"]:
                return True
            code = self.guest.ask("look", id=self.id)["code"]
            check(code is None, f"{self.name} ended with {code} instead of "
                                "listening")
            time.sleep(0.05)
            return False
        wait_until(look, timeout, f"{self.name} to listen on {port}")

    def wait(self, timeout, codes=(0,)):
        self.answer = self.guest.ask("end", id=self.id, timeout=timeout)
        code = self.answer["code"]
        check(code is not None, f"{self.name} still runs after {timeout} s")
        check(codes is None or code in codes,
              f"{self.name} ended with {code}, not {codes}")
        return code

    def stop(self):
        if self.answer is None:
            self.answer = self.guest.ask("end", id=self.id, timeout=0)

    def report(self):
        print(f"--- {self.name} (guest): {self.env} {' '.join(self.words)}")
        if self.answer:
            print(f"--- exit code {self.answer['code']}, output:")
            print(self.answer["text"][-6000:])


class InteropTest(Test):
    """harness.Test, with programs in the guest."""

    def __init__(self, name, guest):
        super().__init__(name)
        self.guest = guest
        self.others = []

    def __exit__(self, kind, value, trace):
        for program in self.others:
            try:
                program.stop()
            except Failure:
                pass  # the guest has ended; reported elsewhere
        return super().__exit__(kind, value, trace)

    def conclude(self, kind, value, states):
        kind = Skip if kind and issubclass(kind, Skip) else kind
        super().conclude(kind, value, states)
        if kind and kind is not Skip:
            for program in self.others:
                program.report()
            self.report_kernel()

    def report_kernel(self):
        print("--- the guest's kernel:\n" + self.guest.kernel_log()[-3000:])


def copy_foreign_libraries(lib):
    """The libraries that usiw needs and the guest's image lacks."""
    foreign = os.path.join(lib, "foreign")
    os.makedirs(foreign)
    rnic = glob.glob(os.path.join(lib, "libusiw-rnic-*.so"))
    usiw = os.path.join(harness.BUILD, "bin", "usiw")
    listing = subprocess.run(["ldd", usiw, *rnic],
                             stdout=subprocess.PIPE, text=True).stdout
    for line in listing.split("\n"):
        field = line.split()
        if len(field) > 2 and \
                field[0].startswith(
                ("libisal", "libjansson", "libncursesw", "libtinfo",
                 "libdw", "libelf", "libz", "liblzma", "libbz2")):
            shutil.copy(field[2], os.path.join(foreign, field[0]))
