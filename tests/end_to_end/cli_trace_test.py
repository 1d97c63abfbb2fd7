#!/usr/bin/env python3
"""`gausscope trace` on files of other programs: what it says of them, and exit codes of conversions."""
import contextlib
import json
import pathlib
import sqlite3
import sys
import tempfile
import unittest

from cli_support import Case


def span(name, begin, length, **more):
    return {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": length, **more}


class Trace(Case):
    @classmethod
    def setUpClass(cls):  # no capture is needed
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="gausscope-trace-"))

    def write(self, events, name="t.json"):
        path = self.folder / name
        path.write_text(events if isinstance(events, str) else json.dumps({"traceEvents": events}))
        return path

    def lengths(self, path):
        return sorted((e["name"], e["dur"]) for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X")

    def test_overlapping_spans_through_every_format(self):
        trace = self.write([span("long", 0, 1000), span("child", 900, 500), span("later", 1600, 10)])
        out = {end: self.folder / f"out{end}" for end in (".pftrace", ".json", ".folded", ".speedscope.json", ".csv")}
        for path in out.values():
            self.expect(0, "trace", trace, "-o", path)
        self.expect(0, "trace", out[".pftrace"], "-o", self.folder / "back.json")
        for path in (out[".json"], self.folder / "back.json"):
            self.assertEqual(self.lengths(path), [("child", 500), ("later", 10), ("long", 1000)])
        self.assertIn("thread 1;child 500", out[".folded"].read_text())
        self.assertIn("1 span overlaps others", self.expect(0, "trace", trace, "-o", out[".folded"]).out)

    def test_a_conversion_that_loses_something_fails_unless_that_is_allowed(self):
        trace, out = self.write([span("good", 0, 10), span("bad", 5, -1)]), self.folder / "out.pftrace"
        said = self.expect(0, "trace", trace, "--json")
        self.assertEqual([said.json["spans"], said.json["missed"]], [1, 1])
        self.assertIn("1 events whose dur is negative", said.out)
        self.expect(1, "trace", trace, "-o", out, says=["1 events of the file", "--allow-loss"])
        self.assertTrue(out.exists())
        self.expect(0, "trace", trace, "-o", out, "--allow-loss", says="warning: not in")
        self.expect(0, "trace", out, "-o", self.folder / "again.json")
        cut = self.write('{"traceEvents": [' + json.dumps(span("whole", 0, 10)) + ', {"ph": "X", "na')
        self.expect(1, "trace", cut, "-o", out, says="cut off")
        self.assertTrue(self.expect(0, "trace", cut, "--json").json["cut"])

    def test_an_export_of_nsight_systems(self):
        path = self.folder / "run.sqlite"
        thread = 300 << 24 | 301
        with contextlib.closing(sqlite3.connect(path)) as export, export:
            export.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
            export.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, textId INTEGER, globalTid INTEGER)")
            export.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
                           "globalPid INTEGER, shortName INTEGER)")
            export.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "step"), (2, "gemm")])
            export.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 1, ?)", [(i * 1000, i * 1000 + 900, thread) for i in range(6)])
            export.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, 2)",
                               [(i * 1000 + 100, i * 1000 + 500, 300 << 24) for i in range(6)])
        shown = self.expect(0, "trace", path, "--json").json
        self.assertEqual([shown["format"], shown["spans"], shown["missed"]], ["Nsight Systems", 6, 0])
        self.assertIn("gemm", self.expect(0, "trace", path).out)
        self.expect(0, "trace", path, "-o", self.folder / "run.pftrace")

    def test_what_is_no_trace(self):
        self.expect(2, "trace", self.write("", "run.nsys-rep"),
                    says=["Nsight Systems", "nsys export --type sqlite run.nsys-rep"])
        self.expect(2, "trace", self.write('{"traceEvents": [{"ph": "X"'), says="ends inside its first event")
        self.expect(2, "trace", self.write([]), "-o", self.folder / "t.foo", says=".speedscope.json")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
