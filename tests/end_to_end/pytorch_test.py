#!/usr/bin/env python3
"""`gausscope record --pytorch` on scripts that know nothing of it, with a real PyTorch (Debian: python3-torch; the group that
needs one is skipped without) and a small imitation of one. Usage: pytorch_test.py (Path | Kinds | Imitation | Training).
Standard Python only; GAUSSCOPE names the program."""
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


# What the hook touches of torch. The engine calls a pass's callbacks behind its last node; the reducer's waits.
IMITATION = """
import sys, time, types
__version__ = "2.99"

def module(name, **what):
    made = sys.modules["torch." + name] = types.ModuleType("torch." + name)
    vars(made).update(what)
    outer, _, last = ("torch." + name).rpartition(".")
    setattr(sys.modules[outer], last, made)

class Node:
    def __init__(self):
        self.before, self.after = [], []
        self.register_prehook, self.register_hook = self.before.append, self.after.append
    def name(self):
        return "AddBackward0"

class Tensor:
    requires_grad, grad_fn = True, None
    def numel(self):
        return 1000
    def element_size(self):
        return 4

class Module:
    def __call__(self, *args):
        return self.forward(*args)
    def named_modules(self):
        return [("", self)]
    def parameters(self):
        return [Tensor(), Tensor()]

class DistributedDataParallel(Module):
    require_backward_grad_sync, fails = True, False
    def forward(self):
        out = Tensor()
        out.grad_fn, out.model = Node(), self
        return out

class Engine:
    def queue_callback(self, callback):
        self.callbacks.append(callback)

class Variable:
    _execution_engine = Engine()

def backward(tensor):
    calls = Variable._execution_engine.callbacks = []
    for hook in tensor.grad_fn.before:
        hook(None)
    def reduce():
        time.sleep(0.002)
        if tensor.model.fails:
            raise RuntimeError("a rank is gone")
    if tensor.model.require_backward_grad_sync:
        calls.append(reduce)
    for hook in tensor.grad_fn.after:
        hook(None, None)
    for call in calls:
        call()

class Optimizer:
    def __init__(self):
        self._patch_step_function()
    def _patch_step_function(self):
        pass
class SGD(Optimizer):
    def step(self):
        time.sleep(0.0005)

class GradScaler:
    def step(self, optimizer, overflow):
        return None if overflow else optimizer.step()

class Iterator:
    def __next__(self):
        return 0

module("nn", Module=Module)
module("nn.parallel", DistributedDataParallel=DistributedDataParallel)
module("nn.parallel.distributed", _find_tensors=lambda out: [out])
module("autograd", backward=backward, grad=backward, Variable=Variable)
module("optim", Optimizer=Optimizer, SGD=SGD)
module("amp", GradScaler=GradScaler)
module("cuda")
module("cuda.amp", GradScaler=type("GradScaler", (GradScaler,), {}))
module("utils")
module("utils.data")
module("utils.data.dataloader", _BaseDataLoaderIter=Iterator)
groups = {"init_process_group": lambda: None, "get_rank": lambda: 3, "get_world_size": lambda: 8}
module("distributed", is_available=lambda: True, **groups)
module("distributed.distributed_c10d", Work=type("Work", (), {"wait": lambda self: None}), **groups)
"""

IMITATED_TRAINING = """
import torch, time
torch.distributed.init_process_group()
model, optimizer, scaler = torch.nn.parallel.DistributedDataParallel(), torch.optim.SGD(), torch.cuda.amp.GradScaler()
for i in range(60):
    for micro in range(2):
        model.require_backward_grad_sync = micro == 1
        time.sleep(0.0005)
        torch.autograd.backward(model())
    scaler.step(optimizer, i % 5 == 3)
model.fails = True
try:
    torch.autograd.backward(model())
except RuntimeError:
    model()
"""

TAKING_TURNS = """
import torch
class Other(torch.optim.SGD):
    def step(self):
        pass
turns = [torch.optim.SGD() for _ in range(3)]
for _ in range(20):
    for optimizer in turns:
        optimizer.step()
for _ in range(2):
    optimizer = Other()
    for _ in range(10):
        optimizer.step()
"""

LAUNCHED = """
import os, subprocess, sys, time
if len(sys.argv) < 4:
    for rank in (0, 1):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", OMP_NUM_THREADS="1", GAUSSCOPE_JOB="two")
        started = [*globals().get("started", []), subprocess.Popen([sys.executable, *sys.argv, str(rank)], env=environment)]
    sys.exit(max(p.wait() for p in started))
import torch
import torch.distributed as dist
kind, rank = sys.argv[1], int(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
if kind == "ddp":
    net = torch.nn.parallel.DistributedDataParallel(net)
elif kind == "fsdp":
    from torch.distributed.fsdp import fully_shard
    fully_shard(net)
optimizer, x = torch.optim.Adam(net.parameters()), torch.randn(8, 32)
for _ in range(40):
    time.sleep(0.02 * rank)
    optimizer.zero_grad()
    net(x).sum().backward()
    if kind == "functional":
        import torch.distributed._functional_collectives as functional
        for p in net.parameters():
            p.grad = functional.all_reduce(p.grad, "sum", dist.group.WORLD) + 0
    optimizer.step()
dist.destroy_process_group()
"""

LOOPS = """
import sys, time, torch
kind, steps = sys.argv[1], 60
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
model = torch.compile(net, backend="eager") if kind == "compile" else net
optimizer = torch.optim.AdamW(net.parameters())
micro = 4 if kind == "accumulation" else 1
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * micro * steps
    def __getitem__(self, i):
        time.sleep(0.0003)
        return torch.full((16,), i * 0.01)
scaler = torch.amp.GradScaler("cpu") if kind == "amp" else None
if __name__ == "__main__":
    workers = int(kind[-1]) if kind[-1].isdigit() else 0
    for i, x in enumerate(torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=workers)):
        loss = model(x).square().mean()
        if scaler:
            scaler.scale(loss * float("inf") if i % 10 == 7 else loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            continue
        loss.backward()
        if (i + 1) % micro == 0:
            optimizer.step()
            optimizer.zero_grad()
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

    def iterations(self):
        """Without those that warm up: three."""
        return run("trace", self.trace, "--insights", "--json").json["insights"]["iterations"]

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


class Imitation(Case):
    """Without torch: where the ranges are."""

    def test_waits_and_steps_that_a_scaler_leaves_out(self):
        (self.folder / "torch.py").write_text(IMITATION)
        done = self.record(sys.executable, self.script(IMITATED_TRAINING))
        self.assertNotIn("gausscope: no ranges", done.err)
        (spans,) = self.spans().values()
        opened = [(depth, name) for depth, name, _ in spans]
        step = [(0, "DistributedDataParallel"), (0, "backward"), (1, "DistributedDataParallel (backward)"), (2, "AddBackward0")]
        self.assertEqual(opened[:10], [(0, "init_process_group"), *step, *step, (1, "DistributedDataParallel.wait")])
        count = collections.Counter(opened)
        self.assertEqual(count[0, "Optimizer.step#GradScaler(SGD).step"], 60)
        self.assertEqual(count[1, "Optimizer.step#SGD.step"], 48)
        self.assertEqual(count[1, "DistributedDataParallel.wait"], 61)
        self.assertEqual({payload for _, name, payload in spans if name.endswith(".wait")}, {8000})
        self.assertEqual(opened[-1], (0, "DistributedDataParallel"))  # what failed left nothing open
        self.assertIn(self.iterations(), (56, 57))
        (process,) = run("trace", self.trace, "--json").json["processes"]
        self.assertLessEqual({"rank=3", "world_size=8"}, set(process["labels"]))

    def test_optimizers_that_take_turns_have_numbers(self):
        """Others are named alike: those of a new phase."""
        (self.folder / "torch.py").write_text(IMITATION)
        self.record(sys.executable, self.script(TAKING_TURNS))
        (spans,) = self.spans().values()
        count = collections.Counter(name.removeprefix("Optimizer.step#") for _, name, _ in spans)
        self.assertEqual(count, {"SGD.step": 22, "SGD.step 2": 19, "SGD.step 3": 19, "Other.step": 20})


class Training(Case):
    def test_iterations(self):
        newer = self.version() >= (2, 3)
        for kind in ("plain", "workers 1", "workers 2", "workers 4", "accumulation", *(("amp", "compile") if newer else ())):
            with self.subTest(kind):
                self.record(PYTHON, self.script(LOOPS), kind)
                self.assertIn(self.iterations(), (56, 57, 58))

    def test_a_slow_rank(self):
        newer = self.version() >= (2, 6)
        for kind in ("ddp", *(("fsdp", "functional") if newer else ())):
            with self.subTest(kind):
                self.record(PYTHON, self.script(LAUNCHED), kind, self.folder / kind)
                told = run("trace", self.trace, "--insights", "--json").json["insights"]
                for rank in told["ranks"]:
                    self.assertIn(rank["iterations"], (39, 40, 41))
                    self.assertGreater(rank["exposed_ms"] if rank["rank"] == 0 else rank["own_ms"], 15, told["ranks"])
                self.assertEqual([rank["slow"] for rank in told["ranks"]], [False, True], told["ranks"])

    def version(self):
        told = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
        return tuple(map(int, told.stdout.split(".")[:2]))

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
            self.assertIn("init_process_group", told)
            self.assertEqual((told["all_reduce"], told["broadcast"], told["all_gather"], told["barrier"]),
                             (4000, 4000, 80, None))
            self.assertIn("Work.wait", told)


if __name__ == "__main__":
    PYTHON = python_with_torch()
    if "Training" in sys.argv and not PYTHON:
        print("skipped: there is no PyTorch here (Debian: python3-torch)")
        sys.exit(77)
    unittest.main()
