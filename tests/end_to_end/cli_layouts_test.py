"""Other trainers' folders: theirs are opened, ours are written as theirs and read as their code reads them."""
import argparse
import json
import math
import shutil
import struct
import unittest

from cli_support import RUN_FILES, Case


def vertices(path):
    """(names, rows) of a PLY's vertices, text or little-endian floats."""
    head, _, body = path.read_bytes().partition(b"end_header\n")
    lines = head.decode().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("property")]
    count = next(int(line.split()[2]) for line in lines if line.startswith("element vertex"))
    if "ascii" in lines[1]:
        return names, [list(map(float, line.split())) for line in body.decode().splitlines()]
    return names, [struct.unpack_from(f"<{len(names)}f", body, 4 * len(names) * i) for i in range(count)]


class Inria(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_folder, cls.made = cls.shared / "run", cls.shared / "as-inria"

    def setUp(self):
        super().setUp()
        if self.made.exists():
            return
        self.expect(0, "train", self.capture, "-o", self.run_folder, "--steps", 20)
        out = self.expect(0, "convert", self.run_folder, self.made, "--layout", "inria", "--json").json
        self.assertEqual((out["layout"], out["step"]), ("inria", 20))

    def test_cfg_args_is_read_as_render_py_reads_it(self):
        read = vars(eval((self.made / "cfg_args").read_text(), {"Namespace": argparse.Namespace}))
        self.assertEqual(read["source_path"], str(self.capture.resolve()))
        self.assertEqual((read["eval"], read["sh_degree"], read["images"]), (True, 3, "images"))

    def test_cameras_json_holds_the_captures_poses(self):
        cameras = json.loads((self.made / "cameras.json").read_text())
        theirs = {}  # of images.txt: world to camera
        for line in (self.capture / "sparse/0/images.txt").read_text().splitlines():
            words = line.split()
            if len(words) == 10 and not line.startswith("#"):
                theirs[words[9].rpartition(".")[0]] = list(map(float, words[1:8]))
        self.assertEqual(sorted(camera["img_name"] for camera in cameras), sorted(theirs))
        for camera in cameras:
            w, x, y, z, *t = theirs[camera["img_name"]]
            r = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                 [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                 [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
            for i in range(3):
                self.assertAlmostEqual(camera["position"][i], -sum(r[k][i] * t[k] for k in range(3)), places=5)
                for k in range(3):
                    self.assertAlmostEqual(camera["rotation"][i][k], r[k][i], places=6)
            self.assertGreater(camera["fx"], 0)

    def test_input_ply_has_what_their_reader_asks_for(self):
        names, rows = vertices(self.made / "input.ply")
        for name in ("x", "y", "z", "nx", "ny", "nz", "red", "green", "blue"):
            self.assertIn(name, names)
        self.assertGreater(len(rows), 100)
        self.assertTrue(all(0 <= row[names.index("red")] <= 255 for row in rows))

    def test_the_gaussians_are_under_their_names(self):
        names, rows = vertices(self.made / "point_cloud/iteration_20/point_cloud.ply")
        for name in ["x", "y", "z", "opacity", *(f"f_dc_{i}" for i in range(3)), *(f"f_rest_{i}" for i in range(45)),
                     *(f"scale_{i}" for i in range(3)), *(f"rot_{i}" for i in range(4))]:
            self.assertIn(name, names)
        self.assertTrue(all(map(math.isfinite, rows[0])))

    def test_it_opens_again_with_its_capture_and_scores_the_same(self):
        ours = self.expect(0, "eval", self.run_folder, "--json").json["test"]
        again = self.expect(0, "eval", self.made, "--json").json
        self.assertEqual(again["test"]["psnr"], ours["psnr"])
        self.assertEqual([image["name"] for image in again["test"]["images"]], [image["name"] for image in ours["images"]])
        before = sorted(self.made.rglob("*"))
        self.expect(0, "info", self.made)
        self.expect(0, "bench", self.made, "--repeats", 3, "--no-ceilings")
        self.assertEqual(sorted(self.made.rglob("*")), before, "nothing is written into it")

    def test_the_newest_iteration_is_used_and_moved_photos_are_asked_for(self):
        folder = self.folder / "moved"
        shutil.copytree(self.made, folder)
        shutil.copytree(folder / "point_cloud/iteration_20", folder / "point_cloud/iteration_7")
        cfg = (folder / "cfg_args").read_text().replace(str(self.capture.resolve()), "/nowhere/photos")
        (folder / "cfg_args").write_text(cfg)
        self.expect(2, "eval", folder, says="name the photos")
        self.expect(0, "eval", folder, self.capture)

    def test_train_leaves_that_layout_and_the_steps_as_asked(self):
        out, again, ten = self.folder / "both", self.folder / "again", self.folder / "ten.ply"
        train = ("train", self.capture, "-o", out, "--steps", 20)
        made = self.expect(0, *train, "--layout", "inria", "--save-at", "10,15", "--json").json
        at = {step: out / f"point_cloud/iteration_{step}/point_cloud.ply" for step in (10, 15, 20)}
        self.assertEqual(made["files"]["splats_10"], str(at[10]))
        self.expect(0, "convert", out / "checkpoint-10.gsc", ten)
        self.assertEqual(vertices(ten), vertices(at[10]))
        self.assertNotEqual(vertices(at[10]), vertices(at[15]))
        self.assertEqual(vertices(at[20]), vertices(out / "point_cloud.ply"))
        self.expect(0, "convert", out, again, "--layout", "inria")
        for name in ("cameras.json", "input.ply"):
            self.assertEqual((out / name).read_bytes(), (again / name).read_bytes())
        read = vars(eval((out / "cfg_args").read_text(), {"Namespace": argparse.Namespace}))
        self.assertEqual((read["model_path"], read["source_path"]), (str(out), str(self.capture.resolve())))
        self.assertEqual(self.expect(0, "train", "--resume", out, "--steps", 22, "--json").json["resumed_at_step"], 20)
        self.expect(2, *train, "--save-at", 0, "--overwrite")
        self.expect(0, *train, "--overwrite")
        self.assertEqual(sorted(path.name for path in out.iterdir()), RUN_FILES, "all of the other run goes")

    def test_overwriting_leaves_another_trainers_files_alone(self):
        folder = self.folder / "theirs"
        shutil.copytree(self.made, folder)
        self.expect(2, "train", self.capture, "-o", folder, "--steps", 4, says="contains a run")
        self.expect(0, "train", self.capture, "-o", folder, "--steps", 4, "--overwrite")
        for name in ("cameras.json", "cfg_args", "point_cloud/iteration_20/point_cloud.ply"):
            self.assertEqual((folder / name).read_bytes(), (self.made / name).read_bytes())

    def test_their_iterations_are_a_time_lapse(self):
        folder, video = self.folder / "theirs", self.folder / "steps.mp4"
        shutil.copytree(self.made, folder)
        shutil.copytree(folder / "point_cloud/iteration_20", folder / "point_cloud/iteration_7")
        film = ("render", folder, "--video", video, "--time-lapse")
        made = self.expect(0, *film, "--json").json
        self.assertEqual((made["video"]["pictures"], made["time_lapse"]), (2, "view_000.png"))
        self.assertGreater(video.stat().st_size, 100)
        self.expect(2, *film, "nobody", says="nobody")
        shutil.rmtree(folder / "point_cloud/iteration_7")
        shutil.rmtree(folder / "point_cloud/iteration_20")
        self.expect(2, *film, says="is not a run's folder")

    def test_wrong_input_is_named(self):
        self.expect(2, "convert", self.capture, self.folder / "x", "--layout", "inria", says="not the folder of a run")
        self.expect(2, "convert", self.run_folder, self.run_folder, "--layout", "inria", says="not empty")
        self.expect(2, "convert", self.run_folder, self.folder / "x", "--layout", "nerf", says="inria")
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
