"""Finds libgausscope_ops.so and says what its functions take."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import struct
import threading

NAME = "libgausscope_ops.so"
VERSION = "0.1.0"  #: of this package; the library is of the same


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


CPU, CUDA = 1, 2  # as DLPack numbers devices

_ARRAY = struct.Struct("@Pqii")


class Arguments:
    """A struct of gausscope_ops.h: the call (size, device, threads, stream, error text), numbers by their letter of the
    struct module, arrays (data, count, dtype). Packed by hand, which takes a fifth of the time of ctypes' structures."""

    def __init__(self, numbers: dict[str, str], arrays: str):
        self.numbers = [name for names in numbers.values() for name in names.split()]
        letters = "".join(letter * len(names.split()) for letter, names in numbers.items())
        self.head = struct.Struct(f"@IiiiPPq{letters}0P")
        self.at = {name: self.head.size + i * _ARRAY.size for i, name in enumerate(arrays.split())}
        self.size = self.head.size + len(self.at) * _ARRAY.size
        self.memory = ctypes.c_char * self.size
        self.lists = self.head.size - struct.calcsize("P")


PROJECT = Arguments(
    {"q": "batches cameras gaussians", "i": "width height lens antialiased unscented shutter",
     "f": "near_plane far_plane radius_clip eps2d least_compensation reserved"},
    "means quats scales covars opacities viewmats Ks distortion viewmats_rs radii means2d depths conics compensated"
    " v_means2d v_depths v_conics v_compensated v_means v_quats v_scales v_covars v_opacities v_viewmats")
SHADE = Arguments(
    {"q": "batches cameras gaussians bases", "i": "degree by_view"},
    "means viewmats coefficients radii colors v_colors v_means v_viewmats v_coefficients")
BLEND = Arguments(
    {"q": "images entries channels batches cameras gaussians", "i": "width height gradients along_rays lens shutter",
     "f": "alpha_max reserved", "P": "lists"},
    "first radii means2d conics opacities depths colors backgrounds means quats scales viewmats Ks distortion viewmats_rs"
    " picture alphas v_picture v_alphas v_means2d v_conics v_opacities v_colors absolute v_means v_quats v_scales"
    " v_viewmats")
_CODES = {"torch.float32": 0, "torch.int32": 1, "torch.int64": 2}  # and dtypes, as they are met


class _Text(threading.local):
    """Where the library writes what was wrong."""

    def __init__(self):
        self.buffer = ctypes.create_string_buffer(400)
        self.address = ctypes.addressof(self.buffer)


_TEXT = _Text()


def run(function: str, arguments: Arguments, numbers: dict, threads: int, place: tuple[int, int, int], **arrays):
    """Calls a function of the library, which uses at most `threads` threads of a CPU: `arrays` are contiguous tensors of the
    device, or None. `place`: kind and index of the device, and its stream. Raises Error with what it says. Returns the
    struct's memory as the function left it."""
    memory, get, at = arguments.memory(), numbers.get, arguments.at
    try:
        arguments.head.pack_into(memory, 0, arguments.size, *place[:2], threads, place[2], _TEXT.address, 400,
                                 *[get(name, 0) for name in arguments.numbers])
    except (struct.error, OverflowError) as error:
        wrong = [name for name in arguments.numbers if not isinstance(get(name, 0), (int, float))]
        raise TypeError(f"{', '.join(wrong) or 'an argument'} must be a number in range: {error}") from None
    for name, tensor in arrays.items():
        if tensor is not None:
            dtype = tensor.dtype
            code = _CODES.get(dtype)
            if code is None:
                code = _CODES[dtype] = _CODES[str(dtype)]
            _ARRAY.pack_into(memory, at[name], tensor.data_ptr(), tensor.numel(), code, 0)
    code = getattr(library(), function)(memory)
    if code:
        words = _TEXT.buffer.value.decode(errors="replace") or f"{function} failed with code {code}"
        _TEXT.buffer.value = b""
        raise {3: MemoryError, 4: RuntimeError}.get(code, Error)(words)
    return memory


def lists_in(memory) -> int | None:
    """The pointer that gausscope_blend left in its struct."""
    return ctypes.c_void_p.from_buffer(memory, BLEND.lists).value


@functools.cache
def library() -> ctypes.CDLL:
    """The library; calls into it release the GIL."""
    tried = places()
    for path in tried:
        if path.is_file():
            try:
                loaded = ctypes.CDLL(str(path))
                loaded.gausscope_version.restype = ctypes.c_char_p
                loaded.gausscope_lists_free.argtypes = [ctypes.c_void_p]
            except (OSError, AttributeError) as error:
                raise ImportError(f"{path} is not gausscope's library, or cannot be loaded here: {error}") from None
            if (version := loaded.gausscope_version().decode()) != VERSION:
                raise ImportError(f"{path} is of gausscope {version}, this package of {VERSION}: install both together"
                                  + (", or change GAUSSCOPE_LIBRARY" if "GAUSSCOPE_LIBRARY" in os.environ else ""))
            return loaded
    raise ImportError(f"{NAME} is not at {', nor at '.join(map(str, tried))} (GAUSSCOPE_LIBRARY names it elsewhere)")


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return library().gausscope_version().decode()
