"""The reference's lenses, rolling shutters, unscented transform and rays, written out in PyTorch, in double: what oracle.py
draws with where rasterization() has with_ut or with_eval3d."""
import math

import torch


def _cross(w):
    zero = torch.zeros((), dtype=w.dtype)
    x, y, z = w.unbind(-1)
    return torch.stack([torch.stack([zero, -z, y]), torch.stack([z, zero, -x]), torch.stack([-y, x, zero])])


def _turn_between(first, last):
    """The axis times the angle that turns one rotation into the other."""
    R = last @ first.T
    angle = torch.arccos(((R.diagonal().sum() - 1) / 2).clamp(-1, 1))
    w = torch.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return w * (angle / w.norm() if angle > 1e-9 else 0.5)


class LensOracle:
    """One camera. `shutter` as gsplat counts, 4: global."""

    def __init__(self, model, view, K, width, height, shutter=4, view_rs=None, radial=None, tangential=None, prism=None,
                 ftheta=None):
        self.model, self.view, self.K, self.width, self.height = model, view, K, width, height
        self.shutter, self.view_rs, self.ftheta = shutter, view_rs, ftheta
        zeros = lambda given, n: [0.0] * n if given is None else [*given.tolist(), *[0.0] * (n - len(given))]  # noqa: E731
        self.k, self.p, self.s = zeros(radial, 6), zeros(tangential, 2), zeros(prism, 4)
        if view_rs is not None:
            self.turn = _turn_between(view[:3, :3], view_rs[:3, :3])

    def pose(self, time):
        """Rotations [..., 3, 3] and translations [..., 3] at moments 0 to 1."""
        if self.view_rs is None:
            return self.view[:3, :3], self.view[:3, 3]
        angle = self.turn.norm() + 1e-30
        K = _cross(self.turn / angle)
        at = (time * angle)[..., None, None]
        R = (torch.eye(3, dtype=K.dtype) + at.sin() * K + (1 - at.cos()) * (K @ K)) @ self.view[:3, :3]
        return R, torch.lerp(self.view[:3, 3], self.view_rs[:3, 3], time[..., None])

    def time(self, uv):
        """When a place of the picture is read: its rows' middles are at 0, 1 / (rows - 1), ..., 1."""
        size = (self.height, self.width)[self.shutter % 2]
        at = ((uv[..., 1 - self.shutter % 2] - 0.5) / (size - 1)).clamp(0, 1)
        return at if self.shutter < 2 else 1 - at

    def distorted(self, p):
        """Of a pinhole's plane, and the radial factor."""
        k, (p1, p2), s = self.k, self.p, self.s
        a, b = p.unbind(-1)
        r = a * a + b * b
        D = (1 + r * (k[0] + r * (k[1] + r * k[2]))) / (1 + r * (k[3] + r * (k[4] + r * k[5])))
        off = torch.stack([2 * p1 * a * b + p2 * (r + 2 * a * a) + s[0] * r + s[1] * r * r,
                           p1 * (r + 2 * b * b) + 2 * p2 * a * b + s[2] * r + s[3] * r * r], -1)
        return D, off

    def distance(self, theta):
        """How far from the middle an angle from the axis falls: of a fisheye in focal lengths, of ftheta in pixels."""
        if self.model == "fisheye":
            q = theta * theta
            return theta * (1 + q * (self.k[0] + q * (self.k[1] + q * (self.k[2] + q * self.k[3]))))
        if self.ftheta["reference_poly"] == 1:
            return sum(c * theta**i for i, c in enumerate(self.ftheta["angle_to_pixeldist_poly"]))
        poly = self.ftheta["pixeldist_to_angle_poly"]
        at = theta / poly[1]
        for _ in range(20):
            off = sum(c * at**i for i, c in enumerate(poly)) - theta
            at = at - off / sum(i * c * at**(i - 1) for i, c in enumerate(poly) if i)
        return at

    def widest(self):
        if self.model == "ftheta":
            return self.ftheta["max_angle"]
        K = self.K
        corner = math.hypot(max(self.width - K[0, 2], K[0, 2]), max(self.height - K[1, 2], K[1, 2]))
        return min(math.pi / 2, max(corner / K[0, 0], corner / K[1, 1]))

    def pixel(self, c):
        """Of points in camera axes [..., 3]; and whether the lens sees them."""
        K, z = self.K, c[..., 2]
        focal, middle = torch.stack([K[0, 0], K[1, 1]]), torch.stack([K[0, 2], K[1, 2]])
        if self.model in ("pinhole", "ortho"):
            seen = z > 0
            p = c[..., :2] / torch.where(seen, z, torch.ones_like(z))[..., None] if self.model == "pinhole" else c[..., :2]
            D, off = self.distorted(p)
            return focal * (D[..., None] * p + off) + middle, seen & (D > 0.8)
        rho = (c[..., :2].square().sum(-1) + 1e-30).sqrt()
        theta = torch.atan2(rho, z)
        p = (self.distance(theta) / rho)[..., None] * c[..., :2]
        if self.model == "ftheta":
            A, d, e = self.ftheta["linear_cde"]
            return p @ torch.tensor([[A, d], [e, 1.0]], dtype=p.dtype).T + middle + 0.5, theta < self.widest()
        return focal * p + middle, theta < self.widest()

    def place(self, x):
        """Of world points, each at the moment its place is read; and their camera z at half the read-out."""
        R, t = self.pose(torch.full((), 0.5, dtype=x.dtype))
        c = x @ R.T + t
        uv, seen = self.pixel(c)
        if self.view_rs is None:
            return uv, seen, c[..., 2]
        for _ in range(25):
            R, t = self.pose(self.time(uv))
            uv, seen = self.pixel((R @ x[..., None])[..., 0] + t)
        return uv, seen, c[..., 2]

    def project(self, means, axes):
        """Means and covariances in the picture by the weighted sums of the papers (alpha 0.1, beta 2, kappa 0); `axes`
        [N, 3, 3]: columns are standard deviations. And which are seen, and camera z."""
        alpha, beta, n = 0.1, 2.0, 3
        scale = alpha * alpha * n
        offsets = math.sqrt(scale) * axes.transpose(-1, -2)
        points = torch.cat([means[:, None], means[:, None] + offsets, means[:, None] - offsets], 1)
        uv, seen, z = self.place(points)
        outside = 1 / (2 * scale)
        weights = torch.tensor([1 - n / scale] + [outside] * 6, dtype=means.dtype)
        mean = (weights[:, None] * uv).sum(1)
        of_cov = weights + (1 - alpha * alpha + beta) * torch.eye(7, dtype=means.dtype)[0]
        d = uv - mean[:, None]
        cov = torch.einsum("k,nki,nkj->nij", of_cov, d, d)
        for axis, size in ((0, self.width), (1, self.height)):
            seen = seen & (uv[..., axis] >= -0.1 * size) & (uv[..., axis] < 1.1 * size)
        return mean, cov, seen.all(-1), z[:, 0]

    @torch.no_grad()
    def camera_rays(self, uv):
        """Origins and directions of places of the picture [P, 2] in camera axes, and whether anything is seen there."""
        K = self.K
        p = (uv - torch.stack([K[0, 2], K[1, 2]])) / torch.stack([K[0, 0], K[1, 1]])
        zero = torch.zeros_like(p[:, 0])
        origin, good = torch.stack([zero, zero, zero], -1), zero == 0
        if self.model == "ortho":
            origin, d = torch.cat([p, zero[:, None]], -1), torch.stack([zero, zero, zero + 1], -1)
        elif self.model == "pinhole":
            at = p
            for _ in range(200):
                D, off = self.distorted(at)
                at = (p - off) / D[:, None]
            good = self.distorted(at)[0] > 0.8
            d = torch.cat([at, zero[:, None] + 1], -1)
        else:
            if self.model == "ftheta":
                A, dd, e = self.ftheta["linear_cde"]
                back = torch.tensor([[A, dd], [e, 1.0]], dtype=uv.dtype).inverse()
                p = (uv - torch.stack([K[0, 2], K[1, 2]]) - 0.5) @ back.T
            r = p.norm(dim=-1)
            low, high = zero.clone(), zero + float(self.widest())
            good = self.distance(high) > r
            for _ in range(60):
                middle = (low + high) / 2
                below = self.distance(middle) < r
                low, high = torch.where(below, middle, low), torch.where(below, high, middle)
            d = torch.cat([low.sin()[:, None] * p / r.clamp(min=1e-30)[:, None], low.cos()[:, None]], -1)
        return origin, d / d.norm(dim=-1, keepdim=True), good

    def rays(self, uv):
        """The same in the world."""
        origin, d, good = self.camera_rays(uv)
        R, t = self.pose(self.time(uv)) if self.view_rs is not None else self.pose(None)
        back = R.transpose(-1, -2)
        return (back @ (origin - t)[..., None])[..., 0], (back @ d[..., None])[..., 0], good


def response(means, quats_axes, scales, origin, direction):
    """exp(-D^2 / 2) [P, N] of rays: D is how near each comes to a mean, in standard deviations; 0 behind the origin."""
    M = (quats_axes / scales[:, None, :]).transpose(-1, -2)
    o = torch.einsum("nij,pnj->pni", M, origin[:, None] - means)
    d = torch.einsum("nij,pj->pni", M, direction)
    d = d / d.norm(dim=-1, keepdim=True)
    near = o - (o * d).sum(-1, keepdim=True) * d
    return torch.where((o * d).sum(-1) <= 0, torch.exp(-0.5 * near.square().sum(-1)), torch.zeros((), dtype=o.dtype))


def in_box(uv, mean2d, radii):
    """Whether a pixel's tile of 16 x 16 touches the box of a Gaussian's radii [P, N]."""
    tile = (uv // 16)[:, None]
    return ((tile * 16 < mean2d + radii) & (tile * 16 + 16 > mean2d - radii)).all(-1)
