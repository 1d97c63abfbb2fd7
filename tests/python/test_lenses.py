"""rasterization() through lenses with distortion, rolling shutters, the unscented transform and along rays, against the
reference."""
import json
import pathlib
import types
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
import oracle
from scenes import INPUTS, Reference, leaves, loss_of, scene

draw = gausscope.rasterization
NUMBERS = pathlib.Path(__file__).with_name("gsplat_lenses.json")

FTHETA = {"reference_poly": 1, "pixeldist_to_angle_poly": (0, 0.0415, 0, 0, 0, 0),
          "angle_to_pixeldist_poly": (0, 24.0, 0.3, -1.2, 0.1, 0.02), "max_angle": 1.2, "linear_cde": (1.02, 0.01, -0.02)}
FTHETA_BACK = {"reference_poly": 0, "pixeldist_to_angle_poly": (0, 0.04, 1e-5, 3e-6, 0, 0),
               "angle_to_pixeldist_poly": (0, 25.0, 0, 0, 0, 0), "max_angle": 1.1, "linear_cde": (1.0, 0.0, 0.0)}


def coefficients(kind, views, seed=0):
    """Options of a lens by its kind; a little different for each of the views."""
    g = torch.Generator().manual_seed(seed)
    some = lambda values: torch.tensor(values) * (1 + 0.2 * torch.rand(*views, len(values), generator=g))  # noqa: E731
    radial = some([-0.12, 0.03, 0.01, 0.02, -0.01, 0.004])
    return {
        "pinhole": {},
        "radial": dict(radial_coeffs=radial),
        "four": dict(radial_coeffs=radial[..., :4].clone()),
        "tangential": dict(tangential_coeffs=some([0.012, -0.02])),
        "prism": dict(radial_coeffs=radial, tangential_coeffs=some([0.012, -0.02]),
                      thin_prism_coeffs=some([0.01, -0.004, -0.015, 0.006])),
        "ortho": dict(camera_model="ortho"),
        "fisheye": dict(camera_model="fisheye"),
        "bent fisheye": dict(camera_model="fisheye", radial_coeffs=some([0.04, -0.02, 0.01, -0.003])),
        "ftheta": dict(camera_model="ftheta", ftheta_coeffs=FTHETA),
        "ftheta back": dict(camera_model="ftheta", ftheta_coeffs=FTHETA_BACK),
    }[kind]


KINDS = ("pinhole", "radial", "four", "tangential", "prism", "ortho", "fisheye", "bent fisheye", "ftheta", "ftheta back")


def rolled(args, shutter, turn=0.06, move=0.1):
    """The scene's views at the beginning, and others at the end of the read-out."""
    lead = args["viewmats"].shape[:-2]
    g = torch.Generator().manual_seed(9)
    w = turn * torch.randn(*lead, 3, generator=g)
    zero = torch.zeros(lead)
    x, y, z = w.unbind(-1)
    turned = torch.matrix_exp(torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*lead, 3, 3).double()).float()
    last = args["viewmats"].clone()
    last[..., :3, :3] = turned @ last[..., :3, :3]
    last[..., :3, 3] += move * torch.randn(*lead, 3, generator=g)
    return dict(rolling_shutter=shutter, viewmats_rs=last)


def small(**options):
    """Gaussians of which many are seen whole, as the unscented transform wants them."""
    args = scene(**options)
    args["means"] = args["means"] * 0.7
    return args


class Against(unittest.TestCase):
    def check(self, args, least=8, with_ut=True, views=True, **options):
        options = dict(with_ut=with_ut, **options)
        if not views:
            args["viewmats"].requires_grad_(False)
        reference = Reference(args, frozen=() if views else ("viewmats",), **options)
        self.assertGreater(reference.clear.double().mean(), 0.9)
        for view in reference.views:
            self.assertGreater((view.radii > 0).all(-1).sum(), least)
        # Along rays float32 has the directions of tiles of a radian.
        _, _, meta, _ = reference.compare(self, packed=False, limit=5e-5 if options.get("with_eval3d") else 2e-5)
        radii = torch.stack([v.radii for v in reference.views]).reshape(meta["radii"].shape)
        self.assertTrue(torch.equal(meta["radii"], radii))

    def test_unscented_through_every_lens(self):
        for i, kind in enumerate(KINDS):
            for mode, rasterize_mode in (("RGB+ED", "classic"), ("RGB", "antialiased")):
                with self.subTest(kind=kind, mode=mode):
                    args = small(seed=20 + i, N=60, C=2, sh_degree=2, background=True)
                    self.check(args, render_mode=mode, rasterize_mode=rasterize_mode, **coefficients(kind, (2,)))

    def test_rolling_shutters(self):
        for i, (kind, shutter) in enumerate((("pinhole", 0), ("prism", 1), ("bent fisheye", 2), ("ftheta", 3), ("ortho", 0))):
            for eval3d in (False, True):
                with self.subTest(kind=kind, shutter=shutter, eval3d=eval3d):
                    args = small(seed=40 + i, N=60, C=2, sh_degree=1)
                    self.check(args, views=False, with_eval3d=eval3d, render_mode="RGB+D", **coefficients(kind, (2,)),
                               **rolled(args, shutter))

    def test_along_rays(self):
        for i, kind in enumerate(KINDS):
            for profile, channels, lead in (("gsplat", 3, ()), ("gsplat-1.5", 5, (2,))):
                with self.subTest(kind=kind, profile=profile):
                    args = small(seed=60 + i, N=60, C=2, lead=lead, channels=channels, background=True, by_view=bool(lead))
                    self.check(args, with_eval3d=True, profile=profile, render_mode="RGB+ED" if lead else "RGB",
                               **coefficients(kind, (*lead, 2)))

    def test_along_rays_without_the_unscented_transform(self):
        for kind in ("pinhole", "ortho", "fisheye"):
            with self.subTest(kind=kind):
                args = small(seed=81, N=60, C=2, sh_degree=2, width=50, height=40)
                args["Ks"][..., :2, :] *= 2
                self.check(args, with_ut=False, with_eval3d=True, rasterize_mode="antialiased",
                           **coefficients(kind, (2,)))


class FiniteDifferences(unittest.TestCase):
    def test_the_reference_has_the_gradients_of_its_pictures(self):
        for eval3d, kind in ((False, "prism"), (True, "bent fisheye"), (True, "ftheta back")):
            args = small(seed=4, N=12, width=24, height=16, background=True)
            options = dict(with_ut=True, with_eval3d=eval3d, **coefficients(kind, (1,)), **rolled(args, 2))
            reference = Reference(args, frozen=("viewmats",), **options)
            self.assertGreater((reference.views[0].radii > 0).all(-1).sum(), 4)
            inputs = {name: value.detach() if torch.is_tensor(value) else value for name, value in reference.inputs.items()}

            def loss(**moved):
                return loss_of(*oracle.rasterization(**{**inputs, **moved}, **options)[:2], reference.weights).item()

            g = torch.Generator().manual_seed(1)
            for name in ("means", "quats", "scales", "opacities", "colors", "backgrounds"):
                way = torch.randn(inputs[name].shape, generator=g).double()
                change = loss(**{name: inputs[name] + 1e-6 * way}) - loss(**{name: inputs[name] - 1e-6 * way})
                products = reference.inputs[name].grad * way
                self.assertAlmostEqual(change / 2e-6, products.sum().item(), delta=1e-5 * products.abs().sum().item(),
                                       msg=f"{name} of {kind}")


class Gsplat(unittest.TestCase):
    def test_numbers_of_its_own_functions(self):
        # They compute in float32, with weights near a hundred: up to 2.3e-4 from the reference, we 1e-5.
        cases = json.loads(NUMBERS.read_text())
        self.assertEqual(len(cases), len(KINDS))
        for case in cases:
            with self.subTest(kind=case["kind"], roll=case["roll"]):
                args = {name: torch.tensor(value) for name, value in case["arguments"].items()}
                args |= dict(width=16, height=12, packed=False, with_ut=True, **coefficients(case["kind"], (1,)))
                if case["roll"] is not None:
                    args |= rolled(args, case["roll"])
                expected = {name: torch.tensor(value) for name, value in case["expected"].items()}
                meta = draw(**args)[2]
                drawn = (expected["radii"] > 0).all(-1)
                self.assertGreaterEqual(drawn.sum(), 5)
                self.assertTrue(torch.equal(drawn, (meta["radii"] > 0).all(-1)))
                self.assertTrue(torch.equal(meta["radii"], expected["radii"].int()))
                inputs = leaves(args, torch.float32, ("viewmats",))
                picture, alphas, _ = draw(**inputs, with_eval3d=True)
                (picture.square().sum() + alphas.sum()).backward()
                got = dict(meta, picture=picture, alphas=alphas,
                           **{f"gradient of {name}": value.grad for name, value in inputs.items() if torch.is_tensor(value)})
                for name, want in expected.items():
                    limit = 5e-4 if name == "conics" else 3e-4
                    if name != "radii":
                        far = (got[name] - want).abs().max() / want.abs().max()
                        self.assertLess(far, limit, name)


class Calls(unittest.TestCase):
    def test_the_same_bits_twice_and_on_any_number_of_threads(self):
        args = small(seed=3, N=200, C=2, width=70, height=50, background=True)
        args["Ks"][..., :2, :] *= 2
        options = dict(with_ut=True, with_eval3d=True, packed=False, **coefficients("prism", (2,)), **rolled(args, 0))
        want = None
        for threads in (1, 2, 1):
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            inputs = leaves(args, torch.float32, ("viewmats",))
            picture, alphas, _ = draw(**inputs, **options)
            (picture.square().sum() + alphas.sum()).backward()
            torch.set_num_threads(before)
            got = [picture, alphas, *(inputs[n].grad for n in INPUTS if torch.is_tensor(inputs.get(n)) and n != "viewmats")]
            self.assertTrue(all(map(torch.equal, got, want or got)))
            want = got

    def test_a_shutter_over_equal_poses_and_coefficients_of_0_change_nothing(self):
        args = small(C=2)
        for eval3d in (False, True):
            options = dict(with_ut=True, with_eval3d=eval3d, packed=False)
            want = draw(**args, **options)[0]
            zero = dict(radial_coeffs=torch.zeros(2, 6), tangential_coeffs=torch.zeros(2, 2))
            still = dict(rolling_shutter=types.SimpleNamespace(value=3), viewmats_rs=args["viewmats"])
            for more in (zero, still):
                self.assertLess((draw(**args, **options, **more)[0] - want).abs().max(), 2e-5)

    def test_gaussians_that_draw_nothing(self):
        for eval3d in (False, True):
            for more in ({}, coefficients("bent fisheye", (1,)), rolled(small(), 0)):
                options = dict(with_ut=True, with_eval3d=eval3d, packed=False, **more)
                clean = small(background=True)
                keep = torch.ones(32, dtype=torch.bool)
                for row, (name, value) in enumerate((("means", torch.nan), ("scales", torch.inf), ("quats", torch.nan),
                                                     ("opacities", torch.nan), ("means", 3e38), ("quats", 0.0),
                                                     ("scales", 1e20))):
                    clean[name][row] = value
                    keep[row] = False
                inputs = leaves(clean, torch.float32, ("viewmats",))
                picture, alphas, _ = draw(**inputs, **options)
                rest = {k: v[keep] if torch.is_tensor(v) and len(v) == 32 else v for k, v in clean.items()}
                self.assertTrue(torch.equal(picture, draw(**rest, **options)[0]))
                (picture.sum() + alphas.sum()).backward()
                for name in ("means", "scales", "quats", "opacities"):
                    self.assertFalse(inputs[name].grad[~keep].any())
                    self.assertTrue(inputs[name].grad.isfinite().all())
                nothing = {k: v[:0] if torch.is_tensor(v) and len(v) == 32 else v for k, v in clean.items()}
                picture, alphas, _ = draw(**nothing, **options)
                self.assertTrue(torch.equal(picture, clean["backgrounds"][:, None, None].expand_as(picture)))
                self.assertFalse(alphas.any())

    def test_lenses_and_poses_that_are_no_numbers_show_the_background(self):
        args = small(background=True)
        bad = {**args, "viewmats": args["viewmats"] * torch.nan}
        for more in (dict(radial_coeffs=torch.full((1, 6), torch.nan)),
                     dict(radial_coeffs=torch.tensor([[1e30, 0, 0, 0, 0, 0]])),
                     dict(tangential_coeffs=torch.full((1, 2), torch.inf)),
                     dict(rolling_shutter=0, viewmats_rs=bad["viewmats"])):
            for eval3d in (False, True):
                for scene_ in (args, bad):
                    picture, alphas, _ = draw(**scene_, **more, with_ut=True, with_eval3d=eval3d, packed=False)
                    self.assertFalse(alphas.any())
                    self.assertTrue(torch.equal(picture, args["backgrounds"][:, None, None].expand_as(picture)))

    def test_refusals(self):
        args = small(C=2)

        def refused(words, **changes):
            with self.assertRaisesRegex(gausscope.Error, words):
                draw(**{**args, "with_ut": True, "packed": False, **changes})

        radial, prism = torch.zeros(2, 6), torch.zeros(2, 4)
        refused("with_ut=True needs packed=False", packed=True)
        refused("with_eval3d=True needs packed=False", with_ut=False, with_eval3d=True, packed=True)
        refused("quats and scales", covars=torch.zeros(32, 3, 3))
        refused("sparse_grad|packed=False", packed=True, sparse_grad=True)
        for name, value in (("radial_coeffs", radial), ("tangential_coeffs", torch.zeros(2, 2)), ("thin_prism_coeffs", prism)):
            refused(f"{name} needs with_ut=True", **{name: value, "with_ut": False})
            refused(f"{name} is not supported with camera_model='ortho'", **{name: value, "camera_model": "ortho"})
            refused(f"{name} has shape", **{name: value[:1]})
            refused(f"{name} requires a gradient", **{name: value.clone().requires_grad_()})
            refused(f"{name} is torch.float64", **{name: value.double()})
        refused(r"radial_coeffs has shape \[2, 6\], not \[2, 4\]", radial_coeffs=radial, camera_model="fisheye")
        refused("radial_coeffs has shape", radial_coeffs=torch.zeros(2, 5))
        refused("tangential_coeffs is not supported with camera_model='fisheye'", tangential_coeffs=torch.zeros(2, 2),
                camera_model="fisheye")
        refused("ftheta_coeffs is not supported with camera_model='pinhole'", ftheta_coeffs=FTHETA)
        refused("needs ftheta_coeffs", camera_model="ftheta")
        refused("ftheta_coeffs needs with_ut=True", camera_model="ftheta", ftheta_coeffs=FTHETA, with_ut=False)
        for changes, words in (({"reference_poly": 2}, "reference_poly"), ({"max_angle": None}, "max_angle"),
                               ({"linear_cde": (1, 0)}, "linear_cde must be 3"),
                               ({"angle_to_pixeldist_poly": (1, 2)}, "must be 6"),
                               ({"angle_to_pixeldist_poly": (1, 2, 0, 0, 0, 0)}, "begin with 0")):
            refused(words, camera_model="ftheta", ftheta_coeffs={**FTHETA, **changes})
        refused("rolling_shutter=0 needs viewmats_rs", rolling_shutter=0)
        refused("rolling_shutter=5 is not supported", rolling_shutter=5)
        refused("viewmats_rs needs a rolling_shutter", viewmats_rs=args["viewmats"])
        refused("viewmats_rs has shape", viewmats_rs=torch.eye(4), rolling_shutter=1)
        refused("rolling_shutter needs with_ut=True", with_ut=False, **rolled(args, 1))
        wanted = args["viewmats"].clone().requires_grad_()
        refused("viewmats requires a gradient, and a rolling shutter", viewmats=wanted, **rolled(args, 1))
        refused("viewmats_rs requires a gradient", viewmats_rs=wanted, rolling_shutter=1)
        refused("absgrad=True", absgrad=True, with_eval3d=True)

    def test_ftheta_coefficients_as_gsplat_has_them(self):
        args = small()
        want = draw(**args, with_ut=True, packed=False, camera_model="ftheta", ftheta_coeffs=FTHETA)[0]
        self.assertGreater(want.abs().max(), 0.1)
        theirs = types.SimpleNamespace(**{**FTHETA, "reference_poly": types.SimpleNamespace(value=1)})
        self.assertTrue(torch.equal(want, draw(**args, with_ut=True, packed=False, camera_model="ftheta",
                                               ftheta_coeffs=theirs)[0]))

    def test_means2d_has_a_gradient_only_where_ellipses_draw(self):
        for eval3d in (False, True):
            args = leaves(small(), torch.float32, ("viewmats",))
            picture, _, meta = draw(**args, with_ut=True, with_eval3d=eval3d, packed=False, absgrad=not eval3d)
            if not eval3d or torch.__version__ >= "2":  # before, PyTorch fails where nothing comes
                meta["means2d"].retain_grad()
            picture.sum().backward()
            grad = meta["means2d"].grad
            self.assertEqual(eval3d, grad is None or not grad.any())
            self.assertGreater(args["means"].grad.abs().max(), 0)


if __name__ == "__main__":
    unittest.main()
