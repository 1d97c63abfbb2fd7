"""Stages of tools/gpu_check that ask whether results are right: checks, directed cases, lists, bits, replay, sanitizers."""
import json
import pathlib

from gpu_check_run import Done, Stage, sha256
from gpu_check_mocks import tool

LARGE = "large: "  # cases that are left to devices; no sanitizer gets through them
SANITIZED_PARTS = 4  # commands a process, so that what hangs takes few cases with it

# Trainings that take different kernels, and so different ways to other bits.
MODES = [
    ("plain", []),
    ("poses", ["--refine-poses"]),
    ("appearance", ["--appearance", "ppisp", "--appearance-from", "100"]),
    ("batch", ["--batch", "4"]),
    ("batch_poses_absgrad", ["--batch", "2", "--refine-poses", "--absgrad"]),
    ("mcmc", ["--strategy", "mcmc"]),
    ("unscented", ["--projection", "ut"]),
    ("budget", ["--strategy", "budget", "--max-gaussians", "50000"]),
]


def capture_of(stage: Stage) -> pathlib.Path:
    """The carried fox, else the built-in sample, made once for all stages."""
    carried = stage.options.data / "captures/fox" if stage.options.data else None
    if carried and carried.is_dir() and not stage.small:
        return carried
    made = stage.options.out / "sample"
    if not (made / "transforms.json").exists() and not (made / "sparse").exists():
        size = ["--views", "6", "--width", "48", "--height", "36", "--points", "300"] if stage.small else []
        stage.run("sample", stage.options.program, "sample", made, *size, limit=120)
    return made


def train(stage: Stage, name: str, *words: object, steps: int, limit: float, under: tuple[str, ...] = ()) -> tuple[Done, pathlib.Path]:
    folder = stage.folder / name
    done = stage.gausscope(f"train_{name}", "train", capture_of(stage), "-o", folder, "--overwrite", "--steps", steps,
                           *words, limit=limit, under=under)
    return done, folder


def bits_of(folder: pathlib.Path) -> str | None:
    file = folder / "point_cloud.ply"
    return sha256(file) if file.exists() else None


def busy(stage: Stage) -> list[object]:
    """A command that keeps the GPU at work for a while."""
    words = ["selftest", "--cases", "--only", "viewer: 60 x 44"] if stage.small else ["bench", "--repeats", 2000, "--no-ceilings"]
    return [stage.options.program, *words, "--backend", "cuda"]


# ---- stages

def alive(stage: Stage) -> None:
    if nvidia_smi := tool(stage, "nvidia-smi"):
        stage.run("nvidia_smi", nvidia_smi, "-q", limit=60, good=None)
    else:
        stage.note("nvidia-smi is not here")
    words = ["--cases", "--only", "density: "] if stage.small else ["--quick"]
    done = stage.gausscope("selftest_quick", "selftest", *words, "--json", limit=120)
    stage.data["failed"] = [c["name"] for c in done.json().get("checks", []) if c["verdict"] == "FAILED"]


def selftest(stage: Stage) -> None:
    file = stage.folder / "selftest.json"
    # The emulator takes minutes to time a scene: a rehearsal has the CPU's report, which is of the same form.
    words, backend = (["--quick"], "cpu") if stage.small else ([], "cuda")
    stage.gausscope("selftest", "selftest", "--report", file, *words, limit=300, backend=backend)
    stage.data["report"] = read(file)


def cases(stage: Stage) -> None:
    only = ["--only", "density: ", "--only", "viewer: twelve"] if stage.small else []
    done = stage.gausscope("cases", "selftest", "--cases", "--json", *only, limit=150)
    told = done.json()
    stage.data.update(checks=len(told.get("checks", [])), failed=told.get("failed"), absent=told.get("absent"),
                      names=[c["name"] for c in told.get("checks", [])])
    if done.code is None:
        lines = [line for line in done.text.splitlines() if line.startswith(("ok", "FAILED", "absent"))]
        stage.find(f"cases: the last one that ended: {lines[-1] if lines else 'none'}")


def lists(stage: Stage) -> None:
    """Look-back beyond its first turn, alone and while blocks of others take their place."""
    only = ["--only", "device: lists"] if stage.small else ["--only", LARGE + "lists"]
    times = 1 if stage.small else 15
    words = ["selftest", "--cases", *only]
    for i in range(times):
        if not stage.gausscope(f"lists_{i}", *words, limit=40).passed:
            break
    beside = busy(stage)
    with stage.load(*beside), stage.load(*beside):
        for i in range(1 if stage.small else 8):
            if not stage.gausscope(f"lists_under_load_{i}", *words, limit=60).passed:
                break
    stage.data["cases"] = only[1]
    stage.data["rounds"] = sum(c["code"] == 0 for c in stage.result["commands"] if c["name"].startswith("lists"))


def verify(stage: Stage) -> None:
    """Whole frames against the reference: a trained scene that was carried, and one trained here."""
    data = stage.options.data
    carried = sorted(data.glob("splats/fox_trained/*.ply")) if data and not stage.small else []
    for scene in carried[:1]:
        told = stage.gausscope("verify_carried", "verify", scene, "--capture", capture_of(stage), "--gradients", "--json", limit=120)
        stage.data["carried"] = told.json()
    done, folder = train(stage, "run", "--eval-every", 0, steps=8 if stage.small else 3000, limit=150)
    if done.passed:
        told = stage.gausscope("verify", "verify", folder, "--capture", capture_of(stage), "--gradients", "--json", limit=120)
        stage.data["trained"] = told.json()


def bits(stage: Stage) -> None:
    """Trainings that are not drained by --hashes: twice, and once while others use the GPU."""
    steps = 8 if stage.small else 1200
    early = ["--pose-from", "2"] if stage.small else []
    rows = stage.data["modes"] = {}
    for mode, words in MODES:
        words = ["2" if stage.small and w == "100" else w for w in words] + (early if "--refine-poses" in words else [])
        found = [bits_of(train(stage, f"{mode}_{i}", "--eval-every", 0, *words, steps=steps, limit=60)[1]) for i in range(2)]
        if not stage.small or mode == "plain":
            with stage.load(*busy(stage)):
                found.append(bits_of(train(stage, f"{mode}_loaded", "--eval-every", 0, *words, steps=steps, limit=90)[1]))
        same = None not in found and len(set(found)) == 1
        rows[mode] = {"words": " ".join(words), "steps": steps, "hashes": found, "same": same}
        if not same:
            stage.find(f"bits: {mode}: other bits: {found}")
            where_apart(stage, mode, words, steps)
        stage.save()


def where_apart(stage: Stage, mode: str, words: list[str], steps: int) -> None:
    """With the device drained after each step: agree, and it is what overlaps; differ, and it is a kernel."""
    folders = [train(stage, f"{mode}_hashes_{i}", "--eval-every", 0, "--hashes", *words, steps=steps, limit=120)[1]
               for i in range(2)]
    done = stage.run(f"diff_{mode}", stage.options.program, "diff", *folders, limit=60, good=None)
    stage.note(f"bits: {mode}, drained after each step: " + ("the same bits: what overlaps makes the difference" if done.passed
               else "other bits: a kernel makes the difference; see the log of diff"))


def replay(stage: Stage) -> None:
    step = 5 if stage.small else 700
    words = ["--appearance", "ppisp", "--appearance-from", "2" if stage.small else "100"]
    done, folder = train(stage, "captured", *words, "--eval-every", 0, "--capture-step", step, steps=step + 2, limit=90)
    files = sorted(folder.glob("step-*.gsstep"))
    if not files:
        if done.passed:
            stage.find("replay: the training left no captured step")
        return
    for backend in ("cuda", "cpu"):
        told = stage.gausscope(f"replay_{backend}", "replay", files[0], "--json", limit=120, backend=backend)
        stage.data[backend] = told.json()


def racecheck(stage: Stage) -> None:
    sanitize(stage, "racecheck", "--racecheck-report", "all")


def sanitizers(stage: Stage) -> None:
    for name in ("memcheck", "synccheck", "initcheck"):
        sanitize(stage, name)
    if sanitizer := tool(stage, "compute-sanitizer"):  # a whole training, while there is time
        train(stage, "memcheck", "--eval-every", 0, steps=4 if stage.small else 40, limit=180,
              under=(str(sanitizer), "--tool", "memcheck", "--error-exitcode", "9"))


def sanitize(stage: Stage, name: str, *words: str) -> None:
    """All cases but the large ones, in several processes; says which no process reached."""
    sanitizer = tool(stage, "compute-sanitizer")
    if sanitizer is None:
        stage.note("compute-sanitizer is not here: it comes with the CUDA toolkit")
        return
    wanted = case_names(stage)
    parts = max(1, min(len(wanted), stage.options.processes * SANITIZED_PARTS))
    jobs = []
    for part in range(parts):
        only = [word for case in wanted[part::parts] for word in ("--only", case)]
        jobs.append((f"{name}_{part:02}", [sanitizer, "--tool", name, "--error-exitcode", "9", *words, stage.options.program,
                                           "selftest", "--cases", *only, "--json", "--backend", "cuda"]))
    found = stage.together(jobs, limit=480)
    reached = {c["name"] for done in found for c in done.json().get("checks", []) if c["verdict"] != "absent"}
    missed = [case for case in wanted if case not in reached]
    stage.data[name] = {"cases": len(wanted), "reached": len(reached & set(wanted)), "missed": missed,
                        "errors": sum(done.code == 9 for done in found)}
    if missed:
        stage.note(f"{name}: {len(missed)} of {len(wanted)} cases not reached: {', '.join(missed[:5])} ...")


def case_names(stage: Stage) -> list[str]:
    """Of the cases stage where it has run, else by running them."""
    names = read(stage.options.out / "cases.json").get("data", {}).get("names")
    if not names:
        only = ["--only", "density: "] if stage.small else []
        told = stage.gausscope("names", "selftest", "--cases", *only, "--json", limit=120)
        names = [c["name"] for c in told.json().get("checks", [])]
    return [n for n in names if not n.startswith(LARGE)]


def read(path: pathlib.Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
