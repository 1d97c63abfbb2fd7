"""Lenses and shutters by gsplat's arguments, as the library takes them."""
from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor

from ._lib import Error

MODELS = {"pinhole": 0, "ortho": 1, "fisheye": 2, "ftheta": 3}
_GLOBAL = 4  # gsplat counts the four that roll from 0


class Lens(NamedTuple):
    """How all cameras of a call bend light and when they read it."""

    model: str = "pinhole"
    unscented: bool = False
    radial_coeffs: Optional[Tensor] = None
    tangential_coeffs: Optional[Tensor] = None
    thin_prism_coeffs: Optional[Tensor] = None
    ftheta_coeffs: Any = None
    rolling_shutter: Any = None
    viewmats_rs: Optional[Tensor] = None

    @property
    def shutter(self) -> int:
        """As the library counts: 0 is global."""
        value = self.rolling_shutter
        number = _GLOBAL if value is None else operator.index(getattr(value, "value", value))
        if not 0 <= number <= _GLOBAL:
            raise Error(f"rolling_shutter={value!r} is not supported; it is from 0 to {_GLOBAL}, as gsplat counts")
        return (number + 1) % (_GLOBAL + 1)

    def refuse(self) -> None:
        """Raises for arguments that do not belong together, by their names."""
        bends = [name for name in _OF_MODEL[self.model] if getattr(self, name) is not None]
        for name in _COEFFICIENTS:
            if getattr(self, name) is not None and name not in bends:
                raise Error(f"{name} is not supported with camera_model={self.model!r}")
        if self.model == "ftheta" and not bends:
            raise Error("camera_model='ftheta' needs ftheta_coeffs")
        shutter = self.shutter
        if shutter and self.viewmats_rs is None:
            raise Error(f"rolling_shutter={self.rolling_shutter!r} needs viewmats_rs, the views at the end of the read-out")
        if self.viewmats_rs is not None and not shutter:
            raise Error("viewmats_rs needs a rolling_shutter that is not global")
        if not self.unscented and (bends or shutter):
            raise Error(f"{(bends or ['rolling_shutter'])[0]} needs with_ut=True")

    def distortion(self, checked: Callable[[str, Any, tuple], Tensor], views: tuple, device: Any) -> Optional[Tensor]:
        """[*views, 12] as gausscope_ops.h has it, or None."""
        if self.ftheta_coeffs is not None:
            return torch.tensor(_ftheta(self.ftheta_coeffs), dtype=torch.float32, device=device).repeat(*views, 1)
        given = {name: getattr(self, name) for name in _COEFFICIENTS if getattr(self, name) is not None}
        if not given:
            return None
        zero = torch.zeros(*views, 6, dtype=torch.float32, device=device)
        parts = {}
        for name, value in given.items():
            sizes = _OF_MODEL[self.model][name]
            size = sizes[-1] if getattr(value, "shape", (0,))[-1] == sizes[-1] else sizes[0]
            parts[name] = checked(name, value, (*views, size))
            if parts[name].requires_grad:
                raise Error(f"{name} requires a gradient, and rasterization() has none for it: pass {name}.detach()")
        radial = parts.get("radial_coeffs", zero)
        tangential = parts.get("tangential_coeffs", zero[..., :2])
        prism = parts.get("thin_prism_coeffs", zero[..., :4])
        if self.model == "fisheye":
            return torch.cat([radial, zero, zero[..., :2]], -1)
        radial = torch.cat([radial, zero[..., :6 - radial.shape[-1]]], -1)
        return torch.cat([radial[..., :2], tangential, radial[..., 2:], prism], -1)


# By model, which coefficients it has and how many numbers they may be.
_OF_MODEL: dict[str, dict[str, tuple]] = {
    "pinhole": {"radial_coeffs": (6, 4), "tangential_coeffs": (2,), "thin_prism_coeffs": (4,)},
    "ortho": {},
    "fisheye": {"radial_coeffs": (4,)},
    "ftheta": {"ftheta_coeffs": ()},
}
_COEFFICIENTS = ("radial_coeffs", "tangential_coeffs", "thin_prism_coeffs", "ftheta_coeffs")


def _ftheta(coeffs: Any) -> list[float]:
    """Of gsplat's FThetaCameraDistortionParameters, anything with its fields, or a dict of them."""
    fields = coeffs if isinstance(coeffs, dict) else {name: getattr(coeffs, name, None) for name in (
        "reference_poly", "pixeldist_to_angle_poly", "angle_to_pixeldist_poly", "max_angle", "linear_cde")}
    reference = fields.get("reference_poly")
    kind = getattr(reference, "value", reference)
    if kind not in (0, 1):
        raise Error("ftheta_coeffs.reference_poly must be 0 (pixeldist_to_angle_poly) or 1 (angle_to_pixeldist_poly), not "
                    f"{reference!r}")
    name = ("pixeldist_to_angle_poly", "angle_to_pixeldist_poly")[int(kind)]
    out = []
    for key, size in ((name, 6), ("linear_cde", 3)):
        values = [float(value) for value in fields.get(key) or ()]
        if len(values) != size:
            raise Error(f"ftheta_coeffs.{key} must be {size} numbers")
        out += values
    if out[0] != 0 or not out[1] > 0:
        raise Error(f"ftheta_coeffs.{name} must begin with 0 and a number above 0, not with {out[0]} and {out[1]}")
    if fields.get("max_angle") is None:
        raise Error("ftheta_coeffs.max_angle is missing")
    return [*out, float(fields["max_angle"]), float(kind == 0), 0.0][:12]
