"""Stages of tools/gpu_check that measure: scenes with predictions beside, counters of kernels, trainings of captures."""
import csv
import math
import pathlib
import re
import struct

from gpu_check_correct import LARGE, capture_of, read, train
from gpu_check_mocks import tool
from gpu_check_run import Stage

MISSED = 0.15  # a prediction further off is looked into
METRICS = ["gpu__time_duration.sum", "smsp__inst_executed.sum", "launch__registers_per_thread",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "dram__bytes_read.sum", "dram__bytes_write.sum"]
KERNELS_OF = {  # by stage: names of kernels, for ncu's -k regex:
    "project": "project", "sort": "compact|radix_pass", "emit": "count|emit", "ranges": "find_ranges|make_items|look_up_slots",
    "blend": "blend|composite", "loss": "photo_loss|finish_loss", "blend backward": "blend_backward",
    "project backward": "project_backward|sum_motion|step_batch"}
SPHERE = 3_000_000


# ---- scenes

def write_sphere(file: pathlib.Path, count: int) -> None:
    """A bumpy sphere of Gaussians of degree 3 as PLY, in the order of a spiral, the same on every machine."""
    names = ["x", "y", "z"] + [f"f_dc_{i}" for i in range(3)] + [f"f_rest_{i}" for i in range(45)] + ["opacity"] + \
            [f"scale_{i}" for i in range(3)] + [f"rot_{i}" for i in range(4)]
    head = "ply\nformat binary_little_endian 1.0\n" + f"element vertex {count}\n" + \
           "".join(f"property float {n}\n" for n in names) + "end_header\n"
    golden = math.pi * (3 - math.sqrt(5))
    scale = math.log(1.6 / math.sqrt(count))
    rest = struct.pack("<45f", *([0.01] * 45))
    with file.open("wb") as out:
        out.write(head.encode())
        rows = bytearray()
        for i in range(count):
            z, turn = 1 - 2 * (i + 0.5) / count, golden * i
            ring = math.sqrt(1 - z * z)
            radius = 1 + 0.05 * math.sin(9 * turn / golden * 0.001) * math.cos(7 * z)
            rows += struct.pack("<6f", radius * ring * math.cos(turn), radius * z, radius * ring * math.sin(turn),
                                math.sin(20 * z), math.cos(13 * z), z) + rest + \
                struct.pack("<8f", 1.5, scale, scale, scale - 1, 1, 0, 0, 0)
            if len(rows) > 1 << 22:
                out.write(rows)
                rows.clear()
        out.write(rows)


def random_scene(stage: Stage) -> list[object]:
    """What bench times when no scene is named: 100,000 random Gaussians. In a rehearsal 500."""
    if not stage.small:
        return []
    file = stage.folder / "few.ply"
    write_sphere(file, 500)
    return [file, "--width", 64, "--no-ceilings"]


def bench(stage: Stage) -> None:
    told = stage.gausscope("random_100k", "bench", *random_scene(stage), "--repeats", 4 if stage.small else 100, "--predict",
                           "--json", limit=90)
    stage.data["random_100k"] = told.json()
    sphere = stage.folder / "sphere.ply"
    write_sphere(sphere, 500 if stage.small else SPHERE)
    size = ["--repeats", 4, "--width", 64] if stage.small else ["--repeats", 60, "--width", 1920]
    size.append("--no-ceilings")
    told = stage.gausscope("sphere", "bench", sphere, *size, "--predict", "--json", limit=150)
    stage.data["sphere"] = told.json()
    told = stage.gausscope("sphere_display", "bench", sphere, *size, "--display", "--predict", "--json", limit=90)
    stage.data["sphere_display"] = told.json()
    sphere.unlink()
    if stage.small:  # 200 steps come before the first that is timed
        return
    told = stage.gausscope("training", "bench", "--capture", capture_of(stage), "--repeats", 300, "--no-ceilings",
                           "--batch", "1,2,4", "--predict", "--json", limit=120)
    stage.data["training"] = told.json()


# ---- what was measured and predicted, by scene and stage

def measured_scenes(out: pathlib.Path) -> list[dict]:
    """Rows of the selftest's report and of the benches: id, what, work, width, height, counters, stages [name, ms, predicted]."""
    rows = []
    report = read(out / "selftest.json").get("data", {}).get("report", {})
    for scene in report.get("scenes", []):
        for work in ("frame", "step"):
            stages = [(s["name"], s["ms"], (s["predicted"] or {}).get("p50")) for s in (scene.get(work) or {}).get("stages", [])]
            rows.append({"id": f"{scene.get('name', 'scene')}-{work}", "work": work, "width": scene["width"], "height": scene["height"],
                         "what": f"{scene['gaussians']:,} random Gaussians, {scene['width']} x {scene['height']}",
                         "counters": scene.get("counters") or {}, "stages": stages,
                         "all": (scene.get(work) or {}).get("ms"),
                         "predicted": ((scene.get(work) or {}).get("predicted") or {}).get("p50")})
    data = read(out / "bench.json").get("data", {})
    for name, where, work in (("random_100k", "random Gaussians", "stored"), ("sphere", "Gaussians on a sphere", "stored"),
                              ("sphere_display", "Gaussians on a sphere", "display"), ("training", "Gaussians in training", "train")):
        told = data.get(name) or {}
        predicted = {s["name"]: s for s in (told.get("predicted") or {}).get("stages", [])}
        stages = [(s["name"].removesuffix(" (GPU)"), s["ms_p50"],
                   predicted.get(s["name"].removesuffix(" (GPU)"), {}).get("predicted_ms", {}).get("p50"))
                  for s in told.get("stages", []) if s["name"].endswith(" (GPU)")]
        if told:
            counters = {**told.get("counters", {}), "warps": told.get("warps") or {}}
            rows.append({"id": name.replace("_", "-"), "work": work,
                         "what": f"{told['counters']['gaussians']:,} {where}, {told['width']} x {told['height']}",
                         "width": told["width"], "height": told["height"], "counters": counters, "stages": stages,
                         "all": None, "predicted": None})
    return rows


def missed_stages(out: pathlib.Path) -> dict[str, float]:
    """Stage -> the worst relative error of its predictions, of those that miss."""
    worst: dict[str, float] = {}
    for scene in measured_scenes(out):
        for name, ms, predicted in scene["stages"]:
            if ms and predicted and abs(predicted / ms - 1) > MISSED:
                worst[name] = max(worst.get(name, 0.0), predicted / ms - 1, key=abs)
    return worst


# ---- counters

def counters(stage: Stage) -> None:
    """What the kernels of missed predictions execute and move, by Nsight Compute."""
    ncu = tool(stage, "ncu")
    missed = missed_stages(stage.options.out)
    stage.data["missed"] = missed
    if ncu is None:
        stage.note("ncu is not here: it comes with Nsight Compute")
        return
    if not missed and not stage.small:
        stage.note(f"no prediction misses by over {MISSED:.0%}, or nothing was measured: run selftest and bench first")
    wanted = "|".join(KERNELS_OF[s] for s in missed if s in KERNELS_OF) or "radix_pass|emit"
    jobs = {"frame": ["bench", *(random_scene(stage) or ["--width", 1920, "--no-ceilings"]), "--repeats", 3],
            "training": ["train", capture_of(stage), "-o", stage.folder / "run", "--overwrite", "--eval-every", 0,
                         "--steps", 4 if stage.small else 60, "--refine-poses", "--appearance", "ppisp", "--batch", "2"]}
    for name, words in jobs.items():
        done = stage.gausscope(name, *words, limit=180, under=(
            str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(METRICS),
            "-k", f"regex:{wanted}", "-c", "60"))
        stage.data[name] = kernels_of_ncu(done.text)
        if done.passed and not stage.data[name]:
            stage.note(f"{name}: ncu left no table; see its log (counters may be refused to this user)")


def kernels_of_ncu(text: str) -> list[dict]:
    """Of `ncu --csv --page raw`: by kernel how often, and the median of each metric."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        return []
    found: dict[str, list[dict]] = {}
    for row in csv.DictReader(line for line in lines[first:] if line.startswith('"')):
        if row.get("ID"):
            name = re.sub(r"\(anonymous namespace\)::|gs::(cuda::)?|^void ", "", row["Kernel Name"]).split("(")[0]
            found.setdefault(name, []).append(row)
    def middle(rows: list[dict], metric: str) -> float | None:
        values = sorted(v for v in (as_number(r.get(metric)) for r in rows) if v is not None)
        return values[len(values) // 2] if values else None
    return [{"kernel": k, "launches": len(rows), **{m: middle(rows, m) for m in METRICS}} for k, rows in sorted(found.items())]


def as_number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


# ---- trainings

def trainings(stage: Stage) -> None:
    """Each carried capture, and the sample where none was."""
    data = stage.options.data
    captures = sorted(p for p in data.glob("captures/*") if p.is_dir()) if data and not stage.small else []
    rows = stage.data["runs"] = []
    for capture in captures or [capture_of(stage)]:
        for steps in ([6] if stage.small else [7000, 30000] if capture.name == "fox" else [7000]):
            folder = stage.folder / f"{capture.name}_{steps}"
            done = stage.gausscope(f"{capture.name}_{steps}", "train", capture, "-o", folder, "--overwrite", "--steps", steps,
                                   "--json", limit=200)
            told = done.json()
            if told:
                rows.append({"capture": capture.name, "steps": steps, "gaussians": told.get("gaussians"),
                             "seconds": told.get("seconds"), "psnr": (told.get("test") or {}).get("psnr")})
            stage.save()


def viewer(stage: Stage) -> None:
    """Frames for the screen, recorded as graphs and replayed, byte for byte those of forward()."""
    only = ["--only", "viewer: twelve"] if stage.small else ["--only", "viewer: ", "--only", LARGE + "400 frames"]
    for i in range(1 if stage.small else 5):
        told = stage.gausscope(f"frames_{i}", "selftest", "--cases", *only, "--json", limit=60)
        stage.data["frames"] = [c["measured"] for c in told.json().get("checks", []) if "replayed" in c["name"]]
        if not told.passed:
            break
    scene = random_scene(stage)
    for name, words, repeats in (("display", ["--display"], 2000), ("not_display", [], 60)):
        told = stage.gausscope(f"bench_{name}", "bench", *scene, "--repeats", 4 if stage.small else repeats, *words, "--json",
                               limit=90)
        stage.data[name] = told.json().get("stages")


def stress(stage: Stage) -> None:
    """Look-back with few blocks at a time, and trainings beside each other, on a shared device."""
    words = ["selftest", "--cases", "--only", "device: lists" if stage.small else LARGE + "lists"]
    env = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "5"}
    stage.gausscope("few_blocks", *words, limit=90, env=env)
    stage.note("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=5 acts only where an MPS server runs")
    stage.together([(f"beside_{i}", [stage.options.program, *words, "--backend", "cuda"])
                    for i in range(2 if stage.small else 6)], limit=200)
    train(stage, "alone", "--eval-every", 0, steps=6 if stage.small else 3000, limit=100)
