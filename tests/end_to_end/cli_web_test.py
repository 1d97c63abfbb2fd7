"""Scenes for the web: sets of levels, and a page that draws the scene in a browser."""
import base64
import functools
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import zlib

from cli_support import PATIENCE_S, Case, wait_until
from splat_transform_test import find_tool

WIDTH, HEIGHT = 320, 240


def leaves(node):
    """Of a set's tree."""
    return [node] if "lods" in node else [leaf for child in node["children"] for leaf in leaves(child)]


class Levels(Case):
    def setUp(self):
        super().setUp()
        self.scene = self.shared / "scene.ply"
        if not self.scene.exists():
            capture, run = self.folder / "many", self.folder / "run"
            self.expect(0, "sample", capture, "--views", 4, "--width", 96, "--height", 72, "--points", 30000)
            self.expect(0, "train", capture, "-o", run, "--steps", 1, "--sh-degree", 0)
            shutil.copy(run / "point_cloud.ply", self.scene)

    def test_a_scene_becomes_levels_that_are_read_again(self):
        meta = self.folder / "new" / "set" / "lod-meta.json"
        out = self.expect(0, "convert", self.scene, meta, "--json").json
        count = out["gaussians"]
        self.assertGreater(count, 20000)
        set_ = json.loads(meta.read_text())
        self.assertEqual((set_["lodLevels"], set_["counts"], set_["count"]), (2, [count, count // 3], count + count // 3))
        self.assertEqual(set_["filenames"], ["0_0/meta.json", "1_0/meta.json"])
        self.assertIs(set_["lodErrors"], True)
        for leaf in leaves(set_["tree"]):
            (finest, coarse) = leaf["errors"]
            self.assertEqual(finest, 0)
            self.assertTrue(0 < coarse < 2, leaf)
        self.assertEqual(out["bytes"], sum(f.stat().st_size for f in meta.parent.rglob("*") if f.is_file()))
        self.assertIn(f"level 0 of 2, {count} Gaussians", self.expect(0, "info", meta.parent).out)
        coarse = self.expect(0, "convert", meta.parent, self.folder / "coarse.ply", "--lod", 1, "--json").json
        self.assertEqual(coarse["gaussians"], count // 3)
        self.expect(2, "convert", meta, self.folder / "none.ply", "--lod", 2, says="1 the coarsest")

    def test_the_second_time_writes_the_same(self):
        meta = self.folder / "set" / "lod-meta.json"
        self.expect(0, "convert", self.scene, meta)
        before = {f: f.read_bytes() for f in meta.parent.rglob("*") if f.is_file()}
        again = self.expect(0, "convert", self.scene, meta)
        self.assertNotIn("stays", again.out)
        self.assertEqual(before, {f: f.read_bytes() for f in meta.parent.rglob("*") if f.is_file()})

    def test_a_large_set_is_made_of_copies_and_drawn_by_budget(self):
        meta, cameras = self.folder / "big" / "lod-meta.json", self.folder / "cameras.json"
        made = self.expect(0, "sample", meta, "--of", self.scene, "--tiles", 3, "--json").json
        all_ = made["gaussians"]
        self.assertEqual((all_ % 9, made["regions"] % 9), (0, 0))
        self.assertGreater(made["regions"], 9)
        self.assertGreater(made["levels"], 1)
        self.expect(2, "sample", meta, "--of", self.scene, says="there already")
        self.expect(2, "sample", meta, says="--of")
        self.expect(2, "sample", self.folder / "huge" / "lod-meta.json", "--of", self.scene, "--tiles", 1000, says="more than can be read")
        self.assertFalse((self.folder / "huge").exists())
        self.expect(2, "sample", self.folder / "capture", "--of", self.scene, says="lod-meta.json")
        lo, hi = (self.expect(0, "info", meta.parent, "--json").json["bounds"][end] for end in ("lo", "hi"))
        corner = [2 * b - a for a, b in zip(lo, hi)]
        cameras.write_text(json.dumps([{"name": name, "width": 64, "height": 48, "fov_y": 60, "position": eye,
                                        "target": [(a + b) / 2 for a, b in zip(lo, hi)], "up": [0, -1, 0]}
                                       for name, eye in (("near", hi), ("far", corner))]))

        def pictures(name, *words, of=("--cameras", cameras)):
            out = self.folder / name
            result = self.expect(0, "render", meta, *of, "-o", out, "--format", "npy", "--maps", "color", "--json", *words)
            return [(out / image["files"]["color"]).read_bytes() for image in result.json["images"]], result.json
        whole, _ = pictures("whole")
        enough, report = pictures("enough", "--lod-budget", all_)
        self.assertEqual(len(whole), 2)
        self.assertEqual(whole, enough, "where the budget is enough, all is finest")
        self.assertEqual({image["gaussians"] for image in report["images"]} | {report["gaussians"]}, {all_})
        orbit = ("--path", "orbit:2", "--width", 64)
        self.assertEqual(pictures("around", of=orbit)[0], pictures("around enough", "--lod-budget", all_, of=orbit)[0])
        less = all_ // 2
        few, report = pictures("few", "--lod-budget", less)
        for image in report["images"]:
            self.assertLessEqual(image["gaussians"], less)
            self.assertGreater(image["gaussians"], made["coarsest"])
        self.assertNotEqual(whole, few)
        self.expect(2, "render", self.scene, "--path", "orbit:1", "-o", self.folder / "x", "--lod-budget", 10, says="no levels of detail")
        self.expect(2, "render", meta, "--lidar", self.folder, "-o", self.folder / "x", "--lod-budget", 10, says="--lidar works only")
        self.expect(0, "render", meta, *orbit, "-o", self.folder / "one", "--lod-budget", 1, says="more than the budget of 1")
        self.expect(2, "sample", meta, "--of", meta.parent, "--force", says="is the scene that is to be repeated")
        empty = self.folder / "empty.json"
        empty.write_text(json.dumps({**json.loads(meta.read_text()), "tree": {}}))
        (meta.parent / "0_0" / "meta.json").unlink()
        self.expect(1, "render", meta, "--path", "orbit:1", "-o", self.folder / "x", "--lod-budget", all_, says="0_0")
        meta.write_text(empty.read_text())
        self.expect(2, "info", meta, says="names no region")

    def test_playcanvas_draws_them(self):
        modules = pathlib.Path(os.environ.get("PLAYCANVAS", "")) / "node_modules/playcanvas/build"
        if not (modules / "playcanvas.mjs").exists():
            self.skipTest("PLAYCANVAS does not name a folder with the npm package playcanvas")
        program = find_chromium()
        if program is None:
            self.skipTest("no Chromium is installed to draw the set with")
        site = self.folder / "site"
        meta = site / "set" / "lod-meta.json"
        self.expect(0, "convert", self.scene, meta)
        (site / "engine").symlink_to(modules)
        (site / "index.html").write_text(ENGINE_PAGE)
        lo, hi = (self.expect(0, "info", meta.parent, "--json").json["bounds"][end] for end in ("lo", "hi"))
        middle = [(a + b) / 2 for a, b in zip(lo, hi)]
        view = {"name": "engine", "width": WIDTH, "height": HEIGHT, "fov_y": 40, "target": middle, "up": [0, -1, 0],
                "position": [m + 1.5 * (b - m) for m, b in zip(middle, hi)]}
        (self.folder / "cameras.json").write_text(json.dumps([view]))
        counts = json.loads(meta.read_text())["counts"]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(program, self.folder / "profile")
        try:
            for level, budget in ((0, 10 * counts[0]), (1, 1)):
                self.expect(0, "render", meta, "--lod-budget", budget, "--cameras", self.folder / "cameras.json", "-o", self.folder / f"ours-{level}")
                ours = colors((self.folder / f"ours-{level}/engine.png").read_bytes())
                self.assertGreater(sum(ours) / len(ours), 2, "there is something to see")
                wanted = json.dumps({**view, "splats": counts[level], "budget": budget})
                browser.open(f"http://127.0.0.1:{server.server_port}/?{level}#{urllib.parse.quote(wanted)}")
                wait_until(f"level {level} in the engine", lambda: browser.value("document.body?.dataset.drawn ?? document.body?.dataset.error"))
                self.assertEqual(browser.value("document.body.dataset.error"), None)
                self.assertGreater(decibels(ours, colors(browser.picture())), 30)
        finally:
            browser.close()
            server.shutdown()
            server.server_close()

    def test_splat_transform_reads_them(self):
        tool, problem = find_tool()
        if tool is None:
            self.skipTest(problem)
        meta, ours, theirs = (self.folder / name for name in ("set/lod-meta.json", "ours.csv", "theirs.csv"))
        self.expect(0, "convert", self.scene, meta)
        for level in (0, 1):
            self.expect(0, "convert", meta, ours, "--lod", level)
            file = meta.parent / f"{level}_0" / "meta.json"
            subprocess.run([*tool, "-w", file, theirs], check=True, capture_output=True)
            self.assertEqual(len(ours.read_text().splitlines()), len(theirs.read_text().splitlines()))
        version = json.loads((pathlib.Path(tool[1]).parents[1] / "package.json").read_text())["version"]
        if version < "3":
            self.skipTest(f"splat-transform {version} selects no level of a set")
        subprocess.run([*tool, "-w", "--select-lod", "1", meta, theirs], check=True, capture_output=True)
        self.assertEqual(len(ours.read_text().splitlines()), len(theirs.read_text().splitlines()))


class Browser:
    """Chromium, spoken to through its pipes 3 and 4 in the DevTools protocol: JSON that ends in a zero byte."""

    def __init__(self, program, folder):
        # Its socket's path may be 107 bytes at most, and a test's own folder can be deep: its sockets get a short one.
        self.sockets = tempfile.TemporaryDirectory(prefix="gs-", dir="/tmp", ignore_cleanup_errors=True)
        self.errors = tempfile.TemporaryFile()
        command_out, self.commands = os.pipe()
        self.answers, answers_in = os.pipe()
        # Through a shell, so that no pipe of the parent's own has to lie at 3 or 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{command_out} 4>&{answers_in}', "sh", program, "--headless=new", "--no-sandbox", "--no-first-run",
             "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(command_out, answers_in), env={**os.environ, "TMPDIR": self.sockets.name}, stdout=subprocess.DEVNULL, stderr=self.errors)
        os.close(command_out)
        os.close(answers_in)
        self.number, self.rest, self.page, self.events = 0, b"", {}, []

    def call(self, method, **parameters):
        self.number += 1
        os.write(self.commands, json.dumps({"id": self.number, "method": method, "params": parameters, **self.page}).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 20)
            if not more:
                self.errors.seek(0)
                raise AssertionError("the browser ended: " + self.errors.read().decode(errors="replace")[-2000:])
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.page = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call("Page.enable")
        self.load("Page.navigate", url=url)

    def load(self, method, **parameters):
        """Loads a document. Before it is loaded, a script runs in the old one, or in one that is being replaced ("Inspected target navigated or closed")."""
        self.events.clear()
        self.call(method, **parameters)
        for wanted in ("Page.frameNavigated", "Page.loadEventFired"):
            while not any(event.get("method") == wanted for event in self.events):
                self.events.append(self.receive())
            while self.events.pop(0).get("method") != wanted:
                pass

    def value(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def drawn(self):
        """The Gaussians that it has sorted and drawn, once there are some and two frames have passed."""
        end = time.monotonic() + PATIENCE_S
        while not self.value("document.body.dataset.drawn"):
            assert time.monotonic() < end, self.value("document.getElementById('text').textContent")
            time.sleep(0.1)
        self.call("Runtime.evaluate", awaitPromise=True,
                  expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return int(self.value("document.body.dataset.drawn"))

    def forget(self):
        """What was drawn: drawn() waits for what comes."""
        self.value("delete document.body.dataset.drawn")

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.errors.close()
        self.sockets.cleanup()


def colors(png):
    """The red, green and blue bytes of a PNG of 8-bit RGB or RGBA."""
    at, packed = 8, b""
    while at < len(png):
        (size,), kind = struct.unpack_from(">I", png, at), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, color = struct.unpack_from(">IIBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    step, raw = {2: 3, 6: 4}[color], zlib.decompress(packed)
    above, out = bytes(width * step), bytearray()
    for y in range(height):
        line = bytearray(raw[y * (width * step + 1):(y + 1) * (width * step + 1)])
        kind, line = line[0], line[1:]
        for i in range(len(line)):
            left, up, corner = (line[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            if kind == 4:
                guess = left + up - corner
                kinds = [(abs(guess - value), order, value) for order, value in enumerate((left, up, corner))]
                add = min(kinds)[2]
            else:
                add = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + add) & 255
        above = line
        out += bytes(line[i] for i in range(len(line)) if i % step < 3)
    return out


def decibels(a, b):
    square = sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / len(a)
    return 10 * math.log10(255 ** 2 / max(square, 1e-9))


# Draws a set with PlayCanvas' engine. Its y points up; the set's, as PLY's, down.
ENGINE_PAGE = """<!doctype html><body style="margin:0;overflow:hidden"><canvas id="canvas"></canvas><script type="module">
import * as pc from './engine/playcanvas.mjs';
const canvas = document.getElementById('canvas'), view = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const options = new pc.AppOptions();
options.graphicsDevice = await pc.createGraphicsDevice(canvas, { deviceTypes: ['webgl2'], antialias: false });
options.componentSystems = [pc.CameraComponentSystem, pc.GSplatComponentSystem];
options.resourceHandlers = [pc.GSplatHandler, pc.TextureHandler];
const app = new pc.AppBase(canvas);
app.init(options);
app.setCanvasFillMode(pc.FILLMODE_FILL_WINDOW);
app.setCanvasResolution(pc.RESOLUTION_AUTO);
app.scene.gsplat.splatBudget = view.budget;
app.start();
const set = new pc.Asset('set', 'gsplat', { url: 'set/lod-meta.json' });
set.on('error', (error) => { document.body.dataset.error = error; });
set.ready(() => {
    const splats = new pc.Entity(), camera = new pc.Entity();
    splats.addComponent('gsplat', { asset: set, unified: true });
    splats.setLocalEulerAngles(180, 0, 0);
    camera.addComponent('camera', { clearColor: new pc.Color(0, 0, 0), fov: view.fov_y, nearClip: 0.01, farClip: 1000 });
    app.root.addChild(splats);
    app.root.addChild(camera);
    const [x, y, z] = view.position, [a, b, c] = view.target;
    camera.setLocalPosition(x, -y, -z);
    camera.lookAt(a, -b, -c);
    let frames = 0;
    app.on('frameend', () => {
        document.body.dataset.splats = app.stats.frame.gsplats;
        if (app.stats.frame.gsplats === view.splats && ++frames > 4) document.body.dataset.drawn = view.splats;
    });
});
app.assets.add(set);
app.assets.load(set);
</script>"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(Case):
    def setUp(self):
        super().setUp()
        run, self.page, self.sog = self.folder / "run", self.folder / "a <script> b.html", self.folder / "same.sog"
        self.expect(0, "train", self.capture, "-o", run, "--steps", 40)
        self.expect(0, "convert", run, self.page)
        self.expect(0, "convert", run, self.sog)

    def scene(self):
        found = re.search(r'<script id="scene" type="application/json">(.*?)</script>', self.page.read_text(), re.S)
        return json.loads(found.group(1))

    def test_holds_the_scene_and_asks_for_nothing_else(self):
        scene = self.scene()
        self.assertEqual(scene["scene"]["title"], "a <script> b")
        named = [name for part in ("means", "scales", "quats", "sh0", "shN") for name in scene["meta"].get(part, {"files": []})["files"]]
        self.assertEqual(sorted(scene["scene"]["images"]), sorted(named))
        self.assertEqual(base64.b64decode(scene["scene"]["images"][named[0]])[8:12], b"WEBP")
        text = self.page.read_text()
        for reference in ("http://", "https://", "src=", "@import"):
            self.assertNotIn(reference, text)
        self.expect(2, "info", self.page)

    def test_draws_what_we_draw(self):
        program = find_chromium()
        if program is None:
            self.skipTest("no Chromium is installed to draw the page with")
        view = self.scene()["scene"]["view"]
        away = [0, math.sin(view["pitch"]), math.cos(view["pitch"])]
        camera = {"name": "page", "width": WIDTH, "height": HEIGHT, "fov_y": math.degrees(view["fov_y"]), "target": view["center"],
                  "position": [c - view["distance"] * a for c, a in zip(view["center"], away)], "up": [0, -1, 0]}
        (self.folder / "cameras.json").write_text(json.dumps([camera]))
        self.expect(0, "render", self.sog, "--cameras", self.folder / "cameras.json", "-o", self.folder / "ours")
        ours = colors((self.folder / "ours/page.png").read_bytes())
        browser = Browser(program, self.folder / "profile")
        try:
            browser.open(self.page.as_uri())
            self.assertEqual(browser.drawn(), self.scene()["meta"]["count"])
            browser.value("text.remove()")
            self.assertGreater(sum(ours) / len(ours), 2, "there is something to see")
            self.assertGreater(decibels(ours, colors(browser.picture())), 42)
            # From another side it is another picture, and R goes back.
            browser.value("location.hash = '#1.5,0.2,3,0,0,0'")
            browser.load("Page.reload")
            browser.drawn()
            browser.value("text.remove()")
            other = colors(browser.picture())
            self.assertLess(decibels(ours, other), 35)
            browser.forget()
            for kind in ("keyDown", "keyUp"):
                browser.call("Input.dispatchKeyEvent", type=kind, key="r", code="KeyR", text="r" if kind == "keyDown" else "")
            browser.drawn()
            self.assertGreater(decibels(ours, colors(browser.picture())), 42)
        finally:
            browser.close()


if __name__ == "__main__":
    unittest.main()
