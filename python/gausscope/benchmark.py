"""The field's benchmarks under one protocol (docs/benchmark.md):

    python -m gausscope.benchmark data/360_v2 data/tandt data/nerf_synthetic -o results

Every scene below the folders is trained with every trainer and seed, one process a run, and scored by one program. The same
command resumes; results.md and results.json have the command and the folder of every number."""
from __future__ import annotations

import argparse
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import threading
import time
from typing import NamedTuple, Optional

from ._lib import Error
from .program import call, program_path

_SETS = {
    "Mip-NeRF360": "bicycle bonsai counter flowers garden kitchen room stump treehill",
    "Tanks & Temples": "train truck",
    "Deep Blending": "drjohnson playroom",
    "NeRF-synthetic": "chair drums ficus hotdog lego materials mic ship",
}
_INDOOR = ("bonsai", "counter", "kitchen", "room")
#: Our training; a peer's command has the same names in braces (docs/benchmark.md).
OURS = "{program} train {capture} -o {out} --overwrite --steps {steps} --seed {seed} {loading}"
_PROFILES = ("tight", "gsplat", "inria")  # of the rules that draw a trainer's Gaussians


class Scene(NamedTuple):
    name: str
    set: str
    data: pathlib.Path  #: the folder on disk
    factor: int         #: photos are those of images_N
    white: bool         #: RGBA over white, and the capture's own test photos

    @property
    def loading(self) -> dict:
        """Options of every command that reads it."""
        if self.white:
            return {"downscale": 1, "background": "1,1,1"}
        return {"downscale": 1, "test_every": 8, "max_side": 1600}


def scenes_in(folder: pathlib.Path) -> list[Scene]:
    """The scenes in a folder, or the one that it is."""
    if not folder.is_dir():
        raise Error(f"{folder} is not a folder", "not_found", str(folder))
    for one in ([folder], sorted(path for path in folder.iterdir() if path.is_dir())):
        found = [_scene(path.resolve()) for path in one
                 if (path / "sparse").is_dir() or (path / "transforms_train.json").is_file()]
        if found:
            return found
    raise Error(f"{folder} has no scene: neither sparse/ nor transforms_train.json, in it or one level below", "usage", str(folder))


def _scene(data: pathlib.Path) -> Scene:
    known = next((name for name, scenes in _SETS.items() if data.name in scenes.split()), data.parent.name)
    factor = 1 if known != "Mip-NeRF360" else 2 if data.name in _INDOOR else 4
    if factor > 1 and not (data / f"images_{factor}").is_dir():
        raise Error(f"{data} has no images_{factor}, which the field's numbers are of", "usage", str(data))
    return Scene(data.name, known, data, factor, (data / "transforms_train.json").is_file())


def capture_of(scene: Scene, folder: pathlib.Path) -> pathlib.Path:
    """The scene as all programs that take a plain capture read it: of Mip-NeRF360 a folder of links to its shrunken photos."""
    if scene.factor == 1:
        return scene.data
    made = folder / "captures" / scene.name
    made.mkdir(parents=True, exist_ok=True)
    for name in ("sparse", f"images_{scene.factor}"):
        if not (made / name).is_symlink():
            (made / name).symlink_to(scene.data / name)
    return made


class _Gpu(threading.Thread):
    """Energy and the most memory in use of the first GPU while it lives; None where NVML has no answer."""

    def __init__(self):
        super().__init__(daemon=True)
        self.done, self.most, self.nvml, self.device = threading.Event(), None, None, ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)) == 0:
                self.nvml = nvml
        except (OSError, AttributeError):
            pass
        self.begin = self._millijoules()
        self.start()

    def _millijoules(self) -> Optional[int]:
        value = ctypes.c_ulonglong()
        known = self.nvml is not None and self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(value)) == 0
        return value.value if known else None

    def run(self):
        memory = (ctypes.c_ulonglong * 3)()  # total, free, used
        while self.nvml is not None and not self.done.wait(0.1):
            if self.nvml.nvmlDeviceGetMemoryInfo(self.device, memory) == 0:
                self.most = max(self.most or 0, memory[2])

    def stop(self) -> dict:
        self.done.set()
        self.join()
        end = self._millijoules()
        return {"gpu_peak_bytes": self.most, "joules": None if None in (self.begin, end) else (end - self.begin) / 1000}


def timed(command: list[str], log: pathlib.Path) -> dict:
    """Runs it to its end: seconds from the process's start to the last splats that it saved (`saved_at` still is a time),
    its peak memory, the GPU's. Raises Error with the log where it fails."""
    gpu, begin, clock = _Gpu(), time.time(), time.perf_counter()
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            measured = gpu.stop()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if code:
        raise Error(f"{shlex.join(command)} ended with {code}: see {log}", "failed", str(log))
    return {"begin": begin, "process_seconds": time.perf_counter() - clock, "peak_bytes": usage.ru_maxrss * 1024, **measured}


def splats_of(folder: pathlib.Path) -> pathlib.Path:
    """The newest splats that a run left, wherever its trainer puts them."""
    for path in sorted(folder.rglob("*.ply"), key=lambda path: (path.stat().st_mtime_ns, len(path.parts)), reverse=True):
        with open(path, "rb") as file:
            if b"f_dc_0" in file.read(4096):
                return path
    raise Error(f"{folder} has no splats", "failed", str(folder))


def sha256_of(file: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def score(splats: pathlib.Path, scene: Scene, capture: pathlib.Path, rules: str, profile: str, lpips=None) -> dict:
    """PSNR and SSIM over the held-out photos, and LPIPS where its network is given."""
    options = dict(scene.loading, profile=profile, progress=False)
    out = call("eval", splats, capture, as_=rules, **options)
    values = {"psnr": out["test"]["psnr"], "ssim": out["test"]["ssim"], "gaussians": out["gaussians"],
              "held_out": [image["name"] for image in out["test"]["images"]]}
    if lpips is not None:
        values["lpips"] = lpips.mean(splats, scene, capture, options, rules)
    return values


class Lpips:
    """Learned perceptual differences (Zhang et al. 2018) by the weights in a file: the state_dict of LPIPS("vgg") or
    LPIPS("alex") of the package lpips, saved with torch.save. Needs PyTorch."""

    def __init__(self, weights: pathlib.Path):
        import torch
        self.weights = {name: value.float() for name, value in
                        torch.load(weights, map_location="cpu", weights_only=True).items()}
        convolutions = [name[:-7] for name in self.weights if name.startswith("net.") and name.endswith(".weight")]
        self.layers = sorted(convolutions, key=lambda name: int(name.split(".")[2]))
        if len(self.layers) not in (5, 13) or any(f"lin{i}.model.1.weight" not in self.weights for i in range(5)):
            raise Error(f"{weights} is not the state_dict of lpips.LPIPS of vgg or alex", "malformed", str(weights))
        self.network = "alex" if len(self.layers) == 5 else "vgg"

    def features(self, picture):
        """Of [1, 3, H, W]: five maps, each of unit length over its channels."""
        import torch
        from torch.nn import functional as F
        x = (picture - torch.tensor([-0.030, -0.088, -0.188])[:, None, None]) / torch.tensor([0.458, 0.448, 0.450])[:, None, None]
        out, at = [], "slice1"
        for name in self.layers:
            block = name.split(".")[1]
            if block != at:
                out.append(x)
                if self.network == "vgg" or block in ("slice2", "slice3"):
                    x = F.max_pool2d(x, 2, 2) if self.network == "vgg" else F.max_pool2d(x, 3, 2)
                at = block
            kernel = self.weights[f"{name}.weight"]
            first = self.network == "alex" and kernel.shape[-1] == 11
            x = F.relu(F.conv2d(x, kernel, self.weights[f"{name}.bias"], stride=4 if first else 1,
                                padding=2 if first else kernel.shape[-1] // 2))
        return [f / (f.square().sum(1, keepdim=True).sqrt() + 1e-10) for f in (*out, x)]

    def __call__(self, a, b) -> float:
        """Of pictures [H, W, 3] from 0 to 1. They go into the network as they are, as INRIA's metrics.py has it."""
        import torch
        with torch.no_grad():
            both = [self.features(torch.as_tensor(p, dtype=torch.float32).permute(2, 0, 1)[None]) for p in (a, b)]
            parts = [(self.weights[f"lin{i}.model.1.weight"] * (f - g).square()).sum(1).mean()
                     for i, (f, g) in enumerate(zip(*both))]
        return float(sum(parts))

    def mean(self, splats, scene: Scene, capture, options: dict, rules: str) -> float:
        import numpy as np

        from .capture import Capture
        names = {"downscale", "test_every", "max_side"}
        views = Capture(capture, **{k: v for k, v in options.items() if k in names}).test
        drawn = splats.parent / "drawn"
        call("render", splats, capture=capture, test_only=True, output=drawn, format="npy", maps="color", **options)
        values = []
        for file, view in zip(sorted(drawn.glob("*.npy")), sorted(views, key=lambda view: view.name)):
            picture = np.clip(np.load(file), 0, 1)
            picture = np.floor(picture * 255 + 0.5) / 255 if rules == "inria" else picture
            values.append(self(picture if picture.shape[-1] == 3 else picture.transpose(1, 2, 0), view.photo() / 255))
        shutil.rmtree(drawn)
        return statistics.fmean(values)


def run(job: pathlib.Path, command: str, profile: str, scene: Scene, seed: int, a, lpips) -> dict:
    """One training in its own folder, read from there where it was done before by the same command."""
    capture = capture_of(scene, a.output)
    loading = shlex.join(f"--{name.replace('_', '-')}={value}" for name, value in scene.loading.items())
    words = shlex.split(command.format(
        program=program_path(), capture=shlex.quote(str(capture)), data=shlex.quote(str(scene.data)), out=shlex.quote(str(job / "out")),
        steps=a.steps, seed=seed, factor=scene.factor, images="images" if scene.factor == 1 else f"images_{scene.factor}",
        loading=loading))
    done = job / "result.json"
    out = json.loads(done.read_text()) if done.is_file() else {}
    if out.get("command") != shlex.join(words):
        shutil.rmtree(job, ignore_errors=True)  # half a run has no time
        (job / "out").mkdir(parents=True)
        print(f"{scene.name}, seed {seed}: {shlex.join(words)}", file=sys.stderr, flush=True)
        out = timed(words, job / "log.txt")
        out["splats"] = str(splats_of(job / "out"))
        out["seconds"] = os.path.getmtime(out["splats"]) - out.pop("begin")
    elif out["as"] == a.rules and (lpips is None or "lpips" in out):
        return out
    splats = pathlib.Path(out["splats"])
    out.update(score(splats, scene, capture, a.rules, profile, lpips), profile=profile,
               sha256=sha256_of(splats), command=shlex.join(words), folder=str(job),
               scene=scene.name, set=scene.set, seed=seed, machine=platform.node(), **{"as": a.rules})
    done.write_text(json.dumps(out, indent=1))
    return out


#: column: (title, from a value to text); energy and LPIPS are empty where they were not measured
_COLUMNS = {"psnr": ("PSNR dB", "{:.2f}"), "ssim": ("SSIM", "{:.4f}"), "lpips": ("LPIPS", "{:.4f}"), "gaussians": ("Gaussians", "{:,.0f}"),
            "seconds": ("seconds", "{:,.1f}"), "peak_bytes": ("memory MiB", "{:,.0f}"), "gpu_peak_bytes": ("GPU MiB", "{:,.0f}"),
            "joules": ("energy J", "{:,.0f}")}


def table(runs: list[dict]) -> list[dict]:
    """A row per scene and trainer: means of scores, medians of the rest over the seeds; then means over each set."""
    def row(of: list[dict], scene: str) -> dict:
        out = {"set": of[0]["set"], "scene": scene, "trainer": of[0]["trainer"], "runs": len(of)}
        for key in _COLUMNS:
            values = [one[key] for one in of if one.get(key) is not None]
            middle = statistics.fmean if scene == "mean" or key in ("psnr", "ssim", "lpips") else statistics.median
            out[key] = middle(values) if len(values) == len(of) else None
        return out

    scenes, sets = collections.defaultdict(list), collections.defaultdict(list)
    for one in runs:
        scenes[one["set"], one["trainer"], one["scene"]].append(one)
    rows = [row(of, scene) for (_, _, scene), of in sorted(scenes.items())]
    for one in rows:
        sets[one["set"], one["trainer"]].append(one)
    return [line for of in sets.values() for line in [*of, *([row(of, "mean")] if len(of) > 1 else [])]]


def write(folder: pathlib.Path, runs: list[dict], a) -> str:
    rows = table(runs)
    titles = ["set", "scene", "trainer", "runs", *(title for title, _ in _COLUMNS.values())]
    lines = [f"Scores by the rules of {a.rules}; {a.steps} steps; {platform.node()}.", "",
             "| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    for one in rows:
        cells = [str(one[name]) for name in titles[:4]]
        for key, (_, form) in _COLUMNS.items():
            value = one[key] if one[key] is None or not key.endswith("bytes") else one[key] / 2**20
            cells.append("" if value is None else form.format(value))
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Every run, its folder and its command:", "",
              *(f"- {one['scene']}, {one['trainer']}, seed {one['seed']}: `{one['folder']}`, `{one['command']}`" for one in runs)]
    text = "\n".join(lines) + "\n"
    (folder / "results.md").write_text(text)
    (folder / "results.json").write_text(json.dumps({"as": a.rules, "steps": a.steps, "rows": rows, "runs": runs}, indent=1))
    return text


def check(file: pathlib.Path) -> list[str]:
    """What of a results.json breaks the rules; nothing where it holds."""
    content, wrong = json.loads(file.read_text()), []
    seeds = collections.defaultdict(set)
    for one in content["runs"]:
        what = f"{one['scene']}, {one['trainer']}, seed {one['seed']}"
        seeds[one["scene"], one["trainer"]].add(one["seed"])
        splats = pathlib.Path(one["splats"])
        if not splats.is_file() or sha256_of(splats) != one["sha256"]:
            wrong.append(f"{what}: {splats} is not the file that was scored")
        if one["as"] != content["as"] or one["machine"] != content["runs"][0]["machine"]:
            wrong.append(f"{what}: scored by other rules or run on another machine than the rest")
    wrong += [f"{scene}, {trainer}: {len(of)} seeds, not three" for (scene, trainer), of in seeds.items() if len(of) < 3]
    for scene in {one["scene"] for one in content["runs"]}:
        if len({tuple(one["held_out"]) for one in content["runs"] if one["scene"] == scene}) > 1:
            wrong.append(f"{scene}: the trainers were scored on different photos")
    if table(content["runs"]) != content["rows"]:
        wrong.append("the rows are not those of the runs")
    return wrong


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m gausscope.benchmark", description="The field's benchmarks under one protocol.")
    parser.add_argument("data", nargs="*", type=pathlib.Path, help="folders of scenes, or scenes")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("benchmark"), help="results go here [benchmark]")
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seeds", default="1,2,3", help="comma separated [1,2,3]")
    parser.add_argument("--scenes", default="", help="only these, comma separated")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME[:PROFILE]=COMMAND",
                        help="another trainer: {data}, {capture}, {images}, {factor}, {out}, {steps}, {seed} are replaced")
    parser.add_argument("--options", default="", help="further options of our own training")
    parser.add_argument("--only-peers", action="store_true", help="do not train ours")
    parser.add_argument("--as", dest="rules", default="inria", choices=("gausscope", "inria", "gsplat", "nerfstudio"))
    parser.add_argument("--lpips", type=pathlib.Path, metavar="WEIGHTS", help="state_dict of lpips.LPIPS; needs PyTorch")
    parser.add_argument("--check", type=pathlib.Path, metavar="RESULTS.JSON", help="check results instead")
    a = parser.parse_args(arguments)
    try:
        if a.check:
            wrong = check(a.check)
            print("\n".join(wrong) or f"{a.check}: holds")
            return 3 if wrong else 0
        return _benchmark(a, parser)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if getattr(error, "kind", "") in ("usage", "not_found") else 1


def _benchmark(a, parser) -> int:
    trainers = {} if a.only_peers else {"gausscope": (f"{OURS} {a.options}", "tight")}
    for peer in a.peer:
        name, _, command = peer.partition("=")
        name, _, profile = name.partition(":")
        if not name or not command or (profile or "gsplat") not in _PROFILES:
            parser.error(f"--peer {peer!r}: NAME=COMMAND or NAME:PROFILE=COMMAND, PROFILE one of {', '.join(_PROFILES)}")
        trainers[name] = (command, profile or "gsplat")
    scenes = [scene for folder in a.data for scene in scenes_in(folder)
              if not a.scenes or scene.name in a.scenes.split(",")]
    if not scenes or not trainers:
        parser.error("no scenes" if trainers else "no trainers")
    a.output = a.output.resolve()
    a.output.mkdir(parents=True, exist_ok=True)
    lpips = None if a.lpips is None else Lpips(a.lpips)
    runs, failed = [], 0
    for turn, seed in enumerate(map(int, a.seeds.split(","))):
        for scene in scenes:
            for name, (command, profile) in list(trainers.items())[::1 if turn % 2 == 0 else -1]:
                job = a.output / "runs" / scene.name / name / f"seed-{seed}"
                try:
                    runs.append({"trainer": name, **run(job, command, profile, scene, seed, a, lpips)})
                except Error as error:
                    if error.kind != "failed":
                        raise
                    failed += 1
                    print(f"failed: {error}", file=sys.stderr)
    runs.sort(key=lambda one: (one["set"], one["scene"], one["trainer"], one["seed"]))
    if runs:
        print(write(a.output, runs, a))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
