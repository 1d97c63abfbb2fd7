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
from unittest import mock

from cli_support import GAUSSCOPE, SANITIZER_SIGNS, Case, npy_shape, run


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
        self.expect(2, "train", self.capture, "--view", "--photo-memory", 0, says="--photo-memory")
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
        for word, meant in (("--iterations", "--steps N?"), ("--max_steps=7", "--steps N?"), ("-r", "--downscale N (or"),
                            ("-s", "without an option"), ("--stpes", "--steps?"), ("--strategy.cap-max", "--max-gaussians"),
                            ("--white_background", "--background white")):
            self.expect(2, "train", "x", word, "7", says=[f"there is no option {word}:", meant])
        self.expect(2, "info", "--iterations", "7", says="not expected")
        for word, meant in (("trian", "train"), ("doctor", "info"), ("export", "convert"), ("benhc", "bench")):
            self.expect(2, word, "x", says=f"did you mean gausscope {meant}?")
            self.expect(2, "--json", word, "--help", says=f"did you mean gausscope {meant}?")
        self.expect(2, "photos/of/nobody", says="no such file or folder (check the path)")
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
        self.assertEqual(done.json["gaussians"], (whole + 1) // 2)
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


class Render(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = run("train", cls.capture, "-o", cls.shared / "scene", "--steps", 20)
        assert made.code == 0, made.err
        cls.scene = cls.shared / "scene" / "point_cloud.ply"

    def test_any_instruction_set_can_be_chosen(self):
        name = "GAUSSCOPE_INSTRUCTION_SET"
        error = self.expect(2, "info", self.scene, env={name: "AVX9000"}, says=f"{name}=AVX9000: this processor").err
        sets = error.strip().rsplit(" have ", 1)[1].split(", ")
        colors = []
        for chosen in sets:
            seen = self.expect(0, "inspect", self.scene, "--capture", self.capture, "--camera", 0, "--pixel", "40,30", "--json", "--backend", "cpu",
                               env={name: chosen}).json
            self.assertIn(f"CPU ({chosen}, ", seen["backend"]["name"])
            colors.append(seen["backend"]["color"])
        for color in colors[1:]:
            for a, b in zip(color, colors[0]):
                self.assertAlmostEqual(a, b, 5)

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

    def test_groups_of_tiles_draw_what_one_pass_draws(self):
        pictures = []
        for folder, options in (("one", []), ("groups", ["--pairs-at-once", 500])):
            out = self.folder / folder
            self.expect(0, "render", self.scene, "--capture", self.capture, "-o", out, "--format", "npy", "--width", 320, *options)
            pictures.append({file.name: file.read_bytes() for file in sorted(out.iterdir()) if file.suffix == ".npy"})
        self.assertGreater(len(pictures[0]), 8)
        self.assertEqual(pictures[0], pictures[1])
        self.expect(2, "render", self.scene, "--path", "orbit:1", "-o", self.folder, "--pairs-at-once", -1, says="--pairs-at-once")

    def test_a_real_scene_at_8k_in_groups(self):
        data = pathlib.Path(os.environ.get("GAUSSCOPE_DATA") or pathlib.Path(__file__).resolve().parents[2] / "../shared/data")
        fox, cameras = data / "splats/fox_trained/fox_trained_3000.ply", self.folder / "cameras.json"
        if not fox.exists():
            self.skipTest(f"{fox} is missing")
        cameras.write_text(json.dumps([{"name": "8k", "width": 7680, "height": 4320, "fov_y": 50, "position": [0, 0, -3],
                                        "target": [0, 0, 0.5], "up": [0, -1, 0]}]))
        pictures = []
        for folder, most in (("one", 0), ("groups", 200_000)):
            out = self.folder / folder
            made = self.expect(0, "render", fox, "--cameras", cameras, "-o", out, "--backend", "cpu", "--pairs-at-once", most, "--json").json
            self.assertGreater(made["images"][0]["isects"], 4 * 200_000)
            pictures.append((out / "8k.png").read_bytes())
        self.assertEqual(pictures[0], pictures[1])

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

    def test_pictures_along_rays(self):
        splats, exact, words = self.folder / "splats", self.folder / "exact", ["--path", "orbit:2", "--width", 48, "--height", 36]
        made = self.expect(0, "render", self.scene, *words, "-o", splats, "--format", "npy", "--json").json
        self.assertEqual(made["projection"], "ewa")
        made = self.expect(0, "render", self.scene, *words, "-o", exact, "--format", "npy", "--exact", "--json").json
        self.assertEqual(made["projection"], "rays")
        self.assertIn("along rays", made["backend"])
        self.assertEqual(list(made["images"][0]["files"]), ["color", "alpha", "depth", "median", "normals"])
        for name, most in (("frame_0000", 0.05), ("frame_0000_alpha", 0.05)):
            _, a = npy_shape(splats / f"{name}.npy")
            _, b = npy_shape(exact / f"{name}.npy")
            apart = sum(abs(x - y) for x, y in zip(a, b)) / len(a)
            self.assertTrue(0 < apart < most, (name, apart))
        # Another lens; a score of photos; what does not go together, before anything begins.
        self.expect(0, "render", self.scene, *words, "-o", exact, "--exact", "--lens", "equirectangular")
        scores = [self.expect(0, "eval", self.scene, self.capture, *more, "--json").json for more in ([], ["--exact"])]
        self.assertEqual([s["projection"] for s in scores], ["ewa", "rays"])
        self.assertLess(abs(scores[0]["test"]["psnr"] - scores[1]["test"]["psnr"]), 3)
        self.assertNotEqual(scores[0]["test"]["psnr"], scores[1]["test"]["psnr"])
        new = self.folder / "new"
        for more, says in ((["--backend", "cuda"], "only the CPU"), (["--device", 0], "only the CPU"), (["--projection", "ut"], "projects nothing"),
                           (["--antialiased"], "projects nothing"), (["--maps", "color,isects"], "isects"), (["--maps", "time"], "time")):
            self.expect(2, "render", self.scene, *words, "-o", new, "--exact", *more, says=says)
        self.expect(2, "eval", self.scene, self.capture, "--exact", "--backend", "cuda", says="--exact draws along rays, which only the CPU can")
        self.expect(2, "eval", self.scene, self.capture, "--exact", "--worst", 3, says="--worst")
        self.assertFalse(new.exists())

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


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
