#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw top, on a terminal: what it draws, and its keys."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import terminal as term  # noqa: E402

USIW, RESOURCES = "", ""
LIMIT = 60


def environment():
    return {k: v for k, v in os.environ.items() if k != "USIW_STAT_DIR"}


class Base(unittest.TestCase):
    def start(self, *command):
        process = subprocess.Popen(
            [USIW, "run", "--", *command], env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

        def stop():
            process.kill()
            process.communicate()
        self.addCleanup(stop)
        return process

    def many(self, cnt):
        process = self.start(RESOURCES, str(cnt))
        return process, int(process.stdout.readline())

    def top(self, *args, **how):
        how.setdefault("env", environment())
        terminal = term.Terminal([USIW, "top", "-d", "0.3", *args], **how)
        self.addCleanup(terminal.close)
        return terminal

    def quit(self, terminal):
        terminal.keys("q")
        self.assertEqual(terminal.end(), 0)

    @staticmethod
    def row_of(lines, first):
        """The number of the line that begins with that word, or None."""
        for i, line in enumerate(lines):
            if line.split()[:1] == [str(first)]:
                return i
        return None

    def wait_row(self, terminal, first):
        terminal.wait(lambda lines: self.row_of(lines, first), first)


class Keys(Base):
    def test_opens_a_process_and_a_queue_pair(self):
        process, num = self.many(3)
        terminal = self.top(str(process.pid))
        terminal.wait_text("QPs: 3")
        self.wait_row(terminal, f"0x{num:06x}")
        terminal.keys("/" + f"{num:06x}" + term.ENTER)
        terminal.wait_text(f"[{num:06x}]")
        terminal.wait(lambda lines: sum("0x" in line for line in lines) == 1,
                      "one row")
        terminal.keys(term.ENTER)
        terminal.wait_text(f"QP 0x{num:06x}")
        terminal.wait(lambda lines: any(
            line.split()[:2] == ["state", "idle"] for line in lines), "state")
        terminal.keys(term.END)
        terminal.wait_text("made_ns")
        terminal.keys(term.HOME)
        self.wait_row(terminal, "device")
        terminal.keys(term.LEFT)
        terminal.wait_text("QPs: 3")
        terminal.keys(term.ESC)  # the filter
        terminal.wait(lambda lines: sum("0x" in line for line in lines) == 3,
                      "all rows")
        terminal.keys(term.ESC)
        terminal.wait_text("processes:")
        self.wait_row(terminal, process.pid)
        self.quit(terminal)

    def test_sorts_by_each_column(self):
        few, _ = self.many(2)
        more, _ = self.many(7)
        terminal = self.top()

        def order(lines):
            rows = [self.row_of(lines, p.pid) for p in (few, more)]
            return None if None in rows else rows[0] < rows[1]
        terminal.wait(lambda lines: order(lines) is not None, "both")
        # From TX/s three columns back, to QPS: the most first.
        terminal.keys("<<<")
        terminal.wait_text("*QPS")
        terminal.wait(lambda lines: order(lines) is False, "the most first")
        terminal.keys("r")
        terminal.wait_text("^QPS")
        terminal.wait(lambda lines: order(lines) is True, "the fewest first")
        for _ in range(9):
            terminal.keys(">")
        terminal.wait_text("^QPS")
        self.quit(terminal)

    def test_moves_the_selection(self):
        process, _ = self.many(100)
        terminal = self.top(str(process.pid))
        terminal.wait_text("QPs: 100")
        terminal.keys(term.DOWN * 3 + term.UP + term.ENTER)
        terminal.wait_text("FIELD")
        name = re.search(r"QP (0x\w+)", terminal.screen.text()[0]).group(1)
        terminal.keys(term.ESC)
        terminal.wait_text("QPs: 100")
        self.wait_row(terminal, name)
        for keys in (term.PAGE_DOWN * 9, term.PAGE_UP, term.END, term.HOME):
            terminal.keys(keys)
            terminal.wait_text("QPs: 100")
        self.quit(terminal)

    def test_help_and_keys_without_meaning(self):
        terminal = self.top()
        terminal.wait_text("processes:")
        terminal.keys("h")
        terminal.wait_text("reverse the order")
        terminal.keys("x")
        terminal.wait_text("PROGRAM")
        terminal.keys("xyz\x01\x1b[17~\xe4")
        terminal.keys("/" + "long" * 20 + term.BACKSPACE)
        terminal.wait_text("Show rows with: longlong")
        terminal.keys(term.ESC)
        terminal.wait_text("q quit")
        self.quit(terminal)


class Size(Base):
    def test_fits_any_terminal(self):
        process, _ = self.many(50)
        terminal = self.top(str(process.pid))

        # Numbers go on from 0 behind 255 of them: the first QP may be last.
        def has_queue_pair(lines):
            return any(line.startswith("0x") for line in lines)
        terminal.wait(has_queue_pair, "a queue pair")
        for lines, columns in ((60, 200), (10, 30), (4, 20),
                               (2, 5), (1, 1), (24, 80)):
            terminal.resize(lines, columns)
            if lines > 3 and columns >= 20:
                self.wait_row(terminal, "QP")
            if lines > 20:
                terminal.wait(has_queue_pair, "a queue pair")
        self.quit(terminal)

    def test_eighty_columns_show_a_peer(self):
        if not shutil.which("rping"):
            self.skipTest("no rping")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
        server = self.start("rping", "-s", "-a", "127.0.0.1", "-p", port,
                            "-C", "10000000")
        terminal = self.top()
        self.wait_row(terminal, server.pid)
        client = self.start("rping", "-c", "-a", "127.0.0.1", "-p", port,
                            "-C", "10000000")
        self.wait_row(terminal, client.pid)

        def has_rate(lines):
            row = self.row_of(lines, client.pid)
            return row and re.search(r" [1-9][\d.]*[kMG] +[1-9][\d.]*[kMG] ",
                                     lines[row])
        terminal.wait(has_rate, "a rate")
        terminal.wait(lambda lines: re.search(r"TX [1-9]\S+/s", lines[0]),
                      "the sum")
        terminal.keys(f"/{client.pid}" + term.ENTER)
        terminal.wait(lambda lines: self.row_of(lines, server.pid) is None,
                      "the filter")
        terminal.keys(term.ENTER)
        terminal.wait_text(f"127.0.0.1:{port}")
        terminal.wait(lambda lines: any(re.search(
            r"^0x\w+ +rts +(tcp|ring) .* [1-9][\d.]*k? +127\.", line)
            for line in lines), "messages")
        self.assertTrue(all(len(line) <= 80
                            for line in terminal.screen.text()))
        terminal.keys(term.ENTER)
        terminal.wait(lambda lines: any(re.search(
            r"^tx_sends +\d+ +[1-9]", line) for line in lines) or
            terminal.keys(term.DOWN), "a rate of a field")
        self.quit(terminal)

    def test_ten_thousand_queue_pairs(self):
        process, _ = self.many(10000)
        terminal = self.top(str(process.pid))
        terminal.wait_text("QPs: 10000")
        terminal.keys("<" * 5)  # by number
        terminal.wait_text("*QP ")
        # A row below may still be one of the order before.
        first = terminal.wait(
            lambda lines: self.numbers(lines), "sorted rows")[0]
        terminal.keys(term.END)
        last = terminal.wait(
            lambda lines: self.numbers(lines) and
            self.numbers(lines)[0] < first and self.numbers(lines),
            f"the end, below {first:x}")
        terminal.keys("/" + f"{last[-1]:06x}" + term.ENTER)
        terminal.wait(lambda lines: self.numbers(lines) == [last[-1]],
                      "one row")
        self.quit(terminal)

    @staticmethod
    def numbers(lines):
        """The numbers of the rows, if they fall."""
        found = [int(line.split()[0], 16) for line in lines
                 if line.startswith("0x")]
        return found if found == sorted(found, reverse=True) else None


class Ends(Base):
    def test_an_open_process_ends(self):
        for keys in ("", term.ENTER):
            process, num = self.many(2)
            terminal = self.top(str(process.pid))
            self.wait_row(terminal, f"0x{num:06x}")
            terminal.keys(keys)
            terminal.wait_text("FIELD" if keys else "PEER")
            process.kill()
            process.wait()
            terminal.wait(lambda lines: re.search(
                r"has (ended|gone)\.", lines[-1]), "the note")
            terminal.wait_text("processes:")
            terminal.wait(lambda lines: self.row_of(lines, process.pid)
                          is None, "no row")
            self.quit(terminal)

    def test_processes_come_and_go(self):
        terminal = self.top()
        for _ in range(3):
            process, _ = self.many(2)
            self.wait_row(terminal, process.pid)
            process.kill()
            process.wait()
            terminal.wait(lambda lines, gone=process: self.row_of(
                lines, gone.pid) is None, "no row")
        self.quit(terminal)

    def test_a_process_executes_other_programs(self):
        for is_open in (False, True):
            process = self.start(RESOURCES, "2", "exec", RESOURCES, "5",
                                 "exec", "cat")
            terminal = None
            for cnt in ("2", "5"):
                process.stdout.readline()
                if not terminal:
                    terminal = self.top(*[str(process.pid)] * is_open)
                if is_open:
                    terminal.wait_text(f"QPs: {cnt}")
                else:
                    terminal.wait(lambda lines, words=[
                        str(process.pid), "tools-resources", cnt]: any(
                            line.split()[:2] + line.split()[3:4] == words
                            for line in lines), cnt)
                process.stdin.write("\n")
                process.stdin.flush()
            terminal.wait_text("processes:")
            terminal.wait(lambda lines, gone=process: self.row_of(
                lines, gone.pid) is None, "no row")
            self.quit(terminal)

    def test_signals_and_a_terminal_that_goes_away(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.top()
            terminal.wait_text("processes:")
            self.assertEqual(terminal.end(number), 0)
        terminal = self.top()
        terminal.wait_text("processes:")
        os.close(terminal.fd)
        terminal.fd = -1
        terminal.process.wait(timeout=LIMIT)

    def test_a_page_with_sequences_for_the_terminal(self):
        process, _ = self.many(1)
        page = self.page_of(process)
        at = 64 + 32 * 60 + 512 * 32 + 64 + 8  # program
        page[8:12] = os.getpid().to_bytes(4, sys.byteorder)
        page[at:at + 16] = b"\x1b[8;1;1t\x1b]0;x\x07\0"
        fd = os.memfd_create("usiw-stat")
        self.addCleanup(os.close, fd)
        os.write(fd, page)
        terminal = self.top()
        self.wait_row(terminal, os.getpid())
        terminal.wait_text("?[8;1;1t?]0;x")
        self.assertNotIn("\x1b[8;1;1t", terminal.output)
        os.ftruncate(fd, 100)
        terminal.wait(lambda lines: self.row_of(lines, os.getpid()) is None,
                      "no row of a page that was cut")
        self.quit(terminal)

    @staticmethod
    def page_of(process):
        directory = f"/proc/{process.pid}/fd"
        for fd in os.listdir(directory):
            path = os.path.join(directory, fd)
            if os.readlink(path).startswith("/memfd:usiw-stat"):
                with open(path, "rb") as file:
                    return bytearray(file.read())
        raise AssertionError("no page")


class Refused(Base):
    def run_top(self, *args, **how):
        return subprocess.run([USIW, "top", *args], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT, **how)

    def test_without_a_terminal(self):
        done = self.run_top()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("usiw stat --watch", done.stderr)

    def test_on_a_terminal_of_unknown_type(self):
        terminal = term.Terminal(
            ["env", "TERM=nonsense", USIW, "top"], env=environment())
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 1)
        self.assertIn("TERM=nonsense", " ".join(terminal.screen.text()))

    def test_processes_that_are_not_there(self):
        terminal = self.top("4194305")
        self.assertEqual(terminal.end(), 1)
        self.assertIn("there is none", "".join(terminal.screen.text()))

    def test_wrong_usage(self):
        for args in (("--nonsense",), ("x",), ("-d", "x"), ("-d", "0"), ("0",),
                     ("-d",), ("1", "2")):
            done = self.run_top(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("usiw: top: ", done.stderr)
            self.assertIn("Usage: usiw top", done.stderr)
        done = self.run_top("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Usage: usiw top", done.stdout)


if __name__ == "__main__":
    USIW, RESOURCES = (os.path.realpath(a) for a in sys.argv[1:3])
    del sys.argv[1:3]
    if not shutil.which("tic"):
        print("no tic (ncurses-bin)")
        sys.exit(77)
    unittest.main()
