#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw stat: programs of rdma-core and perftest, a program with many queue
pairs (resources.c), processes that end, and pages that are wrong."""
import contextlib
import json
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

USIW, RESOURCES, MAN = "", "", ""
LIMIT = 60
RPING = ("rping", "-a", "127.0.0.1", "-C", "10000000")
KINDS = ("devices", "contexts", "pds", "cqs", "srqs", "qps", "mrs",
         "connections")
# abi/usiw-abi.h, abi/usiw-res.h
RES_AT = 64 + 32 * 60 + 512 * 32 + 64
PROGRAM_AT = RES_AT + 8
CHUNK_CNT_AT = RES_AT + 24
CHUNKS_AT = CHUNK_CNT_AT + 4 + 2 * 4 * 9 + 4
DEVICE_KIND = 1


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k != "USIW_STAT_DIR"}
    env.update(more)
    return env


def usiw(*args, **how):
    how.setdefault("env", environment())
    return subprocess.run([USIW, *args], capture_output=True, text=True,
                          timeout=LIMIT, **how)


def stat(*args, **how):
    return usiw("stat", *args, **how)


def tree(*args, **how):
    done = stat("--json", *args, **how)
    if done.returncode:
        raise AssertionError(done)
    return json.loads(done.stdout)["processes"]


def wait_until(condition, what):
    deadline = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.05)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Programs(unittest.TestCase):
    def start(self, *command, env=None, **how):
        process = subprocess.Popen(
            [USIW, "run", "--", *command], env=env or environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, **how)

        def stop():
            process.kill()
            process.communicate()
        self.addCleanup(stop)
        return process

    def many(self, cnt=1, **how):
        """Return: the process, and the number of its first queue pair."""
        process = self.start(RESOURCES, str(cnt), **how)
        return process, int(process.stdout.readline())

    def wait_listening(self, port):
        wait_until(lambda: subprocess.run(
            ["ss", "-Hltn", f"sport = :{port}"], capture_output=True,
            text=True, check=True).stdout, "a listener")

    def wait_qp(self, pid, member):
        def is_there():
            done = stat("--json", "--qps", str(pid))
            if done.returncode:
                return None  # it has no device yet
            [shown] = json.loads(done.stdout)["processes"]
            return any(qp[member] > 100 for qp in shown["qps"])
        wait_until(is_there, member)

    def rping(self):
        """A pair that runs. Return: the client."""
        port = str(free_port())
        self.start(*RPING, "-s", "-p", port)
        self.wait_listening(port)
        client = self.start(*RPING, "-c", "-p", port)
        self.wait_qp(client.pid, "rx_reads")
        return client.pid

    def write_bw(self):
        port = str(free_port())
        common = ("ib_write_bw", "-d", "usiw_lo", "-D", "60", "-p", port)
        self.start(*common)
        self.wait_listening(port)
        client = self.start(*common, "127.0.0.1")
        self.wait_qp(client.pid, "tx_writes")
        return client.pid

    def socat(self):
        port = str(free_port())
        env = environment(LIBSDP_CONFIG_FILE="/dev/null", USIW_SDP_AFTER="0")
        run = (USIW, "run", "--sdp", "--", "socat")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        server = subprocess.Popen(
            [*run, f"TCP4-LISTEN:{port},bind=127.0.0.1", "EXEC:cat"], env=env,
            **pipes)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        self.wait_listening(port)
        client = subprocess.Popen([*run, "-", f"TCP4:127.0.0.1:{port}"],
                                  env=env, text=True, **pipes)
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        client.stdin.write("hello\n")
        client.stdin.flush()
        self.assertEqual(client.stdout.readline(), "hello\n")
        return client.pid

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"no {program}")

    def directory(self):
        directory = tempfile.TemporaryDirectory(prefix="usiw-stat-test.")
        self.addCleanup(directory.cleanup)
        return directory.name


class Shown(Programs):
    def test_a_line_for_each_process(self):
        process, _ = self.many(3)
        other, _ = self.many()
        lines = {int(line.split()[0]): line.split()
                 for line in stat().stdout.splitlines()
                 if line.split()[:1] and line.split()[0].isdigit()}
        self.assertEqual(lines[process.pid][1], "tools-resources"[:15])
        self.assertEqual(lines[process.pid][2],
                         pwd.getpwuid(os.geteuid()).pw_name)
        self.assertEqual(lines[process.pid][3:6], ["3", "1", "1"])
        self.assertEqual(lines[other.pid][3], "1")
        self.assertRegex(stat().stdout, r"(?m)^usiw_lo +[2-9]")

    def test_all_of_a_process(self):
        process, num = self.many(2)
        text = stat(str(process.pid)).stdout
        for title in ("Devices:", "Contexts:", "Protection domains:",
                      "Completion queues:", "Queue pairs:",
                      "Memory regions:", "Counters:"):
            self.assertIn(f"\n{title}\n", text)
        self.assertRegex(text, rf"0x{num:06x} +usiw_lo +rc +idle .* 3/8 ")
        self.assertRegex(text, r"usiw_lo +0/1\d\d +0 +0 +any +yes ")
        self.assertIn("local_write,remote_read", text)

    def test_the_tree_has_every_field(self):
        process, num = self.many(2)
        [shown] = tree(str(process.pid))
        self.assertEqual(shown["pid"], process.pid)
        self.assertFalse(shown["ended"])
        self.assertLessEqual(abs(shown["start_ns"] / 1e9 - time.time()), 300)
        self.assertEqual(shown["numbers"]["qps"], 2)
        self.assertEqual(shown["unseen"]["qps"], 0)
        self.assertEqual(shown["counters"]["qp_created"], 2)
        self.assertEqual(len(shown["qps"]), 2)
        qp = next(qp for qp in shown["qps"] if qp["qp"] == num)
        [cq], [mr] = shown["cqs"], shown["mrs"]
        self.assertEqual((qp["rq_posted"], qp["rq_depth"]), (3, 8))
        self.assertEqual((qp["send_cq"], qp["recv_cq"]), (cq["id"],) * 2)
        self.assertEqual(qp["pd"], mr["pd"])
        self.assertIsNone(qp["peer"])
        self.assertEqual(mr["length"], 4096)
        self.assertEqual(mr["access"], "local_write,remote_read")
        self.assertTrue(cq["channel"])
        self.assertFalse(cq["overrun"])

    def test_kinds_and_filters(self):
        process, num = self.many(2)
        pid = str(process.pid)
        for kind in KINDS:
            option = "--conns" if kind == "connections" else f"--{kind}"
            [shown] = tree(pid, option)
            self.assertIn(kind, shown)
            self.assertEqual(set(KINDS) & set(shown), {kind})
        self.assertEqual(
            [qp["qp"] for qp in tree(pid, "--qp", str(num))[0]["qps"]], [num])
        self.assertEqual(
            [qp["qp"] for qp in tree(pid, "--qp", hex(num))[0]["qps"]], [num])
        self.assertIn("rq_posted             3\n",
                      stat(pid, "--qp", str(num)).stdout)
        self.assertEqual(tree(pid, "--state", "rts")[0]["qps"], [])
        self.assertEqual(len(tree(pid, "--state", "idle")[0]["qps"]), 2)
        self.assertEqual(tree(pid, "--device", "usiw_no")[0]["qps"], [])
        self.assertEqual(len(tree(pid, "--device", "usiw_lo")[0]["mrs"]), 1)
        self.assertEqual(tree(pid, "--peer", "192.0.2.1")[0]["qps"], [])
        self.assertNotIn("mrs", tree(pid, "--peer", "192.0.2.1")[0])

    def test_a_connection_of_rping(self):
        self.need("rping")
        port = free_port()
        server = self.start(*RPING, "-s", "-p", str(port))

        def listener():
            done = stat("--json", "--conns", "--state", "listening",
                        str(server.pid))
            if done.returncode:
                return None  # it has no device yet
            [shown] = json.loads(done.stdout)["processes"]
            return shown["connections"]
        [conn] = wait_until(listener, "a listener")
        self.assertEqual(conn["local"], f"127.0.0.1:{port}")
        client = self.start(*RPING, "-c", "-p", str(port))

        def established():
            if client.poll() is not None:
                raise AssertionError(client.communicate())
            done = stat("--json", str(client.pid))
            if done.returncode:
                return None  # it has no device yet
            [shown] = json.loads(done.stdout)["processes"]
            return shown if shown["qps"] and \
                shown["qps"][0]["rx_reads"] > 10 else None
        shown = wait_until(established, "READs")
        [qp], [conn] = shown["qps"], shown["connections"]
        self.assertEqual(qp["state"], "rts")
        self.assertEqual(qp["peer"], f"127.0.0.1:{port}")
        self.assertIn(qp["carrier"], ("tcp", "ring"))
        self.assertEqual(conn["qp"], qp["qp"])
        self.assertEqual(conn["state"], "established")
        self.assertEqual(conn["local"], qp["local"])
        # rping: 64 octets by READ and by WRITE, 16 by each Send.
        self.assertEqual(qp["rx_read_octets"], 64 * qp["rx_reads"])
        self.assertEqual(qp["rx_write_octets"], 64 * qp["rx_writes"])
        self.assertEqual(qp["tx_send_octets"], 16 * qp["tx_sends"])
        self.assertEqual(qp["status"], "success")
        [by_peer] = [p for p in tree("--peer", f"127.0.0.1:{port}", "--qps")
                     if p["qps"]]
        self.assertEqual(by_peer["pid"], client.pid)

    def test_traffic_of_perftest(self):
        self.need("ib_write_bw")
        [qp] = tree(str(self.write_bw()), "--qps")[0]["qps"]
        self.assertGreater(qp["tx_writes"], 100)
        self.assertEqual(qp["tx_write_octets"], 65536 * qp["tx_writes"])
        self.assertEqual(qp["tx_sends"], 0)
        self.assertLessEqual(qp["sq_outstanding"], qp["sq_depth"])
        self.assertGreater(qp["peer_qp"], 0)

    def test_sockets_of_sdp(self):
        self.need("socat")
        pid = self.socat()
        [shown] = tree("--sdp", str(pid))
        [sock] = shown["sdp"]
        self.assertEqual(sock["state"], "established")
        self.assertGreaterEqual(sock["tx_octets"], 6)
        self.assertRegex(sock["peer"], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(sock["role"], "client")
        self.assertRegex(stat("--sdp", str(pid)).stdout,
                         rf"established +client .*{sock['peer']}")

    def test_ten_thousand_queue_pairs(self):
        process, num = self.many(10000)
        [shown] = tree(str(process.pid))
        self.assertEqual(len({qp["qp"] for qp in shown["qps"]}), 10000)
        self.assertEqual(shown["unseen"]["qps"], 0)
        text = stat(str(process.pid), "--qps").stdout
        self.assertEqual(text.count("usiw_lo"), 10000)
        text = stat(str(process.pid), "--qp", str(num)).stdout
        self.assertIn("rq_posted             3\n", text)


class Watched(Programs):
    def test_again_and_again_until_it_ends(self):
        process, _ = self.many()
        watch = subprocess.Popen(
            [USIW, "stat", "--watch=1", "--qps", str(process.pid)],
            env=environment(), stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.communicate)
        seen = 0
        while seen < 2:
            seen += "Queue pairs:" in watch.stdout.readline()
        process.kill()
        process.wait()
        text = watch.communicate(timeout=LIMIT)[0]
        self.assertEqual(watch.returncode, 0)
        self.assertNotIn("\x1b", text)

    def test_all_processes_while_they_come_and_go(self):
        watch = self.watch()
        first, _ = self.many()
        self.line_of(watch, first.pid)
        first.kill()
        first.wait()
        second, _ = self.many()
        self.line_of(watch, second.pid)
        self.assertIsNone(watch.poll())

    def test_a_directory_while_processes_come_and_go(self):
        directory = self.directory()
        env = environment(USIW_STAT_DIR=directory)
        for words, how in (((), env), ((directory,), environment())):
            ended, _ = self.many(env=env)
            ended.kill()
            ended.wait()
            first, _ = self.many(env=env)
            watch = self.watch("--json", *words, env=how)

            def is_shown(pid, has_ended):
                shown = self.next_of(watch, pid)
                return shown is not None and shown["ended"] == has_ended
            for _ in range(2):
                self.assertTrue(is_shown(ended.pid, True))
            second, _ = self.many(env=env)
            wait_until(lambda: is_shown(second.pid, False), "a new process")
            first.kill()
            first.wait()
            wait_until(lambda: is_shown(first.pid, True), "its end")
            os.unlink(f"{directory}/usiw.{ended.pid}")
            wait_until(lambda: not is_shown(ended.pid, True), "a removal")
            second.kill()
            second.wait()
            if words:
                self.assertEqual(watch.wait(LIMIT), 0)

    def test_a_process_that_executes_other_programs(self):
        in_file = environment(USIW_STAT_DIR=self.directory())
        for is_named, env in ((False, environment()), (True, environment()),
                              (False, in_file)):
            process = self.start(RESOURCES, "2", "exec", RESOURCES, "5",
                                 "exec", "cat", env=env)
            words = (str(process.pid),) if is_named else ()
            watch = None
            for cnt in (2, 5):
                process.stdout.readline()
                if not watch:
                    watch = self.watch("--json", *words, env=env)

                def has_page():
                    shown = self.next_of(watch, process.pid)
                    return shown and not shown["ended"] and \
                        shown["numbers"]["qps"] == cnt
                wait_until(has_page, f"a page with {cnt} QPs")
                process.stdin.write("\n")
                process.stdin.flush()

            def has_no_page():
                shown = self.next_of(watch, process.pid)
                if is_named or env == in_file:
                    return shown["ended"]
                return shown is None
            wait_until(has_no_page, "the end of its page")
            self.assertIsNone(watch.poll())
            process.kill()
            process.wait()
            if is_named:
                self.assertEqual(watch.wait(LIMIT), 0)

    def watch(self, *args, env=None):
        watch = subprocess.Popen(
            [USIW, "stat", "--watch", *args], env=env or environment(),
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        return watch

    def next_of(self, watch, pid):
        """The process in the next output, once, or None."""
        text = ""
        for line in watch.stdout:
            text += line
            if line == "}\n":
                break
        shown = [p for p in json.loads(text)["processes"] if p["pid"] == pid]
        self.assertLessEqual(len(shown), 1)
        return shown[0] if shown else None

    def line_of(self, watch, pid):
        for line in watch.stdout:
            if line.split()[:1] == [str(pid)]:
                return
        self.fail(f"no line of {pid}")

    def test_a_reader_that_goes_away(self):
        self.many()
        done = subprocess.run(
            f"'{USIW}' stat --watch=1 | head -1", shell=True, timeout=LIMIT,
            env=environment(), capture_output=True, text=True)
        self.assertIn("PID", done.stdout)


class Ended(Programs):
    def test_a_file_of_a_process_that_was_killed(self):
        directory = self.directory()
        process, num = self.many(2, env=environment(USIW_STAT_DIR=directory))
        [shown] = tree(str(process.pid))
        self.assertEqual(len(shown["qps"]), 2)
        # The same process, found twice, is one.
        both = tree(env=environment(USIW_STAT_DIR=directory))
        self.assertEqual([p["pid"] for p in both].count(process.pid), 1)
        process.kill()
        process.wait()
        [shown] = tree(directory)
        self.assertTrue(shown["ended"])
        self.assertEqual(shown["pid"], process.pid)
        self.assertEqual(len(shown["qps"]), 2)
        [name] = os.listdir(directory)
        self.assertEqual(name, f"usiw.{process.pid}")
        self.assertIn(f"0x{num:06x}",
                      stat(os.path.join(directory, name), "--qps").stdout)
        self.assertEqual(stat(str(process.pid)).returncode, 1)

    def test_a_directory_with_a_file_that_is_no_page(self):
        directory = self.directory()
        self.assertEqual(tree(directory), [])
        process, _ = self.many(env=environment(USIW_STAT_DIR=directory))
        with open(os.path.join(directory, "usiw.1"), "w") as file:
            file.write("no page")
        done = stat("--json", directory)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a counter page", done.stderr)
        [shown] = json.loads(done.stdout)["processes"]
        self.assertEqual(shown["pid"], process.pid)

    def test_nothing_is_left_of_one_that_was_killed(self):
        process, _ = self.many(100)
        before = {p["pid"] for p in tree()}
        self.assertIn(process.pid, before)
        process.kill()
        process.wait()
        self.assertNotIn(process.pid, {p["pid"] for p in tree()})

    def test_processes_die_while_they_are_read(self):
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            process = self.start(RESOURCES, "300")
            for _ in range(4):
                done = stat(str(process.pid))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertNotIn("damaged", done.stderr)
            process.kill()
            done = stat("--json", str(process.pid))
            self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_a_forked_child_has_resources_of_its_own(self):
        process = self.start(RESOURCES, "2", "fork")
        num = int(process.stdout.readline())
        pid, child_num = map(int, process.stdout.readline().split())
        [parent] = tree(str(process.pid))
        [child] = tree(str(pid))
        self.assertEqual(len(parent["qps"]), 2)
        self.assertIn(num, [qp["qp"] for qp in parent["qps"]])
        self.assertEqual(len(child["qps"]), 3)
        self.assertIn(child_num, [qp["qp"] for qp in child["qps"]])
        self.assertEqual(child["numbers"]["contexts"], 1)
        self.assertEqual(child["qps"][0]["device"], "usiw_lo")


class Liar:
    """A process, this one, with a page of its own making."""

    def __init__(self, page):
        self.fd = os.memfd_create("usiw-stat")
        os.write(self.fd, page)

    def close(self):
        os.close(self.fd)


class Wrong(Programs):
    def page(self):
        """The page of a process, as if this one had made it."""
        process, _ = self.many(3)
        directory = f"/proc/{process.pid}/fd"
        for fd in os.listdir(directory):
            path = os.path.join(directory, fd)
            with contextlib.suppress(OSError):
                if os.readlink(path).startswith("/memfd:usiw-stat"):
                    with open(path, "rb") as file:
                        page = bytearray(file.read())
        struct.pack_into("=I", page, 8, os.getpid())
        return page

    def lie(self, page):
        liar = Liar(page)
        self.addCleanup(liar.close)
        return liar

    def test_texts_are_no_sequences_for_the_terminal(self):
        page = self.page()
        page[PROGRAM_AT:PROGRAM_AT + 16] = b"\x1b[2J\x1b]0;evil\x07\r\n!"
        kind = struct.unpack_from("=QIHH", page, CHUNKS_AT)
        self.assertEqual(kind[2], DEVICE_KIND)
        device = kind[0] + 16
        page[device:device + 8] = b"\x1b[31m\xff\x7f"
        self.lie(page)
        for args in ((), (str(os.getpid()),), ("--json",),
                     ("--json", str(os.getpid())), ("--devices",)):
            done = stat(*args)
            self.assertIn("?[2J?]0;evil???", done.stdout)
            self.assertFalse(set(done.stdout) - set(map(chr, range(32, 127)))
                             - {"\n"}, done.stdout)

    def test_pages_of_noise(self):
        page = self.page()
        size = len(page)
        for at in list(range(RES_AT - 64, RES_AT + 512, 12)) + \
                list(range(0, size, size // 60 // 4 * 4)):
            for value in (0xffffffff, 7):
                bad = bytearray(page)
                struct.pack_into("=I", bad, min(at, size - 4), value)
                liar = Liar(bad)
                done = stat(str(os.getpid()))
                liar.close()
                self.assertIn(done.returncode, (0, 1), (at, value))

    def test_what_is_wrong_is_said(self):
        page = self.page()
        for at, value, text in ((4, 77, "another version"),
                                (CHUNK_CNT_AT, 1 << 20, "damaged"),
                                (CHUNKS_AT, 1 << 62, "damaged"),
                                (12, 1000, "damaged")):
            bad = bytearray(page)
            struct.pack_into("=I" if value < 1 << 32 else "=Q", bad, at,
                             value)
            liar = Liar(bad)
            done = stat(str(os.getpid()))
            liar.close()
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        liar = Liar(page[:1000])
        self.addCleanup(liar.close)
        self.assertIn("damaged", stat(str(os.getpid())).stderr)

    def test_a_page_that_is_being_made_is_waited_for(self):
        page = self.page()
        liar = self.lie(b"")
        process = subprocess.Popen([USIW, "stat", str(os.getpid())],
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            with open(f"/proc/{process.pid}/wchan", encoding="ascii") as file:
                if "nanosleep" in file.read():
                    break
        os.write(liar.fd, page)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stderr), (0, ""))

    def test_a_page_that_is_cut_while_it_is_read(self):
        liar = self.lie(self.page())
        whole = os.fstat(liar.fd).st_size
        watch = subprocess.Popen(
            ["sh", "-c", f"for i in $(seq 60); do '{USIW}' stat --json "
             f"{os.getpid()} >/dev/null 2>&1; echo $?; done"],
            env=environment(), stdout=subprocess.PIPE, text=True)
        size = 0
        while watch.poll() is None:
            size = (size + 4099) % whole
            os.ftruncate(liar.fd, size)
            os.ftruncate(liar.fd, whole)
        codes = set(watch.communicate()[0].split())
        self.assertLessEqual(codes, {"0", "1"})

    def test_processes_that_cannot_be_shown(self):
        for pid, why in (("1", "no device|not permitted"),
                         (str(os.getpid()), "no device"),
                         ("4194305", "there is none")):
            done = stat(pid)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, why)

    def test_a_process_of_another_user(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("not root")
        process, _ = self.many()
        env = environment()
        # Not in a directory that others may not enter.
        with tempfile.NamedTemporaryFile(dir="/tmp", suffix=".usiw",
                                         delete=False) as copy:
            with open(USIW, "rb") as program:
                shutil.copyfileobj(program, copy)
        self.addCleanup(os.unlink, copy.name)
        os.chmod(copy.name, 0o755)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             copy.name, "stat", str(process.pid)], env=env,
            capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not permitted", done.stderr)

    def test_wrong_usage(self):
        for args in (("--nonsense",), ("--qp",), ("--qp", "x"), ("--qp", "-1"),
                     ("--watch=0",), ("--watch=x",), ("--device",)):
            done = stat(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("Usage: usiw stat", done.stderr)
        done = stat("/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr)
        done = stat("/etc/passwd")
        self.assertIn("not a counter page", done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([USIW, "stat"], env=environment(),
                                  stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class Limits(Programs):
    def test_a_full_disk_costs_nothing_but_the_view(self):
        # As one, the file of the counter page cannot grow.
        process, _ = self.many(1000, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (150000, 150000)))
        [shown] = tree(str(process.pid))
        self.assertEqual(shown["numbers"]["qps"], 1000)
        self.assertGreater(shown["unseen"]["qps"], 0)
        self.assertEqual(len(shown["qps"]) + shown["unseen"]["qps"], 1000)
        self.assertIn("more have no entry", stat(str(process.pid)).stdout)


class Documented(Programs):
    def test_the_manual_page_has_every_member(self):
        process, _ = self.many()
        [shown] = tree(str(process.pid))
        with open(MAN) as page:
            words = set(re.findall(r"[a-z_]+", page.read().replace("\\", "")))
        members = set(shown) - {"counters"}
        for kind in KINDS:
            for resource in shown[kind]:
                members |= set(resource)
        self.assertLessEqual(members, words)

    def test_examples_of_the_manual_page(self):
        for program in ("ib_write_bw", "rping", "socat", "jq"):
            self.need(program)
        with open(MAN) as page:
            text = page.read().split(".SH EXAMPLES")[1].replace("\\-", "-")
        pids = {"ib_write_bw": self.write_bw(),
                "rping": self.rping(),
                "socat": self.socat()}
        blocks = re.findall(r"\.nf\n(.*?)\.fi", text, re.S)
        self.assertEqual(len(blocks), 5)
        for block in blocks:
            lines = block.splitlines()
            for line in lines:
                if line.startswith("$ ") and "--watch" not in line:
                    out = self.example(line[2:], pids)
            # The titles are those of the program.
            for line in lines:
                if re.fullmatch(r"[A-Z -]+", line) and line.strip():
                    self.assertIn(line.split(), out)

    def example(self, command, pids):
        command = re.sub(r"\$\(pidof -s (\w+)\)",
                         lambda match: str(pids[match.group(1)]), command)
        path = f"{os.path.dirname(USIW)}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], capture_output=True,
                              env=environment(PATH=path), text=True,
                              timeout=LIMIT)
        self.assertEqual(done.returncode, 0, (command, done.stderr))
        self.assertTrue(done.stdout, command)
        return [line.split() for line in done.stdout.splitlines()]

    def test_help_goes_to_stdout(self):
        done = stat("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Usage: usiw stat", done.stdout)


if __name__ == "__main__":
    USIW, RESOURCES, MAN = (os.path.realpath(a) for a in sys.argv[1:4])
    del sys.argv[1:4]
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    unittest.main()
