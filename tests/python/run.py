#!/usr/bin/env python3
"""Runs the tests of this folder (or the modules named) and says what it left out and why."""
import collections
import importlib.util
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(str(HERE), "test_*.py")
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    for why, tests in collections.Counter(why for _, why in result.skipped).items():
        print(f"left out: {tests} tests: {why}")
    have = [name for name in ("numpy", "torch") if importlib.util.find_spec(name)]
    print(f"{result.testsRun - len(result.skipped)} tests ran with Python {sys.version.split()[0]} and "
          f"{' and '.join(have) or 'neither NumPy nor PyTorch'}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
