"""Finds libgausscope_ops.so and says what its functions take."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib

NAME = "libgausscope_ops.so"


class Error(ValueError, RuntimeError, AssertionError):
    """What gausscope refuses, and why. Callers catch it as any of the three that other rasterizers raise."""


def places() -> list[pathlib.Path]:
    """Where the library may be, in the order they are tried: $GAUSSCOPE_LIBRARY alone where it is set; else beside the
    package (a wheel), in lib/ above it (an installation), in the build folder of a source tree."""
    if named := os.environ.get("GAUSSCOPE_LIBRARY"):
        return [pathlib.Path(named)]
    here = pathlib.Path(__file__).resolve().parent
    above = here.parents
    return [here / NAME, *(up / NAME for up in above[2:3]), *(up / "build/lib" / NAME for up in above[1:2])]


_CPU = 1


@functools.cache
def _code(dtype) -> int:
    return {"torch.float32": 0, "torch.int32": 1, "torch.int64": 2}[str(dtype)]


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_int64), ("dtype", ctypes.c_int32),
                ("reserved", ctypes.c_int32)]


class _Call(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("stream", ctypes.c_void_p), ("error", ctypes.c_void_p),
                ("error_size", ctypes.c_int64)]


def _arguments(name: str, numbers: dict[str, str], arrays: str) -> type[ctypes.Structure]:
    """A struct of gausscope_ops.h: the call, numbers by their C type, arrays."""
    fields = [("call", _Call)]
    fields += [(field, getattr(ctypes, "c_" + kind)) for kind, names in numbers.items() for field in names.split()]
    fields += [(field, _Array) for field in arrays.split()]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


ProjectArgs = _arguments(
    "ProjectArgs",
    {"int64": "batches cameras gaussians", "int32": "width height lens antialiased",
     "float": "near_plane far_plane radius_clip eps2d least_compensation reserved"},
    "means quats scales covars opacities viewmats Ks radii means2d depths conics compensated"
    " v_means2d v_depths v_conics v_compensated v_means v_quats v_scales v_covars v_opacities v_viewmats")
ShadeArgs = _arguments(
    "ShadeArgs", {"int64": "batches cameras gaussians bases", "int32": "degree by_view"},
    "means viewmats coefficients radii colors v_colors v_means v_viewmats v_coefficients")
BlendArgs = _arguments(
    "BlendArgs",
    {"int64": "images entries channels", "int32": "width height", "float": "alpha_max", "int": "gradients",
     "void_p": "lists"},
    "first radii means2d conics opacities depths colors backgrounds picture alphas v_picture v_alphas"
    " v_means2d v_conics v_opacities v_colors absolute")


def run(function: str, arguments: type[ctypes.Structure], numbers: dict, **arrays) -> ctypes.Structure:
    """Calls a function of the library: `arrays` are contiguous CPU tensors, or None. Raises Error with what it says."""
    text = ctypes.create_string_buffer(400)
    args = arguments(
        (ctypes.sizeof(arguments), _CPU, 0, 0, None, ctypes.addressof(text), len(text)), **numbers,
        **{name: (t.data_ptr(), t.numel(), _code(t.dtype), 0)
           for name, t in arrays.items() if t is not None})
    code = getattr(library(), function)(ctypes.byref(args))
    if code:
        words = text.value.decode(errors="replace") or f"{function} failed with code {code}"
        raise MemoryError(words) if code == 3 else Error(words)
    return args


@functools.cache
def library() -> ctypes.CDLL:
    """The library; calls into it release the GIL."""
    tried = places()
    for path in tried:
        if path.is_file():
            loaded = ctypes.CDLL(str(path))
            loaded.gausscope_version.restype = ctypes.c_char_p
            loaded.gausscope_lists_free.argtypes = [ctypes.c_void_p]
            return loaded
    raise ImportError(f"{NAME} is not at {', nor at '.join(map(str, tried))} (GAUSSCOPE_LIBRARY names it elsewhere)")


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return library().gausscope_version().decode()
