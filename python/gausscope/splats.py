"""Splat files of every format as NumPy arrays, and back."""
from __future__ import annotations

import ctypes
import json
import math
import os
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from ._files import Handle, checked, function
from ._lib import Error
from .arrays import as_numpy

_REST = 14  # the plane of the first coefficient beyond degree 0
_COLUMNS = {"means": (0, 3), "log_scales": (3, 3), "quats": (6, 4), "opacity_logits": (10, 1), "sh0": (11, 3)}


if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]
else:
    Arrays = dict


class Splats(Arrays):
    """Arrays by name, float32, one row a Gaussian: as stored in splat files and as optimizers hold them.

    means [N,3] world units, less `origin` · log_scales [N,3] natural logarithms of the standard deviations ·
    quats [N,4] wxyz, of any length · opacity_logits [N] · sh0 [N,1,3] · sh_rest [N,K-1,3], K = (sh_degree + 1)²

    rasterization() takes them without logarithms and logits: `scales`, `opacities` and `sh` of this object.
    """

    origin: tuple[float, ...] = (0.0, 0.0, 0.0)  #: what was subtracted from the means, for scenes far from zero
    antialiased = False       #: trained with opacity compensation
    sky: np.ndarray | None = None  #: [K,3] harmonics of the colour behind all Gaussians
    format = ""               #: "3DGS PLY (binary)"
    notes: list[str] = []     #: what was missing, ignored or repaired

    @property
    def scales(self) -> np.ndarray:
        """[N,3] standard deviations, world units."""
        import numpy as np
        return np.exp(self["log_scales"])

    @property
    def opacities(self) -> np.ndarray:
        """[N] 0 to 1."""
        import numpy as np
        with np.errstate(over="ignore"):  # of -infinity and the like: 0
            return 1 / (1 + np.exp(-self["opacity_logits"]))

    @property
    def sh(self) -> np.ndarray:
        """[N,K,3] all coefficients."""
        import numpy as np
        return np.concatenate([self["sh0"], self["sh_rest"]], 1)

    @property
    def sh_degree(self) -> int:
        return round((self["sh_rest"].shape[1] + 1) ** 0.5) - 1

    def copy(self) -> Splats:
        """Another object with the same arrays (not copies of them), origin, sky and notes."""
        out = Splats(self)
        vars(out).update(vars(self))
        return out

    def __repr__(self) -> str:
        return f"<Splats: {len(self['means']):,} Gaussians of degree {self.sh_degree}, {self.format or 'not from a file'}>"


def load(path: str | bytes | os.PathLike, lod: int = 0) -> Splats:
    """Reads a splat file of any format (docs/formats.md), or the newest Gaussians of a run's folder.

    lod: the level of a streamed set, 0 the finest.
    Errors: NotFound; Error of kind "malformed" with the byte or line, "unsupported", "unreadable".
    """
    import numpy as np
    name = os.fsencode(path)
    if os.path.exists(os.path.join(name, b"run.json")):
        name = os.path.join(name, b"point_cloud.ply")
    handle = Handle("splats", checked("read_splats", name, lod))
    about = handle.description()

    def rows(first: int, planes: int):
        out = np.empty((about["count"], planes), np.float32)
        function("get_rows")(handle.pointer, first, planes, out.ctypes.data)
        return out

    splats = Splats({key: rows(*columns) for key, columns in _COLUMNS.items()})
    splats["opacity_logits"] = splats["opacity_logits"].reshape(-1)
    splats["sh0"] = splats["sh0"].reshape(-1, 1, 3)
    rest = (about["sh_degree"] + 1) ** 2 - 1
    splats["sh_rest"] = rows(_REST, 3 * rest).reshape(about["count"], rest, 3)
    splats.origin, splats.antialiased = tuple(about["origin"]), about["antialiased"]
    splats.format, splats.notes = about["format"], about["notes"]
    splats.sky = np.float32(about["sky"]).reshape(-1, 3) if about["sky"] else None
    return splats


def save(path: str | bytes | os.PathLike, splats: Optional[Mapping[str, Any]] = None, *, origin: Optional[Sequence[float]] = None,
         antialiased: bool | None = None, sky: Any = None, spz_version: int = 4, **arrays: Any) -> list[str]:
    """Writes Gaussians to a file whose format follows from the end of its name (.ply, .spz, .sog, .glb, …).

    The arrays are those of Splats, as a dict, by keyword, or both: anything that NumPy takes or that has DLPack, PyTorch
    tensors too.
    Instead of log_scales, `scales` are standard deviations; instead of opacity_logits, `opacities` are 0 to 1; instead of
    sh0 and sh_rest, `sh` [N,K,3] holds all coefficients, or `colors` [N,3] plain colours from 0 to 1. sh_rest may be left
    out, and so may quats. `shN` is another name of sh_rest. Of a gsplat trainer, whose parameters keep logarithms and
    logits under short names: save(path, means=s["means"], log_scales=s["scales"], quats=s["quats"],
    opacity_logits=s["opacities"], sh0=s["sh0"], sh_rest=s["shN"]). `sky` is an array as Splats have it.

    Returns what the format could not hold, a sentence each. Errors: Error of kind "usage" or "unwritable".
    """
    origin = getattr(splats, "origin", None) if origin is None else origin
    antialiased = getattr(splats, "antialiased", False) if antialiased is None else antialiased
    given = {**(splats or {}), **arrays}
    in_dict = given.pop("sky", None)
    parts = _planes(given)
    count, rest = len(parts[0][1]), parts[-1][1].shape[1] // 3
    where = (ctypes.c_double * 3)(*(origin if origin is not None else (0, 0, 0)))
    degree = round((rest + 1) ** 0.5) - 1
    handle = Handle("splats", checked("make_splats", count, degree, bool(antialiased), where))
    for first, rows in parts:
        function("set_rows")(handle.pointer, first, rows.shape[1], rows.ctypes.data)
    for one in (sky, in_dict, getattr(splats, "sky", None)):
        if one is not None:
            _set_sky(handle, as_numpy("sky", one))
            break
    return json.loads(checked("write_splats", handle.pointer, os.fsencode(path), spz_version))


def _set_sky(handle: Handle, sky: np.ndarray) -> None:
    import numpy as np
    bases = sky.shape[0] if sky.ndim == 2 and sky.shape[1] == 3 else 0
    if bases not in (1, 4, 9, 16):
        raise Error(f"sky is {list(sky.shape)}, not [K, 3] with K of 1, 4, 9 or 16")
    try:
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(sky, np.float32)
    except (TypeError, ValueError) as error:
        raise Error(f"sky are no numbers: {error}") from None
    if not np.isfinite(rows).all():
        raise Error("sky has values that are not finite")
    function("set_sky")(handle.pointer, round(bases**0.5) - 1, rows.ctypes.data)


def _planes(given: dict) -> list:
    """(first plane, rows [N, planes]) of everything, the harmonics beyond degree 0 last."""
    import numpy as np

    def array(name: str, *shape):
        """`given`'s array as float32, of N rows; -1 in `shape`: any size."""
        value = as_numpy(name, given.pop(name))
        try:
            value = value.astype(np.float32, copy=False)
        except (TypeError, ValueError) as error:
            raise Error(f"{name} are no numbers: {error}") from None
        wanted = (count, *shape) if count is not None else (-1, *shape)
        if value.ndim != len(wanted) or any(w not in (-1, v) for w, v in zip(wanted, value.shape)):
            said = ", ".join("N" if i == 0 and count is None else "K" if w == -1 else str(w) for i, w in enumerate(wanted))
            raise Error(f"{name} is {list(value.shape)}, not [{said}]")
        return value

    def one_of(**ways):
        """The value of the one that is given."""
        there = [name for name in ways if name in given]
        if len(there) != 1:
            raise Error(f"give one of {' and '.join(ways)}" + (f", not {' and '.join(there)}" if there else ""))
        return ways[there[0]](there[0])

    def logarithms(name: str):
        scales = array(name, 3)
        if (scales < 0).any():
            raise Error("scales are standard deviations, and some are negative: are they logarithms? "
                        "Then call them log_scales")
        with np.errstate(divide="ignore"):
            return np.log(scales)

    def logits(name: str):
        opacities = array(name)
        if ((opacities < 0) | (opacities > 1)).any():
            raise Error("opacities are from 0 to 1, and some are not: are they logits? Then call them opacity_logits")
        with np.errstate(divide="ignore"):
            return np.log(opacities) - np.log1p(-opacities)

    def all_bases(name: str):
        sh = array(name, -1, 3)
        return sh[:, :1], sh[:, 1:]

    def plain_colors(name: str):
        return ((array(name, 3) - 0.5) / 0.28209479177387814)[:, None], np.zeros((count, 0, 3), np.float32)

    def split_bases(name: str):
        if "shN" in given:
            given["sh_rest"] = given.pop("shN")
        return array(name, 1, 3), array("sh_rest", -1, 3) if "sh_rest" in given else np.zeros((count, 0, 3), np.float32)

    count = None
    given = {name: value for name, value in given.items() if value is not None}
    if "means" not in given:
        raise Error("means are missing")
    means = array("means", 3)
    count = len(means)
    log_scales = one_of(log_scales=lambda name: array(name, 3), scales=logarithms)
    quats = array("quats", 4) if "quats" in given else np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    opacity = one_of(opacity_logits=array, opacities=logits)
    sh0, rest = one_of(sh0=split_bases, sh=all_bases, colors=plain_colors)
    if rest.shape[1] not in (0, 3, 8, 15):
        raise Error(f"{rest.shape[1] + 1} coefficients of spherical harmonics, not 1, 4, 9 or 16")
    if given:
        raise Error(f"unknown: {', '.join(given)}")
    rows = [(0, means), (3, log_scales), (6, quats), (10, opacity), (11, sh0), (_REST, rest)]
    return [(first, np.ascontiguousarray(value, np.float32).reshape(count, math.prod(value.shape[1:])))
            for first, value in rows]
