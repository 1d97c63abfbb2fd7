"""The command line from outside: exit codes, JSON, files, bad input, interruptions. Run: cli_test.py GROUP"""
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from unittest import mock

from cli_support import GAUSSCOPE, RUN_FILES, SANITIZER_SIGNS, Case, npy_shape, ply_count, run, write_gray_png


class Usage(Case):
    def commands(self):
        """Every subcommand that the help lists."""
        overview = self.expect(0, "--help").out
        listed = re.search(r"^subcommands:\n((?:[ \t]+.*\n?)+)", overview, re.M | re.I)
        self.assertTrue(listed, overview)
        commands = re.findall(r"^  ([a-z]+)\b", listed[1], re.M)
        self.assertGreaterEqual(len(commands), 22, overview)
        return commands

    def test_help_explains_every_command(self):
        for command in self.commands():
            text = self.expect(0, command, "--help").out
            self.assertIn("Examples:", text, command)
            self.assertIn("--backend", text, command)

    def test_no_command_complains_of_an_option_that_is_not_given(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment.update(HOME=str(self.folder), XDG_RUNTIME_DIR=str(self.folder))
        for command in self.commands():
            with subprocess.Popen([GAUSSCOPE, command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                try:
                    _, err = process.communicate(timeout=2)  # what still runs has read its options
                    self.assertIn(process.returncode, (0, 1, 2, 3), f"{command}: {err}")
                except subprocess.TimeoutExpired:
                    process.kill()
                    _, err = process.communicate()
            for sign in SANITIZER_SIGNS:
                self.assertNotIn(sign, err, command)
            for line in err.splitlines():
                if line.startswith("error: "):
                    self.assertNotRegex(line, r"^error: -", command)
                    self.assertNotRegex(line, r"is not a (whole )?number from", command)

    def test_every_training_setting_is_a_flag(self):
        text = self.expect(0, "train", "--help").out
        for flag in "--steps --lr-means --lr-sh-rest --densify-gradient --opacity-reset-every --max-gaussians --antialiased".split():
            self.assertIn(flag, text)

    def test_wrong_usage(self):
        self.expect(2, "train", says="--help")
        self.expect(2, "train", self.capture, "-o", self.folder, "--no-such-option", says="--no-such-option")
        self.expect(2, "train", self.capture, "-o", self.folder, "--steps", "many")
        self.expect(2, "train", self.capture, "-o", self.folder, "--downscale", "half", says="half")
        self.expect(2, "train", self.capture, "-o", self.folder, "--background", "1,2,3", says="outside 0 .. 1")
        self.expect(2, "train", self.capture, "-o", self.folder, "--init", "random:0", says="--init random:0")
        self.expect(2, "train", self.capture, "--view", "--photo-memory", 64, says="--photo-memory")
        self.expect(2, "render", "x.ply", "-o", self.folder, says="--path orbit")
        self.expect(2, self.folder / "nothing.ply", says="error: ")
        self.expect(2, "info", self.folder / "nothing", says="nothing")
        self.expect(2, "info", self.folder, says="not a capture or splat file")

    def test_ranges_refuse_nan_fractions_and_signs(self):
        train = ["train", self.capture, "-o", self.folder / "o"]
        for arguments in (["render", "x.ply", "-o", self.folder / "o", "--path", "orbit:1", "--fov", "nan"],
                          ["render", "x.ply", "-o", self.folder / "o", "--path", "orbit:1", "--scale", "nan"],
                          ["bench", "--tolerance", "nan"], ["serve", "--seconds", "nan"], ["record", "--budget", "nan", "--", "true"],
                          ["attach", "--seconds", "nan"], ["attach", "abc"], ["sample", self.folder / "s", "--views", "2.5"],
                          [*train, "--save-every", "-1"], [*train, "--eval-every", "-1"], [*train, "--seed", "-1"],
                          [*train, "--steps", "2.7"], [*train, "--lr-means", "nan"], [*train, "--downscale", "nan"]):
            result = self.expect(2, *arguments)
            self.assertRegex(result.err, r"is not a (whole )?number from \d|is neither auto nor a whole number", arguments)
            self.assertLess(len(result.err), 200, result.err)
        self.assertFalse((self.folder / "o").exists())

    def test_messages_name_what_is_wrong(self):
        self.expect(2, "train", "--nosuch", "x", says="not expected: --nosuch")
        self.expect(2, "attach", "--release-cupti", says="PID")
        token = self.folder / "token"
        token.write_text("secret")
        for address, says in (("foo:9", '"foo" is not an IP address'), (":1234", '"" is not an IP address'), ("127.0.0.1:x", '"x" is not a port'),
                              ("127.0.0.1:65536", "is not a port"), ("[::zz]:1", "is not an IPv6 address")):
            self.expect(2, "serve", "--listen", address, "--dir", self.folder / "r", "--token-file", token, says=[says, "0.0.0.0:9465"])
        self.expect(2, "sample", "/proc/gausscope", says="name another folder")

    def test_a_folder_that_may_not_be_read_is_named(self):
        if os.getuid() != 0:
            self.skipTest("needs another user to be refused as")
        capture = self.copy_of_capture()
        capture.chmod(0o700)
        for folder in (self.shared, self.folder):
            folder.chmod(0o755)
        program = shutil.copy(GAUSSCOPE, self.folder)  # the build may be in a home folder that other users cannot enter
        result = subprocess.run([program, "info", str(capture)], capture_output=True, user=65534, text=True)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("permission denied", result.stderr)

    @mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="-1")
    def test_no_cuda_is_said_plainly(self):
        for command in (["train", self.capture, "-o", self.folder], ["bench"], ["selftest"]):
            self.expect(2, *command, "--backend", "cuda", says=["the CUDA backend cannot be used: ", "("])
        self.expect(0, "train", self.capture, "-o", self.folder / "auto", "--steps", "2", "--backend", "auto", "-v",
                    says="computing on the CPU, not with CUDA: ")
        self.expect(2, "bench", "--device", "1", says="the CUDA backend cannot be used: ")
        self.expect(2, "bench", "--device", "0", "--backend", "cpu", says=["no device 0", "omit --device"])
        self.expect(2, "bench", "--device", "-1", says="is not a whole number")
        result = self.expect(0, "info", "--json")
        machine = result.json
        self.assertIn("computes with CPU", result.out)
        self.assertEqual((machine["kind"], machine["cuda"]["devices"]), ("machine", []))
        self.assertTrue(machine["cuda"]["problem"])
        report = self.folder / "report.json"
        self.expect(2, "selftest", "--backend", "cuda", "--report", report, says="the CUDA backend cannot be used: ")
        told = json.loads(report.read_text())
        self.assertIn("the CUDA backend cannot be used: ", told["problem"])
        self.assertIn("Please send", report.with_suffix(".txt").read_text())
        self.expect(2, "selftest", "--report", self.folder / "no" / "such" / "place.json", says="place.json")

    def test_config_files(self):
        good, bad = self.folder / "good.cfg", self.folder / "bad.cfg"
        good.write_text("# quick\nsteps = 12\nlr-means = 1e-4\n")
        out = self.folder / "out"
        made = self.expect(0, "train", self.capture, "-o", out, "--config", good, "--lr-sh0", "0.004", "--json").json
        self.assertEqual((made["steps"], made["settings"]["lr_means"], made["settings"]["lr_sh0"]), (12, 1e-4, 0.004))
        bad.write_text("steps = 12\nlr_nothing = 3\n")
        self.expect(2, "train", self.capture, "-o", out, "--config", bad, says=["bad.cfg:2", "lr_nothing"])
        bad.write_text('{"steps": "twelve"}')
        self.expect(2, "train", self.capture, "-o", out, "--config", bad, says="steps")
        bad.write_text('{"lambda_dssim": 7}')
        self.expect(2, "train", self.capture, "-o", out, "--config", bad, says=["bad.cfg", "lambda_dssim"])
        bad.write_text("steps = 2.7\n")
        self.expect(2, "train", self.capture, "-o", out, "--config", bad, says=["bad.cfg", "not a whole number"])
        good.write_bytes(b"\xef\xbb\xbfsteps = 3\n")
        marked = self.expect(0, "train", self.capture, "-o", self.folder / "marked", "--config", good, "--json").json
        self.assertEqual(marked["steps"], 3)
        again = self.expect(0, "train", self.capture, "-o", self.folder / "again", "--config", out / "metrics.json", "--json").json
        self.assertEqual(again["settings"], made["settings"])


class Files(Case):
    def test_info_of_a_capture(self):
        info = self.expect(0, "info", self.capture, "--json").json
        self.assertEqual((info["kind"], info["views"], info["train_views"], info["test_views"]), ("capture", 8, 7, 1))
        self.assertEqual((info["cameras"][0]["width"], info["cameras"][0]["height"]), (96, 72))
        self.assertFalse(info["points_are_random"])
        self.assertEqual(info["skipped"], [])
        self.assertEqual([f["id"] for f in info["findings"] if f["severity"] != "note"], [])
        self.expect(0, "info", self.capture, "--strict")

    def test_sample_is_the_same_for_any_thread_count(self):
        other = self.folder / "other"
        self.expect(0, "sample", other, "--views", 8, "--width", 96, "--height", 72, "--points", 600, "--threads", 1)
        for file in sorted(p.relative_to(self.capture) for p in self.capture.rglob("*") if p.is_file()):
            self.assertEqual((self.capture / file).read_bytes(), (other / file).read_bytes(), file)

    def test_sample_spares_what_is_there(self):
        self.expect(2, "sample", self.capture, says="not empty")
        file = self.folder / "file"
        file.write_text("x")
        self.expect(2, "sample", file, says="a file of this name")

    def test_a_smaller_sample_leaves_no_photos_of_a_larger_one(self):
        copy = self.copy_of_capture()
        self.expect(0, "sample", copy, "--force", "--views", 3, "--width", 32, "--height", 24, "--points", 50)
        self.assertEqual(sorted(p.name for p in (copy / "images").iterdir()), [f"view_{i:03}.png" for i in range(3)])

    def test_fix_spares_what_is_examined(self):
        out, _ = self.trained()
        scene = out / "point_cloud.ply"
        before = scene.read_bytes()
        link, hard, other = self.folder / "link.ply", self.folder / "hard.ply", self.folder / "elsewhere"
        link.symlink_to(scene)
        os.link(scene, hard)
        other.symlink_to(out)
        for same in (scene, link, hard, other / "point_cloud.ply", out / ".." / "trained" / "point_cloud.ply"):
            self.expect(2, "info", scene, "--fix", same, says=["would overwrite", "name another file"])
            self.expect(2, "info", same, "--fix", scene, says="would overwrite")
        self.assertEqual(scene.read_bytes(), before)
        self.assertTrue(link.is_symlink())
        self.expect(0, "convert", scene, self.folder / "sog" / "meta.json")
        self.expect(2, "info", self.folder / "sog", "--fix", self.folder / "sog" / "meta.json", says="would overwrite")
        self.expect(0, "info", self.folder / "sog", "--fix", self.folder / "sog" / "fixed.ply")

    def test_convert_and_info_of_splats(self):
        out, made = self.trained()
        copy = self.folder / "copy.ply"
        self.expect(0, "convert", out / "point_cloud.ply", copy)
        self.assertEqual(copy.read_bytes(), (out / "point_cloud.ply").read_bytes())
        info = self.expect(0, "info", copy, "--json").json
        self.assertEqual((info["kind"], info["gaussians"]), ("splats", made["gaussians"]))
        self.assertEqual(len(info["bounds"]["lo"]), 3)
        self.expect(2, "convert", copy, self.folder / "x.unknown", says="x.unknown")
        self.expect(2, "convert", self.capture, self.folder / "x.ply")

    def test_settings_are_named_by_their_words(self):
        train = ["train", self.capture, "--steps", 2]
        made = self.expect(0, *train, "-o", self.folder / "w", "--projection", "ut", "--strategy", "budget", "--appearance", "exposure",
                           "--json").json
        self.assertEqual([made["settings"][n] for n in ("projection", "strategy", "appearance")], [1, 2, 1])
        self.expect(2, *train, "-o", self.folder / "n", "--projection", "none", says="--projection")

    def test_only_what_lies_in_a_box_is_trained_and_converted(self):
        out, whole = self.folder / "cropped", self.folder / "whole"
        train = ["train", self.capture, "--steps", 3, "--json"]
        everything = self.expect(0, *train, "-o", whole).json["gaussians"]
        made = self.expect(0, *train, "-o", out, "--crop", "0,-99,-99,99,99,99").json
        self.assertTrue(0 < made["gaussians"] < everything, made["gaussians"])
        self.assertEqual(made["settings"]["crop"], 1)
        self.assertEqual(made["settings"]["crop_x1"], 99)
        part = self.expect(0, "convert", whole / "point_cloud.ply", self.folder / "part.ply",
                           "--crop", "0,-99,-99,99,99,99", "--json").json
        self.assertTrue(0 < part["gaussians"] < everything, part["gaussians"])
        self.expect(2, *train, "-o", self.folder / "n", "--crop", "1,2,3", says="six numbers")
        self.expect(2, *train, "-o", self.folder / "n", "--crop", "1,0,0,-1,1,1", says="ends before it begins")
        self.expect(2, *train, "-o", self.folder / "n", "--crop", "90,90,90,91,91,91", says="no point of the capture")
        self.expect(2, "convert", whole / "point_cloud.ply", self.folder / "x.ply",
                    "--crop", "90,90,90,91,91,91", says="--crop box contains no Gaussian")

    def test_convert_between_splat_formats(self):
        out, made = self.trained()
        for name in "m.compressed.ply m.splat m.spz m.sog m.glb m.gltf sog/meta.json m.csv".split():
            done = self.expect(0, "convert", out / "point_cloud.ply", self.folder / name, "--json").json
            self.assertEqual(done["gaussians"], made["gaussians"], name)
            self.assertGreater(done["bytes"], 32 * made["gaussians"] // 4, name)
            self.assertIsInstance(done["lost"], list)
            if name != "m.csv":
                info = self.expect(0, "info", self.folder / name, "--json").json
                self.assertEqual(info["gaussians"], made["gaussians"], name)
        self.assertTrue(any("harmonics" in line for line in self.expect(
            0, "convert", out / "point_cloud.ply", self.folder / "n.splat", "--json").json["lost"]))
        self.assertEqual(self.expect(0, "info", self.folder / "sog", "--json").json["gaussians"], made["gaussians"])
        self.expect(0, "convert", out / "point_cloud.ply", self.folder / "3.spz", "--spz-version", 3)
        self.assertEqual((self.folder / "3.spz").read_bytes()[:2], b"\x1f\x8b")
        self.expect(2, "convert", self.folder / "m.csv", self.folder / "x.ply", says="written, not read")
        self.expect(2, "convert", out / "point_cloud.ply", self.folder / "x.ksplat", says="x.ksplat")

    def test_convert_simplifies(self):
        run, _ = self.trained()
        whole = self.expect(0, "info", run / "point_cloud.ply", "--json").json["gaussians"]
        done = self.expect(0, "convert", run, self.folder / "half.ply", "--simplify", "50%", "--json")
        self.assertIn("merged from", done.out)
        self.assertEqual(done.json["gaussians"], round(whole / 2))
        self.assertEqual(done.json["simplified"]["from_gaussians"], whole)
        self.assertEqual(done.json["simplified"]["views_of"], str(self.capture))
        done = self.expect(0, "convert", run / "point_cloud.ply", self.folder / "10.ply", "--simplify", 10, "--simplify-from", self.capture,
                           "--json")
        self.assertEqual(done.json["gaussians"], 10)
        for wrong in ["some", "0", "101%", "-5", "1.5", "0.0001%"]:
            self.expect(2, "convert", run, self.folder / "n.ply", f"--simplify={wrong}", says="--simplify")
        self.expect(2, "convert", run, self.folder / "n.ply", "--simplify-from", self.capture, says="without --simplify")
        self.expect(2, "convert", run, self.folder / "n.ply", "--simplify", 10, "--simplify-from", self.folder / "none", says="none")
        self.assertFalse((self.folder / "n.ply").exists())

    def test_convert_verifies_by_rendering(self):
        out, _ = self.trained()
        done = self.expect(0, "convert", out / "point_cloud.ply", self.folder / "m.spz", "--verify", self.capture, "--json")
        cost = done.json["verify"]
        self.assertGreater(cost["psnr_between"], 30)
        self.assertLess(abs(cost["psnr_source"] - cost["psnr_result"]), 1)
        same = self.expect(0, "convert", out / "point_cloud.ply", self.folder / "m.ply", "--verify", self.capture, "--json")
        self.assertEqual(same.json["verify"]["psnr_between"], 200)
        self.expect(2, "convert", out / "point_cloud.ply", self.folder / "n.ply", "--verify", self.folder / "none")

    def test_splats_with_poison_and_cut_short(self):
        out, _ = self.trained()
        data = bytearray((out / "point_cloud.ply").read_bytes())
        start = data.index(b"end_header\n") + len(b"end_header\n")
        (self.folder / "cut.ply").write_bytes(data[:start + 1000])
        self.expect(2, "info", self.folder / "cut.ply", says="cut.ply")
        data[start:start + 4] = struct.pack("<f", math.nan)
        (self.folder / "nan.ply").write_bytes(data)
        info = self.expect(0, "info", self.folder / "nan.ply", "--json").json
        self.assertEqual([f["examples"] for f in info["findings"] if f["id"] == "not-finite-positions"], [["#0"]], info)
        self.assertGreater(info["memory"]["at_cap"]["to_train"], info["memory"]["now"]["to_view"])
        fixed = self.expect(3, "info", self.folder / "nan.ply", "--strict", "--fix", self.folder / "well.ply", "--json").json["fixed"]
        self.assertLess(fixed["gaussians"], info["gaussians"])
        self.assertTrue(fixed["changes"])
        again = self.expect(0, "info", self.folder / "well.ply", "--json").json
        self.assertEqual([f for f in again["findings"] if f["fixable"]], [])
        self.assertEqual(again["gaussians"], fixed["gaussians"])
        self.expect(2, "info", self.folder / "nan.ply", "--fix", self.folder / "x.unknown", says="x.unknown")
        self.expect(2, "info", self.capture, "--fix", self.folder / "x.ply", says="--fix works on splat files")
        lie = bytes(data).replace(b"element vertex ", b"element vertex 9999999999999", 1)
        (self.folder / "lie.ply").write_bytes(lie)
        self.expect(2, "info", self.folder / "lie.ply", says="lie.ply")


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

    def reports(self, out, made):
        """The run as a page: well-formed, with its numbers, and with all it needs inside it."""
        told = self.expect(0, "report", out, "--json").json
        page = (out / "report.html").read_text()
        self.assertEqual(told["bytes"], len(page.encode()))
        self.assertGreater(told["pictures"], 0)
        parts = list(xml.etree.ElementTree.fromstring(page).iter())
        sources = [p.get("src") for p in parts if p.get("src")]
        self.assertEqual(len(sources), told["pictures"])
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


class Render(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = run("train", cls.capture, "-o", cls.shared / "scene", "--steps", 20)
        assert made.code == 0, made.err
        cls.scene = cls.shared / "scene" / "point_cloud.ply"

    def test_npy_has_every_map(self):
        cameras = self.folder / "cameras.json"
        cameras.write_text(json.dumps([
            {"name": "a", "width": 50, "height": 34, "fov_y": 40, "position": [5, 0, 2], "target": [0, 0, 0.5], "up": [0, 0, 1]},
            {"width": 33, "height": 20, "fx": 40, "camera_from_world": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 6]]}]))
        out = self.folder / "out"
        made = self.expect(0, "render", self.scene, "--cameras", cameras, "-o", out, "--format", "npy", "--json").json
        self.assertEqual([i["name"] for i in made["images"]], ["a", "camera_0001"])
        shapes = {"a": (34, 50, 3), "a_alpha": (34, 50), "a_depth": (34, 50), "a_median": (34, 50),
                  "a_normals": (34, 50, 3), "a_contributors": (34, 50), "a_isects": (3, 4),
                  "a_pairs": (3, 4), "camera_0001": (20, 33, 3)}
        for name, shape in shapes.items():
            found, values = npy_shape(out / f"{name}.npy")
            self.assertEqual(found, shape, name)
            self.assertTrue(all(math.isfinite(v) for v in values), name)
        _, alpha = npy_shape(out / "a_alpha.npy")
        _, depth = npy_shape(out / "a_depth.npy")
        self.assertGreater(max(alpha), 0.5)
        self.assertTrue(all(3 < d < 9 for d, a in zip(depth, alpha) if a > 0.5))
        _, median = npy_shape(out / "a_median.npy")
        self.assertTrue(all((3 < d < 9) if a > 0.5 else d == 0 for d, a in zip(median, alpha) if abs(a - 0.5) > 1e-4))
        _, n = npy_shape(out / "a_normals.npy")
        lengths = [math.hypot(*n[3 * i:3 * i + 3]) for i in range(len(median))]
        self.assertTrue(all(abs(length - 1) < 1e-4 or length == 0 for length in lengths))
        self.assertTrue(all(median[i] > 0 for i, length in enumerate(lengths) if length > 0))
        self.assertGreater(sum(length > 0 for length in lengths), 100)

    def test_capture_and_orbit_and_size(self):
        out = self.folder / "out"
        self.expect(0, "render", self.scene, "--capture", self.capture, "-o", out, "--width", 48)
        self.assertEqual(len(list(out.glob("view_*.png"))), 8)
        self.assertEqual(struct.unpack(">II", (out / "view_000.png").read_bytes()[16:24]), (48, 36))
        self.expect(0, "render", self.scene, "--path", "orbit:3", "-o", out, "--width", 64, "--height", 40, "--background", "white")
        self.assertEqual(len(list(out.glob("frame_*.png"))), 3)
        exact = (out / "frame_0001.png").read_bytes()
        made = self.expect(0, "render", self.scene, "--path", "orbit:3", "-o", out, "--width", 64, "--height", 40, "--background", "white",
                           "--precision", "fast", "--backend", "cpu", "--json", says="exact pictures").json
        self.assertEqual((made["precision"], "psnr_of_fast" in made), ("exact", False))
        self.assertEqual((out / "frame_0001.png").read_bytes(), exact)

    def test_camera_paths(self):
        out, path = self.folder / "path", self.folder / "path.json"
        self.expect(0, "render", self.scene, "--path", "spiral:2", "-o", out, "--width", 32)
        self.assertEqual(len(list(out.glob("frame_*.png"))), 2)
        key = {"rotation": [1, 0, 0, 0], "fov_y": 50}
        path.write_text(json.dumps({"format": "gausscope camera path", "version": 1, "width": 40, "height": 30, "fps": 4, "keys":
                                    [{"time": 0, "position": [0, 0, -6], **key}, {"time": 1, "position": [1, 0, -5], **key}]}))
        own = self.expect(0, "render", self.scene, "--path", path, "-o", self.folder / "own", "--json").json
        self.assertEqual([(i["width"], i["height"]) for i in own["images"]], [(40, 30)] * 5)
        more = self.expect(0, "render", self.scene, "--path", path, "-o", self.folder / "own", "--fps", 9, "--height", 12, "--json").json
        self.assertEqual([(i["width"], i["height"]) for i in more["images"]], [(16, 12)] * 10)
        frame = {"camera_to_world": [1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, -6, 0, 0, 0, 1], "fov": 50, "aspect": 1.3}
        path.write_text(json.dumps({"camera_type": "perspective", "render_width": 40, "render_height": 30, "fps": 4, "camera_path": [frame] * 3}))
        theirs = self.expect(0, "render", self.scene, "--path", path, "-o", self.folder / "theirs", "--json").json
        self.assertEqual(len(theirs["images"]), 3)
        # The first camera of both paths is the same.
        self.assertEqual((self.folder / "theirs/frame_0000.png").read_bytes(),
                         self.first_picture_of(path, key))
        path.write_text("{}")
        self.expect(2, "render", self.scene, "--path", path, "-o", self.folder / "o", says="path.json")

    def test_video(self):
        film = self.folder / "film.mp4"
        if not (pathlib.Path(GAUSSCOPE).parent / "lib/libgausscope_video.so").exists():
            self.expect(2, "render", self.scene, "--path", "orbit:2", "--video", film, says="without its video library")
            return
        made = self.expect(0, "render", self.scene, "--path", "orbit:5", "--video", film, "--width", 65, "--fps", 12, "--json").json
        self.assertEqual((made["video"]["pictures"], made["video"]["fps"]), (5, 12))
        self.assertTrue(made["video"]["encoder"])
        self.assertEqual(film.read_bytes()[4:8], b"ftyp")
        self.expect(0, "render", self.scene, "--path", "dolly:3", "--video", film, "--width", 64, "--maps", "depth", "-o", self.folder / "both")
        self.assertEqual(len(list((self.folder / "both").glob("*_depth.png"))), 3)
        # What cannot be made leaves the film that was there, and nothing beside it.
        before = film.read_bytes()
        for arguments, says in ((["--maps", "color,depth"], "one map"), (["--codec", "mpeg1"], "mpeg1"), (["--quality", 0], "quality")):
            self.expect(2, "render", self.scene, "--path", "orbit:2", "--video", film, *arguments, says=says)
        self.expect(2, "render", self.scene, "--path", "orbit:2", "--video", self.folder / "film.gif", says=".mp4")
        self.expect(2, "render", self.scene, "--path", "orbit:2", says="--video")
        self.expect(2, "render", self.scene, "--path", "orbit:2", "--video", self.folder / "none/film.mp4", says="no such folder")
        self.assertEqual(film.read_bytes(), before)
        self.assertEqual([f.name for f in self.folder.glob("film.*")], ["film.mp4"])
        self.expect(2, "render", self.scene, "--time-lapse", "--video", film, says="not a run's folder")
        self.expect(2, "render", self.scene, "--time-lapse", "front", "-o", self.folder / "o", says="--video")
        # A program that lies alone, as in the bundle.
        alone = self.folder / "alone/gausscope"
        alone.parent.mkdir()
        shutil.copy(GAUSSCOPE, alone)
        done = subprocess.run([alone, "render", str(self.scene), "--path", "orbit:2", "--video", str(film)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("without its video library", done.stderr)
        self.assertIn("name a folder", done.stderr)

    def first_picture_of(self, path, key):
        path.write_text(json.dumps({"format": "gausscope camera path", "version": 1, "width": 40, "height": 30,
                                    "keys": [{"time": 0, "position": [0, 0, -6], **key}]}))
        self.expect(0, "render", self.scene, "--path", path, "-o", self.folder / "first")
        return (self.folder / "first/frame_0000.png").read_bytes()

    def test_bad_cameras(self):
        cameras = self.folder / "cameras.json"
        good = {"width": 8, "height": 8, "fx": 8, "position": [0, 0, -5], "target": [0, 0, 0]}
        for bad in ("[", "{}", "[]", "[3]", json.dumps([good, {**good, "width": 0}]), json.dumps([good, {**good, "fx": "wide"}]),
                    json.dumps([good, {**good, "position": [0, 0]}]),
                    json.dumps([good, {"width": 8, "height": 8, "fx": 8, "camera_from_world": [[1, 0, 0, 0]] * 3}])):
            cameras.write_text(bad)
            self.expect(2, "render", self.scene, "--cameras", cameras, "-o", self.folder / "o", says="cameras.json")
        self.expect(2, "render", self.scene, "--path", "loop:3", "-o", self.folder / "o", says="orbit:N")
        self.expect(2, "render", self.scene, "--path", "orbit:0", "-o", self.folder / "o", says="orbit:N")
        self.expect(2, "render", self.scene, "--path", "orbit:1", "-o", self.folder / "o", "--maps", "heat", says="heat")


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
        told = self.expect(0, "history", history, "--since", "1h", "--html", page, "--json").json["series"]
        self.assertEqual({s["metric"]: s["p50"] for s in told}, {s["name"]: s["ms_p50"] for s in made["stages"]})
        self.assertEqual({s["source"] for s in told}, {"bench"})
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
