#!/usr/bin/env python3
"""The page of the metrics has each family that the daemon can print, and no other. metrics_docs_test.py ROOT."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
FAMILY = r"(?:gausscope|process)_[a-z0-9_]+"


def printed():
    """Names of families in the sources of the daemon, without _total or _info."""
    text = "".join(path.read_text() for path in sorted((ROOT / "profiler/serve").glob("*.cpp")))
    return {name.removesuffix("_total") for name in re.findall(f'"({FAMILY})"', text)}


def explained():
    """Those in the first cells of the table of families: whole, or "…_suffix" after one with a shared beginning."""
    page = (ROOT / "docs/serve.md").read_text()
    table = page.split("| family | meaning |", 1)[1].split("\n\n", 1)[0]
    names = set()
    for line in table.splitlines():
        for word in re.findall("`([^`{]+)", line):
            if word.startswith("…"):
                names.add("gausscope_gpu" + word[1:])
            elif re.fullmatch(FAMILY, word) or word == "process_*":
                names.add(re.sub("_(total|info)$", "", word))
    return names


class Metrics(unittest.TestCase):
    def test_the_page_has_all_and_no_others(self):
        there, said = printed(), explained()
        self.assertGreater(len(there), 40)
        daemon = {name for name in there if name.startswith("process_")}
        self.assertIn("process_*", said)
        self.assertEqual(sorted(there - daemon - said), [], "printed, not explained")
        self.assertEqual(sorted(said - there - {"process_*"}), [], "explained, not printed")


if __name__ == "__main__":
    unittest.main()
