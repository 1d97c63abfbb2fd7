"""The reference that rasterization() is held against: the same conventions written out in PyTorch, in double, every pair of
a Gaussian and a pixel at once; gradients by autograd. For small scenes."""
import torch

from lens_oracle import LensOracle, in_box, response

LIMITS = {"gsplat": (0.99, 0.005), "gsplat-1.5": (0.999, 0.0)}


def rotation_of(quats):
    w, x, y, z = (quats / quats.norm(dim=-1, keepdim=True)).unbind(-1)
    return torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).reshape(*quats.shape[:-1], 3, 3)


def place_of(c, K, width, height, model):
    """Pixel [N, 2] and its Jacobian [N, 2, 3] of points in camera axes."""
    fx, fy, cx, cy = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
    x, y, z = c.unbind(-1)
    zero, focal = torch.zeros_like(x), torch.stack([fx, fy])
    middle = torch.stack([cx, cy])
    if model == "ortho":
        J = torch.stack([fx + zero, zero, zero, zero, fy + zero, zero], -1)
        return focal * c[:, :2] + middle, J.reshape(-1, 2, 3)
    if model == "fisheye":
        rho2 = x * x + y * y
        rho = rho2.sqrt()
        g, r2 = torch.atan2(rho, z) / rho, rho2 + z * z
        bend = (z / r2 - g) / rho2
        J = torch.stack([fx * (g + bend * x * x), fx * bend * x * y, -fx * x / r2,
                         fy * bend * x * y, fy * (g + bend * y * y), -fy * y / r2], -1)
        return focal * g[:, None] * c[:, :2] + middle, J.reshape(-1, 2, 3)
    margin_x, margin_y = 0.15 * width / fx, 0.15 * height / fy
    u = torch.minimum(torch.maximum(x / z, -cx / fx - margin_x), (width - cx) / fx + margin_x)
    v = torch.minimum(torch.maximum(y / z, -cy / fy - margin_y), (height - cy) / fy + margin_y)
    J = torch.stack([fx / z, zero, -fx * u / z, zero, fy / z, -fy * v / z], -1)
    return torch.stack([fx * x / z + cx, fy * y / z + cy], -1), J.reshape(-1, 2, 3)


def harmonics(degree, d):
    x, y, z = d.unbind(-1)
    xx, yy, zz = x * x, y * y, z * z
    out = [0.28209479177387814 + 0 * x]
    if degree > 0:
        out += [0.4886025119029199 * f for f in (-y, z, -x)]
    if degree > 1:
        out += [1.0925484305920792 * x * y, -1.0925484305920792 * y * z, 0.31539156525205005 * (2 * zz - xx - yy),
                -1.0925484305920792 * x * z, 0.5462742152960396 * (xx - yy)]
    if degree > 2:
        out += [-0.5900435899266435 * y * (3 * xx - yy), 2.890611442640554 * x * y * z,
                -0.4570457994644658 * y * (4 * zz - xx - yy), 0.3731763325901154 * z * (2 * zz - 3 * xx - 3 * yy),
                -0.4570457994644658 * x * (4 * zz - xx - yy), 1.445305721320277 * z * (xx - yy),
                -0.5900435899266435 * x * (xx - 3 * yy)]
    return torch.stack(out, -1)


class View:
    """One camera's picture: color [H, W, X], alpha [H, W, 1], `clear` [H, W]: no decision there hangs on rounding."""


def draw(means, sigma, opacities, colors, viewmat, K, width, height, mode, background, model, limits, antialiased, sh_degree,
         near=0.01, far=1e10, radius_clip=0.0, eps2d=0.3, pixel_shift=None, lens=None, shape=None, with_ut=False,
         with_eval3d=False):
    """`shape`: rotations and scales, for `lens` (a LensOracle), which with_ut or with_eval3d want."""
    limit, least = limits
    view = View()
    R, t = viewmat[:3, :3], viewmat[:3, 3]
    centre = -torch.linalg.solve(R, t)
    if with_ut:
        mean2d, cov, shown, z = lens.project(means, shape[0] * shape[1][:, None, :])
        shown = shown & (z > near) & (z < far)
        mean2d = torch.where(shown[:, None], mean2d, torch.ones_like(mean2d))
        cov = torch.where(shown[:, None, None], cov, torch.eye(2, dtype=cov.dtype))
        if lens.view_rs is not None:
            centre = (centre - torch.linalg.solve(lens.view_rs[:3, :3], lens.view_rs[:3, 3])) / 2
    else:
        c = means @ R.T + t
        z = c[:, 2]
        shown = (z > near) & (z < far)
        c = torch.where(shown[:, None], c, torch.tensor([0.0, 0.1, 1.0], dtype=c.dtype))
        mean2d, J = place_of(c, K, width, height, model)
        cov = J @ R @ sigma @ R.T @ J.transpose(-1, -2)
    det0 = cov[:, 0, 0] * cov[:, 1, 1] - cov[:, 0, 1] ** 2
    blurred = cov + eps2d * torch.eye(2, dtype=cov.dtype)
    det = blurred[:, 0, 0] * blurred[:, 1, 1] - blurred[:, 0, 1] ** 2
    compensated = opacities * (det0 / det).clamp(min=max(least**2, 1e-30)).sqrt()
    boxed = compensated if antialiased or with_ut else opacities
    if antialiased:
        opacities = compensated
    conic = torch.stack([blurred[:, 1, 1], -blurred[:, 0, 1], blurred[:, 0, 0]], -1) / det[:, None]
    with torch.no_grad():
        sigmas = (2 * (boxed * 255).clamp(min=1).log()).sqrt().clamp(max=3.33)
        radius = (sigmas[:, None] * torch.stack([blurred[:, 0, 0], blurred[:, 1, 1]], -1).sqrt()).ceil()
        shown = shown & (boxed >= 1 / 255) & (radius > 0).all(-1) & (radius > radius_clip).any(-1)
        for axis, size in ((0, width), (1, height)):
            shown &= (mean2d[:, axis] + radius[:, axis] > 0) & (mean2d[:, axis] - radius[:, axis] < size)
        view.radii = (radius * shown[:, None]).int()
        order = z.float().argsort(stable=True)
        order = order[shown[order]]
    if colors is not None and sh_degree is not None:
        ray = means - centre
        basis = harmonics(sh_degree, ray / ray.norm(dim=-1, keepdim=True))
        colors = (torch.einsum("nk,nkd->nd", basis, colors[:, :basis.shape[-1]]) + 0.5).clamp(min=0)
    channels = [] if "RGB" not in mode else [colors]
    if mode != "RGB":
        channels.append(z[:, None])
    values = torch.cat(channels, -1)
    ys, xs = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    pixels = torch.stack([xs, ys], -1).to(means.dtype).reshape(-1, 1, 2)
    centre = mean2d[order][None].expand(len(pixels), -1, -1)
    if pixel_shift is not None:  # a variable for each pair, so that its gradient is each pixel's own
        pixel_shift.append(torch.zeros_like(centre, requires_grad=True))
        centre = centre + pixel_shift[-1]
    d = pixels - centre
    if with_eval3d:
        origin, direction, good = lens.rays(pixels[:, 0])
        raw = opacities[order] * response(means[order], shape[0][order], shape[1][order], origin, direction)
        raw = raw * (in_box(pixels[:, 0], mean2d[order].detach(), view.radii[order]) & good[:, None])
    else:
        k = conic[order]
        power = 0.5 * (k[:, 0] * d[..., 0] ** 2 + k[:, 2] * d[..., 1] ** 2) + k[:, 1] * d[..., 0] * d[..., 1]
        raw = opacities[order] * torch.exp(-power)
    alpha = torch.where(raw < 1 / 255, torch.zeros_like(raw), raw.clamp(max=limit))
    with torch.no_grad():
        behind = (1 - alpha).cumprod(-1)
        open_ = (behind > 1e-4).to(raw.dtype)
        near_cut = ((raw * 255 - 1).abs() < 1e-4) | ((raw / limit - 1).abs() < 1e-4) | ((behind * 1e4 - 1).abs() < 1e-3)
        view.clear = ~near_cut.any(-1).reshape(height, width)
    alpha = alpha * open_
    through = (1 - alpha).cumprod(-1)
    before = torch.cat([through.new_ones(len(pixels), 1), through], -1)
    weight = alpha * before[:, :-1]
    picture, left = weight @ values[order], before[:, -1:]
    if background is not None:
        zeros = [torch.zeros(1, dtype=picture.dtype)] * (mode != "RGB")
        picture = picture + left * torch.cat([background, *zeros] if "RGB" in mode else zeros)
    view.alpha = (1 - left).reshape(height, width, 1)
    view.color = picture.reshape(height, width, -1)
    if mode.endswith("ED"):
        view.color = torch.cat([view.color[..., :-1], view.color[..., -1:] / view.alpha.clamp(min=1e-10)], -1)
    view.order = order
    return view


def rasterization(means, quats, scales, opacities, colors, viewmats, Ks, width, height, *, covars=None, backgrounds=None,
                  render_mode="RGB", rasterize_mode="classic", sh_degree=None, camera_model="pinhole", profile="gsplat",
                  pixel_shifts=None, with_ut=False, with_eval3d=False, radial_coeffs=None, tangential_coeffs=None,
                  thin_prism_coeffs=None, ftheta_coeffs=None, rolling_shutter=4, viewmats_rs=None, **numbers):
    """As gausscope.rasterization() of double tensors; the third result is the list of Views."""
    lead = means.shape[:-2]
    batches, cameras = max(1, lead.numel()), viewmats.shape[-3]
    flat = lambda t: None if t is None else t.reshape(batches, *t.shape[len(lead):]).to(means.dtype)  # noqa: E731
    means, quats, scales, opacities, colors, viewmats, Ks, covars, backgrounds = map(
        flat, (means, quats, scales, opacities, colors, viewmats, Ks, covars, backgrounds))
    of_lens = [flat(t) for t in (viewmats_rs, radial_coeffs, tangential_coeffs, thin_prism_coeffs)]
    views = []
    for b in range(batches):
        if covars is None:
            factor = rotation_of(quats[b]) * scales[b][:, None, :]
            sigma = factor @ factor.transpose(-1, -2)
        else:
            upper = covars[b].triu()
            sigma = upper + upper.triu(1).transpose(-1, -2)
        for c in range(cameras):
            by_view = colors is not None and colors.dim() == (5 if sh_degree is not None else 4)
            of_view = None if colors is None else colors[b, c] if by_view else colors[b]
            lens = LensOracle(camera_model, viewmats[b, c], Ks[b, c], width, height, rolling_shutter,
                              *(None if t is None else t[b, c] for t in of_lens), ftheta_coeffs)
            views.append(draw(
                means[b], sigma, opacities[b], of_view, viewmats[b, c], Ks[b, c], width, height, render_mode,
                None if backgrounds is None else backgrounds[b, c], camera_model, LIMITS[profile],
                rasterize_mode == "antialiased", sh_degree, pixel_shift=pixel_shifts, lens=lens, with_ut=with_ut,
                with_eval3d=with_eval3d, shape=None if quats is None else (rotation_of(quats[b]), scales[b]),
                **{{"near_plane": "near", "far_plane": "far"}.get(k, k): v for k, v in numbers.items()}))
    stack = lambda name: torch.stack([getattr(v, name) for v in views]).reshape(  # noqa: E731
        *lead, cameras, *getattr(views[0], name).shape)
    return stack("color"), stack("alpha"), views
