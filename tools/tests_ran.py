#!/usr/bin/env python3
"""Counts the tests that a run of ctest ran, for ./check:   tests_ran.py BUILD [TEMPORARY]

Reads the log that ctest leaves in BUILD/Testing/Temporary. Prints how many test cases ran and which were skipped for lack of
what; fails when a program of tests ran none, when no CUDA kernel ran in the emulator, or when the tests left files in TEMPORARY,
their own temporary folder.
"""
import collections
import pathlib
import re
import sys

ENTRY = re.compile(r"^\d+/\d+ Testing: (\S+)$", re.M)
GTEST = re.compile(r"^\[==========\] (\d+) tests? from \d+ test suites? ran\.", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in ", re.M)
GTEST_SKIPPED = re.compile(r"Skipped\n(.*)")
UNITTEST_SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*skipped=(\d+)", re.M)  # unittest gives reasons only when asked for every name
PROGRAM_SKIPPED = re.compile(r"^skipped: (.*)$", re.M)  # with exit code 77: as a whole
LAUNCHES = re.compile(r"CUDA kernels \(emulated, (\d+) launches")


def entries(log):
    """ctest's entries and what each printed."""
    starts = list(ENTRY.finditer(log))
    ends = [start.start() for start in starts[1:]] + [len(log)]
    return [(start.group(1), log[start.end():end]) for start, end in zip(starts, ends)]


def main(build, temporary=None):
    log = (pathlib.Path(build) / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    cases = launches = 0
    programs = entries(log)
    skipped = collections.Counter()
    whole = collections.Counter()
    empty = []
    for name, output in programs:
        counts = [int(count) for count in GTEST.findall(output) + UNITTEST.findall(output)]
        cases += sum(counts)
        if counts and sum(counts) == 0:
            empty.append(name)
        skipped.update(GTEST_SKIPPED.findall(output))
        for count in UNITTEST_SKIPPED.findall(output):
            skipped[f"by {name}, whose script says why"] += int(count)
        whole.update(f"{name}: {reason}" for reason in PROGRAM_SKIPPED.findall(output))
        launches += sum(map(int, LAUNCHES.findall(output)))
    for reason, count in sorted(skipped.items()):
        print(f"skipped {count}: {reason}")
    for reason in sorted(whole):
        print(f"skipped {reason}")
    print(f"{cases} test cases in {len(programs)} programs ran, {sum(skipped.values())} of them were skipped; "
          f"{launches} kernel launches in the emulator")
    for name in empty:
        print(f"{name} ran no test")
    if cases == 0 or launches == 0:
        print("no test ran" if cases == 0 else "the CUDA backend was not exercised in the emulator")
    left = sorted(path.name for path in pathlib.Path(temporary).iterdir()) if temporary else []
    if left:
        print(f"the tests left {len(left)} files or folders in their temporary folder: {', '.join(left[:20])}")
    return 1 if empty or left or cases == 0 or launches == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
