"""Captured steps, frames beside the reference, runs that part, from outside. Run: cli_steps_test.py GROUP"""
import json
import os
import sys
import unittest
import zipfile

from cli_support import Case


class Steps(Case):
    def train(self, name, *arguments):
        out = self.folder / name
        self.expect(0, "train", self.capture, "-o", out, "--steps", 16, "--hashes", *arguments)
        return out

    def test_steps_of_compact_moments_are_not_captured(self):
        out = self.folder / "compact"
        self.expect(0, "train", self.capture, "-o", out, "--steps", 4, "--compact-moments", "--capture-step", 3,
                    says="step 3 was not captured: a step of compact moments cannot be captured")
        self.assertEqual(list(out.glob("*.gsstep")), [])

    def test_a_step_is_captured_and_replayed(self):
        out = self.train("a", "--capture-step", "3,11")
        self.assertTrue((out / "step-000003.gsstep").exists())
        file = out / "step-000011.gsstep"
        done = self.expect(0, "replay", file, "--repeats", 2, "--reference", 40, "--json").json
        self.assertEqual([stage["verdict"] for stage in done["stages"]], 7 * ["same bits"])
        self.assertEqual((done["captured"]["step"], done["captured"]["agreement"]), (11, "the same bits"))
        self.assertTrue(done["passed"] and done["reference"]["passed"])
        self.assertIn("blend", [row["stage"] for row in done["times"]])
        # On one thread: the same bits. One stage alone.
        one = self.expect(0, "replay", file, "--threads", 1, "--repeats", 1, "--stage", "blend", "--json").json
        self.assertEqual([(s["stage"], s["verdict"]) for s in one["stages"]], [("blend", "same bits")])
        self.assertEqual({row["stage"] for row in one["reference"]["rows"]}, {"picture"})
        adam = self.expect(0, "replay", file, "--repeats", 1, "--stage", "adam", "--json").json
        self.assertNotIn("reference", adam)
        told = self.expect(0, "info", file, "--json").json
        self.assertEqual((told["kind"], told["step"], told["visible"]), ("step", 11, done["captured"]["visible"]))
        self.assertTrue(any(note.startswith("norms of the gradients: means ") for note in told["notes"]), told["notes"])
        self.expect(2, "info", file, "--fix", self.folder / "fixed.ply", says="captured step")
        self.expect(2, "replay", file, "--stage", "nonsense")
        self.expect(2, "replay", out / "none.gsstep", says="none.gsstep")
        self.expect(2, "replay", out / "point_cloud.ply", says="point_cloud.ply")
        (self.folder / "cut.gsstep").write_bytes(file.read_bytes()[:5000])
        self.expect(2, "replay", self.folder / "cut.gsstep", says="cut.gsstep")
        self.change(file, self.folder / "newer.gsstep", lambda m: m.update(version=9))
        self.expect(2, "replay", self.folder / "newer.gsstep", says="version 9")
        # A camera a little elsewhere: every stage says so.
        self.change(file, self.folder / "moved.gsstep", lambda m: m["camera"].update(cx=m["camera"]["cx"] + 0.25))
        moved = self.expect(3, "replay", self.folder / "moved.gsstep", "--repeats", 1, "--json").json
        self.assertEqual(moved["stages"][0]["verdict"], "differs")
        self.assertTrue(moved["stages"][0]["first"].startswith("Gaussian "), moved["stages"][0])
        self.assertFalse(moved["passed"])

    def change(self, file, to, edit):
        with zipfile.ZipFile(file) as was, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as now:
            for name in was.namelist():
                data = was.read(name)
                if name == "manifest.json":
                    manifest = json.loads(data)
                    edit(manifest)
                    data = json.dumps(manifest).encode()
                now.writestr(name, data)

    def test_a_frame_is_verified(self):
        out = self.train("a")
        whole = self.expect(0, "verify", out, "--capture", self.capture, "--gradients", "--json").json
        self.assertEqual([row["verdict"] for row in whole["rows"]], len(whole["rows"]) * ["agrees"])
        self.assertEqual({row["stage"] for row in whole["rows"]}, {"projection", "lists", "picture", "loss", "gradients"})
        self.assertEqual(whole["pixels"] + whole["fragile"], 96 * 72)
        part = self.expect(0, "verify", out / "point_cloud.ply", "--width", 64, "--height", 48, "--region", "8,8,40,30",
                           "--difference", self.folder / "d.png", "--json").json
        self.assertEqual((part["region"], part["pixels"] + part["fragile"]), ([8, 8, 40, 30], 32 * 22))
        self.assertEqual((self.folder / "d.png").read_bytes()[:4], b"\x89PNG")
        # As wide as the photo and higher: there is no photo to compare with.
        high = self.expect(0, "verify", out, "--capture", self.capture, "--width", 96, "--height", 90, "--json").json
        self.assertNotIn("loss", {row["stage"] for row in high["rows"]})
        self.expect(2, "verify", out, "--region", "8,8,8,30", says="not a region")
        self.expect(2, "verify", out, "--region", "9000,0,9001,1", says="outside the picture")
        self.expect(2, "verify", out, "--capture", self.capture, "--photo", "none", says="no photo")
        self.expect(2, "verify", self.capture)

    def test_runs_that_part(self):
        one, same = self.train("a"), self.train("b", "--threads", 1)
        told = self.expect(0, "diff", one, same, "--json").json
        self.assertEqual((told["compared"], told["step"], told["differences"]), (16, None, []))
        other = self.train("c", "--lambda-dssim", 0.3)
        told = self.expect(3, "diff", one, other, "--json").json
        self.assertEqual((told["step"], told["stage"]), (1, "loss"))
        self.assertEqual([d["what"] for d in told["differences"]], ["lambda_dssim"])
        self.assertIn("loss", told["first"])
        # Later, and found again from a checkpoint: the optimizer of one group.
        late = self.folder / "late"
        self.expect(0, "train", self.capture, "-o", late, "--steps", 16, "--hashes", "--seed", 7)
        told = self.expect(3, "diff", one, late, "--json").json
        self.assertEqual(told["stage"], "photo")
        self.expect(2, "diff", one, self.capture, says="--hashes")
        self.expect(2, "diff", one, self.folder / "none", says="no such run folder")
        (late / "hashes.txt").write_text("nonsense\n")
        self.expect(2, "diff", one, late, says="hashes.txt:1")

    def test_the_gaussian_is_found_from_checkpoints(self):
        runs = []
        for name, rate in (("a", 0.025), ("b", 0.03)):
            out = self.folder / name
            self.expect(0, "train", self.capture, "-o", out, "--steps", 16, "--hashes", "--keep-every", 4, "--lr-opacity", rate)
            runs.append(out)
        told = self.expect(3, "diff", *runs, "--json").json
        self.assertEqual((told["step"], told["stage"]), (1, "adam"))
        self.assertIn("opacity logit", told["first"])
        self.assertTrue(told["first"].startswith("adam: Gaussian "), told)
        none = self.expect(3, "diff", *runs, "--most-steps", 0, "--json").json
        self.assertIsNone(none["first"])
        self.assertIn("--most-steps", none["why_not"])


class Studio(Case):
    def studio(self, path, *lines, says=()):
        script = self.folder / "script.txt"
        script.write_text("\n".join(["wait-loaded", *map(str, lines), "quit", ""]))
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.expect(0, "view", path, "--headless", "--width", 900, "--height", 700, "--script", script, "-v", says=says,
                    env=config, cwd=self.folder)

    def test_steps_are_captured_and_frames_verified(self):
        step, again = self.folder / "one.gsstep", self.folder / "two.gsstep"
        self.studio(self.capture, "train.hashes on", "train.run-to 4", "wait-step 4", f"capture.step {step}", "wait-step 5",
                    "train.start", f"capture.step {again}", "wait-step 9", "train.pause", "wait-frame",
                    "verify.frame 40 30 90 70", "wait-idle", "verify.clear",
                    says=["all match", "step 5 is in", "one.gsstep"])
        for file in (step, again):
            self.expect(0, "replay", file, "--repeats", 1, "--reference", 0)
        self.studio(step, "view.capture 0", "wait-frame", f"screenshot {self.folder / 'photo.png'}", "verify.frame 0 0 50 40",
                    "wait-idle", "view.capture 1", "wait-frame", says="all match")
        self.assertTrue((self.folder / "photo.png").exists())


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
