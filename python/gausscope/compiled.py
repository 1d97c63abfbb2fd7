"""Projecting and blending as PyTorch operators, torch.ops.gausscope, which torch.compile takes into its graphs. Outside of one
the autograd functions of functions.py are called: they cost less."""
from __future__ import annotations

import ctypes
import itertools
import types
import weakref
from typing import Optional

import torch
from torch import Tensor

from .functions import BLENDED, Blend, Lists, NoGraph, Project, blend

_library = torch.library.Library("gausscope", "DEF")
_NUMBERS = ("width", "height", "lens", "antialiased", "unscented", "shutter", "near_plane", "far_plane", "radius_clip",
            "eps2d", "least_compensation")
_OF_PROJECT = """Tensor means, Tensor? quats, Tensor? scales, Tensor? covars, Tensor opacities, Tensor viewmats, Tensor Ks,
    Tensor? coefficients, Tensor? distortion, Tensor? viewmats_rs"""
_OF_NUMBERS = """SymInt width, SymInt height, int lens, bool antialiased, bool unscented, int shutter, float near_plane,
    float far_plane, float radius_clip, float eps2d, float least_compensation, int degree"""
_OF_BLEND = """Tensor means2d, Tensor? conics, Tensor opacities, Tensor colors, Tensor? backgrounds, Tensor? means,
    Tensor? quats, Tensor? scales, Tensor depths, Tensor radii, Tensor first, Tensor? viewmats, Tensor? Ks, Tensor? distortion,
    Tensor? viewmats_rs"""
_OF_PICTURE = "SymInt width, SymInt height, float alpha_max, int lens, int shutter"


def _operator(name: str, schema: str):
    """Decorates the function that computes the operator."""
    def defined(function):
        _library.define(f"{name}{' '.join(schema.split())}")
        for device in ("CPU", "CUDA"):
            _library.impl(name, function, device)
        return function
    return defined


def _fake(name: str):
    return torch.library.register_fake(f"gausscope::{name}", lib=_library)


def _whole(tensors) -> list:
    """Graphs may hand over any strides."""
    return [None if t is None else t.contiguous() for t in tensors]


def _call(inputs: list, values: tuple) -> tuple[tuple, dict, Optional[dict]]:
    """Shape of the entries, numbers and shading of Project.forward(). The last of `values` is the degree, -1: no shading."""
    means, viewmats, coefficients = inputs[0], inputs[5], inputs[7]
    lead, (N, _), C = means.shape[:-2], means.shape[-2:], viewmats.shape[-3]
    sizes = dict(batches=lead.numel(), cameras=C, gaussians=N)
    shading = None
    if values[-1] >= 0:
        shading = dict(sizes, bases=coefficients.shape[-2], degree=values[-1], by_view=coefficients.dim() > len(lead) + 3)
    return (*lead, C, N), {**sizes, **dict(zip(_NUMBERS, values))}, shading


@_operator("project", f"({_OF_PROJECT}, {_OF_NUMBERS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)")
def _project(*arguments):
    inputs = _whole(arguments[:10])
    *out, colors = Project.forward(NoGraph(), *inputs, *_call(inputs, arguments[10:]))
    return (*out, out[1].new_empty(0) if colors is None else colors)


@_fake("project")
def _(*arguments):
    shape, _, shading = _call(list(arguments[:10]), arguments[10:])
    floats = [arguments[0].new_empty(size) for size in ((*shape, 2), shape, (*shape, 3), shape)]
    return (floats[0].new_empty((*shape, 2), dtype=torch.int32), *floats,
            floats[0].new_empty(0 if shading is None else (*shape, 3)))


@_operator("project_vjp", f"""(Tensor? v_means2d, Tensor? v_depths, Tensor? v_conics, Tensor? v_compensated, Tensor? v_colors,
    {_OF_PROJECT}, Tensor radii, bool[] needed, {_OF_NUMBERS}) -> Tensor[]""")
def _project_vjp(*arguments):
    inputs = _whole(arguments[5:16])
    _, numbers, shading = _call(inputs, arguments[17:])
    context = types.SimpleNamespace(saved_tensors=inputs, numbers=numbers, shading=shading, needs_input_grad=arguments[16])
    out = Project.backward(context, None, *arguments[:5])
    return [v for v, needed in zip(out, arguments[16]) if needed]


@_fake("project_vjp")
def _(*arguments):
    return [t.new_empty(t.shape) for t, needed in zip(arguments[5:13], arguments[16]) if needed]


def _keep_project(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.values = inputs[10:]
    ctx.save_for_backward(*inputs[:10], output[0])


def _back_through_project(ctx, _, *seeds):
    seeds = seeds if ctx.values[-1] >= 0 else (*seeds[:4], None)
    needed = [want and t is not None for want, t in zip(ctx.needs_input_grad[:8], ctx.saved_tensors)]
    needed[6], needed[7] = False, needed[7] and seeds[4] is not None
    made = iter(torch.ops.gausscope.project_vjp(*seeds, *ctx.saved_tensors, needed, *ctx.values))
    return (*(next(made) if want else None for want in needed), None, None, *[None] * len(ctx.values))


torch.library.register_autograd("gausscope::project", _back_through_project, setup_context=_keep_project, lib=_library)

# Lists by number, as long as the tensors that hold their numbers live.
_lists: weakref.WeakValueDictionary[int, Lists] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


class _Number(ctypes.c_int64):
    lists: Lists


def _blend_call(tensors, width: int, height: int, alpha_max: float, lens: int, shutter: int,
                gradients: bool) -> tuple[dict, tuple, dict]:
    """The arguments of functions.blend()."""
    inputs = dict(zip(BLENDED, _whole(tensors)))
    numbers = dict(images=inputs["first"].numel() - 1, entries=inputs["depths"].numel(), channels=inputs["colors"].shape[-1],
                   width=width, height=height, alpha_max=alpha_max, gradients=gradients, lens=lens, shutter=shutter)
    if inputs["conics"] is None:
        lead, N = inputs["means"].shape[:-2], inputs["means"].shape[-2]
        numbers.update(batches=lead.numel(), cameras=inputs["viewmats"].shape[-3], gaussians=N, along_rays=1)
    return inputs, (*inputs["means2d"].shape[:-2], height, width), numbers


@_operator("blend", f"({_OF_BLEND}, {_OF_PICTURE}, bool gradients) -> (Tensor, Tensor, Tensor)")
def _blend(*arguments):
    picture, alphas, lists = blend(*_blend_call(arguments[:15], *arguments[15:]))
    number = _Number(next(_numbers))
    if lists is not None:
        number.lists = _lists[number.value] = lists
    return picture, alphas, torch.frombuffer(number, dtype=torch.int64)


@_fake("blend")
def _(*arguments):
    means2d, colors, (width, height) = arguments[0], arguments[3], arguments[15:17]
    shape = (*means2d.shape[:-2], height, width)
    return (means2d.new_empty((*shape, colors.shape[-1])), means2d.new_empty((*shape, 1)),
            torch.empty(1, dtype=torch.int64, device="cpu"))


def _back(tensors) -> tuple[int, ...]:
    """Which of the inputs have gradients, by position in BLENDED: of ellipses, and along rays, with the poses of a global
    shutter."""
    conics, viewmats_rs = tensors[1], tensors[14]
    return (0, 1, 2, 3) if conics is not None else (2, 3, 5, 6, 7) if viewmats_rs is not None else (2, 3, 5, 6, 7, 11)


@_operator("blend_vjp", f"""(Tensor? v_picture, Tensor? v_alphas, {_OF_BLEND}, Tensor picture, Tensor alphas, Tensor lists,
    {_OF_PICTURE}) -> Tensor[]""")
def _blend_vjp(v_picture, v_alphas, *arguments):
    inputs, shape, numbers = _blend_call(arguments[:15], *arguments[18:], True)
    lists = _lists.get(arguments[17].item())
    if lists is None:  # the graph passed a copy of the number and has released the tensor that kept the lists
        lists = blend(inputs, shape, numbers)[2]
    back = _back(arguments)
    context = types.SimpleNamespace(saved_tensors=(*inputs.values(), *_whole(arguments[15:17])), numbers=numbers,
                                    lists=lists, absolute=None, needs_input_grad=[i in back for i in range(15)])
    out = Blend.backward(context, v_picture, v_alphas)
    return [out[i] for i in back]


@_fake("blend_vjp")
def _(v_picture, v_alphas, *arguments):
    return [arguments[i].new_empty(arguments[i].shape) for i in _back(arguments)]


def _keep_blend(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.values = inputs[15:20]
    ctx.save_for_backward(*inputs[:15], *output)


def _back_through_blend(ctx, v_picture, v_alphas, _):
    out: list = [None] * 21
    tensors = ctx.saved_tensors
    if ctx.needs_input_grad[4] and v_picture is not None:
        out[4] = ((1 - tensors[16]) * v_picture).sum((-3, -2))
    made = torch.ops.gausscope.blend_vjp(v_picture, v_alphas, *tensors, *ctx.values)
    for i, v in zip(_back(tensors), made):
        out[i] = v
    return tuple(out)


torch.library.register_autograd("gausscope::blend", _back_through_blend, setup_context=_keep_blend, lib=_library)


def project(means: Tensor, quats: Optional[Tensor], scales: Optional[Tensor], covars: Optional[Tensor], opacities: Tensor,
            viewmats: Tensor, Ks: Tensor, coefficients: Optional[Tensor], distortion: Optional[Tensor],
            viewmats_rs: Optional[Tensor], shape: tuple, numbers: dict, shading: Optional[dict]) -> tuple:
    """As Project.apply()."""
    values = [numbers[name] for name in _NUMBERS]
    *out, colors = torch.ops.gausscope.project(means, quats, scales, covars, opacities, viewmats, Ks, coefficients, distortion,
                                               viewmats_rs, *values, -1 if shading is None else shading["degree"])
    return (*out, None if shading is None else colors)


def draw(*arguments) -> tuple[Tensor, Tensor]:
    """As Blend.apply(); the pictures may be written into."""
    *tensors, _, _, numbers = arguments
    picture, alphas, _ = torch.ops.gausscope.blend(
        *tensors, numbers["width"], numbers["height"], numbers["alpha_max"], numbers["lens"], numbers["shutter"],
        numbers["gradients"])
    return picture.clone(), alphas.clone()
