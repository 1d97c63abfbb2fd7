"""A drive with a lidar on the command line: what is in it, trained, its sweeps drawn and scored. Run: cli_lidar_test.py Lidar"""
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

from cli_support import GAUSSCOPE, Case, run


class Lidar(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.drive = cls.shared / "drive"
        sequence = cls.drive / "sequences" / "00"
        for name in ("image_2", "velodyne"):
            (sequence / name).mkdir(parents=True)
        photos = sorted((cls.capture / "images").iterdir())
        for i in range(2):
            (sequence / "image_2" / f"{i:06}{photos[i].suffix}").write_bytes(photos[i].read_bytes())
            (sequence / "velodyne" / f"{i:06}.bin").write_bytes(cls.wall())
        (sequence / "calib.txt").write_text("P2: 60 0 48 3 0 60 36 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n")
        (sequence / "times.txt").write_text("0\n0.1\n")
        (cls.drive / "poses").mkdir()
        (cls.drive / "poses" / "00.txt").write_text("1 0 0 0 0 1 0 0 0 0 1 0\n" * 2)
        made = run("train", cls.drive, "-o", cls.shared / "run", "--steps", 3, "--test-every", 2, "--lidar-weight", 0.1)
        assert made.code == 0, made.err

    @staticmethod
    def wall():
        """A wall 8 m ahead, ring by ring, and one point that is none."""
        points = struct.pack("<4f", math.nan, 0, 0, 0)
        for elevation in range(10, -11, -1):
            for side in (range(0, 60), range(-60, 0)):
                for step in side:
                    points += struct.pack("<4f", 8, 8 * math.tan(step * 0.00628), 8 * math.tan(elevation * 0.01), 0.5)
        return points

    def test_what_is_in_a_drive(self):
        lidar = self.expect(0, "info", self.drive, "--json").json["lidar"]
        self.assertEqual((lidar["sweeps"], lidar["returns"], lidar["posed"]), (2, 2 * 21 * 120, True))
        self.assertAlmostEqual(lidar["nearest_m"], 8, places=3)
        self.assertEqual(len(lidar["notes"]), 2)

    def test_a_step_with_beams_is_predicted(self):
        work, common = self.folder / "work.json", ["--gpu", "h200", "--json"]
        scene = ["predict", self.shared / "run", "--capture", self.drive, "--views", 2]
        plain = self.expect(0, *scene, *common).json
        with_beams = self.expect(0, *scene, "--lidar-weight", 0.1, "--lidar-beams", 500, "-o", work, *common)
        beams = with_beams.json["counts"]["beams"]
        self.assertTrue(0 < beams["rays"] < 1000, beams)
        self.assertTrue(0 < beams["listed"] <= beams["pairs"] and beams["longest"] <= beams["walked"] <= beams["pairs"], beams)
        self.assertTrue(0 < beams["met"] <= 4 * beams["walked"], beams)
        self.assertIn("beams per step", with_beams.out)
        step, before = (result["predictions"][0]["step"] for result in (with_beams.json, plain))
        rays = [s for s in step["stages"] if s["name"] == "rays"]
        self.assertEqual([s["counted"] for s in rays], [False])
        self.assertGreater(step["ms"]["p50"], before["ms"]["p50"])
        self.assertNotIn("rays", [s["name"] for s in before["stages"]])
        seldom = self.expect(0, *scene, "--lidar-weight", 0.1, "--lidar-beams", 500, "--lidar-every", 4, *common)
        self.assertIn("the mean of 4 steps, of which one has beams", seldom.out)
        a_fourth = [s["ms"]["p50"] for s in seldom.json["predictions"][0]["step"]["stages"] if s["name"] == "rays"]
        self.assertAlmostEqual(4 * a_fourth[0], rays[0]["ms"]["p50"], places=6)
        self.assertEqual(seldom.json["counts"]["beams"], {**beams, "every": 4})
        self.expect(2, *scene, "--lidar-every", 4, says="needs beams")
        lens = self.expect(0, *scene, "--refine-intrinsics", *common).json
        self.assertTrue(lens["refine_intrinsics"])
        self.assertGreater(lens["predictions"][0]["step"]["ms"]["p50"], before["ms"]["p50"])
        again = self.expect(0, "predict", "--model", work, *common).json
        self.assertEqual(again["predictions"][0]["step"], step)
        work.write_text(work.read_text().replace('"walked":', '"crawled":'))
        self.expect(2, "predict", "--model", work, *common, says='"walked" is not a number')
        self.expect(2, "predict", "--model", work, "--lidar-weight", 1, says="counts beams of a scene")
        self.expect(2, "predict", self.shared / "run", "--lidar-weight", 1, says="needs the sweeps of a lidar")
        sky = self.expect(0, *scene, "--sky", *common).json
        self.assertTrue(sky["sky"])
        self.assertGreater(sky["predictions"][0]["frame"]["ms"]["p50"], plain["predictions"][0]["frame"]["ms"]["p50"])

    def test_sweeps_are_scored(self):
        told = self.expect(0, "eval", self.shared / "run", "--lidar", "--json")
        held_out, everything = told.json["lidar"], self.expect(0, "eval", self.shared / "run", "--lidar", "--all", "--json").json["lidar"]
        self.assertEqual((held_out["columns"], everything["columns"]), ("held out", "all"))
        self.assertEqual(everything["all"]["returns"], 2 * 21 * 120)
        self.assertTrue(0 < held_out["all"]["returns"] < everything["all"]["returns"] / 2)
        self.assertEqual([s["sweep"] for s in held_out["sweeps"]], ["000000", "000001"])
        self.assertGreater(held_out["all"]["met"], 0)
        self.assertIn("Chamfer m", told.out)

    def test_a_run_with_a_lidar_moves_between_backends(self):
        emulated = pathlib.Path(GAUSSCOPE).with_name("gausscope_emulated")
        if not emulated.exists():
            self.skipTest("this build has no CUDA backend")
        out = self.folder / "run"
        first = ["train", self.drive, "-o", out, "--lidar-weight", "0.1", "--lidar-beams", "300", "--test-every", "2"]
        for program, words in ((emulated, [*first, "--steps", "2", "--backend", "cuda"]),
                               (GAUSSCOPE, ["train", "--resume", out, "--steps", "3", "--backend", "cpu"]),
                               (emulated, ["train", "--resume", out, "--steps", "5", "--backend", "cuda"])):
            trained = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
            self.assertEqual(trained.returncode, 0, trained.stderr)
        rows = [float(row.rsplit(",", 1)[1]) for row in (out / "metrics.csv").read_text().splitlines()[1:]]
        self.assertEqual(len(rows), 5)
        self.assertTrue(all(row > 0 for row in rows), rows)
        self.assertGreater(json.loads((out / "metrics.json").read_text())["lidar"]["returns"], 1000)

    def test_the_lidar_is_learned_from(self):
        rows = (self.shared / "run" / "metrics.csv").read_text().splitlines()
        self.assertTrue(rows[0].endswith(",lidar_m"))
        self.assertTrue(all(float(row.rsplit(",", 1)[1]) > 0 for row in rows[1:]))
        scored = json.loads((self.shared / "run" / "metrics.json").read_text())["lidar"]
        self.assertGreater(scored["returns"], 1000)
        told = self.expect(0, "train", self.drive, "-o", self.folder / "photos", "--steps", 2, "--test-every", 2, "--lidar-weight", 0)
        self.assertIn("lidar, held-out columns", told.out + told.err)
        told = self.expect(0, "train", self.capture, "-o", self.folder / "none", "--steps", 1, "--lidar-weight", 0.1)
        self.assertIn("has no lidar", told.out + told.err)
        rows = (self.folder / "photos" / "metrics.csv").read_text().splitlines()
        self.assertTrue(all(row.endswith(",") for row in rows[1:]))

    def test_opacities_are_not_reset_with_beams(self):
        def train(*words, out="run"):
            made = self.expect(0, "train", self.drive, "-o", self.folder / out, "--test-every", 2, "--lidar-weight", 0.1, *words)
            settings = json.loads((self.folder / out / "metrics.json").read_text())["settings"]
            return made.err, settings["opacity_reset_every"]

        # A run of 30,000 steps would reset them; it is stopped after two.
        long = ["--densify-until", 15000, "--steps"]
        said, every = train(*long, 2)
        self.assertIn("opacities are not reset", said)
        self.assertEqual(every, 0)
        self.assertNotIn("opacities", train("--steps", 2, out="short")[0])
        said, every = train(*long, 2, "--opacity-reset-every", 2000, out="chosen")
        self.assertNotIn("opacities", said)
        self.assertEqual(every, 2000)
        # Resumed runs keep what they began with.
        for out, kept in (("run", 0), ("chosen", 2000)):
            resumed = self.expect(0, "train", "--resume", self.folder / out, "--steps", 3)
            self.assertEqual("opacities are reset every 2000 steps, as in the checkpoint" in resumed.err, kept > 0)
            settings = json.loads((self.folder / out / "metrics.json").read_text())["settings"]
            self.assertEqual(settings["opacity_reset_every"], kept)

    def test_a_recording_beside_a_capture(self):
        photos, out = self.folder / "photos", self.folder / "run"
        shutil.copytree(self.drive, photos)
        shutil.rmtree(photos / "sequences" / "00" / "velodyne")
        words = ["train", photos, "--steps", 2, "--test-every", 2, "--lidar-weight", 0.1]
        self.assertIn("has no lidar", self.expect(0, *words, "-o", self.folder / "none").err)
        self.expect(0, *words, "-o", out, "--lidar", self.drive)
        scored = json.loads((out / "metrics.json").read_text())["lidar"]
        self.assertGreater(scored["returns"], 1000)
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["lidars"], [str(self.drive)])
        # The run remembers it: resumed, scored, and where it has gone.
        self.expect(0, "train", "--resume", out, "--steps", 3)
        self.assertGreater(float((out / "metrics.csv").read_text().splitlines()[-1].rsplit(",", 1)[1]), 0)
        self.assertGreater(self.expect(0, "eval", out, "--lidar", "--json").json["lidar"]["all"]["met"], 0)
        other = self.folder / "other"
        self.expect(2, *words, "-o", other, "--lidar", self.folder / "nowhere", says="does not exist")
        self.expect(2, *words, "-o", other, "--lidar", self.capture, says="no sweep")
        self.assertFalse(other.exists())

    def test_sweeps_are_drawn(self):
        self.expect(0, "render", self.shared / "run", "--lidar", self.drive, "-o", self.folder)
        self.assertEqual((self.folder / "000001_range.png").read_bytes()[:4], b"\x89PNG")
        drawn = self.expect(0, "render", self.shared / "run", "--lidar", self.drive, "-o", self.folder, "--format", "npy", "--json").json["lidar"]
        self.assertEqual(drawn["images"], ["000000_range.npy", "000001_range.npy"])
        self.assertIn(b"(64, 2000, 4)", (self.folder / "000000_range.npy").read_bytes()[:128])

    def test_what_does_not_go_together(self):
        self.expect(2, "render", self.shared / "run", "--lidar", self.drive, says="-o")
        self.expect(2, "render", self.shared / "run", "--lidar", self.drive, "--backend", "cuda", "-o", self.folder, says="--lidar draws along rays, which only the CPU can")
        self.expect(2, "render", self.shared / "run", "--lidar", self.capture, "-o", self.folder, says="no sweep")
        self.expect(2, "eval", self.shared / "run", self.capture, "--lidar", "--all", says="no sweep")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
