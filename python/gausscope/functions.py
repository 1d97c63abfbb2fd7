"""The library's functions with gradients: projecting, shading, blending, as autograd calls them."""
from __future__ import annotations

import functools
import sys
from typing import Optional

import torch
from torch import Tensor

from ._lib import BLEND, CPU, CUDA, PROJECT, SHADE, Error, library, lists_in
from ._lib import run as _run


def uncompiled(function):
    """The function as torch.compile leaves it out of its graphs. PyTorch's compiler takes seconds to import, so that it is
    asked only where it is there."""
    disabled = []

    @functools.wraps(function)
    def call(*args, **kwargs):
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is None:
            return function(*args, **kwargs)
        if not disabled:
            disabled.append(dynamo.disable(function))
        return disabled[0](*args, **kwargs)

    call._torchdynamo_disable = True
    return call


floats = functools.partial(torch.empty, dtype=torch.float32)


def run(function: str, arguments, numbers: dict, **arrays):
    """On the device of the first of the arrays; on CUDA in PyTorch's current stream there."""
    first = next(iter(arrays.values()))
    if not first.is_cuda:
        return _run(function, arguments, numbers, torch.get_num_threads(), (CPU, 0, 0), **arrays)
    with torch.cuda.device(first.device):
        place = CUDA, first.device.index, torch.cuda.current_stream().cuda_stream
        return _run(function, arguments, numbers, 0, place, **arrays)


def _no_second_derivative() -> None:
    if torch.is_grad_enabled():
        raise Error("gausscope's rasterization has no second derivative: call backward without create_graph=True")


# Whether backward() was called with retain_graph=True; before PyTorch 2.1 nobody can tell.
_graph_is_kept = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def _whole(grad: Optional[Tensor]) -> Optional[Tensor]:
    """A gradient as the library reads it; those that autograd makes may have any strides."""
    return None if grad is None else grad.contiguous().resolve_neg()


def _wanted(needed: bool, like: Optional[Tensor]) -> Optional[Tensor]:
    return torch.empty_like(like) if needed and like is not None else None


def _seen_from(viewmats: Tensor, viewmats_rs: Optional[Tensor]) -> Tensor:
    """Views from where colours are seen: with a rolling shutter from between its two places."""
    if viewmats_rs is None:
        return viewmats
    centre = lambda view: -(view[..., :3, :3].mT @ view[..., :3, 3:])  # noqa: E731
    out = viewmats.clone()
    out[..., :3, 3:] = viewmats[..., :3, :3] @ (centre(viewmats) + centre(viewmats_rs)) / -2
    return out


class Project(torch.autograd.Function):
    """And the colours of spherical harmonics, where `shading` is given."""

    @staticmethod
    def forward(ctx, means, quats, scales, covars, opacities, viewmats, Ks, coefficients, distortion, viewmats_rs, shape,
                numbers, shading):
        ctx.set_materialize_grads(False)
        inputs = dict(means=means, quats=quats, scales=scales, covars=covars, opacities=opacities, viewmats=viewmats,
                      Ks=Ks, distortion=distortion, viewmats_rs=viewmats_rs)
        device = means.device
        radii = torch.empty((*shape, 2), dtype=torch.int32, device=device)
        means2d, depths = floats((*shape, 2), device=device), floats(shape, device=device)
        conics, compensated = floats((*shape, 3), device=device), floats(shape, device=device)
        run("gausscope_project", PROJECT, numbers, **inputs, radii=radii, means2d=means2d, depths=depths,
            conics=conics, compensated=compensated)
        colors = None
        if shading is not None:
            colors = floats((*shape, 3), device=device)
            run("gausscope_shade", SHADE, shading, means=means, viewmats=_seen_from(viewmats, viewmats_rs),
                coefficients=coefficients, radii=radii, colors=colors)
        ctx.numbers, ctx.shading = numbers, shading
        ctx.save_for_backward(means, quats, scales, covars, opacities, viewmats, Ks, coefficients, distortion, viewmats_rs,
                              radii)
        fixed = () if any(ctx.needs_input_grad[:6]) else (means2d, depths, conics, compensated)
        ctx.mark_non_differentiable(radii, *fixed)
        return radii, means2d, depths, conics, compensated, colors

    @staticmethod
    def backward(ctx, _, v_means2d, v_depths, v_conics, v_compensated, v_colors):
        _no_second_derivative()
        means, quats, scales, covars, opacities, viewmats, Ks, coefficients, distortion, viewmats_rs, radii = ctx.saved_tensors
        out = [_wanted(needed, like) for needed, like in zip(ctx.needs_input_grad, ctx.saved_tensors[:6])]
        run("gausscope_project_vjp", PROJECT, ctx.numbers, means=means, quats=quats, scales=scales, covars=covars,
            opacities=opacities, viewmats=viewmats, Ks=Ks, distortion=distortion, viewmats_rs=viewmats_rs, radii=radii,
            v_means2d=_whole(v_means2d), v_depths=_whole(v_depths), v_conics=_whole(v_conics),
            v_compensated=_whole(v_compensated), v_means=out[0], v_quats=out[1], v_scales=out[2], v_covars=out[3],
            v_opacities=out[4], v_viewmats=out[5])
        v_coefficients = None
        if v_colors is not None and ctx.shading is not None:
            through = [_wanted(like is not None, like) for like in (out[0], out[5])]
            v_coefficients = _wanted(ctx.needs_input_grad[7], coefficients)
            run("gausscope_shade_vjp", SHADE, ctx.shading, means=means, viewmats=_seen_from(viewmats, viewmats_rs),
                coefficients=coefficients, radii=radii, v_colors=_whole(v_colors), v_means=through[0],
                v_viewmats=through[1], v_coefficients=v_coefficients)
            for v, more in zip((out[0], out[5]), through):
                if v is not None:
                    v += more
        return (*out, None, v_coefficients, None, None, None, None, None)


class Pick(torch.autograd.Function):
    """Rows `at` of means2d, depths, conics and opacities, and `color_rows` of colors where they are there."""

    @staticmethod
    def forward(ctx, at, color_rows, means2d, depths, conics, opacities, colors):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(at, color_rows)
        ctx.shapes = means2d.shape, depths.shape, conics.shape, opacities.shape, None if colors is None else colors.shape
        out = (means2d.reshape(-1, 2)[at], depths.reshape(-1)[at], conics.reshape(-1, 3)[at], opacities.reshape(-1)[at],
               None if colors is None else colors.reshape(-1, colors.shape[-1])[color_rows])
        ctx.mark_non_differentiable(*(t for t, needed in zip(out, ctx.needs_input_grad[2:]) if not needed and t is not None))
        return out

    @staticmethod
    def backward(ctx, *grads):
        _no_second_derivative()
        at, color_rows = ctx.saved_tensors
        out = []
        for v, shape, rows in zip(grads, ctx.shapes, (at, at, at, at, color_rows)):
            whole = None if v is None else v.new_zeros(shape)
            if v is not None:
                whole.view(-1, *v.shape[1:]).index_add_(0, rows, v)
            out.append(whole)
        return (None, None, *out)


# PyTorch 2 warns where nobody says whether indices are checked.
_unchecked: dict = {"check_invariants": False} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}


class Sparse(torch.autograd.Function):
    """The tensor, whose gradient is sparse: the rows that are drawn. `drawn` has them, more than once perhaps, by backward."""

    @staticmethod
    def forward(ctx, tensor, drawn):
        ctx.drawn = drawn
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, v):
        _no_second_derivative()
        rows = torch.unique(ctx.drawn[0])
        return torch.sparse_coo_tensor(rows[None], v[rows], v.shape, **_unchecked), None


class Lists:
    """Owns what the library keeps between blending and its backward."""

    def __init__(self, pointer: Optional[int]):
        self.pointer = pointer

    def __del__(self, free=library().gausscope_lists_free):
        free(self.pointer)


def blend(inputs: dict, shape: tuple, numbers: dict) -> tuple[Tensor, Tensor, Optional[Lists]]:
    """Pictures [*shape, channels] and alphas [*shape, 1], and what backward needs of it."""
    device = inputs["means2d"].device
    picture, alphas = floats((*shape, numbers["channels"]), device=device), floats((*shape, 1), device=device)
    memory = run("gausscope_blend", BLEND, numbers, **inputs, picture=picture, alphas=alphas)
    return picture, alphas, Lists(lists_in(memory)) if numbers["gradients"] else None


BLENDED = ("means2d", "conics", "opacities", "colors", "backgrounds", "means", "quats", "scales", "depths", "radii", "first",
           "viewmats", "Ks", "distortion", "viewmats_rs")  # the tensors of Blend.forward()


class Blend(torch.autograd.Function):
    """Of ellipses, or along rays: conics are None then, else means, quats, scales and what describes cameras."""

    @staticmethod
    def forward(ctx, *arguments):
        *tensors, absolute, lead, numbers = arguments
        ctx.set_materialize_grads(False)
        inputs = dict(zip(BLENDED, tensors))
        picture, alphas, lists = blend(inputs, (*lead, numbers["height"], numbers["width"]), numbers)
        if lists is None:
            return picture, alphas
        ctx.numbers, ctx.lists, ctx.absolute = numbers, lists, absolute
        ctx.save_for_backward(*tensors, picture, alphas)
        # Callers write into their pictures; backward reads its own.
        return picture.clone(), alphas.clone()

    @staticmethod
    def backward(ctx, v_picture, v_alphas):
        _no_second_derivative()
        *tensors, picture, alphas = ctx.saved_tensors
        inputs = dict(zip(BLENDED, tensors))
        flat = inputs["conics"] is not None
        out = {name: _wanted(name in ("opacities", "colors") or flat == (name in ("means2d", "conics")), inputs[name])
               for name in ("means2d", "conics", "opacities", "colors", "means", "quats", "scales")}
        out["viewmats"] = _wanted(not flat and ctx.needs_input_grad[11], inputs["viewmats"])
        run("gausscope_blend_vjp", BLEND, {**ctx.numbers, "lists": ctx.lists.pointer}, **inputs, picture=picture,
            alphas=alphas, v_picture=_whole(v_picture), v_alphas=_whole(v_alphas), absolute=ctx.absolute,
            **{f"v_{name}": v for name, v in out.items()})
        if not _graph_is_kept():
            ctx.lists = None  # the graph may outlive its backward with the picture, and they are large
        v_backgrounds = None
        if ctx.needs_input_grad[4] and v_picture is not None:
            v_backgrounds = ((1 - alphas) * v_picture).sum((-3, -2))
        v = list(out.values())
        return (*v[:4], v_backgrounds, *v[4:7], *[None] * 3, v[7], *[None] * 6)


def apply(function: type[torch.autograd.Function], *arguments):
    """Through autograd where a gradient is wanted, else straight to the library."""
    if torch.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in arguments):
        # What PyTorch's own apply() does first concerns function transforms, which are refused.
        return super(torch.autograd.Function, function).apply(*arguments)
    return function.forward(NoGraph(), *arguments)


class NoGraph:
    """In place of autograd's context where there is no backward."""

    needs_input_grad = ()

    def set_materialize_grads(self, value): pass
    def save_for_backward(self, *tensors): pass
    def mark_non_differentiable(self, *tensors): pass
