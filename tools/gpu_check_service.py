"""Stages of tools/gpu_check that measure what the profiling service costs the program it watches."""
import os
import pathlib
import statistics
import sys

from gpu_check_correct import read
from gpu_check_run import Stage

LAUNCHES = pathlib.Path(__file__).with_name("gpu_check_launches.py")
RATES = [1000, 5000, 20000]  # launches a second
ROUNDS = 5
OWN_PATH = "GPU_CHECK_LD_LIBRARY_PATH"  # the machine's, before an archive's folders came before it
WAYS = {  # how a program runs: words of `gausscope record`, or none
    "alone": None, "record": [], "budget 1 %": ["--budget", "1"], "budget 0.2 %": ["--budget", "0.2"]}
PYTORCH_WAYS = {"alone": None, "record": [], "record --pytorch": ["--pytorch"], "--pytorch, budget 1 %": ["--pytorch", "--budget", "1"],
                "--pytorch, budget 0.2 %": ["--pytorch", "--budget", "0.2"]}


def environment(stage: Stage) -> dict[str, str]:
    """In a rehearsal the made-up driver and CUPTI, which take believable times for nothing."""
    mock = stage.options.mock_cuda
    return {"LD_LIBRARY_PATH": str(mock)} if stage.options.rehearse and mock else {}


def run_once(stage: Stage, name: str, recording: list[str] | None, words: list[str], seconds: float) -> dict:
    file = stage.folder / f"{name}.json"
    trace = stage.folder / f"{name}.pftrace"
    command = [sys.executable, LAUNCHES, file, *words]
    if recording is not None:
        command = [stage.options.program, "record", "--json", *recording, "-o", trace, "--", *command]
    done = stage.run(name, *command, limit=4 * seconds + 30, env=environment(stage))
    # A budget pauses recording; without one the kernels must be there, or the cost of recording them is not measured.
    if done.passed and recording is not None and "--budget" not in recording and not done.json().get("gpu_work"):
        stage.find(f"{name}: recorded no GPU work")
    trace.unlink(missing_ok=True)
    return read(file)


def overheads(rows: dict[str, list[float]]) -> list[dict]:
    """Of each way the share it adds to a step, round by round beside alone: the median, and the interval that five rounds give
    it (least to most: 94 %)."""
    out = []
    for way, times in rows.items():
        pairs = [(ms, alone) for ms, alone in zip(times, rows["alone"]) if ms and alone]
        shares = sorted(ms / alone - 1 for ms, alone in pairs)
        if shares:
            out.append({"way": way, "ms": statistics.median(ms for ms, _ in pairs), "share": statistics.median(shares),
                        "least": shares[0], "most": shares[-1], "rounds": len(shares)})
    return out


def sweep(stage: Stage, key: str, ways: dict, words: list[str], seconds: float, rounds: int) -> None:
    rows: dict[str, list[float]] = {way: [] for way in ways}
    spin: list[str] = []
    for i in range(rounds):
        for n, (way, recording) in enumerate(ways.items()):
            told = run_once(stage, f"{key}_{n}_{i}", recording, [*words, str(seconds), *spin], seconds)
            rows[way].append(told.get("ms") or 0)
            if told.get("spin") is not None and not spin:
                spin = [str(told["spin"])]  # of the first run alone: all others do as much
                rows["alone"].clear()       # which counted, too: it is run again
                told = run_once(stage, f"{key}_{n}_again", recording, [*words, str(seconds), *spin], seconds)
                rows["alone"].append(told.get("ms") or 0)
            if way == "alone" and told.get("launches_a_second"):
                stage.data[f"{key}_rate"] = told["launches_a_second"]
        stage.data[key] = overheads(rows)
        stage.save()


def service(stage: Stage) -> None:
    for rate in [2000] if stage.small else RATES:
        sweep(stage, f"rate_{rate}", WAYS, [str(rate)], 0.3 if stage.small else 4, 1 if stage.small else ROUNDS)


def own_libraries() -> str:
    """Where the machine's own programs look."""
    return os.environ.get(OWN_PATH, os.environ.get("LD_LIBRARY_PATH", ""))


def sees_gpu(stage: Stage) -> bool:
    """Whether PyTorch does."""
    if stage.run("torch", sys.executable, "-c", "import torch; assert torch.cuda.is_available()", limit=120, good=None,
                 env={"LD_LIBRARY_PATH": own_libraries()}).code == 0:
        return True
    stage.note(f"{sys.executable} has no PyTorch that sees a GPU")
    return False


def tensors(stage: Stage) -> None:
    if not sees_gpu(stage):
        return
    home = stage.options.program.resolve().parent  # build, or an archive's bin
    library = next((f for f in (home / "lib/libgausscope_ops.so", home.parent / "lib/libgausscope_ops.so") if f.is_file()), None)
    if library is None:
        stage.note("libgausscope_ops.so is not there")
        return
    here = pathlib.Path(__file__).resolve()
    # Behind PyTorch's own: the archive's libraries, but not those that any system with PyTorch has.
    paths = [own_libraries(), str(library.parent)]
    found = stage.run("tensors", sys.executable, here.with_name("gpu_check_tensors.py"), limit=200,
                      env={"GAUSSCOPE_LIBRARY": str(library), "PYTHONPATH": str(here.parents[1] / "python"),
                           "LD_LIBRARY_PATH": ":".join(filter(None, paths))})
    stage.data.update(found.json())


def service_pytorch(stage: Stage) -> None:
    if not sees_gpu(stage):
        return
    sweep(stage, "pytorch", PYTORCH_WAYS, ["torch"], 6, ROUNDS)
