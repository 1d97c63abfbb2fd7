"""What tools/gpu_check leaves of a machine: the page docs/measurements/DATE-GPU.md, rows of assets/gpu/measured_times.json, and
hashes of the kernels that were measured. Each stage that has ended is in them; what has not is named."""
import json
import pathlib

import gpu_check_kernels as kernels
from gpu_check_correct import read
from gpu_check_run import PASSED, write_json
from gpu_check_times import measured_scenes

COUNTS = ["sh_degree", "gaussians", "candidates", "visible", "isects", "evaluated_pairs", "blended_pairs"]
WARPS = ["batches", "group_tests", "near", "open", "live_isects", "live_sub_tiles"]
TILE = 16


def number(value: float | None, form: str) -> str:
    return format(value, form) if isinstance(value, (int, float)) else "-"


def table(head: list[str], rows: list[list[str]], texts: tuple[int, ...] = (0,)) -> str:
    """Columns that are not `texts` are numbers."""
    rule = ["---" if i in texts else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, rule, *rows])


def results(out: pathlib.Path, names: list[str]) -> dict[str, dict]:
    return {name: found for name in names if (found := read(out / f"{name}.json"))}


def machine_of(done: dict[str, dict]) -> tuple[dict, dict]:
    """The report's machine, and its device that computed."""
    machine = done.get("selftest", {}).get("data", {}).get("report", {}).get("machine") or {}
    devices = [d for d in (machine.get("cuda") or {}).get("devices") or [] if d.get("used")]
    return machine, devices[0] if devices else {}


def gpu_id(done: dict[str, dict]) -> str | None:
    """As assets/devices calls it; null where it does not know the GPU."""
    data = done.get("bench", {}).get("data", {})
    return next((p["gpu"] for told in data.values() if isinstance(told, dict)
                 and (p := told.get("predicted") or {}).get("gpu")), None)


def label(done: dict[str, dict]) -> str:
    """For file names: the id, else the driver's name."""
    name = gpu_id(done) or machine_of(done)[1].get("name") or "gpu"
    return "-".join("".join(c if c.isalnum() else " " for c in name).lower().split())


# ---- the page

def about(done: dict[str, dict], rehearse: bool) -> str:
    machine, device = machine_of(done)
    cuda = machine.get("cuda") or {}
    text = (f"Machine: {device.get('name', 'unknown')} ({device.get('multiprocessors', '?')} multiprocessors, "
            f"{device.get('architecture', '?')}), driver {cuda.get('driver')}, CUDA {cuda.get('runtime')}; clock "
            f"{device.get('clock_mhz', '?')} MHz, memory {device.get('memory_clock_mhz', '?')} MHz, as the driver lists them, not "
            f"locked; {machine.get('threads', '?')} threads, {machine.get('system', '?')}.\n"
            f"Program: commit {machine.get('commit', '?')}, {machine.get('compiler', '?')}. Written by `tools/gpu_check`; all "
            "figures are *measured* unless a column says *predicted*.")
    return ("**A rehearsal on the emulated device: no figure here says anything of a GPU.**\n\n" if rehearse else "") + text


def stage_rows(stages: list[tuple[str, float, str]], done: dict[str, dict]) -> list[list[str]]:
    rows = []
    for name, _, falsifies in stages:
        told = done.get(name)
        status = told["status"] or f"did not end; under way: {(told.get('under_way') or {}).get('name')}" if told else "not run"
        rows.append([name, status, number((told or {}).get("seconds"), ".0f"), falsifies])
    return rows


def findings(done: dict[str, dict]) -> str:
    lines = []
    for name, told in done.items():
        lines += [f"* **{name}**: {text.splitlines()[0]}" for text in told["findings"]]
        lines += [f"* {name}: {text}" for text in told["notes"]]
    return "\n".join(lines) or "Nothing was found."


def correct(done: dict[str, dict]) -> list[list[str]]:
    rows = []
    report = done.get("selftest", {}).get("data", {}).get("report")
    if report:
        rows.append(["`selftest --report`", f"{len(report['checks'])} checks, {report['failed']} failed, {report['absent']} absent"])
    if data := done.get("cases", {}).get("data"):
        rows.append(["directed cases", f"{data.get('checks')} cases, {data.get('failed')} failed, {data.get('absent')} absent"])
    if data := done.get("lists", {}).get("data"):
        rows.append([f"lists, {data.get('cases')}", f"{data.get('rounds')} rounds, alone and under load"])
    for name in ("racecheck", "memcheck", "synccheck", "initcheck"):
        stage = done.get("racecheck" if name == "racecheck" else "sanitizers", {})
        if data := stage.get("data", {}).get(name):
            rows.append([f"compute-sanitizer {name}", f"{data['reached']} of {data['cases']} cases reached, "
                         f"{data['errors']} processes with errors"])
    for key, told in (done.get("verify", {}).get("data") or {}).items():
        rows.append([f"`verify`, {key}", "agrees" if told.get("passed") else "differs"])
    for backend, told in (done.get("replay", {}).get("data") or {}).items():
        rows.append([f"a captured step replayed, {backend}", "agrees" if told.get("passed") else "differs, or did not run"])
    if frames := done.get("viewer", {}).get("data", {}).get("frames"):
        rows.append(["frames for the screen, replayed", "; ".join(frames)])
    for mode, told in (done.get("bits", {}).get("data", {}).get("modes") or {}).items():
        rows.append([f"training {len(told['hashes'])} times, {told['steps']} steps, {mode}", "the same bits" if told["same"]
                     else "other bits"])
    return rows


def times(out: pathlib.Path) -> str:
    parts = []
    for scene in measured_scenes(out):
        if not scene["stages"]:
            continue
        rows = [[name, number(ms, ".3f"), number(predicted, ".3f"), number(predicted / ms - 1 if predicted and ms else None, "+.0%")]
                for name, ms, predicted in scene["stages"]]
        rows.append(["all", number(scene["all"], ".3f"), number(scene["predicted"], ".3f"), ""])
        parts.append(f"**{scene['what']}, {scene['work']}**\n\n" + table(["stage", "measured ms", "predicted ms", "error"], rows))
    return "\n\n".join(parts) or "Not measured."


def display(done: dict[str, dict]) -> str:
    data = done.get("viewer", {}).get("data", {})
    rows = [[name, s["name"], number(s["ms_p50"], ".3f"), f"{s['ms_p50_lo']:.3f} .. {s['ms_p50_hi']:.3f}"]
            for name in ("display", "not_display") for s in data.get(name) or [] if s["name"] in ("iteration", "frame")]
    return table(["bench of 100,000 Gaussians", "span", "ms, median", "95 % interval"], rows) if rows else "Not measured."


def service(done: dict[str, dict]) -> str:
    parts = []
    for stage in ("service", "service_pytorch"):
        data = done.get(stage, {}).get("data", {})
        for key, rows in data.items():
            if isinstance(rows, list):
                rate = data.get(f"{key}_rate")
                title = f"{rate:,.0f} launches a second" if rate else "a PyTorch trainer"
                parts.append(f"**{title}**\n\n" + table(["way", "ms a step", "more than alone", "least", "most", "rounds"], [
                    [r["way"], number(r["ms"], ".3f"), number(r["share"], "+.2%"), number(r["least"], "+.2%"),
                     number(r["most"], "+.2%"), r["rounds"]] for r in rows]))
    return "\n\n".join(parts) or "Not measured."


def counters(done: dict[str, dict]) -> str:
    data = done.get("counters", {}).get("data", {})
    rows = [[f"`{k['kernel']}`, {name}", k["launches"], number((k["gpu__time_duration.sum"] or 0) / 1e6, ".3f"),
             number((k["smsp__inst_executed.sum"] or 0) / 1e6, ".1f"), number(k["launch__registers_per_thread"], ".0f"),
             number(k["sm__warps_active.avg.pct_of_peak_sustained_active"], ".0f"),
             number((k["dram__bytes_read.sum"] or 0) / 1e6, ".1f"), number((k["dram__bytes_write.sum"] or 0) / 1e6, ".1f")]
            for name in ("frame", "training") for k in data.get(name) or []]
    head = ["kernel", "launches", "ms", "warp instructions, M", "registers", "occupancy %", "MB read", "MB written"]
    missed = ", ".join(f"{stage} {error:+.0%}" for stage, error in (data.get("missed") or {}).items()) or "none"
    return f"Stages whose prediction misses by over 15 %: {missed}.\n\n" + (table(head, rows) if rows else "No counters.")


def trainings(done: dict[str, dict]) -> str:
    rows = [[f"`{r['capture']}`", number(r["gaussians"], ","), number(r["steps"], ","), number(r["seconds"], ".1f"),
             number(r["psnr"], ".2f")] for r in done.get("trainings", {}).get("data", {}).get("runs") or []]
    return table(["capture", "Gaussians at the end", "steps", "seconds", "PSNR of the test photos"], rows) if rows else "Not measured."


def changed_kernels(now: kernels.Prints | None, measured: kernels.Prints | None) -> str:
    if now is None or measured is None:
        return "Not known: the archive held no hashes of its kernels, or nothing was measured on this GPU before."
    return kernels.markdown(now, measured)


def page(out: pathlib.Path, stages: list[tuple[str, float, str]], date: str, rehearse: bool, changed: str) -> str:
    done = results(out, [name for name, _, _ in stages])
    machine, device = machine_of(done)
    parts = [f"# {date}: {device.get('name', machine.get('cpu', 'a machine'))}", about(done, rehearse), "## Stages",
             table(["stage", "result", "seconds", "what it could show wrong"], stage_rows(stages, done), (0, 1, 3)), "## Found", findings(done),
             "## Correct", table(["what", "result"], correct(done), (0, 1)), "## Kernels changed since they were last measured", changed,
             "## Stages: measured and predicted", times(out), "## Frames for the screen", display(done), "## Training",
             trainings(done), "## Counters", counters(done), "## What watching costs", service(done)]
    return "\n\n".join(parts) + "\n"


# ---- rows of measured_times.json

def run_rows(out: pathlib.Path, gpu: str) -> list[dict]:
    rows = []
    for scene in measured_scenes(out):
        counters_of, warps = scene["counters"], scene["counters"].get("warps") or {}
        stages = [[name, float(f"{ms:.4g}"), float(f"{p:.4g}")] for name, ms, p in scene["stages"] if ms and p]
        if scene["work"] not in ("frame", "step", "stored") or not stages or not counters_of:
            continue
        tiles = -(-scene["width"] // TILE) * -(-scene["height"] // TILE)
        counts = {"cuda": True, **{k: counters_of[k] for k in COUNTS if k in counters_of}, "pixels": scene["width"] * scene["height"],
                  "tiles": tiles, **{k: warps[k] for k in WARPS if k in warps}}
        rows.append({"id": f"{gpu}-{scene['id']}", "what": scene["what"], "work": scene["work"], "gpu": gpu, "replaced": [],
                     "counts": {"sh_degree": 3, **counts}, "stages": stages})
    return rows


def measured_times(stored: dict, out: pathlib.Path, gpu: str, source: str) -> dict:
    """`stored` with this GPU's runs in the place of its earlier ones."""
    rows = run_rows(out, gpu)
    kept = [r for r in stored.get("runs", []) if r.get("gpu") != gpu] if rows else stored.get("runs", [])
    return {**stored, "source": f"{stored.get('source', '')}; {source}" if rows else stored.get("source"), "runs": kept + rows}


def times_text(times_json: dict) -> str:
    """A run a paragraph, as the file is kept."""
    head = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in times_json.items() if k != "runs")
    runs = ",\n".join("    " + json.dumps(run) for run in times_json["runs"])
    return f"{{\n{head},\n  \"runs\": [\n{runs}\n  ]\n}}\n"


# ---- all of it

def write_all(out: pathlib.Path, stages: list[tuple[str, float, str]], date: str, rehearse: bool,
              carried: pathlib.Path) -> list[pathlib.Path]:
    """`carried`: what the archive or the repository has of earlier measurements."""
    done = results(out, [name for name, _, _ in stages])
    name = f"{date}-{label(done)}"
    now_file, before = carried / "kernels_now.csv", kernels.newest(carried)
    now = kernels.load(now_file) if now_file.exists() else None
    same_gpu = [p for p in before if p.name.endswith(f"-{label(done)}-kernels.csv")] or before
    measured = kernels.load(same_gpu[-1]) if same_gpu else None
    written = [out / f"{name}.md"]
    written[0].write_text(page(out, stages, date, rehearse, changed_kernels(now, measured)), encoding="utf-8")
    summary = {"date": date, "rehearsal": rehearse, "stages": done}
    write_json(out / "summary.json", summary)
    written.append(out / "summary.json")
    gpu = gpu_id(done) or ("h100" if rehearse else None)
    if gpu and (carried / "measured_times.json").exists():
        stored = read(carried / "measured_times.json")
        written.append(out / "measured_times.json")
        written[-1].write_text(times_text(measured_times(stored, out, gpu, f"docs/measurements/{name}.md")), encoding="utf-8")
    if now and any(done.get(stage, {}).get("status") == PASSED for stage in ("selftest", "bench")):
        now.about.update({"date": date, "gpu": label(done), "commit": str(machine_of(done)[0].get("commit", "unknown"))})
        written.append(out / f"{name}-kernels.csv")
        kernels.store(written[-1], now)
    return written
