"""Runs from outside: interrupting and resuming them; no run overwrites another. Run: cli_runs_test.py GROUP"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from cli_support import GAUSSCOPE, RUN_FILES, Case, wait_for


class Interruptions(Case):
    STEPS = 400

    def start(self, out, *arguments):
        return subprocess.Popen([GAUSSCOPE, "train", str(self.capture), "-o", str(out), "--steps", str(self.STEPS),
                                 "--save-every", "20", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_interrupt_saves_and_resume_gives_the_same_bits(self):
        straight, broken = self.folder / "straight", self.folder / "broken"
        self.expect(0, "train", self.capture, "-o", straight, "--steps", self.STEPS)
        process = self.start(broken)
        wait_for(broken / "checkpoint.gsc", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        if process.returncode == 0:
            self.skipTest("training ended before it could be interrupted")
        self.assertEqual(process.returncode, 1, err.decode())
        self.assertIn("checkpoint.gsc", out.decode())
        made = self.expect(0, "train", self.capture, "-o", broken, "--steps", self.STEPS, "--resume", "auto", "--json").json
        self.assertGreaterEqual(made["resumed_at_step"], 20)
        self.assertEqual((straight / "point_cloud.ply").read_bytes(), (broken / "point_cloud.ply").read_bytes())
        rows = (broken / "metrics.csv").read_text().splitlines()[1:]
        self.assertEqual([int(r.split(",")[0]) for r in rows], list(range(1, self.STEPS + 1)))

    def test_resume_from_nothing_and_from_rubbish(self):
        out = self.folder / "out"
        self.expect(2, "train", self.capture, "-o", out, "--resume", self.folder / "none.gsc", says="none.gsc")
        self.expect(0, "train", self.capture, "-o", out, "--resume", "auto", "--steps", 5)
        cut = self.folder / "cut.gsc"
        cut.write_bytes((out / "checkpoint.gsc").read_bytes()[:-100])
        self.expect(2, "train", self.capture, "-o", self.folder / "other", "--resume", cut, says="cut.gsc")
        cut.write_bytes(b"rubbish" * 100)
        self.expect(2, "train", self.capture, "-o", self.folder / "other", "--resume", cut, says="cut.gsc")
        self.expect(2, "train", self.capture, "-o", out, "--resume", "auto", "--sh-degree", 1, says="sh_degree")

    def test_deleted_output_folder_does_not_end_the_run(self):
        out = self.folder / "gone"
        process = self.start(out)
        wait_for(out / "checkpoint.gsc", process)
        process.send_signal(signal.SIGSTOP)  # so that it cannot end before its folder is gone
        if (out / "point_cloud.ply").exists():
            process.kill()
            process.communicate()
            self.skipTest("training ended before its folder could be removed")
        shutil.rmtree(out)
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertTrue((out / "point_cloud.ply").exists())


class Memory(Case):
    def limited(self, kilobytes, *arguments):
        # How many threads live at once is chance: small stacks, so that one more hardly counts.
        return subprocess.run(["sh", "-c", f'ulimit -v {kilobytes}; ulimit -s 2048; exec "$0" "$@"', GAUSSCOPE, *map(str, arguments)],
                              capture_output=True, text=True, timeout=300)

    def test_what_was_trained_is_saved(self):
        """Growth stops while there is still memory to save the model with."""
        capture, stopped = self.folder / "capture", 0
        self.expect(0, "sample", capture, "--views", 8, "--width", 96, "--height", 72, "--points", 12000)
        if self.limited(200_000, "--version").returncode != 0:
            self.skipTest("this build needs more address space to start")
        for limit in (160_000, 180_000, 200_000):
            out = self.folder / f"out{limit}"
            run = self.limited(limit, "train", capture, "-o", out, "--steps", 60, "--densify-from", 5, "--densify-every", 5,
                               "--densify-until", 60, "--densify-gradient", "1e-7", "--threads", 1)
            stopped += "no memory for more than" in run.stderr
            self.assertEqual(run.returncode, 0, run.stderr)
            for name in ("point_cloud.ply", "checkpoint.gsc", "metrics.json"):
                self.assertTrue((out / name).exists(), run.stderr)
        self.assertGreater(stopped, 0)


class Runs(Case):
    """Nothing that one run left is lost to another."""

    def small(self, *arguments, code=0, **options):
        return self.expect(code, "train", *arguments, "--downscale", 4, cwd=self.folder, **options)

    def test_every_training_has_a_folder_of_its_own(self):
        first = self.small(self.capture, "--steps", 5, "--json")
        self.small(self.capture, "--steps", 4)
        runs = sorted((self.folder / "runs").iterdir())
        self.assertEqual([path.name[-2:] for path in runs], ["-1", "-2"])
        self.assertTrue(runs[0].name.startswith(self.capture.name))
        self.assertEqual(self.folder / first.json["output"], runs[0])
        self.assertIn(runs[0].name, first.err)
        self.expect(2, "train", "/nonexistent", cwd=self.folder)
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 2)

    def test_evaluating_a_run_reads_its_photos_as_it_did(self):
        """Options given change what they name, and nothing else."""
        out = self.folder / "out"
        made = self.small(self.capture, "-o", out, "--steps", 20, "--test-every", 4, "--json").json
        machine = made["machine"]
        self.assertEqual(set(machine), {"threads_waited", "waited_of_all_time", "involuntary_switches_per_second", "peak_bytes", "cpus_used", "load_average", "cpu_clock_ghz"})
        same = self.expect(0, "eval", out, "--json").json["test"]
        self.assertAlmostEqual(same["psnr"], made["test"]["psnr"], 3)
        name = made["test"]["images"][1]["name"]
        one = self.expect(0, "eval", out, "--test-views", name, "--json").json["test"]["images"]
        self.assertEqual([image["name"] for image in one], [name])
        self.assertAlmostEqual(one[0]["psnr"], made["test"]["images"][1]["psnr"], 3)
        larger = self.expect(0, "eval", out, "--downscale", 2, "--json").json["test"]["images"]
        self.assertEqual([image["name"] for image in larger], [image["name"] for image in made["test"]["images"]])
        self.assertNotAlmostEqual(larger[0]["psnr"], made["test"]["images"][0]["psnr"], 3)

    def test_a_run_reads_another_capture_as_its_own_and_finds_its_cameras_by_name(self):
        """A photo less, a photo more, another size: each photo that the run had keeps its corrected camera."""
        fewer = self.copy_of_capture()
        model = fewer / "sparse" / "0" / "images.txt"
        model.write_text("\n".join(model.read_text().splitlines()[:-4]) + "\n")  # two photos less
        out = self.folder / "out"
        how = ["--steps", 20, "--refine-intrinsics", "--refine-poses", "--pose-from", 2, "--downscale", 2, "--background", "white"]

        def pictures(*words, says=()):
            to = self.folder / "drawn"
            shutil.rmtree(to, ignore_errors=True)
            self.expect(0, "render", out, *words, "-o", to, says=says)
            return {f.name: f.read_bytes() for f in to.glob("*.png")}
        for trained_on, other, in_both in ((self.capture, fewer, "6 of 6 photos"), (fewer, self.capture, "6 of 8 photos")):
            self.expect(0, "train", trained_on, "-o", out, "--overwrite", *how)
            own, seen = pictures("--capture", trained_on), pictures("--capture", other, says=in_both)
            same = sorted(set(own) & set(seen))
            self.assertEqual(len(same), 6)
            self.assertEqual([own[f] for f in same], [seen[f] for f in same])
            at = ["--camera", "view_004", "--pixel", "20,15", "--json"]
            looked = [self.expect(0, "inspect", out, "--capture", c, *at) for c in (trained_on, other)]
            for one, two in zip(*(found.json["color"] for found in looked)):
                self.assertAlmostEqual(one, two, 9)
            self.assertEqual(looked[1].json["width"], 48)
            self.assertIn("is read as the run read", looked[1].err)
            self.assertIn(in_both, self.expect(0, "verify", out, "--capture", other, "--photo", "view_004.png").err)
            scored = [self.expect(0, "eval", out, c, "--all", "--json").json for c in (trained_on, other)]
            psnr = [{i["name"]: i["psnr"] for i in s["test"]["images"]} for s in scored]
            self.assertEqual(scored[1]["cameras"], "corrected")
            for name in set(psnr[0]) & set(psnr[1]):
                self.assertAlmostEqual(psnr[0][name], psnr[1][name], 6, name)
        self.assertIn("6 of 6 photos", self.expect(0, "eval", out, "--downscale", 1).err)
        (out / "poses.json").write_text('{"frames": [{"file_path": 5}]}')
        self.expect(0, "render", out, "--capture", self.capture, "-o", self.folder / "drawn", says="corrected cameras are not used")

    def test_another_run_is_not_replaced(self):
        out = self.folder / "out"
        self.small(self.capture, "-o", out, "--steps", 20)
        before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        script = self.folder / "script.txt"
        script.write_text("quit\n")
        for how in ([], ["--view", "--headless", "--script", script]):
            self.small(self.capture, "-o", out, "--steps", 1, *how, code=2, says=["contains a run of 20 steps", "--overwrite"])
        older = self.folder / "older.gsc"
        shutil.copy(out / "checkpoint.gsc", older)
        for how in ([], ["--view", "--headless", "--script", script]):
            self.small("--resume", out, "--steps", 30, *how, code=2, says="omit the loading options")
        self.expect(0, "train", "--resume", out, "--steps", 30)
        shutil.copy(older, out / "older.gsc")
        self.expect(2, "train", "--resume", out / "older.gsc", "--steps", 40, says="contains a run of 30 steps")
        self.small(self.capture, "-o", out, "--resume", older, "--steps", 40, code=2, says="contains a run of 30 steps")
        self.expect(2, "train", "/nonexistent", "-o", out, "--overwrite")
        self.expect(0, "info", out)
        other = self.copy_of_capture()
        self.expect(2, "train", other, "-o", out, "--resume", "auto", "--steps", 40, says="was trained from")
        made = self.small(self.capture, "-o", out, "--steps", 7, "--overwrite", "--json").json
        self.assertEqual(made["steps"], 7)
        self.assertNotEqual(before["checkpoint.gsc"], (out / "checkpoint.gsc").read_bytes())
        script.write_text("wait-loaded\nwait-step 9\nwait-idle\nquit\n")
        self.small(self.capture, "-o", out, "--steps", 9, "--overwrite", "--view", "--headless", "--script", script)
        self.assertEqual(json.loads((out / "metrics.json").read_text())["steps"], 9)
        self.assertEqual(sorted(path.name for path in out.iterdir()), sorted([*RUN_FILES, "older.gsc"]), "what is no run's stays")

    def test_a_moved_capture_is_read_as_before(self):
        white = ["--background", "white", "--downscale", 2]
        out, _ = self.trained(*white)
        found = self.expect(0, "eval", out, "--json").json
        self.assertEqual(found["steps"], 20)
        self.assertAlmostEqual(found["test"]["psnr"], json.loads((out / "metrics.json").read_text())["test"]["psnr"], 3)
        moved = self.copy_of_capture()
        run = json.loads((out / "run.json").read_text())
        run["capture"] = str(self.folder / "gone")
        (out / "run.json").write_text(json.dumps(run))
        self.expect(2, "train", "--resume", out, "--steps", 40, says="gone")
        self.expect(0, "train", moved, "--resume", out, "--steps", 40)
        self.expect(0, "train", self.capture, "-o", self.folder / "straight", *white, "--steps", 20)
        self.expect(0, "train", "--resume", self.folder / "straight", "--steps", 40)
        self.assertEqual((out / "point_cloud.ply").read_bytes(), (self.folder / "straight" / "point_cloud.ply").read_bytes())
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["background"], [1, 1, 1])

    def test_a_list_of_test_photos_is_kept_with_the_run(self):
        capture, out = self.copy_of_capture(), self.folder / "out"
        (capture / "test.txt").write_text("view_003.png\nview_005\nnobody.png\n")
        made = self.small(capture, "-o", out, "--steps", 6, "--json")
        self.assertIn("listed in test.txt", made.err)
        self.assertIn("1 name of test.txt without a photo: nobody.png", made.err)
        names = ["view_003.png", "view_005.png"]
        scored = lambda result: [image["name"] for image in result.json["test"]["images"]]
        self.assertEqual(scored(made), names)
        self.assertIn("test photos  listed in test.txt", self.expect(0, "info", capture).out)
        (capture / "test.txt").write_text("view_001.png\n")
        self.assertEqual(scored(self.expect(0, "eval", out, "--json")), names)
        self.expect(0, "train", "--resume", out, "--steps", 8)
        self.assertEqual(scored(self.expect(0, "eval", out, "--json", "--test-views", "view_002")), ["view_002.png"])
        self.assertEqual(scored(self.expect(0, "eval", out, "--json", "--test-every", 4)), ["view_000.png", "view_004.png"])
        self.assertEqual(scored(self.small(capture, "-o", self.folder / "other", "--steps", 3, "--test-every", 4, "--json")), ["view_000.png", "view_004.png"])

    def test_the_model_of_several_is_kept_with_the_run(self):
        capture, out = self.copy_of_capture(), self.folder / "out"
        (capture / "sparse" / "0").rename(capture / "sparse" / "first")
        shutil.copytree(capture / "sparse" / "first", capture / "sparse" / "second")
        found = self.expect(0, "info", capture, "--json")
        self.assertEqual((found.json["model"], len(found.json["models"])), ("sparse/first", 2))
        self.assertIn("sparse/second (8 photos)", found.out)
        self.expect(2, "info", capture, "--model", "third", says=["third", "sparse/second"])
        self.small(capture, "-o", out, "--steps", 3, "--model", "second")
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["model"], "sparse/second")
        shutil.rmtree(capture / "sparse" / "first")
        self.expect(0, "eval", out)
        self.expect(0, "train", "--resume", out, "--steps", 5)

    def test_a_run_that_does_not_name_its_model_has_the_first(self):
        """As runs were before a capture's largest model was used."""
        capture, out = self.copy_of_capture(), self.folder / "out"
        shutil.copytree(capture / "sparse" / "0", capture / "sparse" / "1")
        images = capture / "sparse" / "0" / "images.txt"
        images.write_text("\n".join(images.read_text().splitlines()[:-4]) + "\n")  # two photos less
        self.small(capture, "-o", out, "--steps", 3, "--model", "sparse/0")
        run = json.loads((out / "run.json").read_text())
        del run["loading"]["model"]
        (out / "run.json").write_text(json.dumps(run))
        script = self.folder / "script.txt"
        script.write_text("wait-loaded\nquit\n")
        self.expect(0, "view", out, "--headless", "--script", script, says="using sparse/0")
        self.expect(0, "eval", out, says="6 photos")
        self.expect(0, "train", "--resume", out, "--steps", 5)
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["model"], "sparse/0")
        # The same where the capture has moved.
        run = json.loads((out / "run.json").read_text())
        del run["loading"]["model"]
        (out / "run.json").write_text(json.dumps(run))
        moved = capture.rename(self.folder / "moved")
        self.expect(0, "eval", out, moved, says="using sparse/0")
        self.expect(0, "eval", out, moved, says="6 photos")
        script.write_text(f"open {out} {moved}\nwait-loaded\nquit\n")
        self.expect(0, "view", "--headless", "--script", script, says="using sparse/0")
        self.expect(0, "train", moved, "--resume", out, "--steps", 7, says="using sparse/0")
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["model"], "sparse/0")

    def test_random_points_in_place_of_its_own(self):
        out = self.folder / "out"
        made = self.small(self.capture, "-o", out, "--init", "random:300", "--photo-memory", 1, "--steps", 6)
        self.assertIn("the capture's points are ignored: 300 random ones", made.err)
        self.assertEqual(json.loads((out / "run.json").read_text())["loading"]["random_points"], 300)
        again = self.expect(0, "train", "--resume", out, "--photo-memory", 2, "--steps", 8, cwd=self.folder)
        self.assertIn("300 random ones", again.err)

    def test_from_inside_its_folder(self):
        out, _ = self.trained()
        self.expect(0, "train", "--resume", "checkpoint.gsc", "--steps", 25, cwd=out)
        self.assertEqual(sorted(path.name for path in out.iterdir()), RUN_FILES)
        self.assertEqual(json.loads((out / "metrics.json").read_text())["steps"], 25)

    def test_two_at_once(self):
        out = self.folder / "out"
        first = subprocess.Popen([GAUSSCOPE, "train", str(self.capture), "-o", str(out), "--steps", "100000", "--save-every", "0"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(out / "run.json", first)
            self.expect(2, "train", self.capture, "-o", out, "--steps", 1, "--overwrite", says=[f"process {first.pid} is training into"])
        finally:
            first.kill()
            first.wait()
        (out / f"checkpoint.gsc.tmp{first.pid}").write_text("half")
        after = self.expect(0, "train", self.capture, "-o", out, "--steps", 3)
        self.assertIn(f"process {first.pid} did not end its run", after.err)
        self.assertEqual(sorted(path.name for path in out.iterdir()), RUN_FILES)

    def test_a_closed_terminal_saves(self):
        out = self.folder / "out"
        process = subprocess.Popen([GAUSSCOPE, "train", str(self.capture), "-o", str(out), "--steps", "100000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for(out / "run.json", process)
        process.send_signal(signal.SIGHUP)
        said = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 1, said)
        self.assertTrue((out / "metrics.json").exists(), said)
        done = json.loads((out / "metrics.json").read_text())["steps"]  # 0 where it came before the first one
        self.expect(0, "train", "--resume", out, "--steps", done + 2)

    def test_a_run_is_enough(self):
        """The run's folder is enough to show, evaluate, convert and resume the run."""
        out, made = self.trained("--downscale", 2, "--test-every", 4, "--eval-every", 10)
        (out / "point_cloud.ply").unlink()
        told = self.expect(0, "info", out, "--json").json
        self.assertEqual(told["bytes_on_disk"], (out / "checkpoint.gsc").stat().st_size)
        self.expect(0, "convert", out, self.folder / "o.splat")
        self.expect(0, "render", out, "-o", self.folder / "r", "--path", "orbit:2", "--width", 32, "--height", 24)
        found = self.expect(0, "eval", out, "--json").json
        self.assertAlmostEqual(found["test"]["psnr"], made["test"]["psnr"], 3)
        left = self.expect(0, "train", "--resume", out, "--json")
        self.assertIn("nothing left to do", left.out)
        self.assertEqual(left.json["steps"], 20)
        script = self.folder / "script.txt"
        script.write_text("wait-loaded\ntrain.set lr_means 0.0002\ntrain.run-to 25\nwait-step 25\nquit\n")
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.expect(0, "view", out, "--headless", "--script", script, "--steps", 30, env=config)
        self.assertEqual(json.loads((out / "metrics.json").read_text())["steps"], 25)
        run = json.loads((out / "run.json").read_text())
        self.assertEqual([(m["step"], m["text"]) for m in run["marks"]], [(20, "lr_means 0.00016 -> 0.0002")])
        self.assertEqual([e["step"] for e in run["evaluations"]], [10, 20])
        self.assertEqual(len((out / "metrics.csv").read_text().splitlines()), 26)
        self.assertFalse((self.folder / "config" / "gausscope" / "studio.json").exists(), "a script's files are nobody's recent ones")

    def test_older_checkpoints_are_kept_as_asked(self):
        out = self.folder / "kept"
        train = ("train", self.capture, "-o", out, "--steps", 40, "--test-every", 4)
        self.expect(2, *train, "--keep-best", says="--eval-every")
        self.expect(2, *train, "--keep-last", 0)
        self.expect(0, *train, "--save-every", 10, "--keep-last", 2, "--keep-every", 15, "--keep-best", "--eval-every", 10)
        kept = sorted(int(path.stem.split("-")[1]) for path in out.glob("checkpoint-*.gsc"))
        self.assertEqual(kept, [15, 30, 40])
        self.assertTrue((out / "best.gsc").exists())
        again = self.folder / "again"
        made = self.expect(0, "train", "--resume", out / "checkpoint-15.gsc", "-o", again, "--json").json
        self.assertEqual((made["resumed_at_step"], made["steps"]), (15, 40))
        self.assertEqual((again / "point_cloud.ply").read_bytes(), (out / "point_cloud.ply").read_bytes())
        self.expect(0, *train, "--overwrite")
        self.assertEqual(sorted(path.name for path in out.iterdir()), RUN_FILES, "all of the other run goes")

    def test_a_time_lapse_is_drawn_and_gone_on_with(self):
        out = self.folder / "lapse"
        train = ("train", self.capture, "-o", out, "--steps", 20)
        self.expect(2, *train, "--timelapse", "often", says="is not a time-lapse interval")
        self.expect(2, *train, "--timelapse-views", "nobody", says="neither a saved view nor a photo")
        self.assertFalse(out.exists(), "a command that is refused leaves nothing")
        made = self.expect(0, *train, "--timelapse", 10, "--json").json
        self.assertEqual((made["time_lapse"]["every"], made["time_lapse"]["pictures"]), ("10", 3))
        self.expect(0, "train", "--resume", out, "--steps", 30)
        (view,) = [path for path in (out / "timelapse").iterdir() if path.is_dir()]
        self.assertEqual(sorted(path.name for path in view.iterdir()), [f"{step:07}.jpg" for step in (0, 10, 20, 30)])
        def pictures(run):
            return sorted(path.relative_to(run).as_posix() for path in (run / "timelapse").rglob("*.jpg"))
        before, again = pictures(out), self.folder / "lapse_again"
        more = ("train", "--resume", out / "checkpoint.gsc", "-o", again, "--steps", 40)
        made = self.expect(0, *more, "--json").json
        self.assertEqual(made["time_lapse"]["every"], "10", "the pace that the run had")
        self.assertEqual(pictures(out), before, "another folder has pictures of its own")
        self.assertEqual(len(pictures(again)), 1)
        name, script = json.loads((out / "timelapse" / "views.json").read_text())["views"][0]["name"], self.folder / "lapse.txt"
        for line, code, says in ((f"timelapse.show {name} 10", 0, ""), ("timelapse.play on", 0, ""), ("timelapse.play", 0, ""),
                                 ("timelapse.show nobody", 1, "no pictures of"), (f"timelapse.show {name} soon", 1, "STEP must be a whole number")):
            script.write_text(f"wait-loaded\n{line}\nquit\n")
            self.expect(code, "view", out / "point_cloud.ply", "--headless", "--script", script, says=says)
        self.expect(0, *train, "--overwrite")
        self.assertEqual(sorted(path.name for path in out.iterdir()), RUN_FILES, "its pictures go with the other run")

    def test_the_studio_does_not_replace_its_own_runs(self):
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        for steps in (6, 3):
            script = self.folder / "script.txt"
            script.write_text(f"wait-loaded\ntrain.run-to {steps}\nwait-step {steps}\nquit\n")
            self.expect(0, "view", self.capture, "--headless", "--script", script, env=config, cwd=self.folder)
        steps = [json.loads((path / "metrics.json").read_text())["steps"] for path in sorted((self.folder / "runs").iterdir())]
        self.assertEqual(steps, [6, 3])


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
