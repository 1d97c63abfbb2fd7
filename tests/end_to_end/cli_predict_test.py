#!/usr/bin/env python3
"""`gausscope predict`: what it says of a scene, of GPUs and of itself, as a user runs it."""
import json
import os
import pathlib
import re
import sys
import unittest

from cli_support import Case


class Predict(Case):
    def scene(self):
        cloud = self.folder / "scene.ply"
        self.expect(0, "train", self.capture, "-o", self.folder / "run", "--steps", 2, "--backend", "cpu")
        self.expect(0, "convert", self.folder / "run/point_cloud.ply", cloud)
        return cloud

    def test_a_scene_on_gpus(self):
        cloud, work = self.scene(), self.folder / "work.json"
        made = self.expect(0, "predict", cloud, "--capture", self.capture, "--gpu", "h200,rtx4090", "--json", "-o", work)
        told = made.json
        self.assertEqual([p["gpu"] for p in told["predictions"]], ["h200", "rtx4090"])
        self.assertEqual([told["tag"], told["views"], told["width"]], ["predicted", 8, 96])
        self.assertIn("predicted, not measured", made.out)
        for count in "gaussians visible isects near open live_isects live_sub_tiles batches group_tests".split():
            self.assertGreater(told["counts"][count], 0, count)
        for prediction in told["predictions"]:
            for what, last in (("frame", "pack"), ("step", "project backward")):
                stages = prediction[what]["stages"]
                self.assertEqual(stages[-1]["name"], last)
                for row in stages + [prediction[what]]:
                    self.assertLessEqual(row["ms"]["p10"], row["ms"]["p50"])
                    self.assertLessEqual(row["ms"]["p50"], row["ms"]["p90"])
                for stage in stages:
                    self.assertTrue(stage["counted"], stage["name"])
                    self.assertEqual(max(stage["share"], key=stage["share"].get), stage["bound_by"])
        # Elsewhere, from the counts alone: the same.
        again = self.expect(0, "predict", "--model", work, "--gpu", "h200", "--json").json
        self.assertEqual(again["predictions"][0]["step"], told["predictions"][0]["step"])
        more = self.expect(0, "predict", "--model", work, "--gpu", "h200", "--gaussians", 5_000_000, "--width", 3840,
                           "--height", 2160, "--batch", 2, "--json").json
        self.assertGreater(more["predictions"][0]["frame"]["ms"]["p50"], 2 * told["predictions"][0]["frame"]["ms"]["p50"])
        less = self.expect(0, "predict", cloud, "--views", 2, "--gaussians", 50, "--width", 64, "--sh-degree", 0, "--gpu", "h200",
                           "--json").json
        self.assertLessEqual(less["counts"]["gaussians"], 50)
        self.assertEqual([less["views"], less["width"], less["height"]], [2, 64, 36])

    def test_the_page_shows_what_it_says_of_the_standard_cases(self):
        docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
        rows = re.findall(r"^\| `(\w[\w-]*)`" + r" \| ([\d.]+)" * 4 + r" \|$", (docs / "model.md").read_text(), re.M)
        self.assertGreaterEqual(len(rows), 5)
        predicted = []
        for case in "2026-11-23-central", "2026-11-29-trained":
            result = self.expect(0, "predict", "--model", docs / f"measurements/{case}.json", "--gpu",
                                 ",".join(row[0] for row in rows), "--json").json
            predicted.append([[f"{p[work]['ms']['p50']:.2f}" for work in ("frame", "step")] for p in result["predictions"]])
        shown = [(row[0], *first, *second) for row, first, second in zip(rows, *predicted)]
        self.assertEqual(shown, rows)

    def test_what_it_knows(self):
        gpus = self.expect(0, "predict", "--list", "--json").json["gpus"]
        self.assertIn("h200", [gpu["gpu"] for gpu in gpus])
        for gpu in gpus:
            self.assertIn("clock_ghz", gpu["sources"], gpu["gpu"])
        rows = self.expect(0, "predict", "--validation", "--json").json["rows"]
        self.assertTrue(all(row["source"] for row in rows))
        self.assertTrue(any(row["missed"] for row in rows))
        # A GPU of one's own.
        home = self.folder / "home"
        (home / "gausscope/assets/devices").mkdir(parents=True)
        own = {"name": "Mine", "architecture": "89", "figures": {name: [value, "mine"] for name, value in {
            "multiprocessors": 60, "clock_ghz": 2.4, "memory_gb": 16, "bandwidth_gb_s": 500, "l2_mb": 48, "l2_latency": 296,
            "memory_latency": 636}.items()}}
        file = home / "gausscope/assets/devices/mine.json"
        file.write_text(json.dumps(own))
        environment = {"XDG_CONFIG_HOME": str(home)}
        self.assertIn("mine", [g["gpu"] for g in self.expect(0, "predict", "--list", "--json", env=environment).json["gpus"]])
        file.write_text("{")
        told = self.expect(0, "predict", "--list", "--json", env=environment, says=["mine.json", "not valid JSON"])
        self.assertNotIn("mine", [g["gpu"] for g in told.json["gpus"]])

    def test_what_cannot_be_predicted(self):
        self.expect(2, "predict", says="name a scene")
        self.expect(2, "predict", "none.ply", says="none.ply")
        work = self.folder / "work.json"
        work.write_text('{"gaussians": -1}')
        self.expect(2, "predict", "--model", work, says=["work.json", "\"gaussians\" is not a number"])
        self.expect(2, "predict", "--model", work, "--gpu", "voodoo", says=["voodoo", "rtx4090"])
        self.expect(2, "predict", "a.ply", "--model", work, says="name a scene")
        self.expect(2, "predict", "a.ply", "--capture", self.capture, "--cameras", work, says="not from both")
        self.expect(2, "predict", "--model", work, "--width", 10, says="whole size")
        for scenes in (["--capture", self.capture], ["--cameras", work], ["--views", 8]):
            self.expect(2, "predict", "--model", work, *scenes, says="go with a scene")
        quiet = self.expect(0, "bench", "--width", 64, "--repeats", 3, "--predict", "--backend", "cpu", "--json").json
        self.assertIsNone(quiet["predicted"]["gpu"])
        self.assertGreater(quiet["warps"]["near"], 0)


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
