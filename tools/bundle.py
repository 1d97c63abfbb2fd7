#!/usr/bin/env python3
"""Makes a folder and a tar.gz that run on other machines: the program, the shared libraries it needs, licences.

bundle.py PROGRAM INJECTION FOLDER      writes FOLDER/ and FOLDER.tar.gz; INJECTION is the library for other programs

Libraries are of three kinds:
  left out   libc and its family, which come with the loader. They decide how old a system may be; the bundle's README names
             the version. The GPU's driver is opened at run time and not needed to start.
  fallback   what an OpenGL driver also brings or uses: C++ runtime, zlib, zstd, X11, EGL's dispatcher. A copy of ours, if
             older, would keep a driver from loading, so the system's own comes first; ours is for servers that have none.
  bundled    the rest.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

LEFT_OUT = re.compile(r"^(ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libnsl|libmvec|linux-vdso)\.so")
FALLBACK = re.compile(r"^(libstdc\+\+|libgcc_s|libz|libzstd|libEGL|libGLdispatch|libGLX|libOpenGL|libGL|libX\w*|libxcb.*|libbsd|"
                      r"libmd|libdrm|libgbm|libffi|libexpat|libwayland-.*)\.so")
DRIVER = re.compile(r"^(libcuda|libnvidia.*|libnvcuvid|libEGL_.*|libGLX_.*|lib.*_dri|libgallium.*)\.so")
PYTORCH = pathlib.Path(__file__).parent.parent / "assets/pytorch"  # what `record --pytorch` puts into Python programs
LARGEST = 40 << 20  # bytes, packed

# Packages that end up inside the program itself: headers, static libraries, fonts.
INSIDE = ["fonts-roboto-unhinted", "fonts-dejavu-core", "libimgui-dev", "libcli11-dev", "nlohmann-json3-dev", "libexpected-dev", "libnanoflann-dev", "libprotozero-dev", "python3-glad"]
COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")

README = """gausscope {version}: trains, shows and explains 3D Gaussian Splatting

    bin/gausscope                 the studio
    bin/gausscope selftest        checks this machine
    bin/gausscope record -- python train.py     records another program
    bin/gausscope --help

Runs on {machine} Linux with glibc {glibc} or newer (see ldd --version; Debian 12 has 2.36, Ubuntu 24.04 has 2.39). {cuda}
Without a GPU everything is computed on the CPU. The studio needs OpenGL 4.5.

share/licenses holds the licences of what is in this folder.
"""
WITH_CUDA = "CUDA is used where an NVIDIA driver is; no toolkit is needed."
WITHOUT_CUDA = "This build is without CUDA."
CUDA_NOTICE = """The CUDA runtime and kernels made with NVIDIA's CUDA toolkit (CUB, sort and scan, among them) are part of the program.
Terms: https://docs.nvidia.com/cuda/eula/ (CUDA runtime library), https://github.com/NVIDIA/cccl/blob/main/LICENSE (CUB).
"""


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic(file: pathlib.Path, tag: str) -> list[str]:
    return re.findall(rf"\({tag}\).*\[(.*)\]", output_of("readelf", "-d", str(file)))


def needed_by(program: pathlib.Path) -> dict[str, pathlib.Path]:
    """Name -> file of every library the program needs, directly or not, but for those left out."""
    places = dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", str(program)), re.M))
    found, queue = {}, [program]
    while queue:
        for name in dynamic(queue.pop(), "NEEDED"):
            if LEFT_OUT.match(name) or name in found:
                continue
            if DRIVER.match(name):
                sys.exit(f"bundle: the program needs {name}, which belongs to a driver")
            if name not in places:
                sys.exit(f"bundle: {name} is not here")
            found[name] = pathlib.Path(places[name]).resolve()
            queue.append(found[name])
    return found


def glibc_of(files: list[pathlib.Path]) -> str:
    versions = {(2, 0)}
    for file in files:
        versions |= {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", output_of("readelf", "-V", str(file)))}
    return ".".join(map(str, max(versions)))


def package_of(file: pathlib.Path) -> str:
    for path in (file, pathlib.Path(str(file).removeprefix("/usr"))):
        found = subprocess.run(["dpkg-query", "-S", str(path)], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"bundle: no package owns {file}; its licence is not known")


def copy_licenses(packages: set[str], folder: pathlib.Path, cuda: bool) -> None:
    folder.mkdir(parents=True)
    wanted = set()
    for package in sorted(packages):
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace")
        (folder / f"{package}.txt").write_text(text, encoding="utf-8")
        wanted |= set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
    for name in sorted(wanted):
        if (COMMON_LICENSES / name).exists():
            shutil.copy(COMMON_LICENSES / name, folder / name)
    if cuda:
        (folder / "cuda.txt").write_text(CUDA_NOTICE, encoding="utf-8")


def copy_libraries(libraries: dict[str, pathlib.Path], folder: pathlib.Path) -> None:
    for name, file in libraries.items():
        if dynamic(file, "RUNPATH"):  # it would look elsewhere than the program says
            sys.exit(f"bundle: {file} has a search path of its own")
        to = folder / "fallback" / name if FALLBACK.match(name) else folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
        to.chmod(0o644)


def pack(folder: pathlib.Path, archive: pathlib.Path) -> None:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry
    with tarfile.open(archive, "w:gz", compresslevel=9) as out:
        out.add(folder, folder.name, filter=plain)
    if archive.stat().st_size > LARGEST:
        sys.exit(f"bundle: {archive.name} is {archive.stat().st_size / 2**20:.1f} MiB, {LARGEST >> 20} are the limit")


def main() -> int:
    program, injection, folder = map(pathlib.Path, sys.argv[1:4])
    archive = folder.with_name(folder.name + ".tar.gz")
    shutil.rmtree(folder, ignore_errors=True)
    libraries = needed_by(program)
    (folder / "bin").mkdir(parents=True)
    shutil.copy(program, folder / "bin/gausscope")
    copy_libraries(libraries, folder / "lib")
    shutil.copytree(PYTORCH, folder / "share/gausscope/pytorch", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["strip", "--strip-unneeded", "-o", str(folder / "lib" / injection.name), str(injection)], check=True)

    cuda = b"cudaLaunchKernel" in program.read_bytes() or b".nv_fatbin" in program.read_bytes()
    owners = {package_of(file) for file in libraries.values()}
    copy_licenses(owners | set(INSIDE), folder / "share/licenses", cuda)

    version = output_of(str(folder / "bin/gausscope"), "--version").split()[-1]
    glibc = glibc_of([program, injection, *libraries.values()])
    (folder / "README").write_text(README.format(version=version, machine=os.uname().machine, glibc=glibc,
                                                 cuda=WITH_CUDA if cuda else WITHOUT_CUDA), encoding="utf-8")
    pack(folder, archive)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    print(f"bundle: {archive}: {archive.stat().st_size / 2**20:.1f} MiB packed, {size / 2**20:.1f} MiB unpacked, "
          f"{len(libraries)} libraries, glibc {glibc} or newer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
