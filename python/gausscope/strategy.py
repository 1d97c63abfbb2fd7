"""What gsplat's strategies compute with its CUDA kernels, in PyTorch, for any device: with use() its MCMCStrategy runs on a CPU.
Its DefaultStrategy needs nothing but the meta of rasterization()."""
from __future__ import annotations

import functools
import math
from typing import Optional

import torch
from torch import Tensor


@functools.cache
def _shares(n_max: int) -> Tensor:
    """[n_max + 1, n_max]: coefficient of o^(k + 1) in what n Gaussians of opacity o on one place integrate to."""
    return torch.tensor([[math.comb(n, k + 1) * (-1) ** k / math.sqrt(k + 1) for k in range(n_max)]
                         for n in range(n_max + 1)], dtype=torch.float64)


def compute_relocation(opacities: Tensor, scales: Tensor, ratios: Tensor, binoms: Tensor) -> tuple[Tensor, Tensor]:
    """Opacities [N] and scales [N, 3] of Gaussians that are each replaced by ratios [N] of them on the same place, so that
    the picture stays (Kheradmand et al. 2024, equation 9). Of binoms [n_max, n_max] the size is read: ratios are clamped
    to it."""
    n_max = binoms.shape[0]
    n = ratios.clamp(min=1, max=n_max).long()
    old = opacities.double()
    new = 1 - (1 - old) ** (1 / n)
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


def use() -> None:
    """Puts both functions where the strategies of the installed gsplat look for its kernels."""
    from gsplat.strategy import ops
    ops.compute_relocation, ops.quat_scale_to_covar_preci = compute_relocation, quat_scale_to_covar_preci
