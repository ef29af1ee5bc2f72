#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdpstat(1): pages of running, killed and other programs' processes, as a
table and as JSON. sdp-stat-writer, a program of the tests, makes the pages."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SDPSTAT, WRITER = "", ""
LIMIT = 50


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k != "USIW_STAT_DIR"}
    env.update(more)
    return env


def sdpstat(*args, env=None):
    return subprocess.run([SDPSTAT, *args], env=env or environment(),
                          capture_output=True, text=True, timeout=LIMIT)


def processes(*args, env=None):
    done = sdpstat("--json", *args, env=env)
    # Programs of other builds may run on the machine.
    said = [line for line in done.stderr.splitlines()
            if "no statistics page of this build" not in line]
    if done.returncode or said:
        raise AssertionError(done)
    return json.loads(done.stdout)["processes"]


class Writer:
    def __init__(self, *args, env=None):
        self.process = subprocess.Popen(
            [WRITER, *args], env=env or environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise AssertionError(f"the writer said {line!r}")

    def stop(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        self.process.communicate(timeout=LIMIT)


class Pages(unittest.TestCase):
    def writer(self, *args, **kwargs):
        writer = Writer(*args, **kwargs)
        self.addCleanup(lambda: writer.process.poll() is None
                        and writer.stop())
        return writer

    def directory(self):
        directory = tempfile.TemporaryDirectory(prefix="sdpstat-test.")
        self.addCleanup(directory.cleanup)
        return directory.name

    def check_page(self, page, pid, is_ended):
        self.assertEqual(page["pid"], pid)
        self.assertEqual(page["program"], os.path.basename(WRITER))
        self.assertEqual(page["ended"], is_ended)
        self.assertEqual(page["events"]["connects"], 2)
        # Of two sockets, one of them closed.
        self.assertEqual(page["totals"]["tx_bcopy"], 1100)
        self.assertEqual(page["totals"]["tx_octets"], 1100 + 30)
        self.assertEqual(page["totals"]["rx_octets"], 7)
        self.assertEqual(page["fallbacks"]["denied"], 1)
        self.assertEqual(page["fallbacks"]["total"], 1)
        self.assertEqual(len(page["sockets"]), 2)
        sock = page["sockets"][0]
        self.assertEqual(sock["local"], "127.0.0.1:40000")
        self.assertEqual(sock["peer"], "[2001:db8::1]:80")
        for name, value in {"fd": 5, "state": "established",
                            "role": "client", "carrier": "cm_send",
                            "send_mode": "combined",
                            "recv_mode": "pipelined", "send_credits": 11,
                            "recv_credits": 12, "relay": False,
                            "fallback": None, "tx_bcopy": 100, "tx_read": 30,
                            "rx_bcopy": 0, "rx_write": 7}.items():
            self.assertEqual(sock[name], value, name)
        sock = page["sockets"][1]
        self.assertEqual((sock["fd"], sock["state"], sock["fallback"],
                          sock["local"]), (-1, "tcp", "denied", None))

    def test_finds_running_processes(self):
        first, second = self.writer(), self.writer()
        pages = {p["pid"]: p for p in processes()}
        self.check_page(pages[first.pid], first.pid, False)
        self.check_page(pages[second.pid], second.pid, False)
        pages = processes("-p", str(second.pid))
        self.assertEqual([p["pid"] for p in pages], [second.pid])

    def test_killed_processes_leave_nothing_behind(self):
        writer = self.writer()
        writer.stop()
        self.assertNotIn(writer.pid, [p["pid"] for p in processes()])
        done = sdpstat("-p", str(writer.pid))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"process {writer.pid} is not there", done.stderr)

    def test_a_forked_child_is_not_its_parent(self):
        writer = self.writer("fork")
        child = int(writer.process.stdout.readline())
        pages = [p["pid"] for p in processes()]
        self.assertIn(writer.pid, pages)
        self.assertNotIn(child, pages)

    def test_files_outlive_their_process(self):
        directory = self.directory()
        env = environment(USIW_STAT_DIR=directory)
        writer = self.writer(env=env)
        path = os.path.join(directory, f"usiw-sdp.{writer.pid}")
        for place in (path, directory):
            pages = processes(place)
            self.assertEqual(len(pages), 1)
            self.check_page(pages[0], writer.pid, False)
        self.assertIn(writer.pid, [p["pid"] for p in processes(env=env)])
        writer.stop()
        for place in (path, directory):
            self.check_page(processes(place)[0], writer.pid, True)
        # -p selects one page of the directory.
        other = self.writer(env=env)
        pages = processes("-p", str(other.pid), directory)
        self.assertEqual([p["pid"] for p in pages], [other.pid])

    def test_table(self):
        writer = self.writer()
        done = sdpstat("--pid", str(writer.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in (f"{os.path.basename(WRITER)} ({writer.pid}):",
                     "connects 2", "sent:     bcopy 1100, read 30",
                     "fallback: 1 denied: the Port Mapper denied it",
                     "127.0.0.1:40000", "[2001:db8::1]:80",
                     "fallback:denied"):
            self.assertIn(text, done.stdout)

    def test_manual_has_each_member(self):
        with open(os.path.join(os.environ["USIW_SOURCE_DIR"],
                               "man/sdpstat.1"), encoding="utf-8") as stream:
            page = stream.read()
        writer = self.writer()
        names = set(re.findall(r'"(\w+)":',
                               sdpstat("-j", "-p", str(writer.pid)).stdout))
        self.assertIn("tx_octets", names)
        self.assertEqual([n for n in sorted(names)
                          if not re.search(rf"\b{n}\b", page)], [])

    def test_watch_goes_on(self):
        writer = self.writer()
        with subprocess.Popen([SDPSTAT, "--json", "--watch=1", "-p",
                               str(writer.pid)], env=environment(), text=True,
                              stdout=subprocess.PIPE) as process:
            for _ in range(2):
                page = json.loads(process.stdout.readline())["processes"][0]
                self.assertEqual(page["pid"], writer.pid)
            process.terminate()

    def test_nothing_to_see(self):
        directory = self.directory()
        self.assertEqual(processes(directory), [])
        done = sdpstat(directory)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_says_which_page_another_build_made(self):
        writer = self.writer()
        for name in os.listdir(f"/proc/{writer.pid}/fd"):
            path = f"/proc/{writer.pid}/fd/{name}"
            if "usiw-sdp-stat" in os.readlink(path):
                with open(path, "r+b", buffering=0) as page:
                    page.seek(4)  # the version of the layout
                    page.write(b"\1\0\0\0")
        done = sdpstat("--pid", str(writer.pid))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"process {writer.pid}: no statistics page of this "
                      "build: use the sdpstat that was installed with",
                      done.stderr)

    def test_says_what_is_no_page(self):
        done = sdpstat("/nonexistent/page")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/page: No such file", done.stderr)
        done = sdpstat("--json", SDPSTAT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no statistics page of this build", done.stderr)
        self.assertEqual(json.loads(done.stdout), {"processes": []})


class Words(unittest.TestCase):
    def test_help_and_version(self):
        done = sdpstat("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Usage: sdpstat", done.stdout)
        self.assertRegex(sdpstat("--version").stdout,
                         r"^sdpstat \d+\.\d+\.\d+\n$")

    def test_manual_has_each_option(self):
        with open(os.path.join(os.environ["USIW_SOURCE_DIR"],
                               "man/sdpstat.1"), encoding="utf-8") as stream:
            page = stream.read().replace("\\-", "-")
        for option in re.findall(r"--\w+", sdpstat("--help").stdout):
            self.assertIn(option, page)

    def test_wrong_usage_is_2_and_says_how(self):
        for words in (["--nonsense"], ["-p", "x"], ["-p", "0"], ["-p"],
                      ["--watch=x"], ["--watch=0"]):
            done = sdpstat(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("Usage: sdpstat", done.stderr)

    def test_output_that_goes_nowhere_is_1(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([SDPSTAT, "--json"], env=environment(),
                                  stdout=full, stderr=subprocess.PIPE,
                                  timeout=LIMIT)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    SDPSTAT, WRITER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
