"""The archive that tools/gpu_check --pack makes for a bare machine: the program, stripped, with the libraries it needs, these
tools, what is known of earlier measurements, and captures where there is space. And what of it a repository has already."""
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import gpu_check_kernels as kernels

COUNTED = [80, 89, 90, 100, 120]  # architectures of assets/gpu/kernel_costs.csv
# Of --data, in the order of their worth, as long as they fit.
DATA = ["captures/fox", "splats/fox_trained", "captures/lego", "captures/brighton_aerial", "captures/shutter_box"]
PACKED = 0.97                   # photos and trained splats hardly shrink
HEADROOM = 1 << 20
PRESET = 6                      # 9 takes three times as long for 2 % less
PROGRAM = 0.36                  # of the stripped program and its libraries, with something to spare


def fill(root: pathlib.Path, build: pathlib.Path | None, folder: pathlib.Path) -> None:
    """Earlier measurements, and hashes of today's kernels: by counts and, where there is a build, by code."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in kernels.newest(root / "docs/measurements"):
        shutil.copy(file, folder / file.name)
    shutil.copy(root / "assets/gpu/measured_times.json", folder / "measured_times.json")
    kernels.store(folder / "kernels_now.csv", kernels.today(architecture_of(build), build))


def architecture_of(build: pathlib.Path | None) -> int:
    """Whose code is compared: 90 where the build has it, else the newest it has that was counted."""
    commands = build / "compile_commands.json" if build else None
    built = {int(n) for n in re.findall(r"code=\[?(?:compute_\d+,)?sm_(\d+)", commands.read_text(encoding="utf-8"))} \
        if commands and commands.exists() else set()
    return max((n for n in built if n in COUNTED and n != 90), default=90) if 90 not in built else 90


def size_of(folder: pathlib.Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def copy_program(root: pathlib.Path, build: pathlib.Path, folder: pathlib.Path) -> None:
    import bundle  # pylint: disable=import-outside-toplevel
    program, injection = build / "gausscope", build / "libgausscope_inject.so"
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    operators = build / "lib/libgausscope_ops.so"
    bundle.copy_libraries(bundle.needed_by(program), folder / "lib")
    for file, to in ((program, folder / "bin/gausscope"), (injection, folder / "lib" / injection.name),
                     (operators, folder / "lib" / operators.name)):
        subprocess.run(["strip", "--strip-unneeded", "-o", str(to), str(file)], check=True)
    ours = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "assets/pytorch", folder / "share/gausscope/pytorch", ignore=ours)
    shutil.copytree(root / "python/gausscope", folder / "python/gausscope", ignore=ours)


def copy_tools(root: pathlib.Path, folder: pathlib.Path) -> None:
    (folder / "tools").mkdir()
    for file in sorted((root / "tools").glob("gpu_check*")):
        if file.is_file():
            shutil.copy(file, folder / "tools" / file.name)
    shutil.copy(root / "docs/gpu_check.md", folder / "README.md")


def write(folder: pathlib.Path, archive: pathlib.Path) -> None:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry
    with tarfile.open(archive, "w:xz", preset=PRESET) as out:
        out.add(folder, "gausscope_gpu_check", filter=plain)


def add_data(folder: pathlib.Path, data: pathlib.Path | None, space: float) -> list[str]:
    taken = []
    for name in DATA:
        source = data / name if data else None
        if source and source.is_dir() and size_of(source) * PACKED < space:
            shutil.copytree(source, folder / "data" / name)
            space -= size_of(source) * PACKED
            taken.append(name)
    return taken


def pack(root: pathlib.Path, build: pathlib.Path, archive: pathlib.Path, data: pathlib.Path | None, limit: int) -> int:
    build = build.resolve()
    for target, file in (("gausscope", "gausscope"), ("gausscope_ops", "lib/libgausscope_ops.so")):
        if not (build / file).is_file():
            print(f"gpu_check: no {file} in {build}: build {target} first, or use --build DIR")
            return 2
    with tempfile.TemporaryDirectory(prefix="gpu_check_") as temporary:
        folder = pathlib.Path(temporary) / "gausscope_gpu_check"
        copy_program(root, build, folder)
        copy_tools(root, folder)
        known = folder / "share/gpu_check"
        fill(root, build, known)
        taken = add_data(folder, pathlib.Path(data) if data else None, limit - HEADROOM - PROGRAM * size_of(folder))
        write(folder, archive)
        packed, unpacked = archive.stat().st_size, size_of(folder)
    print(f"gpu_check: {archive}: {packed / 2**20:.1f} MiB packed, {unpacked / 2**20:.1f} MiB unpacked; data: "
          f"{', '.join(taken) or 'none'}")
    if packed > limit:
        print(f"gpu_check: that is over {limit >> 20} MiB; build for one architecture: -DGAUSSCOPE_CUDA_ARCHITECTURES=90")
        return 1
    return 0
