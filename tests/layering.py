#!/usr/bin/env python3
"""Fails on a forbidden #include, on a cycle of folders, on two types of one name, and on a stale table in
docs/architecture.md.

layering.py [ROOT]            checks
layering.py [ROOT] --write    writes the table into docs/architecture.md

A folder may include itself, the folders that its row names, and with "renderer/io/*" every folder below that one.
"""
import pathlib
import re
import sys

# folder: (its purpose, folders it may include)
ROOMS = {
    "base/record": ("record ABI, ring and spans; also loaded into other processes", []),
    "base": ("errors, files, mailboxes, vectors, parallel loops, text and number formatting", ["base/record"]),
    "base/mpi": ("libgausscope_mpi.so: the ranks' messages by MPI", ["base"]),
    "renderer/math": ("pure functions `f` with their gradients `f_vjp`, for any scalar, host and device", ["base"]),
    "renderer/scene": ("GaussianModel, Camera, Image, Capture, Finding", ["base", "renderer/math"]),
    "renderer/device": ("interface of a device", ["base", "base/record"]),
    "renderer/device/cuda": ("CUDA: runtime, launch, memory, timers", ["base", "base/record", "renderer/device"]),
    "renderer/io/files": ("reading and writing records, archives, bytes and text", ["base"]),
    "renderer/io/images": ("pictures: JPEG, PNG, WebP, TIFF", ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/splats": ("splat formats (one pair of files each) and sets of levels",
                           ["base", "base/record", "renderer/scene", "renderer/io/files", "renderer/io/images"]),
    "renderer/io/lidar": ("lidar sweeps: KITTI, nuScenes, Ouster",
                          ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/captures": ("COLMAP, transforms.json, OpenSfM, drives, photos",
                             ["base", "base/record", "renderer/scene", "renderer/io/files", "renderer/io/images",
                              "renderer/io/splats", "renderer/io/lidar"]),
    "renderer/io/paths": ("camera paths: gausscope's and nerfstudio's", ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/video": ("writes videos; loads the library that links libav", ["base", "renderer/scene"]),
    "renderer/io/video/libav": ("libgausscope_video.so: video encoding", ["renderer/io/video"]),
    "renderer/doctor": ("finds and fixes faults of models and captures",
                        ["base", "renderer/scene", "renderer/io/*"]),
    "renderer/edit": ("selection and undoable edits",
                      ["base", "renderer/math", "renderer/scene"]),
    "renderer/reference": ("reference renderer: serial, double precision", ["base", "renderer/math", "renderer/scene"]),
    "renderer/raster": ("interface and rules of the rasterizer",
                        ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene"]),
    "renderer/raster/cpu": ("CPU rasterizer with SIMD, one file per stage",
                            ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene",
                             "renderer/raster"]),
    "renderer/raster/cuda": ("CUDA rasterizer, one file per stage",
                             ["base", "base/record", "renderer/math", "renderer/device", "renderer/device/cuda",
                              "renderer/scene", "renderer/raster"]),
    "renderer/rays": ("exact evaluation along rays, with tiles of angles",
                      ["base", "renderer/math", "renderer/scene", "renderer/raster", "renderer/raster/cpu", "renderer/maps"]),
    "renderer/inspect": ("explains a pixel: the rasterizer's lists with the reference's arithmetic",
                         ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene",
                          "renderer/raster", "renderer/reference"]),
    "renderer/maps": ("pictures for display: colour maps, errors, draw styles",
                      ["base", "base/record", "renderer/math", "renderer/scene", "renderer/raster"]),
    "renderer/problems": ("finds where a model differs from its photos: regions, Gaussians, floaters, holes",
                          ["base", "base/record", "renderer/math", "renderer/scene", "renderer/io/images",
                           "renderer/raster", "renderer/maps"]),
    "renderer/present": ("shows pictures as OpenGL textures; the renderer's only use of OpenGL",
                         ["base", "renderer/device", "renderer/scene"]),
    "renderer/present/cuda": ("shows pictures without leaving the GPU",
                              ["base", "renderer/device", "renderer/device/cuda", "renderer/scene",
                               "renderer/present"]),
    "trainer/settings": ("settings, schedules and strategies of a run", ["base", "base/record", "renderer/scene", "renderer/raster"]),
    "trainer/loss": ("the loss with its gradient, and scores of pictures",
                     ["base", "base/record", "renderer/math", "renderer/scene", "renderer/raster", "trainer/settings"]),
    "trainer/adam": ("lazy Adam, the 3D filter, gradients of batches",
                     ["base", "base/record", "renderer/math", "renderer/scene", "renderer/raster", "trainer/settings"]),
    "trainer/lidar": ("beams of lidars: loss and score",
                      ["base", "base/record", "renderer/math", "renderer/scene", "renderer/io/*", "renderer/raster",
                       "renderer/rays", "trainer/settings"]),
    "trainer/poses": ("camera poses that are refined, and how well photos tell them",
                      ["base", "renderer/math", "renderer/scene", "renderer/io/*", "renderer/raster", "trainer/loss"]),
    "trainer/density": ("what a run has learned, by row, and the rounds that add, move and remove rows",
                        ["base", "base/record", "renderer/math", "renderer/scene", "renderer/io/*", "renderer/raster",
                         "trainer/settings", "trainer/loss", "trainer/adam", "trainer/poses"]),
    "trainer": ("the step and its CPU backend, checkpoints",
                ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene", "renderer/io/*",
                 "renderer/raster", "renderer/rays", "trainer/settings", "trainer/loss", "trainer/adam", "trainer/lidar",
                 "trainer/poses", "trainer/density"]),
    "trainer/replay": ("steps that are captured and repeated",
                       ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene", "renderer/io/*",
                        "renderer/raster", "renderer/rays", "trainer", "trainer/*"]),
    "trainer/run": ("a whole run: its folder, records, snapshots, pictures",
                    ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene", "renderer/io/*",
                     "renderer/raster", "renderer/rays", "trainer", "trainer/*"]),
    "trainer/ranks": ("one training by several processes",
                      ["base", "base/record", "renderer/math", "renderer/scene", "renderer/io/*", "renderer/raster",
                       "renderer/rays", "trainer", "trainer/*"]),
    "trainer/cuda": ("the trainer on a CUDA device",
                     ["base", "base/record", "renderer/math", "renderer/device", "renderer/device/cuda",
                      "renderer/scene", "renderer/raster", "renderer/raster/cuda", "renderer/rays", "trainer",
                      "trainer/*"]),
    "profiler/inject": ("records NVTX and CUPTI inside other processes", ["base/record"]),
    "profiler/store": ("TraceStore: events, tracks, statistics, names of stages", ["base", "base/record"]),
    "profiler/collect": ("reads rings and NVML into the store: readers, clocks, collectors",
                         ["base", "base/record", "profiler/store"]),
    "profiler/sample": ("call stacks of other processes: perf events, unwinding, CPython's memory",
                        ["base", "base/record", "profiler/store"]),
    "profiler/analysis": ("walks, totals, iterations, breakdown, comparison, cost model",
                          ["base", "base/record", "profiler/store"]),
    "profiler/predict": ("predicts how long the kernels take on another GPU",
                         ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/insights": ("rules that find possible speedups",
                          ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/files": ("trace formats, one pair of files each",
                       ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/history": ("times over weeks, and when they changed",
                         ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/serve": ("the per-node daemon",
                       ["base", "base/record", "profiler/store", "profiler/collect", "profiler/analysis",
                        "profiler/insights", "profiler/files", "profiler/history"]),
    "panels/state": ("data of panels: Snapshot in, Commands out",
                     ["base", "base/record", "renderer/scene", "renderer/maps", "renderer/inspect", "renderer/problems",
                      "profiler/store", "profiler/analysis", "profiler/predict"]),
    "panels/widgets": ("building blocks of panels",
                       ["base", "base/record", "renderer/scene", "renderer/maps", "panels/state"]),
    "panels/timeline": ("the timeline",
                        ["base", "base/record", "profiler/store", "profiler/analysis", "panels/state",
                         "panels/widgets"]),
    "panels/viewport": ("the picture and its overlays",
                        ["base", "renderer/scene", "renderer/maps", "renderer/inspect", "panels/state",
                         "panels/widgets"]),
    "panels/trace": ("panels of times: stages, statistics, insights, flame graph, memory",
                     ["base", "base/record", "profiler/store", "profiler/analysis", "profiler/predict", "profiler/insights",
                      "panels/state", "panels/widgets", "panels/timeline"]),
    "panels/scene": ("panels of the scene: photos, doctor, problems, selection, pixels, lidar, film",
                     ["base", "base/record", "renderer/scene", "renderer/maps", "renderer/inspect", "renderer/problems",
                      "panels/state", "panels/widgets", "panels/viewport"]),
    "panels/training": ("panels of the training: settings, plots, time lapse, lab",
                        ["base", "base/record", "renderer/scene", "renderer/maps", "panels/state", "panels/widgets"]),
    "panels": ("the workspace, its bars, menus and dialogs",
               ["base", "base/record", "renderer/scene", "renderer/maps", "renderer/inspect", "renderer/problems", "profiler/store",
                "profiler/analysis", "profiler/predict", "profiler/insights", "panels/*"]),
    "python/native": ("libgausscope_ops.so: the C interface of the Python module",
                      ["base", "renderer/math", "renderer/scene", "renderer/raster", "renderer/io/*", "renderer/device",
                       "renderer/raster/cuda"]),
    "app": ("the program", ["*"]),
    "tests": ("all tests and their support code", ["*"]),
}
# Folders inside the app and what they may include, besides every folder outside the app.
APP = {
    "app/window": [],
    "app/sample": [],
    "app/backend": [],
    "app/paths": [],
    "app/bundle": ["app/paths"],
    "app/lab": ["app/bundle", "app/sample"],
    "app/verify": [],
    "app/session": ["app/backend", "app/bundle", "app/lab", "app/paths", "app/sample", "app/verify"],
    "app/studio": ["app/bundle", "app/paths", "app/session", "app/window", "app/backend"],
    "app/commands": ["app/paths", "app/session", "app/studio"],
    "app/cli": ["app/backend", "app/bundle", "app/lab", "app/paths", "app/sample", "app/verify", "app/session", "app/commands", "app/studio", "app/window"],
    "app": ["app/cli"],
}
# Third-party headers that only some folders may see.
RESTRICTED = {
    r"^imgui": ("panels", "app", "tests"),
    r"^GLFW/": ("app", "tests"),
    r"^glad/": ("renderer/present", "app", "tests"),
    r"^EGL/": ("app", "tests"),
    r"^CLI/": ("app/cli", "tests"),
    r"^lib(av|sw)\w+/": ("renderer/io/video/libav", "tests"),
    r"^sqlite3": ("profiler/history", "profiler/files", "tests"),
}
STD_ONLY = ("base/record", "profiler/inject")
POSIX = re.compile(r"^(sys/|dlfcn\.h|link\.h|sched\.h|signal\.h|poll\.h|unistd\.h|fcntl\.h|linux/|pthread\.h|time\.h|"
                   r"x86intrin\.h|immintrin\.h|nvtx3/|errno\.h)")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def room_of(path: str) -> str | None:
    """The innermost folder of the table that contains `path`."""
    rooms = [room for room in [*ROOMS, *APP] if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def may_include(room: str, other: str) -> bool:
    if room == other:
        return True
    if room in APP:
        return other in APP[room] if other in APP else True
    allowed = ROOMS[room][1]
    return any(other == a or a == "*" or (a.endswith("/*") and other.startswith(a[:-1])) for a in allowed)


def includes(root: pathlib.Path):
    """(file, its folder, line number, bracket, target) of every #include."""
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in SUFFIXES or path.startswith(("build", "out", ".")):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if match:
                yield path, room_of(path), number, match.group(1), match.group(2)


def violations(root: pathlib.Path, arrows: dict):
    for path, room, number, bracket, target in includes(root):
        place = f"{path}:{number}"
        if room is None:
            yield f"{path}: is in no folder of the table"
        elif bracket == '"' and not target.startswith("imgui"):
            other = room_of(target)
            if other is None:
                beside = (root / path).parent.joinpath(target).exists()
                if not beside and not room.startswith(("tests", "app")):
                    yield f'{place}: "{target}" is not written from the root'
                continue
            if other != room and room != "tests":
                arrows.setdefault(room, {}).setdefault(other, f"{place} includes {target}")
            if not may_include(room, other):
                yield f"{place}: {room} may not include {other} ({target})"
        else:
            for pattern, folders in RESTRICTED.items():
                if re.match(pattern, target) and not room.startswith(folders):
                    yield f"{place}: {room} may not include <{target}>"
            if room in STD_ONLY and "/" in target and not POSIX.match(target):
                yield f"{place}: {room} may include the standard library only, not <{target}>"


# JSON is parsed in one place, which limits its nesting; traces have a reader of their own.
PARSERS = ("base/json_text.h", "profiler/files/import_chrome.cpp")


def parsers(root: pathlib.Path):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in SUFFIXES or path.startswith(("build", "out", ".", "tests/")) or path in PARSERS:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"json::(parse|accept|sax_parse|from_\w+)\(", line, re.IGNORECASE):
                yield f"{path}:{number}: JSON is parsed by parse_json() of base/json_text.h, which limits its nesting"


def circle(arrows: dict) -> list[str] | None:
    """Folders that lead back to the first of them."""
    done: set[str] = set()

    def walk(room: str, way: list[str]) -> list[str] | None:
        if room in way:
            return way[way.index(room):] + [room]
        if room in done:
            return None
        for other in arrows.get(room, {}):
            if found := walk(other, way + [room]):
                return found
        done.add(room)
        return None

    return next((found for room in arrows if (found := walk(room, []))), None)


def folders_of(arrows: dict) -> dict:
    """The same arrows between the folders at the top."""
    top: dict = {}
    for room, others in arrows.items():
        for other, why in others.items():
            a, b = room.split("/")[0], other.split("/")[0]
            if a != b:
                top.setdefault(a, {}).setdefault(b, why)
    return top


def twins(root: pathlib.Path):
    """Types that two files define under one name: the linker keeps one of their functions and says nothing."""
    places: dict = {}
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix not in SUFFIXES or path.startswith(("build", "out", ".", "tests/")) or "/absent/" in path:
            continue
        depth, names = 0, []  # names: (depth, name) of the namespaces around the line
        for line in file.read_text(encoding="utf-8").splitlines():
            code = line.split("//")[0]
            if space := re.match(r"namespace\s*([\w:]*)\s*\{", code):
                names.append((depth, space.group(1)))
            elif depth == (names[-1][0] + 1 if names else 0) and all(name for _, name in names):
                if found := re.match(r"(?:struct|class|enum class|enum) (\w+)(?: final)?\b(?!::)(?!.*;\s*$)", code):
                    places.setdefault("::".join([*(name for _, name in names), found.group(1)]), set()).add(path)
            depth += code.count("{") - code.count("}")
            while names and depth <= names[-1][0]:
                names.pop()
    for name, files in places.items():
        if len(files) > 1:
            yield f"{name} is two types: {', '.join(sorted(files))}"


def table() -> str:
    rows = ["| folder | purpose | may include |", "| --- | --- | --- |"]
    for room, (what, allowed) in ROOMS.items():
        names = ", ".join(a.replace("*", "…") for a in allowed)
        names = {"": "the standard library", "…": "everything"}.get(names, names)
        rows.append(f"| `{room}` | {what} | {names} |")
    return "\n".join(rows) + "\n"


def document(root: pathlib.Path, write: bool):
    """The table between its two marks in docs/architecture.md; yields what is wrong with it."""
    page = root / "docs/architecture.md"
    begin, end = "<!-- folders: tests/layering.py --write -->\n", "<!-- end of folders -->\n"
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        yield f"{page}: the marks of the table of folders are missing"
        return
    head, rest = text.split(begin, 1)
    now, tail = rest.split(end, 1)
    if write:
        page.write_text(head + begin + table() + end + tail, encoding="utf-8")
    elif now != table():
        yield f"{page}: its table of folders is stale; update it with tests/layering.py --write"
    for room in [*ROOMS, *APP]:
        if not (root / room).is_dir():
            yield f"{room}: a folder of the table that does not exist"


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    arrows: dict = {}
    found = list(violations(root, arrows))
    for graph in (arrows, folders_of(arrows)):
        if way := circle(graph):
            found.append("a circle: " + " -> ".join(way))
            found += [f"  {graph[a][b]}" for a, b in zip(way, way[1:])]
    found += twins(root)
    found += parsers(root)
    found += document(root, "--write" in sys.argv)
    for line in found:
        print(line)
    print(f"layering: {len(found)} faults among {sum(map(len, arrows.values()))} arrows of {len(ROOMS) + len(APP) - 1} folders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
