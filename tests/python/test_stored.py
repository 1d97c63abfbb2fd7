"""rasterization() against numbers of the reference that are stored in reference.json, and the reference's own gradients against
finite differences. `test_stored.py --write` makes the file again, which no change of rasterization() is a reason for."""
import json
import math
import pathlib
import sys
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import gausscope
import oracle
from scenes import INPUTS, leaves, scene

STORED = pathlib.Path(__file__).with_name("reference.json")
TENSORS = (*INPUTS, "Ks")


def weights(shape, phase):
    """What a pixel counts in the loss: the same with every PyTorch."""
    return torch.tensor([math.cos(0.7 * i + phase) for i in range(math.prod(shape))], dtype=torch.float64).reshape(shape)


def run(function, args, dtype, **options):
    """Pictures and gradients by name, float64, of the loss that the stored gradients are of."""
    inputs = leaves(args, dtype)
    picture, alphas, _ = function(**inputs, **options)
    (picture.double() * weights(picture.shape, 0)).sum().add((alphas.double() * weights(alphas.shape, 1)).sum()).backward()
    out = {"picture": picture.detach().double(), "alphas": alphas.detach().double()}
    out |= {f"gradient of {name}": inputs[name].grad.double() for name in INPUTS
            if torch.is_tensor(inputs.get(name)) and inputs[name].grad is not None}
    return out


def arguments(case):
    return {name: torch.tensor(value) if name in TENSORS and value is not None else value
            for name, value in case["arguments"].items()}


class Stored(unittest.TestCase):
    def test_pictures_and_gradients(self):
        cases = json.loads(STORED.read_text())
        self.assertEqual(len(cases), len(CASES))
        for case in cases:
            for packed in (False, True):
                got = run(gausscope.rasterization, arguments(case), torch.float32, packed=packed, **case["options"])
                again = run(gausscope.rasterization, arguments(case), torch.float32, packed=packed, **case["options"])
                for name, values in case["expected"].items():
                    want = torch.tensor(values, dtype=torch.float64)
                    self.assertEqual(got[name].shape, want.shape)
                    limit = 1e-4 * want.abs().max().item() if "gradient" in name else 2e-5 * max(1, want.abs().max().item())
                    far = (got[name] - want).abs().max().item()
                    self.assertLess(far, limit, f"{name} of {case['options']}, packed={packed}")
                    self.assertTrue(torch.equal(got[name], again[name]), f"{name} has other bits the second time")


class FiniteDifferences(unittest.TestCase):
    def test_the_reference_has_the_gradients_of_its_pictures(self):
        for options in (dict(render_mode="RGB+ED", rasterize_mode="antialiased"), dict(camera_model="fisheye")):
            args = leaves(scene(seed=2, N=6, sh_degree=2, background=True, width=8, height=6), torch.float64)
            names = [name for name in INPUTS if torch.is_tensor(args.get(name))]
            keep = oracle.rasterization(**args, **options)[2][0].clear[None, ..., None]
            self.assertTrue(keep.all())

            def loss(*values):
                picture, alphas, _ = oracle.rasterization(**{**args, **dict(zip(names, values))}, **options)
                return (picture * weights(picture.shape, 0)).sum() + (alphas * weights(alphas.shape, 1)).sum()

            values = [args[name] for name in names]
            loss(*values).backward()
            for name, value in zip(names, values):
                way = weights(value.shape, 2)
                moved = [loss(*(v.detach() + sign * 1e-6 * way if v is value else v.detach() for v in values)).item()
                         for sign in (1, -1)]
                self.assertAlmostEqual((moved[0] - moved[1]) / 2e-6, (value.grad * way).sum().item(),
                                       delta=1e-5 * (value.grad * way).abs().sum().item(), msg=name)


CASES = [
    (dict(C=2, sh_degree=3, background=True), dict(rasterize_mode="antialiased")),
    (dict(channels=4, by_view=True, lead=(2,)), dict(render_mode="RGB+ED", camera_model="ortho")),
    (dict(covars=True), dict(render_mode="ED", camera_model="fisheye")),
    (dict(channels=1), dict(render_mode="RGB+D", profile="gsplat-1.5", near_plane=2.0, far_plane=4.0, eps2d=0.1)),
]


def write():
    def text(tensor, digits):
        return [text(row, digits) for row in tensor] if tensor.dim() else float(f"{tensor.item():.{digits}g}")

    out = []
    for made, options in CASES:
        for seed in range(100):
            args = {name: text(value, 5) if torch.is_tensor(value) else value
                    for name, value in scene(seed=seed, N=10, width=14, height=10, **made).items()}
            case = dict(arguments=args, options=options)
            views = oracle.rasterization(**leaves(arguments(case), torch.float64), **options)[2]
            if all(view.clear.all() and (view.radii > 0).all(-1).sum() > 4 for view in views):
                break
        case["expected"] = {name: text(value, 8) for name, value in
                            run(oracle.rasterization, arguments(case), torch.float64, **options).items()}
        out.append(json.dumps(case, separators=(",", ":")))
    STORED.write_text("[" + ",\n".join(out) + "]\n")


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else unittest.main()
