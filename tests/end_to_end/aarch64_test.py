#!/usr/bin/env python3
"""The part of gausscope that goes into other programs, on another kind of processor: the injection library and a program that
uses NVTX are built for aarch64, run by an emulator, and recorded by this machine's `gausscope record`. Skipped (exit code 77)
without aarch64-linux-gnu-g++ (package g++-aarch64-linux-gnu) and qemu-aarch64 (qemu-user). GAUSSCOPE names the program."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from cli_support import run

SOURCES = pathlib.Path(__file__).resolve().parents[2]
CXX, QEMU = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
COMMON = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}", "-pthread"]
# As profiler/inject/CMakeLists.txt does it.
LIBRARY = ["-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,-Bsymbolic"]


def build(output, sources, *options):
    subprocess.run([CXX, *COMMON, *options, "-o", output, *sources, "-ldl"], check=True)


class Aarch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="gs-arm-")
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        cls.library, cls.program = cls.folder / "libgausscope_inject.so", cls.folder / "nvtx_program"
        inside = [*(SOURCES / "profiler/inject").glob("*.cpp"), *(SOURCES / "base/record").glob("*.cpp")]
        build(cls.library, inside, *LIBRARY)
        build(cls.program, [SOURCES / "tests/support/nvtx_program.cpp"])

    def test_ranges_of_threads_are_read_by_another_processor(self):
        (self.folder / "run").mkdir(0o700)
        emulated = [QEMU, "-L", "/usr/aarch64-linux-gnu", "-E", f"NVTX_INJECTION64_PATH={self.library}", self.program]
        done = run("record", "-o", self.folder / "t.pftrace", "--json", "--", *emulated, "threads", 4, 5000,
                   env={"GAUSSCOPE_RUNTIME_DIR": str(self.folder / "run")})
        self.assertEqual(done.code, 0, done.err)
        told = done.json
        self.assertEqual((told["ranges"], told["lost"]), (40000, 0), done.err)
        calls = {r["name"]: r["calls"] for r in told["top_ranges"]}
        self.assertEqual(calls, {"outer": 20000, "inner": 20000})


if __name__ == "__main__":
    if not CXX or not QEMU:
        print("skipped: there is no aarch64-linux-gnu-g++ or no qemu-aarch64 here (g++-aarch64-linux-gnu, qemu-user)")
        sys.exit(77)
    unittest.main()
