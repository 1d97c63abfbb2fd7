"""Makes gsplat_lenses.json, against which test_lenses.py holds rasterization(), of gsplat's own PyTorch functions:

    gsplat_numbers.py FOLDER

FOLDER has a checkout of gsplat's main branch (90d7b4b3 made the file). Its functions for tests run on a CPU without its CUDA
extension and with the three functions of nerfacc that are here. One thing is changed in them: when a place of the picture is
read is not rounded to whole rows, which moves their ellipses by a pixel and more (docs/python.md).
"""
import json
import pathlib
import sys
import types

import torch

from scenes import leaves
from test_lenses import KINDS, NUMBERS, coefficients, rolled, small

FIELDS = ("means", "quats", "scales", "opacities", "colors")


def module(name, path=None, **fields):
    made = types.ModuleType(name)
    made.__dict__.update(fields, **({"__path__": [str(path)]} if path else {}))
    sys.modules[name] = made


def pack_info(rays, count):
    counts = torch.bincount(rays, minlength=count)
    return torch.stack([counts.cumsum(0) - counts, counts], -1)


def render_weight_from_alpha(alphas, packed_info):
    ray = torch.repeat_interleave(torch.arange(len(packed_info)), packed_info[:, 1])
    logs = torch.log1p(-alphas.double())
    before = logs.cumsum(0) - logs
    through = torch.exp(before - before[packed_info[ray, 0]])
    return (alphas * through).to(alphas.dtype), through.to(alphas.dtype)


def accumulate_along_rays(weights, values, ray_indices, n_rays):
    each = weights[:, None] if values is None else weights[:, None] * values
    return torch.zeros(n_rays, each.shape[-1], dtype=each.dtype).index_add(0, ray_indices, each)


def import_gsplat(folder):
    folder = pathlib.Path(folder) / "gsplat"
    module("gsplat", folder)
    module("gsplat.cuda", folder / "cuda")
    module("gsplat.cuda._backend", _C=None)
    module("nerfacc", pack_info=pack_info, render_weight_from_alpha=render_weight_from_alpha,
           accumulate_along_rays=accumulate_along_rays)
    from gsplat.cuda import _torch_cameras, _torch_impl, _torch_impl_eval3d, _torch_impl_ut, _wrapper

    def smooth(self, places):
        axis = 1 - self.shutter_type.value % 2
        at = ((places[..., axis] - 0.5) / ((self.width, self.height)[axis] - 1)).clamp(0, 1)
        return at if self.shutter_type.value < 2 else 1 - at

    _torch_cameras._BaseCameraModel.shutter_relative_frame_time = smooth
    return types.SimpleNamespace(cameras=_torch_cameras, flat=_torch_impl, rays=_torch_impl_eval3d, ut=_torch_impl_ut,
                                 enums=_wrapper)


def numbers_of(gsplat, args, kind, roll):
    """Projection by the unscented transform, the picture along rays, and gradients of the sum of its squares."""
    lens = coefficients(kind, (1,))
    model, ftheta = lens.pop("camera_model", "pinhole"), lens.pop("ftheta_coeffs", None)
    if ftheta is not None:
        lens["ftheta_coeffs"] = types.SimpleNamespace(
            **{**ftheta, "reference_poly": gsplat.enums.FThetaPolynomialType(ftheta["reference_poly"])})
    shutter, K = gsplat.enums.RollingShutterType(roll.get("rolling_shutter", 4)), args["Ks"]
    width, height = args["width"], args["height"]
    weights = types.SimpleNamespace(alpha=0.1, beta=2.0, kappa=0.0, in_image_margin_factor=0.1,
                                    require_all_sigma_points_valid=True)
    with torch.no_grad():
        radii, means2d, depths, conics, _ = gsplat.ut._fully_fused_projection_with_ut(
            *(args[name] for name in ("means", "quats", "scales", "opacities", "viewmats")), K, width, height,
            camera_model=model, ut_params=weights, rolling_shutter=shutter, viewmats_rs=roll.get("viewmats_rs"), **lens)
        camera = gsplat.cameras._BaseCameraModel.create(
            width=width, height=height, camera_model=model, principal_points=K[:, :2, 2], rs_type=shutter,
            focal_lengths=None if ftheta else K[:, [0, 1], [0, 1]], **lens)
        rays = gsplat.rays._generate_rays(camera, width, height, args["viewmats"], roll.get("viewmats_rs"))
    tiles = -(-width // 16), -(-height // 16)
    _, ids, flatten_ids = gsplat.flat._isect_tiles(means2d, radii, depths, 16, *tiles)
    offsets = gsplat.flat._isect_offset_encode(ids, 1, *tiles)
    inputs = leaves(args, torch.float32, ("viewmats",))
    picture, alphas = gsplat.rays._rasterize_to_pixels_eval3d(
        *(inputs[name] for name in ("means", "quats", "scales")), inputs["colors"][None], inputs["opacities"][None],
        args["viewmats"], K, width, height, 16, offsets, flatten_ids, rays=rays.reshape(1, height, width, 6))
    (picture.square().sum() + alphas.sum()).backward()
    out = dict(radii=radii, means2d=means2d, depths=depths, conics=conics, picture=picture, alphas=alphas)
    return {**out, **{f"gradient of {name}": inputs[name].grad for name in FIELDS}}


def text(tensor, digits):
    return [text(row, digits) for row in tensor] if tensor.dim() else float(f"{tensor.item():.{digits}g}")


def main():
    gsplat = import_gsplat(sys.argv[1])
    lines = []
    for i, kind in enumerate(KINDS):
        roll = i // 2 % 4 if i % 2 else None
        args = small(seed=300 + i, N=12, width=16, height=12)
        args["scales"] = args["scales"].clamp(max=0.25)
        if kind == "ortho":
            args["means"], args["scales"] = 0.4 * args["means"], 0.4 * args["scales"]
        args = {name: torch.tensor(text(value, 5)) if torch.is_tensor(value) else value for name, value in args.items()}
        case = dict(kind=kind, roll=roll, arguments={name: text(args[name], 5) for name in (*FIELDS, "viewmats", "Ks")})
        case["expected"] = {name: text(value.detach(), 6) for name, value in numbers_of(
            gsplat, args, kind, {} if roll is None else rolled(args, roll)).items()}
        lines.append(json.dumps(case, separators=(",", ":")))
    NUMBERS.write_text("[" + ",\n".join(lines) + "]\n")


if __name__ == "__main__":
    main()
