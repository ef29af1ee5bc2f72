#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The stock `rdma` tool lists the objects and the counters of other
processes, and sysfs has the sums of their counters.

The script runs itself inside `unshare -Urnm`: no other test's processes have
the devices of its network namespace.
"""
import functools
import json
import re
import subprocess
import sys

import harness
import perftest
from harness import Test, check, need, wait_until

# With and without a file for the counter page.
IN_FILE = {}
IN_MEMORY = {"USIW_STAT_DIR": ""}
QPS = 2
WRITE = ["ib_write_bw", "-d", "usiw_lo", "-x", "0", "-q", str(QPS), "-D",
         "1000"]
ENDLESS = "100000000"


def rdma(test, *words, env=None):
    """The rows that rdma -j prints."""
    program = test.start("rdma", ["rdma", "-j", *words], env=env)
    program.wait(30)
    text = program.text().strip()
    return json.loads(text) if text else []


def res(test, kind, *words, env=None):
    return rdma(test, "resource", "show", kind, *words, env=env)


def write_pair(test, env):
    """Server and client that write until they are stopped, when both have
    moved something."""
    port = str(harness.free_port())
    server = test.start("server", [*WRITE, "-p", port], env=env)
    server.wait_listening(int(port))
    client = test.start("client", [*WRITE, "-p", port, "127.0.0.1"], env=env)

    def writes():
        return [row for row in rdma(test, "statistic", "qp", "show", env=env)
                if row["pid"] == client.pid and row["tx_write_octets"] > 0]
    wait_until(lambda: len(writes()) == QPS, 30, "writes of each queue pair")
    return server, client


def of(rows, pid):
    return [row for row in rows if row["pid"] == pid]


def queues(env):
    """ib_write_bw: everything that both processes have."""
    with Test("rdma resource show, beside ib_write_bw") as test:
        pair = write_pair(test, env)
        sums = rdma(test, "resource", "show", "usiw_lo", env=env)[0]
        check(sums["ifname"] == "usiw_lo" and
              (sums["qp"], sums["ctx"], sums["cm_id"]) == (2 * QPS, 2, 0) and
              min(sums[kind] for kind in ("pd", "cq", "mr")) >= 2, f"{sums}")
        qps = res(test, "qp", env=env)
        for program, other in pair, reversed(pair):
            own = of(qps, program.pid)
            check([(q["type"], q["state"], q["comm"], q["port"], q["ifname"])
                   for q in own] ==
                  [("RC", "RTS", "ib_write_bw", 1, "usiw_lo")] * QPS,
                  f"{own}")
            check({q["rqpn"] for q in own} ==
                  {q["lqpn"] for q in of(qps, other.pid)}, f"{qps}")
        pid = pair[1].pid
        pds, cqs, mrs, ctxs = (of(res(test, kind, env=env), pid)
                               for kind in ("pd", "cq", "mr", "ctx"))
        check([c["ctxn"] for c in ctxs] == [pds[0]["ctxn"]], f"{ctxs}, {pds}")
        # what perftest makes: one domain for queue pairs and region
        used = [p for p in pds if p["users"]]
        check([(p["users"], p["comm"]) for p in used] ==
              [(QPS + 1, "ib_write_bw")], f"{pds}")
        check({q["pdn"] for q in of(qps, pid)} == {used[0]["pdn"]}, f"{qps}")
        check(sum(c["users"] for c in cqs) == 2 * QPS, f"{cqs}")
        check([m["pdn"] for m in mrs] == [used[0]["pdn"]] and
              mrs[0]["mrlen"] >= QPS * 65536, f"{mrs}")


def filters(env):
    """What the tool filters itself, and what it asks the kernel for."""
    with Test("rdma resource show, with filters") as test:
        pid = write_pair(test, env)[1].pid
        qps = res(test, "qp", env=env)
        num = of(qps, pid)[0]["lqpn"]
        for words, expected in (
                (("link", "usiw_lo/1"), qps),
                (("link", "usiw_lo/1", "lqpn", str(num)),
                 [q for q in qps if q["lqpn"] == num]),
                (("link", "usiw_lo/1", "pid", str(pid)), of(qps, pid)),
                (("state", "RTS"), qps),
                (("state", "INIT"), [])):
            got = res(test, "qp", *words, env=env)
            check(got == expected, f"{words}: {got}, not {expected}")
        # Both processes have one of these numbers.
        ctxs = res(test, "ctx", env=env)
        got = res(test, "ctx", "dev", "usiw_lo", "ctxn",
                  str(ctxs[0]["ctxn"]), env=env)
        check(got == ctxs, f"{got}, not {ctxs}")
        detailed = of(rdma(test, "-dd", "resource", "show", "qp", env=env),
                      pid)
        check([q["drv_carrier"] for q in detailed] == ["tcp"] * QPS,
              f"{detailed}")
        check(all(re.fullmatch(r"127\.0\.0\.1:\d+", q["drv_peer"])
                  for q in detailed), f"{detailed}")
        plain = test.start("rdma", ["rdma", "resource", "show", "qp"], env=env)
        plain.wait(30)
        check(len(re.findall(rf"^link usiw_lo/1 lqpn \d+ .* pid {pid} comm "
                             r"ib_write_bw", plain.text(), re.M)) == QPS,
              plain.text())


def identities(env):
    """rping by rdma_cm: a listener, and both ends of a connection."""
    with Test("rdma resource show cm_id, beside rping") as test:
        port = harness.free_port()
        server = test.start("server", ["rping", "-s", "-p", port, "-C",
                                       ENDLESS], env=env)
        server.wait_listening(port)
        listener = of(res(test, "cm_id", env=env), server.pid)
        check([(i["state"], i["ps"], i["src-addr"].rpartition(":")[2])
               for i in listener] == [("LISTEN", "TCP", str(port))],
              f"{listener}")
        client = test.start("client", ["rping", "-c", "-a", "127.0.0.1", "-p",
                                       port, "-C", ENDLESS], env=env)

        def connected():
            ids = res(test, "cm_id", "state", "CONNECT", env=env)
            return ids if len(ids) == 2 and all("lqpn" in i for i in ids) \
                else None
        ids = wait_until(connected, 30, "two connected identities")
        ends = {i["pid"]: (i["src-addr"], i["dst-addr"]) for i in ids}
        check(ends[client.pid] == ends[server.pid][::-1] and
              ends[client.pid][1] == f"127.0.0.1:{port}", f"{ids}")
        qps = {q["lqpn"] for q in res(test, "qp", env=env)}
        check({i["lqpn"] for i in ids} == qps, f"{ids}, {qps}")
        found = res(test, "cm_id", "dst-port", str(port), env=env)
        check([i["pid"] for i in found] == [client.pid], f"{found}")


def ended(env):
    """The objects of a process go with it."""
    with Test("rdma resource show, after ib_write_bw") as test:
        pair = write_pair(test, env)
        for program in pair:
            program.stop()
        for kind in "qp", "cq", "pd", "mr", "ctx", "cm_id":
            check(res(test, kind, env=env) == [], kind)


def statistics(env):
    """The counters of the port are those of all its processes."""
    def port_row(test):
        return rdma(test, "statistic", "show", "link", "usiw_lo/1", env=env)[0]

    with Test("rdma statistic, beside ib_write_bw") as test:
        pid = write_pair(test, env)[1].pid
        row = rdma(test, "statistic", "qp", "show", "link", "usiw_lo/1",
                   "pid", str(pid), env=env)[0]
        check(row["tx_write_requests"] > 0 and row["rx_write_requests"] == 0,
              f"{row}")
        check(row["lqpn"] == [row["cntn"]], f"{row}")
        before = port_row(test)
        wait_until(lambda: port_row(test)["sent_pkts"] >
                   before["sent_pkts"], 30, "more packets of the port")
        octets = before["tx_inplace"] + before["tx_copied"]
        check(octets >= row["tx_write_octets"], f"{before}, {row}")
        program = test.start("cat", ["cat", "/sys/class/infiniband/usiw_lo/"
                                     "ports/1/counters/port_xmit_data"],
                             env=env)
        program.wait(30)
        check(int(program.text()) >= octets // 4, program.text())


REPORTED = re.compile(r"^\s*(\w+)/(\w+)=(\d+)$", re.M)


def reported():
    """perftest reads the port's counters before and after its writes. Both of
    its programs have the same port."""
    names = ["counters/port_xmit_data", "counters/port_rcv_data",
             "hw_counters/sent_pkts"]
    with Test("ib_write_bw --report-counters") as test:
        # Without -d it reports the counters of the first device, which the
        # connection does not use.
        perftest.pair(test, "ib_write_bw", [
            "-d", "usiw_lo", "-n", "1000",
            "--report-counters=" + ",".join(names)])
        client = {f"{m[0]}/{m[1]}": int(m[2]) for m in
                  REPORTED.findall(test.programs[-1].text())}
        check(sorted(client) == sorted(names), str(client))
        words = 1000 * 65536 // 4
        # and a few octets that the programs exchange
        for name in names[:2]:
            check(words <= client[name] < words + 8192, str(client))
        check(1000 <= client[names[2]] < 8000, str(client))


if __name__ == "__main__":
    harness.confine(__file__)
    try:
        need("rdma", "ib_write_bw", "rping")
        done = subprocess.run(["ip", "link", "set", "lo", "up"],
                              stderr=subprocess.PIPE, text=True)
        check(done.returncode == 0, done.stderr)
    except harness.Skip as e:
        print(f"skipped: {e}")
        sys.exit(harness.SKIP)
    cases = [(f"{f.__name__}-{place}",
              functools.partial(f, {**harness.WIRE, **env}))
             for f, env, place in (
                 (queues, IN_FILE, "file"), (queues, IN_MEMORY, "memory"),
                 (filters, IN_FILE, "file"), (identities, IN_FILE, "file"),
                 (ended, IN_FILE, "file"), (statistics, IN_FILE, "file"),
                 (statistics, IN_MEMORY, "memory"))]
    harness.main([*cases, ("reported", reported)])
