#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The program of doc/debugging.md hangs, the commands of that page say why, and
with its mend it ends."""
import json
import os
import re
import signal
import subprocess

import harness
from harness import Test, check, main, wait_until

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                    "doc", "debugging.md")
POST = "b.post_recv("


def program_of_page():
    with open(PAGE, encoding="utf-8") as f:
        return re.search(r"^```python\n(.*?)^```$", f.read(),
                         re.M | re.S).group(1)


def start(test, text, name="program", command=()):
    path = os.path.join(test.directory, name + ".py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return test.start(name, [*command, harness.PYTHON, path],
                      usiw=not command)


def page_case(name):
    harness.need_pyverbs()
    return Test(name)


def said(*words):
    done = subprocess.run([harness.USIW, *words], capture_output=True,
                          text=True, timeout=60)
    check(done.returncode == 0, done.stderr)
    return done.stdout


def processes():
    return json.loads(said("stat", "--json"))["processes"]


def stat():
    with page_case("usiw stat") as test:
        program = start(test, program_of_page())

        def waits():
            """A message without a receive, and a program that waits."""
            for process in processes():
                if process["pid"] != program.pid or not process["cqs"]:
                    continue
                cq = process["cqs"][0]
                qps = sorted(process["qps"], key=lambda qp: qp["rnr_waiting"])
                return (len(qps) == 2 and qps[1]["rnr_waiting"] == 1
                        and cq["unpolled"] == 0 and cq["armed"] == "any"
                        and qps)
            return None
        sender, receiver = wait_until(waits, 20, "a program that hangs")
        check(sender["sq_outstanding"] > 0, f"{sender}")
        check(receiver["rq_posted"] == 0, f"{receiver}")
        table = said("stat", str(program.pid))
        check(re.search(r" 0/4 +- +1 ", table), table)
        program.stop()


def is_of(command, pid):
    """It has the session that each program of a test begins."""
    try:
        return os.getsid(pid) == command.pid
    except ProcessLookupError:
        return False


def said_by(name):
    """What the command says of the program, which is interrupted when it
    hangs."""
    with page_case(f"usiw {name}") as test:
        command = start(test, program_of_page(),
                        command=[harness.USIW, name, "--"])

        def hangs():
            for process in processes():
                if is_of(command, process["pid"]) and any(
                        qp["rnr_waiting"] for qp in process["qps"]):
                    return process["pid"]
            return None
        os.kill(wait_until(hangs, 20, "a program that hangs"), signal.SIGINT)
        command.wait(30, codes=None)
        return command.text()


def trace():
    text = said_by("trace")
    check(text.count("ibv_post_recv(") == 1, text)
    check(text.count("ibv_post_send(") == 2, text)
    check(text.count("opcode=IBV_WC_RECV") == 1, text)


def finding():
    text = said_by("check")
    check("dereg-in-use" in text, text)


def mended():
    with page_case("mended") as test:
        text = program_of_page()
        line = next(line for line in text.split("\n") if line.startswith(POST))
        start(test, text.replace(line, f"{line}\n{line}")).wait(20)


main([("stat", stat), ("trace", trace), ("check", finding),
      ("mended", mended)])
