#!/usr/bin/env python3
"""tools/gpu_check: all of it rehearsed on the emulated device, and, on made-up programs, what it says of one that hangs, fails,
trains to other bits or is gone in the middle.

gpu_check_test.py BUILD
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path("build").resolve()
NEED_PYTORCH = ("service_pytorch", "tensors")  # stages
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools/gpu_check"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

import gpu_check_kernels as kernels  # noqa: E402  pylint: disable=wrong-import-position
import gpu_check_run as running  # noqa: E402  pylint: disable=wrong-import-position
import gpu_check_tables as tables  # noqa: E402  pylint: disable=wrong-import-position
import gpu_check_times as times  # noqa: E402  pylint: disable=wrong-import-position
from gpu_check_mocks import NCU  # noqa: E402  pylint: disable=wrong-import-position
from gpu_check_stages import STAGES  # noqa: E402  pylint: disable=wrong-import-position

# A program that trains to other bits each time, and hangs or fails where a file beside it says so.
FAKE = """\
#!/usr/bin/env python3
import json, pathlib, sys, time, uuid
words, here = sys.argv[1:], pathlib.Path(__file__).parent
if (here / "hangs").exists():
    print("half of it", flush=True)
    time.sleep(600)
if (here / "fails").exists() and words[0] == "selftest":
    print(json.dumps({"checks": [{"name": "density: x", "verdict": "FAILED"}], "failed": 1, "absent": 0}))
    sys.exit(3)
if words[0] == "sample":
    pathlib.Path(words[1], "sparse").mkdir(parents=True)
if words[0] == "train":
    folder = pathlib.Path(words[words.index("-o") + 1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "point_cloud.ply").write_text("same" if (here / "same").exists() else uuid.uuid4().hex)
print(json.dumps({"checks": [], "failed": 0, "absent": 0}))
"""


def call(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOL, *map(str, words)], capture_output=True, text=True, check=False, timeout=500)


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def told(self, stage: str) -> dict:
        return json.loads((self.out / f"{stage}.json").read_text(encoding="utf-8"))

    def fake(self, *signs: str) -> pathlib.Path:
        program = self.folder / "gausscope"
        program.write_text(FAKE, encoding="utf-8")
        program.chmod(0o755)
        for sign in signs:
            (self.folder / sign).touch()
        return program


class Rehearsal(Temporary):
    def test_every_stage_runs_and_is_in_the_tables(self):
        done = call("--rehearse", "--build", BUILD, "-o", self.out, "--results", self.folder / "home", "--processes", 2)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in STAGES:
            result = self.told(row.name)
            self.assertEqual(result["findings"], [], row.name)
            # PyTorch sees no GPU here; everything else has something that stands in for it.
            self.assertIn(result["status"], ("passed", "absent") if row.name in NEED_PYTORCH else ("passed",), row.name)
        self.assertTrue(all(mode["same"] for mode in self.told("bits")["data"]["modes"].values()))
        self.assertEqual(self.told("racecheck")["data"]["racecheck"]["missed"], [])
        self.assertEqual(len(self.told("service")["data"]["rate_2000"]), 4)
        home = sorted(f.name for f in (self.folder / "home").iterdir())
        self.assertEqual(len(home), 4, home)
        page = next((self.folder / "home").glob("*.md")).read_text(encoding="utf-8")
        for title in ("Correct", "Stages: measured and predicted", "Counters", "What watching costs", "Training"):
            self.assertIn(f"## {title}\n", page)
        self.assertIn("A rehearsal on the emulated device", page)
        self.assertNotIn("did not end", page)
        runs = json.loads((self.folder / "home/measured_times.json").read_text(encoding="utf-8"))["runs"]
        self.assertTrue(runs)
        again = call("--rehearse", "--build", BUILD, "-o", self.out)
        self.assertEqual(again.stdout.count("before; use --again to run it again"), len(STAGES), again.stdout)


class Faults(Temporary):
    def test_a_command_that_hangs_is_stopped_and_named(self):
        options = running.Options(self.fake("hangs"), self.out)
        options.out.mkdir()
        stage = running.Stage(options, "cases", 1)
        stage.gausscope("cases", "selftest", "--cases", limit=8)
        told = stage.end()
        self.assertEqual(told["status"], "failed")
        self.assertIn("no end after 8 s", told["findings"][0])
        self.assertIn("selftest --cases", told["findings"][0])
        self.assertIn("half of it", told["findings"][0])

    def test_a_gpu_that_cannot_be_used_ends_all(self):
        done = call("--program", self.fake("fails"), "-o", self.out)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(self.told("alive")["data"]["failed"], ["density: x"])
        self.assertFalse((self.out / "cases.json").exists())

    def test_other_bits_are_found_and_looked_into(self):
        program = self.fake()
        done = call("--program", program, "-o", self.out, "--only", "bits", "--rehearse", "--build", BUILD)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = self.told("bits")
        self.assertEqual(sum("other bits: [" in f for f in told["findings"]), 8)
        self.assertTrue(any("drained after each step" in n for n in told["notes"]), told["notes"])
        (self.folder / "same").touch()
        done = call("--program", program, "-o", self.out, "--only", "bits", "--rehearse", "--build", BUILD, "--again")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_stage_that_did_not_end_is_named_and_runs_again(self):
        program = self.fake("same")
        self.out.mkdir()
        stage = running.Stage(running.Options(program, self.out), "bits", 8)
        stage.result["under_way"] = {"name": "train_plain_0"}
        stage.save()  # and the machine is gone
        text = tables.page(self.out, [("bits", 8, "")], "2026-01-01", False, "")
        self.assertIn("did not end; under way: train_plain_0", text)
        done = call("--program", program, "-o", self.out, "--only", "bits", "--rehearse", "--build", BUILD)
        self.assertIn("passed after", done.stdout)

    def test_no_stage_begins_that_would_not_end_in_time(self):
        done = call("--program", self.fake("same"), "-o", self.out, "--minutes", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left for another call: alive, cases", done.stdout)

    def test_wrong_usage(self):
        for words, said in ((["--only", "paint"], "no stage paint"), (["--program", self.folder / "none"], "no program at")):
            done = call(*words, "-o", self.out)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


class Archive(Temporary):
    def test_it_runs_where_nothing_is_installed(self):
        build, data = self.folder / "build", self.folder / "data"
        (build / "lib").mkdir(parents=True)
        for name in ("gausscope", "libgausscope_inject.so", "lib/libgausscope_ops.so"):
            shutil.copy("/bin/true", build / name)  # stands for it, and needs libc alone
        for name, size in (("captures/fox", 100_000), ("captures/lego", 3_000_000)):
            (data / name).mkdir(parents=True)
            (data / name / "photos").write_bytes(random.randbytes(size))
        archive = self.folder / "check.tar.xz"
        done = call("--pack", archive, "--build", build, "--data", data, "--limit", 3)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("data: captures/fox\n", done.stdout)
        with tarfile.open(archive) as packed:
            packed.extractall(self.folder)
        unpacked = self.folder / "gausscope_gpu_check"
        self.assertTrue((unpacked / "data/captures/fox/photos").exists())
        self.assertIn("kernels_now.csv", [f.name for f in (unpacked / "share/gpu_check").iterdir()])
        self.assertTrue((unpacked / "lib/libgausscope_ops.so").exists() and (unpacked / "python/gausscope/rasterize.py").exists())
        (unpacked / "bin/gausscope").write_text('#!/bin/sh\necho "libraries: $LD_LIBRARY_PATH"\n')
        done = subprocess.run([sys.executable, unpacked / "tools/gpu_check", "-o", self.out, "--only", "alive"], env={"PATH": "/bin"},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        libraries = (self.out / "alive/selftest_quick.log").read_text().split()[1].split(":")
        self.assertEqual((libraries[0], libraries[-1]), (str(unpacked / "lib"), str(unpacked / "lib/fallback")))
        self.assertIn(str(unpacked / "bin/gausscope"), self.told("alive")["commands"][-1]["command"])

    def test_without_a_program_it_says_so(self):
        done = call("--pack", self.folder / "check.tar.xz", "--build", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("build gausscope first", done.stdout)


class Kernels(Temporary):
    def prints(self, counts: dict, code: dict) -> kernels.Prints:
        about = {"date": "2026-01-01", "gpu": "h100", "architecture": "90", "commit": "abc", "toolkit": "13.0"}
        return kernels.Prints(about, counts, code)

    def test_code_decides_where_both_have_it(self):
        measured = self.prints({"a": "1", "b": "1", "c": "1", "gone": "1"}, {"a": "x", "b": "x"})
        now = self.prints({"a": "1", "b": "1", "c": "2", "new": "1"}, {"a": "x", "b": "y", "c": "z"})
        told = kernels.compare(now, measured)
        self.assertEqual((told.new, told.changed, told.same, told.gone), (["new"], ["b", "c"], ["a"], ["gone"]))
        file = self.folder / "2026-01-01-h100-kernels.csv"
        kernels.store(file, measured)
        self.assertEqual(kernels.load(file), measured)
        self.assertEqual(kernels.newest(self.folder), [file])

    def test_lines_of_source_do_not_count(self):
        text = kernels.COSTS.read_text(encoding="utf-8")
        file = self.folder / "costs.csv"
        file.write_text(text.replace("ceilings.cu:85,", "ceilings.cu:86,"), encoding="utf-8")
        self.assertEqual(kernels.counted(file, 90), kernels.counted(kernels.COSTS, 90))


class Tables(Temporary):
    def test_ncu_is_read(self):
        rows = times.kernels_of_ncu(NCU)
        self.assertEqual([(r["kernel"], r["launches"]) for r in rows], [("emit<unsigned short>", 2)])
        self.assertEqual(rows[0]["launch__registers_per_thread"], 53)

    def test_runs_take_the_place_of_the_same_gpus(self):
        self.out.mkdir()
        scene = {"name": "small", "gaussians": 100, "width": 33, "height": 16, "counters": {"gaussians": 100, "visible": 90,
                 "isects": 200, "candidates": 100, "evaluated_pairs": 5, "blended_pairs": 3, "warps": {"near": 4}},
                 "frame": {"ms": 0.2, "predicted": {"p50": 0.3}, "stages": [{"name": "emit", "ms": 0.1, "predicted": {"p50": 0.12}},
                                                                            {"name": "blend", "ms": 0.1, "predicted": None}]}}
        running.write_json(self.out / "selftest.json", {"data": {"report": {"scenes": [scene]}}})
        stored = {"about": "x", "source": "y", "runs": [{"id": "h100-old", "gpu": "h100"}, {"id": "h200-old", "gpu": "h200"}]}
        told = tables.measured_times(stored, self.out, "h100", "page")
        self.assertEqual([r["id"] for r in told["runs"]], ["h200-old", "h100-small-frame"])
        self.assertEqual(told["runs"][1]["stages"], [["emit", 0.1, 0.12]])
        self.assertEqual(told["runs"][1]["counts"]["tiles"], 3)
        self.assertEqual(json.loads(tables.times_text(told)), told)
        self.assertEqual(times.missed_stages(self.out), {"emit": 0.12 / 0.1 - 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
