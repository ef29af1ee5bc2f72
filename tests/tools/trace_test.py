#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw trace: programs that it starts, and processes that run."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

USIW, RESOURCES = "", ""
CALL = re.compile(r"^\[(\d+)(?:/\d+)?\] ibv_(\w+)\((.*)\) = (.*?)(?: <[\d.]+ us>)?$", re.M)


def trace(*args, **how):
    return subprocess.run([USIW, "trace", *args], capture_output=True,
                          text=True, timeout=50, **how)


class Started(unittest.TestCase):
    def test_calls_of_a_program_that_ends_at_once(self):
        done = trace("--", "ibv_devinfo")
        self.assertEqual(done.returncode, 0)
        self.assertIn("hca_id:", done.stdout)
        calls = {name: (args, result)
                 for _, name, args, result in CALL.findall(done.stderr)}
        args, result = calls["query_port"]
        self.assertIn("port_num=1, attr={state=IBV_PORT_ACTIVE", args)
        self.assertEqual(result, "0")
        self.assertEqual(calls["open_device"][1], "context")
        self.assertEqual(done.stderr.count("\n"),
                         len(CALL.findall(done.stderr)))

    def test_sigchld_is_ignored(self):
        """As the starter has left it; the program inherits it."""
        for command in ("trace", "check"):
            done = subprocess.run(
                [USIW, command, "--", "grep", "SigIgn", "/proc/self/status",
                 "/nowhere"],
                capture_output=True, text=True, timeout=50,
                preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                 signal.SIG_IGN))
            self.assertEqual(done.returncode, 2, done.stderr)
            ignored = int(done.stdout.split()[1], 16)
            self.assertTrue(ignored >> (signal.SIGCHLD - 1) & 1, done.stdout)

    def test_filter(self):
        for words, names in (("query_port", {"query_port"}),
                             ("ibv_query_port,open_device",
                              {"query_port", "open_device"}),
                             ("cm,completions,events", set()),
                             ("!query_port,!query_device_ex",
                              {"open_device", "close_device"})):
            done = trace("-e", words, "ibv_devinfo")
            self.assertEqual({row[1] for row in CALL.findall(done.stderr)},
                             names, words)

    def test_table(self):
        for option, has_lines in (("-c", False), ("-C", True)):
            done = trace(option, "ibv_devinfo")
            self.assertRegex(done.stderr, r"(?m)^% time +seconds +us/call")
            self.assertRegex(done.stderr,
                             r"(?m)^ *[\d.]+ +[\d.]+ +[\d.]+ +\d+ +"
                             r"ibv_open_device$")
            self.assertEqual(bool(CALL.search(done.stderr)), has_lines)

    def test_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace")
            done = trace("-o", path, "sh", "-c", "ibv_devinfo; echo x >&2")
            self.assertEqual((done.returncode, done.stderr), (0, "x\n"))
            with open(path, encoding="ascii") as file:
                self.assertTrue(CALL.search(file.read()))
            self.assertEqual(trace("-o", path + "/no", "true").returncode, 1)
        done = trace("-o", "/dev/full", "ibv_devinfo")
        self.assertEqual(done.returncode, 1)
        self.assertIn("hca_id:", done.stdout)
        self.assertIn("/dev/full: not all of it", done.stderr)

    def test_exit_code_is_that_of_the_program(self):
        self.assertEqual(trace("sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(trace("sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(trace("/nonexistent").returncode, 127)

    def test_a_reader_that_goes(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "end")
            script = f'"$0" trace sh -c "ibv_devinfo; sleep 0.1; ibv_devinfo; ' \
                     f'ibv_devinfo; echo end >{path}" 2>&1 >/dev/null | head -1'
            done = subprocess.run(["bash", "-c", script, USIW], timeout=50,
                                  capture_output=True, text=True)
            self.assertIn("ibv_open_device", done.stdout)
            self.assertTrue(os.path.exists(path), "the program was ended")

    def test_several_processes(self):
        done = trace("sh", "-c", "ibv_devinfo; ibv_devinfo")
        self.assertEqual(len({pid for pid, *_ in CALL.findall(done.stderr)}),
                         2)

    def test_of_a_program_that_is_captured(self):
        done = trace(USIW, "capture", "-o", os.devnull, "--", "ibv_devinfo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("query_port",
                      [name for _, name, *_ in CALL.findall(done.stderr)])


class Running(unittest.TestCase):
    """A program that has a context, and calls little."""

    def setUp(self):
        self.program = subprocess.Popen(
            [USIW, "run", "--", "ibv_asyncwatch"], stdout=subprocess.PIPE)
        self.program.stdout.readline()  # its context is open

    def tearDown(self):
        self.program.kill()
        self.program.wait()
        self.program.stdout.close()

    def attach(self, *words):
        command = subprocess.Popen(
            [USIW, "trace", *(words or ("-p",)), str(self.program.pid)],
            stderr=subprocess.PIPE, text=True)
        self.assertIn("attached", command.stderr.readline())
        return command

    def test_one_command_at_a_time_and_again(self):
        for words in ("-p",), ("-c",), ("-e", "verbs"):
            with self.attach(*words) as first:
                self.assertIn("observes it already", trace(
                    "-p", str(self.program.pid)).stderr)
                first.send_signal(signal.SIGINT)
                self.assertEqual(first.wait(timeout=50), 0)
        self.assertIsNone(self.program.poll())

    def test_ends_with_the_process(self):
        with self.attach() as command:
            self.program.kill()
            self.program.wait()
            self.assertEqual(command.wait(timeout=50), 0)

    def test_ends_when_the_process_executes_another_program(self):
        with subprocess.Popen(
                [USIW, "run", "--", RESOURCES, "1", "exec", "cat"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            with subprocess.Popen(
                    [USIW, "trace", str(program.pid)], text=True,
                    stderr=subprocess.PIPE) as command:
                self.assertIn("attached", command.stderr.readline())
                program.stdin.write(b"\n")
                program.stdin.flush()
                try:
                    self.assertEqual(command.wait(timeout=50), 0)
                    self.assertIsNone(program.poll())
                finally:
                    program.kill()


class Refused(unittest.TestCase):
    def test_says_why(self):
        for pid, why in (("1", "opened no device|not permitted"),
                         (str(os.getpid()), "opened no device"),
                         ("4194305", "there is none")):
            done = trace("-p", pid)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, why)

    def test_says_why_as_usiw_stat_does(self):
        page = os.memfd_create("usiw-stat")
        self.addCleanup(os.close, page)
        for octets in (b"", b"x" * 200000):
            os.write(page, octets)
            why = [subprocess.run([USIW, command, str(os.getpid())],
                                  capture_output=True, text=True,
                                  timeout=50).stderr.split(": ", 2)[2]
                   for command in ("stat", "trace")]
            self.assertEqual(why[0], why[1])

    def test_wrong_usage(self):
        for args in ((), ("-p",), ("-p", "x", "y"), ("--nonsense", "x"),
                     ("-e",), ("-o",), ("-e", "nonsense", "true"),
                     ("-e", "", "true"), ("-c",), ("-p", "0"), ("1", "true"),
                     ("--persona", "x", "true"), ("-p", "99999999999")):
            done = trace(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("Usage: usiw trace", done.stderr)
        self.assertIn("did you mean post_send?",
                      trace("-e", "post_sent", "true").stderr)

    def test_says_that_there_is_no_such_command(self):
        self.assertIn("/nonexistent: command not found",
                      trace("/nonexistent").stderr)

    def test_a_number_behind_dashes_is_a_command(self):
        self.assertEqual(trace("--", "1").returncode, 127)


if __name__ == "__main__":
    USIW, RESOURCES = (os.path.realpath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
