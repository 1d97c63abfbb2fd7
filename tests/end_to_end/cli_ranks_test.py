"""One training by several processes, started by mpirun: the files of one process, one voice, and no process left when one
is killed or hangs. Run: cli_ranks_test.py Ranks"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cli_support import GAUSSCOPE, Case, run, wait_for, wait_until

MPIRUN = shutil.which("mpirun")
STEPS = 40


def environment(more=None):
    # MPI's libraries keep memory until the end, and some are unloaded before a leak check looks.
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {**os.environ, "ASAN_OPTIONS": leaks, **(more or {})}


def words(ranks, *arguments):
    return [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), GAUSSCOPE, *map(str, arguments)]


def ranks_of(launcher):
    """The processes of the program under a launcher."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            name, stat = pathlib.Path("/proc", entry, "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        stat = stat.split()
        if stat[1] == str(launcher) and name.startswith("gausscope"):
            found.append(int(entry))
    return sorted(found)


def rank_number(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        for entry in file.read().split(b"\0"):
            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(entry.split(b"=")[1])
    raise AssertionError(f"{pid} is no rank")


class Ranks(Case):
    def launch(self, ranks, *arguments):
        return subprocess.run(words(ranks, *arguments), capture_output=True, timeout=300, text=True, env=environment())

    def test_the_files_are_those_of_one_process(self):
        train = ("train", self.capture, "--steps", STEPS, "--json")
        self.expect(0, *train, "-o", self.folder / "one")
        for ranks in (2, 3):
            out = self.folder / f"of-{ranks}"
            done = self.launch(ranks, *train, "-o", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"on {ranks} ranks", done.stderr)
            self.assertEqual(sum(line.startswith("{") for line in done.stdout.splitlines()), 1)
            for name in ("point_cloud.ply", "checkpoint.gsc"):
                self.assertEqual((out / name).read_bytes(), (self.folder / "one" / name).read_bytes(), name)

    def test_continues_with_another_number(self):
        straight, parts = self.folder / "straight", self.folder / "parts"
        self.expect(0, "train", self.capture, "--steps", STEPS, "-o", straight)
        first = self.launch(3, "train", self.capture, "--steps", STEPS, "-o", parts, "--keep-every", STEPS // 2)
        self.assertEqual(first.returncode, 0, first.stderr)
        middle = parts / f"checkpoint-{STEPS // 2}.gsc"
        then = self.launch(2, "train", self.capture, "--resume", middle, "-o", self.folder / "rest")
        self.assertEqual(then.returncode, 0, then.stderr)
        self.assertEqual((self.folder / "rest/checkpoint.gsc").read_bytes(), (straight / "checkpoint.gsc").read_bytes())

    def test_errors_are_said_once_and_end_all(self):
        for arguments, what in ((("train", self.folder / "nothing"), "does not exist"),
                                (("train", self.capture, "--lidar-weight", 0.1), "cannot learn from a lidar"),
                                (("train", self.capture, "--backend", "cuda"), "CUDA backend cannot be used|ranks train on the CPU")):
            done = self.launch(2, *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
            self.assertRegex(done.stderr, what)

    def started(self, ranks, env=None):
        """A long training with a checkpoint in its folder."""
        out = self.folder / "long"
        process = subprocess.Popen(words(ranks, "train", self.capture, "--steps", 1_000_000, "-o", out, "--save-every", 20),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment(env))
        wait_for(out / "checkpoint.gsc", process)
        self.assertIsNone(process.poll())
        return process, out / "checkpoint.gsc"

    def ends(self, process, pids, checkpoint):
        begin = time.monotonic()
        _, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertLess(time.monotonic() - begin, 30)
        wait_until("all ranks to end", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        self.assertEqual(run("info", checkpoint).code, 0)
        return err

    def test_a_killed_rank_ends_all(self):
        process, checkpoint = self.started(3)
        pids = wait_until("three ranks", lambda: (found := ranks_of(process.pid))[2:] and found)
        os.kill(next(pid for pid in pids if rank_number(pid) == 2), signal.SIGKILL)
        self.ends(process, pids, checkpoint)

    def test_a_hanging_rank_ends_all(self):
        process, checkpoint = self.started(2, {"GAUSSCOPE_RANK_LIMIT": "6"})
        pids = wait_until("two ranks", lambda: (found := ranks_of(process.pid))[1:] and found)
        os.kill(next(pid for pid in pids if rank_number(pid) == 1), signal.SIGSTOP)
        self.assertIn("no answer from rank 1 in 6 s", self.ends(process, pids, checkpoint))


if __name__ == "__main__":
    if MPIRUN is None:
        print("skipped: mpirun is not installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
