#!/usr/bin/env python3
"""Fails on an #include that the house forbids, on a circle of rooms, on two types of one name, and on a stale table in
docs/architecture.md.

layering.py [ROOT]            checks
layering.py [ROOT] --write    writes the table into docs/architecture.md

A room is a folder. It may include itself, the rooms its row names, and with "renderer/io/*" every room below that one.
"""
import pathlib
import re
import sys

# room: (what it is, rooms it may include)
ROOMS = {
    "base/record": ("record ABI, ring, spans; goes into foreign processes", []),
    "base": ("errors, files, mailboxes, vectors, parallel loops, words and numbers for people", ["base/record"]),
    "renderer/math": ("pure functions, `f` beside `f_vjp`, on any scalar, host and device", ["base"]),
    "renderer/scene": ("GaussianModel, Camera, Image, Capture, Finding", ["base", "renderer/math"]),
    "renderer/device": ("what a device is to the rest", ["base", "base/record"]),
    "renderer/device/cuda": ("CUDA: runtime, launch, memory, timers", ["base", "base/record", "renderer/device"]),
    "renderer/io/files": ("records, archives, bytes and text of files", ["base"]),
    "renderer/io/images": ("pictures: JPEG, PNG, WebP, TIFF", ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/splats": ("splat files, a pair of files a format, and sets of levels",
                           ["base", "base/record", "renderer/scene", "renderer/io/files", "renderer/io/images"]),
    "renderer/io/lidar": ("sweeps of lidars: KITTI, nuScenes, Ouster, and their points",
                          ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/captures": ("COLMAP, transforms.json, OpenSfM, drives, photos",
                             ["base", "base/record", "renderer/scene", "renderer/io/files", "renderer/io/images",
                              "renderer/io/splats", "renderer/io/lidar"]),
    "renderer/io/paths": ("camera paths: our own and nerfstudio's", ["base", "renderer/scene", "renderer/io/files"]),
    "renderer/io/video": ("videos from pictures; opens the library that links libav", ["base", "renderer/scene"]),
    "renderer/io/video/libav": ("libgausscope_video.so: encoding, in a library of its own", ["renderer/io/video"]),
    "renderer/doctor": ("what is wrong with a model or capture, and its mending",
                        ["base", "renderer/scene", "renderer/io/*"]),
    "renderer/edit": ("which Gaussians are selected, and what can be taken back of changing them",
                      ["base", "renderer/math", "renderer/scene"]),
    "renderer/reference": ("the oracle: serial, double precision", ["base", "renderer/math", "renderer/scene"]),
    "renderer/raster": ("the rasterizer's interface and rules",
                        ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene"]),
    "renderer/raster/cpu": ("a file a stage, on SIMD lanes",
                            ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene",
                             "renderer/raster"]),
    "renderer/raster/cuda": ("a file a stage, in kernels",
                             ["base", "base/record", "renderer/math", "renderer/device", "renderer/device/cuda",
                              "renderer/scene", "renderer/raster"]),
    "renderer/rays": ("exact evaluation along rays, with tiles over angle",
                      ["base", "renderer/math", "renderer/scene", "renderer/raster", "renderer/raster/cpu", "renderer/maps"]),
    "renderer/inspect": ("why a pixel looks as it does: the rasterizers' lists, the oracle's arithmetic",
                         ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene",
                          "renderer/raster", "renderer/reference"]),
    "renderer/maps": ("frames for people: colour maps, errors, draw styles",
                      ["base", "base/record", "renderer/math", "renderer/scene", "renderer/raster"]),
    "renderer/problems": ("where a model is wrong by its photos: regions, Gaussians, floaters, holes",
                          ["base", "base/record", "renderer/math", "renderer/scene", "renderer/io/images",
                           "renderer/raster", "renderer/maps"]),
    "renderer/present": ("pictures into OpenGL textures; the only user of OpenGL in the renderer",
                         ["base", "renderer/device", "renderer/scene"]),
    "renderer/present/cuda": ("the same without leaving the GPU",
                              ["base", "renderer/device", "renderer/device/cuda", "renderer/scene",
                               "renderer/present"]),
    "trainer": ("loss, lazy Adam, density control, schedule, checkpoints, the step, the run",
                ["base", "base/record", "renderer/math", "renderer/device", "renderer/scene", "renderer/io/*",
                 "renderer/raster", "renderer/rays"]),
    "trainer/cuda": ("the same, resident on a device",
                     ["base", "base/record", "renderer/math", "renderer/device", "renderer/device/cuda",
                      "renderer/scene", "renderer/raster", "renderer/raster/cuda", "trainer"]),
    "profiler/inject": ("NVTX and CUPTI inside a foreign process", ["base/record"]),
    "profiler/store": ("TraceStore: events, tracks, statistics, names of stages", ["base", "base/record"]),
    "profiler/collect": ("from rings and NVML into the store: readers, clocks, collectors",
                         ["base", "base/record", "profiler/store"]),
    "profiler/sample": ("call stacks of other processes: perf events, unwinding, CPython's memory",
                        ["base", "base/record", "profiler/store"]),
    "profiler/analysis": ("walks, totals, iterations, breakdown, comparison, cost model",
                          ["base", "base/record", "profiler/store"]),
    "profiler/predict": ("how long our kernels would take on a GPU that is not here",
                         ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/insights": ("rules that say what would be faster",
                          ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/files": ("trace files, a pair of files a format",
                       ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/history": ("what things took over weeks, and where that changed",
                         ["base", "base/record", "profiler/store", "profiler/analysis"]),
    "profiler/serve": ("the per-node daemon",
                       ["base", "base/record", "profiler/store", "profiler/collect", "profiler/analysis",
                        "profiler/insights", "profiler/files", "profiler/history"]),
    "panels/state": ("the panels' language: Snapshot in, Commands out",
                     ["base", "base/record", "renderer/scene", "renderer/maps", "renderer/inspect", "renderer/problems",
                      "profiler/store", "profiler/analysis", "profiler/predict"]),
    "panels/widgets": ("what panels are made of",
                       ["base", "base/record", "renderer/scene", "renderer/maps", "panels/state"]),
    "panels/timeline": ("the timeline",
                        ["base", "base/record", "profiler/store", "profiler/analysis", "panels/state",
                         "panels/widgets"]),
    "panels/viewport": ("the picture and what is drawn over it",
                        ["base", "renderer/scene", "renderer/maps", "renderer/inspect", "panels/state",
                         "panels/widgets"]),
    "panels": ("a file a panel, and the workspace that holds them",
               ["base", "base/record", "renderer/scene", "renderer/maps", "renderer/inspect", "renderer/problems", "profiler/store",
                "profiler/analysis", "profiler/predict", "profiler/insights", "panels/*"]),
    "app": ("the program", ["*"]),
    "tests": ("every kind of test, and what they share", ["*"]),
}
# Rooms inside the app: which of them may include which (and, as above, every room of the other folders).
APP = {
    "app/window": [],
    "app/sample": [],
    "app/backend": [],
    "app/bundle": [],
    "app/lab": ["app/bundle", "app/sample"],
    "app/verify": [],
    "app/session": ["app/backend", "app/bundle", "app/lab", "app/sample", "app/verify"],
    "app/studio": ["app/bundle", "app/session", "app/window", "app/backend"],
    "app/commands": ["app/session", "app/studio"],
    "app/cli": ["app/backend", "app/bundle", "app/lab", "app/sample", "app/verify", "app/session", "app/commands", "app/studio", "app/window"],
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
    r"^sqlite3": ("profiler/history", "tests"),
}
STD_ONLY = ("base/record", "profiler/inject")
POSIX = re.compile(r"^(sys/|dlfcn\.h|link\.h|sched\.h|signal\.h|poll\.h|unistd\.h|fcntl\.h|linux/|pthread\.h|time\.h|"
                   r"x86intrin\.h|immintrin\.h|nvtx3/|errno\.h)")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def room_of(path: str) -> str | None:
    """The longest room that is a parent of `path`."""
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
    """(file, its room, line number, bracket, target) of every #include."""
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
            yield f"{path}: lies in no room of the table"
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
    """Rooms that lead back to the first of them."""
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
    rows = ["| room | is | may include |", "| --- | --- | --- |"]
    for room, (what, allowed) in ROOMS.items():
        names = ", ".join(a.replace("*", "…") for a in allowed)
        names = {"": "the standard library", "…": "everything"}.get(names, names)
        rows.append(f"| `{room}` | {what} | {names} |")
    return "\n".join(rows) + "\n"


def document(root: pathlib.Path, write: bool):
    """The table between its two marks in docs/architecture.md; yields what is wrong with it."""
    page = root / "docs/architecture.md"
    begin, end = "<!-- rooms: tests/layering.py --write -->\n", "<!-- end of rooms -->\n"
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        yield f"{page}: the marks of the table of rooms are missing"
        return
    head, rest = text.split(begin, 1)
    now, tail = rest.split(end, 1)
    if write:
        page.write_text(head + begin + table() + end + tail, encoding="utf-8")
    elif now != table():
        yield f"{page}: its table of rooms is stale; tests/layering.py --write mends it"
    for room in [*ROOMS, *APP]:
        if not (root / room).is_dir():
            yield f"{room}: a room of the table that does not exist"


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
    print(f"layering: {len(found)} faults among {sum(map(len, arrows.values()))} arrows of {len(ROOMS) + len(APP) - 1} rooms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
