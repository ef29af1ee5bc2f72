#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""guest.py: a guest that goes away is named as what it is."""
import os
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from guest import Failure, Guest  # noqa: E402


class Gone(Guest):
    """A guest that was there, and whose machine ends."""

    def __enter__(self):
        self.lab = subprocess.Popen(["true"])
        with open(os.path.join(self.directory, "lab"), "w",
                  encoding="utf-8") as stream:
            stream.write("kernel panic\n")
        self.output = open(os.devnull, "wb")
        self.link, peer = socket.socketpair()
        self.lines = self.link.makefile("rw")
        peer.close()
        return self


class GuestTest(unittest.TestCase):
    def test_the_error_of_a_question_stays(self):
        with tempfile.TemporaryDirectory() as place:
            with self.assertRaisesRegex(Failure, "the guest does not answer"):
                with Gone("user", place) as guest:
                    guest.ask("run", argv=["true"])


if __name__ == "__main__":
    unittest.main()
