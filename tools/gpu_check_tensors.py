"""rasterization() with CUDA tensors beside tensors of the CPU: pictures, gradients, the same bits twice, on a stream of its own,
and times. Run by tools/gpu_check where PyTorch sees a GPU. Its last line is a JSON object; exit code 1: they differ."""
import json
import sys
import time

import torch

import gausscope

PICTURE, GRADIENT = 2e-5, 1e-4  # of the largest value
CASES = {
    "colors": {}, "packed": {"packed": True}, "sh": {"sh_degree": 3}, "depth": {"render_mode": "RGB+ED"},
    "antialiased": {"rasterize_mode": "antialiased"}, "channels": {"channels": 33}, "fisheye": {"camera_model": "fisheye"},
    "ortho": {"camera_model": "ortho"}, "unscented": {"with_ut": True}, "lens": {"with_ut": True, "lens": True},
    "shutter": {"with_ut": True, "shutter": True},
}


def scene(seed, count, cameras, width, height, sh_degree=None, channels=3, camera_model="pinhole", lens=False, shutter=False):
    g = torch.Generator().manual_seed(seed)
    some = lambda *shape: torch.randn(*shape, generator=g)  # noqa: E731
    views = torch.eye(4).repeat(cameras, 1, 1)
    views[:, :3, 3] = 0.2 * some(cameras, 3) + torch.tensor([0, 0, 4.0])
    focal = 0.2 * width if camera_model == "ortho" else 0.8 * width
    K = torch.tensor([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]).repeat(cameras, 1, 1)
    size = 0.3 * count ** (-1 / 3)
    args = dict(means=some(count, 3), quats=some(count, 4), scales=size * (0.3 + torch.rand(count, 3, generator=g)),
                opacities=0.1 + 0.9 * torch.rand(count, generator=g), viewmats=views, Ks=K,
                colors=0.3 * some(count, 16, 3) if sh_degree is not None else torch.rand(count, channels, generator=g))
    if lens:
        args["radial_coeffs"] = torch.tensor([[-0.1, 0.02, 0, 0, 0, 0]]).repeat(cameras, 1)
    if shutter:
        last = views.clone()
        last[:, 0, 3] += 0.05
        args["viewmats_rs"] = last
    return args


def drawn(args, device, **options):
    """Picture, alphas and gradients, on the CPU."""
    rolls = "viewmats_rs" in args
    fixed = ("Ks", "viewmats_rs", "radial_coeffs", *(("viewmats",) if rolls else ()))
    there = {name: t.detach().clone().to(device).requires_grad_(name not in fixed) for name, t in args.items()}
    picture, alphas, _ = gausscope.rasterization(**there, rolling_shutter=0 if rolls else None, **options)
    g = torch.Generator().manual_seed(7)
    weights = torch.randn(picture.shape, generator=g).to(device)
    ((picture * weights).sum() + alphas.square().sum()).backward()
    found = {"picture": picture, "alphas": alphas, **{name: t.grad for name, t in there.items() if t.grad is not None}}
    return {name: t.detach().cpu() for name, t in found.items()}


def compare(name, want, got, findings):
    worst = {}
    for key, value in want.items():
        apart = (got[key] - value).abs().flatten()
        is_picture = key in ("picture", "alphas")
        # A pixel at the limit of alpha may go either way: one in a thousand may differ.
        largest = apart.kthvalue(int(0.999 * apart.numel())).values if is_picture else apart.max()
        far = worst[key] = largest.item() / max(value.abs().max().item(), 1e-9)
        if not far <= (PICTURE if is_picture else GRADIENT):
            findings.append(f"{name}: {key} differs by {far:.2g} of its largest value")
    return worst


def milliseconds(device, count, width, height, backward):
    args = {k: v.to(device).requires_grad_(backward and k not in ("Ks", "viewmats")) for k, v in
            scene(3, count, 1, width, height, sh_degree=3).items()}
    best = float("inf")
    for _ in range(12):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        picture = gausscope.rasterization(**args, width=width, height=height, sh_degree=3, packed=False)[0]
        if backward:
            picture.sum().backward()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return round(1e3 * best, 3)


def main(device):
    findings, worst = [], {}
    for name, options in CASES.items():
        own = {k: options[k] for k in ("sh_degree", "channels", "camera_model", "lens", "shutter") if k in options}
        args = scene(11, 400, 2, 96, 64, **own)
        call = {k: v for k, v in options.items() if k not in ("channels", "lens", "shutter")}
        call = {"packed": False, "width": 96, "height": 64, **call}
        want, got = drawn(args, "cpu", **call), drawn(args, device, **call)
        worst[name] = compare(name, want, got, findings)
        again = drawn(args, device, **call)
        findings += [f"{name}: {key} has other bits the second time" for key in got if not torch.equal(got[key], again[key])]
    times = {}
    if device != "cpu":
        args, call = scene(12, 3000, 1, 200, 150), {"packed": False, "width": 200, "height": 150}
        want = drawn(args, device, **call)
        with torch.cuda.stream(torch.cuda.Stream()):
            got = drawn(args, device, **call)
        findings += [f"on another stream {key} has other bits" for key in want if not torch.equal(want[key], got[key])]
        for count, width, height in ((100_000, 800, 600), (1_000_000, 1600, 1064)):
            times[f"{count} {width}x{height}"] = [milliseconds(device, count, width, height, way) for way in (False, True)]
    for finding in findings:
        print(finding, file=sys.stderr)
    print(json.dumps({"findings": findings, "worst": worst, "forward_and_with_backward_ms": times}))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "cuda"))
