"""The C functions of native/gausscope_files.h."""
from __future__ import annotations

import ctypes
import functools
import json
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_uint64, c_void_p

from ._lib import Error, NotFound, library


class Failure(ctypes.Structure):
    _fields_ = [("kind", c_char * 16), ("path", c_char * 1024), ("message", c_char * 1024), ("advice", c_char * 1024)]

    def error(self) -> Error:
        kind, message, advice = (getattr(self, name).decode("utf-8", "replace") for name in ("kind", "message", "advice"))
        path = os.fsdecode(self.path)
        text = ": ".join(filter(None, (path, message))) + (f" ({advice})" if advice else "")
        return (NotFound if kind == "not_found" else Error)(text, kind, path, advice)


class CaptureOptions(ctypes.Structure):
    _fields_ = [("downscale", c_int32), ("max_side", c_int32), ("test_every", c_int32), ("undistort", c_int32),
                ("photos", c_int32), ("photo_memory", c_uint64), ("model", c_char_p), ("masks", c_char_p),
                ("test_views", c_char_p)]


_SIGNATURES = {
    "read_splats": (c_void_p, [c_char_p, c_int32, POINTER(Failure)]),
    "make_splats": (c_void_p, [c_uint64, c_int32, c_int32, POINTER(c_double), POINTER(Failure)]),
    "release_splats": (None, [c_void_p]),
    "describe_splats": (c_char_p, [c_void_p]),
    "get_rows": (c_int32, [c_void_p, c_int32, c_int32, c_void_p]),
    "set_rows": (c_int32, [c_void_p, c_int32, c_int32, c_void_p]),
    "set_sky": (c_int32, [c_void_p, c_int32, c_void_p]),
    "write_splats": (c_char_p, [c_void_p, c_char_p, c_int32, POINTER(Failure)]),
    "open_capture": (c_void_p, [c_char_p, POINTER(CaptureOptions), POINTER(Failure)]),
    "release_capture": (None, [c_void_p]),
    "describe_capture": (c_char_p, [c_void_p]),
    "get_points": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "push_range": (c_int32, [c_char_p]),
    "pop_range": (None, []),
    "get_photo": (c_int32, [c_void_p, c_uint64, c_void_p, c_void_p, POINTER(Failure)]),
}


@functools.cache
def function(name: str):
    """gausscope_NAME of the library, with its types."""
    out = getattr(library(), f"gausscope_{name}")
    out.restype, out.argtypes = _SIGNATURES[name]
    return out


def checked(name: str, *arguments):
    """Calls a function that fills a Failure, its last parameter. Raises what it says."""
    failure = Failure()
    out = function(name)(*arguments, ctypes.byref(failure))
    if failure.kind:
        raise failure.error()
    return out


class Handle:
    """An object of the library, released with this one. `kind`: "splats" or "capture"."""

    def __init__(self, kind: str, pointer: int):
        self.kind, self.pointer = kind, pointer
        self.release = function(f"release_{kind}")

    def __del__(self):
        self.release(self.pointer)

    def description(self) -> dict:
        return json.loads(function(f"describe_{self.kind}")(self.pointer))
