"""Finds libgausscope_ops.so and says what its functions take."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib

NAME = "libgausscope_ops.so"


class Error(ValueError, RuntimeError, AssertionError):
    """What gausscope refuses, and why. Callers catch it as any of the three that other rasterizers raise.

    kind: "usage", "not_found", "unreadable", "malformed", "unsupported", "unwritable" or "failed"; path: the file or
    folder it concerns, or ""; advice: what to do about it, or "" (it is part of the text, too).
    """

    def __init__(self, message: str, kind: str = "usage", path: str = "", advice: str = ""):
        super().__init__(message)
        self.kind, self.path, self.advice = kind, path, advice

    def __reduce__(self):
        return type(self), (self.args[0], self.kind, self.path, self.advice)


class NotFound(Error, FileNotFoundError):
    """A file or folder that does not exist."""

    def __new__(cls, message: str, *_rest: str):
        return FileNotFoundError.__new__(cls, message)  # not the errno and name that other values would be

    def __str__(self) -> str:
        return self.args[0]


def places() -> list[pathlib.Path]:
    """Where the library may be, in the order they are tried: $GAUSSCOPE_LIBRARY alone where it is set; else in the
    package (a wheel), in lib/ above it (an installation), in the build folder of a source tree."""
    if named := os.environ.get("GAUSSCOPE_LIBRARY"):
        return [pathlib.Path(named)]
    here = pathlib.Path(__file__).resolve().parent
    above = here.parents
    return [here / "lib" / NAME, *(up / NAME for up in above[2:3]), *(up / "build/lib" / NAME for up in above[1:2])]


@functools.cache
def library() -> ctypes.CDLL:
    """The library; calls into it release the GIL."""
    tried = places()
    for path in tried:
        if path.is_file():
            loaded = ctypes.CDLL(str(path))
            loaded.gausscope_version.restype = ctypes.c_char_p
            return loaded
    raise ImportError(f"{NAME} is not at {', nor at '.join(map(str, tried))} (GAUSSCOPE_LIBRARY names it elsewhere)")


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return library().gausscope_version().decode()
