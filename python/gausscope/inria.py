"""What the trainers that grew from the 3D Gaussian Splatting paper import from their extensions: GaussianRasterizer on
rasterization(), and in PyTorch distCUDA2, fused_ssim and SparseGaussianAdam.

    from gausscope.inria import GaussianRasterizationSettings, GaussianRasterizer

Pictures follow gsplat's rules: at the rim of a Gaussian, beyond three standard deviations, they differ from the paper's by
up to 7e-3."""
from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from ._lib import Error
from .functions import uncompiled
from .rasterize import draw, entries
from .strategy import adam

_NEAR = 0.2


class GaussianRasterizationSettings(NamedTuple):
    """One camera: both matrices transposed, the principal point in the middle. With antialiasing given, as later versions
    have it, pictures come with inverse depths."""

    image_height: int
    image_width: int
    tanfovx: float
    tanfovy: float
    bg: Tensor  # [3]
    scale_modifier: float
    viewmatrix: Tensor  # [4, 4] camera from world, transposed
    projmatrix: Tensor  # [4, 4], not read
    sh_degree: int
    campos: Tensor  # [3], not read: it is viewmatrix's
    prefiltered: bool = False
    debug: bool = False
    antialiasing: Optional[bool] = None


def _covariances(scales: Tensor, rotations: Tensor, modifier: float) -> Tensor:
    """[N, 3, 3] of rotations as they are: the paper's code does not normalise them. NaN where one is not finite, which draws
    nothing and gets no gradient."""
    bad = ~(rotations.isfinite().all(-1) & scales.isfinite().all(-1))[:, None]
    rotations, scales = rotations.masked_fill(bad, 0), scales.masked_fill(bad, 0)
    w, x, y, z = rotations.unbind(-1)
    rotation = torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).unflatten(-1, (3, 3))
    half = rotation * (modifier * scales)[..., None, :]
    with torch.autocast("cpu", enabled=False):
        return (half @ half.transpose(-1, -2)).masked_fill(bad[..., None], torch.nan)


def _radii(meta: dict) -> Tensor:
    """[N] int32: three standard deviations along the longer axis, px; 0 where nothing is drawn."""
    xx, xy, yy = meta["conics"][0].detach().unbind(-1)
    det = (xx * yy - xy * xy).clamp(min=1e-30)
    middle = 0.5 * (xx + yy) / det
    longest = middle + (middle * middle - 1 / det).clamp(min=0.1).sqrt()
    return ((meta["radii"][0] > 0).all(-1) * (3 * longest.sqrt()).ceil()).int()


class GaussianRasterizer(torch.nn.Module):
    def __init__(self, raster_settings: GaussianRasterizationSettings):
        super().__init__()
        self.raster_settings = raster_settings

    @torch.no_grad()
    def markVisible(self, positions: Tensor) -> Tensor:  # noqa: N802
        """[N] bool: whether the point is beyond the near plane."""
        view = self.raster_settings.viewmatrix
        return (positions * view[:3, 2]).sum(-1) + view[3, 2] > _NEAR

    @uncompiled
    def forward(self, means3D: Tensor, means2D: Tensor, opacities: Tensor, shs: Optional[Tensor] = None,  # noqa: N803
                colors_precomp: Optional[Tensor] = None, scales: Optional[Tensor] = None,
                rotations: Optional[Tensor] = None, cov3D_precomp: Optional[Tensor] = None,  # noqa: N803
                dc: Optional[Tensor] = None):
        """means3D [N, 3], opacities [N, 1], shs [N, K, 3] (or dc [N, 1, 3] and the rest) or colors_precomp [N, 3], scales
        [N, 3] and rotations [N, 4] or cov3D_precomp [N, 6]. The gradient of means2D [N, 3] is that of the projected means
        in normalised device coordinates. Returns the picture [3, height, width] and radii [N] int32."""
        s = self.raster_settings
        if dc is not None:
            shs = dc if shs is None else torch.cat([dc, shs], 1)
        if (shs is None) == (colors_precomp is None):
            raise Error("give either shs or colors_precomp")
        if (cov3D_precomp is None) == (scales is None or rotations is None):
            raise Error("give either scales and rotations or cov3D_precomp")
        covars = (_covariances(scales, rotations, s.scale_modifier) if cov3D_precomp is None
                  else cov3D_precomp[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3))
        width, height = s.image_width, s.image_height
        K = torch.tensor([[0.5 * width / s.tanfovx, 0, 0.5 * width], [0, 0.5 * height / s.tanfovy, 0.5 * height],
                          [0, 0, 1]], dtype=torch.float32, device=means3D.device)
        meta, colors = entries(
            means3D, None, None, covars, opacities.reshape(-1), colors_precomp if shs is None else shs,
            None if shs is None else s.sh_degree, s.viewmatrix.T[None], K[None], False,
            dict(width=width, height=height, near_plane=_NEAR, far_plane=1e10, radius_clip=0.0, eps2d=0.3,
                 antialiased=bool(s.antialiasing), least_compensation=0.005))
        pixels = torch.tensor([0.5 * width, 0.5 * height], dtype=torch.float32, device=means3D.device)
        meta["means2d"] = meta["means2d"] + ((means2D - means2D.detach())[None, :, :2] * pixels)
        background = s.bg.reshape(1, 3)
        if s.antialiasing is not None:
            colors = torch.cat([colors, 1 / meta["depths"].clamp(min=_NEAR)[..., None]], -1)
            background = torch.cat([background, torch.zeros(1, 1, dtype=torch.float32, device=means3D.device)], -1)
        picture, _ = draw(meta, colors, background, "RGB", False, 0.99)
        picture = picture[0].permute(2, 0, 1)
        if s.antialiasing is None:
            return picture.contiguous(), _radii(meta)
        return picture[:3].contiguous(), _radii(meta), picture[3:].contiguous()


@torch.no_grad()
def distCUDA2(points: Tensor) -> Tensor:  # noqa: N802
    """[N]: the mean squared distance of points [N, 3] to their three nearest neighbours, as simple_knn has it. Every pair
    is looked at."""
    k = min(4, len(points))
    nearest = [torch.cdist(part, points).topk(k, largest=False).values for part in points.split(1024)]
    return torch.cat(nearest)[:, 1:].square().mean(-1) if nearest else points.new_zeros(0)


def fused_ssim(img1: Tensor, img2: Tensor, padding: str = "same", train: bool = True) -> Tensor:
    """The mean structural similarity of pictures [B, C, H, W]: Gaussian windows of 11 pixels, sigma 1.5."""
    at = torch.arange(11, dtype=img1.dtype, device=img1.device) - 5
    window = torch.exp(-at * at / 4.5)
    window = window / window.sum()
    channels, edge = img1.shape[1], 5 if padding == "same" else 0
    along, down = window.expand(channels, 1, 1, 11), window[:, None].expand(channels, 1, 11, 1)

    def blurred(image: Tensor) -> Tensor:
        half = torch.nn.functional.conv2d(image, along, padding=(0, edge), groups=channels)
        return torch.nn.functional.conv2d(half, down, padding=(edge, 0), groups=channels)

    a, b = blurred(img1), blurred(img2)
    aa, bb, ab = blurred(img1 * img1) - a * a, blurred(img2 * img2) - b * b, blurred(img1 * img2) - a * b
    return ((2 * a * b + 1e-4) * (2 * ab + 9e-4) / ((a * a + b * b + 1e-4) * (aa + bb + 9e-4))).mean()


class SparseGaussianAdam(torch.optim.Adam):
    """Adam that leaves Gaussians alone which were not visible; as the paper's later versions have it, without correction of
    the bias."""

    def __init__(self, params, lr: float, eps: float):
        super().__init__(params=params, lr=lr, eps=eps)

    @torch.no_grad()
    def step(self, visibility: Tensor, N: int) -> None:  # noqa: N803
        """visibility [N] bool; one tensor [N, ...] a group."""
        for group in self.param_groups:
            (param,) = group["params"]
            if param.grad is None:
                continue
            state = self.state[param]
            if not state:
                state.update(step=torch.tensor(0.0), exp_avg=torch.zeros_like(param), exp_avg_sq=torch.zeros_like(param))
            adam(param, param.grad, state["exp_avg"], state["exp_avg_sq"], visibility, group["lr"], 0.9, 0.999, group["eps"])
