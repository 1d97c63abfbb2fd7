"""Trainers over rasterization(): the same losses as over the reference, gsplat's strategies, the paper's interface."""
import importlib.util
import math
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
import oracle
from gausscope import inria, strategy
from scenes import scene

NAMES = ("means", "quats", "scales", "opacities", "colors")


def parameters(args):
    """What a trainer optimises: logarithms of scales, logits of opacities."""
    start = {name: args[name].clone() for name in NAMES}
    start["scales"], start["opacities"] = start["scales"].log(), torch.logit(start["opacities"].clamp(0.01, 0.99))
    return {name: value.requires_grad_() for name, value in start.items()}


def activated(params):
    return {**params, "scales": params["scales"].exp(), "opacities": params["opacities"].sigmoid()}


def reference(**args):
    """The reference in double between the trainer's floats, whose rounding Adam makes much of."""
    wide = {k: v.double() if torch.is_tensor(v) else v for k, v in args.items()}
    return [oracle.rasterization(**wide)[0].float()]


def train(rasterization, target, args, steps, **options):
    """Losses of `steps` steps of Adam towards the target pictures [C, H, W, 3], a camera a step."""
    params = parameters(args)
    rates = dict(means=3e-3, quats=1e-3, scales=5e-3, opacities=2e-2, colors=5e-3)
    adam = torch.optim.Adam([dict(params=[params[name]], lr=rate) for name, rate in rates.items()], eps=1e-8)
    views, Ks = args["viewmats"], args["Ks"]
    losses = []
    for step in range(steps):
        camera = step % len(target)
        picture = rasterization(**activated(params), viewmats=views[camera:camera + 1], Ks=Ks[camera:camera + 1],
                                width=args["width"], height=args["height"], sh_degree=min(3, step // 60), **options)[0]
        error = picture - target[camera:camera + 1]
        loss = (error * error).mean()  # smooth: signs of errors that train to 0 would hang on rounding
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


class Training(unittest.TestCase):
    def test_200_steps_as_over_the_reference(self):
        target = gausscope.rasterization(**scene(seed=4, C=3, sh_degree=3))[0]
        args = scene(seed=4, C=3, sh_degree=3)
        g = torch.Generator().manual_seed(9)
        for name, by in (("means", 0.1), ("scales", 0.02), ("colors", 0.3)):
            args[name] = args[name] + by * torch.rand(args[name].shape, generator=g)
        del args["sh_degree"]
        want = train(reference, target, args, 200)
        for packed in (False, True):
            got = train(gausscope.rasterization, target, args, 200, packed=packed)
            self.assertLess(max(abs(a - b) for a, b in zip(got, want)), 1e-6)
        self.assertLess(want[-1], 0.5 * want[0])


class Strategy(unittest.TestCase):
    def test_relocation_keeps_what_a_gaussian_integrates_to(self):
        old, n_max = torch.tensor([0.02, 0.4, 0.9, 0.995, 0.7, 0.3, 1.0]), 51
        ratios = torch.tensor([1, 2, 7, 50, 80, 3, 1])
        for least in (0.0, 0.1):
            new, scales = strategy.compute_relocation(old, torch.ones(7, 3), ratios, torch.zeros(n_max, n_max), min_opacity=least)
            self.assertLess(new.max(), 1)
            for i, n in enumerate(ratios.clamp(max=n_max).tolist()):
                o = max(least, 1 - (1 - old[i].item()) ** (1 / n))
                whole = sum(math.comb(j - 1, k) * (-1) ** k / math.sqrt(k + 1) * o ** (k + 1)
                            for j in range(1, n + 1) for k in range(j))
                self.assertAlmostEqual(new[i].item(), o, places=5)
                self.assertAlmostEqual(scales[i, 1].item(), old[i].item() / whole, delta=1e-4 * old[i].item() / whole)

    def test_covariances_and_their_inverses(self):
        quats, scales = torch.randn(5, 4), 0.1 + torch.rand(5, 3)
        covars, precis = strategy.quat_scale_to_covar_preci(quats, scales)
        self.assertTrue(torch.allclose(covars @ precis, torch.eye(3).expand(5, 3, 3), atol=1e-3))
        upper, nothing = strategy.quat_scale_to_covar_preci(quats, scales, compute_preci=False, triu=True)
        self.assertIsNone(nothing)
        self.assertTrue(torch.equal(upper[:, 1], covars[:, 0, 1]))

    @unittest.skipUnless(importlib.util.find_spec("gsplat"), "gsplat is not installed")
    def test_those_of_gsplat_run(self):
        from gsplat.strategy import DefaultStrategy, MCMCStrategy
        strategy.use()
        for kind, packed, absgrad in ((DefaultStrategy, True, False), (DefaultStrategy, False, True), (MCMCStrategy, True, 0)):
            args = scene(seed=1, C=2, N=60)
            params = {k: torch.nn.Parameter(v) for k, v in parameters(args).items()}
            optimizers = {k: torch.optim.Adam([v], lr=1e-2) for k, v in params.items()}
            options = dict(refine_start_iter=2, refine_stop_iter=40, refine_every=5)
            if kind is DefaultStrategy:
                options |= dict(absgrad=absgrad, grow_grad2d=1e-6, reset_every=15)
            plan = kind(**options)
            plan.check_sanity(params, optimizers)
            state = plan.initialize_state(**({"scene_scale": 1.0} if kind is DefaultStrategy else {}))
            count = set()
            for step in range(30):
                picture, _, meta = gausscope.rasterization(
                    **activated(params), viewmats=args["viewmats"], Ks=args["Ks"], width=30, height=20, packed=packed,
                    absgrad=bool(absgrad))
                if kind is DefaultStrategy:
                    plan.step_pre_backward(params, optimizers, state, step, meta)
                (picture - 0.5).abs().mean().backward()
                for optimizer in optimizers.values():
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
                if kind is DefaultStrategy:
                    plan.step_post_backward(params, optimizers, state, step, meta, packed=packed)
                else:
                    plan.step_post_backward(params, optimizers, state, step, meta, lr=1e-3)
                count.add(len(params["means"]))
            self.assertGreater(len(count), 1)


class Inria(unittest.TestCase):
    def settings(self, args, **more):
        return inria.GaussianRasterizationSettings(
            image_height=20, image_width=30, tanfovx=0.625, tanfovy=0.4, bg=torch.tensor([0.1, 0.2, 0.3]), scale_modifier=1.0,
            viewmatrix=args["viewmats"][0].T, projmatrix=torch.eye(4), sh_degree=3, campos=torch.zeros(3), **more)

    def test_pictures_and_gradients(self):
        args = scene(seed=3, sh_degree=3)
        args["quats"] = torch.nn.functional.normalize(args["quats"], dim=-1)
        args["Ks"] = torch.tensor([[[24.0, 0, 15], [0, 25, 10], [0, 0, 1]]])
        for antialiasing in (None, True):
            means = args["means"].clone().requires_grad_()
            dummy = torch.zeros(32, 3, requires_grad=True)
            rasterizer = inria.GaussianRasterizer(self.settings(args, antialiasing=antialiasing))
            out = rasterizer(means3D=means, means2D=dummy, opacities=args["opacities"][:, None], shs=args["colors"],
                             scales=args["scales"], rotations=args["quats"])
            out[0].square().sum().backward()
            ours = dict(args, means=args["means"].clone().requires_grad_())
            picture, _, meta = gausscope.rasterization(
                **ours, backgrounds=torch.tensor([[0.1, 0.2, 0.3]]), near_plane=0.2, packed=False,
                rasterize_mode="antialiased" if antialiasing else "classic")
            meta["means2d"].retain_grad()
            picture.square().sum().backward()
            self.assertTrue(torch.allclose(out[0], picture[0].permute(2, 0, 1), atol=1e-5))
            self.assertTrue(torch.allclose(means.grad, ours["means"].grad, rtol=1e-3, atol=1e-4))
            ndc = meta["means2d"].grad[0] * torch.tensor([15.0, 10.0])
            self.assertTrue(torch.allclose(dummy.grad[:, :2], ndc, rtol=1e-3, atol=1e-3))
            self.assertTrue(((out[1] > 0) == (meta["radii"][0] > 0).all(-1)).all())
            self.assertEqual(len(out), 2 if antialiasing is None else 3)
            seen = rasterizer.markVisible(args["means"])
            self.assertTrue(seen[out[1] > 0].all())

    def test_whatever_the_default_type_is(self):
        args = scene(seed=3, sh_degree=3)
        settings = self.settings(args, antialiasing=True)
        call = dict(means3D=args["means"], means2D=torch.zeros(32, 3), opacities=args["opacities"][:, None],
                    shs=args["colors"], scales=args["scales"], rotations=args["quats"])
        expected = inria.GaussianRasterizer(settings)(**call)
        torch.set_default_dtype(torch.float64)
        try:
            self.assertTrue(all(map(torch.equal, expected, inria.GaussianRasterizer(settings)(**call))))
        finally:
            torch.set_default_dtype(torch.float32)

    def test_mixed_precision_and_poison(self):
        args = scene(seed=3, sh_degree=3)
        rasterizer = inria.GaussianRasterizer(self.settings(args))

        def drawn(**changes):
            tensors = {name: args[name].clone() for name in ("means", "scales", "quats")}
            for name, row in changes.items():
                tensors[name][row] = torch.nan
            for tensor in tensors.values():
                tensor.requires_grad_()
            out = rasterizer(tensors["means"], torch.zeros(32, 3), args["opacities"][:, None], shs=args["colors"],
                             scales=tensors["scales"], rotations=tensors["quats"])
            out[0].sum().backward()
            return out, tensors

        (picture, radii), _ = drawn()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertTrue(torch.equal(drawn()[0][0], picture))
            self.assertTrue(rasterizer.markVisible(args["means"])[radii > 0].all())
        for name in ("quats", "scales", "means"):
            row = int(radii.argmax())
            (_, poisoned), tensors = drawn(**{name: row})
            self.assertEqual((int(poisoned[row]), bool(torch.isfinite(picture).all())), (0, True))
            for tensor in tensors.values():
                self.assertTrue(tensor.grad.isfinite().all(), name)
                self.assertFalse(tensor.grad[row].any(), name)

    def test_other_forms_of_its_arguments(self):
        args = scene(seed=3, sh_degree=3)
        rasterizer = inria.GaussianRasterizer(self.settings(args))
        common = dict(means3D=args["means"], means2D=torch.zeros(32, 3), opacities=args["opacities"][:, None])
        quats = torch.nn.functional.normalize(args["quats"], dim=-1)
        covars = strategy.quat_scale_to_covar_preci(quats, args["scales"], compute_preci=False, triu=True)[0]
        shape = dict(scales=args["scales"], rotations=quats)
        want = rasterizer(**common, shs=args["colors"], **shape)[0]
        split = rasterizer(**common, dc=args["colors"][:, :1], shs=args["colors"][:, 1:], **shape)[0]
        self.assertTrue(torch.equal(want, split))
        self.assertTrue(torch.allclose(want, rasterizer(**common, shs=args["colors"], cov3D_precomp=covars)[0], atol=1e-4))
        self.assertEqual(rasterizer(**common, colors_precomp=torch.rand(32, 3), **shape)[0].shape, (3, 20, 30))
        for wrong in (dict(shape), dict(shape, shs=args["colors"], colors_precomp=torch.rand(32, 3)),
                      dict(shs=args["colors"])):
            with self.assertRaises(gausscope.Error):
                rasterizer(**common, **wrong)

    def test_what_else_those_trainers_import(self):
        points = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3], [10, 0, 0]])
        near = inria.distCUDA2(points)
        self.assertAlmostEqual(near[0].item(), (1 + 4 + 9) / 3, places=4)
        self.assertAlmostEqual(near[4].item(), (81 + 100 + 104) / 3, places=3)
        a, b = torch.rand(2, 3, 32, 40), torch.rand(2, 3, 32, 40, requires_grad=True)
        self.assertAlmostEqual(inria.fused_ssim(a, a).item(), 1, places=5)
        similar = inria.fused_ssim(a, b, padding="valid")
        self.assertLess(similar.item(), 0.2)
        similar.backward()
        self.assertGreater(b.grad.abs().max(), 0)
        param = torch.nn.Parameter(torch.ones(4, 2))
        adam = inria.SparseGaussianAdam([dict(params=[param], name="xyz")], lr=0.1, eps=1e-15)
        (param * torch.tensor([1.0, -2.0])).sum().backward()
        seen = torch.tensor([True, False, True, False])
        adam.step(seen, 4)
        step = 0.1 * 0.1 / math.sqrt(0.001)
        want = torch.ones(4, 2) - seen[:, None] * torch.tensor([step, -step])
        self.assertTrue(torch.allclose(param, want, atol=1e-6))


if __name__ == "__main__":
    unittest.main()
