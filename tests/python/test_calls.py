"""How rasterization() takes its arguments: layouts, refusals, what is left in meta, and trainers' habits."""
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import weakref

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
from scenes import INPUTS, leaves, scene

draw = gausscope.rasterization


def gradients(args, packed=True, **options):
    """Of a loss that autograd gives expanded gradients to."""
    args = leaves(args, torch.float32)
    picture, alphas, _ = draw(**args, packed=packed, **options)
    (picture.sum() + alphas.mean()).backward()
    return [args[name].grad for name in INPUTS if torch.is_tensor(args.get(name))], picture


class Layouts(unittest.TestCase):
    def test_the_same_bits_twice_and_from_any_strides(self):
        args = scene(C=2, background=True)
        first, picture = gradients(args)
        loose = dict(args)
        for name in INPUTS:
            if torch.is_tensor(args.get(name)):
                wide = torch.zeros(*args[name].shape, 2)
                wide[..., 0] = args[name]
                loose[name] = wide[..., 0]
        for other in (args, loose):
            again, same = gradients(other)
            self.assertTrue(torch.equal(picture, same))
            for a, b in zip(first, again):
                self.assertTrue(torch.equal(a, b))

    def test_expanded_colours(self):
        args = scene()
        args["colors"] = torch.tensor([0.2, 0.5, 0.9]).expand(32, 3)
        picture, _, _ = draw(**args)
        args["colors"] = args["colors"].contiguous()
        self.assertTrue(torch.equal(picture, draw(**args)[0]))

    def test_pictures_may_be_written_into(self):
        for mode in ("RGB", "RGB+ED"):
            args = leaves(scene(), torch.float32)
            picture, alphas, _ = draw(**args, render_mode=mode)
            keep = torch.rand(picture.shape[:-1]) > 0.5
            loss = lambda p: (p * p)[keep].sum()  # noqa: E731
            loss(picture).backward()
            want = args["means"].grad.clone()
            args = leaves(scene(), torch.float32)
            picture, alphas, _ = draw(**args, render_mode=mode)
            picture[~keep] = 0
            alphas *= 0
            loss(picture).backward()
            self.assertTrue(torch.allclose(args["means"].grad, want, rtol=1e-5, atol=1e-6))

    def test_without_gradients(self):
        args = scene(sh_degree=3)
        with torch.no_grad():
            picture = draw(**leaves(args, torch.float32))[0]
        self.assertFalse(picture.requires_grad)
        self.assertTrue(torch.equal(picture, draw(**args)[0]))
        with torch.inference_mode():
            self.assertTrue(torch.equal(picture, draw(**args)[0]))

    def test_spherical_harmonics_in_half_precision(self):
        args = scene(sh_degree=3)
        half = args["colors"].half().requires_grad_()
        picture = draw(**{**args, "colors": half})[0]
        self.assertTrue(torch.equal(picture, draw(**{**args, "colors": half.detach().float()})[0]))
        picture.sum().backward()
        self.assertEqual(half.grad.dtype, torch.float16)

    @unittest.skipUnless(hasattr(torch, "_neg_view"), "this PyTorch has no lazy negation")
    def test_lazy_negation_is_resolved(self):
        args = scene()
        self.assertTrue(torch.equal(draw(**{**args, "means": torch._neg_view(-args["means"])})[0], draw(**args)[0]))

    @unittest.skipIf(torch.__version__ < "2", "torch.device() is no context in PyTorch 1")
    def test_whatever_the_default_device_is(self):
        args = scene()
        expected = draw(**args, packed=False)
        with torch.device("meta"):
            for packed in (True, False):
                picture, _, meta = draw(**args, packed=packed)
                self.assertTrue(torch.equal(picture, expected[0]))
                self.assertEqual(meta["isect_ids"].device.type, "cpu")

    def test_one_input_alone(self):
        for name in ("colors", "opacities", "viewmats", "means", "backgrounds"):
            args = scene(background=True)
            args[name].requires_grad_()
            picture, _, meta = draw(**args)
            picture.sum().backward()
            self.assertGreater(args[name].grad.abs().max(), 0)
            self.assertEqual(meta["means2d"].requires_grad, name in ("viewmats", "means", "opacities"))


class Nothing(unittest.TestCase):
    def test_no_gaussians_or_none_in_view(self):
        for N, packed, mode in ((0, True, "RGB"), (0, False, "RGB+ED"), (12, True, "RGB+D"), (12, False, "RGB")):
            args = scene(N=N, C=2, background=True)
            args["means"] -= torch.tensor([0, 0, 100.0])
            args = leaves(args, torch.float32)
            picture, alphas, meta = draw(**args, packed=packed, render_mode=mode, absgrad=True)
            self.assertTrue(torch.equal(picture[..., :3], args["backgrounds"][:, None, None].expand(2, 20, 30, 3)))
            self.assertFalse(alphas.any())
            meta["means2d"].retain_grad()
            (picture.sum() + alphas.sum()).backward()
            self.assertFalse(meta["means2d"].grad.any())
            self.assertFalse(args["means"].grad.any())
            self.assertEqual(len(meta["isect_ids"]), 0)

    def test_poison_draws_nothing(self):
        clean = scene()
        keep = torch.ones(32, dtype=torch.bool)
        for row, (name, value) in enumerate((("means", torch.nan), ("scales", torch.inf), ("quats", torch.nan),
                                             ("opacities", torch.nan), ("means", 3e38), ("quats", 0.0))):
            clean[name][row] = value
            keep[row] = False
        args = leaves(clean, torch.float32)
        picture, alphas, meta = draw(**args)
        rest = {k: v[keep] if torch.is_tensor(v) and len(v) == 32 else v for k, v in clean.items()}
        self.assertTrue(torch.equal(picture, draw(**rest)[0]))
        (picture.sum() + alphas.sum()).backward()
        for name in ("means", "scales", "quats", "opacities"):
            self.assertFalse(args[name].grad[~keep].any())
            self.assertTrue(args[name].grad.isfinite().all())


class Refusals(unittest.TestCase):
    def refused(self, words, kind=gausscope.Error, **changes):
        args = scene(C=2, background=True)
        args.update(changes)
        with self.assertRaisesRegex(kind, words):
            draw(**args)

    def test_by_name(self):
        self.refused("distributed", distributed=True)
        for name in ("rays", "lidar_coeffs", "extra_signals", "external_distortion_coeffs", "ut_params"):
            self.refused(name, **{name: torch.zeros(2, 6)})
        self.refused("return_normals", return_normals=True)
        self.refused("render_mode", render_mode="RGB-d")
        self.refused("camera_model.*lidar", camera_model="lidar")
        self.refused("rasterize_mode", rasterize_mode="sharp")
        self.refused("profile", profile="inria")
        self.refused("tile_size", tile_size=8)
        self.refused("sh_degree=4", sh_degree=4, colors=torch.zeros(32, 25, 3))
        self.refused("nonsense", TypeError, nonsense=1)
        draw(**scene(), rolling_shutter=4, radial_coeffs=None, global_z_order=True, tile_size=None, segmented=True)

    def test_shapes_kinds_and_devices(self):
        self.refused(r"quats has shape \[31, 4\], not \[32, 4\]", quats=torch.zeros(31, 4))
        self.refused("opacities has shape", opacities=torch.zeros(32, 1))
        self.refused("viewmats", viewmats=torch.eye(4))
        self.refused("Ks has shape", Ks=torch.eye(3)[None])
        self.refused("backgrounds has shape", backgrounds=torch.zeros(2, 4))
        for mode in ("D", "ED"):
            self.refused("backgrounds has shape", backgrounds=torch.zeros(3, 3), render_mode=mode)
        self.refused("colors has shape", colors=torch.zeros(3, 32, 3))
        self.refused("colors is NoneType", colors=None)
        self.refused("no channels", colors=torch.zeros(32, 0), backgrounds=None)
        self.refused("fewer than the 16", colors=torch.zeros(32, 9, 3), sh_degree=3)
        self.refused("scales is NoneType", scales=None)
        self.refused("covars has shape", covars=torch.zeros(32, 6))
        self.refused("at least one", viewmats=torch.zeros(0, 4, 4), Ks=torch.zeros(0, 3, 3), backgrounds=None)
        for dtype in (torch.float64, torch.float16, torch.int32):
            self.refused(rf"means is {dtype}.*float32.*\.float\(\)", means=torch.zeros(32, 3, dtype=dtype))
        self.refused("means is on meta", means=torch.zeros(32, 3, device="meta"))
        self.refused("0 x 20", width=0)
        self.refused("eps2d", eps2d=-1.0)
        self.refused("near_plane", near_plane=float("nan"))
        self.refused("", TypeError, width=30.5)

    def test_none_is_no_number_and_intrinsics_have_no_gradient(self):
        args = scene()
        for name in ("far_plane", "eps2d", "near_plane"):
            with self.assertRaises(TypeError):
                draw(**args, **{name: None})
        with self.assertRaisesRegex(gausscope.Error, "Ks"):
            draw(**{**args, "Ks": args["Ks"].clone().requires_grad_()})
        with self.assertRaisesRegex(gausscope.Error, "dense"):
            draw(**{**args, "means": args["means"].to_sparse()})

    def test_derivatives_that_would_be_silently_left_out(self):
        args = scene()
        with torch.autograd.forward_ad.dual_level():
            means = torch.autograd.forward_ad.make_dual(args["means"], torch.ones(32, 3))
            self.refused("forward-mode AD", means=means)
        if hasattr(torch, "func"):
            for transform in (lambda f, x: torch.func.jvp(f, (x,), (x,)), lambda f, x: torch.func.grad(f)(x),
                              lambda f, x: torch.func.vmap(f)(x[None])):
                with self.assertRaisesRegex(gausscope.Error, "torch.func"):
                    transform(lambda x: draw(**{**args, "means": x})[0].sum(), args["means"])

    def test_errors_are_what_callers_catch(self):
        for kind in (ValueError, RuntimeError, AssertionError):
            self.refused("distributed", kind, distributed=True)

    def test_backward_twice_and_of_itself(self):
        args = leaves(scene(), torch.float32)
        picture, _, _ = draw(**args)
        picture.sum().backward(retain_graph=True)
        first = args["means"].grad.clone()
        picture.sum().backward()
        self.assertTrue(torch.equal(args["means"].grad, 2 * first))
        with self.assertRaises(RuntimeError):
            picture.sum().backward()
        picture, _, _ = draw(**args)
        with self.assertRaisesRegex(gausscope.Error, "second derivative"):
            torch.autograd.grad(picture.sum(), args["means"], create_graph=True)


class OtherForms(unittest.TestCase):
    def test_sparse_gradients_of_what_is_drawn(self):
        for C in (1, 3):
            dense, sparse = (leaves(scene(C=C, sh_degree=2), torch.float32) for _ in range(2))
            draw(**dense)[0].square().sum().backward()
            picture, _, meta = draw(**sparse, sparse_grad=True)
            picture.square().sum().backward()
            for name in ("means", "quats", "scales"):
                got, want = sparse[name].grad, dense[name].grad
                self.assertTrue(got.is_sparse)
                self.assertEqual(got._indices().shape[1], len(got.coalesce().indices()[0]))
                self.assertEqual(got.coalesce().indices()[0].tolist(), meta["gaussian_ids"].unique().tolist())
                self.assertTrue(torch.equal(got.to_dense(), want))
            self.assertFalse(sparse["opacities"].grad.is_sparse)
            torch.optim.SparseAdam([sparse["means"]], lr=0.1).step()
        for wrong in (dict(scene(), packed=False), scene(lead=(2,)), scene(covars=True)):
            with self.assertRaisesRegex(gausscope.Error, "sparse_grad=True needs packed=True"):
                draw(**wrong, sparse_grad=True)

    def test_layout_of_gsplat_1_4(self):
        args = scene(C=2)
        args["opacities"][:] = 1
        for packed in (False, True):
            want = draw(**args, packed=packed, profile="gsplat-1.5")
            got = gausscope.compat(layout="1.4")(**args, packed=packed)
            self.assertTrue(torch.equal(got[0], want[0]))
            self.assertTrue(torch.equal(got[2]["radii"], want[2]["radii"].amax(-1)))
            self.assertTrue(torch.equal(got[2]["flatten_ids"], want[2]["flatten_ids"]))
        self.assertFalse(torch.equal(gausscope.compat("1.4")(**args, profile="gsplat")[0], want[0]))
        with self.assertRaisesRegex(gausscope.Error, "1.3"):
            gausscope.compat("1.3")

    def test_arrays_of_other_libraries(self):
        np = self.numpy()
        args = scene(C=2, sh_degree=1, background=True)
        want = draw(**args)[0]

        class Dlpack:  # as JAX's and CuPy's, without NumPy's interface
            def __init__(self, tensor): self.tensor = tensor
            def __dlpack__(self, **options): return self.tensor.__dlpack__(**options)
            def __dlpack_device__(self): return self.tensor.__dlpack_device__()

        def frozen(tensor):
            array = tensor.numpy().copy()
            array.flags.writeable = False
            return array

        turned = lambda tensor: np.flip(np.flip(tensor.numpy(), 0).copy(), 0)  # noqa: E731
        swapped = lambda tensor: tensor.numpy().astype(">f4")  # noqa: E731
        for way in (Dlpack, torch.Tensor.numpy, frozen, turned, swapped):
            other = {name: way(value) if torch.is_tensor(value) else value for name, value in args.items()}
            self.assertTrue(torch.equal(draw(**other)[0], want))
        for wrong, words in ((np.zeros((32, 3)), r"float64.*\.float\(\)"), (np.array(["a"]), "does not read"),
                             ([[1.0, 2, 3]], "list, not a torch.Tensor")):
            with self.assertRaisesRegex(gausscope.Error, words):
                draw(**{**args, "means": wrong})

    def numpy(self):
        try:
            import numpy
            torch.zeros(1).numpy()
        except (ImportError, RuntimeError):
            self.skipTest("NumPy is not installed")
        return numpy


class MetaKeys(unittest.TestCase):
    def test_shapes_by_packing_and_batch(self):
        for lead in ((), (2,), (1, 2)):
            views = lead + (3,)
            dense = draw(**scene(C=3, lead=lead), packed=False)[2]
            for key, tail in (("radii", (2,)), ("means2d", (2,)), ("depths", ()), ("conics", (3,)), ("opacities", ()),
                              ("tiles_per_gauss", ())):
                self.assertEqual(dense[key].shape, (*views, 32, *tail), key)
            self.assertEqual(dense["isect_offsets"].shape, (*views, 2, 2))
            packed = draw(**scene(C=3, lead=lead), packed=True)[2]
            seen = (dense["radii"] > 0).all(-1).reshape(-1, 3, 32).nonzero()
            for i, key in enumerate(("batch_ids", "camera_ids", "gaussian_ids")):
                self.assertIsNone(dense[key])
                self.assertTrue(torch.equal(packed[key], seen[:, i]), key)
            at = tuple(seen.T)
            for key in ("radii", "means2d", "depths", "conics", "opacities", "tiles_per_gauss"):
                flat = dense[key].reshape(-1, 3, 32, *dense[key].shape[len(views) + 1:])
                self.assertTrue(torch.equal(packed[key], flat[at]), key)
            self.assertEqual(packed["n_cameras"], 3)
            self.assertEqual(packed["n_batches"], max(1, torch.Size(lead).numel()))
            self.assertFalse(dense["radii"][(dense["radii"] == 0).any(-1)].any())

    def test_tiles_are_made_when_asked_for(self):
        for packed in (False, True):
            meta = draw(**scene(C=2, width=70, height=50), packed=packed)[2]
            self.assertFalse(dict.__contains__(meta, "isect_ids"))
            self.assertIn("isect_ids", meta)
            self.assertIn("flatten_ids", dict(meta))
            self.assertIsNone(meta.get("nothing"))
            with self.assertRaises(KeyError):
                meta["nothing"]
            means, radii = meta["means2d"].reshape(-1, 2), meta["radii"].reshape(-1, 2)
            images = torch.arange(2).repeat_interleave(32) if not packed else meta["camera_ids"]
            want = []
            for i, (m, r) in enumerate(zip(means.tolist(), radii.tolist())):
                for tile in range(5 * 4):
                    x, y = tile % 5 * 16, tile // 5 * 16
                    if min(r) > 0 and x < m[0] + r[0] and x + 16 > m[0] - r[0] and y < m[1] + r[1] and y + 16 > m[1] - r[1]:
                        want.append((int(images[i]), tile, meta["depths"].reshape(-1)[i].item(), i))
            want.sort()
            self.assertEqual([w[3] for w in want], meta["flatten_ids"].tolist())
            self.assertEqual([(w[0] << 5) | w[1] for w in want], (meta["isect_ids"] >> 32).tolist())
            starts = [sum(w[:2] < (c, t) for w in want) for c in range(2) for t in range(20)]
            self.assertEqual(starts, meta["isect_offsets"].reshape(-1).tolist())


    def test_taking_keys_out_and_counting_them(self):
        meta = draw(**scene())[2]
        self.assertEqual(len(meta), len(dict(draw(**scene())[2])))
        self.assertFalse(dict.__contains__(meta, "isect_ids"), "counting makes no lists")
        ids = meta.pop("isect_ids")
        self.assertEqual(ids.dtype, torch.int64)
        self.assertNotIn("isect_ids", meta)
        self.assertEqual((meta.pop("isect_ids", 7), len(meta)), (7, len(dict(meta))))
        with self.assertRaises(KeyError):
            meta.pop("isect_ids")


class Threads(unittest.TestCase):
    def test_eight_at_once(self):
        want, picture = gradients(scene(seed=4, N=200, C=2, width=60, height=40))
        wrong = []

        def work():
            for _ in range(5):
                got, same = gradients(scene(seed=4, N=200, C=2, width=60, height=40))
                if not torch.equal(same, picture) or not all(map(torch.equal, got, want)):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Surroundings(unittest.TestCase):
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one core")
    def test_as_many_threads_as_pytorch_has(self):
        """Others are not even begun."""
        code = ("import os, torch, gausscope\nfrom scenes import scene\ntorch.set_num_threads({})\n"
                "args = scene(N=3000, C=4, width=300, height=200)\nbefore = len(os.listdir('/proc/self/task'))\n"
                "for _ in range(3): picture = gausscope.rasterization(**args)[0]\n"
                "print(len(os.listdir('/proc/self/task')) - before, picture.double().sum().item())")
        said = [subprocess.check_output([sys.executable, "-c", code.format(n)], text=True,
                                        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}).split() for n in (1, 2)]
        self.assertEqual([one[0] for one in said], ["0", "1"])
        self.assertEqual(said[0][1], said[1][1])

    def test_what_forward_keeps_goes_with_backward(self):
        """The lists of tiles would else live as long as a picture that is kept for a plot."""
        from gausscope import functions
        args = leaves(scene(), torch.float32)
        alive = weakref.WeakSet()
        before = functions.Lists.__init__
        with unittest.mock.patch.object(functions.Lists, "__init__", lambda self, p: (before(self, p), alive.add(self))[0]):
            picture = draw(**args)[0]
            picture.sum().backward(retain_graph=True)
            self.assertEqual(len(alive), 1)
            picture.sum().backward()
            self.assertEqual(len(alive), 0 if hasattr(torch._C._autograd, "_get_current_graph_task_keep_graph") else 1)

    def test_other_defaults_of_pytorch(self):
        want = gradients(scene(sh_degree=1))[0]
        torch.set_default_dtype(torch.float64)
        try:
            args = {k: v.float() if torch.is_tensor(v) else v for k, v in scene(N=5).items()}
            self.assertEqual(draw(**args, render_mode="RGB+ED")[0].dtype, torch.float32)
        finally:
            torch.set_default_dtype(torch.float32)
        self.assertTrue(all(map(torch.equal, want, gradients(scene(sh_degree=1))[0])))

    def test_a_child_after_a_fork_draws_too(self):
        args = scene(N=300, C=2, width=60, height=45)
        want = gradients(args)[0]
        child = os.fork()
        if child == 0:
            try:
                same = all(map(torch.equal, gradients(args)[0], want))
            except BaseException:
                same = False
            os._exit(0 if same else 1)
        for _ in range(600):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.05)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.assertTrue(done, "the child hangs")
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()
