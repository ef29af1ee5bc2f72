#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_young_web_test.py [NAME...]: HTTP servers and proxies whose connections
begin as TCP, with SDP later."""
import os

import harness
from harness import check, free_port
from sdp_program import YoungTest, checksum, main

PYTHON = "/usr/bin/python3"
SIZE = 64 << 20
# It takes a second, whatever the machine does: SDP enters at its beginning.
CURL = ["curl", "-sf", "--max-time", 60, "--limit-rate", SIZE]


def fetch(test, port, wanted, words=(), clients=2):
    """Several curls at once."""
    running = [test.start(f"client-{i}", [
        *CURL, *words, f"http://127.0.0.1:{port}/payload"])
        for i in range(clients)]
    for client in running:
        client.wait(60)
        check(checksum(client.output_path) == wanted, "other octets came")


def http_server(test):
    """Return: its port."""
    port = free_port()
    test.start("origin", [
        PYTHON, "-m", "http.server", port, "--bind", "127.0.0.1",
        "--directory", test.directory]).wait_listening(port)
    return port


def static(name, program, words):
    """A server of files. words(test, port): its arguments."""
    with YoungTest(f"{name} and curl") as test:
        harness.need("curl", program)
        _, wanted = test.payload(SIZE)
        port = free_port()
        server = test.start("server", [program, *words(test, port)])
        server.wait_listening(port)
        fetch(test, port, wanted)
        test.demand_sdp(2 * SIZE)


LIGHTTPD = """
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{d}/error"
server.upload-dirs = ( "{d}" )
"""


def lighttpd():
    static("lighttpd", "/usr/sbin/lighttpd", lambda test, port: [
        "-D", "-f", test.file("conf", LIGHTTPD.format(
            root=test.directory, port=port, d=test.folder("lighttpd")))])


def php():
    static("PHP's web server", "php", lambda test, port: [
        "-S", f"127.0.0.1:{port}", "-t", test.directory])


def webrick():
    static("Ruby's WEBrick", "ruby", lambda test, port: [
        "-run", "-e", "httpd", test.directory, "-p", str(port), "-b",
        "127.0.0.1"])


GUNICORN = """
def echo(environ, start):
    data = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    start("200 OK", [("Content-Length", str(len(data)))])
    return [data]
"""


def gunicorn(kind):
    """Processes that accept from one listener."""
    with YoungTest(f"gunicorn ({kind}) and curl, both ways") as test:
        harness.need("curl", "gunicorn")
        path, wanted = test.payload(SIZE)
        test.file("app.py", GUNICORN)
        port = free_port()
        server = test.start("server", [
            "gunicorn", "-b", f"127.0.0.1:{port}", "-w", 2, "-k", kind,
            "--worker-tmp-dir", test.folder("run"), "--pythonpath",
            test.directory, "app:echo"], env={"PYTHONDONTWRITEBYTECODE": "1"})
        server.wait_listening(port)
        client = test.run("client", [
            *CURL, "--data-binary", f"@{path}", f"http://127.0.0.1:{port}/"],
            timeout=60)
        check(checksum(client.output_path) == wanted, "other octets came")
        test.demand_sdp(2 * SIZE)


SQUID = """
http_port 127.0.0.1:{port}
http_access allow all
cache deny all
access_log none
cache_log {d}/log
pid_filename {d}/pid
coredump_dir {d}
netdb_filename none
pinger_enable off
visible_hostname localhost
dns_nameservers 127.0.0.1
shutdown_lifetime 0 seconds
"""


def squid():
    with YoungTest("squid between http.server and curl, GET and "
                   "CONNECT") as test:
        program = "/usr/sbin/squid"
        harness.need("curl", program)
        _, wanted = test.payload(SIZE)
        behind, port = http_server(test), free_port()
        proxy = test.start("proxy", [program, "-N", "-f", test.file(
            "conf", SQUID.format(port=port, d=test.folder("squid")))])
        proxy.wait_listening(port)
        through = ["--noproxy", "", "-x", f"http://127.0.0.1:{port}"]
        for words in (through, [*through, "-p"]):
            fetch(test, behind, wanted, words, clients=1)
        test.demand_sdp(4 * SIZE)


STUNNEL = """
foreground = yes
pid =
syslog = no
[one]
client = {client}
accept = 127.0.0.1:{port}
connect = 127.0.0.1:{to}
"""


def stunnel():
    """TLS between two of them. A thread for each connection."""
    with YoungTest("stunnel to stunnel between http.server and curl") as test:
        harness.need("curl", "stunnel", "openssl")
        _, wanted = test.payload(SIZE)
        key = os.path.join(test.directory, "key")
        certificate = os.path.join(test.directory, "certificate")
        test.certify(key, certificate)
        to = http_server(test)
        for client in ("no", "yes"):
            port = free_port()
            text = STUNNEL.format(client=client, port=port, to=to)
            if client == "no":
                text += f"cert = {certificate}\nkey = {key}\n"
            else:
                text += f"verifyChain = yes\nCAfile = {certificate}\n"
            test.start(f"stunnel-{client}", ["stunnel", test.file(
                f"conf-{client}", text)]).wait_listening(port)
            to = port
        fetch(test, port, wanted)
        test.demand_sdp(3 * 2 * SIZE)


main([
    ("lighttpd", lighttpd), ("php", php), ("webrick", webrick),
    ("gunicorn-sync", lambda: gunicorn("sync")),
    ("gunicorn-gthread", lambda: gunicorn("gthread")),
    ("squid", squid), ("stunnel", stunnel),
])
