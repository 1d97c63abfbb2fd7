"""The benchmark runner on made scenes: a folder of each kind, ours and a peer given as a command line."""
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest

import gausscope
from gausscope import benchmark

HAVE_NUMPY = importlib.util.find_spec("numpy") is not None
PEER = """
import subprocess, sys
program, capture, out, steps, seed = sys.argv[1:]
subprocess.run([program, "train", capture, "-o", out + "/work", "--steps", steps, "--seed", seed,
                "--test-every", "8", "--max-gaussians", "700"], check=True)
subprocess.run([program, "convert", out + "/work", out + "/result", "--layout", "inria"], check=True)
"""


def sample(folder, width):
    gausscope.call("sample", folder, views=9, width=width, height=width * 3 // 4, points=400, progress=False)


def as_nerf_synthetic(folder, capture):
    """The capture's views as transforms_train.json and transforms_test.json."""
    from test_files import write_png
    for part, views in (("train", capture.train), ("test", capture.test)):
        frames = []
        (folder / part).mkdir(parents=True)
        for view in views:
            photo, pose = view.photo(), view.camtoworld.copy()
            pose[:, 1:3] *= -1  # OpenGL's axes
            name = f"{part}/{pathlib.Path(view.name).stem}"
            write_png(folder / f"{name}.png", view.width, view.height, lambda x, y: photo[y, x].tolist())
            frames.append({"file_path": f"./{name}", "transform_matrix": pose.tolist()})
        angle = 2 * math.atan(view.width / 2 / view.K[0, 0])
        (folder / f"transforms_{part}.json").write_text(json.dumps({"camera_angle_x": angle, "frames": frames}))


@unittest.skipUnless(HAVE_NUMPY, "NumPy is not installed")
class Benchmark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name).resolve()
        cls.data = cls.folder / "my data"
        sample(cls.data / "garden", 192)
        sample(cls.folder / "small", 48)
        (cls.folder / "small/images").rename(cls.data / "garden/images_4")
        sample(cls.data / "truck", 48)
        as_nerf_synthetic(cls.data / "lego", gausscope.Capture(cls.data / "truck", downscale=1))
        (cls.folder / "peer.py").write_text(PEER)
        cls.results = cls.folder / "results"
        cls.line = [str(cls.data), "-o", str(cls.results), "--steps", "4", "--seeds", "1,2,3",
                    "--peer", f"theirs:tight={sys.executable} {cls.folder}/peer.py {{program}} {{capture}} {{out}} {{steps}} {{seed}}"]
        cls.code, cls.said, _ = cls.run_it(*cls.line)
        cls.json = json.loads((cls.results / "results.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @staticmethod
    def run_it(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = benchmark.main([str(a) for a in arguments])
        return code, out.getvalue(), err.getvalue()

    def test_every_number_has_its_command_and_folder(self):
        self.assertEqual(self.code, 0)
        self.assertEqual(len(self.json["runs"]), 3 * 2 * 3)
        for one in self.json["runs"]:
            self.assertTrue(pathlib.Path(one["splats"]).is_relative_to(one["folder"]))
            self.assertIn(str(self.folder), one["command"])
            self.assertIn(one["command"], self.said)
            self.assertGreater(one["peak_bytes"], 1 << 20)
            self.assertTrue(0 < one["seconds"] <= one["process_seconds"] + 0.1, one)
        self.assertEqual((self.results / "results.md").read_text().strip(), self.said.strip())

    def test_rows_are_of_the_three_seeds(self):
        rows = {(row["scene"], row["trainer"]): row for row in self.json["rows"]}
        self.assertEqual({row["set"] for row in self.json["rows"]}, {"Mip-NeRF360", "Tanks & Temples", "NeRF-synthetic"})
        for (scene, trainer), row in rows.items():
            of = [one for one in self.json["runs"] if (one["scene"], one["trainer"]) == (scene, trainer)]
            self.assertEqual(row["runs"], 3)
            self.assertAlmostEqual(row["psnr"], sum(one["psnr"] for one in of) / 3)
            self.assertEqual(row["seconds"], sorted(one["seconds"] for one in of)[1])

    def test_splits_and_photos_are_the_fields(self):
        held_out = {one["scene"]: one["held_out"] for one in self.json["runs"]}
        self.assertEqual([len(held_out[name]) for name in ("garden", "truck", "lego")], [2, 2, 2])
        self.assertEqual([pathlib.Path(name).stem for name in held_out["garden"]],
                         [pathlib.Path(view.name).stem for view in gausscope.Capture(self.data / "truck").test])
        garden = benchmark.scenes_in(self.data / "garden")[0]
        view = gausscope.Capture(benchmark.capture_of(garden, self.results), downscale=1)[0]
        self.assertEqual((view.width, garden.factor), (48, 4))
        large = gausscope.Capture(self.data / "garden", downscale=1)[0]
        self.assertAlmostEqual(view.K[0, 0], large.K[0, 0] / 4, places=6)
        self.assertTrue(benchmark.scenes_in(self.data / "lego")[0].white)

    def test_it_resumes(self):
        before = (self.results / "results.json").read_text()
        damaged = self.results / "runs/truck/theirs/seed-2"
        (damaged / "result.json").unlink()
        code, _, err = self.run_it(*self.line)
        self.assertEqual((code, err.count("seed 2: ")), (0, 1), err)
        self.assertNotIn("seed 1: ", err)
        after = json.loads((self.results / "results.json").read_text())
        for a, b in zip(json.loads(before)["runs"], after["runs"]):
            self.assertEqual(a["psnr"], b["psnr"])
        self.assertEqual(self.run_it("--check", self.results / "results.json")[:2], (0, f"{self.results}/results.json: holds\n"))

    def test_other_rules_and_lpips_score_again_without_training(self):
        results = self.folder / "scored"
        line = [self.data / "truck", "-o", results, "--steps", 3, "--seeds", "4"]
        self.assertEqual(self.run_it(*line)[0], 0)
        first = json.loads((results / "results.json").read_text())["runs"][0]
        options = ["--as", "nerfstudio"]
        if importlib.util.find_spec("torch"):
            import torch
            torch.save(PerceptualDifference().weights("vgg"), self.folder / "weights.pt")
            options += ["--lpips", self.folder / "weights.pt"]
        code, _, err = self.run_it(*line, *options)
        self.assertEqual((code, err), (0, ""))
        again = json.loads((results / "results.json").read_text())["runs"][0]
        self.assertEqual((again["seconds"], again["sha256"]), (first["seconds"], first["sha256"]))
        self.assertNotEqual(again["ssim"], first["ssim"])
        self.assertEqual("lpips" in again, len(options) > 2)

    def test_what_breaks_the_rules_is_found(self):
        changed = json.loads(json.dumps(self.json))
        changed["runs"][0]["psnr"] += 1
        changed["runs"][1]["sha256"] = "0"
        changed["runs"][-1]["held_out"] = []
        del changed["runs"][7]
        file = self.folder / "changed.json"
        file.write_text(json.dumps(changed))
        code, said, _ = self.run_it("--check", file)
        self.assertEqual(code, 3)
        for words in ("is not the file", "different photos", "2 seeds", "the rows are not"):
            self.assertIn(words, said)

    def test_failures_are_named_and_the_rest_goes_into_the_table(self):
        line = [self.data / "truck", "-o", self.folder / "failing", "--steps", 3, "--seeds", "5"]
        code, said, err = self.run_it(*line, "--peer", "broken=false {out}")
        self.assertEqual(code, 1)
        self.assertIn("ended with 1", err)
        self.assertIn("| truck | gausscope | 1 |", said)
        code, _, err = self.run_it(*line, "--only-peers", "--peer", "empty=true")
        self.assertIn("has no splats", err)

    def test_wrong_input_is_named(self):
        for line, words in (([self.folder / "nothing"], "is not a folder"), ([self.results / "runs"], "has no scene")):
            code, _, err = self.run_it(*line, "-o", self.folder / "x")
            self.assertEqual(code, 2)
            self.assertIn(words, err)
        (self.folder / "room/sparse").mkdir(parents=True)
        self.assertIn("has no images_2", self.run_it(self.folder / "room", "-o", self.folder / "x")[2])
        for line in ([], [self.data, "--peer", "noname"]):
            with self.assertRaises(SystemExit):
                self.run_it(*line)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class PerceptualDifference(unittest.TestCase):
    """With weights that nobody trained, of narrow networks of the same form."""

    def weights(self, network):
        import torch
        g = torch.Generator().manual_seed(1)
        if network == "vgg":
            shapes = [(int(s), i, o) for s, i, o in zip(
                "1122333444555", (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28),
                (4, 4, 8, 8, 12, 12, 12, 16, 16, 16, 16, 16, 16))]
            kernels, taps = [3] * 13, (4, 8, 12, 16, 16)
        else:
            shapes, kernels = [(1, 0, 4), (2, 3, 12), (3, 6, 24), (4, 8, 16), (5, 10, 16)], [11, 5, 3, 3, 3]
            taps = (4, 12, 24, 16, 16)
        out, channels = {}, 3
        for (part, index, wide), kernel in zip(shapes, kernels):
            out[f"net.slice{part}.{index}.weight"] = torch.randn(wide, channels, kernel, kernel, generator=g) / (
                kernel * channels ** 0.5)
            out[f"net.slice{part}.{index}.bias"] = torch.zeros(wide)
            channels = wide
        for i, wide in enumerate(taps):
            out[f"lin{i}.model.1.weight"] = torch.rand(1, wide, 1, 1, generator=g)
        return out

    def test_of_vgg_and_alex(self):
        import torch
        g = torch.Generator().manual_seed(2)
        a, b = torch.rand(64, 80, 3, generator=g), torch.rand(64, 80, 3, generator=g)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "weights.pt"
            for network, sizes in (("vgg", [(64, 80), (32, 40), (16, 20), (8, 10), (4, 5)]),
                                   ("alex", [(15, 19), (7, 9), (3, 4), (3, 4), (3, 4)])):
                torch.save(self.weights(network), file)
                lpips = benchmark.Lpips(file)
                self.assertEqual(lpips.network, network)
                self.assertEqual([tuple(f.shape[2:]) for f in lpips.features(a.permute(2, 0, 1)[None])], sizes)
                self.assertEqual(lpips(a, a), 0)
                self.assertGreater(lpips(a, b), lpips(a, 0.9 * a + 0.1 * b))
                self.assertEqual(lpips(a, b), lpips(b, a))
            torch.save({"x": torch.zeros(1)}, file)
            with self.assertRaisesRegex(gausscope.Error, "lpips.LPIPS"):
                benchmark.Lpips(file)


if __name__ == "__main__":
    unittest.main()
