#!/usr/bin/env python3
"""Holds the kernels that sort and list to goals, on every architecture of the table of costs.

sass_gates.py BUILD    has ptxas make code of the PTX beside the build's objects, for each architecture, and counts as
                       sass_costs.py does. Exit code 1 and the reasons when a goal is missed, or its kernel or loop is gone.
                       77: no PTX, no ptxas, or another toolkit than the table's, which makes other code.

Counted, not measured. sass_costs.py compares one architecture with what was before; this says what must hold on all. nvcc's own
code of another architecture than the build's differs from this by some instructions at most.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

import kernel_table
import sass_code
import sass_costs

FOLDER = "renderer/raster/cuda/"


class Goal(typing.NamedTuple):
    """Instructions of a warp that goes through each loop once (WHOLE), or of what a loop has by itself ("0": outside loops)."""
    file: str
    kernel: str
    loop: str
    issue: int
    registers: int = 0  # with WHOLE: at most
    shared: int = 0     # the same, bytes


# Of a pass 12 pairs a lane, and three blocks in the 100 KB of a multiprocessor of 8.6 and 8.9. Of emit 128 isects a warp, 32
# Gaussians, and a row of each of them.
GOALS = (Goal("sort.cu", "radix_pass<unsigned int>", sass_costs.WHOLE, 880, 80, 33109),
         Goal("sort.cu", "radix_pass<unsigned short>", sass_costs.WHOLE, 900, 80, 33109),
         Goal("emit.cu", "emit<unsigned short>", "0", 380),
         Goal("emit.cu", "emit<unsigned short>", "1", 80),
         Goal("emit.cu", "emit<unsigned short>", "2", 34),
         Goal("ranges.cu", "find_ranges", sass_costs.WHOLE, 360, 40))


def missed(rows: list[dict], goals: tuple[Goal, ...]) -> list[str]:
    """What is wrong with one architecture's rows, a line each."""
    found = {(r["file"], r["kernel"], r["loop"]): r for r in rows}
    wrong = []
    for goal in goals:
        row = found.get((FOLDER + goal.file, goal.kernel, goal.loop))
        name = f"{goal.kernel} ({goal.file}), {goal.loop}"
        if row is None:
            wrong.append(f"{name}: not there")
            continue
        for what in ("issue", "registers", "shared"):
            most = getattr(goal, what)
            if most and row[what] > most:
                wrong.append(f"{name}: {what} {row[what]}, at most {most} is the goal")
    return wrong


def rows_for(ptx: str, file: str, architecture: int, assembler: str) -> list[dict]:
    text = re.sub(r"^\.target sm_\w+", f".target sm_{architecture}", ptx, count=1, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "a.ptx"), pathlib.Path(folder, "a.cubin")
        source.write_text(text, encoding="utf-8")
        command = [assembler, f"-arch=sm_{architecture}", "-O3", "--generate-line-info", source, "-o", target]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        code = sass_code.kernels(target.read_bytes(), architecture, lambda name: name.startswith("_ZN2gs"))
    return [row for kernel in code for row in sass_costs.rows_of(kernel, file, [])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    build = parser.parse_args().build
    objects, compiler = {}, pathlib.Path()
    for file, target, command, _ in kernel_table.cuda_objects(build):
        objects[file] = pathlib.Path(f"{target}.ptx")
        compiler = pathlib.Path(next(word for word in command if word.endswith("nvcc")))
    beside = [str(compiler.parent), str(compiler.resolve().parent), os.environ.get("PATH", "")]
    assembler = shutil.which("ptxas", path=os.pathsep.join(beside))
    wanted = {FOLDER + goal.file for goal in GOALS}
    if assembler is None or not all(objects[file].exists() for file in wanted):
        print("sass_gates: no ptxas beside nvcc, or a build without PTX")
        return kernel_table.SKIPPED
    if kernel_table.toolkit(build) != sass_costs.load_stored(sass_costs.STORED)[0]:
        print("sass_gates: another toolkit makes other code")
        return kernel_table.SKIPPED
    wrong = []
    for architecture in sass_costs.ARCHITECTURES:
        rows = [row for file in sorted(wanted)
                for row in rows_for(objects[file].read_text(encoding="utf-8"), file, architecture, assembler)]
        wrong += [f"{line} (architecture {architecture})" for line in missed(kernel_table.name_all(rows), GOALS)]
    summary = f"sass_gates: {len(GOALS)} goals on {len(sass_costs.ARCHITECTURES)} architectures, {len(wrong)} missed"
    print("\n".join(wrong + [summary]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
