#!/usr/bin/env python3
"""Files gausscope writes, read back by splat-transform (npm: @playcanvas/splat-transform), another program's readers.

Compares every parameter of every Gaussian of splat-transform's CSV with gausscope's own. Skipped (exit code 77) where node
or the package is absent: install it with `npm install @playcanvas/splat-transform` in some folder and name that folder in
SPLAT_TRANSFORM. GAUSSCOPE names the program.
"""
import csv
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
GAUSSCOPE = os.environ.get("GAUSSCOPE", "build/gausscope")
# Absolute; opacities are compared as alphas, which splat-transform keeps a millionth away from 0 and 1.
LIMIT = 5e-6


def find_tool():
    """The command that runs splat-transform, or why there is none."""
    node = shutil.which("node")
    if node is None:
        return None, "node is not installed"
    folder = os.environ.get("SPLAT_TRANSFORM")
    if folder is None:
        return None, "SPLAT_TRANSFORM does not name a folder with the npm package"
    script = pathlib.Path(folder) / "node_modules/@playcanvas/splat-transform/bin/cli.mjs"
    return ([node, str(script)], "") if script.exists() else (None, f"{script} is not there")


def table(path):
    with open(path, encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        return names, [[float(value.replace("Infinity", "inf")) for value in row] for row in rows]


def alpha(logit):
    return 1 / (1 + math.exp(-logit)) if abs(logit) < 700 else float(logit > 0)


def unit(row, columns):
    q = [row[columns[f"rot_{i}"]] for i in range(4)]
    length = math.sqrt(sum(x * x for x in q)) or 1
    return [x / length for x in q]


def worst_difference(own, other):
    (names, ours), (other_names, theirs) = own, other
    assert len(ours) == len(theirs), f"{len(ours)} Gaussians here, {len(theirs)} there"
    at, there = {n: i for i, n in enumerate(names)}, {n: i for i, n in enumerate(other_names)}
    for normal in ("nx", "ny", "nz"):  # 3DGS's own columns, always zero
        there.pop(normal, None)
    assert set(there) == set(at), f"columns {set(there) ^ set(at)} are not in both"
    worst = 0.0
    for a, b in zip(ours, theirs):
        qa, qb = unit(a, at), unit(b, there)
        sign = 1 if sum(x * y for x, y in zip(qa, qb)) >= 0 else -1
        worst = max(worst, max(abs(x - sign * y) for x, y in zip(qa, qb)))
        for name, column in there.items():
            x, y = a[at[name]], b[column]
            if name == "opacity":
                x, y = alpha(x), alpha(y)
            if not name.startswith("rot_") and x != y:
                worst = max(worst, abs(x - y) / max(1.0, abs(y)))
    return worst


def main():
    tool, problem = find_tool()
    if tool is None:
        print(f"skipped: {problem}")
        return SKIPPED
    data = os.environ.get("GAUSSCOPE_DATA") or pathlib.Path(__file__).resolve().parents[2] / "../shared/data"
    source = pathlib.Path(data) / "splats/fox_trained/fox_trained_3000.ply"
    if not source.exists():
        print(f"skipped: no reference data at {source}")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sog").mkdir()
        for file, options in (("m.ply", []), ("m.compressed.ply", []), ("m.splat", []), ("m.spz", []),
                              ("m3.spz", ["--spz-version", "3"]), ("m.sog", []), ("sog/meta.json", [])):
            written, ours, theirs = folder / file, folder / "ours.csv", folder / "theirs.csv"
            subprocess.run([GAUSSCOPE, "convert", source, written, *options], check=True, capture_output=True)
            subprocess.run([GAUSSCOPE, "convert", written, ours], check=True, capture_output=True)
            subprocess.run([*tool, "-w", written, theirs], check=True, capture_output=True)
            worst = worst_difference(table(ours), table(theirs))
            failed += worst > LIMIT
            print(f"{file:18} largest difference {worst:.2g}{'' if worst <= LIMIT else '  TOO LARGE'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
