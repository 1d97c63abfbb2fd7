"""The program's subcommands from Python."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import gausscope
from gausscope import program
from gausscope._files import function


class Arguments(unittest.TestCase):
    def test_options_are_those_of_the_command_line(self):
        self.assertEqual(
            program.arguments_of({"sh_degree": 2, "absgrad": True, "keep_best": False, "config": None,
                                  "test_views": ["a.png", "b.png"], "from_": pathlib.Path("x.ply"), "init_opacity": 0.1}),
            ["--sh-degree=2", "--absgrad", "--no-keep-best", "--test-views=a.png,b.png", "--from=x.ply",
             "--init-opacity=0.1"])

    def test_a_program_that_is_not_there_is_named(self):
        before = os.environ.get("GAUSSCOPE_PROGRAM")
        os.environ["GAUSSCOPE_PROGRAM"] = "/nowhere/gausscope"
        try:
            with self.assertRaisesRegex(gausscope.NotFound, "/nowhere/gausscope"):
                gausscope.info()
        finally:
            os.environ.pop("GAUSSCOPE_PROGRAM")
            if before is not None:
                os.environ["GAUSSCOPE_PROGRAM"] = before


def rounded(np, picture):
    return np.floor(picture * np.float32(255) + np.float32(0.5)) / 255


def ssim(np, a, b, pad):
    """Of [3,H,W] from 0 to 1, windows of 11 x 11, sigma 1.5; pad: numpy.pad's mode, or None: whole windows alone."""
    if pad is not None:
        a, b = (np.pad(p, ((0, 0), (5, 5), (5, 5)), pad) for p in (a, b))
    window = np.exp(-(np.arange(11) - 5.0) ** 2 / 4.5)
    window /= window.sum()

    def mean(p):
        for axis in (1, 2):
            p = np.apply_along_axis(lambda row: np.convolve(row, window, "valid"), axis, p)
        return p

    m, n = mean(a), mean(b)
    va, vb, vab = mean(a * a) - m * m, mean(b * b) - n * n, mean(a * b) - m * n
    return ((2 * m * n + 1e-4) * (2 * vab + 9e-4) / ((m * m + n * n + 1e-4) * (va + vb + 9e-4))).mean()


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.capture = cls.folder / "capture"
        gausscope.call("sample", cls.capture, progress=False, views=9, width=64, height=48, points=500)
        cls.metrics = gausscope.train(cls.capture, cls.folder / "run", steps=6, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_a_training_returns_its_metrics(self):
        self.assertGreater(self.metrics["test"]["psnr"], 5)
        self.assertEqual(self.metrics["settings"]["steps"], 6)

    def test_a_run_has_rows_settings_and_scores(self):
        run = gausscope.Run(self.folder / "run")
        self.assertEqual(run.rows()["step"], list(range(1, 7)))
        self.assertIsNone(run.rows()["cloned"][0])
        self.assertEqual(run.metrics["test"], self.metrics["test"])
        self.assertAlmostEqual(run.evaluate(progress=False)["test"]["psnr"], self.metrics["test"]["psnr"])
        with self.assertRaisesRegex(gausscope.NotFound, "run.json"):
            gausscope.Run(self.capture)

    def test_scores_by_other_trainers_rules(self):
        """Against the same rules written out: the picture's rounding, and SSIM at its sides."""
        try:
            import numpy as np
        except ImportError:
            self.skipTest("NumPy is not installed")
        gausscope.call("render", self.folder / "run", capture=self.capture, test_only=True, output=self.folder / "drawn",
                       format="npy", maps="color", progress=False)
        views = gausscope.Capture(self.capture, downscale=1).test
        seen = set()
        for rules, pad in (("gausscope", "constant"), ("inria", "constant"), ("gsplat", "reflect"), ("nerfstudio", None)):
            scores = gausscope.evaluate(self.folder / "run", as_=rules, progress=False)
            self.assertEqual(scores["as"], rules)
            for view, score in zip(views, scores["test"]["images"]):
                (drawn,) = (self.folder / "drawn").glob(f"*{pathlib.Path(view.name).stem}*.npy")
                a = np.clip(np.load(drawn), 0, 1)
                a = (a if a.shape[0] == 3 else a.transpose(2, 0, 1)).astype(np.float64)
                b = view.photo().transpose(2, 0, 1) / 255
                a = rounded(np, a.astype(np.float32)).astype(np.float64) if rules == "inria" else a
                self.assertEqual(score["name"], view.name)
                self.assertAlmostEqual(score["psnr"], -10 * np.log10(((a - b) ** 2).mean()), delta=2e-5, msg=rules)
                self.assertAlmostEqual(score["ssim"], ssim(np, a, b, pad), delta=2e-6, msg=rules)
                seen.add((score["name"], round(score["psnr"], 6), round(score["ssim"], 7)))
        self.assertEqual(len(seen), 4 * len(views), "every rule gives numbers of its own")

    def test_findings_and_contents(self):
        self.assertEqual(gausscope.info(self.capture, progress=False)["views"], 9)
        self.assertIsInstance(gausscope.doctor(self.folder / "run", progress=False), list)

    def test_a_pixel_and_its_gaussians(self):
        pixel = gausscope.inspect(self.folder / "run", 30, 20, self.capture, 3, progress=False)
        self.assertEqual((pixel["x"], pixel["y"]), (30, 20))
        self.assertGreater(len(pixel["gaussians"]), 0)

    def test_files_are_converted_and_simplified(self):
        out = self.folder / "half.ply"
        self.assertLess(gausscope.simplify(self.folder / "run", out, "50%", progress=False)["gaussians"],
                        self.metrics["gaussians"])

    def test_errors_are_the_programs_own_words(self):
        with self.assertRaisesRegex(gausscope.Error, "does not exist") as error:
            gausscope.train(self.folder / "nothing", self.folder / "x", progress=False)
        self.assertEqual(error.exception.kind, "usage")
        with self.assertRaisesRegex(gausscope.Error, "--stepz"):
            gausscope.train(self.capture, self.folder / "x", stepz=1, progress=False)
        self.assertFalse((self.folder / "x").exists())

    def test_an_interrupt_saves_the_training_and_is_raised(self):
        out = self.folder / "interrupted"
        # Also where these tests run in the background of a shell, which ignores the signal.
        code = (f"import gausscope, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
                f"try: gausscope.train({str(self.capture)!r}, {str(out)!r}, steps=20000)\n"
                "except KeyboardInterrupt: print('interrupted')")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stderr:
                if "20000 steps" in line:
                    break
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=120)
            finally:
                process.kill()
        self.assertEqual(said.strip(), "interrupted")
        self.assertGreater(len(gausscope.Run(out).rows()["step"]), 0)
        self.assertTrue((out / "checkpoint.gsc").exists())

    def test_stages_are_recorded_by_name(self):
        has_nvtx = function("push_range")(b"is NVTX there?")
        function("pop_range")()
        if not has_nvtx:
            self.skipTest("the library was built without NVTX's headers")
        code = ("import gausscope, time\n"
                "@gausscope.stage('inner')\ndef work(): time.sleep(0.01)\n"
                "for _ in range(3):\n  with gausscope.stage('outer'): work(); work()")
        trace = self.folder / "stages.pftrace"
        line = [program.program_path(), "record", "-o", str(trace), "--", sys.executable, "-c", code]
        subprocess.run(line, check=True, capture_output=True)
        gausscope.call("trace", trace, export=self.folder / "stages.json", progress=False)
        names = [event.get("name") for event in json.loads((self.folder / "stages.json").read_text())["traceEvents"]
                 if event.get("ph") in "XB"]
        self.assertEqual((names.count("outer"), names.count("inner")), (3, 6))

    def test_as_a_module_it_is_the_program(self):
        said = subprocess.check_output([sys.executable, "-m", "gausscope", "--version"], text=True)
        self.assertIn(gausscope.version(), said)


if __name__ == "__main__":
    unittest.main()
