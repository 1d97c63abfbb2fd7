"""Splat files and captures as arrays."""
import copy
import importlib.util
import json
import math
import os
import pathlib
import pickle
import struct
import tempfile
import threading
import time
import unittest
import zlib

import gausscope

HAVE_NUMPY = importlib.util.find_spec("numpy") is not None
if HAVE_NUMPY:
    import numpy as np


def some_splats(n, degree):
    rng = np.random.default_rng(n)
    return {"means": rng.normal(size=(n, 3)), "log_scales": rng.normal(-3, 1, (n, 3)), "quats": rng.normal(size=(n, 4)),
            "opacity_logits": rng.normal(size=n), "sh0": rng.normal(size=(n, 1, 3)),
            "sh_rest": rng.normal(0, .1, (n, (degree + 1) ** 2 - 1, 3))}


def write_png(path, width, height, pixel):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


@unittest.skipUnless(HAVE_NUMPY, "NumPy is not installed")
class SplatFiles(Folder):
    def test_what_is_saved_is_loaded_again_to_the_bit(self):
        for n, degree in ((0, 0), (1, 3), (37, 0), (37, 1), (100, 2), (16, 3)):
            with self.subTest(n=n, degree=degree):
                splats = some_splats(n, degree)
                self.assertEqual(gausscope.save(self.folder / "a.ply", splats), [])
                again = gausscope.load(self.folder / "a.ply")
                for name, value in splats.items():
                    np.testing.assert_array_equal(again[name], value.astype(np.float32), name)
                self.assertEqual(again.sh_degree, degree if n else again.sh_degree)

    def test_a_sky_stays(self):
        gausscope.save(self.folder / "a.ply", some_splats(5, 1))
        bare = gausscope.load(self.folder / "a.ply")
        self.assertIsNone(bare.sky)
        for bases in (1, 4, 9, 16):
            bare.sky = np.random.default_rng(bases).normal(size=(bases, 3)).astype(np.float32)
            self.assertEqual(gausscope.save(self.folder / "b.ply", bare), [])
            np.testing.assert_array_equal(gausscope.load(self.folder / "b.ply").sky, bare.sky)
        self.assertEqual(gausscope.save(self.folder / "b.ply", dict(bare), sky=bare.sky[:4]), [])
        np.testing.assert_array_equal(gausscope.load(self.folder / "b.ply").sky, bare.sky[:4])
        gausscope.save(self.folder / "b.ply", {**bare, "sky": bare.sky[:9]})
        np.testing.assert_array_equal(gausscope.load(self.folder / "b.ply").sky, bare.sky[:9])
        for wrong, why in ((bare.sky[:3], "K of 1, 4, 9 or 16"), (bare.sky[0], "K of 1, 4, 9 or 16"),
                           ([["a", "b", "c"]], "no numbers"), ([[0, 1e39, 0]], "not finite")):
            with self.assertRaisesRegex(gausscope.Error, why):
                gausscope.save(self.folder / "b.ply", bare, sky=np.array(wrong))

    def test_a_copy_keeps_origin_and_sky(self):
        sky = np.float32([[0.5, 0, -0.5]])
        gausscope.save(self.folder / "a.ply", some_splats(5, 1), origin=(10, 0, 3), antialiased=True, sky=sky)
        first = gausscope.load(self.folder / "a.ply")
        for copied in (first.copy(), copy.copy(first), copy.deepcopy(first)):
            self.assertIs(type(copied), type(first))
            self.assertEqual(vars(copied).keys(), vars(first).keys())
            copied.update((name, rows[:3]) for name, rows in first.items())
            gausscope.save(self.folder / "b.ply", copied)
            again = gausscope.load(self.folder / "b.ply")
            self.assertEqual((len(again["means"]), again.origin, again.antialiased), (3, (10, 0, 3), True))
            np.testing.assert_array_equal(again.sky, sky)
        self.assertEqual(len(first["means"]), 5)
        other = first.copy()
        self.assertIs(other["means"], first["means"])
        other.sky = None
        self.assertIsNotNone(first.sky)

    def test_the_columns_of_the_file_are_those_of_the_field(self):
        splats = some_splats(3, 1)
        gausscope.save(self.folder / "a.ply", splats)
        head, body = (self.folder / "a.ply").read_bytes().split(b"end_header\n")
        names = [line.split()[2] for line in head.decode().splitlines() if line.startswith("property float")]
        rows = np.frombuffer(body, "<f4").reshape(3, len(names))
        column = {name: rows[:, i] for i, name in enumerate(names)}
        np.testing.assert_array_equal(column["rot_2"], splats["quats"][:, 2].astype(np.float32))
        np.testing.assert_array_equal(column["scale_1"], splats["log_scales"][:, 1].astype(np.float32))
        # f_rest is by channel, then by coefficient.
        np.testing.assert_array_equal(column["f_rest_4"], splats["sh_rest"][:, 1, 1].astype(np.float32))

    def test_other_forms_of_the_same(self):
        splats = some_splats(20, 2)
        gausscope.save(self.folder / "a.ply", splats)
        first = gausscope.load(self.folder / "a.ply")
        gausscope.save(self.folder / "b.ply", means=first["means"], quats=first["quats"], scales=first.scales,
                       opacities=first.opacities, sh=first.sh)
        second = gausscope.load(self.folder / "b.ply")
        for name in first:
            np.testing.assert_allclose(second[name], first[name], rtol=2e-6, atol=2e-6)
        gausscope.save(self.folder / "c.ply", means=[[0, 0, 1]], scales=[[1, 0, 1]], opacities=[1], colors=[[1, 0.5, 0]])
        third = gausscope.load(self.folder / "c.ply")
        self.assertEqual(third["quats"].tolist(), [[1, 0, 0, 0]])
        self.assertEqual(third["log_scales"][0, 1], -math.inf)
        self.assertEqual(third.opacities.tolist(), [1])
        np.testing.assert_allclose(third["sh0"][0, 0] * 0.28209479 + 0.5, [1, 0.5, 0], atol=1e-6)

    def test_lossy_formats_say_what_they_lose(self):
        notes = gausscope.save(self.folder / "a.spz", some_splats(5, 1))
        self.assertIn("fixed point", notes[0])
        self.assertLess(np.abs(gausscope.load(self.folder / "a.spz")["means"] - some_splats(5, 1)["means"]).max(), 1e-4)

    def test_origin_and_antialiasing_stay(self):
        gausscope.save(self.folder / "a.ply", some_splats(5, 0), origin=(500000, 4500000, 100), antialiased=True)
        again = gausscope.load(self.folder / "a.ply")
        self.assertTrue(again.antialiased)
        np.testing.assert_allclose(np.array(again.origin) + again["means"],
                                   np.array([500000, 4500000, 100]) + some_splats(5, 0)["means"], atol=1e-5)

    def test_views_of_arrays_and_lists_are_taken(self):
        splats = some_splats(10, 1)
        gausscope.save(self.folder / "a.ply", {k: np.repeat(v, 2, 0)[::2] for k, v in splats.items()})
        gausscope.save(self.folder / "b.ply", {k: v.tolist() for k, v in splats.items()})
        self.assertEqual((self.folder / "a.ply").read_bytes(), (self.folder / "b.ply").read_bytes())

    def test_what_has_an_interface_alone_is_taken(self):
        class Interface:
            def __init__(self, array): self.kept, self.__array_interface__ = array, array.__array_interface__

        class Dlpack:
            device = (1, 0)
            def __init__(self, array): self.array = array
            def __dlpack__(self, **options): return self.array.__dlpack__(**options)
            def __dlpack_device__(self): return self.device

        splats = some_splats(10, 1)
        gausscope.save(self.folder / "a.ply", splats)
        for way in (Interface, Dlpack):
            gausscope.save(self.folder / "b.ply", {name: way(value) for name, value in splats.items()})
            self.assertEqual((self.folder / "a.ply").read_bytes(), (self.folder / "b.ply").read_bytes())
        Dlpack.device = (2, 0)
        for wrong, words in ((Dlpack(splats["means"]), "means is on a device that NumPy cannot read .*copy it to the CPU"),
                             (np.array([["a"]]), "means are no numbers"), ([[1], [2, 3]], "means is list, which NumPy")):
            with self.assertRaisesRegex(gausscope.Error, words):
                gausscope.save(self.folder / "c.ply", {**splats, "means": wrong})

    def test_wrong_input_is_named(self):
        good = some_splats(4, 0)
        for change, words in (
                ({"means": None}, "means are missing"),
                ({"means": np.zeros((4, 2))}, r"means is \[4, 2\], not \[N, 3\]"),
                ({"log_scales": np.zeros((3, 3))}, r"log_scales is \[3, 3\], not \[4, 3\]"),
                ({"scales": np.ones((4, 3))}, "one of log_scales and scales, not log_scales and scales"),
                ({"log_scales": None}, "one of log_scales and scales"),
                ({"log_scales": None, "scales": -np.ones((4, 3))}, "are they logarithms"),
                ({"opacity_logits": None, "opacities": np.full(4, 3)}, "are they logits"),
                ({"sh_rest": np.zeros((4, 4, 3))}, "5 coefficients"),
                ({"opactiy": 1}, "unknown: opactiy")):
            with self.subTest(words), self.assertRaisesRegex(gausscope.Error, words):
                gausscope.save(self.folder / "a.ply", {**good, **change})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_errors_say_kind_path_and_advice(self):
        with self.assertRaises(gausscope.NotFound) as not_there:
            gausscope.load(self.folder / "nothing.ply")
        self.assertIsInstance(not_there.exception, FileNotFoundError)
        self.assertEqual((not_there.exception.kind, not_there.exception.path),
                         ("not_found", str(self.folder / "nothing.ply")))
        copy = pickle.loads(pickle.dumps(not_there.exception))
        self.assertEqual((str(copy), copy.kind), (str(not_there.exception), "not_found"))
        (self.folder / "cut.ply").write_bytes(b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\n")
        with self.assertRaises(gausscope.Error) as cut:
            gausscope.load(self.folder / "cut.ply")
        self.assertEqual(cut.exception.kind, "malformed")
        with self.assertRaisesRegex(gausscope.Error, "does not end like a format") as ending:
            gausscope.save(self.folder / "a.nonsense", some_splats(1, 0))
        self.assertEqual(ending.exception.kind, "usage")

    def test_a_forked_process_reads_too(self):
        gausscope.save(self.folder / "a.ply", some_splats(20000, 1))  # by all cores
        gausscope.load(self.folder / "a.ply")
        child = os.fork()
        if child == 0:
            os._exit(0 if len(gausscope.load(self.folder / "a.ply")["means"]) == 20000 else 1)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return self.assertEqual(status, 0)
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        self.fail("the child hung")

    def test_many_threads_at_once(self):
        wrong = []

        def work(i):
            path = self.folder / f"{i}.ply"
            gausscope.save(path, some_splats(100 + i, 1))
            if len(gausscope.load(path)["means"]) != 100 + i:
                wrong.append(i)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


@unittest.skipUnless(HAVE_NUMPY, "NumPy is not installed")
class Captures(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "images").mkdir()
        frames = []
        for i in range(9):
            write_png(self.folder / f"images/{i}.png", 32, 24, lambda x, y: (8 * x, 10 * y, 20 * i))
            frames.append({"file_path": f"images/{i}.png",
                           "transform_matrix": [[1, 0, 0, i], [0, 1, 0, 0], [0, 0, 1, 4], [0, 0, 0, 1]]})
        (self.folder / "transforms.json").write_text(json.dumps(
            {"fl_x": 40, "fl_y": 41, "cx": 15, "cy": 12, "w": 32, "h": 24, "frames": frames}))

    def test_views_have_opencv_matrices(self):
        capture = gausscope.Capture(self.folder)
        self.assertEqual(len(capture), 9)
        view = capture[3]
        np.testing.assert_allclose(view.K, [[40, 0, 15], [0, 41, 12], [0, 0, 1]])
        # transforms.json has OpenGL's axes: y up, z back.
        np.testing.assert_allclose(view.camtoworld, [[1, 0, 0, 3], [0, -1, 0, 0], [0, 0, -1, 4], [0, 0, 0, 1]], atol=1e-12)
        self.assertEqual((view.width, view.height, view.model, view.shutter), (32, 24, "pinhole", "global"))
        np.testing.assert_array_equal(view.viewmat_last, view.viewmat)

    def test_photos_are_rgb_from_the_top(self):
        view = gausscope.Capture(self.folder)[2]
        self.assertEqual(view.photo().shape, (24, 32, 3))
        self.assertEqual(view.photo()[5, 7].tolist(), [56, 50, 40])
        self.assertEqual(view.mask().min(), 255)
        half = gausscope.Capture(self.folder, downscale=2)[2]
        self.assertEqual(half.photo().shape, (12, 16, 3))
        self.assertEqual(half.K[0, 0], 20)

    def test_the_split_is_the_fields_or_as_asked(self):
        def names(views):
            return [view.name for view in views]
        self.assertEqual(names(gausscope.Capture(self.folder).test), ["0.png", "8.png"])
        self.assertEqual(names(gausscope.Capture(self.folder, test_every=0).test), [])
        self.assertEqual(len(gausscope.Capture(self.folder, test_every=3).train), 6)
        self.assertEqual(names(gausscope.Capture(self.folder, test_views=["4.png"]).test), ["4.png"])

    def test_it_is_a_dataset(self):
        capture = gausscope.Capture(self.folder, photos=False)
        self.assertEqual([view.number for view in capture], list(range(9)))
        positions, colors = capture.points()
        self.assertEqual((positions.dtype, positions.shape[1], colors.dtype), (np.float32, 3, np.uint8))

    def test_a_view_outlives_its_capture(self):
        self.assertEqual(gausscope.Capture(self.folder)[0].photo()[0, 1].tolist(), [8, 0, 0])

    def test_wrong_input_is_named(self):
        with self.assertRaises(gausscope.NotFound):
            gausscope.Capture(self.folder / "nothing")
        with self.assertRaisesRegex(gausscope.Error, "test_every"):
            gausscope.Capture(self.folder, test_every=-1)
        with self.assertRaisesRegex(gausscope.Error, "nosuch"):
            gausscope.Capture(self.folder, test_views=["nosuch.png"])
        with self.assertRaisesRegex(gausscope.Error, "without photos"):
            gausscope.Capture(self.folder, photos=False)[0].photo()

    def test_names_that_are_not_utf8(self):
        odd = os.fsencode(self.folder) + b"/caf\xe9"
        os.mkdir(odd)
        with self.assertRaises(gausscope.Error) as error:
            gausscope.Capture(odd)
        self.assertEqual(os.fsencode(error.exception.path), odd)


if __name__ == "__main__":
    unittest.main()
