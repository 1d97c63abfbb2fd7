#!/usr/bin/env python3
"""Runs nvcc (or a compiler cache in front of it) and keeps what `-Xptxas -v` says of each kernel beside the object.

ptxas_log.py [ccache] nvcc ... -o a.o   writes a.o.ptxas; everything else the compiler says is passed on. The build calls it
as the compiler's launcher; tools/kernel_table.py reads the files. A cache that answers from memory repeats the messages.
"""
import pathlib
import re
import subprocess
import sys

# One line of ptxas -v, and the indented line that belongs to the one before it.
RESOURCES = re.compile(r"^ptxas info\s*:|^\s+\d+ bytes stack frame")


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
        pathlib.Path(command[command.index("-o") + 1] + ".ptxas").write_text("".join(kept), encoding="utf-8")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
