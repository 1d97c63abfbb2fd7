#!/usr/bin/env python3
"""How often a planted slow rank is found, and how often ranks that are even are called slow: records jobs of several ranks, one
after another, and asks the insights of each. PYTHON is an interpreter with PyTorch (ddp), with mpi4py and nvtx (mpi; needs
mpirun), or with nvtx (nccl: kernels on the mock driver, by LD_LIBRARY_PATH=BUILD/mock_cuda). The variable is
GAUSSCOPE. Exits with 3 if a slow rank was missed or an even one accused.

    ranks_bench.py PYTHON ddp|mpi|nccl [--work sleep|compute] [--ranks 4] [--planted 20] [--even 100] [--steps 60]
"""
import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile

from recorded import MPIRUN, insights_of

# The slow rank works SHARE longer than the others. They sleep, as those that wait for a GPU, or compute, so that a busy machine
# shows in them.
COMMON = """
import os, sys, time
slow, share, steps, how = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
def compute(seconds):  # of processor time
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))
def work(rank):
    (time.sleep if how == "sleep" else compute)(0.004 * (1 + share * (rank == slow)))
"""
PROGRAMS = {"ddp": COMMON + """
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[5], rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)))
optimizer, x = torch.optim.Adam(net.parameters()), torch.randn(8, 32)
for _ in range(steps):
    work(rank)
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
dist.destroy_process_group()
""", "mpi": COMMON + """
import array, nvtx
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(steps):
    with nvtx.annotate("step"):
        with nvtx.annotate("forward"):
            work(world.rank)
        with nvtx.annotate("MPI_Allreduce"):
            world.allreduce(1.0)
""", "nccl": COMMON + """
import ctypes, nvtx, random
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
cuda, seen, rng = ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL), [], random.Random(1)
class Kernel(ctypes.Structure):
    _fields_ = [("symbol", ctypes.c_char_p), ("ns", ctypes.c_uint64), ("registers", ctypes.c_uint16), ("shared", ctypes.c_uint32)]
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
cuda.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
def launch(symbol, ns, blocks):
    seen.append(Kernel(symbol, ns, 32, 0))  # the driver keeps the address
    cuda.cudaLaunchKernel(ctypes.addressof(seen[-1]), Dim(blocks, 1, 1), Dim(256, 1, 1), None, 0, None)
cuda.cuInit(0)
for step in range(steps):
    work_ns = [int(4e6 * (1 + share * (r == slow)) * rng.lognormvariate(0, 0.03)) for r in range(ranks)]  # all know all
    with nvtx.annotate("step"):
        with nvtx.annotate("forward and backward"):
            launch(b"ampere_sgemm_128x64_nn", work_ns[rank], 4000)
        with nvtx.annotate("ncclAllReduce", domain="NCCL"):  # its kernel runs until the last rank has come to it
            launch(b"ncclDevKernel_AllReduce_Sum_f32_RING_LL", max(work_ns) - work_ns[rank] + 200_000, 16)
        with nvtx.annotate("optimizer"):
            launch(b"_ZN2at6native10AdamKernelEv", 300_000, 4000)
        cuda.cudaStreamSynchronize(None)  # loss.item()
"""}
START_RANKS = """
import os, subprocess, sys
ranks = int(sys.argv[1])
started = [subprocess.Popen([sys.executable, *sys.argv[2:]], env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks))) for r in range(ranks)]
sys.exit(max(p.wait() for p in started))
"""


def slow_ranks(asked, folder, slow, share):
    """{rank: whether it is called slow; None: cannot tell} of one job."""
    script, start = folder / "train.py", folder / "start.py"
    script.write_text(PROGRAMS[asked.kind])
    start.write_text(START_RANKS)
    program = [script, str(slow), str(share), str(asked.steps), asked.work, folder / "meet"]
    if asked.kind != "mpi":
        command = [asked.python, start, str(asked.ranks), *program]
        options = ["--pytorch"] if asked.kind == "ddp" else []
    else:
        command, options = [*MPIRUN, str(asked.ranks), asked.python, *program], []
    (folder / "run").mkdir(0o700)
    return {rank["rank"]: rank["slow"] for rank in insights_of(folder, "bench", command, options)["ranks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("python")
    parser.add_argument("kind", choices=PROGRAMS)
    parser.add_argument("--work", choices=("sleep", "compute"), default="sleep")
    for name, default in (("ranks", 4), ("planted", 20), ("even", 100), ("steps", 60)):
        parser.add_argument("--" + name, type=int, default=default)
    asked = parser.parse_args()
    rng, counts = random.Random(1), {"named": 0, "cannot tell": 0, "missed": 0, "accused": 0, "even, cannot tell": 0}
    for round_number in range(asked.planted + asked.even):
        planted = round_number < asked.planted
        slow, share = (rng.randrange(asked.ranks), rng.choice((0.5, 1.0))) if planted else (-1, 0)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gs-ranks-"))
        try:
            found = slow_ranks(asked, folder, slow, share)
        finally:
            shutil.rmtree(folder)
        accused = [rank for rank, is_slow in found.items() if is_slow]
        unknown = len(found) != asked.ranks or None in found.values()
        if planted:
            verdict = "named" if accused == [slow] else "cannot tell" if unknown and not accused else "missed"
        else:
            verdict = "accused" if accused else "even, cannot tell" if unknown else None
        if verdict:
            counts[verdict] += 1
        if verdict != "named" and verdict is not None:
            print(f"round {round_number}: slow rank {slow} by {share:.0%}: {verdict}: {found}", flush=True)
    load = os.getloadavg()[0]
    print(f"{asked.kind}, {asked.ranks} ranks that {asked.work}, load {load:.1f}: {counts['named']} of {asked.planted} planted ones named "
          f"({counts['cannot tell']} cannot tell, {counts['missed']} missed); {counts['accused']} of {asked.even} even jobs accused "
          f"({counts['even, cannot tell']} cannot tell)")
    return 3 if counts["missed"] or counts["accused"] else 0


if __name__ == "__main__":
    sys.exit(main())
