"""rasterization() inside torch.compile: in the graph, or beside it where shapes depend on values."""
import gc
import os
import shutil
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
from scenes import INPUTS, leaves, scene
from test_lenses import coefficients, rolled

HAS_OPERATORS = hasattr(torch.library, "register_autograd")


def loss(means, args, **options):
    """Of the pictures, which it also writes into."""
    picture, alphas, meta = gausscope.rasterization(2 * means, **args, **options)
    picture[..., 0] = 0
    return (picture * picture).sum() + alphas.sum(), meta["radii"]


def results(function, **options):
    args = leaves(scene(**options.pop("scene")), torch.float32, options.pop("frozen", ()))
    rest = dict(args)
    value, radii = function(rest.pop("means"), rest, **options)
    value.backward()
    return [value.detach(), radii, *(args[name].grad for name in INPUTS if torch.is_tensor(args.get(name)))]


@unittest.skipUnless(hasattr(torch, "compile"), "PyTorch has no torch.compile")
class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def same(self, compiled, **options):
        for want, got in zip(results(loss, **options), results(compiled, **options)):
            if got is None or want is None:
                self.assertIs(got, want)
            else:
                self.assertTrue(torch.allclose(got, want, rtol=1e-5, atol=1e-5), f"{options}")

    def test_beside_the_graph_where_shapes_depend_on_values(self):
        compiled = torch.compile(loss, backend="eager")
        for N in (20, 33):
            self.same(compiled, scene=dict(N=N, sh_degree=2))
        self.same(compiled, scene=dict(N=33, sh_degree=2), packed=False, absgrad=True)

    @unittest.skipUnless(HAS_OPERATORS, "PyTorch 2.4 is needed")
    def test_in_the_whole_graph(self):
        for backend in ("eager", "aot_eager"):
            compiled = torch.compile(loss, backend=backend, fullgraph=True)
            for N in (20, 33, 41):  # from the second on N is a variable of the graph
                self.same(compiled, scene=dict(N=N, C=2, sh_degree=2, background=True), packed=False)
            self.same(compiled, scene=dict(channels=5, covars=True, by_view=True, lead=(2,)), packed=False,
                      render_mode="RGB+ED", rasterize_mode="antialiased", camera_model="fisheye")

    @unittest.skipUnless(HAS_OPERATORS, "PyTorch 2.4 is needed")
    def test_lenses_in_the_whole_graph(self):
        for backend in ("eager", "aot_eager"):
            compiled = torch.compile(loss, backend=backend, fullgraph=True)
            for eval3d in (False, True):
                for kind in ("prism", "ftheta"):
                    self.same(compiled, scene=dict(N=33, C=2, sh_degree=1, background=True), packed=False, with_ut=True,
                              with_eval3d=eval3d, frozen=("viewmats",), **coefficients(kind, (2,)),
                              **rolled(scene(C=2), 0))

    @unittest.skipUnless(HAS_OPERATORS, "PyTorch 2.4 is needed")
    def test_poses_along_rays_in_the_whole_graph(self):
        for backend in ("eager", "aot_eager"):
            compiled = torch.compile(loss, backend=backend, fullgraph=True)
            self.same(compiled, scene=dict(C=2), packed=False, with_ut=True, with_eval3d=True)

    @unittest.skipUnless(HAS_OPERATORS and shutil.which("g++") and os.environ.get("GAUSSCOPE_TEST_INDUCTOR"),
                         "compiling its C++ takes minutes on a busy machine; GAUSSCOPE_TEST_INDUCTOR=1 runs it")
    def test_by_inductor(self):
        compiled = torch.compile(loss, fullgraph=True)
        self.same(compiled, scene=dict(C=2, sh_degree=1, background=True), packed=False, render_mode="RGB+D")

    @unittest.skipUnless(HAS_OPERATORS, "PyTorch 2.4 is needed")
    def test_what_a_graph_cannot_have(self):
        args = dict(leaves(scene(), torch.float32), packed=False)
        compiled = torch.compile(gausscope.rasterization, backend="eager", fullgraph=True)
        picture, _, meta = compiled(**args)
        with self.assertRaisesRegex(RuntimeError, "requires_grad=False"):  # not zeros without a word
            meta["means2d"].retain_grad()
        with self.assertRaisesRegex(gausscope.Error, "second derivative"):
            torch.autograd.grad(picture.sum(), args["means"], create_graph=True)
        with self.assertRaises(Exception):  # PyTorch says which call is not in the graph
            compiled(**{**args, "packed": True})


@unittest.skipUnless(HAS_OPERATORS, "PyTorch 2.4 is needed")
class Operators(unittest.TestCase):
    def test_pytorchs_own_checks(self):
        import gausscope.compiled  # noqa: F401 defines them
        ops = torch.ops.gausscope
        args = leaves(scene(C=2, sh_degree=2, background=True), torch.float32)
        inputs = [args[name] for name in ("means", "quats", "scales")]
        inputs += [None, *(args[name] for name in ("opacities", "viewmats", "Ks", "colors")), None, None]
        inputs += [30, 20, 0, True, False, 0, 0.01, 1e10, 0.0, 0.3, 0.005, 2]
        checks = ("test_schema", "test_autograd_registration", "test_faketensor")
        torch.library.opcheck(ops.project.default, tuple(inputs), test_utils=checks)
        radii, means2d, depths, *rest = (t.detach() for t in ops.project(*inputs))
        blended = [t.requires_grad_() for t in (means2d, *rest)] + [args["backgrounds"]]
        lists, size = [depths, radii, 32 * torch.arange(3)], (30, 20, 0.99, 0, 0, True)
        torch.library.opcheck(ops.blend.default, (*blended, *[None] * 3, *lists, *[None] * 4, *size), test_utils=checks)
        blended[:2] = means2d.detach(), None
        world, cameras = [args[name] for name in ("means", "quats", "scales")], [args["viewmats"].detach(), args["Ks"]]
        torch.library.opcheck(ops.blend.default, (*blended, *world, *lists, *cameras, None, None, *size), test_utils=checks)

    def test_lists_live_as_long_as_backward_may_come(self):
        from gausscope import compiled
        args = leaves(scene(), torch.float32)
        project = [args[name] for name in ("means", "quats", "scales")] + [None, args["opacities"], args["viewmats"], args["Ks"]]
        out = torch.ops.gausscope.project(*project, None, None, None, 30, 20, 0, False, False, 0, 0.01, 1e10, 0.0, 0.3, 0.005,
                                          -1)
        inputs = (out[1], out[3], out[4], args["colors"], None, None, None, None, out[2].detach(), out[0],
                  torch.tensor([0, 32]), None, None, None, None)
        before = len(compiled._lists)
        picture, alphas, number = torch.ops.gausscope.blend(*inputs, 30, 20, 0.99, 0, 0, True)
        self.assertEqual(len(compiled._lists), before + 1)
        back = lambda kept: torch.ops.gausscope.blend_vjp(  # noqa: E731
            torch.ones_like(picture), None, *inputs, picture, alphas, kept, 30, 20, 0.99, 0, 0)
        with torch.no_grad():
            want, copy = back(number), number.clone()
        picture, alphas = picture.detach(), alphas.detach()
        del number, out
        gc.collect()
        self.assertEqual(len(compiled._lists), before)
        with torch.no_grad():
            for a, b in zip(want, back(copy)):  # by blending a second time
                self.assertTrue(torch.equal(a, b))


if __name__ == "__main__":
    unittest.main()
