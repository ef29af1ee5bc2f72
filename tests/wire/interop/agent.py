# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The suite's agent in the guest: connects to the host, then runs the commands
that it gets.

One JSON object a line each way: {"op": ...} and its answer. An answer with
"error" is a bug of the suite, not a result.
"""
import base64
import json
import os
import signal
import socket
import subprocess
import sys


class Agent:
    def __init__(self):
        self.running = {}
        self.count = 0

    def spawn(self, argv, env=None):
        self.count += 1
        path = f"/tmp/agent.{self.count}"
        with open(path, "wb") as output:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, **(env or {})})
        self.running[self.count] = (process, path)
        return self.count

    @staticmethod
    def text(path):
        with open(path, "rb") as f:
            return f.read()[-60000:].decode(errors="replace")

    @staticmethod
    def stack(pid):
        with open(f"/proc/{pid}/stack") as f:
            return f.read()

    def start(self, argv, env=None):
        return {"id": self.spawn(argv, env)}

    def look(self, id):
        process, path = self.running[id]
        return {"code": process.poll(), "text": self.text(path)}

    def end(self, id, timeout=0.0):
        """Waits this long, then kills; code is None if it had to be killed."""
        process, path = self.running.pop(id)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                return {"code": None, "text": self.text(path) +
                        "\nunkillable, its stack in the kernel:\n" +
                        self.stack(process.pid)}
        answer = {"code": code, "text": self.text(path)}
        os.unlink(path)
        return answer

    def run(self, argv, timeout=30.0, env=None):
        return self.end(self.spawn(argv, env), timeout)

    def listening(self, port):
        found = False
        for table in ("tcp", "tcp6"):
            with open(f"/proc/net/{table}") as f:
                for row in f.readlines()[1:]:
                    field = row.split()
                    found |= field[3] == "0A" and \
                        int(field[1].rsplit(":", 1)[1], 16) == port
        return {"yes": found}

    def read(self, path):
        with open(path, "rb") as f:
            return {"octets": base64.b64encode(f.read()).decode()}


def main():
    agent = Agent()
    operations = {n: getattr(agent, n) for n in
                  ("start", "look", "end", "run", "listening", "read")}
    link = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)
    link.settimeout(None)
    lines = link.makefile("rw")
    for line in lines:
        order = json.loads(line)
        try:
            answer = operations[order.pop("op")](**order)
        except (OSError, KeyError, TypeError, ValueError) as e:
            answer = {"error": repr(e)}
        lines.write(json.dumps(answer) + "\n")
        lines.flush()


main()
