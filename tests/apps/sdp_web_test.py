#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_web_test.py [NAME...]: HTTP servers and proxies over SDP."""
import hashlib
import os
import re

import harness
from harness import check, free_port
from sdp_program import SIZE, SdpTest, checksum, main

PYTHON = "/usr/bin/python3"
MODULES = "/usr/lib/apache2/modules"
APACHE = """
ServerRoot {d}
ServerName localhost
PidFile {d}/pid
ErrorLog {d}/error
Listen 127.0.0.1:{port}
LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
DocumentRoot {root}
KeepAlive On
EnableSendfile On
"""


def fetch(test, port, path, wanted, clients=4, times=2):
    """Several curls at once, each several times on one connection."""
    command = ["curl", "-sf", *[f"http://127.0.0.1:{port}/{path}"] * times]
    running = [test.start(f"client-{i}", command) for i in range(clients)]
    for client in running:
        client.wait(60)
        with open(client.output_path, "rb") as f:
            for _ in range(times):
                check(hashlib.sha256(f.read(SIZE)).hexdigest() == wanted,
                      "other octets came")


def apache(mpm):
    with SdpTest(f"apache2 ({mpm}) and curl, 4 at once") as test:
        harness.need("curl")
        program = "/usr/sbin/apache2"
        if not os.path.exists(program):
            raise harness.Skip("apache2 is not installed")
        path, wanted = test.payload()
        port = free_port()
        settings = test.file("conf", APACHE.format(
            d=test.folder("apache"), port=port, mpm=mpm, modules=MODULES,
            root=test.directory))
        server = test.start("server", [program, "-D", "FOREGROUND", "-f",
                                       settings])
        server.wait_listening(port)
        fetch(test, port, os.path.basename(path), wanted)
        test.demand_sdp(8 * SIZE)


# haproxy gives up the right to make threads when it runs. With
# "insecure-fork-wanted" it keeps that right.
HAPROXY = """
global
	nbthread 2
	{word}
defaults
	mode {mode}
	timeout connect 60s
	timeout client 60s
	timeout server 60s
frontend front
	bind 127.0.0.1:{port}
	default_backend back
backend back
	server one 127.0.0.1:{behind}
"""


def proxied(test, mode, word):
    """Several curls at once, with haproxy between them and http.server."""
    harness.need("curl", "haproxy")
    path, wanted = test.payload()
    behind, port = free_port(), free_port()
    server = test.start("server", [
        PYTHON, "-m", "http.server", behind, "--bind", "127.0.0.1",
        "--directory", test.directory])
    server.wait_listening(behind)
    settings = test.file("conf", HAPROXY.format(
        mode=mode, port=port, behind=behind, word=word))
    proxy = test.start("proxy", ["haproxy", "-db", "-f", settings])
    proxy.wait_listening(port)
    fetch(test, port, os.path.basename(path), wanted, times=1)


def haproxy(mode):
    """Both of its sides are connections over SDP."""
    with SdpTest(f"haproxy (mode {mode}, insecure-fork-wanted) between "
                 "http.server and curl") as test:
        proxied(test, mode, "insecure-fork-wanted")
        test.demand_sdp(2 * 4 * SIZE)


def haproxy_default():
    """A process that cannot make threads: all of its connections use TCP."""
    with SdpTest("haproxy as it is between http.server and curl",
                 way="TCP") as test:
        proxied(test, "http", "")
        check(test.fallbacks(), "no log says that it went by TCP")


NGINX = """
daemon off; worker_processes 2; pid {d}/pid; error_log {d}/error;
events {{ worker_connections 256; }}
http {{
	access_log off; sendfile on; keepalive_requests 100000;
	client_body_temp_path {d}/t1; proxy_temp_path {d}/t2;
	fastcgi_temp_path {d}/t3; uwsgi_temp_path {d}/t4; scgi_temp_path {d}/t5;
	server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def wrk():
    """Many small answers at once, then a large one with a checksum."""
    with SdpTest("nginx, wrk with 50 connections, and 100 MiB by curl") as test:
        harness.need("wrk", "curl")
        if not os.path.exists("/usr/sbin/nginx"):
            raise harness.Skip("nginx is not installed")
        path, wanted = test.payload(100 << 20)
        test.file("small", "usiw" * 256)
        directory, port = test.folder("nginx"), free_port()
        settings = test.file("conf", NGINX.format(
            d=directory, port=port, root=test.directory))
        server = test.start("server", [
            "/usr/sbin/nginx", "-e", f"{directory}/error", "-c", settings])
        server.wait_listening(port)
        url = f"http://127.0.0.1:{port}"
        load = test.run("load", ["wrk", "-t", 2, "-c", 50, "-d", 2, "-T",
                                 "60s", f"{url}/small"], timeout=60)
        done = re.search(r"(\d+) requests in", load.text())
        check(done and int(done.group(1)) >= 50, "it did not end well")
        check(not re.search("Socket errors|Non-2xx", load.text()),
              "some requests failed")
        large = test.run("large", ["curl", "-sf", f"{url}/payload"],
                         timeout=120)
        check(checksum(large.output_path) == wanted, "other octets came")
        # Small answers in turns stay TCP.
        small = 0 if test.is_young else int(done.group(1)) * 1024
        test.demand_sdp((100 << 20) + small)


NODE_SERVER = """
const http = require("http"), crypto = require("crypto");
http.createServer((request, answer) => {
	const hash = crypto.createHash("sha256");
	const pieces = [];
	request.on("data", piece => { hash.update(piece); pieces.push(piece); });
	request.on("end", () => {
		answer.setHeader("sum", hash.digest("hex"));
		for (const piece of pieces)
			answer.write(piece);
		answer.end();
	});
}).listen(Number(process.argv[2]), "127.0.0.1");
"""
NODE_CLIENT = """
const http = require("http"), crypto = require("crypto");
const agent = new http.Agent({ keepAlive: true, maxSockets: 10 });
const COUNT = Number(process.argv[3]), data = crypto.randomBytes(1 << 20);
const wanted = crypto.createHash("sha256").update(data).digest("hex");

function ask() {
	return new Promise((resolve, reject) => {
		const hash = crypto.createHash("sha256");
		const request = http.request({ agent, method: "POST",
			host: "127.0.0.1", port: Number(process.argv[2]) }, answer => {
			answer.on("data", piece => hash.update(piece));
			answer.on("end", () => resolve(
				answer.headers.sum == wanted && hash.digest("hex") == wanted));
		});
		request.on("error", reject);
		request.end(data);
	});
}
Promise.all(Array.from({ length: COUNT }, ask)).then(answers => {
	console.log(answers.filter(x => x).length, "of", COUNT, "answers are good");
	agent.destroy();
});
"""


def node():
    with SdpTest("Node.js, http server and client, 10 at once") as test:
        harness.need("node")
        port, count = free_port(), 2 * SIZE >> 20
        server = test.start("server", [
            "node", test.file("server.js", NODE_SERVER), port])
        server.wait_listening(port, 60)
        client = test.run("client", [
            "node", test.file("client.js", NODE_CLIENT), port, count],
            timeout=60)
        check(f"{count} of {count} answers are good" in client.text(), "bad answers")
        test.demand_sdp(2 * count << 20)


JAVA = """
import com.sun.net.httpserver.HttpServer;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.util.*;
import java.util.concurrent.*;

public class Both {
	static final int COUNT = 8, SIZE = 1 << 20;

	// One thread, a selector and channels that do not block.
	static void echo(int port) throws Exception {
		Selector selector = Selector.open();
		ServerSocketChannel listener = ServerSocketChannel.open();
		listener.bind(new InetSocketAddress("127.0.0.1", port));
		listener.configureBlocking(false);
		listener.register(selector, SelectionKey.OP_ACCEPT);
		while (true) {
			selector.select();
			for (SelectionKey key : selector.selectedKeys()) {
				if (key.isAcceptable()) {
					SocketChannel peer = listener.accept();
					peer.configureBlocking(false);
					peer.register(selector, SelectionKey.OP_READ,
						ByteBuffer.allocate(65536));
					continue;
				}
				SocketChannel peer = (SocketChannel) key.channel();
				ByteBuffer buffer = (ByteBuffer) key.attachment();
				boolean ended = key.isReadable() && peer.read(buffer) < 0;
				buffer.flip();
				peer.write(buffer);
				boolean rest = buffer.hasRemaining();
				buffer.compact();
				if (ended && !rest)
					peer.close();
				else
					key.interestOps(rest ? SelectionKey.OP_WRITE
						: SelectionKey.OP_READ);
			}
			selector.selectedKeys().clear();
		}
	}

	static void serve(int port) throws Exception {
		HttpServer server = HttpServer.create(
			new InetSocketAddress("127.0.0.1", port), 0);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.createContext("/", exchange -> {
			byte[] data = exchange.getRequestBody().readAllBytes();
			exchange.sendResponseHeaders(200, data.length);
			try (OutputStream out = exchange.getResponseBody()) {
				out.write(data);
			}
		});
		server.start();
	}

	static byte[] random(int seed) {
		byte[] data = new byte[SIZE];
		new Random(seed).nextBytes(data);
		return data;
	}

	// java.net.Socket, two threads on one socket.
	static boolean stream(int port, int seed) throws Exception {
		byte[] data = random(seed);
		try (Socket socket = new Socket("127.0.0.1", port)) {
			Thread sender = new Thread(() -> {
				try {
					socket.getOutputStream().write(data);
					socket.shutdownOutput();
				} catch (IOException e) {
					e.printStackTrace();
				}
			});
			sender.start();
			byte[] back = socket.getInputStream().readAllBytes();
			sender.join();
			return Arrays.equals(back, data);
		}
	}

	static boolean http(HttpClient client, int port, int seed)
			throws Exception {
		byte[] data = random(seed);
		HttpRequest request = HttpRequest.newBuilder(
			URI.create("http://127.0.0.1:" + port + "/"))
			.POST(HttpRequest.BodyPublishers.ofByteArray(data)).build();
		return Arrays.equals(data, client.send(request,
			HttpResponse.BodyHandlers.ofByteArray()).body());
	}

	public static void main(String[] words) throws Exception {
		int first = Integer.parseInt(words[1]);
		int second = Integer.parseInt(words[2]);
		if (words[0].equals("server")) {
			serve(first);
			echo(second);
		}
		ExecutorService pool = Executors.newFixedThreadPool(COUNT);
		HttpClient client = HttpClient.newHttpClient();
		List<Future<Boolean>> answers = new ArrayList<>();
		for (int i = 0; i < COUNT; i++) {
			int seed = i;
			answers.add(pool.submit(() -> stream(second, seed)));
			answers.add(pool.submit(() -> http(client, first, seed)));
		}
		int good = 0;
		for (Future<Boolean> answer : answers)
			good += answer.get() ? 1 : 0;
		System.out.println(good + " of " + answers.size()
			+ " answers are good");
		System.exit(0);
	}
}
"""


def java():
    with SdpTest("Java: HttpServer and HttpClient, channels and sockets") as test:
        harness.need("java", "javac")
        source = test.file("Both.java", JAVA)
        classes = test.folder("classes")
        test.run("compile", ["javac", "-d", classes, source], usiw=False,
                 timeout=120)
        ports = [free_port(), free_port()]
        command = ["java", "-cp", classes, "Both"]
        server = test.start("server", command + ["server", *ports])
        for port in ports:
            server.wait_listening(port, 60)
        client = test.run("client", command + ["client", *ports], timeout=60)
        check("16 of 16 answers are good" in client.text(), "bad answers")
        test.demand_sdp(2 * 16 << 20)


main([
    ("apache-prefork", lambda: apache("prefork")),
    ("apache-event", lambda: apache("event")),
    ("haproxy-http", lambda: haproxy("http")),
    ("haproxy-tcp", lambda: haproxy("tcp")),
    ("haproxy-default", haproxy_default),
    ("wrk", wrk), ("node", node), ("java", java),
])
