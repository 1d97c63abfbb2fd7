"""Traces as columns: what a Chrome JSON as PyTorch's profiler writes it becomes."""
import importlib.util
import json
import pathlib
import tempfile
import unittest

import gausscope


def span(name, begin, length, tid=1, **more):
    return {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": begin, "dur": length, **more}


def kernel(name, begin, length, number):
    return span(name, begin, length, tid=7, cat="kernel", args={
        "device": 0, "context": 1, "stream": 7, "correlation": number, "grid": [number, 2, 1], "block": [128, 1, 1],
        "registers per thread": 40, "shared memory": 512})


EVENTS = [
    *(span(f"ProfilerStep#{i}", 1000 * i, 900) for i in range(1, 5)),
    *(span("forward", 1000 * i + 100, 300) for i in range(1, 5)),
    *(kernel("blend", 1000 * i + 150, 100 + i, i) for i in range(1, 5)),
    {"ph": "i", "name": "saved", "pid": 1, "tid": 1, "ts": 1500, "s": "t"},
    *({"ph": "C", "name": "loss", "pid": 1, "ts": 1000 * i, "args": {"value": 1 / i}} for i in range(1, 5)),
]


@unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")
class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name, "run.json")
        cls.path.write_text(json.dumps({"traceEvents": EVENTS}))
        cls.trace = gausscope.Trace(cls.path)

    def test_spans(self):
        spans = self.trace.spans
        self.assertEqual({len(column) for column in spans.values()}, {12})
        at = spans["name"] == "forward"
        self.assertEqual(spans["duration_ns"][at].tolist(), [300_000] * 4)
        self.assertEqual(spans["row"][at].tolist(), [1] * 4)
        self.assertEqual({self.trace.tracks[i]["kind"] for i in spans["track"][at]}, {"thread"})
        steps = [name.startswith("ProfilerStep") for name in spans["name"]]
        self.assertEqual((spans["begin_ns"][at] - spans["begin_ns"][steps]).tolist(), [100_000] * 4)

    def test_kernels(self):
        kernels = self.trace.kernels
        self.assertEqual(kernels["name"].tolist(), ["blend"] * 4)
        self.assertEqual(kernels["kind"].tolist(), ["kernel"] * 4)
        self.assertEqual(kernels["duration_ns"].tolist(), [101_000, 102_000, 103_000, 104_000])
        self.assertEqual(kernels["grid"].tolist(), [[i, 2, 1] for i in range(1, 5)])
        self.assertEqual(kernels["block"].tolist(), [[128, 1, 1]] * 4)
        self.assertEqual((kernels["registers"].tolist(), kernels["shared"].tolist()), ([40] * 4, [512] * 4))
        totals = self.trace.totals("kernels")
        self.assertEqual({name: column.tolist() for name, column in totals.items()}, {
            "name": ["blend"], "count": [4], "total_ns": [410_000], "mean_ns": [102_500], "max_ns": [104_000]})

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_arrow(self):
        kernels = self.trace.arrow("kernels").to_pydict()
        self.assertEqual((kernels["name"], kernels["grid"]), (["blend"] * 4, [[i, 2, 1] for i in range(1, 5)]))
        self.assertEqual(kernels["duration_ns"], [101_000, 102_000, 103_000, 104_000])
        for table in ("spans", "instants", "iterations"):
            self.assertGreater(self.trace.arrow(table).num_rows, 0)

    def test_counters_instants_iterations_and_totals(self):
        trace = self.trace
        self.assertEqual(trace.counters["loss"]["value"].tolist(), [1, 1 / 2, 1 / 3, 1 / 4])
        self.assertEqual((trace.instants["name"].tolist(), len(trace.instants["time_ns"])), (["saved"], 1))
        self.assertEqual(trace.iterations["number"].tolist(), [1, 2, 3, 4])
        self.assertEqual(trace.iterations["duration_ns"].tolist(), [900_000] * 4)
        self.assertEqual(trace.totals()["total_ns"].tolist(), sorted(trace.totals()["total_ns"].tolist(), reverse=True))
        self.assertIn("findings", trace.insights())
        self.assertIn("12 spans, 4 pieces of GPU work", repr(trace))

    def test_nothing_and_what_is_no_trace(self):
        path = self.path.with_name("empty.json")
        path.write_text('{"traceEvents": []}')
        empty = gausscope.Trace(path)
        if importlib.util.find_spec("pyarrow"):
            self.assertEqual(empty.arrow("kernels").num_rows, 0)
        self.assertEqual((len(empty.spans["name"]), len(empty.kernels["kind"]), empty.counters), (0, 0, {}))
        self.assertEqual((len(empty.iterations["number"]), len(empty.totals()["name"])), (0, 0))
        path.write_text("{")
        for wrong in (path, path.with_name("nothing.json")):
            with self.assertRaisesRegex(gausscope.Error, wrong.name):
                gausscope.Trace(wrong)


if __name__ == "__main__":
    unittest.main()
