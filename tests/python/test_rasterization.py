"""rasterization() against the reference: every mode it supports, forward and backward."""
import importlib.util
import itertools
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
import oracle
from scenes import Reference, scene

MODES = ("RGB", "D", "ED", "RGB+D", "RGB+ED")
COLORS = [dict(channels=d) for d in (1, 3, 4, 33)] + [dict(sh_degree=k) for k in range(4)]


class Modes(unittest.TestCase):
    def test_every_mode_batch_and_kind_of_colours(self):
        switches = itertools.cycle(itertools.product((False, True), ("classic", "antialiased"), ("gsplat", "gsplat-1.5"),
                                                     (False, True)))
        worst = 0
        for i, (mode, C, lead, color) in enumerate(itertools.product(MODES, (1, 3), ((), (2,)), COLORS)):
            background, rasterize_mode, profile, by_view = next(switches)
            if lead and (i + i // 16) % 2:
                lead = (1, 2)
            args = scene(seed=i, C=C, lead=lead, background=background, by_view=by_view, **color)
            reference = Reference(args, render_mode=mode, rasterize_mode=rasterize_mode, profile=profile)
            self.assertGreater(reference.clear.double().mean(), 0.9)
            for packed in (False, True):
                with self.subTest(mode=mode, C=C, lead=lead, packed=packed, **color):
                    reference.compare(self, packed=packed)
            worst = max(worst, reference.alphas.max().item())
        self.assertGreater(worst, 0.99)

    def test_lenses(self):
        for model, mode, packed, covars in itertools.product(("ortho", "fisheye", "pinhole"), ("RGB+ED", "RGB"), (0, 1),
                                                             (False, True)):
            with self.subTest(model=model, mode=mode, packed=packed, covars=covars):
                args = scene(seed=7, C=2, sh_degree=2, covars=covars)
                Reference(args, camera_model=model, render_mode=mode, rasterize_mode="antialiased").compare(
                    self, packed=bool(packed))

    def test_planes_and_small_gaussians(self):
        for numbers in (dict(near_plane=2.5), dict(far_plane=3.0), dict(radius_clip=6.0), dict(eps2d=0.1),
                        dict(eps2d=2.0, near_plane=1.0, far_plane=4.0)):
            with self.subTest(**numbers):
                reference = Reference(scene(seed=3, C=2), **numbers)
                _, _, meta, _ = reference.compare(self, packed=False)
                radii = torch.stack([v.radii for v in reference.views])
                self.assertTrue(torch.equal(meta["radii"], radii))

    def test_loss_of_one_picture_alone(self):
        for color, alpha in ((True, False), (False, True)):
            for mode in ("RGB", "D", "ED"):
                Reference(scene(seed=5), color=color, alpha=alpha, render_mode=mode).compare(self)

    def test_opaque_faint_flat_and_turned_inside_out(self):
        args = scene(seed=11, N=60)
        args["opacities"][:20] = torch.tensor([0.0, 1.0, 1.7, 0.99, 0.999]).repeat(4)
        args["scales"][20:30, 0] = 0
        args["scales"][30:40] *= -1
        args["quats"][40:50] *= 100
        for profile in ("gsplat", "gsplat-1.5"):
            Reference(args, profile=profile).compare(self)
            Reference(args, profile=profile, render_mode="RGB+D").compare(self, packed=False)


class Absgrad(unittest.TestCase):
    def test_sums_of_absolute_values_over_all_channels(self):
        for channels, packed, C in itertools.product((3, 33), (False, True), (1, 2)):
            with self.subTest(channels=channels, packed=packed, C=C):
                reference = Reference(scene(seed=2, C=C, channels=channels))
                ours_args = scene(seed=2, C=C, channels=channels)
                ours_args["means"].requires_grad_()
                picture, alphas, meta = gausscope.rasterization(**ours_args, packed=packed, absgrad=True)
                self.assertEqual(meta["means2d"].absgrad.abs().sum().item(), 0)
                meta["means2d"].retain_grad()
                ((picture * reference.weights[0]).sum() + (alphas * reference.weights[1]).sum()).backward()
                absgrad, grad = meta["means2d"].absgrad, meta["means2d"].grad
                self.assertEqual(absgrad.shape, meta["means2d"].shape)
                self.assertTrue((absgrad >= grad.abs() * (1 - 1e-4) - 1e-6).all())
                for c, (shift, view) in enumerate(zip(reference.shifts, reference.views)):
                    want, signed = torch.zeros(32, 2).double(), torch.zeros(32, 2).double()
                    want[view.order] = shift.grad.abs().sum(0)
                    signed[view.order] = shift.grad.sum(0)
                    if packed:
                        at = meta["camera_ids"] == c
                        rows = meta["gaussian_ids"][at]
                        pairs = ((absgrad[at], want[rows]), (grad[at], signed[rows]))
                    else:
                        pairs = ((absgrad[c], want), (grad[c], signed))
                    for got, wanted in pairs:
                        self.assertLess((got - wanted).abs().max().item(), 1e-4 * wanted.abs().max().item())


@unittest.skipUnless(importlib.util.find_spec("gsplat"), "gsplat is not installed")
class Gsplat(unittest.TestCase):
    def test_its_own_projection_and_harmonics(self):
        from gsplat.cuda import _torch_impl as theirs
        for model, lead in itertools.product(("pinhole", "ortho", "fisheye"), ((), (2,))):
            args = scene(seed=8, N=200, C=2, lead=lead, sh_degree=3, width=160, height=112)
            meta = gausscope.rasterization(**args, packed=False, camera_model=model, profile="gsplat-1.5",
                                           rasterize_mode="antialiased")[2]
            wide = {k: v.double() if torch.is_tensor(v) else v for k, v in args.items()}
            covars, _ = theirs._quat_scale_to_covar_preci(wide["quats"], wide["scales"], True, False)
            radii, means2d, depths, conics, compensations = theirs._fully_fused_projection(
                wide["means"], covars, wide["viewmats"], wide["Ks"], 160, 112, calc_compensations=True, camera_model=model)
            drawn = (meta["radii"] > 0).all(-1)
            self.assertGreater(drawn.sum(), 100)
            self.assertTrue((radii[drawn] >= meta["radii"][drawn]).all())
            for key, want in (("means2d", means2d), ("depths", depths), ("conics", conics),
                              ("opacities", compensations * wide["opacities"][..., None, :])):
                far = (meta[key].double() - want)[drawn].abs().max() / want[drawn].abs().max()
                self.assertLess(far, 1e-6, f"{key} of {model}")
            rays = torch.randn(50, 3).double()
            coefficients = torch.randn(50, 16, 3).double()
            unit = rays / rays.norm(dim=-1, keepdim=True)
            want = theirs._spherical_harmonics(3, rays, coefficients)
            got = torch.einsum("nk,nkd->nd", oracle.harmonics(3, unit), coefficients)
            self.assertLess((got - want).abs().max(), 1e-6)


if __name__ == "__main__":
    unittest.main()
