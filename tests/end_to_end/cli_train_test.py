"""train, eval and bench as a user runs them: results, output that cannot be written, input that is bad."""
import json
import os
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from unittest import mock

from cli_support import RUN_FILES, Case, ply_count, run, write_gray_png


class Training(Case):
    def test_results_and_json(self):
        out, made = self.trained("--trace", self.folder / "t.pftrace", "--test-every", 4)
        self.assertEqual((made["steps"], made["interrupted"]), (20, False))
        self.assertGreater(made["seconds"], 0)
        self.assertGreater(made["gaussians"], 100)
        self.assertEqual(len(made["test"]["images"]), 2)
        for image in made["test"]["images"]:
            self.assertGreater(image["psnr"], 8)
            self.assertTrue(image["name"].startswith("view_"))
        mean = sum(i["psnr"] for i in made["test"]["images"]) / 2
        self.assertAlmostEqual(made["test"]["psnr"], mean, 6)
        self.assertEqual(ply_count(out / "point_cloud.ply"), made["gaussians"])
        self.assertEqual(json.loads((out / "metrics.json").read_text())["test"], made["test"])
        rows = (out / "metrics.csv").read_text().splitlines()
        self.assertTrue(rows[0].startswith("step,loss"))
        self.assertEqual([int(r.split(",")[0]) for r in rows[1:]], list(range(1, 21)))
        self.assertGreater((self.folder / "t.pftrace").stat().st_size, 1000)
        trace = self.expect(0, "trace", self.folder / "t.pftrace", "--export", self.folder / "t.json", "--json").json
        self.assertEqual([s["calls"] for s in trace["stages"] if s["name"] == "iteration"], [20])
        again = self.expect(0, "trace", self.folder / "t.json", "--json").json
        self.assertEqual((again["spans"], again["tracks"], again["format"]), (trace["spans"], trace["tracks"], "Chrome JSON"))
        self.expect(2, "trace", self.folder / "t.json", "--export", self.folder / "t.foo", says=".speedscope.json")
        self.expect(2, "trace", out / "point_cloud.ply", says="neither a Perfetto trace")
        self.assertIn("blend", [s["name"] for s in made["stages"]])

    def test_eval_agrees_with_train(self):
        out, made = self.trained()
        found = self.expect(0, "eval", out / "point_cloud.ply", self.capture, "--json").json
        self.assertAlmostEqual(found["test"]["psnr"], made["test"]["psnr"], 3)
        self.assertAlmostEqual(found["test"]["ssim"], made["test"]["ssim"], 4)
        self.assertEqual((found["steps"], found["gaussians"]), (20, made["gaussians"]))
        self.assertEqual(len(self.expect(0, "eval", out / "point_cloud.ply", self.capture, "--all", "--json").json["test"]["images"]), 8)
        self.reports(out, made)

    def test_eval_uses_the_cameras_that_the_run_corrected(self):
        out, made = self.trained("--refine-intrinsics", "--refine-poses", "--pose-from", 2)
        found, given = (self.expect(0, "eval", scene, self.capture, "--json").json for scene in (out, out / "point_cloud.ply"))
        self.assertEqual((found["cameras"], given["cameras"]), ("corrected", "given"))
        self.assertAlmostEqual(found["test"]["psnr"], made["test"]["psnr"], 3)
        self.assertNotAlmostEqual(given["test"]["psnr"], made["test"]["psnr"], 3)
        drawn, looked = [], []
        for scene in (out, out / "point_cloud.ply"):
            to = self.folder / "drawn"
            self.expect(0, "render", scene, "--capture", self.capture, "-o", to)
            drawn.append([f.read_bytes() for f in sorted(to.glob("*.png"))])
            looked.append(self.expect(0, "inspect", scene, "--capture", self.capture, "--camera", 0, "--pixel", "30,20",
                                      "--json").json["color"])
        self.assertEqual(len(drawn[0]), 8)
        self.assertNotEqual(drawn[0], drawn[1])
        self.assertNotEqual(looked[0], looked[1])

    def test_a_sky_is_a_part_of_the_scene(self):
        out, made = self.trained("--sky", "sh1")
        self.assertEqual(self.expect(0, "info", out / "point_cloud.ply", "--json").json["sky_degree"], 1)
        for words in ([], ["--background", "0,0,0"]):
            found = self.expect(0, "eval", out / "point_cloud.ply", self.capture, *words, "--json").json
            self.assertAlmostEqual(found["test"]["psnr"], made["test"]["psnr"], 3)
        drawn = []
        for words in ([], ["--background", "0,0,0"]):
            self.expect(0, "render", out, "--capture", self.capture, "-o", self.folder / "drawn", *words)
            drawn.append([f.read_bytes() for f in sorted((self.folder / "drawn").glob("*.png"))])
        self.assertEqual([len(pictures) for pictures in drawn], [8, 8])
        self.assertNotEqual(*drawn)
        self.expect(2, "train", self.capture, "-o", self.folder / "more", "--resume", out / "checkpoint.gsc", "--sky", "sh2",
                    says="sky is sh1 in the checkpoint")

    def reports(self, out, made):
        """The run as a page: well-formed, with its numbers, and with all it needs inside it."""
        report = self.expect(0, "report", out, "--json").json
        page = (out / "report.html").read_text()
        self.assertEqual(report["bytes"], len(page.encode()))
        self.assertGreater(report["pictures"], 0)
        parts = list(xml.etree.ElementTree.fromstring(page).iter())
        sources = [p.get("src") for p in parts if p.get("src")]
        self.assertEqual(len(sources), report["pictures"])
        self.assertTrue(all(s.startswith("data:image/") for s in sources))
        texts = "\n".join("".join(p.itertext()) for p in parts)
        for wanted in (f"{made['gaussians']:,}", f"{made['test']['psnr']:.2f} dB", made["test"]["images"][0]["name"], "blend", "lr_means"):
            self.assertIn(wanted, texts)
        self.expect(0, "report", out, "-o", self.folder / "other.html", "--no-doctor")
        self.expect(2, "report", self.folder / "nowhere", says="no such folder")
        self.expect(2, "report", self.capture, says="contains no training run")

    def test_eval_lists_the_worst(self):
        out, _ = self.trained()
        done = self.expect(0, "eval", out / "point_cloud.ply", self.capture, "--all", "--worst", 3, "--json")
        worst = done.json["worst"]
        self.assertEqual((worst["photos"], len(worst["regions"]), len(worst["by_gaussian"])), (8, 3, 3))
        shares = [r["error_share"] for r in worst["regions"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertTrue(all(r["mean_error"] >= worst["region_limit"] > 0 for r in worst["regions"]), worst["regions"])
        errors = [g["error"] for g in worst["by_gaussian"]]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertIn("worst regions", done.out)
        self.assertNotIn("worst", self.expect(0, "eval", out / "point_cloud.ply", self.capture, "--json").json)
        self.expect(2, "eval", out / "point_cloud.ply", self.capture, "--worst", "-1")

    def test_settings_that_are_on_or_off_take_a_value(self):
        out = self.folder / "out"

        def trained(*words):
            self.expect(0, "train", "--steps", 1, *words, self.capture, "-o", out, "--overwrite")
            return json.loads((out / "metrics.json").read_text())["settings"]["revised_opacity"]
        for words, value in ((["--revised-opacity"], 1), (["--revised-opacity", 1], 1), (["--revised-opacity", "true"], 1),
                             (["--revised-opacity=1"], 1), (["--revised-opacity", 0], 0), (["--revised-opacity", "off"], 0),
                             (["--revised-opacity=no"], 0), (["--no-revised-opacity"], 0), (["--no-revised-opacity", 1], 0),
                             (["--no-revised-opacity", 0], 1), (["--revised-opacity", "--no-revised-opacity"], 0), ([], 0)):
            self.assertEqual(trained(*words), value, words)
        self.expect(2, "train", self.capture, "--revised-opacity=7", says="revised-opacity")
        self.expect(2, "train", self.capture, "--revised-opacity", 7, says="7")

    def test_a_lens_that_folds_inside_the_picture_is_said(self):
        copy = self.copy_of_capture()
        cameras = copy / "sparse" / "0" / "cameras.txt"
        words = cameras.read_text().splitlines()[-1].split()
        cameras.write_text(" ".join([words[0], "SIMPLE_RADIAL", words[2], words[3], words[4], words[6], words[7], "-3"]) + "\n")
        says = ["8 views have a lens that folds back inside the picture: ", "% of the pixels have no ray, from "]
        found = {f["id"]: f for f in self.expect(3, "info", copy, "--strict", "--json").json["findings"]}["lens-folds"]
        for part in says:
            self.assertIn(part, found["what"])
        self.assertEqual((found["severity"], found["count"]), ("warning", 8))
        self.assertIn("with 3 every pixel has a ray", found["advice"])
        self.expect(0, "train", copy, "-o", self.folder / "out", "--steps", 1, says=[*says, "check the sign of k1"])

    def test_it_learns(self):
        low, high = self.folder / "low", self.folder / "high"
        first = self.expect(0, "train", self.capture, "-o", low, "--steps", 1, "--json").json
        later = self.expect(0, "train", self.capture, "-o", high, "--steps", 300, "--json").json
        self.assertGreater(later["test"]["psnr"], first["test"]["psnr"] + 4)

    def test_threads_do_not_matter(self):
        one, _ = self.trained("--threads", 1)
        bits = (one / "point_cloud.ply").read_bytes()
        two, _ = self.trained("--threads", 2)
        self.assertEqual(bits, (two / "point_cloud.ply").read_bytes())

    def in_studio(self, out, script, *arguments):
        """`train --view` without a display, driven by a script."""
        file = self.folder / "script.txt"
        file.write_text(script)
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return self.expect(0, "train", self.capture, "-o", out, "--view", "--headless", "--script", file, *arguments, env=config)

    def test_the_studio_leaves_the_same_files(self):
        plain, seen = self.folder / "plain", self.folder / "seen"
        arguments = ["--steps", 20, "--eval-every", 10, "--test-every", 4]
        self.expect(0, "train", self.capture, "-o", plain, *arguments)
        self.in_studio(seen, "wait-loaded\nwait-step 20\nwait-idle\nquit\n", *arguments)
        for folder in (plain, seen):
            self.assertEqual(sorted(p.name for p in folder.iterdir()), RUN_FILES)
        for name in ("point_cloud.ply", "checkpoint.gsc"):
            self.assertEqual((plain / name).read_bytes(), (seen / name).read_bytes(), name)
        first, second = (json.loads((folder / "metrics.json").read_text()) for folder in (plain, seen))
        self.assertEqual(list(first), list(second))
        for key in ("command", "capture", "backend", "steps", "gaussians", "interrupted", "train", "test", "settings", "skipped"):
            self.assertEqual(first[key], second[key], key)
        self.assertEqual([e["step"] for e in second["evaluations"]], [10, 20])
        self.assertIn("blend", [s["name"] for s in second["stages"]])
        rows = [(folder / "metrics.csv").read_text().splitlines() for folder in (plain, seen)]
        self.assertEqual(*([[r.split(",")[:5] for r in part] for part in rows]))

    def test_stopped_in_the_studio(self):
        for name, end in (("stop", "train.stop\nquit\n"), ("quit", "quit\n")):
            out = self.folder / name
            self.in_studio(out, "wait-loaded\nwait-step 3\n" + end, "--steps", 100000, "--eval-every", 0)
            self.assertEqual(sorted(p.name for p in out.iterdir()), RUN_FILES, name)
            made = json.loads((out / "metrics.json").read_text())
            self.assertTrue(made["interrupted"], name)
            self.assertEqual(ply_count(out / "point_cloud.ply"), made["gaussians"], name)
            self.assertEqual(len((out / "metrics.csv").read_text().splitlines()), made["steps"] + 1, name)

    def test_evaluations_are_where_they_were_asked_for(self):
        _, made = self.trained("--eval-every", 8)
        self.assertEqual([e["step"] for e in made["evaluations"]], [8, 16, 20])
        _, made = self.trained("--eval-every", 0)
        self.assertEqual([e["step"] for e in made["evaluations"]], [20])

    def test_names_that_are_not_utf8(self):
        capture = self.copy_of_capture()
        (capture / "images" / "view_000.png").rename(os.fsdecode(os.fsencode(capture / "images") + b"/caf\xe9.png"))
        images = capture / "sparse" / "0" / "images.txt"
        images.write_bytes(images.read_bytes().replace(b"view_000.png", b"caf\xe9.png"))
        out = self.folder / os.fsdecode(b"out\xff")
        made = self.expect(0, "train", capture, "-o", out, "--steps", 5, "--test-every", 2, "--json").json
        self.assertEqual(sorted(p.name for p in out.iterdir()), RUN_FILES)
        self.assertIn("caf\ufffde9.png", [i["name"] for i in made["test"]["images"]])
        self.assertTrue(made["output"].endswith("out\ufffdff"), made["output"])
        self.assertEqual(json.loads((out / "metrics.json").read_text())["test"], made["test"])

    def test_a_photo_that_is_masked_out_has_no_score(self):
        capture = self.copy_of_capture()
        (capture / "masks").mkdir()
        write_gray_png(capture / "masks" / "view_000.png", 96, 72, 0)
        result = self.expect(0, "train", capture, "-o", self.folder / "o", "--steps", 5, "--test-every", 4, "--json")
        masked, other = result.json["test"]["images"]
        self.assertEqual((masked["name"], masked["psnr"], masked["ssim"], masked["l1"]), ("view_000.png", None, None, None))
        self.assertEqual(result.json["test"]["psnr"], other["psnr"])
        self.assertEqual((masked["counted"], other.get("counted")), (0, None))
        self.assertIn("1 of 2 photos are masked: scores are of 50.0 % of the pixels", result.out)
        self.assertTrue(any(line.split() == ["view_000.png", "-", "-", "-"] for line in result.out.splitlines()), result.out)
        found = self.expect(0, "eval", self.folder / "o" / "point_cloud.ply", capture, "--test-every", 4, "--json").json["test"]
        self.assertIsNone(found["images"][0]["psnr"])
        self.assertAlmostEqual(found["psnr"], other["psnr"], 3)

    def test_test_views_by_name(self):
        _, made = self.trained("--test-views", "view_003,view_005")
        self.assertEqual([i["name"] for i in made["test"]["images"]], ["view_003.png", "view_005.png"])


class Plan(Case):
    def plan(self, *options, code=0, says=""):
        done = self.expect(code, "plan", self.capture, "--backend", "cpu", "--json", *options)
        self.assertIn(says, done.out)
        return done.json

    @unittest.skipIf(os.environ.get("GAUSSCOPE_SANITIZED"), "a sanitizer holds freed memory back")
    def test_is_near_what_a_training_takes(self):
        options = ("--init", "random:300000", "--max-gaussians", 300000)
        plan = self.plan(*options)
        self.assertEqual((plan["first_gaussians"], plan["most_gaussians"], plan["fits"]), (300000, 300000, True))
        out, made = self.trained(*options, "--backend", "cpu")
        self.assertAlmostEqual(made["machine"]["peak_bytes"] / plan["host_bytes"], 1, delta=0.2)
        files = sum(f.stat().st_size for f in (out / "checkpoint.gsc", out / "point_cloud.ply"))
        beside = 300000 * 728  # a second checkpoint, while it is written
        self.assertAlmostEqual((files + beside) / plan["disk_bytes"], 1, delta=0.02)
        batch = self.plan(*options, "--batch", 2)
        self.assertEqual(batch["host_bytes"] - plan["host_bytes"], 300000 * 59 * 4)
        self.assertEqual(plan["host_bytes"] - self.plan(*options, "--compact-moments")["host_bytes"], 300000 * 59 * 6)
        made = self.trained(*options, "--backend", "cpu", "--batch", 2)[1]
        self.assertAlmostEqual(made["machine"]["peak_bytes"] / batch["host_bytes"], 1, delta=0.2)

    def test_says_what_would_fit(self):
        there = ("--gpu", "rtx4090", "--host-memory", 1000)
        plan = self.plan(*there, "--max-gaussians", 40e6, code=3, says="it does not fit: --max-gaussians ")
        self.assertEqual(plan["gpu"], "NVIDIA GeForce RTX 4090")
        self.assertGreater(plan["device_bytes"], 24e9)
        self.assertEqual(self.plan(*there, "--refine-poses", "--max-gaussians", 40e6, code=3)["device_bytes"] - plan["device_bytes"], 960e6)
        most = plan["most_that_fit"]
        self.assertTrue(self.plan(*there, "--max-gaussians", most)["fits"])
        self.assertFalse(self.plan(*there, "--max-gaussians", 1.2 * most, code=3)["fits"])
        many = ("--host-memory", 0.1, "--init", "random:1000000", "--strategy", "budget", "--overgrow", 1.5)
        most = self.plan(*many, code=3)["most_that_fit"]
        self.assertTrue(self.plan(*many, "--max-gaussians", most)["fits"])
        self.assertIsNone(self.plan()["gpu"])
        self.plan("--memory", 8, "--sh-degree", 0)

    def test_of_a_run_says_what_it_is_and_what_continuing_needs(self):
        out, made = self.trained("--downscale", 2, "--max-gaussians", 700, "--lr-sh0", 0.004)
        plan = self.expect(0, "plan", out, "--backend", "cpu", "--json")
        found = plan.json
        self.assertEqual((found["run"], found["steps_done"], found["steps"]), (str(out), 20, 20))
        self.assertEqual((found["gaussians"], found["first_gaussians"]), (made["gaussians"], made["gaussians"]))
        self.assertEqual((found["capture"], found["photos"], found["width"]), (str(self.capture), 8, 48))
        self.assertEqual(found["settings"]["max_gaussians"], 700)
        self.assertEqual(found["most_gaussians"], made["gaussians"], "it grows no more")
        for words in ("step 20 of 20", "max_gaussians 700", "lr_sh0 0.004", "all steps are done", "it fits"):
            self.assertIn(words, plan.out)
        for named in ([out / "checkpoint.gsc"], ["--resume", out], [self.capture, "--resume", out], [self.capture, "--resume", "auto", "-o", out]):
            self.assertEqual(self.expect(0, "plan", *named, "--backend", "cpu", "--json").json["gaussians"], found["gaussians"], named)
        more = self.plan_of(out, "--steps", 4000, "--densify-until", 2000, "--max-gaussians", 5000)
        self.assertEqual((more["steps"], more["first_gaussians"], more["most_gaussians"]), (4000, found["gaussians"], 5000))
        self.assertNotIn("run", self.plan("--resume", "auto", "-o", self.folder / "new"))
        run = json.loads((out / "run.json").read_text())
        run["capture"] = str(self.folder / "gone")
        (out / "run.json").write_text(json.dumps(run))
        gone = self.expect(2, "plan", out, says=["no longer exist", f"gausscope plan CAPTURE --resume {out}"])
        self.assertIn("step 20 of 20", gone.out)
        self.assertEqual(self.expect(0, "plan", self.capture, "--resume", out, "--json").json["width"], 48)
        self.expect(2, "plan", out, "--blocks", 2, says="this is a run")
        (out / "checkpoint.gsc").unlink()
        self.expect(2, "plan", out, says="no checkpoint to resume from")
        self.expect(2, "plan", "--resume", self.capture, says="no checkpoint to resume from")

    def plan_of(self, run, *options):
        return self.expect(0, "plan", run, "--backend", "cpu", "--json", *options).json

    def test_wrong_use(self):
        self.expect(2, "plan", says="capture's points")
        self.expect(2, "plan", self.capture, "--gpu", "h200,rtx4090", says="one GPU")
        self.expect(2, "plan", self.folder / "nothing", says="nothing")
        self.expect(2, "plan", self.capture, "--from", self.capture, says="capture's points")


class Output(Case):
    def test_unwritable_output_is_found_before_training(self):
        file = self.folder / "file"
        file.write_text("x")
        result = self.expect(2, "train", self.capture, "-o", file / "sub", says=str(file))
        self.assertNotIn("training and", result.err)  # nothing was loaded
        self.expect(2, "train", self.capture, "-o", "/proc/gausscope", says="/proc/gausscope")
        self.expect(2, "train", self.capture, "-o", self.folder / "o", "--trace", "/proc/x/t.pftrace", says="/proc/x")
        self.expect(2, "convert", self.capture / "x.ply", file / "y.ply")

    def test_what_is_refused_leaves_no_folder(self):
        made = self.folder / "made"
        self.expect(2, "train", "/nonexistent", "-o", made / "deep" / "er")
        self.expect(2, "train", self.capture, "-o", made, "--resume", self.folder / "none.gsc")
        self.expect(2, "render", self.folder / "none.ply", "-o", made, "--path", "orbit:2")
        self.assertFalse(made.exists())
        made.mkdir()
        self.expect(2, "train", "/nonexistent", "-o", made)
        self.assertTrue(made.exists(), "it was there before")

    def test_full_disk_does_not_lose_the_model(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a small disk here")
        try:
            rescue = self.folder / "rescue"
            rescue.mkdir()
            result = self.expect(1, "train", self.capture, "-o", disk / "out", "--steps", 10, "--save-every", 5, "--json",
                                 says=["point_cloud.ply", "no checkpoint at step 5"], env={"TMPDIR": str(rescue)})
            saved = result.json["files"]["splats"]
            self.assertTrue(saved.startswith(str(rescue)), saved)
            self.assertEqual(ply_count(type(self.folder)(saved)), result.json["gaussians"])
            self.assertIn("step 10 could not be saved in", result.err)
            self.assertNotIn("saved step 10 to", result.err)
        finally:
            subprocess.run(["umount", str(disk)], check=True)


class BadInput(Case):
    def info(self, capture):
        return self.expect(0, "info", capture, "--photos", "--json").json

    def test_broken_and_missing_photos_are_skipped_and_named(self):
        capture = self.copy_of_capture()
        photo = capture / "images" / "view_002.png"
        photo.write_bytes(photo.read_bytes()[:500])
        (capture / "images" / "view_004.png").unlink()
        (capture / "images" / "view_006.png").write_bytes(b"")
        info = self.info(capture)
        self.assertEqual(info["views"], 5)
        for name in ("view_002", "view_004", "view_006"):
            self.assertEqual(sum(name in line for line in info["skipped"]), 1, info["skipped"])
        made = self.expect(0, "train", capture, "-o", self.folder / "o", "--steps", 5, "--json", says="view_002").json
        self.assertEqual(len(made["skipped"]), 3)

    def test_model_files_cut_anywhere(self):
        for name in ("cameras.txt", "images.txt", "points3D.txt"):
            whole = (self.capture / "sparse" / "0" / name).read_bytes()
            for share in (0.0, 0.3, 0.77, 0.999):
                capture = self.copy_of_capture()
                (capture / "sparse" / "0" / name).write_bytes(whole[:int(share * len(whole))])
                result = run("info", capture)
                self.assertIn(result.code, (0, 2), f"{name} cut at {share}: {result.err}")
                if result.code == 2:
                    self.assertIn("error: ", result.err)
                shutil.rmtree(capture)

    def test_numbers_that_are_none(self):
        capture = self.copy_of_capture()
        images = capture / "sparse" / "0" / "images.txt"
        lines = images.read_text().splitlines()
        poses = [i for i, line in enumerate(lines) if line.endswith(".png")]
        words = lines[poses[1]].split()
        lines[poses[1]] = " ".join([words[0], "nan", *words[2:]])
        images.write_text("\n".join(lines) + "\n")
        result = run("info", capture, "--json")
        self.assertIn(result.code, (0, 2), result.err)
        if result.code == 0:
            self.assertEqual(result.json["views"], 7)
            self.assertTrue(any("view_001" in s for s in result.json["skipped"]), result.json["skipped"])

    def test_no_points_one_camera_no_photos(self):
        capture = self.copy_of_capture()
        (capture / "sparse" / "0" / "points3D.txt").write_text("# nothing\n")
        self.assertTrue(self.info(capture)["points_are_random"])
        images = capture / "sparse" / "0" / "images.txt"
        lines = [line for line in images.read_text().splitlines() if not line.startswith("#")]
        images.write_text("\n".join(lines[:2]) + "\n")
        self.assertEqual(self.info(capture)["views"], 1)
        made = self.expect(0, "train", capture, "-o", self.folder / "one", "--steps", 5, "--json").json
        self.assertEqual(made["test"], {"psnr": None, "ssim": None, "psnr_fitted": None, "images": []})
        shutil.rmtree(capture / "images")
        self.expect(2, "train", capture, "-o", self.folder / "none", "--steps", 5, says="error: ")


class Bench(Case):
    def test_stages_counters_and_the_gate(self):
        out, _ = self.trained()
        arguments = ["bench", out / "point_cloud.ply", "--capture", self.capture, "--repeats", 12]
        base = self.folder / "base.json"
        history = self.folder / "jobs.db"
        with mock.patch.dict(os.environ, GAUSSCOPE_COMMIT="abc"):
            made = self.expect(0, *arguments, "--json", "-o", base, "--history", history).json
        self.is_in_history(history, made)
        names = [s["name"] for s in made["stages"]]
        for stage in ("project", "sort", "blend", "blend backward"):
            self.assertIn(stage, names)
        self.assertAlmostEqual(sum(s["share"] for s in made["stages"]), 1, 3)
        for stage in made["stages"]:
            self.assertLessEqual(stage["ms_p50_lo"], stage["ms_p50"])
            self.assertLessEqual(stage["ms_p50"], stage["ms_p50_hi"])
        for counter in "gaussians visible isects list_pairs evaluated_pairs blended_pairs".split():
            self.assertGreater(made["counters"][counter], 0, counter)
        self.assertLess(made["verified"]["color"], 2e-5)
        self.assertGreater(made["copy_bytes_per_second"], 1e8)
        self.assertGreater(made["ceilings"]["blend_pairs_per_second"], 1e6)
        self.assertIsNone(made["ceilings"]["special_operations_per_second"])  # a GPU's, and unavailable is not zero
        limits = {limit["name"]: limit for limit in made["limits"]}
        for stage in ("project", "emit", "blend", "blend backward", "project backward", "loss"):
            self.assertGreater(limits[stage]["floor_ms"], 0, stage)
            self.assertGreater(limits[stage]["bytes"], 0, stage)
            self.assertTrue(limits[stage]["counted"], stage)
        faster = json.loads(base.read_text())
        for stage in faster["stages"]:
            for key in ("ms_p50", "ms_p50_lo", "ms_p50_hi"):
                stage[key] /= 1000
        base.write_text(json.dumps(faster))
        self.expect(3, *arguments, "--compare", base, says="slower")
        for stage in faster["stages"]:
            for key in ("ms_p50", "ms_p50_lo", "ms_p50_hi"):
                stage[key] *= 1e6
        base.write_text(json.dumps(faster))
        self.expect(0, *arguments, "--compare", base)
        base.write_text("{}")
        self.expect(2, *arguments, "--compare", base, says="base.json")
        self.expect(2, *arguments, "--compare", out / "metrics.json", says="not the JSON of an earlier bench")
        # A gate does not judge by times of something else; it says so before it times anything.
        base.write_text(json.dumps(faster))
        fixed = self.folder / "fixed.ply"
        self.expect(0, "info", out / "point_cloud.ply", "--fix", fixed)
        data = bytearray(fixed.read_bytes())
        data[-1] ^= 1
        fixed.write_bytes(data)
        capture = ["--capture", self.capture]
        for others, says in ((["bench", fixed, *capture], "another scene"), (["bench", *capture], "another kind of work"),
                             (["bench", out / "point_cloud.ply"], "another size"), ([*arguments, "--downscale", 2], "another size"),
                             (["bench", out / "point_cloud.ply", "--width", 96, "--height", 72], "other cameras")):
            self.expect(2, *others, "--compare", base, says=["base.json", says])

    def test_frames_for_the_screen(self):
        out, _ = self.trained()
        base = self.folder / "base.json"
        arguments = ["bench", out / "point_cloud.ply", "--width", 64, "--repeats", 4, "--no-ceilings"]
        shown = self.expect(0, *arguments, "--display", "--json", "-o", base).json
        names = [s["name"] for s in shown["stages"]]
        self.assertIn("blend", names)
        self.assertNotIn("blend backward", names)
        self.assertTrue(shown["display"])
        self.assertIsNone(shown["ceilings"])
        self.assertEqual(shown["limits"], [])
        self.expect(2, *arguments, "--compare", base, says=["base.json", "another kind of work"])
        self.expect(2, "bench", "--capture", self.capture, "--display", says="--display times frames")

    def is_in_history(self, history, made):
        page = self.folder / "page.html"
        series = self.expect(0, "history", history, "--since", "1h", "--html", page, "--json").json["series"]
        self.assertEqual({s["metric"]: s["p50"] for s in series}, {s["name"]: s["ms_p50"] for s in made["stages"]})
        self.assertEqual({s["source"] for s in series}, {"bench"})
        self.assertIn("blend backward", page.read_text())
        self.assertEqual(self.expect(0, "history", history, "--job", "none", "--json").json["series"], [])
        self.expect(2, "history", history, "--since", "yesterday", says="is not a time")
        self.expect(2, "history", page, says="is not a history")
        self.expect(2, "bench", "--history", page, says="is not a history")

    def test_training_steps_and_selftest(self):
        made = self.expect(0, "bench", "--capture", self.capture, "--repeats", 5, "--json").json
        self.assertTrue(made["training"])
        self.assertIn("loss", [s["name"] for s in made["stages"]])
        tested = self.expect(0, "selftest", "--quick", "--json").json
        self.assertEqual(tested["failed"], 0)
        self.assertIn("cpu", tested["backends_checked"])
        if "cuda" not in tested["backends_checked"]:
            self.expect(2, "selftest", "--backend", "cuda", says="CUDA")
            rows = [row for row in tested["checks"] if row["backend"] == "CUDA"]
            self.assertEqual([row["ran"] for row in rows], [False])

    def test_steps_to_profile(self):
        for bad in ("20:10", "x", "0:5", "5:"):
            self.expect(2, "train", self.capture, "-o", self.folder / "o", "--profile-steps", bad, says="100:120")
            self.expect(2, "train", self.capture, "-o", self.folder / "o", "--profile-steps", bad, "--view", "--headless",
                        says="100:120")
        script = self.folder / "script.txt"
        script.write_text("wait-loaded\nwait-idle\nquit\n")
        for view in ([], ["--view", "--headless", "--script", script]):
            self.expect(0, "train", self.capture, "-o", self.folder / "o", "--overwrite", "--steps", 3, "--profile-steps", "2:3", "--backend", "cpu",
                        *view, says="steps 2 to 3 are not marked")


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
