#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fork: a child does not keep a stream alive, and may use verbs itself."""
import os
import re
import signal

import harness
import rping
from harness import BUILD, Test, check

FORK_STREAM = os.path.join(BUILD, "bin", "apps-fork-stream")
FORK_EXEC = os.path.join(BUILD, "bin", "apps-fork-exec")
CHILD_SAYS = ("post", "poll", "reg", "disconnect", "devices", "fresh")


def death_of_the_parent():
    with Test("parent killed, child lives") as test:
        port = harness.free_port()
        server = test.start("server", [FORK_STREAM, "-s", port])
        server.wait_listening(port)
        client = test.start("client", [FORK_STREAM, "-c", port])
        server.wait_text(re.compile("^received$", re.M))
        child = int(client.wait_text(
            re.compile(r"^child (\d+)$", re.M)).group(1))
        for what in CHILD_SAYS:
            check(re.search(rf"^{what} 1$", client.text(), re.M),
                  f"in the child: {what}")
        check(server.process.poll() is None,
              "the peer noticed something before the death")
        client.signal(signal.SIGKILL)
        client.wait(5, codes=(-signal.SIGKILL,))
        server.wait(5)
        with open(f"/proc/{child}/status") as f:
            check("State:\tZ" not in f.read(), "the child died as well")


def rping_in_a_child():
    with Test("rping in a child of a process that uses verbs") as test:
        rping.pair(test, 200, 64, program=(FORK_EXEC, "rping"))


def serve_after_fork(mode):
    """A server accepts a stream after its parent has ended, or while its
    parent waits."""
    port = harness.free_port()
    with Test(f"server {mode}") as test:
        server = test.start("server", [FORK_STREAM, mode, port])
        if mode != "-w":
            server.wait(20)
            harness.wait_until(lambda: harness.is_listening(port), 20,
                               "the daemon to listen")
        else:
            harness.wait_until(lambda: harness.is_listening(port), 20,
                               "the child to listen")
        client = test.start("client", [FORK_STREAM, "-c", port])
        client.wait_text(re.compile(r"^child (\d+)$", re.M))
        client.signal(signal.SIGKILL)
        client.wait(5, codes=(-signal.SIGKILL,))
        harness.wait_until(
            lambda: re.search(r"^gone RDMA_CM_EVENT_DISCONNECTED$",
                              server.text(), re.M), 20,
            "the server to have served")


harness.main([("daemon", lambda: serve_after_fork("-d")),
              ("daemon-poll", lambda: serve_after_fork("-p")),
              ("daemon-epoll", lambda: serve_after_fork("-e")),
              ("daemon-channel", lambda: serve_after_fork("-l")),
              ("verbs-in-child", lambda: serve_after_fork("-w")),
              ("parent-killed", death_of_the_parent),
              ("rping-in-child", rping_in_a_child)])
