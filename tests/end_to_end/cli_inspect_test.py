"""One pixel explained on the command line. Run: cli_inspect_test.py GROUP"""
import json
import math
import os
import sys
import unittest

from cli_support import Case, run


class Inspect(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = run("train", cls.capture, "-o", cls.shared / "scene", "--steps", 20)
        assert made.code == 0, made.err
        cls.scene = cls.shared / "scene" / "point_cloud.ply"

    def test_a_pixel_of_a_photo(self):
        told = self.expect(0, "inspect", self.scene, "--capture", self.capture, "--camera", "view_003", "--pixel", "40,30", "--json")
        found = told.json
        self.assertEqual((found["command"], found["x"], found["y"]), ("inspect", 40, 30))
        blended = [g for g in found["gaussians"] if g["fate"] == "blended"]
        self.assertEqual(len(blended), found["contributors"])
        self.assertGreater(len(blended), 0)
        # Background black: what they add is the colour, and the backend's.
        for c in range(3):
            self.assertAlmostEqual(sum(g["adds"][c] for g in blended), found["color"][c], delta=1e-6)
        if not found["fragile"]:
            self.assertLess(found["backend"]["difference"], 2e-5)
            self.assertEqual(found["backend"]["contributors"], found["contributors"])
        self.assertAlmostEqual(sum(g["gradient_share"] for g in blended), 1, delta=1e-6)
        self.assertTrue(all(math.isfinite(v) for v in found["photo"]["loss_by_color"]))
        tile = found["tile"]
        self.assertEqual((tile["column"], tile["row"], len(tile["stops"])), (2, 1, 256))
        self.assertEqual(sum(tile["stops"]), tile["evaluated"])
        table = told.out[:told.out.rindex("\n{")]
        self.assertIn("blended", table)
        self.assertFalse("outside the ellipse" in table, "only with --all")
        everything = self.expect(0, "inspect", self.scene, "--capture", self.capture, "--camera", 3, "--pixel", "40,30", "--all", "--most", 100000)
        if any(g["fate"] == "outside the ellipse" for g in found["gaussians"]):
            self.assertTrue("outside the ellipse" in everything.out)

    def test_cameras_without_photos(self):
        cameras = self.folder / "cameras.json"
        cameras.write_text(json.dumps([{"name": "a", "width": 50, "height": 34, "fov_y": 40, "position": [5, 0, 2],
                                        "target": [0, 0, 0.5], "up": [0, 0, 1]}]))
        found = self.expect(0, "inspect", self.scene, "--cameras", cameras, "--pixel", "25,17", "--width", 100, "--json").json
        self.assertEqual((found["width"], found["height"], found["photo"]), (100, 68, None))

    def test_what_is_wrong_is_said(self):
        at = ["inspect", self.scene, "--capture", self.capture]
        self.expect(2, *at, "--pixel", "40", says="not a pixel")
        self.expect(2, *at, "--pixel", "4x,3", says="not a pixel")
        self.expect(2, *at, "--pixel", "-1,3", says="not a pixel")
        self.expect(2, *at, "--pixel", "100000,3", says="is outside")
        self.expect(2, *at, "--pixel", "1,3", "--camera", "nobody", says="no camera")
        self.expect(2, *at, "--pixel", "1,3", "--camera", 999, says="no camera")
        self.expect(2, "inspect", self.scene, "--pixel", "1,3", says="--capture")


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
