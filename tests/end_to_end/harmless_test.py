#!/usr/bin/env python3
"""Programs that close what they did not open, run with little, or forbid system calls: with the injection library they
do what they do without it, to the last byte, and who wanted to record them learns why they could not be.
Usage: harmless_test.py (Alone | Recorded). Standard Python only; the environment names the programs: GAUSSCOPE,
GAUSSCOPE_CARELESS_PROGRAMS (tests/support/careless_program.cpp as usual, and those linked statically, each with a colon
behind it) and GAUSSCOPE_INJECT_LIBRARY."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from cli_support import GAUSSCOPE

PROGRAM, *STATIC = os.environ["GAUSSCOPE_CARELESS_PROGRAMS"].strip(":").split(":")
LIBRARY = os.environ["GAUSSCOPE_INJECT_LIBRARY"]
PATIENCE_S = 120
IS_ROOT = os.geteuid() == 0


def clean_environment(**more):
    """Without what a recorder around this test has set."""
    kept = {k: v for k, v in os.environ.items() if "INJECTION" not in k and not k.startswith("GAUSSCOPE_")}
    return {**kept, **more}


class Outcome:
    """What one can see of a program that has ended, and of its folder."""

    def __init__(self, command, folder, environment):
        begin = time.monotonic()
        with subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
            self.out = it.stdout.read()
            self.output_s = time.monotonic() - begin
            self.err = it.stderr.read().decode(errors="replace")
            self.code = it.wait(timeout=PATIENCE_S)
        self.files = {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir() if p.suffix != ".pftrace"}


class Harmless(unittest.TestCase):
    def setUp(self):
        self.runtime = tempfile.mkdtemp(prefix="gs-harmless-")
        self.addCleanup(shutil.rmtree, self.runtime, ignore_errors=True)

    def folder(self):
        folder = tempfile.mkdtemp(prefix="gs-harmless-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def bare(self, *command):
        return Outcome(command, self.folder(), clean_environment())

    def environment(self, **more):
        return clean_environment(GAUSSCOPE_RUNTIME_DIR=self.runtime, NVTX_INJECTION64_PATH=LIBRARY, **more)

    def same(self, expected, seen, with_errors=True):
        self.assertEqual(seen.code, expected.code, seen.out + seen.err.encode())
        self.assertEqual(seen.out, expected.out)
        self.assertEqual(seen.files, expected.files)
        if with_errors:
            self.assertEqual(seen.err, expected.err)


class Alone(Harmless):
    """Nobody records; the library is only there."""

    def check(self, *command, **more):
        expected = self.bare(*command)
        self.assertEqual(expected.code, 0, expected.out)
        seen = Outcome(command, self.folder(), self.environment(**more))
        self.same(expected, seen)
        return seen

    def test_closed_descriptors(self):
        self.check(PROGRAM, "close", "own")

    def test_replaced_descriptors(self):
        self.check(PROGRAM, "replace", "own")

    def test_a_thread_that_closes_all_the_time(self):
        for armed in ("0", "1"):
            self.check(PROGRAM, "thread", "own", GAUSSCOPE_ARM=armed)

    def test_a_daemon(self):
        self.check(PROGRAM, "daemon", "own")

    def test_the_first_thread_is_not_the_last(self):
        for armed in ("0", "1"):
            for others in (0, 1):
                seen = self.check(PROGRAM, "last_thread", "own", others, GAUSSCOPE_ARM=armed)
                self.assertIn(b"handlers ran", seen.out)

    def test_its_numbers_are_its_own(self):
        self.check(PROGRAM, "numbers", "own")

    def test_nobody_holds_its_output_open(self):
        self.assertLess(self.check(PROGRAM, "output").output_s, 1)

    def test_few_descriptors(self):
        for when in ("before", "after"):
            for number in (3, 4, 8, 64):
                self.check(PROGRAM, "few_files", when, number)

    def test_little_memory(self):
        for mib in (8, 60, 300, 1900):
            self.check(PROGRAM, "little_memory", "own", mib)

    def test_short_files(self):
        for kib in (1, 512, 1024, 5000):
            self.check(PROGRAM, "short_files", "own", kib)

    @unittest.skipUnless(IS_ROOT, "only root can become a user without processes")
    def test_no_threads(self):
        self.check(PROGRAM, "no_threads", "own")

    def test_forbidden_system_calls(self):
        for how in ("errors", "deadly"):
            self.check(PROGRAM, how, "own")
        self.check(PROGRAM, "errors", "own", GAUSSCOPE_SECCOMP="1")

    def test_no_table_of_descriptors_of_its_own(self):
        for armed in ("0", "1"):
            self.check(PROGRAM, "no_own_table", "own", GAUSSCOPE_SECCOMP="1", GAUSSCOPE_ARM=armed)

    def test_no_folder_for_its_socket(self):
        for folder in ("/dev/null/nowhere", "/proc/nowhere", "/sys/nowhere"):
            seen = Outcome([PROGRAM, "ranges", "own"], self.folder(),
                           {**self.environment(), "GAUSSCOPE_RUNTIME_DIR": folder, "XDG_RUNTIME_DIR": folder})
            self.same(self.bare(PROGRAM, "ranges", "own"), seen)

    def test_linked_statically(self):
        if not STATIC:
            self.skipTest("no static C library")
        for program in STATIC:
            self.check(program, "ranges", "own")
            self.check(program, "close", "own", GAUSSCOPE_ARM="1")

    def test_without_proc(self):
        hidden = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$0" "$@"']
        if not IS_ROOT or subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
            self.skipTest("only root can take /proc away")
        self.check(*hidden, PROGRAM, "close", "own")


class Recorded(Harmless):
    """Under `gausscope record`: the program's result is its own, and the summary says what is missing."""

    def record(self, *command, ranges=None, says=(), options=(), **more):
        expected = self.bare(*command)
        trace = pathlib.Path(self.folder()) / "t.pftrace"
        seen = Outcome([GAUSSCOPE, "record", "-o", trace, *options, "--", *command], self.folder(),
                       clean_environment(GAUSSCOPE_RUNTIME_DIR=self.runtime, **more))
        self.same(expected, seen, with_errors=False)
        for words in says:
            self.assertEqual(seen.err.count(words), 1, seen.err)
        if ranges is not None:
            self.assertIn(f"  {ranges} ranges on", seen.err)
        return seen

    def test_nothing_is_lost_when_descriptors_are_closed(self):
        self.record(PROGRAM, "close", "own", ranges=401)
        self.record(PROGRAM, "replace", "own", ranges=401)
        self.record(PROGRAM, "thread", "own", ranges=701)

    def test_a_daemon_is_recorded_until_the_command_ends(self):
        self.record(PROGRAM, "daemon", "own", ranges=401)

    def test_the_first_thread_is_not_the_last(self):
        for others in (0, 1):
            self.record(PROGRAM, "last_thread", "own", others, ranges=1 + 40 * others)

    def test_few_descriptors(self):
        # With none left before the first range, NVTX cannot even open the library.
        self.record(PROGRAM, "few_files", "after", 64, says=["nothing was recorded"])
        self.record(PROGRAM, "few_files", "before", 64, ranges=41)
        self.record(PROGRAM, "few_files", "before", 8, ranges=41)

    def test_little_memory(self):
        self.record(PROGRAM, "little_memory", "own", 60, says=["its memory is limited (ulimit -v or -d)"])

    def test_short_files(self):
        self.record(PROGRAM, "short_files", "own", 512, says=["ulimit -f"])
        self.record(PROGRAM, "short_files", "own", 1500, ranges=40)

    def test_forbidden_system_calls(self):
        for how in ("errors", "deadly"):
            self.record(PROGRAM, how, "own", says=["because of a seccomp filter"])

    def test_a_connection_that_the_program_closes(self):
        self.record(PROGRAM, "no_own_table", "own", says=["the program closed gausscope's connection"],
                    GAUSSCOPE_SECCOMP="1")

    def test_linked_statically(self):
        if not STATIC:
            self.skipTest("no static C library")
        for program in STATIC:
            self.record(program, "ranges", "own", says=["statically linked"])
            self.record("sh", "-c", f"true; {program} ranges own; true", says=["statically linked"])

    def test_without_proc(self):
        hidden = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$0" "$@"']
        if not IS_ROOT or subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
            self.skipTest("only root can take /proc away")
        self.record(*hidden, PROGRAM, "close", "own", ranges=401)


if __name__ == "__main__":
    sys.argv[1:] = sys.argv[1:] or ["Alone", "Recorded"]
    unittest.main()
