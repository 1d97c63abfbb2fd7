#!/usr/bin/env python3
"""`gausscope record` and `gausscope attach` as a user runs them, on programs that know nothing of gausscope.
Usage: record_test.py (Record | Attach). Standard Python only; the environment names the programs: GAUSSCOPE,
GAUSSCOPE_NVTX_PROGRAM, GAUSSCOPE_FAKE_TRAINER and GAUSSCOPE_MOCK_CUDA, a folder with a CUDA driver that needs no GPU."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cli_support import GAUSSCOPE, PATIENCE_S, Case, run, wait_until

NVTX_PROGRAM = os.environ["GAUSSCOPE_NVTX_PROGRAM"]
FAKE_TRAINER = os.environ["GAUSSCOPE_FAKE_TRAINER"]
MOCK_CUDA = os.environ["GAUSSCOPE_MOCK_CUDA"]


class Service(Case):
    """A runtime directory of the test's own."""

    def setUp(self):
        super().setUp()
        self.runtime = tempfile.TemporaryDirectory(prefix="gs-record-")
        self.addCleanup(self.runtime.cleanup)  # last: programs that still run make it again
        os.environ["GAUSSCOPE_RUNTIME_DIR"] = self.runtime.name
        self.trace = self.folder / "t.pftrace"

    def record(self, code, *command, options=(), **more):
        return self.expect(code, "record", "-o", self.trace, "--json", *options, "--", *command, **more)

    def read_back(self):
        return self.expect(0, "trace", self.trace, "--json").json


class Record(Service):
    def test_ranges_of_a_small_program(self):
        told = self.record(0, NVTX_PROGRAM, "threads", 4, 500).json
        self.assertEqual(told["ranges"], 4000)
        self.assertEqual(told["lost"], 0)
        trace = self.read_back()
        names = {track["name"]: track["spans"] for track in trace["tracks"]}
        for worker in range(4):
            self.assertEqual(names[f"worker {worker}"], 1000)

    def test_kernels_of_a_trainer(self):
        told = self.record(0, FAKE_TRAINER, "--iterations", 12, options=["--insights"],
                           env={"LD_LIBRARY_PATH": MOCK_CUDA}, says=["iteration", "GPU"]).json
        self.assertGreater(told["gpu_work"], 50)
        self.assertGreater(told["cuda_calls"], 50)
        self.assertEqual(told["lost"], 0)
        self.assertTrue(told["insights"]["findings"] or told["insights"]["clear"])
        self.assertGreater(len(self.read_back()["gpu_stages"]), 2)

    def test_without_cupti_only_ranges(self):
        told = self.record(0, FAKE_TRAINER, "--iterations", 6, options=["--no-cupti"],
                           env={"LD_LIBRARY_PATH": MOCK_CUDA}).json
        self.assertEqual(told["gpu_work"], 0)
        self.assertGreater(told["ranges"], 6)

    def test_children_and_grandchildren(self):
        # A rank is read from /proc, so it is known of processes that live a moment; these wait for their input to end.
        script = f'sleep 1 | "{NVTX_PROGRAM}" one first & sleep 1 | "{NVTX_PROGRAM}" one second & wait'
        told = self.record(0, "sh", "-c", script, env={"RANK": "3"}).json
        self.assertEqual(len(told["processes"]), 2)
        self.assertEqual({r["name"] for r in told["top_ranges"]}, {"first", "second"})
        self.assertEqual([p["rank"] for p in told["processes"]], [3, 3])

    def test_however_a_program_ends(self):
        told = self.record(7, NVTX_PROGRAM, "leaves", "_exit").json
        self.assertEqual(told["exit_code"], 7)
        self.assertIn("last words", [r["name"] for r in told["top_ranges"]])
        told = self.record(128 + signal.SIGABRT, NVTX_PROGRAM, "leaves", "abort").json
        self.assertIn("after the meeting", [r["name"] for r in told["top_ranges"]])
        # It never left "outer": that is open to its end, in the summary, the trace and what is made of it.
        self.assertIn("ranges were open when it ended", " ".join(told["notes"]))
        trace = self.read_back()
        self.assertEqual([r["name"] for r in trace["open"]], ["outer"])
        self.assertGreaterEqual(trace["open"][0]["end_ns"], trace["end_ns"])
        written = self.folder / "t.json"
        self.expect(0, "trace", self.trace, "-o", written)
        outer = [e for e in json.loads(written.read_text())["traceEvents"] if e.get("name") == "outer"]
        self.assertEqual(len(outer), 1)
        self.assertGreater(outer[0]["dur"], 0)

    def test_signals_reach_the_command(self):
        command = [GAUSSCOPE, "record", "-o", str(self.trace), "--", NVTX_PROGRAM, "iterations", "20", "500"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
            self.assertEqual(it.stdout.readline(), b"ready\n")
            time.sleep(0.2)
            it.send_signal(signal.SIGTERM)
            it.wait(timeout=PATIENCE_S)  # with its input open: its end would also end the command
            err = it.stderr.read()
        self.assertEqual(it.returncode, 128 + signal.SIGTERM, err)
        self.assertTrue(self.trace.exists())
        self.assertIn(b"exit code 143", err)

    def test_a_budget_is_held_and_told(self):
        command = [GAUSSCOPE, "record", "-o", str(self.trace), "--json", "--budget", "0.01", "--", NVTX_PROGRAM, "busy"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
            self.assertEqual(it.stdout.readline(), b"ready\n")
            wait_until("the budget", lambda: any(p["budget"] > 0 for p in run("attach", "--json").json["processes"]))
            time.sleep(3)
            out, err = it.communicate(b"\n\n", timeout=PATIENCE_S)
        self.assertEqual(it.returncode, 0, err)
        self.assertIn("to hold the budget", " ".join(json.loads(out.splitlines()[-1])["notes"]))

    def test_says_what_is_missing(self):
        self.record(0, "true", says="no process used NVTX or CUDA")
        self.assertFalse(self.trace.exists())
        self.record(5, "sh", "-c", "exit 5", says="exit code 5")
        self.record(2, "no-such-command", says=["no-such-command", "cannot run"])
        self.expect(2, "record", "true", says="The following argument was not expected")
        self.expect(2, "record", says="no command to record")
        self.expect(2, "record", "-o", "/nowhere/t.pftrace", "--", "true", says="/nowhere")

    def test_a_full_disk_loses_nothing_that_fits_elsewhere(self):
        disks = {name: self.folder / name for name in ("disk", "temporary")}
        for name, disk in disks.items():
            disk.mkdir()
            size = "size=64k" if name == "disk" else "size=300k"
            if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], capture_output=True).returncode != 0:
                self.skipTest("no right to mount a small disk here")
            self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        self.trace = disks["disk"] / "t.pftrace"
        # All of it in the present folder; where there is no other folder with space, the end of it.
        for place, whole in ((self.folder, True), (disks["disk"], False)):
            report = self.record(1, NVTX_PROGRAM, "threads", 4, 2000, cwd=place, env={"TMPDIR": str(disks["temporary"])},
                               says=["No space left on device", "is full", "are free in the folder"]).json
            self.assertEqual(report["ranges"], 16_000)
            self.assertEqual(pathlib.Path(report["trace"]).stat().st_mode & 0o777, 0o600)
            read = self.expect(0, "trace", report["trace"], "--json").json
            self.assertEqual(pathlib.Path(report["trace"]).parent, place if whole else disks["temporary"])
            self.assertTrue(read["spans"] == 16_000 if whole else 1000 < read["spans"] < 16_000, read["spans"])

    def test_default_name(self):
        done = subprocess.run([GAUSSCOPE, "record", "--", NVTX_PROGRAM, "one", "x"], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(self.folder.glob("nvtx_program-*.pftrace"))), 1)


class Attach(Service):
    """On a foreign program that is idle until somebody looks, and on our own trainer."""

    def foreign(self):
        environment = {**os.environ, "NVTX_INJECTION64_PATH": str(pathlib.Path(GAUSSCOPE).parent / "libgausscope_inject.so")}
        program = subprocess.Popen([NVTX_PROGRAM, "iterations", "20", "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment)
        self.addCleanup(lambda: (program.kill(), program.communicate()))
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def listed(self):
        return {p["pid"]: p for p in run("attach", "--json").json["processes"]}

    def test_list(self):
        self.assertIn("no process", self.expect(0, "attach").out)
        program = self.foreign()
        self.assertEqual(self.listed()[program.pid]["role"], "nvtx")
        program.kill()
        program.wait()
        self.assertEqual(self.listed(), {})

    def test_two_at_once(self):
        program = self.foreign()
        command = [GAUSSCOPE, "attach", str(program.pid), "--headless", "--seconds", "1.5", "--json", "-o"]
        both = [subprocess.Popen([*command, str(self.folder / name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for name in ("a.pftrace", "b.pftrace")]
        for one in both:
            out, err = one.communicate(timeout=PATIENCE_S)
            self.assertEqual(one.returncode, 0, err)
            told = json.loads(out.splitlines()[-1])
            self.assertGreater(told["ranges"], 1000)
            self.assertLess(told["seconds"], 30)
        self.expect(0, "trace", self.folder / "a.pftrace")
        wait_until("the leases to end", lambda: self.listed()[program.pid]["leases"] == 0)

    def test_the_end_of_the_process_ends_it(self):
        program = self.foreign()
        command = [GAUSSCOPE, "attach", str(program.pid), "--headless", "-o", str(self.trace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
            wait_until("a lease", lambda: self.listed()[program.pid]["leases"] == 1)
            program.kill()
            _, err = it.communicate(timeout=PATIENCE_S)
        self.assertEqual(it.returncode, 0, err)
        self.assertIn(b"the process has ended", err)
        self.assertGreater(self.read_back()["spans"], 0)

    def test_interrupt_writes_the_trace(self):
        program = self.foreign()
        command = [GAUSSCOPE, "attach", str(program.pid), "--headless", "-o", str(self.trace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
            wait_until("a lease", lambda: self.listed()[program.pid]["leases"] == 1)
            it.send_signal(signal.SIGINT)
            _, err = it.communicate(timeout=PATIENCE_S)
        self.assertEqual(it.returncode, 0, err)
        self.assertTrue(self.trace.exists())

    def test_our_own_trainer(self):
        with subprocess.Popen([GAUSSCOPE, "train", str(self.capture), "-o", str(self.folder / "out"), "--steps", "1000000",
                               "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as trainer:
            try:
                wait_until("the trainer", lambda: trainer.pid in self.listed())
                self.assertEqual(self.listed()[trainer.pid]["role"], "own")
                told = self.expect(0, "attach", trainer.pid, "--headless", "--seconds", 2, "--json", "-o", self.trace).json
                self.assertIn("iteration", [r["name"] for r in told["top_ranges"]])
                self.expect(2, "attach", trainer.pid, "--release-cupti", says="does not use CUPTI")
            finally:
                trainer.kill()

    def test_who_is_not_there(self):
        self.expect(2, "attach", 4194303, "--headless", says=["4194303", "gausscope record"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(sys.argv[1:] or ["Record", "Attach"])])
