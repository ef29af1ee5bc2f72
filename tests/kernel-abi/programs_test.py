#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ordinary programs read the tree. A killed one leaves nothing behind."""
import os
import signal
import subprocess
import sys
import tempfile

ENV = dict(os.environ)
CLASS = "/sys/class/infiniband"

CASES = [  # command, what must be in its output
    ("ls /sys/class/infiniband", "usiw_down0\nusiw_lo\n"),
    ("ls -lR /sys/class/infiniband /sys/class/infiniband_verbs "
     "/sys/class/infiniband/usiw_lo/device/net /dev/infiniband", "lo -> /sys/class/net/lo"),
    ("ls -l /dev/infiniband", "231,    1192"),
    ("cat /sys/class/infiniband/usiw_lo/node_guid", "0200:00ff:fe00:0001\n"),
    ("cat < /sys/class/misc/rdma_cm/dev", "10:1000192\n"),
    ("echo /sys/class/infiniband/*/ports/1/state",
     CLASS + "/usiw_down0/ports/1/state " + CLASS + "/usiw_lo/ports/1/state"),
    ("find /sys/class/infiniband -name gids -type d",
     CLASS + "/usiw_lo/ports/1/gids\n"),
    ("find -L /sys/class/infiniband/usiw_lo/device/net -maxdepth 1 -name lo",
     "device/net/lo"),
    ("find /dev/infiniband -type c | sort",
     "/dev/infiniband/rdma_cm\n/dev/infiniband/uverbs1000\n"),
    ("readlink -f /sys/class/infiniband_verbs/uverbs1000/device",
     "/sys/devices/pci7573:00/7573:03:1d.0\n"),
    ("readlink /sys/class/infiniband/usiw_lo/device",
     "/sys/devices/pci7573:00/7573:03:1d.0\n"),
    ("cmp /sys/class/infiniband/usiw_lo/device/local_cpulist "
     "/sys/devices/system/cpu/online && echo same", "same\n"),
    ("test -c /dev/infiniband/rdma_cm -a -r /dev/infiniband/uverbs1000 && "
     "test ! -e /dev/infiniband/uverbs0 && echo yes", "yes\n"),
    ("cp /sys/class/infiniband/usiw_lo/node_type copied && wc -c < copied; "
     "rm -f copied", "8\n"),
    ("ls /sys/class/infiniband/usiw_lo/device/net/", "lo\n"),
    ("cat /sys/class/infiniband/usiw_lo/device/net/lo/ifindex", "1\n"),
    ("grep -r RNIC /sys/class/infiniband/usiw_lo/node_type", "4: RNIC"),
    ("cd /sys/class/infiniband/usiw_lo && pwd -P && cat node_type && "
     "cd ports/1 && cat state ../../fw_ver && /bin/pwd && cd ../../../.. && "
     "ls -d net", CLASS + "/usiw_lo\n4: RNIC\n4: ACTIVE\n"),
    ("cd /sys/class/infiniband/usiw_lo && find . -name state && echo p*",
     "./ports/1/state\nports\n"),
    ("cd /dev/infiniband && ls && cd .. && ls -d null",
     "rdma_cm\nuverbs1000\nuverbs1001\nnull\n"),
    ("stat -c '%F %t:%T' /dev/infiniband/uverbs1001",
     "character special file e7:4a9\n"),
]

PYTHON = """
import glob, os, subprocess
c = "/sys/class/infiniband"
assert sorted(os.listdir(c)) == ["usiw_down0", "usiw_lo"], os.listdir(c)
assert {e.name for e in os.scandir(c + "/usiw_lo") if e.is_dir()} == \\
    {"ports", "device"}
assert open(c + "/usiw_lo/node_type").read() == "4: RNIC\\n"
assert len(glob.glob(c + "/*/node_guid")) == 2
assert any("gids" in d for _, d, _ in os.walk(c))
assert os.path.realpath("/sys/class/infiniband_verbs/uverbs1000/device") \\
    == "/sys/devices/pci7573:00/7573:03:1d.0"
assert subprocess.check_output(["ls", c]) == b"usiw_down0\\nusiw_lo\\n"
fd = os.open("/dev/infiniband/uverbs1000", os.O_RDWR)
subprocess.check_call(["true"], close_fds=True)
assert os.stat(fd).st_rdev == os.stat("/dev/infiniband/uverbs1000").st_rdev
os.close(fd)
"""

KILLED = """
import os, signal
os.listdir("/sys/class/infiniband")
keep = [open("/sys/class/infiniband/usiw_lo/fw_ver"),
        os.open("/dev/infiniband/uverbs1000", os.O_RDWR),
        os.open("/sys/class/infiniband", os.O_RDONLY)]
print("ready", flush=True)
signal.pause()
"""


def files_of(pid):
    """All files that the process has open or mapped in places where a file
    could be left behind."""
    names = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        names.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        names |= {line.split(None, 5)[5].strip() for line in maps
                  if len(line.split(None, 5)) == 6}
    return {n for n in names if n.startswith(("/tmp/", "/dev/shm/", "/run/"))
            and "libusiw" not in n}


def programs():
    bad = 0
    for command, part in CASES:
        done = subprocess.run(["bash", "-c", command], env=ENV, text=True,
                              capture_output=True)
        if done.returncode or part not in done.stdout or done.stderr:
            print(f"{command}\n  exit {done.returncode}, wanted {part!r}, "
                  f"said {done.stdout[:300]!r}\n  {done.stderr[:300]}")
            bad = 1
    done = subprocess.run([sys.executable, "-c", PYTHON], env=ENV)
    return 1 if bad or done.returncode else 0


def killed():
    with tempfile.TemporaryDirectory() as place:
        env = dict(ENV, TMPDIR=place, XDG_RUNTIME_DIR=place, HOME=place)
        with subprocess.Popen([sys.executable, "-c", KILLED], env=env,
                              cwd=place, stdout=subprocess.PIPE,
                              text=True) as child:
            if child.stdout.readline() != "ready\n":
                print("the child did not come up")
                return 1
            left = files_of(child.pid)
            child.send_signal(signal.SIGKILL)
            child.wait()
        left = {n for n in left if os.path.exists(n) and n != place}
        left |= set(os.listdir(place))
    if left:
        print("left behind:", left)
    return 1 if left else 0


def main(preload):
    ENV["LD_PRELOAD"] = preload
    ENV.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0")
    ENV.pop("USIW_DEVICES", None)
    return programs() or killed()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
