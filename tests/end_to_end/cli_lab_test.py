"""The lab from outside: suites that run, stop and resume; comparisons, gates, logs. Run: cli_lab_test.py Lab"""
import csv
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from cli_support import GAUSSCOPE, Case

SUITE = """
name = tiny
steps = 40
seeds = 1, 2
gate psnr_drop <= 3
[scene toys]
scenery = toys
views = 9
width = 48
height = 36
points = 300
[settings plain]
[settings bold]
lr_means = 0.0005
"""


class Lab(Case):
    def suite(self, text=SUITE, name="tiny.suite"):
        path = self.folder / name
        path.write_text(text)
        return path

    def told(self, code, *words, out=(), **more):
        """Runs; also checks that stdout holds all of `out`."""
        result = self.expect(code, "lab", *words, **more)
        for part in [out] if isinstance(out, str) else out:
            self.assertIn(part, result.out)
        return result

    def lab(self, code, *words, **more):
        return self.told(code, *words, "--database", self.folder / "lab.db", **more)

    def test_exports_are_measured(self):
        suite = self.suite(SUITE.replace("steps = 40", "steps = 40\nexports = spz, sog").replace("seeds = 1, 2", "seeds = 1"))
        self.lab(0, "run", suite)
        rows = {m["metric"]: m for m in self.lab(0, "compare", "plain", "bold", "--json").json["metrics"]}
        folder = pathlib.Path(self.lab(0, "list", "--json").json["runs"][0]["folder"])
        for form in ("spz", "sog"):
            self.assertGreater((folder / f"export.{form}").stat().st_size, 100)
            self.assertGreater(rows[f"{form} size"]["a"], 100)
            self.assertLess(abs(rows[f"{form} loss"]["a"]), 3)
        whole, packed = (self.expect(0, "eval", folder / f, "--json").json["test"]["psnr"] for f in ("point_cloud.ply", "export.spz"))
        self.assertIn(round(whole - packed, 6), [round(rows["spz loss"][of], 6) for of in "ab"])
        self.lab(0, "report", "--html", self.folder / "lab.html")
        self.assertIn("PSNR lost, dB", (self.folder / "lab.html").read_text())
        self.lab(2, "run", self.suite("exports = ply\n" + SUITE, "other.suite"), says="spz, sog")
        none = "exports = spz\n" + SUITE.replace("views = 9", "views = 9\ntest_every = 0")
        self.lab(2, "run", self.suite(none, "none.suite"), says="held-out photos")

    def test_runs_once_resumes_and_compares(self):
        suite = self.suite()
        first = self.lab(0, "run", suite, "--label", "one", "--json").json
        self.assertEqual((first["planned"], first["ran"], first["known"], first["failed"]), (4, 4, 0, 0))
        again = self.lab(0, "run", suite, "--label", "one", "--json").json
        self.assertEqual((again["ran"], again["known"]), (0, 4))
        runs = self.lab(0, "list", "--json").json["runs"]
        self.assertEqual(len(runs), 4)
        for run in runs:
            self.assertGreater(run["psnr"], 5)
            self.assertGreater(run["peak_bytes"], 1 << 20)
            self.assertEqual(list(pathlib.Path(run["folder"]).glob("*.gsc")), [])
            self.assertTrue((pathlib.Path(run["folder"]) / "point_cloud.ply").exists())
        # The same program twice: the same bits, and no gate fails.
        self.lab(0, "run", suite, "--label", "two")
        same = self.lab(0, "compare", "one", "two", "--json").json
        self.assertEqual((same["pairs"], same["same_bits"]), (4, 4))
        self.assertEqual([gate["state"] for gate in same["gates"]], ["holds"])
        self.assertIn("same", {m["metric"]: m["verdict"] for m in same["metrics"]}["PSNR"])
        # Settings against each other: here is a difference, and a gate that it cannot pass.
        self.lab(3, "compare", "plain", "bold", "--gate", "psnr_drop <= -40", out="FAILS")
        page = self.folder / "lab.html"
        told = self.lab(0, "report", "one", "two", "--html", page, "--json").json
        self.assertEqual((told["runs"], told["photos"]), (8, 2))
        text = page.read_text()
        xml.etree.ElementTree.fromstring(text)
        for part in ("two against one", "psnr_drop &lt;= 3", "Time per stage", "quality over size", "Gaussians</text>", "resize:horizontal"):
            self.assertIn(part, text)
        self.assertNotIn("http://www.w3.org/2000", text)  # nothing from elsewhere
        self.lab(2, "report", "one", "nobody", "--html", page, says="nobody")
        self.lab(2, "compare", "plain", "two", says="differ in kind")
        self.lab(2, "compare", "one", "nobody", says=["nobody", "labels: one, two"])
        self.told(0, "compare", self.folder / "lab.db", self.folder / "lab.db", out="4 pairs")

    def test_killed_and_called_again(self):
        suite = self.suite(SUITE.replace("steps = 40", "steps = 300").replace("seeds = 1, 2", "seeds = 1"))
        words = [GAUSSCOPE, "lab", "run", str(suite), "--database", str(self.folder / "lab.db")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            folder = self.folder / "lab.db.runs" / "runs"
            begin = time.monotonic()
            while not list(folder.glob("*/run.json")) and process.poll() is None and time.monotonic() < begin + 60:
                time.sleep(0.01)
            process.kill()
        logs = list(folder.glob("*.log"))
        self.assertTrue(logs)
        done = self.lab(0, "run", suite, "--json").json
        self.assertEqual(done["ran"] + done["known"], 2)
        self.assertEqual(len(self.lab(0, "list", "--json").json["runs"]), 2)

    def test_a_run_that_was_trained_and_not_recorded_is_taken(self):
        suite = self.suite()
        self.lab(0, "run", suite, "--label", "one")
        before = {run["seed"]: run for run in self.lab(0, "list", "--json").json["runs"] if run["settings"] == "plain"}
        for file in self.folder.glob("lab.db*"):
            if file.is_file():
                file.unlink()
        self.assertEqual(self.lab(0, "run", suite, "--label", "one", "--json").json["ran"], 4)
        for run in self.lab(0, "list", "--json").json["runs"]:
            if run["settings"] == "plain":
                self.assertEqual(run["training"], before[run["seed"]]["training"])  # timed once

    def test_a_run_that_fails_does_not_end_the_lab(self):
        broken = self.folder / "broken"
        broken.write_text("#!/bin/sh\n[ $1 = train ] && { echo error: out of memory; kill -9 $$; }\nexec %s \"$@\"\n" % os.path.abspath(GAUSSCOPE))
        broken.chmod(0o755)
        suite = self.suite(SUITE.replace("[settings bold]\nlr_means = 0.0005\n", "").replace("seeds = 1, 2", "seeds = 1"))
        result = self.lab(1, "run", suite, "--program", f"bad={broken}", "--program", f"good={GAUSSCOPE}", "--json",
                          out=["FAILED", "signal 9", "\n  error: out of memory\n", "the whole log: ", "add --retry to repeat failed runs"])
        self.assertEqual((result.json["ran"], result.json["failed"]), (1, 1))
        told = {run["label"]: run for run in self.lab(0, "list", "--json").json["runs"]}
        self.assertIn("out of memory", told["bad"]["error"])
        self.assertFalse(told["good"]["failed"])
        self.assertEqual(self.lab(1, "run", suite, "--program", f"bad={broken}", "--program", f"good={GAUSSCOPE}", "--json",
                                  out="failed before, not repeated (--retry)").json["known"], 1)
        self.lab(2, "compare", "bad", "good", says="no run of the same scene")
        broken.write_text("#!/bin/sh\nexec %s \"$@\"\n" % os.path.abspath(GAUSSCOPE))
        self.assertEqual(self.lab(0, "run", suite, "--program", f"bad={broken}", "--retry", "--json").json["ran"], 1)

    def program(self, commit, more=""):
        """This program as if it were built from another commit."""
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n[ $1 = info ] || exec %s \"$@\"\n%s \"$@\" | sed 's/\"commit\":\"[^\"]*\"/\"commit\":\"%s\"/'\n%s"
                        % (os.path.abspath(GAUSSCOPE), os.path.abspath(GAUSSCOPE), commit, more))
        path.chmod(0o755)
        return f"mine={path}"

    def test_a_run_is_of_the_program_that_trained_it(self):
        suite = self.suite(SUITE.replace("[settings bold]\nlr_means = 0.0005\n", "").replace("seeds = 1, 2", "seeds = 1").replace("steps = 40", "steps = 5"))

        def ran(program, *out):
            return self.lab(0, "run", suite, "--program", program, "--json", out=out).json["ran"]
        first, second = "0123456789ab", "ba9876543210"
        self.assertEqual([ran(self.program(first)), ran(self.program(first)), ran(self.program(second)), ran(self.program(first))], [1, 0, 1, 0])
        # With changes: known to exactly these.
        says = "changes that are not committed"
        self.assertEqual([ran(self.program(first + "+changes.00000001"), says), ran(self.program(first + "+changes.00000001"), says),
                          ran(self.program(first + "+changes.00000002"), says)], [1, 0, 1])
        # Of an unknown commit: known to exactly this build.
        says = "the commit is unknown"
        self.assertEqual([ran(self.program("unknown"), says), ran(self.program("unknown"), says), ran(self.program("unknown", "# another build\n"), says)],
                         [1, 0, 1])
        commits = [run["commit"] for run in self.lab(0, "list", "--json").json["runs"]]
        self.assertEqual(commits[:4], [first, second, first + "+changes.00000001", first + "+changes.00000002"])
        for commit in commits[4:]:
            self.assertRegex(commit, r"^unknown\.[0-9a-f]{8}$")
        self.assertNotEqual(commits[4], commits[5])

    def test_a_run_is_of_what_is_in_its_capture(self):
        capture = self.copy_of_capture()
        suite = self.suite(f"steps = 5\nseeds = 1\n[scene mine]\ncapture = {capture}\ntest_every = 4\n")

        def ran():
            return self.lab(0, "run", suite, "--label", "a", "--json").json["ran"]
        photos = sorted((capture / "images").iterdir())
        self.assertEqual([ran(), ran()], [1, 0])
        photos[0].write_bytes(photos[1].read_bytes())  # another photo under the same name
        self.assertEqual([ran(), ran()], [1, 0])
        points = capture / "sparse" / "0" / "points3D.txt"
        points.write_text("\n".join(points.read_text().splitlines()[:-1]) + "\n")
        self.assertEqual([ran(), ran()], [1, 0])
        (capture / "masks").mkdir()
        (capture / "masks" / photos[2].name).write_bytes(photos[2].read_bytes())
        self.assertEqual([ran(), ran()], [1, 0])
        self.assertEqual(len(self.lab(0, "list", "--json").json["runs"]), 4)

    def test_the_machine_is_what_it_is(self):
        told = self.expect(0, "info", "--json").json
        names = [line.split(": ", 1)[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        if names:
            self.assertEqual(told["processor"], names[0])
        self.assertEqual(told["host"], os.uname().nodename)
        self.assertRegex(told["commit"], r"^([0-9a-f]{12}(\+changes\.[0-9a-f]{8})?|unknown)$")

    def test_bad_input_says_where_and_what(self):
        self.lab(2, "run", self.suite("stepz = 3\n[scene a]\nviews = 3\n", "bad.suite"), says=["bad.suite:1", "stepz"])
        self.lab(2, "run", "nosuch", says=["nosuch", "smoke"])
        self.lab(2, "run", self.suite("[scene a]\ncapture = nothere\n[scene b]\ncapture = norhere\n"),
                 says=["nothere", "norhere", "--captures"])
        self.lab(2, "run", self.suite("[scene a]\ncapture = nothere\noptional = yes\n"), says="none of its scenes")
        self.lab(2, "run", self.suite(), "--program", "x=/no/such/program", says="/no/such/program")
        self.lab(2, "run", self.suite(), "--program", "x=/bin/true", says="does not answer like gausscope")
        self.lab(2, "run", self.suite(), "--program", "nothing", says="NAME=PATH")
        self.expect(2, "lab", "list", "--database", self.folder / "none.db", says="lab run")
        (self.folder / "text.db").write_text("this is no database, whatever its name says")
        self.expect(2, "lab", "list", "--database", self.folder / "text.db", says="text.db")
        self.expect(2, "lab", says="subcommand")

    def test_time_to_quality(self):
        suite = self.suite("eval_every = 20\nsteps = 200\nseeds = 1, 2, 3\n[scene toys]\nscenery = toys\nviews = 9\nwidth = 48\n"
                           "height = 36\npoints = 300\ntarget_db = 10\n")
        self.lab(0, "run", suite)
        logs = list((self.folder / "lab.db.runs" / "runs").glob("*/benchmark.jsonl"))
        self.assertEqual(len(logs), 3)
        told = self.told(0, "check-log", *logs, "--suite", suite, "--json", out=["median of 3 seeds", "photos were not compared"]).json
        self.assertGreater(told["results"][0]["seconds"], 0)
        # With the hashes of these photos in the suite, other photos, masks and splits are refused.
        hashes = "".join(f"{key}_hash = {told['logs'][0][key + '_hash']}\n" for key in ("photos", "points", "cameras"))
        suite.write_text(suite.read_text() + hashes)
        self.assertNotIn("not compared", self.told(0, "check-log", *logs, "--suite", suite, out="median of 3 seeds").out)
        (sample,) = (self.folder / "lab.db.runs" / "captures").iterdir()
        masks = self.folder / "masks"
        masks.mkdir()
        for photo in (sample / "images").iterdir():
            masks.joinpath(photo.name).write_bytes(photo.read_bytes())
        other = self.folder / "other"
        self.expect(0, "sample", other, "--scenery", "village", "--views", 9, "--width", 48, "--height", 36, "--points", 300)
        for i, (capture, words, says) in enumerate((
                (other, [], "its photos differ from those of toys"),
                (sample, ["--masks", masks], "photos are masked"),
                (sample, ["--background", "white"], "its photos differ from those of toys"),
                (sample, ["--test-views", "view_001.png,view_002.png"], "not every eighth"))):
            out = self.folder / f"cheat{i}"
            self.expect(0, "train", capture, "-o", out, "--steps", 20, "--eval-every", 20, "--until-psnr", 10, *words)
            self.told(3, "check-log", out / "benchmark.jsonl", "--suite", suite, out=["refused", says])
        out = self.folder / "random"  # fewer facts than the capture's points
        self.expect(0, "train", sample, "-o", out, "--init", "random:300", "--steps", 20, "--eval-every", 20, "--until-psnr", 10)
        self.told(0, "check-log", out / "benchmark.jsonl", "--suite", suite)
        log = logs[0].read_text()
        logs[0].write_text(log.replace('"seed":', '"seed":1', 1))
        self.told(3, "check-log", logs[0], "--suite", suite, out=["refused", "the log was changed"])
        logs[0].write_text(log)
        lines = logs[0].read_text().splitlines()
        logs[0].write_text("\n".join(line for line in lines if json.loads(line)["event"] != "loaded") + "\n")
        self.told(3, "check-log", *logs, "--suite", suite, out=["refused", "jsonl:2", "no result yet"])
        self.told(3, "check-log", logs[1], out="no scene of time_to_quality")
        self.expect(2, "lab", "check-log", self.folder / "none.jsonl", says="none.jsonl")
        self.expect(2, "train", self.capture, "-o", self.folder / "o", "--until-psnr", "20", says="--eval-every")

    def test_the_built_in_suite_knows_its_photos(self):
        capture = self.folder / "toys"
        self.expect(0, "sample", capture, "--scenery", "toys", "--views", 40, "--width", 320, "--height", 240, "--points", 6000)
        words = ["--steps", 1, "--eval-every", 1, "--until-psnr", 30]
        self.expect(0, "train", capture, "-o", self.folder / "out", *words)
        self.told(0, "check-log", self.folder / "out" / "benchmark.jsonl", out="no result yet: seed 42 missed")
        photo = capture / "images" / "view_017.png"  # one of the 40 in another's place
        photo.write_bytes((capture / "images" / "view_016.png").read_bytes())
        self.expect(0, "train", capture, "-o", self.folder / "other", *words)
        self.told(3, "check-log", self.folder / "other" / "benchmark.jsonl", out=["refused", "its photos differ from those of toys"])

    def test_each_scenery_has_the_bits_that_the_suite_was_made_of(self):
        """Where one of these changes, make the hashes of assets/suites/time_to_quality.suite again."""
        known = {"toys": "181b06c823ccc7f1", "diorama": "502415847a24360d", "village": "3db1b7828c8e1aab"}
        for scenery, photos in known.items():
            capture, out = self.folder / scenery, self.folder / f"{scenery} trained"
            self.expect(0, "sample", capture, "--scenery", scenery, "--views", 12, "--width", 120, "--height", 90, "--points", 500)
            self.expect(0, "train", capture, "-o", out, "--steps", 1, "--eval-every", 1, "--until-psnr", 99)
            log = (out / "benchmark.jsonl").read_text().splitlines()
            self.assertEqual(json.loads(log[0])["photos_hash"], photos, scenery)


class Desk(Case):
    """The lab in the studio, by the commands that its panel gives."""

    def script(self, code, lines, says=()):
        file = self.folder / "script.txt"
        file.write_text("\n".join([*lines, "quit", ""]))
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return self.expect(code, "view", "--headless", "--script", file, "--width", 1200, "--height", 800, says=says, env=config,
                           cwd=self.folder)

    def test_a_suite_from_start_to_its_worst_photo(self):
        (self.folder / "tiny.suite").write_text(SUITE)
        self.script(0, [
            "lab.run tiny.suite one", "wait-idle",
            "lab.compare plain bold", "lab.report lab.html", "wait-idle",
            "lab.show 1", "wait-loaded", "lab.photo 1", "wait-frame", "lab.beside 2", "wait-idle",
            "panel Lab", "screenshot.window lab.png"], says=["4 run now", "lab.html"])
        runs = self.expect(0, "lab", "list", "--database", self.folder / "lab.db", "--json").json["runs"]
        self.assertEqual([run["label"] for run in runs], ["one"] * 4)
        self.assertIn("bold against plain", (self.folder / "lab.html").read_text())
        self.assertTrue((self.folder / "lab.png").exists())

    def test_what_cannot_be_done_is_said(self):
        for line, says in (("lab.open nothing.db", "nothing.db"), ("lab.run nobody", "nobody"), ("lab.show 7", "run 7 is not in"),
                           ("lab.compare a b", "lab.db"), ("lab.report lab.html", "lab.db")):
            self.script(1, [line, "wait-idle"], says=says)


class Regression(Case):
    """Trains a small suite and holds it against what was stored, by the lab's own statistics: a gate fails only where the 95 % interval over scenes
    and seeds excludes its limit. GAUSSCOPE_STORE_LAB=1 stores what is measured now."""

    STORED = pathlib.Path(__file__).parent / "lab" / "regression.csv"
    SUITE = pathlib.Path(__file__).parent / "lab" / "regression.suite"

    def test_quality_is_what_it_was(self):
        database = self.folder / "lab.db"
        words = ["--database", database]
        self.expect(0, "lab", "run", self.SUITE, "--label", "now", *words)
        if os.environ.get("GAUSSCOPE_STORE_LAB"):
            self.store(database)
        self.put_stored(database)
        result = self.expect(0, "lab", "compare", "stored", "now", *words, "--json")
        self.assertEqual(result.json["pairs"], 6, result.out)
        for gate in result.json["gates"]:
            self.assertNotEqual(gate["state"], "FAILS", result.out)
        # And it would see a loss: the same runs, 3 dB better before.
        with sqlite3.connect(database) as open_database:
            open_database.execute("UPDATE lab_photo SET psnr = psnr + 3 WHERE run IN (SELECT id FROM lab_run WHERE label = 'stored')")
        self.expect(3, "lab", "compare", "stored", "now", *words)

    def store(self, database):
        with sqlite3.connect(database) as open_database:
            rows = open_database.execute("SELECT r.scene, r.seed, p.name, p.psnr, p.ssim, v.value FROM lab_run r JOIN lab_photo p ON p.run = r.id "
                                         "JOIN lab_value v ON v.run = r.id AND v.metric = 'Gaussians' ORDER BY 1, 2, 3").fetchall()
        with self.STORED.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["scene", "seed", "photo", "psnr", "ssim", "gaussians"])
            writer.writerows([s, seed, photo, f"{psnr:.4f}", f"{ssim:.5f}", int(count)] for s, seed, photo, psnr, ssim, count in rows)

    def put_stored(self, database):
        """The stored runs, as if this database had recorded them."""
        with self.STORED.open() as file, sqlite3.connect(database) as open_database:
            run = {}
            for row in csv.DictReader(file):
                key = (row["scene"], row["seed"])
                if key not in run:
                    cursor = open_database.execute(
                        "INSERT INTO lab_run SELECT NULL, 'stored ' || key, 'stored', revision, suite, scene, settings, backend, seed, how, failed, "
                        "error, 0, 0, host, processor, folder, capture, options FROM lab_run WHERE scene = ? AND seed = ? AND label = 'now'", key)
                    run[key] = cursor.lastrowid
                    open_database.execute("INSERT INTO lab_value VALUES(?, 'Gaussians', '', ?)", (run[key], float(row["gaussians"])))
                open_database.execute("INSERT INTO lab_photo VALUES(?, ?, ?, ?, NULL)", (run[key], row["photo"], float(row["psnr"]), float(row["ssim"])))


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
