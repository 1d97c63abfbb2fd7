#!/usr/bin/env python3
"""Counts what one trip through each loop of each kernel costs, from the machine code (SASS) that nvcc made.

sass_costs.py BUILD [KERNEL]   prints the loops of the build's kernels, or of those whose names contain KERNEL
sass_costs.py BUILD --check    compares them with assets/gpu/kernel_costs.csv; exit code 1 and the reasons when
                               - a loop issues over 2 instructions and over 5 % more than the table says,
                               - a loop waits for memory more often (load-wait rounds),
                               - a kernel is new, gone, or has other loops,
                               - over 1 % of the instructions are unknown, a branch goes to no instruction, or much of a kernel
                                 is not reached: then the decoder is wrong.
                               77: this build has no code for an architecture of the table.
sass_costs.py BUILD --update   compiles the kernels for the other architectures of the table too, stores it, and writes the
                               loops that matter into docs/kernels.md. The compiler cache keeps what has not changed.
sass_costs.py BUILD --update --files A.cu,B.cu
                               only these, by the ends of their names: the rest of the table stays as it is. For a change
                               whose other kernels --check has found to be the same.

Counted, not measured: nothing here has run. docs/kernels.md says what the columns mean; sass_flow.py how they are found.
Another toolkit makes other code: its figures are read and checked for sense, but not compared.
Kernels of libraries (sort and scan) are left out: they come with the toolkit.
"""
import argparse
import bisect
import collections
import csv
import pathlib
import shutil
import struct
import subprocess
import sys

import kernel_table
import sass_code
import sass_flow
import sass_operations as ops

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "assets/gpu/kernel_costs.csv"
PAGE = ROOT / "docs/kernels.md"
BEGIN, END = "<!-- table: tools/sass_costs.py BUILD --update -->", "<!-- end of loops -->"
ARCHITECTURES = (80, 89, 90, 100, 120)
WHERE = ("architecture", "file", "kernel", "loop", "parent", "depth", "line")
CLASSES = tuple(c for c in ops.CLASSES if c != "uniform")
NUMBERS = ("issue",) + CLASSES + ("stall", "rounds", "least", "uniform", "registers", "shared")
WHOLE = "kernel"  # the row of a kernel as a whole, in the column of loops
GROWTH, GROWTH_SHARE, UNKNOWN_SHARE = 2, 0.05, 0.01
REACHED = 0.6  # of a kernel; the rest repairs what a shuffle among parted lanes needs
HOT = ("blend<(Depths)0, false, false, (Measured)0>", "blend<(Depths)0, false, true, (Measured)0>",
       "blend_backward<false, false>", "project<false, false, false>", "project<true, false, false>",
       "project<false, false, true>",
       "project_backward<AdamSink, true>", "photo_loss", "emit<unsigned short>", "radix_pass<unsigned short>")
SKIPPED = kernel_table.SKIPPED


def line_of(kernel: sass_code.Kernel, loop: sass_flow.Loop, file: str) -> str:
    """`blend.cu:72`: where the loop's first instruction that was written in `file` itself comes from, else in our headers."""
    if not kernel.lines or not loop.own:
        return ""
    begins = sorted(kernel.lines)
    lines = [kernel.lines[begins[max(0, bisect.bisect_right(begins, n) - 1)]] for n in loop.own]
    wanted = (pathlib.PurePosixPath(file).name, ".cuh", ".h")
    name, line = next((at for suffix in wanted for at in lines if at[0].endswith(suffix)), lines[0])
    return f"{name}:{line}"


def rows_of(kernel: sass_code.Kernel, file: str, faults: list[str]) -> list[dict]:
    """The kernel as a whole, the code outside loops, and its loops."""
    flow = sass_flow.Flow(kernel)
    name = f"{kernel.mangled} ({file}, architecture {kernel.architecture})"
    faults += [f"{name}: the branch at instruction {n} goes to {target}, of {len(kernel.code)}" for n, target in flow.off]
    if (share := flow.reached_share()) < REACHED:
        faults.append(f"{name}: only {share:.0%} of it is reached from its start")
    rows = []
    for loop in sass_flow.loops_of(flow):
        code = [kernel.code[n] for n in loop.own]
        kinds = collections.Counter((ops.kind_of(i.operation, kernel.architecture) or ("", "other"))[1] for i in code)
        rows.append({"loop": str(loop.index), "parent": loop.parent, "depth": loop.depth, "line": line_of(kernel, loop, file),
                     "issue": len(code), **{c: kinds[c] for c in ops.CLASSES}, "stall": sum(i.stall for i in code),
                     "rounds": loop.rounds, "least": loop.least})
    sums = {c: sum(r[c] for r in rows) for c in ("issue", "stall", "least") + ops.CLASSES}
    whole = {"loop": WHOLE, "parent": 0, "depth": 0, "line": "", **sums, "rounds": sass_flow.rounds_once(flow),
             "registers": kernel.registers, "shared": kernel.shared}
    about = {"architecture": kernel.architecture, "file": file, "mangled": kernel.mangled}
    return [about | r for r in [whole] + rows]


def in_order(rows: list[dict]) -> list[dict]:
    def place(row):
        return row["architecture"], row["file"], row["kernel"], -1 if row["loop"] == WHOLE else int(row["loop"])
    return sorted(rows, key=place)


class Found:
    """What objects hold: rows of the table, and what is wrong with them."""

    def __init__(self):
        self.rows, self.faults, self.unknown, self.instructions = [], [], collections.Counter(), 0

    def read(self, file: str, target: pathlib.Path) -> None:
        if not target.exists():
            sys.exit(f"sass_costs: {target} is missing; build the target gs_cuda first")
        try:
            self.read_object(file, target.read_bytes())
        except (sass_code.BadCode, struct.error, IndexError) as error:
            sys.exit(f"sass_costs: {target} is not read: {error}")

    def read_object(self, file: str, data: bytes) -> None:
        for kind, architecture, content in sass_code.fat_entries(data):
            if kind != sass_code.ELF_ENTRY or architecture not in ARCHITECTURES:
                continue
            for kernel in sass_code.kernels(content, architecture, lambda name: name.startswith("_ZN2gs")):
                self.instructions += len(kernel.code)
                self.unknown.update((architecture, i.operation) for i in kernel.code
                                    if ops.kind_of(i.operation, architecture) is None)
                self.rows += rows_of(kernel, file, self.faults)

    def named(self) -> list[dict]:
        return in_order(kernel_table.name_all(self.rows))

    def complaints(self) -> list[str]:
        listed = ", ".join(f"{number:#05x} of architecture {a}: {n}" for (a, number), n in self.unknown.most_common())
        if sum(self.unknown.values()) > UNKNOWN_SHARE * self.instructions:
            return self.faults + [f"unknown instructions, over 1 % of {self.instructions}: {listed}; "
                                  "tools/sass_operations.py gives them names"]
        if listed:
            print(f"unknown instructions, of {self.instructions}: {listed}")
        return self.faults


def built(build: pathlib.Path) -> Found:
    found = Found()
    for file, target, _, _ in kernel_table.cuda_objects(build):
        found.read(file, target)
    return found


def compile_others(build: pathlib.Path, found: Found, files: tuple[str, ...]) -> None:
    """The build's kernels once more, for the architectures that it has no code for; of `files`, or without any of all."""
    present = {r["architecture"] for r in found.rows}
    flags = [f"--generate-code=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES if a not in present]
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    for file, _, command, folder in kernel_table.cuda_objects(build) if flags else []:
        if files and not file.endswith(files):
            continue
        target = build / "sass_costs" / (file + ".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        first = next(n for n, word in enumerate(command) if word.startswith("--generate-code"))
        words = [word for word in command if not word.startswith("--generate-code")]
        words[first:first] = flags
        words[words.index("-o") + 1] = str(target.resolve())
        print(f"compiling {file}", flush=True)
        done = subprocess.run(cache + words, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"sass_costs: {file} does not compile for {', '.join(flags)}:\n{done.stderr}")
        found.read(file, target)


def load_stored(path: pathlib.Path) -> tuple[str, list[dict]]:
    """The first line says of which toolkit the rest is."""
    head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    rows = list(csv.DictReader(rest.splitlines()))
    for row in rows:
        row.update({k: int(row[k]) for k in ("architecture", "parent", "depth") + NUMBERS if row[k] != ""})
    return head.removeprefix("# toolkit="), rows


def by_kernel(rows: list[dict]) -> dict[tuple, dict[str, dict]]:
    found = collections.defaultdict(dict)
    for row in rows:
        found[row["architecture"], row["file"], row["kernel"]][row["loop"]] = row
    return found


def grew(now: dict, before: dict) -> list[str]:
    where = {WHOLE: "as a whole", "0": "outside loops"}.get(now["loop"], f"loop {now['loop']} ({now['line']})")
    name = f"{now['kernel']} ({now['file']}, architecture {now['architecture']}), {where}"
    found = []
    if now["loop"] != WHOLE and now["issue"] > before["issue"] + max(GROWTH, GROWTH_SHARE * before["issue"]):
        found.append(f"{name}: {now['issue']} instructions, {before['issue']} in the table")
    if now["rounds"] > before["rounds"]:
        found.append(f"{name}: waits for memory {now['rounds']} times in a row, {before['rounds']} in the table")
    return found


def compare(now: list[dict], stored: list[dict]) -> list[str]:
    """What is wrong, a line each. Only architectures that `now` has are looked at."""
    present = {r["architecture"] for r in now}
    after, before = by_kernel(now), by_kernel([r for r in stored if r["architecture"] in present])
    wrong = []
    for key, loops in after.items():
        name = f"{key[2]} ({key[1]}, architecture {key[0]})"
        if key not in before:
            wrong.append(f"{name} is not in the table")
        elif [(k, r["parent"]) for k, r in loops.items()] != [(k, r["parent"]) for k, r in before[key].items()]:
            wrong.append(f"{name} has other loops: {len(loops) - 2}, {len(before[key]) - 2} in the table")
        else:
            wrong += [w for k in loops for w in grew(loops[k], before[key][k])]
    return wrong + [f"{key[2]} ({key[1]}, architecture {key[0]}) is in the table, but not in the build"
                    for key in before if key not in after]


def markdown(rows: list[dict], architecture: int = 90) -> str:
    """The loops of the kernels that most time goes into; in brackets the shortest way through a trip."""
    table = by_kernel(rows)
    others = [a for a in ARCHITECTURES if a != architecture and any(r["architecture"] == a for r in rows)]
    shown = [c for c in ("fp32", "half", "int", "uniform", "mufu", "lds", "sts", "ldg", "stg", "shfl", "vote", "control")]
    lines = ["| kernel | loop (in) | line | issue (least) | " + " | ".join(shown) + " | stall | rounds | issue on " +
             ", ".join(map(str, others)) + " |", "| --- | --- | --- | ---: |" + " ---: |" * (len(shown) + 2) + " --- |"]
    for (a, file, kernel), loops in table.items():
        if a != architecture or kernel not in HOT:
            continue
        same_loops = {o: table.get((o, file, kernel), {}) for o in others}
        for loop, r in loops.items():
            if loop == WHOLE:
                continue
            name = "outside" if loop == "0" else f"{loop} ({r['parent']})" if r["parent"] else loop
            there = ", ".join(str(same_loops[o][loop]["issue"]) if len(same_loops[o]) == len(loops) else "-" for o in others)
            lines.append(f"| `{kernel}` | {name} | {r['line']} | {r['issue']} ({r['least']}) | " +
                         " | ".join(str(r[c]) for c in shown) + f" | {r['stall']} | {r['rounds']} | {there} |")
    return "\n".join(lines)


def store(rows: list[dict], version: str) -> None:
    STORED.parent.mkdir(parents=True, exist_ok=True)
    with STORED.open("w", encoding="utf-8", newline="") as out:
        out.write(f"# toolkit={version}\n")
        writer = csv.DictWriter(out, WHERE + NUMBERS, extrasaction="ignore", lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    about = f"CUDA toolkit {version}, architecture 90."
    kernel_table.write_between(PAGE, BEGIN, END, f"{about}\n\n{markdown(rows)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("kernel", nargs="?", help="list only kernels whose names contain this")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true")
    action.add_argument("--update", action="store_true")
    parser.add_argument("--files", default="", help="with --update: only these .cu files, A.cu,B.cu")
    arguments = parser.parse_args()
    files = tuple(f for f in arguments.files.split(",") if f)

    version = kernel_table.toolkit(arguments.build)
    found = built(arguments.build)
    if not found.rows and not arguments.update:
        print(f"sass_costs: this build has no code for an architecture of {', '.join(map(str, ARCHITECTURES))}")
        return SKIPPED if arguments.check else 1
    if arguments.update:
        compile_others(arguments.build, found, files)
        rows, wrong = found.named(), found.complaints()
        if files:
            kept = [r for r in load_stored(STORED)[1] if not r["file"].endswith(files)]
            rows = in_order(kept + [r for r in rows if r["file"].endswith(files)])
        print("\n".join(wrong + [f"sass_costs: {found.instructions} instructions, {len(rows)} rows"]))
        if not wrong:
            store(rows, version)
        return 1 if wrong else 0
    rows = found.named()
    if not arguments.check:
        writer = csv.DictWriter(sys.stdout, WHERE[2:] + NUMBERS, extrasaction="ignore", lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(r for r in rows if (arguments.kernel or "") in r["kernel"])
        return 0
    of, stored = load_stored(STORED)
    wrong = found.complaints() + (compare(rows, stored) if of == version else [])
    print("\n".join(wrong + [f"sass_costs: {found.instructions} instructions, {len(wrong)} complaints" +
                             ("" if of == version else f"; costs not compared: toolkit {version}, table of {of}")]))
    if wrong:
        print("if this is intended, run tools/sass_costs.py BUILD --update")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
