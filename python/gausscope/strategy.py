"""What gsplat's trainers compute with its CUDA kernels, in PyTorch, for any device: with use() its MCMCStrategy and its
SelectiveAdam run on a CPU. Its DefaultStrategy needs nothing but the meta of rasterization()."""
from __future__ import annotations

import functools
import importlib.util
import math
from typing import Optional

import torch
from torch import Tensor


@functools.cache
def _shares(n_max: int) -> Tensor:
    """[n_max + 1, n_max]: coefficient of o^(k + 1) in what n Gaussians of opacity o on one place integrate to."""
    return torch.tensor([[math.comb(n, k + 1) * (-1) ** k / math.sqrt(k + 1) for k in range(n_max)]
                         for n in range(n_max + 1)], dtype=torch.float64)


def compute_relocation(opacities: Tensor, scales: Tensor, ratios: Tensor, binoms: Tensor,
                       min_opacity: float = 0.0) -> tuple[Tensor, Tensor]:
    """Opacities [N] and scales [N, 3] of Gaussians that are each replaced by ratios [N] of them on the same place, so that
    the picture stays (Kheradmand et al. 2024, equation 9). Of binoms [n_max, n_max] the size is read: ratios are clamped
    to it. New opacities are at least min_opacity, which gsplat gives from 1.6 on, and scales follow them."""
    n_max = binoms.shape[0]
    n = ratios.clamp(min=1, max=n_max).long()
    old = opacities.double()
    new = (1 - (1 - old) ** (1 / n)).clamp(min_opacity, 1 - torch.finfo(torch.float32).eps)
    powers = new[:, None] ** torch.arange(1, n_max + 1, device=new.device)
    whole = (_shares(n_max).to(new.device)[n] * powers).sum(-1)
    return new.to(opacities.dtype), ((old / whole)[:, None] * scales).to(scales.dtype)


def quat_scale_to_covar_preci(quats: Tensor, scales: Tensor, compute_covar: bool = True, compute_preci: bool = True,
                              triu: bool = False) -> tuple[Optional[Tensor], Optional[Tensor]]:
    """Covariances and precisions [..., 3, 3] (with triu [..., 6], upper triangles) of quats [..., 4], w first, of any
    length, and scales [..., 3]."""
    w, x, y, z = torch.nn.functional.normalize(quats, dim=-1).unbind(-1)
    rotation = torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).unflatten(-1, (3, 3))

    def squared(factors: Tensor) -> Tensor:
        half = rotation * factors[..., None, :]
        whole = half @ half.transpose(-1, -2)
        return whole.flatten(-2)[..., [0, 1, 2, 4, 5, 8]] if triu else whole

    return squared(scales) if compute_covar else None, squared(1 / scales) if compute_preci else None


@torch.no_grad()
def adam(param: Tensor, param_grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, valid: Tensor, lr: float, b1: float,
         b2: float, eps: float) -> None:
    """A step of Adam for the rows of a parameter that are valid [N] bool, without correction of the bias. The means of
    gradients and of their squares are kept in exp_avg and exp_avg_sq."""
    grad = param_grad[valid]
    mean = b1 * exp_avg[valid] + (1 - b1) * grad
    square = b2 * exp_avg_sq[valid] + (1 - b2) * grad * grad
    exp_avg[valid], exp_avg_sq[valid] = mean, square
    param[valid] -= lr * mean / (square.sqrt() + eps)


def use() -> None:
    """Puts these functions where the installed gsplat looks for its kernels."""
    from gsplat.strategy import ops
    ops.compute_relocation, ops.quat_scale_to_covar_preci = compute_relocation, quat_scale_to_covar_preci
    if importlib.util.find_spec("gsplat.optimizers"):  # gsplat 1.5
        from gsplat.optimizers import selective_adam
        selective_adam.adam = adam
