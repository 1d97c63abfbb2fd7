#!/usr/bin/env python3
"""Fails on an #include that the house forbids. The table is the one in docs/architecture.md; run: layering.py [ROOT]."""
import pathlib
import re
import sys

# folder -> folders of ours it may include (itself always). The longest matching folder prefix of a file counts.
ALLOWED = {
    "profiler/core": [],
    "profiler/inject": ["profiler/core"],
    "renderer/base": ["profiler/core"],
    "renderer/math": ["renderer/base"],
    "renderer/device": ["renderer/base", "profiler/core"],
    "renderer/scene": ["renderer/base", "renderer/math", "renderer/device"],
    "renderer/io": ["renderer/base", "renderer/scene", "renderer/device", "profiler/core"],
    "renderer/reference": ["renderer/base", "renderer/math", "renderer/scene"],
    "renderer/raster": ["renderer/base", "renderer/math", "renderer/device", "renderer/scene", "profiler/core"],
    "renderer/present": ["renderer/base", "renderer/device", "renderer/scene"],
    "trainer": ["renderer/base", "renderer/math", "renderer/device", "renderer/scene", "renderer/io", "renderer/raster",
                "profiler/core"],
    "profiler": ["profiler/core", "renderer/base"],
    "panels": ["renderer/base", "renderer/scene", "profiler", "profiler/core"],
    "app": ["*"],
    "tests": ["*"],
    "third_party": [],
}
# Third-party headers that only some folders may see.
RESTRICTED = {
    r"^imgui": {"panels", "app", "tests"},
    r"^GLFW/": {"app", "tests"},
    r"^glad/": {"renderer/present", "app", "tests"},
    r"^EGL/": {"app", "tests"},
}
STD_ONLY = {"profiler/core", "profiler/inject"}
POSIX_IN_CORE = re.compile(r"^(sys/|dlfcn\.h|link\.h|sched\.h|signal\.h|poll\.h|unistd\.h|fcntl\.h|linux/|pthread\.h|time\.h|x86intrin\.h|immintrin\.h|nvtx3/|errno\.h)")


def folder_of(path: str) -> str | None:
    """The longest key of ALLOWED that is a parent of `path`."""
    best = None
    for folder in ALLOWED:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def violations(root: pathlib.Path):
    for file in sorted(root.rglob("*")):
        relative = file.relative_to(root).as_posix()
        if file.suffix not in {".h", ".cpp", ".cu", ".cuh"} or relative.startswith(("build", "out", ".")):
            continue
        folder = folder_of(relative)
        if folder is None:
            yield f"{relative}: lies in no folder of the table"
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            bracket, target = match.groups()
            allowed = ALLOWED[folder]
            if bracket == '"' and not target.startswith("imgui"):
                other = folder_of(target)
                if other is None:
                    if (root / relative).parent.joinpath(target).exists() or folder in {"tests", "app"}:
                        continue
                    yield f"{relative}:{number}: \"{target}\" is not written from the root"
                elif other != folder and "*" not in allowed and other not in allowed:
                    yield f"{relative}:{number}: {folder} may not include {other} ({target})"
                continue
            for pattern, folders in RESTRICTED.items():
                if re.match(pattern, target) and folder not in folders:
                    yield f"{relative}:{number}: {folder} may not include <{target}>"
            if folder in STD_ONLY and "/" in target and not POSIX_IN_CORE.match(target):
                yield f"{relative}:{number}: {folder} may include the standard library only, not <{target}>"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"layering: {len(found)} forbidden includes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
