"""A viewer of gausscope.attach() in Python, for its tests."""
import importlib.util
import os
import select
import socket
import struct
import tempfile
import unittest
import zlib
from unittest import mock

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed")

import gausscope

HAVE_TORCH = importlib.util.find_spec("torch") is not None
RECORD = struct.Struct("=4sHHQQQ8d416s")
HELLO, PARAMETER, STEP, VALUE, SNAPSHOT, GOODBYE, CAPTURE = range(1, 8)
WANT, RELEASE, RUN_TO, SET = range(16, 20)
NEVER = 2**64 - 1


def gaussians(count=5, bases=4, seed=1):
    g = np.random.default_rng(seed)
    return {"means": g.normal(size=(count, 3)), "quats": g.normal(size=(count, 4)), "scales": g.uniform(0.1, 1, (count, 3)),
            "opacities": g.uniform(0.1, 0.9, count), "sh": g.normal(size=(count, bases, 3))}


class Looker:
    """A viewer, as the program is one."""

    def __init__(self, pid=None, folder=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = folder or os.environ["GAUSSCOPE_RUNTIME_DIR"]
        self.socket.connect(os.path.join(folder, f"{pid or os.getpid()}.training"))
        self.socket.setblocking(False)

    def __del__(self):
        self.socket.close()

    def send(self, kind, a=0, text="", value=0.0):
        self.socket.send(RECORD.pack(b"GSTR", 1, kind, 0, a, 0, value, *[0.0] * 7, text.encode()))

    def receive(self, wait=False):
        """All records that are there; of a snapshot with its descriptor. `wait`: for at least one."""
        out = []
        while True:
            if wait and not out:
                select.select([self.socket], [], [], 60)
            try:
                data, rights, _, _ = self.socket.recvmsg(RECORD.size, 64)
            except BlockingIOError:
                return out
            except ConnectionResetError:  # once, where it had not read everything; what it sent is there
                continue
            if not data:
                return [*out, None]
            magic, version, kind, step, a, b, *values, text = RECORD.unpack(data)
            assert (magic, version) == (b"GSTR", 1)
            memory = struct.unpack("i", rights[0][2])[0] if rights else -1
            out.append({"kind": kind, "step": step, "a": a, "b": b, "values": values, "memory": memory,
                        "text": text.split(b"\0")[0].decode()})

    def of(self, kind):
        return [record for record in self.receive() if record and record["kind"] == kind]


def write_png(path, image):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def rows_of(record, *widths):
    """A snapshot's arrays, one behind the other."""
    out, offset = [], 0
    for width in widths:
        data = os.pread(record["memory"], 4 * record["a"] * width, offset)
        out.append(np.frombuffer(data, np.float32).reshape(record["a"], width))
        offset += len(data)
    return out


class Attached(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "run")
        patch = mock.patch.dict(os.environ, {"GAUSSCOPE_RUNTIME_DIR": self.folder})
        patch.start()
        self.addCleanup(patch.stop)
        pace = mock.patch("gausscope.viewer._PIECE_S", 0)  # each step looks
        pace.start()
        self.addCleanup(pace.stop)

    def attach(self, **options):
        viewer = gausscope.attach(**options)
        self.addCleanup(viewer.close)
        return viewer

    def looked_at(self, viewer, **args):
        """A viewer that has got the snapshot of one step."""
        looker = Looker()
        looker.send(WANT)
        viewer.seconds = 0
        viewer.step(1, 0.5, **(args or gaussians()))
        return looker, looker.of(SNAPSHOT)[0]
