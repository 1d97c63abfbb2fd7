"""CUDA tensors as far as a machine without a GPU can tell. The library of an emulated device (GAUSSCOPE_EMULATED says that it is
the one loaded) draws what tensors of the CPU hold, which stand in for tensors of a GPU: all below functions.run() is what CUDA
tensors run through. What PyTorch itself does with CUDA tensors is not tried."""
import contextlib
import ctypes
import os
import struct
import types
import unittest
from unittest import mock

if "GAUSSCOPE_EMULATED" not in os.environ:
    raise unittest.SkipTest("the library of the emulated device is another program's")
try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
from gausscope import _lib, functions, rasterize
from scenes import Reference, scene

_real_run = functions.run


def _there(function, arguments, numbers, **arrays):
    return _lib.run(function, arguments, numbers, 0, (_lib.CUDA, 0, 0), **arrays)


class Drawing(unittest.TestCase):
    def setUp(self):
        self.enterContext(mock.patch.object(functions, "run", _there))

    def enterContext(self, context):  # noqa: N802  (Python 3.11 has it)
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_against_the_reference(self):
        cases = [(dict(channels=3), {}), (dict(sh_degree=3, C=3), dict(rasterize_mode="antialiased", render_mode="RGB+ED")),
                 (dict(sh_degree=2, C=2, lead=(2,), background=True), {}), (dict(channels=33), dict(profile="gsplat-1.5")),
                 (dict(covars=True, sh_degree=1), dict(camera_model="ortho")), (dict(C=2), dict(camera_model="fisheye"))]
        for (args, options), packed in ((case, packed) for case in cases for packed in (False, True)):
            with self.subTest(packed=packed, **args, **options):
                Reference(scene(seed=21, **args), **options).compare(self, packed=packed)

    def test_no_gaussians(self):
        args = scene(seed=2, N=0, background=True)
        picture, alphas, _ = gausscope.rasterization(**args)
        self.assertTrue(torch.equal(picture, args["backgrounds"][:, None, None].expand_as(picture)))
        self.assertFalse(alphas.any())

    def test_rays_are_refused(self):
        with self.assertRaisesRegex(gausscope.Error, "along rays is on the CPU alone"):
            gausscope.rasterization(**scene(seed=2), packed=False, with_ut=True, with_eval3d=True)


class Fake:
    """What the library's caller asks of a tensor."""

    dtype, is_cuda = torch.float32, True

    def __init__(self, index):
        self.device = torch.device("cuda", index)

    def data_ptr(self):
        return 0x1000

    def numel(self):
        return 3


class Calling(unittest.TestCase):
    def test_device_and_stream_of_the_arrays(self):
        seen, chosen = [], []
        device = lambda d: contextlib.nullcontext(chosen.append(d))  # noqa: E731
        stream = types.SimpleNamespace(cuda_stream=0x77)
        library = types.SimpleNamespace(gausscope_shade=lambda memory: seen.append(bytes(memory)) or 0)
        with mock.patch.object(torch.cuda, "device", device), mock.patch.object(_lib, "library", lambda: library), \
                mock.patch.object(torch.cuda, "current_stream", lambda: stream):
            _real_run("gausscope_shade", _lib.SHADE, {}, means=Fake(2))
        size, kind, index, _, at = struct.unpack_from("@IiiiP", seen[0])
        self.assertEqual((size, kind, index, at), (ctypes.sizeof(_lib.SHADE.memory), 2, 2, 0x77))
        self.assertEqual(chosen, [torch.device("cuda", 2)])

    def test_one_device_alone(self):
        with self.assertRaisesRegex(gausscope.Error, "quats is on cpu, and means on cuda:1"):
            rasterize._checked("quats", torch.zeros(3, 4), (3, 4), torch.device("cuda", 1))
        with self.assertRaisesRegex(gausscope.Error, "with_eval3d=True is not supported with CUDA tensors"):
            gausscope.rasterization(**{**scene(seed=2), "means": Fake(0)}, packed=False, with_ut=True, with_eval3d=True)

    @unittest.skipUnless(rasterize.compiled, "PyTorch before 2.4")
    def test_operators_leave_results_where_the_tensors_are(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            there = lambda *shape: torch.empty(shape, device="cuda")  # noqa: E731
            numbers = (30, 20, 0, False, False, 0, 0.01, 1e10, 0.0, 0.3, 0.005, 0)
            out = torch.ops.gausscope.project(there(5, 3), there(5, 4), there(5, 3), None, there(5), there(2, 4, 4),
                                              there(2, 3, 3), there(5, 1, 3), None, None, *numbers)
            self.assertEqual({t.device.type for t in out}, {"cuda"})
            first = torch.empty(3, dtype=torch.int64, device="cpu")
            *pictures, lists = torch.ops.gausscope.blend(out[1], out[3], out[4], out[5], None, None, None, None, out[2],
                                                         out[0], first, None, None, None, None, 30, 20, 0.99, 0, 0, True)
            self.assertEqual([t.device.type for t in (*pictures, lists)], ["cuda", "cuda", "cpu"])


if __name__ == "__main__":
    unittest.main()
