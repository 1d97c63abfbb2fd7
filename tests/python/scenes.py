"""Random scenes, and the comparison of rasterization() with the reference on them."""
import torch

import gausscope
import oracle

INPUTS = ("means", "quats", "scales", "opacities", "colors", "viewmats", "covars", "backgrounds")


def scene(seed=0, N=32, C=1, lead=(), channels=3, sh_degree=None, by_view=False, background=False, covars=False,
          width=30, height=20):
    """Arguments of rasterization(), float32: Gaussians in front of C cameras, some behind or beside them."""
    g = torch.Generator().manual_seed(seed)
    uniform = lambda *shape: torch.rand(*shape, generator=g)  # noqa: E731
    normal = lambda *shape: torch.randn(*shape, generator=g)  # noqa: E731
    means = normal(*lead, N, 3) * torch.tensor([1.2, 0.9, 1.0])
    scales = 0.02 + 0.4 * uniform(*lead, N, 3) ** 2
    args = dict(means=means, quats=normal(*lead, N, 4), scales=scales, opacities=0.05 + 0.95 * uniform(*lead, N))
    rows = (*lead, C, N) if by_view else (*lead, N)
    if sh_degree is None:
        args["colors"] = uniform(*rows, channels)
    else:
        args["colors"] = 0.5 * normal(*rows, 16, 3)
        args["sh_degree"] = sh_degree
    # In double: what PyTorch 1.13 makes in float32 is no rotation to 6e-6, which a rolling shutter shows.
    turn = torch.matrix_exp(torch.einsum("...k,kij->...ij", 0.2 * normal(*lead, C, 3), torch.tensor(
        [[[0., 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]])).double()).float()
    viewmats = torch.eye(4).repeat(*lead, C, 1, 1)
    viewmats[..., :3, :3] = turn
    viewmats[..., :3, 3] = 0.3 * normal(*lead, C, 3) + torch.tensor([0, 0, 3.0])
    K = torch.tensor([[24.0, 0, 0.46 * width], [0, 26.0, 0.55 * height], [0, 0, 1]])
    args |= dict(viewmats=viewmats, Ks=K.repeat(*lead, C, 1, 1), width=width, height=height)
    if covars:
        factor = oracle.rotation_of(args.pop("quats").double()) * args.pop("scales").double()[..., None, :]
        args |= dict(quats=None, scales=None, covars=(factor @ factor.transpose(-1, -2)).float())
    if background:
        args["backgrounds"] = uniform(*lead, C, channels if sh_degree is None else 3)
    return args


def leaves(args, dtype, frozen=()):
    """The same with leaves that require a gradient, but for those of the names `frozen`."""
    out = dict(args)
    for name in INPUTS:
        if torch.is_tensor(out.get(name)):
            out[name] = out[name].detach().to(dtype).requires_grad_(name not in frozen)
    out["Ks"] = out["Ks"].to(dtype)
    return out


def seeds(picture, alphas, clear, seed=0, color=True, alpha=True):
    """Weights of a loss that sees every pixel whose decisions do not hang on rounding."""
    g = torch.Generator().manual_seed(seed)
    keep = clear.reshape(*alphas.shape[:-1], 1)
    return (torch.randn(picture.shape, generator=g) * keep * color, torch.randn(alphas.shape, generator=g) * keep * alpha)


def loss_of(picture, alphas, weights):
    return (picture * weights[0].to(picture)).sum() + (alphas * weights[1].to(alphas)).sum()


class Reference:
    """The reference's pictures and gradients of a scene."""

    def __init__(self, args, color=True, alpha=True, frozen=(), **options):
        self.args, self.options, self.frozen = args, options, frozen
        self.inputs = leaves(args, torch.float64, frozen)
        self.shifts = []
        self.picture, self.alphas, self.views = oracle.rasterization(**self.inputs, **options, pixel_shifts=self.shifts)
        self.clear = torch.stack([v.clear for v in self.views]).reshape(self.alphas.shape[:-1])
        self.weights = seeds(self.picture, self.alphas, self.clear, color=color, alpha=alpha)
        loss = loss_of(self.picture, self.alphas, self.weights)
        if loss.requires_grad:
            loss.backward()

    def compare(self, test, limit=2e-5, **options):
        """Runs ours and checks pictures to `limit` and gradients to 1e-4 of their largest."""
        ours = leaves(self.args, torch.float32, self.frozen)
        picture, alphas, meta = gausscope.rasterization(**ours, **self.options, **options)
        keep = self.clear[..., None]
        for name, got, want in (("picture", picture, self.picture), ("alphas", alphas, self.alphas)):
            test.assertEqual(got.shape, want.shape)
            size = max(1.0, want.abs().max().item())
            far = ((got.double() - want).abs() * keep).max().item() / size
            test.assertLess(far, limit, f"{name} of {self.options} {options}")
        loss_of(picture, alphas, self.weights).backward()
        for name in INPUTS:
            if torch.is_tensor(ours.get(name)):
                want, got = self.inputs[name].grad, ours[name].grad
                if want is None:  # colours of a depth map
                    test.assertTrue(got is None or not got.any(), name)
                    continue
                far, size = (got.double() - want).abs().max().item(), max(want.abs().max().item(), 1e-3)
                test.assertLess(far / size, 1e-4, f"gradient of {name}, {self.options} {options}")
        return picture, alphas, meta, ours
