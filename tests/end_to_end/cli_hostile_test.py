"""Files, requests and disks that mean harm, from outside: nothing ends the process, every refusal says what to do.
Run: cli_hostile_test.py GROUP"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import zipfile

from cli_support import GAUSSCOPE, Case, run

LIBRARY_WORDS = ("json.exception", "std::", "bad_alloc", "disk I/O error", "no such table", "SQLITE", "basic_string")


def write_splats(path, count, scale=-3.0, opacity=2.0, box=2.0):
    """A PLY of Gaussians in a box, all of one size (log) and opacity (logit)."""
    names = ["x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1",
             "rot_2", "rot_3"]
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n"
    head += "".join(f"property float {name}\n" for name in names) + "end_header\n"
    numbers = random.Random(3)
    with open(path, "wb") as file:
        file.write(head.encode())
        for _ in range(count):
            at = [numbers.uniform(-box / 2, box / 2) for _ in range(3)]
            file.write(struct.pack("<14f", *at, 0.2, 0.1, 0.3, opacity, scale, scale, scale, 1, 0, 0, 0))


class Hostile(Case):
    def refused(self, code, *arguments, says=(), **options):
        """As expect(), and no library's words."""
        result = self.expect(code, *arguments, says=says, **options)
        for words in LIBRARY_WORDS:
            self.assertNotIn(words, result.err + result.out)
        return result

    def studio(self, code, script, *arguments, says=(), timeout=300):
        file = self.folder / "script.txt"
        file.write_text(script)
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        result = self.refused(code, "view", *arguments, "--headless", "--script", file, says=says, env=config, timeout=timeout)
        self.assertLess(len(result.err), 60_000, "texts of files are shortened")
        return result


class Text(Hostile):
    """Long words in files do not stop the studio."""
    def opened(self, path):
        self.studio(0, "wait-seconds 1\nquit\n", path)

    def test_a_long_property_of_a_ply(self):
        path = self.folder / "long.ply"
        path.write_text(f"ply\nformat ascii 1.0\nelement vertex 1\nproperty {'Q' * 30_000} x\nend_header\n0\n")
        self.opened(path)
        self.refused(2, "info", path, says="bytes left out")

    def test_a_long_uri_of_a_gltf(self):
        path = self.folder / "long.gltf"
        path.write_text(json.dumps({"asset": {"version": "2.0"}, "extensionsUsed": ["KHR_gaussian_splatting"],
                                    "buffers": [{"byteLength": 9, "uri": "u" * 30_000}]}))
        self.opened(path)

    def test_a_long_camera_model(self):
        (self.folder / "transforms.json").write_text(json.dumps({"camera_model": "M" * 30_000, "frames": [{"file_path": "a.png"}]}))
        self.opened(self.folder)

    def test_a_long_capture_of_a_run(self):
        out, _ = self.trained()
        described = json.loads((out / "run.json").read_text())
        described["capture"] = "/" + "c" * 17_000
        (out / "run.json").write_text(json.dumps(described))
        self.opened(out)
        self.opened(out / "checkpoint.gsc")

    def test_a_long_name_of_a_view(self):
        scene = self.folder / "scene.ply"
        write_splats(scene, 20)
        self.studio(1, f"wait-loaded\nview.save {'N' * 20_000}\nquit\n", scene, says="at most 100 bytes")
        self.studio(0, f"wait-loaded\nview.save {'N' * 100}\nwait-seconds 0.5\nquit\n", scene)


    def test_orders_to_the_terminal(self):
        word = "\x1b[31m" + "Q" * 30_000
        ply, trace, lidar = self.folder / "orders.ply", self.folder / "t.json", self.folder / "lidar"
        ply.write_text(f"ply\nformat ascii 1.0\nelement vertex 1\nproperty {word} x\nend_header\n0\n")
        trace.write_text(json.dumps({"traceEvents": [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": word}},
            {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": word}},
            {"ph": "X", "pid": 1, "tid": 2, "ts": 1, "dur": 5, "name": word},
            {"ph": "B", "pid": 1, "tid": 2, "ts": 9, "name": word}]}))
        lidar.mkdir()
        (lidar / "drive.json").write_text(json.dumps({
            "beam_altitude_angles": [1, 2], "beam_azimuth_angles": [0, 0], "prod_line": word, "lidar_origin_to_beam_origin_mm": 1,
            "lidar_to_sensor_transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
            "data_format": {"pixels_per_column": 2, "columns_per_frame": 4, "columns_per_packet": 1, "udp_profile_lidar": word}}))
        (lidar / "drive.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for code, command, path in ((2, "info", ply), (2, "info", lidar), (0, "trace", trace)):
            said = self.expect(code, command, path)
            self.assertIn("?[31mQQQ", said.out + said.err)
            self.assertNotIn("\x1b", said.out + said.err)
            self.assertLess(len(said.out + said.err), 9000)
        self.assertNotIn("\x1b", self.expect(0, "trace", trace, "--insights").out)


class Depth(Hostile):
    """JSON of any depth is refused by every reader, in a few words."""
    DEEP = "[" * 100_000 + "]" * 100_000

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace('"DEEP"', self.DEEP))
        return path

    def test_splats(self):
        gltf = self.file("deep.gltf", '{"asset": {"version": "2.0"}, "bufferViews": [{"buffer": 0, "extras": "DEEP"}]}')
        sog = self.file("sog/meta.json", '{"version": "DEEP", "means": {}}')
        lods = self.file("lod-meta.json", '{"lodLevels": 1, "tree": "DEEP"}')
        for path in (gltf, sog, lods):
            self.refused(2, "info", path, says="deeper than 128 levels")
            self.refused(2, "convert", path, self.folder / "out.ply", says="deeper than 128 levels")
        self.studio(0, "wait-seconds 1\nquit\n", gltf)
        site = self.file("site/meta.json", '{"title": "of another program"}').parent
        self.refused(2, "info", site, says="not a capture or splat file")

    def test_a_captured_step(self):
        out = self.folder / "run"
        self.expect(0, "train", self.capture, "-o", out, "--steps", 3, "--capture-step", 2)
        for key in ("stages", "version"):
            deep = self.folder / f"{key}.gsstep"
            with zipfile.ZipFile(out / "step-000002.gsstep") as was, zipfile.ZipFile(deep, "w", zipfile.ZIP_DEFLATED) as now:
                for name in was.namelist():
                    data = was.read(name)
                    if name == "manifest.json":
                        manifest = json.loads(data)
                        manifest[key] = "DEEP"
                        data = json.dumps(manifest).replace('"DEEP"', self.DEEP).encode()
                    now.writestr(name, data)
            self.refused(2, "info", deep, says="deeper than 128 levels")
            self.refused(2, "replay", deep, says="deeper than 128 levels")

    def test_settings_cameras_and_bases(self):
        scene = self.folder / "scene.ply"
        write_splats(scene, 20)
        for text in ('{"deep": "DEEP"}', '{"settings": "DEEP"}', '{"cameras": [{"position": "DEEP"}]}'):
            file = self.file("deep.json", text)
            says = "deeper than 128 levels"
            self.refused(2, "train", self.capture, "-o", self.folder / "o", "--config", file, says=says)
            self.refused(2, "render", scene, "-o", self.folder / "p", "--cameras", file, says=says)
            self.refused(2, "bench", scene, "--repeats", 1, "--compare", file)
        file = self.file("comment.json", '{"a": 1, // \r "settings": "DEEP"}')
        self.refused(2, "train", self.capture, "-o", self.folder / "o", "--config", file, says="deeper than 128 levels")

    def test_captures_and_sensors(self):
        for name in ("transforms.json", "reconstruction.json"):
            self.refused(2, "info", self.file(f"{name}.d/{name}", '{"frames": "DEEP", "camera_model": "DEEP"}').parent)
        self.file("ouster/metadata.json", '{"beam_altitude_angles": [1], "data_format": "DEEP", "prod_line": "DEEP"}')
        (self.folder / "ouster" / "drive.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        self.refused(2, "info", self.folder / "ouster")

    def test_numbers_beyond_a_double(self):
        self.refused(2, "info", self.file("wide/transforms.json", '{"frames": [], "w": 0.1e999309}').parent, says="beyond the range")


class Disk(Hostile):
    """A full disk is exit code 1 and leaves nothing; killed exports leave nothing for long."""
    def setUp(self):
        super().setUp()
        self.scene = self.folder / "scene.ply"
        write_splats(self.scene, 20_000)
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(self.disk)], capture_output=True).returncode != 0:
            self.skipTest("no right to mount a small disk here")
        self.addCleanup(subprocess.run, ["umount", str(self.disk)], check=True)

    def full(self, *arguments):
        before = sorted(self.disk.rglob("*"))
        self.refused(1, *arguments, says="No space left on device")
        self.assertEqual(sorted(self.disk.rglob("*")), before)

    def test_exports(self):
        for name in ("x.ply", "x.compressed.ply", "x.spz", "x.sog", "x.glb", "x.splat", "x.csv", "sog/meta.json"):
            self.full("convert", self.scene, self.disk / name)

    def test_cameras(self):
        (self.disk / "fill").write_bytes(b"\0" * 40_000)
        for form in ("colmap", "colmap-text", "transforms"):
            self.full("poses", self.capture, self.disk / "cameras", "--format", form)

    def test_a_full_disk_from_the_start(self):
        with self.assertRaises(OSError), open(self.disk / "fill", "wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        trace = self.folder / "t.json"
        trace.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(99)]}))
        out, _ = self.trained()
        self.full("convert", self.scene, self.disk / "y.ply")
        self.full("trace", trace, "-o", self.disk / "t.pftrace")
        self.full("report", out, "-o", self.disk / "r.html")
        for arguments in (["sample", self.disk / "s"], ["render", out, "--path", "orbit:1", "-o", self.disk / "s"]):
            refused = self.refused(1, *arguments, says="free some space")
            self.assertNotIn("write-test", refused.err)

    def test_databases(self):
        with self.assertRaises(OSError), open(self.disk / "fill", "wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        for room in (0, 16_384):
            os.truncate(self.disk / "fill", (self.disk / "fill").stat().st_size - room)
            self.refused(1, "train", self.capture, "-o", self.folder / f"run{room}", "--steps", 3, "--history", self.disk / "h.db",
                         says="No space left on device")
            self.assertEqual([p.name for p in self.disk.iterdir()], ["fill"])

    def test_layouts(self):
        out, _ = self.trained()
        whole = self.folder / "whole"
        self.expect(0, "convert", out, whole, "--layout", "inria")
        small = sum(-(-file.stat().st_size // 4096) * 4096 for file in whole.glob("*") if file.is_file())
        subprocess.run(["mount", "-o", f"remount,size={small + 8192}", str(self.disk)], check=True)
        self.assertGreater((out / "point_cloud.ply").stat().st_size, 8192, "all but the splats would fit")
        self.full("convert", out, self.disk / "laid", "--layout", "inria")

    def test_videos_and_cameras_of_the_studio(self):
        out, _ = self.trained()
        with self.assertRaises(OSError), open(self.disk / "fill", "wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        if (pathlib.Path(GAUSSCOPE).parent / "lib/libgausscope_video.so").exists():
            self.full("render", out, "--path", "orbit:2", "--video", self.disk / "v.mp4", "--width", 64)
            self.refused(1, "render", out, "--path", "orbit:2", "--video", self.disk / "v.mp4", "--width", 64,
                         says="free some space")
        self.studio(1, f"wait-loaded\nexport.poses colmap {self.disk}/cameras\nquit\n", out, says="No space left on device")
        self.assertEqual([p.name for p in self.disk.iterdir()], ["fill"])

    def test_training_says_why_it_saves_elsewhere(self):
        rescue = self.folder / "rescue"
        rescue.mkdir()
        self.refused(1, "train", self.capture, "-o", self.disk / "run", "--steps", 3, "--layout", "inria",
                     says=["point_cloud.ply: cannot be written: No space left on device; it is in"], env={"TMPDIR": str(rescue)})

    def test_parts_of_killed_exports(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        left, alive = self.folder / f"x.ply.tmp{gone.pid}", self.folder / f"x.ply.tmp{os.getpid()}"
        other = self.folder / f"other.ply.tmp{gone.pid}"
        for path in (left, alive, other):
            path.write_bytes(b"part")
        self.expect(0, "convert", self.scene, self.folder / "x.ply")
        self.assertEqual((left.exists(), alive.exists(), other.exists()), (False, True, True))


class Names(Hostile):
    """Paths keep their bytes."""
    def test_a_run_of_a_capture_whose_name_is_not_utf8(self):
        for name in (b"caf\xe9", b"\xff\xfe 100% \xc3\xa9", "\ufffde9".encode()):
            place = pathlib.Path(os.fsdecode(os.fsencode(self.folder) + b"/" + name))
            shutil.copytree(self.capture, place / "cap")
            out = place / "run"
            self.expect(0, "train", place / "cap", "-o", out, "--steps", 4)
            self.expect(0, "train", "--resume", out, "--steps", 8)
            self.expect(0, "eval", out)
            self.expect(0, "poses", out, place / "cameras")
            self.expect(0, "report", out, "-o", place / "r.html")
            self.studio(0, "wait-loaded\nwait-frame\nquit\n", out)


class Size(Hostile):
    """Frames that cannot be had are refused, with what would fit and options that the command has."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wide = cls.shared / "wide.ply"
        write_splats(cls.wide, 10_000, scale=2.0, opacity=-3.0, box=20.0)

    # Gradients of a panorama of which one row of tiles has more pairs than are listed at once.
    panorama = ["--lens", "equirectangular", "--maps", "backward-time", "--pairs-at-once", 40_000]

    def test_gradients_of_a_row_that_cannot_be_listed(self):
        refused = self.refused(1, "render", self.wide, "-o", self.folder / "p", "--path", "orbit:1", "--width", 512, "--height", 256,
                               *self.panorama, says=["(Gaussian, tile) pairs", "would fit", "--width, --height"])
        options = run("render", "--help").out
        for word in re.findall(r"--[a-z-]+", refused.err.replace("--simplify", "")):
            self.assertIn(word, options, "it has what it advises")

    def test_pictures_before_a_refused_one_are_kept(self):
        cameras, out = self.folder / "cameras.json", self.folder / "p"
        camera = {"position": [0, 0, -40], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
        cameras.write_text(json.dumps([{**camera, "name": str(side), "width": side, "height": side // 2, "fx": side, "fy": side,
                                        "cx": side / 2, "cy": side / 4} for side in (64, 512, 32)]))
        self.refused(1, "render", self.wide, "-o", out, "--cameras", cameras, *self.panorama,
                     says=["picture 2 of 3: ", "would fit", "(whole pictures written: 1)"])
        self.assertEqual(len(list(out.iterdir())), 1)

    def test_pictures_that_no_memory_holds(self):
        cameras = self.folder / "cameras.json"
        camera = {"name": "a", "width": 2_000_000, "height": 2_000_000, "fx": 1e6, "fy": 1e6, "cx": 1e6, "cy": 1e6,
                  "position": [0, 0, -40], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
        for side in (2_000_000, 500_000):
            cameras.write_text(json.dumps([{**camera, "width": side, "height": side}]))
            result = run("render", self.wide, "-o", self.folder / "p", "--cameras", cameras)
            self.assertIn(result.code, (1, 2), result.err)
            self.assertNotIn("internal error", result.err)


class Waits(Hostile):
    """Scripts can wait for traces."""
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "t.json"
        events = [{"ph": "X", "name": f"n{i % 9}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 8} for i in range(200_000)]
        self.trace.write_text(json.dumps({"traceEvents": events}))

    def test_a_trace_is_read_before_the_script_goes_on(self):
        for arguments, script in ((["x"], ""), ([], "trace.open {trace}\n")):
            table = self.folder / "statistics.csv"
            table.unlink(missing_ok=True)
            text = script + "panel Statistics\nwait-idle\nstatistics.save {table}\nquit\n"
            self.studio(0, text.format(trace=self.trace, table=table), *([self.trace] if arguments else []))
            self.assertIn("n3", table.read_text(), arguments)

    def test_waits_know_traces_without_a_scene(self):
        for wait in ("wait-loaded", "wait-frame", "wait-idle"):
            self.studio(0, f"{wait}\nquit\n", self.trace)
        self.trace.write_text('{"traceEvents": 7}')
        self.studio(1, "wait-loaded\nquit\n", self.trace, says=str(self.trace))


class Words(Hostile):
    def test_damaged_checkpoints_are_called_checkpoints(self):
        out, _ = self.trained()
        whole = (out / "checkpoint.gsc").read_bytes()
        for at in (0, 12, 40):
            bad = self.folder / f"bad{at}.gsc"
            bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1:])
            for arguments in (["info", bad], ["convert", bad, self.folder / "x.ply"], ["view", bad, "--headless"]):
                result = self.refused(2, *arguments, says=f"bad{at}.gsc")
                self.assertIn("checkpoint", result.err.replace("bad", ""))
                self.assertNotIn("splat file of a known format", result.err)
                self.assertNotIn("needs its capture", result.err)

    def test_a_video_is_no_folder_of_pictures(self):
        write_splats(self.folder / "scene.ply", 20)
        video = self.folder / "film.mp4"
        self.refused(2, "render", self.folder / "scene.ply", "--path", "orbit:1", "-o", video, says="--video")
        self.assertFalse(video.exists())

    def test_a_folder_that_is_trained_into(self):
        out = self.folder / "run"
        trains = subprocess.Popen([GAUSSCOPE, "train", str(self.capture), "-o", str(out), "--steps", "1000000"], stderr=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL)
        try:
            while not (out / "run.lock").exists() and trains.poll() is None:
                time.sleep(0.01)
            time.sleep(0.5)
            says = f"process {trains.pid} is training into this folder"
            self.refused(2, "info", out, says=says)
            self.refused(2, "train", "--resume", out, says=says)
            self.studio(1, "wait-loaded\nquit\n", out, says=says)
        finally:
            trains.send_signal(signal.SIGKILL)
            trains.wait()

    def test_evaluation_is_announced(self):
        result = self.expect(0, "train", self.capture, "-o", self.folder / "o", "--steps", 2, "--test-every", 2)
        self.assertIn("4 test photos to evaluate at the end", result.err)


if __name__ == "__main__":
    os.environ.setdefault("GAUSSCOPE", "build/gausscope")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
