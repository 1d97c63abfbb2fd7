"""What the command-line tests share: running the program, a small capture, reading .npy and .ply headers."""
import ast
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

GAUSSCOPE = os.environ.get("GAUSSCOPE", "build/gausscope")
SANITIZER_SIGNS = ("AddressSanitizer", "runtime error:", "LeakSanitizer", "CHECK failed")
PATIENCE_S = 120  # of what waits for something

RUN_FILES = ["checkpoint.gsc", "metrics.csv", "metrics.json", "point_cloud.ply", "run.json", "thumbnails"]


def wait_for(path, process):
    while not path.exists() and process.poll() is None:
        time.sleep(0.005)


def wait_until(what, condition):
    """The first true value of condition(), looked for again and again."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}")


class Run:
    """One run of the program: exit code, output, and the JSON object of the last line of stdout where there is one."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out.strip().splitlines()[-1])


def run(*arguments, env=None, timeout=300, cwd=None):
    words = [GAUSSCOPE, *map(str, arguments)]
    environment = {**os.environ, **(env or {})}
    if {"view", "--view", "selftest"} & set(words):
        # An OpenGL driver leaves memory behind and is unloaded before a leak check looks (studio_gl_test.cpp).
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = subprocess.run(words, capture_output=True, timeout=timeout, env=environment, cwd=cwd)
    return Run(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


class Case(unittest.TestCase):
    """A temporary folder per test; a small capture, made once per group."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gausscope-cli-"))
        cls.capture = cls.shared / "capture"
        made = run("sample", cls.capture, "--views", 8, "--width", 96, "--height", 72, "--points", 600)
        assert made.code == 0, made.err

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared, ignore_errors=True)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.shared))

    def expect(self, code, *arguments, says=(), **options):
        """Runs; checks the exit code, that stderr holds all of `says`, and that nothing crashed."""
        result = run(*arguments, **options)
        text = f"gausscope {' '.join(map(str, arguments))}\n{result.out}\n{result.err}"
        self.assertEqual(result.code, code, text)
        for sign in SANITIZER_SIGNS:
            self.assertNotIn(sign, result.err, text)
        for words in [says] if isinstance(says, str) else says:
            self.assertIn(words, result.err, text)
        return result

    def copy_of_capture(self):
        copy = self.folder / "copy"
        shutil.copytree(self.capture, copy)
        return copy

    def trained(self, *arguments):
        """A short training; the folder with its results and the JSON."""
        out = self.folder / "trained"
        return out, self.expect(0, "train", self.capture, "-o", out, "--overwrite", "--steps", 20, "--json", *arguments).json


def npy_shape(path):
    """(shape, values) of a float32 .npy in C order."""
    data = path.read_bytes()
    assert data[:6] == b"\x93NUMPY", path
    (size,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    count = (len(data) - 10 - size) // 4
    return header["shape"], struct.unpack(f"<{count}f", data[10 + size:])


def write_gray_png(path, width, height, value):
    """A grayscale PNG of one value: a mask."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([value]) * width) * height
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def ply_count(path):
    """Vertices that a .ply header promises."""
    for line in path.read_bytes()[:4000].split(b"\n"):
        if line.startswith(b"element vertex"):
            return int(line.split()[2])
    raise ValueError(path)
