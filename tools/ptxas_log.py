#!/usr/bin/env python3
"""Runs nvcc (or a compiler cache in front of it) and keeps beside the object what tests and tables read of it.

ptxas_log.py [ccache] nvcc ... -o a.o   writes a.o.ptxas, what `-Xptxas -v` says of each kernel, and a.o.ptx, the PTX in the
object where it holds some (of the newest architecture). Everything else the compiler says is passed on.

The build calls it as the compiler's launcher; tools/kernel_table.py reads the first, tests that execute PTX the second. A
cache that answers from memory repeats the messages, and the PTX comes from the object itself: nothing is compiled twice.
"""
import pathlib
import re
import subprocess
import sys

import sass_code

# One line of ptxas -v, and the indented line that belongs to the one before it.
RESOURCES = re.compile(r"^ptxas info\s*:|^\s+\d+ bytes stack frame")


def keep_ptx(target: str) -> None:
    kept = pathlib.Path(target + ".ptx")
    kept.unlink(missing_ok=True)
    entries = sass_code.fat_entries(pathlib.Path(target).read_bytes()) if pathlib.Path(target).exists() else []
    texts = {architecture: content for kind, architecture, content in entries if kind == sass_code.PTX_ENTRY and content}
    if texts:
        kept.write_bytes(texts[max(texts)].rstrip(b"\0"))


def main() -> int:
    command = sys.argv[1:]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    kept = []
    for line in result.stderr.splitlines(keepends=True):
        if RESOURCES.match(line):
            kept.append(line)
        else:
            sys.stderr.write(line)
    if result.returncode == 0 and "-o" in command and "-c" in command:
        target = command[command.index("-o") + 1]
        pathlib.Path(target + ".ptxas").write_text("".join(kept), encoding="utf-8")
        keep_ptx(target)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
