"""https_server.py - a web server for tests: good, broken and hostile, on this host only

usage: https_server.py DIR

Serves DIR/www over TLS with each certificate DIR/NAME.pem and over plain HTTP, each on a
port of its own; writes "NAME PORT" lines to DIR/ports when all are open. Ends when stdin
does.

The first component of a path says how the rest is answered: HOW or HOW:FILE, which does
so only to that file and serves the others well. What was asked for is appended to
DIR/log.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import glob
import http.server
import os
import socket
import ssl
import sys
import threading
import time

TOP = sys.argv[1]
PORTS = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def begin(self, status, **headers):
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def go(self, where, status=302):
        self.begin(status, Location=where, Content_Length=6)
        self.wfile.write(b"moved\n")

    def do_GET(self):
        with open(TOP + "/log", "a", encoding="ascii") as log:
            log.write(self.path + "\n")
        how, _, rest = self.path[1:].partition("/")
        how, _, only = how.partition(":")
        if only and os.path.basename(rest) != only:
            how = "good"
        try:
            with open(os.path.join(TOP, "www", rest), "rb") as file:
                body = file.read()
        except OSError:
            self.begin(404, Content_Length=0)
            return
        try:
            getattr(self, "answer_" + how.replace("-", "_"))(rest, body)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def answer_good(self, rest, body):
        self.begin(200, Content_Length=len(body))
        self.wfile.write(body)

    def answer_unsized(self, rest, body):
        """Right, but its end is the connection's."""
        self.begin(200)
        self.wfile.write(body)

    def answer_truncated(self, rest, body):
        self.begin(200, Content_Length=len(body))
        self.wfile.write(body[:len(body) // 2])

    def answer_shorter(self, rest, body):
        self.answer_good(rest, body[:-1])

    def answer_changed(self, rest, body):
        self.answer_good(rest, bytes([body[0] ^ 1]) + body[1:])

    def answer_closed(self, rest, body):
        self.close_connection = True

    def answer_reset(self, rest, body):
        """Half of the body, and then the connection is gone."""
        self.begin(200, Content_Length=len(body))
        self.wfile.write(body[:len(body) // 2])
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.close()

    def answer_declared(self, rest, body):
        self.begin(200, Content_Length=10 ** 10)
        self.wfile.write(body)

    def answer_endless(self, rest, body):
        self.begin(200)
        for _ in range(10 ** 4):
            self.wfile.write(b" " * 65536)

    def answer_drip(self, rest, body):
        self.begin(200, Content_Length=len(body))
        for _ in range(300):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.1)

    def answer_silent(self, rest, body):
        time.sleep(30)

    def answer_headers(self, rest, body):
        self.send_response(200)
        for i in range(1000):
            self.send_header("X-%d" % i, "x" * 200)
        self.end_headers()

    def answer_error(self, rest, body):
        self.begin(503, Content_Length=6)
        self.wfile.write(b"sorry\n")

    def answer_partial(self, rest, body):
        self.begin(206, Content_Length=len(body))
        self.wfile.write(body)

    def answer_unmodified(self, rest, body):
        self.begin(304)

    def answer_moved(self, rest, body):
        self.go("https://127.0.0.1:%d/good/%s" % (PORTS["good"], rest), 301)

    def answer_moved_relative(self, rest, body):
        self.go("/good/" + rest, 307)

    def answer_moved_thrice(self, rest, body):
        self.go("/moved-twice/" + rest)

    def answer_moved_twice(self, rest, body):
        self.go("/moved-relative/" + rest)

    def answer_moved_often(self, rest, body):
        self.go("/moved-thrice/" + rest)

    def answer_moved_round(self, rest, body):
        self.go(self.path)

    def answer_moved_host(self, rest, body):
        self.go("https://localhost:%d/good/%s" % (PORTS["good"], rest))

    def answer_moved_port(self, rest, body):
        self.go("https://127.0.0.1:%d/good/%s" % (PORTS["second"], rest))

    def answer_moved_plain(self, rest, body):
        self.go("http://127.0.0.1:%d/good/%s" % (PORTS["plain"], rest))

    def answer_moved_plain_port(self, rest, body):
        self.go("http://127.0.0.1:%d/good/%s" % (PORTS["good"], rest))

    def answer_moved_file(self, rest, body):
        self.go("file://%s/www/%s" % (TOP, rest))

    def answer_moved_user(self, rest, body):
        self.go("https://me:secret@127.0.0.1:%d/good/%s" % (PORTS["good"], rest))

    def answer_moved_nowhere(self, rest, body):
        self.begin(302, Content_Length=0)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def serve(name, context):
    server = Server(("127.0.0.1", 0), Handler)
    if context:
        # The handshake is for the thread of the connection.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    PORTS[name] = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    for path in sorted(glob.glob(TOP + "/*.pem")):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        serve(os.path.basename(path)[:-4], context)
    serve("plain", None)
    with open(TOP + "/ports.new", "w", encoding="ascii") as out:
        for name, port in PORTS.items():
            out.write("%s %d\n" % (name, port))
    os.rename(TOP + "/ports.new", TOP + "/ports")
    sys.stdin.read()


main()
