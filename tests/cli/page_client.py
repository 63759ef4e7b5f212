"""A browser's side of `pergola view` in a few lines: HTTP and WebSockets (RFC 6455) over a socket."""

import base64
import http.client
import json
import os
import socket
import struct
import subprocess
import urllib.parse

from harness import PROGRAM


class Page:
    """`pergola view DIR` (or any other command that prints {"url": …} first), until the end of a with block."""

    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, "--json", *map(str, args)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        lines = ""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(self.process.stderr.read())
            lines += line
            try:
                self.place = json.loads(lines)
                break
            except json.JSONDecodeError:
                pass
        self.url = urllib.parse.urlsplit(self.place["url"])

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.terminate()
        self.process.communicate(timeout=60)

    def get(self, target=None, **headers):
        """Status and body of a GET."""
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)
        headers = {name.capitalize(): value for name, value in headers.items()}
        connection.request("GET", target if target is not None else f"/?{self.url.query}", headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def socket(self, query=None, **headers):
        return WebSocket(self.url, self.url.query if query is None else query, headers)


class LivePage(Page):
    """`pergola run …` with a page, which the program names on stderr, until the end of a with block."""

    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, "--quiet", "run", *map(str, args)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        while "http://" not in line:
            if not line:
                raise AssertionError(f"the run has ended with {self.process.wait()}")
            line = self.process.stderr.readline()
        self.url = urllib.parse.urlsplit(line[line.index("http://"):].strip())

    def end(self):
        """Asks the run to end; its exit code."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


class WebSocket:
    def __init__(self, url, query, headers):
        self.connection = socket.create_connection((url.hostname, url.port), timeout=60)
        headers = {"Host": f"{url.hostname}:{url.port}", "Upgrade": "websocket", "Connection": "Upgrade",
                   "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Version": "13",
                   **{name.capitalize(): value for name, value in headers.items()}}
        text = f"GET /socket?{query} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        self.connection.sendall(text.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = self.connection.recv(1)
            if not piece:
                break
            answer += piece
        self.status = int(answer.split()[1])

    def send(self, payload, opcode=1):
        mask = os.urandom(4)
        payload = payload.encode() if isinstance(payload, str) else payload
        size = len(payload)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        self.connection.sendall(head + mask + bytes(b ^ mask[k % 4] for k, b in enumerate(payload)))

    def exactly(self, count):
        got = b""
        while len(got) < count:
            piece = self.connection.recv(count - len(got))
            if not piece:
                raise ConnectionError("closed")
            got += piece
        return got

    def receive(self):
        """(opcode, payload) of the next message; fragments are put together."""
        payload, kind = b"", None
        while True:
            first, second = self.exactly(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.exactly(8))[0]
            payload += self.exactly(size)
            kind = first & 15 if kind is None else kind
            if first & 0x80:
                return kind, payload

    def ask(self, **question):
        """The JSON of the answer, or its bytes."""
        self.send(json.dumps(question))
        kind, payload = self.receive()
        return json.loads(payload) if kind == 1 else payload

    def close(self):
        self.connection.close()


def points(message):
    """Header, and places as a list of (x, y, z), of a message of points."""
    assert message[:4] == b"PGV1"
    length = struct.unpack("<I", message[4:8])[0]
    header = json.loads(message[8:8 + length])
    words = struct.unpack(f"<{4 * header['count']}H", message[8 + length:])
    places = [tuple(header["corner"][k] + words[4 * i + k] / 65535 * header["side"][k] for k in range(3))
              for i in range(header["count"])]
    return header, places


def picture(message):
    """The header of a picture of the density, and the level of each pixel, row by row from the top."""
    assert message[:4] == b"PGD1", message[:4]
    length, = struct.unpack("<I", message[4:8])
    header = json.loads(message[8:8 + length])
    levels = list(message[8 + length:])
    assert len(levels) == header["width"] * header["height"]
    return header, levels


def from_above(reach, pixels):
    """A camera far above the origin that sees -reach to reach, x to the right and y up: depths are all alike."""
    rows = [1 / reach, 0, 0, 0, 0, 1 / reach, 0, 0, 0, 0, 0, 1, 1]
    return {"camera": " ".join(map(str, rows)), "width": pixels, "height": pixels}
