"""The program from Python: each function runs one subcommand and returns its JSON object as a dict.

Options are those of the command line with underscores: train("photos/", "out/", steps=7000,
max_gaussians=500_000, keep_best=True). True and False turn a switch on and off, lists are joined
by commas, None leaves the default. docs/cli.md describes options and results.
"""
from __future__ import annotations

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Optional, Union

from ._lib import Error, NotFound

if TYPE_CHECKING:
    from .splats import Splats

_HERE = os.path.dirname(os.path.abspath(__file__))
Path = Union[str, bytes, os.PathLike]
_PROGRESS = re.compile(r"(\S[^:]*?) (\d+)/(\d+) \(\d+ %\)\s*(.*)")


def program_path() -> str:
    """The program's path: $GAUSSCOPE_PROGRAM, else beside this package, else in the source tree's
    build folder, else in PATH."""
    named = os.environ.get("GAUSSCOPE_PROGRAM")
    source_tree = os.path.dirname(os.path.dirname(_HERE))
    candidates = [named] if named else [
        os.path.join(_HERE, "bin", "gausscope"),
        os.path.join(source_tree, "build", "gausscope"),
        shutil.which("gausscope") or "",
    ]
    for path in candidates:
        if path and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise NotFound("the program gausscope was not found at " + ", nor at ".join(filter(None, candidates))
                   + " (GAUSSCOPE_PROGRAM names it elsewhere)", "not_found")


def arguments_of(options: dict[str, Any]) -> list[str]:
    """Options of the command line from keyword arguments.

    >>> arguments_of({"sh_degree": 2, "absgrad": True, "keep_best": False, "config": None})
    ['--sh-degree=2', '--absgrad', '--no-keep-best']
    """
    out = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None:
            continue
        if value is True:
            out.append(flag)
        elif value is False:
            out.append("--no-" + flag[2:])
        elif isinstance(value, (list, tuple)):
            out.append(flag + "=" + ",".join(map(_text, value)))
        else:
            out.append(flag + "=" + _text(value))
    return out


def _text(value):
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


class _Progress:
    """What the program prints on stderr: progress to a tqdm bar if tqdm is there and wanted,
    everything else, and without tqdm all of it, to sys.stderr."""

    def __init__(self, wanted):
        self.bar, self.what = None, None
        self.last = collections.deque(maxlen=20)
        self.tqdm = None
        self.wanted = wanted
        if wanted:
            try:
                from tqdm.auto import tqdm
                self.tqdm = tqdm
            except ImportError:
                pass

    def line(self, line):
        step = _PROGRESS.fullmatch(line)
        if step is None:
            self.last.append(line)
        if not self.wanted:
            return
        if step is None or self.tqdm is None:
            if not line.startswith("error: "):  # that becomes the exception
                print(line, file=sys.stderr, flush=True)
            return
        what, now, of, rest = step.groups()
        if what != self.what:
            self.close()
            self.what, self.bar = what, self.tqdm(total=int(of), desc=what)
        self.bar.n = int(now)
        # The bar has its own times in front of what is worth knowing.
        self.bar.set_postfix_str(re.sub(r"^[\d:]+(, [\d:]+ left)?\s*", "", rest))

    def follow(self, process):
        """Until the process has ended."""
        for line in process.stderr:
            self.line(line.decode("utf-8", "replace").rstrip("\n"))
        process.wait()

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    def error(self):
        errors = [line[7:] for line in self.last if line.startswith("error: ")]
        return errors[-1] if errors else "\n".join(self.last)


def call(command: str, *arguments: Any, progress: bool = True, **options: Any) -> dict[str, Any]:
    """Runs `gausscope COMMAND ARGUMENTS --OPTIONS --json` and returns its JSON object.

    progress: show the program's messages, and progress as a tqdm bar where tqdm is installed.

    Ctrl-C interrupts the program, which saves what it has (a training writes its checkpoint),
    and raises KeyboardInterrupt. Errors: Error with the program's own words; a gate that
    fails (exit code 3) is no error: its result has "exit_code" 3.
    """
    line = [program_path(), command, *map(_text, arguments), *arguments_of(options), "--json"]
    shown = _Progress(progress)
    # A session of its own: Ctrl-C in a terminal would otherwise reach it twice.
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        out = []
        reader = threading.Thread(target=lambda: out.append(process.stdout.read()), daemon=True)
        reader.start()
        try:
            shown.follow(process)
        except BaseException:
            process.send_signal(signal.SIGINT)
            shown.follow(process)  # it is saving
            raise
        finally:
            shown.close()
        reader.join()
    if process.returncode not in (0, 3):
        raise Error(shown.error() or f"gausscope {command} ended with {process.returncode}",
                    "usage" if process.returncode == 2 else "failed")
    last = out[0].decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
    result = json.loads(last)
    if process.returncode == 3:
        result["exit_code"] = 3
    return result


def train(capture: Path, out: Optional[Path] = None, **options: Any) -> dict[str, Any]:
    """Trains Gaussians from a capture into the folder `out` (default: a new one in runs/).

    Returns the run's metrics: test scores under "test", "seconds", "gaussians", the settings, and
    the paths of what was written under "files". `Run(folder)` opens the result.
    """
    return call("train", capture, output=out, **options)


def evaluate(scene: Path, capture: Optional[Path] = None, **options: Any) -> dict[str, Any]:
    """PSNR and SSIM of each test photo and their means. `scene`: a run, checkpoint or splat file;
    a run knows its own capture."""
    return call("eval", scene, *_given(capture), **options)


def info(path: Optional[Path] = None, **options: Any) -> dict[str, Any]:
    """What a capture, splat file or run contains and its faults; of no path, this machine."""
    return call("info", *_given(path), **options)


def doctor(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The faults of a capture or splat file, worst first: a list of dicts (docs/doctor.md)."""
    return info(path, **options)["findings"]


def inspect(scene: Path, x: int, y: int, capture: Path, camera: Union[str, int], **options: Any) -> dict[str, Any]:
    """The Gaussians in pixel (x, y) of a capture's view (its name or number) and what each adds."""
    return call("inspect", scene, pixel=f"{x},{y}", capture=capture, camera=camera, **options)


def costs(scene: Path, **options: Any) -> dict[str, Any]:
    """Times per stage and counters of frames (and, with step=True, of training steps)."""
    return call("bench", scene, **options)


def predict(scene: Path, gpu: str = "all", **options: Any) -> dict[str, Any]:
    """Frame and training-step times on GPUs that are not here (docs/model.md)."""
    return call("predict", scene, gpu=gpu, **options)


def convert(source: Path, target: Path, **options: Any) -> dict[str, Any]:
    """Converts between splat formats."""
    return call("convert", source, target, **options)


def simplify(source: Path, target: Path, to: Union[str, int], **options: Any) -> dict[str, Any]:
    """Writes `target` with fewer Gaussians: `to` is a number, or a share such as "50%"."""
    return convert(source, target, simplify=to, **options)


def _given(*values):
    return [value for value in values if value is not None]


class Run:
    """The folder of a training run: its metrics, rows by step, and Gaussians.

    folder may also be one of the run's files.
    """

    def __init__(self, folder: Union[str, os.PathLike]):
        folder = os.fspath(folder)
        self.folder = folder if os.path.isdir(folder) else os.path.dirname(folder) or "."
        if not os.path.exists(os.path.join(self.folder, "run.json")):
            raise NotFound(f"{folder}: is not the folder of a run (it has no run.json)", "not_found", folder)

    def __repr__(self):
        return f"Run({self.folder!r})"

    def _json(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    @property
    def metrics(self) -> dict[str, Any]:
        """What train() returned."""
        return self._json("metrics.json")

    @property
    def record(self) -> dict[str, Any]:
        """run.json: source, events, evaluations."""
        return self._json("run.json")

    @property
    def settings(self) -> dict[str, Any]:
        """The training settings by name."""
        return self.metrics["settings"]

    def rows(self) -> dict[str, list[Optional[float]]]:
        """metrics.csv as a dict of columns, one value per step; None where a step has none."""
        import csv
        with open(os.path.join(self.folder, "metrics.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = rows[0].keys() if rows else []
        return {name: [_number(row[name]) for row in rows] for name in names}

    def load(self) -> Splats:
        """The run's newest Gaussians: see gausscope.load()."""
        from .splats import load
        return load(os.path.join(self.folder, "point_cloud.ply"))

    def evaluate(self, **options: Any) -> dict[str, Any]:
        """As gausscope.evaluate()."""
        return evaluate(self.folder, **options)

    def resume(self, **options: Any) -> dict[str, Any]:
        """Continues the run, for example with more `steps`."""
        return call("train", resume=self.folder, **options)


def _number(text):
    if not text:
        return None
    return float(text) if any(c in text for c in ".enN") else int(text)


def main():
    """python -m gausscope: becomes the program."""
    path = program_path()
    os.execv(path, ["gausscope", *sys.argv[1:]])
