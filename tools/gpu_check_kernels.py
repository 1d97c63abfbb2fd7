#!/usr/bin/env python3
"""Lists kernels whose machine code changed since they were last measured on a GPU.

gpu_check_kernels.py             lists them
gpu_check_kernels.py --check     exit code 1 if the list in docs/gpu_check.md is stale
gpu_check_kernels.py --update    writes the list there

Each measurement leaves a table docs/measurements/DATE-GPU-kernels.csv: of every kernel a hash of what was counted in its
machine code (assets/gpu/kernel_costs.csv, without the lines of source, which comments move) and, where the build was at hand,
one of the machine code itself. Hashes of the code decide where both have one, else those of the counts.
"""
import csv
import dataclasses
import hashlib
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
COSTS = ROOT / "assets/gpu/kernel_costs.csv"
MEASUREMENTS = ROOT / "docs/measurements"
PAGE = ROOT / "docs/gpu_check.md"
BEGIN, END = "<!-- kernels: tools/gpu_check_kernels.py --update -->", "<!-- end of kernels -->"
NOT_COUNTED = ("architecture", "file", "line")  # columns that change without the code


@dataclasses.dataclass
class Prints:
    """Of one build, or of the one that was measured: kernel -> hash."""
    about: dict[str, str]
    counts: dict[str, str]
    code: dict[str, str]


def short_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def counted(path: pathlib.Path, architecture: int) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [r for r in csv.DictReader(lines[1:]) if r["architecture"] == str(architecture)]
    if not rows:
        raise ValueError(f"{path} has no rows of architecture {architecture}")
    texts: dict[str, list[str]] = {}
    for row in rows:
        texts.setdefault(row["kernel"], []).append(",".join(v for k, v in row.items() if k not in NOT_COUNTED))
    return {kernel: short_hash("\n".join(text).encode()) for kernel, text in texts.items()}


def code_of(build: pathlib.Path, architecture: int) -> dict[str, str]:
    """Of the objects of a build's kernels. Empty where it has no nvcc, or no code for the architecture."""
    import kernel_table  # pylint: disable=import-outside-toplevel
    import sass_code  # pylint: disable=import-outside-toplevel
    try:
        objects = kernel_table.cuda_objects(build)
    except (OSError, ValueError):  # no build, or one of other sources
        return {}
    rows = []
    for file, target, _, _ in objects:
        for kind, arch, content in sass_code.fat_entries(target.read_bytes()) if target.exists() else ():
            if kind != sass_code.ELF_ENTRY or arch != architecture:
                continue
            for kernel in sass_code.kernels(content, arch, lambda name: name.startswith("_ZN2gs")):
                text = b"".join(i.low.to_bytes(8, "little") + i.high.to_bytes(8, "little") for i in kernel.code)
                rows.append({"file": file, "mangled": kernel.mangled, "code": short_hash(text)})
    return {row["kernel"]: row["code"] for row in kernel_table.name_all(rows)}


def load(path: pathlib.Path) -> Prints:
    lines = path.read_text(encoding="utf-8").splitlines()
    about = dict(word.split("=", 1) for word in lines[0].removeprefix("#").split())
    rows = list(csv.DictReader(lines[1:]))
    return Prints(about, {r["kernel"]: r["counts"] for r in rows}, {r["kernel"]: r["code"] for r in rows if r["code"]})


def store(path: pathlib.Path, prints: Prints) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write("# " + " ".join(f"{k}={v}" for k, v in prints.about.items()) + "\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["kernel", "counts", "code"])
        for kernel, counts in sorted(prints.counts.items()):
            writer.writerow([kernel, counts, prints.code.get(kernel, "")])


@dataclasses.dataclass
class Changed:
    new: list[str]
    changed: list[str]
    same: list[str]
    gone: list[str]


def compare(now: Prints, measured: Prints) -> Changed:
    def alike(kernel: str) -> bool:
        if kernel in now.code and kernel in measured.code:
            return now.code[kernel] == measured.code[kernel]
        return now.counts[kernel] == measured.counts[kernel]
    known = [k for k in sorted(now.counts) if k in measured.counts]
    return Changed(new=[k for k in sorted(now.counts) if k not in measured.counts],
                   changed=[k for k in known if not alike(k)], same=[k for k in known if alike(k)],
                   gone=[k for k in sorted(measured.counts) if k not in now.counts])


def newest(folder: pathlib.Path) -> list[pathlib.Path]:
    """The newest table of each GPU, oldest first."""
    latest = {}
    for path in sorted(folder.glob("*-kernels.csv")):
        if found := re.fullmatch(r"(\d{4}-\d\d-\d\d)-(.+)-kernels\.csv", path.name):
            latest[found[2]] = path
    return sorted(latest.values())


def names(kernels: list[str]) -> str:
    """`blend<...>` several times is listed once, with how many forms."""
    forms: dict[str, int] = {}
    for kernel in kernels:
        forms[kernel.split("<")[0]] = forms.get(kernel.split("<")[0], 0) + 1
    return ", ".join(f"`{name}`" + (f" ({count} forms)" if count > 1 else "") for name, count in sorted(forms.items())) or "none"


def markdown(now: Prints, measured: Prints) -> str:
    told, about = compare(now, measured), measured.about
    by = "by their machine code" if now.code and measured.code else "by what was counted in their machine code"
    return "\n".join([
        textwrap.fill(f"Last measured on {about['gpu']}, {about['date']}, kernels of commit {about['commit']}; compared {by}, "
                      f"architecture {about['architecture']}, toolkit {about['toolkit']}. Of {len(now.counts)} kernels:", 100), "",
        "| | kernels | |", "| --- | ---: | --- |",
        f"| new, never measured | {len(told.new)} | {names(told.new)} |",
        f"| changed since | {len(told.changed)} | {names(told.changed)} |",
        f"| the same | {len(told.same)} | {names(told.same)} |"])


def today(architecture: int, build: pathlib.Path | None = None) -> Prints:
    head = COSTS.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# toolkit=")
    code = code_of(build, architecture) if build else {}
    return Prints({"architecture": str(architecture), "toolkit": head}, counted(COSTS, architecture), code)


def section() -> str:
    parts = []
    for path in newest(MEASUREMENTS):
        measured = load(path)
        parts.append(markdown(today(int(measured.about["architecture"])), measured))
    return "\n\n".join(parts)


def main() -> int:
    text = section()
    if len(sys.argv) == 1:
        print(text)
        return 0
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    stored, _, after = rest.partition(END)
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
        return 0
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    if stored.strip() == text.strip():
        return 0
    print(f"{PAGE}: its list of changed kernels is not today's. Run tools/gpu_check_kernels.py --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
