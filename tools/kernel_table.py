#!/usr/bin/env python3
"""Registers, spills and shared memory of every kernel, as ptxas reported them when the build compiled it.

kernel_table.py BUILD            prints the table
kernel_table.py BUILD --check    compares it with tests/kernels/kernel_table.csv; exit code 1 and the reasons when
                                 - a kernel of blend or its backward spills registers to memory,
                                 - a kernel uses over 8 registers more than the stored table says,
                                 - a kernel is new, gone, or is in another file.
                                 77: this build has no code for the table's architecture.
kernel_table.py BUILD --update   stores the table, and writes it into docs/kernels.md

The stored figures are those of one toolkit and one architecture. With another toolkit, registers are not compared.
Kernels of libraries (sort and scan) are skipped: they come with the toolkit.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "tests/kernels/kernel_table.csv"
PAGE = ROOT / "docs/kernels.md"
BEGIN, END = "<!-- table: tools/kernel_table.py BUILD --update -->", "<!-- end of table -->"
FIELDS = ["file", "kernel", "registers", "shared", "stack", "spill_stores", "spill_loads"]
GROWTH = 8  # registers
SKIPPED = 77

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)a?f?'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def readable(demangled: str) -> str:
    """`void gs::cuda::(anonymous namespace)::blend<true>(gs::cuda::P)` -> `blend<true>`."""
    name = demangled.strip()
    depth = 0
    for i in range(len(name) - 1, -1, -1):  # the parameters: the last balanced parentheses
        depth += (name[i] == ")") - (name[i] == "(")
        if depth == 0:
            name = name[:i]
            break
    name = name.removeprefix("void ")
    return re.sub(r"gs::(cuda::)?|\(anonymous namespace\)::", "", name)


def parse(file: str, text: str) -> list[dict]:
    """The kernels of one object: what ptxas -v said while it was compiled."""
    rows, row, own = [], None, True
    for line in text.splitlines():
        if found := ENTRY.search(line):
            row = {"file": file, "mangled": found[1], "architecture": found[2]}
            rows.append(row)
        elif row is None:
            continue
        elif "Function properties for" in line:
            own = line.rstrip().endswith(row["mangled"])  # else: of a function that the kernel calls
        elif own and (found := STACK.search(line)):
            row |= {"stack": int(found[1]), "spill_stores": int(found[2]), "spill_loads": int(found[3])}
        elif found := USED.search(line):
            shared = SHARED.search(line)
            row |= {"registers": int(found[1]), "shared": int(shared[1]) if shared else 0}
            row = None
    return [r for r in rows if r["mangled"].startswith("_ZN2gs") and "registers" in r]


def name_all(rows: list[dict]) -> list[dict]:
    if rows:
        names = subprocess.run(["c++filt"], input="\n".join(r["mangled"] for r in rows), text=True, check=True,
                               capture_output=True).stdout.splitlines()
        for row, name in zip(rows, names):
            row["kernel"] = readable(name)
    return sorted(rows, key=lambda r: (r["file"], r["kernel"]))


def cuda_objects(build: pathlib.Path) -> list[tuple[str, pathlib.Path, list[str], str]]:
    """(source, object, command, folder of the command) of every .cu file of the CUDA backend."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        command = entry["command"].split()
        target = command[command.index("-o") + 1]
        if entry["file"].endswith(".cu") and "gs_cuda.dir/" in target:
            file = pathlib.Path(entry["file"]).resolve().relative_to(ROOT).as_posix()
            found.append((file, pathlib.Path(entry["directory"]) / target, command, entry["directory"]))
    return found


def built(build: pathlib.Path) -> list[dict]:
    rows = []
    for file, target, _, _ in cuda_objects(build):
        said = target.with_name(target.name + ".ptxas")
        if not said.exists():
            sys.exit(f"kernel_table: {said} is missing; build the target gs_cuda first")
        rows += parse(file, said.read_text(encoding="utf-8"))
    return name_all(rows)


def toolkit(build: pathlib.Path) -> str:
    for file in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        if found := re.search(r'CMAKE_CUDA_COMPILER_VERSION "([\d.]+)"', file.read_text(encoding="utf-8")):
            return found[1]
    return "unknown"


def load_stored(path: pathlib.Path) -> tuple[dict, list[dict]]:
    """The first line says of which toolkit and architecture the rest is."""
    head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    about = dict(word.split("=") for word in head.removeprefix("# ").split())
    rows = list(csv.DictReader(rest.splitlines()))
    for row in rows:
        row.update({k: int(row[k]) for k in FIELDS[2:]})
    return about, rows


def compare(now: list[dict], stored: list[dict], same_toolkit: bool) -> list[str]:
    """What is wrong, a line each."""
    wrong = []
    before = {(r["file"], r["kernel"]): r for r in stored}
    for row in now:
        key = (row["file"], row["kernel"])
        is_blend = pathlib.PurePosixPath(row["file"]).name.startswith("blend")
        if is_blend and row["spill_stores"] + row["spill_loads"] > 0:
            wrong.append(f"{row['kernel']} ({row['file']}) spills: {row['spill_stores']} bytes stored, "
                         f"{row['spill_loads']} loaded")
        if key not in before:
            wrong.append(f"{row['kernel']} ({row['file']}) is not in the table")
        elif same_toolkit and row["registers"] > before[key]["registers"] + GROWTH:
            wrong.append(f"{row['kernel']} ({row['file']}) uses {row['registers']} registers, "
                         f"{before[key]['registers']} in the table")
    there = {(r["file"], r["kernel"]) for r in now}
    return wrong + [f"{kernel} ({file}) is in the table, but not in the build" for file, kernel in before if
                    (file, kernel) not in there]


def markdown(rows: list[dict], about: str) -> str:
    lines = [f"{about}.", "", "| kernel | file | registers | shared memory (bytes) | stack (bytes) | spilled: stores, loads (bytes) |",
             "| --- | --- | ---: | ---: | ---: | ---: |"]
    for r in rows:
        lines.append(f"| `{r['kernel']}` | {r['file']} | {r['registers']} | {r['shared']} | {r['stack']} | "
                     f"{r['spill_stores']}, {r['spill_loads']} |")
    return "\n".join(lines)


def write_between(page: pathlib.Path, begin: str, end: str, text: str) -> None:
    """Replaces what stands between two marks of a page."""
    old = page.read_text(encoding="utf-8")
    head, _, rest = old.partition(begin)
    _, _, tail = rest.partition(end)
    page.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def update(rows: list[dict], version: str, architecture: str) -> None:
    with STORED.open("w", encoding="utf-8", newline="") as out:
        out.write(f"# toolkit={version} architecture={architecture}\n")
        writer = csv.DictWriter(out, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    about = f"CUDA toolkit {version}, architecture {architecture}, {len(rows)} kernels"
    write_between(PAGE, BEGIN, END, markdown(rows, about))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--architecture", default="90", help="architecture of the kernels [90]")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true")
    action.add_argument("--update", action="store_true")
    arguments = parser.parse_args()

    version, architecture = toolkit(arguments.build), arguments.architecture
    rows = [r for r in built(arguments.build) if r["architecture"] == architecture]
    if not rows:
        print(f"kernel_table: this build has no code for architecture {architecture}")
        return SKIPPED if arguments.check else 1
    if arguments.update:
        update(rows, version, architecture)
        return 0
    if not arguments.check:
        print(markdown(rows, f"CUDA toolkit {version}, architecture {architecture}, {len(rows)} kernels"))
        return 0
    about, stored = load_stored(STORED)
    same = about["toolkit"] == version
    wrong = compare(rows, stored, same)
    print("\n".join(wrong + [f"kernel_table: {len(rows)} kernels, {len(wrong)} complaints" +
                             ("" if same else f"; registers not compared: toolkit {version}, table of {about['toolkit']}")]))
    if wrong:
        print("if this is intended, run tools/kernel_table.py BUILD --update")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
