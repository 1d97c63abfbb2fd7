"""Gaussians to pictures, differentiable: rasterization() with gsplat's arguments, shapes and conventions."""
from __future__ import annotations

import functools
import inspect
import operator
from typing import Any, Callable, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._lib import Error
from .arrays import as_tensor
from .functions import Blend, Pick, Project, Sparse, apply, uncompiled
from .lenses import MODELS, Lens
from .meta import Meta

compiled: Any = None
if hasattr(torch.library, "register_autograd"):  # PyTorch 2.4
    from . import compiled
_is_compiling = torch.compiler.is_compiling if compiled else lambda: False

_MODES = ("RGB", "D", "ED", "RGB+D", "RGB+ED")
# profile: (largest alpha, least factor of an antialiased opacity)
_PROFILES = {"gsplat": (0.99, 0.005), "gsplat-1.5": (0.999, 0.0)}
# What gsplat also takes, and the values that ask for nothing.
_ELSEWHERE = {
    "ut_params": (None,), "return_normals": (None, False), "global_z_order": (None, True), "rays": (None,),
    "lidar_coeffs": (None,), "external_distortion_coeffs": (None,), "extra_signals": (None,),
    "extra_signals_sh_degree": (None,), "renderer_config": (None,),
}


def _check_device(name: str, tensor: Tensor) -> None:
    if tensor.device.type not in ("cpu", "cuda"):
        raise Error(f"{name} is on {tensor.device}: rasterization() takes tensors on the CPU or a CUDA device")


def _checked(name: str, tensor: Tensor, shape: tuple, device: torch.device) -> Tensor:
    """The tensor, contiguous. None in `shape` is any size."""
    if not isinstance(tensor, Tensor):
        tensor = as_tensor(name, tensor)
    if tensor.layout != torch.strided:
        raise Error(f"{name} is {tensor.layout}: rasterization() takes dense tensors; convert it with .to_dense()")
    if tensor.device != device:
        _check_device(name, tensor)
        raise Error(f"{name} is on {tensor.device}, and means on {device}: all tensors must be on one device")
    if tensor.dtype != torch.float32:
        raise Error(f"{name} is {tensor.dtype}: rasterization() computes in torch.float32; convert it with .float()")
    if tensor.shape != shape and (
            len(shape) != tensor.dim() or any(a is not None and a != b for a, b in zip(shape, tensor.shape))):
        wanted = ", ".join("any" if a is None else str(a) for a in shape)
        raise Error(f"{name} has shape {list(tensor.shape)}, not [{wanted}]")
    return tensor.contiguous().resolve_neg()


def _refuse_transforms() -> None:
    """Derivatives that PyTorch would silently leave out."""
    if forward_ad._current_level >= 0 or _are_transforms_active():
        raise Error("forward-mode AD and torch.func's transforms (jvp, grad, vmap) are not supported: gradients come from "
                    "backward(), outside of them")


_are_transforms_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)


def _refuse(render_mode, rasterize_mode, camera_model, profile, tile_size, others, **off) -> None:
    """Raises for what is not supported, by its name."""
    if (render_mode in _MODES and camera_model in tuple(MODELS) and rasterize_mode in ("classic", "antialiased")
            and profile in tuple(_PROFILES) and tile_size in (None, 16) and not others and not any(off.values())):
        return
    for name, value, known in (("render_mode", render_mode, _MODES), ("camera_model", camera_model, MODELS),
                               ("rasterize_mode", rasterize_mode, ("classic", "antialiased")),
                               ("profile", profile, _PROFILES), ("tile_size", tile_size, (None, 16))):
        if not any(value is known_one or value == known_one for known_one in known):
            raise Error(f"{name}={value!r} is not supported; choose one of {', '.join(map(repr, known))}")
    for name, value in off.items():
        if value:
            raise Error(f"{name}=True is not supported")
    for name, value in others.items():
        if name not in _ELSEWHERE:
            raise TypeError(f"rasterization() got an unexpected keyword argument '{name}'")
        if not any(value is nothing for nothing in _ELSEWHERE[name]):
            raise Error(f"{name} is not supported")


def _colors_of(checked: Callable[..., Tensor], colors: Optional[Tensor], sh_degree: Optional[int], lead: tuple, C: int,
               N: int) -> tuple[Tensor, bool]:
    """Colours or coefficients, and whether they are by camera."""
    colors = as_tensor("colors", colors)
    if sh_degree is not None and colors.dtype == torch.float16:  # simple_trainer's --sh_fp16
        colors = colors.float()
    tail = (None,) if sh_degree is None else (None, 3)
    by_view = colors.dim() == len(lead) + 2 + len(tail)
    shape = (*lead, C, N, *tail) if by_view else (*lead, N, *tail)
    colors = checked("colors", colors, shape)
    if sh_degree is not None:
        degree = operator.index(sh_degree)
        if not 0 <= degree <= 3:
            raise Error(f"sh_degree={degree} is not supported; it must be from 0 to 3")
        if colors.shape[-2] < (degree + 1) ** 2:
            raise Error(f"colors has {colors.shape[-2]} SH coefficients, fewer than the {(degree + 1) ** 2} of degree "
                        f"{degree}")
    elif colors.shape[-1] == 0:
        raise Error("colors has no channels")
    return colors, by_view


def _in_graphs(function):
    """rasterization() as torch.compile sees it: traced where its shapes do not depend on values, else left out of the graph."""
    outside = uncompiled(function)
    if compiled is None:
        return outside
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _is_compiling():
            given = {**dict(zip(names, args)), **kwargs}
            if given.get("packed", True) or given.get("absgrad", False):
                return outside(*args, **kwargs)
        return function(*args, **kwargs)

    return call


@_in_graphs
def rasterization(
    means: Tensor, quats: Optional[Tensor], scales: Optional[Tensor], opacities: Tensor, colors: Optional[Tensor],
    viewmats: Tensor, Ks: Tensor, width: int, height: int, near_plane: float = 0.01, far_plane: float = 1e10,
    radius_clip: float = 0.0, eps2d: float = 0.3, sh_degree: Optional[int] = None, packed: bool = True,
    tile_size: Optional[int] = 16, backgrounds: Optional[Tensor] = None, render_mode: str = "RGB",
    sparse_grad: bool = False, absgrad: bool = False, rasterize_mode: str = "classic", channel_chunk: int = 32,
    distributed: bool = False, camera_model: str = "pinhole", segmented: bool = False, covars: Optional[Tensor] = None,
    with_ut: bool = False, with_eval3d: bool = False, *, radial_coeffs: Optional[Tensor] = None,
    tangential_coeffs: Optional[Tensor] = None, thin_prism_coeffs: Optional[Tensor] = None, ftheta_coeffs: Any = None,
    rolling_shutter: Any = None, viewmats_rs: Optional[Tensor] = None, profile: str = "gsplat", **others: Any,
) -> tuple[Tensor, Tensor, Meta]:
    """Draws Gaussians; every result has gradients. `...` are batch dimensions, the same of all tensors; N Gaussians, C
    cameras; float32, all on the CPU or on one CUDA device.

    means [..., N, 3], quats [..., N, 4] (w first, any length), scales [..., N, 3] (standard deviations, linear),
    opacities [..., N] (linear); covars [..., N, 3, 3] in place of quats and scales (its upper triangle is read).
    colors [..., N, D] or [..., C, N, D]; with sh_degree coefficients [..., N, K, 3] or [..., C, N, K, 3].
    viewmats [..., C, 4, 4] camera from world, OpenCV axes; Ks [..., C, 3, 3] in pixels, without a gradient.
    backgrounds [..., C, D]. eps2d in px^2 and radius_clip in px.
    render_mode RGB, D (sum of weight times camera z), ED (the same by alpha), RGB+D, RGB+ED: depth comes last.

    With packed=False: with_ut projects by the unscented transform, through lenses with radial_coeffs [..., C, 6] or 4 (fisheye
    4), tangential_coeffs [..., C, 2], thin_prism_coeffs [..., C, 4] (OpenCV's) or ftheta_coeffs (gsplat's, or a dict), and
    with a rolling_shutter (0 to 3, as gsplat counts) that begins at viewmats and ends at viewmats_rs [..., C, 4, 4].
    with_eval3d takes Gaussians as each pixel's ray meets them, not ellipses; on the CPU alone.

    profile "gsplat" is gsplat's main branch (alpha at most 0.99), "gsplat-1.5" its releases 1.5 (0.999).

    Returns colors [..., C, height, width, X], alphas [..., C, height, width, 1] and meta with gsplat's keys. With absgrad
    `meta["means2d"].absgrad` is there at once and is filled by backward.

    What is not supported raises gausscope.Error, a ValueError, RuntimeError and AssertionError. tile_size, channel_chunk
    and segmented change nothing here.
    """
    _refuse(render_mode, rasterize_mode, camera_model, profile, tile_size, others, distributed=distributed)
    lens = Lens(camera_model, with_ut, radial_coeffs, tangential_coeffs, thin_prism_coeffs, ftheta_coeffs, rolling_shutter,
                viewmats_rs)
    lens.refuse()
    if (with_ut or with_eval3d) and (packed or covars is not None):
        raise Error(f"{'with_ut' if with_ut else 'with_eval3d'}=True needs packed=False, and quats and scales")
    if with_eval3d and getattr(means, "is_cuda", False):
        raise Error("with_eval3d=True is not supported with CUDA tensors: it draws on the CPU alone")
    if with_eval3d and absgrad:
        raise Error("absgrad=True needs ellipses in the picture, and with_eval3d=True draws without them")
    drawn: list[Tensor] = []
    if sparse_grad:
        if not packed or covars is not None or getattr(means, "ndim", 2) != 2:
            raise Error("sparse_grad=True needs packed=True, means [N, 3] without batches, and quats and scales")
        means, quats, scales = (Sparse.apply(as_tensor(*named), drawn)
                                for named in (("means", means), ("quats", quats), ("scales", scales)))
    alpha_max, least_compensation = _PROFILES[profile]
    meta, colors = entries(
        means, quats, scales, covars, opacities, colors if "RGB" in render_mode else None, sh_degree, viewmats, Ks,
        packed, dict(width=width, height=height, near_plane=near_plane,
                     antialiased=rasterize_mode == "antialiased", far_plane=far_plane, radius_clip=radius_clip,
                     eps2d=eps2d, least_compensation=least_compensation), lens, "RGB" in render_mode)
    if sparse_grad:
        drawn.append(meta["gaussian_ids"])
    picture, alphas = draw(meta, colors, backgrounds, render_mode, absgrad, alpha_max, with_eval3d)
    return picture, alphas, meta


def compat(layout: str) -> Callable[..., tuple[Tensor, Tensor, Meta]]:
    """rasterization() for trainers of another version of gsplat. "1.4", which nerfstudio's splatfacto wants: meta["radii"] is
    one number for each Gaussian, the larger of the two, and the profile is "gsplat-1.5" where none is named."""
    if layout != "1.4":
        raise Error(f'layout={layout!r} is not supported; it is "1.4"')

    @functools.wraps(rasterization)
    def call(*args, profile="gsplat-1.5", **kwargs):
        picture, alphas, meta = rasterization(*args, profile=profile, **kwargs)
        meta.boxes = meta["radii"]
        meta["radii"] = meta.boxes.amax(-1)
        return picture, alphas, meta

    return uncompiled(call)


def entries(means: Tensor, quats: Optional[Tensor], scales: Optional[Tensor], covars: Optional[Tensor],
            opacities: Tensor, colors: Optional[Tensor], sh_degree: Optional[int], viewmats: Tensor, Ks: Tensor,
            packed: bool, numbers: dict, lens: Lens = Lens(), colored: bool = True) -> tuple[Meta, Optional[Tensor]]:
    """Everything before blending: meta, and colours [nnz, D] or, not packed, [..., C, N, D]."""
    compiling = _is_compiling()
    if not compiling:
        _refuse_transforms()
    means, viewmats, Ks = as_tensor("means", means), as_tensor("viewmats", viewmats), as_tensor("Ks", Ks)
    if means.dim() < 2 or viewmats.dim() < 3:
        raise Error("means must be a tensor [..., N, 3] and viewmats a tensor [..., C, 4, 4]")
    lead, N, C = tuple(means.shape[:-2]), means.shape[-2], viewmats.shape[-3]
    B = functools.reduce(operator.mul, lead, 1)
    if B * C == 0:
        raise Error(f"{B} batches of {C} cameras: there must be at least one of each")

    rows, views = (*lead, N), (*lead, C)
    _check_device("means", means)
    checked = functools.partial(_checked, device=means.device)
    means, opacities = checked("means", means, (*rows, 3)), checked("opacities", opacities, rows)
    if covars is not None:
        covars = checked("covars", covars, (*rows, 3, 3))
        covars = torch.stack([covars[..., i, j] for i in range(3) for j in range(i, 3)], -1)
        quats = scales = None
    else:
        quats, scales = checked("quats", quats, (*rows, 4)), checked("scales", scales, (*rows, 3))
    viewmats, Ks = checked("viewmats", viewmats, (*views, 4, 4)), checked("Ks", Ks, (*views, 3, 3))
    if Ks.requires_grad:
        raise Error("Ks requires a gradient, and rasterization() has none for intrinsics: pass Ks.detach()")
    distortion, viewmats_rs = lens.distortion(checked, views, means.device), lens.viewmats_rs
    if viewmats_rs is not None:
        viewmats_rs = checked("viewmats_rs", viewmats_rs, (*views, 4, 4))
        for name, tensor in (("viewmats", viewmats), ("viewmats_rs", viewmats_rs)):
            if tensor.requires_grad:
                raise Error(f"{name} requires a gradient, and a rolling shutter has none for it: pass {name}.detach()")
    by_view = False
    if colored:
        colors, by_view = _colors_of(checked, colors, sh_degree, lead, C, N)
    width, height = operator.index(numbers["width"]), operator.index(numbers["height"])
    sizes = dict(batches=B, cameras=C, gaussians=N)
    shading = None
    if colored and sh_degree is not None:
        shading = dict(sizes, bases=colors.shape[-2], degree=operator.index(sh_degree), by_view=by_view)
    numbers = {**sizes, **numbers, "lens": MODELS[lens.model], "unscented": bool(lens.unscented), "shutter": lens.shutter}
    arguments = (means, quats, scales, covars, opacities, viewmats, Ks, None if shading is None else colors, distortion,
                 viewmats_rs, (*views, N), numbers, shading)
    radii, means2d, depths, conics, compensated, shaded = (
        compiled.project(*arguments) if compiling else apply(Project, *arguments))
    if shading is not None:
        colors, by_view = shaded, True

    meta = Meta(batch_ids=None, camera_ids=None, gaussian_ids=None, radii=radii, means2d=means2d, depths=depths,
                conics=conics, opacities=compensated, width=width, height=height, tile_size=16,
                tile_width=-(-width // 16), tile_height=-(-height // 16), n_batches=B, n_cameras=C)
    meta.lead, meta.numbers = views, numbers
    meta.world = (means, quats, scales), (viewmats, Ks, distortion, viewmats_rs)
    if packed:
        meta.first, colors = _pack(meta, colors, by_view, B, C, N)
        return meta, colors
    meta.first = torch.arange(B * C + 1, device="cpu") * N if compiling else _every(N, B * C)
    return meta, colors if colors is None or by_view else colors.unsqueeze(-3).expand(*views, N, -1)


@functools.lru_cache(maxsize=64)
def _every(N: int, images: int) -> Tensor:
    """[images + 1]: 0, N, 2 N, …"""
    with torch.inference_mode(False):
        return torch.arange(images + 1, device="cpu") * N


def _pack(meta: Meta, colors: Optional[Tensor], by_view: bool, B: int, C: int, N: int):
    """Leaves only what is drawn in meta; returns where each image begins, and colors [nnz, D]."""
    at = (meta["radii"] > 0).all(-1).reshape(-1).nonzero().squeeze(1)
    view, gaussian = at.div(max(N, 1), rounding_mode="floor"), at.remainder(max(N, 1))
    batch = view.div(C, rounding_mode="floor")
    meta.update(batch_ids=batch, camera_ids=view.remainder(C), gaussian_ids=gaussian)
    names = ("means2d", "depths", "conics", "opacities")
    *picked, colors = apply(Pick, at, at if by_view else batch * N + gaussian, *(meta[name] for name in names), colors)
    meta.update(zip(names, picked), radii=meta["radii"].reshape(-1, 2)[at])
    return torch.searchsorted(at, _every(N, B * C).to(at.device)).cpu(), colors


def draw(meta: Meta, colors: Optional[Tensor], backgrounds: Optional[Tensor], render_mode: str, absgrad: bool,
         alpha_max: float, along_rays: bool = False) -> tuple[Tensor, Tensor]:
    """The pictures of entries(): of ellipses, or of Gaussians as each pixel's ray meets them."""
    means2d, lead = meta["means2d"], meta.lead
    parts = [] if colors is None else [colors]
    if backgrounds is not None:
        backgrounds = _checked("backgrounds", backgrounds, (*lead, colors.shape[-1] if parts else None), means2d.device)
    if render_mode != "RGB":
        parts.append(meta["depths"].unsqueeze(-1))
        if backgrounds is not None:
            zero = torch.zeros(*lead, 1, dtype=torch.float32, device=means2d.device)
            backgrounds = torch.cat([backgrounds, zero], -1) if len(parts) == 2 else zero
    values = (parts[0] if len(parts) == 1 else torch.cat(parts, -1)).contiguous()
    absolute = None
    if absgrad:
        absolute = torch.zeros_like(means2d, memory_format=torch.contiguous_format)
        means2d.absgrad = absolute
    world, cameras = meta.world if along_rays else ((None,) * 3, (None,) * 4)
    meta.world = None  # meta may be kept for long
    place = (means2d.detach().contiguous(), None) if along_rays else (means2d.contiguous(), meta["conics"])
    inputs = (*place, meta["opacities"], values, backgrounds, *world)
    names = ("batches", "cameras", "gaussians", "width", "height", "lens", "shutter")
    numbers = dict({name: meta.numbers[name] for name in names}, images=len(meta.first) - 1, entries=meta["depths"].numel(),
                   channels=values.shape[-1], alpha_max=alpha_max, along_rays=along_rays,
                   gradients=torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (*inputs, cameras[0])))
    arguments = (*inputs, meta["depths"].detach(), meta["radii"], meta.first, *cameras, absolute, lead, numbers)
    if _is_compiling():
        picture, alphas = compiled.draw(*arguments)
        # A gradient of what leaves the graph beside the pictures would lack what reaches them.
        meta.update({name: meta[name].detach() for name in ("means2d", "depths", "conics", "opacities")})
    else:
        picture, alphas = apply(Blend, *arguments)
    if render_mode.endswith("ED"):
        expected = picture[..., -1:] / alphas.clone().clamp(min=1e-10)  # alphas may be written into
        picture = torch.cat([picture[..., :-1], expected], -1) if len(parts) == 2 else expected
    return picture, alphas
