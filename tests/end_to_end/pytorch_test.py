#!/usr/bin/env python3
"""`gausscope record --pytorch` on scripts that know nothing of it, with a real PyTorch (Debian: python3-torch; the groups that
need one are skipped without). Usage: pytorch_test.py (Path | Kinds | Training). Standard Python only; GAUSSCOPE names the program."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from cli_support import run

TRAIN = """
import copy, pickle, sys, torch, torch.utils.checkpoint
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)

class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(n), nn.Sequential(nn.Linear(n, 2 * n), nn.ReLU(inplace=True), nn.Linear(2 * n, n))
    def forward(self, x):
        return x + self.fc(self.norm(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks, self.head = nn.Linear(8, 16), nn.ModuleList(Block(16) for _ in range(2)), nn.Linear(16, 3)
    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return {"logits": self.head(x)}

class Fails(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt

net, loss_of = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters())
rows = torch.utils.data.TensorDataset(torch.randn(32, 8), torch.randint(0, 3, (32,)))
for x, y in torch.utils.data.DataLoader(rows, batch_size=8, num_workers=int(sys.argv[1])):
    optimizer.zero_grad()
    loss = loss_of(net(x)["logits"], y)
    loss.backward()
    optimizer.step()
try:
    nn.Sequential(Fails())(x)
except KeyboardInterrupt:
    pass
with torch.no_grad():
    net.head(torch.zeros(1, 16))
assert not hasattr(loss_of(net(x)["logits"], y), "gausscope") and loss._backward_hooks is None
assert b"gausscope" not in pickle.dumps(net.state_dict()) + pickle.dumps(nn.Linear(2, 2))
copy.deepcopy(net)
torch.jit.script(nn.Linear(2, 2))(torch.zeros(1, 2))
torch.jit.trace(nn.Sequential(nn.Linear(2, 2)), torch.zeros(1, 2))
torch.utils.checkpoint.checkpoint(nn.Sequential(nn.Linear(8, 4), nn.Tanh()), x.requires_grad_()).sum().backward()
if sys.argv[1] == "1":
    import os
    if os.fork() == 0:
        net(x)
        os._exit(0)
    os.wait()
print(loss.item().hex(), [p for p in sys.path if "pytorch" in p], getattr(sys, "own_sitecustomize", 0))
"""

RANKS = """
import sys, torch
import torch.distributed as dist

def work(rank, where):
    dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=2)
    ones = torch.ones(1000)
    dist.all_reduce(ones)
    dist.broadcast(ones, 0, async_op=True).wait()
    dist.all_gather([torch.empty(10), torch.empty(10)], torch.zeros(10))
    dist.barrier()
    assert ones[0] == 2

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (sys.argv[1],), 2)
"""


def python_with_torch():
    """The first of these interpreters that has torch; None: there is none."""
    asks = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    found = (p for p in (sys.executable, "/usr/bin/python3") if subprocess.run([p, "-c", asks], check=False).returncode == 0)
    return next(found, None)


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="gs-torch-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "run").mkdir(0o700)
        self.trace = self.folder / "t.pftrace"

    def script(self, text, name="train.py"):
        (self.folder / name).write_text(textwrap.dedent(text))
        return self.folder / name

    def record(self, *command, options=(), **environment):
        """What it printed, with its exit code and errors."""
        done = run("record", "--pytorch", *options, "-o", self.trace, "--", *command, cwd=self.folder,
                   env={"GAUSSCOPE_RUNTIME_DIR": str(self.folder / "run"), "PYTHONDONTWRITEBYTECODE": "1", **environment})
        self.assertEqual(done.code, 0, done.err)
        return done

    def spans(self):
        """Of every thread in order of their beginnings: {(pid, tid): [(depth, name, payload)]}."""
        written = self.folder / "t.json"
        self.assertEqual(run("trace", self.trace, "-o", written).code, 0)
        threads = collections.defaultdict(list)
        for event in json.loads(written.read_text())["traceEvents"]:
            if event["ph"] == "X" and event.get("cat") == "nvtx:PyTorch":
                threads[event["pid"], event["tid"]].append(event)
        out = {}
        for thread, events in threads.items():
            ends, out[thread] = [], []
            for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
                while ends and ends[-1] <= event["ts"]:
                    ends.pop()
                out[thread].append((len(ends), event["name"], event.get("args", {}).get("value")))
                ends.append(event["ts"] + event["dur"])
        return out


class Path(Case):
    """What stands on the path of every Python, with torch or without."""

    def setUp(self):
        super().setUp()
        (self.folder / "own").mkdir()
        (self.folder / "own/sitecustomize.py").write_text("import sys\nsys.own_sitecustomize = 7\n")

    def say(self, *options):
        done = self.record(sys.executable, *options, "-c", "import sys; print(getattr(sys, 'own_sitecustomize', 0), "
                           "[p for p in sys.path if 'pytorch' in p])", PYTHONPATH=str(self.folder / "own"))
        self.assertIn("no Python process imported and used torch", done.err)
        self.assertNotIn("Traceback", done.err)
        return done.out.strip()

    def test_a_sitecustomize_of_the_users_own_is_imported(self):
        self.assertEqual(self.say(), "7 []")

    def test_python_that_looks_at_no_path(self):
        self.assertEqual(self.say("-I"), "0 []")
        self.assertRegex(self.say("-S"), "^0 ")

    def test_one_that_fails_is_told_as_always(self):
        (self.folder / "own/sitecustomize.py").write_text("raise ValueError('mine')\n")
        done = self.record(sys.executable, "-c", "print(1)", PYTHONPATH=str(self.folder / "own"))
        self.assertIn("ValueError: mine", done.err)
        self.assertEqual(done.out.strip(), "1")

    def test_a_torch_of_another_kind_is_left_alone(self):
        (self.folder / "own/torch.py").write_text("__version__ = '0'\n")
        done = self.record(sys.executable, "-c", "import torch; print(torch.__loader__.path)",
                           PYTHONPATH=str(self.folder / "own"))
        self.assertEqual(done.out.strip(), str(self.folder / "own/torch.py"))
        self.assertIn("no ranges of modules with torch 0", done.err)


class Kinds(Case):
    """Which names kernels are grouped by follows from what is there."""

    def told(self, *kernels):
        events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, name in enumerate(kernels)]
        (self.folder / "k.json").write_text(json.dumps({"traceEvents": events}))
        return run("trace", self.folder / "k.json", "--json").json, run("trace", self.folder / "k.json").out

    def test_by_kind_or_by_stage(self):
        told, text = self.told("ampere_sgemm_128x64_tn", "multi_tensor_apply_kernel<FusedAdam>")
        self.assertEqual({r["name"] for r in told["kernels_by_kind"]}, {"matmul", "optimizer"})
        self.assertIn("listed by kind", text)
        told, text = self.told("ampere_sgemm_128x64_tn", "renderCUDA<3u>", "multi_tensor_apply_kernel<FusedAdam>")
        self.assertEqual({r["name"] for r in told["kernels_by_stage"]}, {"other", "blend", "adam"})
        self.assertNotIn("listed by kind", text)


class Training(Case):
    def test_a_script_as_it_is(self):
        script = self.script(TRAIN)
        plain = subprocess.run([PYTHON, script, "0"], capture_output=True, text=True, check=True)
        done = self.record(PYTHON, script, "0")
        self.assertEqual(done.out, plain.stdout)  # the loss to the last bit, and nothing of ours on the path
        (spans,) = self.spans().values()
        count = collections.Counter(name for _, name, _ in spans)
        steps = 4
        for name in ("Net.blocks.1.fc", "Net.blocks.1.fc.1", "Net.blocks.1.fc.1 (backward)", "Net.embed (backward)",
                     "CrossEntropyLoss (backward)", "NllLossBackward0"):
            self.assertIn(count[name], (steps, steps + 1, steps + 2), name)
        self.assertEqual(count["Optimizer.step#Adam.step"], steps)
        self.assertEqual(count["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"], steps + 1)
        self.assertEqual(count["ReluBackward0"], 2 * steps)
        self.check_nesting(spans, count)
        self.check_numbers(spans)

    def check_nesting(self, spans, count):
        depths = {name: {depth for depth, n, _ in spans if n == name} for name in count}
        for depth, name in enumerate(("Net", "Net.blocks.0", "Net.blocks.0.fc", "Net.blocks.0.fc.2")):
            self.assertEqual(depths[name], {depth}, name)
            self.assertEqual(depths[name + " (backward)"], {depth + 1}, name)
        # What was open when forward failed is closed: what comes next is outermost again.
        self.assertEqual((depths["Sequential.0"], depths["Net.head"]), ({1, 2}, {0, 1}))  # 2: checkpointing, in backward

    def check_numbers(self, spans):
        forward = {payload: name for _, name, payload in spans
                   if payload and not name.endswith(("(backward)", "Backward0", "Backward"))}
        back = [(name, payload) for _, name, payload in spans if name.endswith(" (backward)")]
        self.assertGreater(len(back), 40)
        for name, payload in back:
            self.assertEqual(name, forward[payload] + " (backward)")
        self.assertEqual({forward[p] for _, name, p in spans if name == "ReluBackward0"},
                         {"Net.blocks.0.fc.1", "Net.blocks.1.fc.1"})

    def test_levels_and_workers(self):
        done = self.record(PYTHON, self.script(TRAIN), "1", options=["--pytorch-levels", "1"])
        self.assertNotIn("gausscope: no ranges", done.err)
        names = {name for spans in self.spans().values() for _, name, _ in spans}
        self.assertIn("Net", names)
        self.assertNotIn("Net.embed", names)
        self.assertIn("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", names)
        by_process = {pid: [name for _, name, _ in spans] for (pid, _), spans in self.spans().items()}
        self.assertIn(["Net"], by_process.values())  # the forked child's only call; workers have nothing to tell
        self.assertEqual(len(by_process), 2)

    def test_ranks(self):
        self.record(PYTHON, self.script(RANKS), self.folder / "meeting")
        ranks = self.spans()
        self.assertEqual(len(ranks), 2)
        for spans in ranks.values():
            told = {name: payload for _, name, payload in spans}
            self.assertEqual((told["all_reduce"], told["broadcast"], told["all_gather"], told["barrier"]),
                             (4000, 4000, 80, None))
            self.assertIn("Work.wait", told)


if __name__ == "__main__":
    PYTHON = python_with_torch()
    if "Training" in sys.argv and not PYTHON:
        print("skipped: there is no PyTorch here (Debian: python3-torch)")
        sys.exit(77)
    unittest.main()
