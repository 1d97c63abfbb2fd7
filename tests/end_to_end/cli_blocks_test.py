"""Captures trained in blocks, from outside: one after another, apart, interrupted, merged, and what does not fit
together. Run: cli_blocks_test.py Blocks"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from cli_support import GAUSSCOPE, Case, ply_count, run, wait_for, write_gray_png

STEPS = 40


class Blocks(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.two = cls.shared / "two"
        made = run(*cls.words(cls.two), "--json")
        assert made.code == 0, made.err
        cls.made = made.json

    @classmethod
    def words(cls, out, *more, blocks=2, steps=STEPS):
        return ("train", cls.capture, "-o", out, "--steps", steps, "--blocks", blocks, *more)

    def copied(self):
        out = self.folder / "copied"
        shutil.copytree(self.two, out)
        return out

    def files(self, folder):
        return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    def test_trains_merges_and_is_a_run_to_look_at(self):
        rows = self.made["blocks"]
        self.assertEqual([row["block"] for row in rows], [1, 2])
        self.assertEqual(self.made["gaussians"], sum(row["kept"] for row in rows))
        self.assertEqual(ply_count(self.two / "point_cloud.ply"), self.made["gaussians"])
        for row in rows:
            self.assertGreater(row["kept"], 0)
            self.assertLess(row["kept"], row["gaussians"])
        scored = self.expect(0, "eval", self.two, "--json").json
        whole = self.expect(0, "train", self.capture, "-o", self.folder / "whole", "--steps", STEPS, "--json").json
        self.assertEqual(scored["steps"], STEPS)
        names = [image["name"] for image in scored["test"]["images"]]
        self.assertEqual(names, [image["name"] for image in whole["test"]["images"]])
        self.assertGreater(scored["test"]["psnr"], whole["test"]["psnr"] - 2)
        self.expect(0, "convert", self.two, self.folder / "small.spz")

    def test_no_block_trains_on_a_test_photo(self):
        tests = {image["name"] for image in self.expect(0, "eval", self.two, "--json").json["test"]["images"]}
        for k in (1, 2):
            loading = json.loads((self.two / f"block-{k}" / "run.json").read_text())["loading"]
            self.assertLessEqual(set(loading["test_views"]), tests)
            self.assertLessEqual(tests, set(loading["test_views"]) | set(loading["left_out"]))

    def test_again_it_only_merges(self):
        out = self.copied()
        before = self.files(out)
        again = self.expect(0, *self.words(out), says="block-2 has all its steps")
        self.assertNotIn("train ", again.err.replace("train splats", ""))
        after = self.files(out)
        self.assertEqual({k: v for k, v in before.items() if k.suffix != ".json"},
                         {k: v for k, v in after.items() if k.suffix != ".json"})

    def test_apart_it_gives_the_same_bits(self):
        first, second, whole = (self.folder / name for name in ("first", "second", "whole"))
        self.expect(0, *self.words(first, "--block", 1))
        self.expect(0, *self.words(second, "--block", 2))
        self.assertFalse((first / "point_cloud.ply").exists())
        whole.mkdir()
        shutil.move(first / "block-1", whole)
        missing = self.expect(2, *self.words(whole, "--block", 1), says=["block-2", "is not there", "--block 2"])
        self.assertEqual(missing.err.count("is not there"), 1)
        shutil.move(second / "block-2", whole)
        self.expect(2, *self.words(whole, "--block", "merge"), says=["block-1/seams", "is not there"])
        self.assertFalse((whole / "point_cloud.ply").exists())
        for k in (2, 1):
            self.expect(0, *self.words(whole, "--block", k))
        self.expect(0, *self.words(whole, "--block", "merge"))
        self.assertEqual((whole / "point_cloud.ply").read_bytes(), (self.two / "point_cloud.ply").read_bytes())
        self.assertEqual(list(whole.rglob("seams_start.ply")), [])
        self.expect(0, *self.words(whole, "--block", "merge", "--seam-steps", 0))
        self.assertNotEqual((whole / "point_cloud.ply").read_bytes(), (self.two / "point_cloud.ply").read_bytes())

    def test_interrupted_it_resumes_at_the_block_where_it_stopped(self):
        out = self.folder / "out"
        steps = 400
        process = subprocess.Popen([GAUSSCOPE, *map(str, self.words(out, "--save-every", 10, steps=steps))],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(out / "block-2" / "checkpoint.gsc", process)
        process.send_signal(signal.SIGINT)
        text, err = process.communicate(timeout=120)
        if process.returncode == 0:
            self.skipTest("training ended before it could be interrupted")
        self.assertEqual(process.returncode, 1, err.decode())
        self.assertIn("the same command resumes it", text.decode())
        self.assertFalse((out / "point_cloud.ply").exists())
        self.expect(2, *self.words(out, "--block", "merge", steps=steps), says="is not there")
        first = (out / "block-1" / "checkpoint.gsc").read_bytes()
        self.expect(0, *self.words(out, steps=steps), says=["block-1 has all its steps", "resuming from step"])
        self.assertEqual((out / "block-1" / "checkpoint.gsc").read_bytes(), first)
        straight = self.folder / "straight"
        self.expect(0, *self.words(straight, steps=steps))
        self.assertEqual((out / "point_cloud.ply").read_bytes(), (straight / "point_cloud.ply").read_bytes())

    def test_what_does_not_fit_together_is_refused_and_nothing_is_lost(self):
        out = self.copied()
        before = self.files(out)
        other = self.folder / "other"
        self.expect(0, "sample", other, "--views", 8, "--width", 96, "--height", 72, "--points", 500)
        masks = self.folder / "masks"
        masks.mkdir()
        write_gray_png(masks / "view_000.png", 96, 72, 255)
        for words, says in ((self.words(out, blocks=3), ["block-1", "block 1 of 2", "block 1 of 3"]),
                            (self.words(out, "--sh-degree", 1), ["block-1", "sh_degree 3, not 1"]),
                            (self.words(out, "--antialiased", "--block", "merge"), ["block-1", "antialiased"]),
                            (self.words(out, steps=60), ["block-1", "steps"]),
                            (self.words(out, "--masks", masks), ["block-1", 'the masks ""']),
                            (self.words(out, "--downscale", 2), ["block-1", "another cut"]),
                            (self.words(out, "--test-every", 3), ["block-1", "another cut"]),
                            (("train", other, *self.words(out)[2:]), ["block-1", "another cut"]),
                            (("train", self.capture, "-o", out), ["it contains a run"])):
            refused = self.expect(2, *words, says=says)
            self.assertEqual(refused.err.count("error:"), 1, refused.err)
            self.assertEqual(self.files(out), before)

    def test_damaged_and_foreign_block_folders(self):
        out = self.copied()
        checkpoint = out / "block-2" / "seams" / "checkpoint.gsc"
        whole = checkpoint.read_bytes()
        merged = (out / "point_cloud.ply").read_bytes()
        checkpoint.write_bytes(whole[:len(whole) // 2])  # half copied
        self.expect(2, *self.words(out, "--block", "merge"), says=["block-2/seams/checkpoint.gsc", "ends early"])
        checkpoint.write_bytes(whole[:9000] + bytes([whole[9000] ^ 1]) + whole[9001:])
        self.expect(2, *self.words(out, "--block", "merge"), says=["block-2/seams/checkpoint.gsc", "checksum"])
        checkpoint.unlink()
        self.expect(2, *self.words(out), says=["block-2", "has no readable checkpoint.gsc"])
        checkpoint.write_bytes(whole)
        (out / "block-2" / "run.json").write_text("{}")
        self.expect(2, *self.words(out), says=["block-2/run.json", "not a run of this version"])
        shutil.rmtree(out / "block-2")
        shutil.copytree(out / "block-1", out / "block-2")
        self.expect(2, *self.words(out), says=["is block 1 of 2", "not block 2 of 2"])
        shutil.rmtree(out / "block-2")
        self.expect(0, "train", self.capture, "-o", out / "block-2", "--steps", STEPS)
        self.expect(2, *self.words(out), says=["a run of a whole capture"])
        self.assertEqual((out / "point_cloud.ply").read_bytes(), merged)
        self.expect(0, *self.words(out, "--overwrite", "--block", 2))
        self.expect(0, *self.words(out))
        self.assertEqual((out / "point_cloud.ply").read_bytes(), merged)

    def test_a_block_trained_again_drops_every_seam(self):
        out = self.copied()
        self.expect(0, *self.words(out, "--overwrite", "--block", 1), says="block-2/seams")
        self.assertEqual(list(out.rglob("seams")), [])
        self.expect(0, *self.words(out))
        self.assertEqual((out / "point_cloud.ply").read_bytes(), (self.two / "point_cloud.ply").read_bytes())

    def test_a_merge_that_was_cut_off_can_be_repeated(self):
        merged = (self.two / "point_cloud.ply").read_bytes()
        out = self.copied()
        for name in ("point_cloud.ply", "metrics.json"):
            (out / name).unlink()
        self.expect(0, *self.words(out))
        self.assertEqual((out / "point_cloud.ply").read_bytes(), merged)
        (out / "run.json").unlink()
        self.expect(2, *self.words(out), says="--block merge --overwrite")
        self.expect(0, *self.words(out, "--block", "merge", "--overwrite"))
        self.assertEqual((out / "point_cloud.ply").read_bytes(), merged)

    def test_masks_may_be_elsewhere(self):
        for name in ("here", "there"):
            (self.folder / name).mkdir()
            write_gray_png(self.folder / name / "view_000.png", 96, 72, 255)
        out = self.folder / "out"
        self.expect(0, *self.words(out, "--masks", "here"), cwd=self.folder)
        self.expect(0, *self.words(out, "--masks", self.folder / "there"), says="block-2 has all its steps")

    def test_seams_keep_the_limit(self):
        out = self.folder / "out"
        self.expect(0, *self.words(out, "--max-gaussians", 400, blocks=4))
        for k in range(1, 5):
            self.assertLessEqual(json.loads((out / f"block-{k}" / "seams" / "metrics.json").read_text())["gaussians"], 400)

    def test_a_run_in_the_folder_is_not_overwritten(self):
        out = self.folder / "out"
        self.expect(0, "train", self.capture, "-o", out, "--steps", STEPS)
        self.expect(2, *self.words(out), says="it contains another run")
        self.assertFalse((out / "block-1").exists())

    def test_refused_by_name(self):
        out = self.folder / "out"
        for flags, says in ((["--appearance", "exposure"], "--appearance"), (["--sky", "sh1"], "--sky"),
                            (["--refine-poses"], "--refine-poses"),
                            (["--refine-intrinsics"], "--refine-intrinsics"), (["--lidar-weight", 1], "lidar"), (["--filter-3d"], "--filter-3d"),
                            (["--crop", "0,0,0,1,1,1"], "--crop"),
                            (["--resume", "auto"], "--resume"), (["--from", self.two], "--from"),
                            (["--layout", "inria"], "--layout"), (["--trace", self.folder / "t"], "--trace"),
                            (["--block", 3], "no block"), (["--block", "one"], "no block"), (["--view"], "--view")):
            self.expect(2, *self.words(out, *flags), says=says)
        self.expect(2, *self.words(out, blocks=1), says="--blocks")
        self.expect(2, *self.words(out, blocks=4000), says="fewer blocks")
        self.expect(2, "train", self.capture, "-o", out, "--block", 1, says="--blocks")
        self.expect(2, "train", self.capture, "-o", out, "--seam-steps", 1, says="--seam-steps without")
        self.expect(2, "train", self.capture, "--blocks", 2, says="-o DIR")
        self.assertFalse(out.exists())

    def test_plan_says_what_each_block_needs(self):
        whole = self.expect(0, "plan", self.capture, "--max-gaussians", 600, "--json").json
        parts = self.expect(0, "plan", self.capture, "--max-gaussians", 600, "--blocks", 3, "--json").json
        self.assertEqual([row["block"] for row in parts["blocks"]], [1, 2, 3])
        self.assertTrue(parts["fits"])
        for row in parts["blocks"]:
            self.assertGreater(row["photos"], 0)
            self.assertLessEqual(row["photos"], whole["photos"])
            self.assertLess(row["points"], whole["first_gaussians"])
            self.assertGreater(row["host_bytes"], 0)
        self.assertEqual(parts["disk_bytes"], sum(row["disk_bytes"] for row in parts["blocks"]))
        used = sum(f.stat().st_size for f in (self.two / "block-1").rglob("*") if f.is_file())
        for row in self.expect(0, "plan", self.capture, "--blocks", 2, "--json").json["blocks"]:
            self.assertGreater(row["disk_bytes"], used)
        self.expect(3, "plan", self.capture, "--blocks", 3, "--host-memory", 0.1)


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
