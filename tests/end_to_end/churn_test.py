#!/usr/bin/env python3
"""Processes that come and go under `gausscope serve`, on a mock CUDA driver and a mock NVML: those that live have series,
those that have ended leave nothing open, and the daemon alone asks NVML, each GPU once a second. Standard Python only; the
environment names the programs: GAUSSCOPE, GAUSSCOPE_INJECT_LIBRARY, GAUSSCOPE_CUDA_PROGRAM, GAUSSCOPE_MOCK_CUDA.
tests/bench/churn_bench.py does the same for an hour."""
import collections
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from serve_test import GAUSSCOPE, get, samples, wait_until


class Node:
    """A daemon with a mock of some GPUs, and the processes that it finds. Everything ends with it."""

    def __init__(self, *options, gpus=1):
        self.folder = tempfile.mkdtemp(prefix="gausscope_churn_")
        self.log = os.path.join(self.folder, "nvml.log")
        self.environment = dict(os.environ, GAUSSCOPE_RUNTIME_DIR=os.path.join(self.folder, "run"),
                                LD_LIBRARY_PATH=os.environ["GAUSSCOPE_MOCK_CUDA"], MOCK_CUDA_DEVICES=str(gpus),
                                MOCK_NVML_LOG=self.log)
        self.began = time.monotonic()
        self.daemon = subprocess.Popen(
            [GAUSSCOPE, "serve", "--listen", "127.0.0.1:0", "--dir", os.path.join(self.folder, "recordings"), "--no-rules",
             "--slow-step", "0", *options], env=self.environment, text=True, stdout=subprocess.PIPE)
        self.address = "http://127.0.0.1:" + self.daemon.stdout.readline().rsplit("(port ", 1)[1].split(")")[0]
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [self.daemon, *self.programs]:
            process.kill()
            process.communicate()
        shutil.rmtree(self.folder, True)

    def start(self, rank, *command, **variables):
        library = os.environ["GAUSSCOPE_INJECT_LIBRARY"]
        environment = dict(self.environment, RANK=str(rank), NVTX_INJECTION64_PATH=library, CUDA_INJECTION64_PATH=library,
                           **variables)
        process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.append(process)
        return process

    def metrics(self):
        return get(self.address + "/metrics")[1].decode()

    def ranks(self):
        """Those that have series."""
        return {int(rank) for rank in re.findall(r'^gausscope_records_total\{[^}]*rank="(\d+)"', self.metrics(), re.MULTILINE)}

    def wave(self, ranks):
        """Starts processes that use the GPU, each with its own rank; end() stops them."""
        programs = [self.start(rank, os.environ["GAUSSCOPE_CUDA_PROGRAM"]) for rank in ranks]
        for program in programs:
            program.stdin.write("range iteration 3\n")
            program.stdin.flush()
        wait_until(f"series of {ranks}", lambda: set(ranks) <= self.ranks())
        return programs

    def end(self, programs):
        for program in programs:
            program.communicate("quit\n")
            self.programs.remove(program)
        return [program.returncode for program in programs]

    def open_things(self):
        """The rings that the daemon holds: mapped, and as files."""
        with open(f"/proc/{self.daemon.pid}/maps", encoding="utf-8") as maps:
            rings = sum("/memfd:" in line for line in maps)
        folder, files = f"/proc/{self.daemon.pid}/fd", 0
        for entry in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed in the meantime
                files += "/memfd:" in os.readlink(os.path.join(folder, entry))
        return rings, files


class Churn(unittest.TestCase):
    def test_who_lives_has_series_and_who_has_ended_leaves_nothing(self):
        with Node(gpus=8) as node:
            before = node.open_things()  # of itself
            lives = node.wave([1000])
            alone = node.open_things()
            self.assertGreater(alone, before)
            for wave in range(4):
                ranks = range(8 * wave, 8 * wave + 8)
                programs = node.wave(ranks)
                self.assertIn(1000, node.ranks())
                self.assertEqual(node.end(programs), [0] * 8)
                wait_until("nothing of them", lambda: node.open_things() == alone)
            wait_until("that one is left", lambda: samples(node.metrics(), "gausscope_producers")[""] == 1)
            self.assertIn(1000, node.ranks())
            # Nine processes at a time saw eight GPUs each, and none of them asked NVML.
            wait_until("eight GPUs", lambda: len(samples(node.metrics(), "gausscope_gpu_power_watts")) == 8)
            self.assertEqual(node.end(lives), [0])
            node.daemon.terminate()
            self.assertEqual(node.daemon.wait(), 0)
            seconds = time.monotonic() - node.began
            with open(node.log, encoding="utf-8") as log:
                lines = [line.split() for line in log]
            self.assertEqual({int(pid) for _, pid, _ in lines}, {node.daemon.pid})
            asked = collections.Counter(gpu for what, _, gpu in lines if what == "ask")
            self.assertEqual(len(asked), 8)
            self.assertLessEqual(max(asked.values()), seconds + 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
