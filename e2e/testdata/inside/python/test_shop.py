import asyncio
import http.client
import http.server
import multiprocessing
import os
import signal
import socket
import socketserver
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"hello from {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def double(n):
    return 2 * n


def put(queue, lock):
    with lock:
        queue.put(os.getpid())


class Servers(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def get(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10).read().decode()

    def test_urllib(self):
        self.assertEqual(self.get("/a"), "hello from /a")

    def test_localhost(self):
        c = http.client.HTTPConnection("localhost", self.port, timeout=10)
        c.request("GET", "/b")
        self.assertEqual(c.getresponse().read(), b"hello from /b")

    def test_many(self):
        with ThreadPoolExecutor(32) as pool:
            got = list(pool.map(lambda i: self.get(f"/{i}"), range(100)))
        self.assertEqual(got, [f"hello from /{i}" for i in range(100)])

    def test_source_address(self):
        with socket.create_connection(("127.0.0.1", self.port), 10, ("127.0.0.1", 0)) as c:
            self.assertEqual(c.getsockname()[0], "127.0.0.1")

    def test_options_and_nonblocking(self):
        c = socket.socket()
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        c.settimeout(5)
        self.assertEqual(c.connect_ex(("127.0.0.1", self.port)), 0)
        c.sendall(b"GET /c HTTP/1.0\r\n\r\n")
        text = b""
        while more := c.recv(4096):
            text += more
        self.assertTrue(text.endswith(b"hello from /c"))
        self.assertNotEqual(c.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 0)
        c.close()


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_streams(self):
        async def echo(reader, writer):
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        path = os.path.join(tempfile.mkdtemp(), "echo.sock")
        for server, connect in (
            (await asyncio.start_server(echo, "localhost", 0), None),
            (await asyncio.start_unix_server(echo, path), path),
        ):
            async with server:
                if connect:
                    r, w = await asyncio.open_unix_connection(path)
                else:
                    r, w = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
                w.write(b"hello\n")
                self.assertEqual(await r.readline(), b"hello\n")
                w.close()

    async def test_process(self):
        p = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        out, _ = await p.communicate(b"through a pipe")
        self.assertEqual(out, b"through a pipe")


class Processes(unittest.TestCase):
    def test_start_methods(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                context = multiprocessing.get_context(method)
                queue, lock = context.Queue(), context.Lock()
                all = [context.Process(target=put, args=(queue, lock)) for _ in range(3)]
                for p in all:
                    p.start()
                self.assertEqual(len({queue.get(timeout=30) for _ in all}), 3)
                for p in all:
                    p.join()

    def test_pool_and_manager(self):
        with ProcessPoolExecutor(2) as pool:
            self.assertEqual(list(pool.map(double, range(5))), [0, 2, 4, 6, 8])
        with multiprocessing.Manager() as manager:
            shared = manager.dict(a=1)
            self.assertEqual(shared["a"], 1)

    def test_shared_memory(self):
        from multiprocessing import shared_memory

        block = shared_memory.SharedMemory(create=True, size=16)
        block.buf[0] = 7
        other = shared_memory.SharedMemory(block.name)
        self.assertEqual(other.buf[0], 7)
        other.close()
        block.close()
        block.unlink()

    def test_kill(self):
        p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        os.killpg(p.pid, signal.SIGTERM)
        self.assertEqual(p.wait(), -signal.SIGTERM)

    def test_terminal(self):
        import pty

        pid, fd = pty.fork()
        if pid == 0:
            os.execvp("tty", ["tty"])
        self.assertTrue(os.read(fd, 100).startswith(b"/dev/pts/"))
        os.waitpid(pid, 0)


class Files(unittest.TestCase):
    def test_database(self):
        for where in ("shop.db", os.path.join(tempfile.mkdtemp(), "shop.db")):
            with sqlite3.connect(where) as db:
                db.execute("pragma journal_mode=wal")
                db.execute("create table a (b)")
                db.execute("insert into a values (1)")
            self.assertEqual(db.execute("select b from a").fetchall(), [(1,)])

    def test_links_and_moves(self):
        a, b = tempfile.mkdtemp(), tempfile.mkdtemp(dir=".")
        open(a + "/x", "w").close()
        os.link(a + "/x", a + "/y")
        os.symlink("x", a + "/z")
        os.mkfifo(a + "/f")
        os.rename(a + "/y", a + "/w")
        os.mkdir(b + "/from")
        os.mkdir(b + "/to")
        open(b + "/from/x", "w").close()
        os.rename(b + "/from/x", b + "/to/x")
        os.link(b + "/to/x", b + "/from/y")


class Network(unittest.TestCase):
    def test_names(self):
        self.assertIn(socket.gethostbyname("localhost"), ("127.0.0.1", "::1"))
        self.assertTrue(any(name == "lo" for _, name in socket.if_nameindex()))

    def test_outside_is_refused_at_once(self):
        with self.assertRaises(OSError):
            socket.create_connection(("192.0.2.1", 80), 5)
        with self.assertRaises(OSError):
            socket.getaddrinfo("shop.example.com", 80)
        with self.assertRaises(OSError):
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def test_trust_store(self):
        self.assertGreater(len(ssl.create_default_context().get_ca_certs()), 0)


if __name__ == "__main__":
    unittest.main()
