#!/usr/bin/env python3
"""Whether iterations are counted right: runs a training loop with 1 to 8 workers and five times that a batch takes to load, as
PyTorch's (DataLoader), as ranges alone (nvtx) and as ranges of two MPI ranks, each under `record` and `serve` at once, and
ranges alone under `attach` as well. Compares what the files and what the daemon say with the truth, and exits with 3 if one is more
than 1 off. PYTHON is an interpreter with PyTorch, nvtx and mpi4py. The variable is GAUSSCOPE.

    iterations_bench.py PYTHON [torch nvtx mpi] [--workers 1 2 4 8] [--steps 60] [--keep DIR]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from recorded import MPIRUN, environment, insights_of

BATCH_MS = (0.3, 1, 3, 10, 30)
WARM_UP = 3  # that insights leave out
INJECTED = "libgausscope_inject.so"
RANGES = """
import os, queue, sys, threading, time, nvtx
workers, batch_s, steps = int(sys.argv[1]), float(sys.argv[2]) * 1e-3, int(sys.argv[3])
ready, left, lock = queue.Queue(2 * workers), [steps], threading.Lock()
if len(sys.argv) > 4:  # somebody attaches first
    nvtx.mark("begin")
    sys.stdin.readline()
def load():
    while True:
        with lock:
            if left[0] == 0:
                return
            left[0] -= 1
        with nvtx.annotate("load"):
            time.sleep(batch_s)
        ready.put(0)
threads = [threading.Thread(target=load) for _ in range(workers)]
for thread in threads:
    thread.start()
def train(more=lambda: None):
    for _ in range(steps):
        ready.get()
        with nvtx.annotate("forward"):
            time.sleep(0.0005)
        with nvtx.annotate("backward"):
            time.sleep(0.001)
        more()
        with nvtx.annotate("adam"):
            time.sleep(0.0002)
"""
PROGRAMS = {
    "torch": """
import sys, time, torch
workers, batch_s, steps = int(sys.argv[1]), float(sys.argv[2]) * 1e-3, int(sys.argv[3])
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.AdamW(net.parameters())
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * steps
    def __getitem__(self, i):
        time.sleep(batch_s / 8)
        return torch.full((16,), i * 0.01)
if __name__ == "__main__":
    for x in torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=workers):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
""",
    "nvtx": RANGES + "train()\n",
    "mpi": RANGES + """
from mpi4py import MPI
def reduce():
    with nvtx.annotate("MPI_Allreduce"):
        MPI.COMM_WORLD.allreduce(1.0)
train(reduce)
""",
}


def counted(folder, daemon, python, kind, workers, batch_ms, steps):
    """Iterations of each process of one job: (as the file says, as the daemon says)."""
    job, script = f"{kind}-{workers}-{batch_ms}", folder / "train.py"
    script.write_text(PROGRAMS[kind])
    ranks = [*MPIRUN, "2"] if kind == "mpi" else []
    insights = insights_of(folder, job, [*ranks, python, script, str(workers), str(batch_ms), str(steps)],
                           ["--pytorch"] if kind == "torch" else [])
    in_file = [rank["iterations"] for rank in insights["ranks"]] if kind == "mpi" else [insights["iterations"] + WARM_UP]
    time.sleep(3)  # its figures are up to two seconds old
    metrics = urllib.request.urlopen(daemon + "/metrics", timeout=20).read().decode()
    series = rf'^gausscope_iteration_seconds_count\{{[^}}]*job="{re.escape(job)}"[^}}]*\}} (\d+)'
    return in_file, [int(n) for n in re.findall(series, metrics, re.MULTILINE)]


def counted_attached(folder, python, workers, batch_ms, steps):
    """Iterations of a process of ranges alone that `attach` found, as its file says."""
    gausscope, around, trace = pathlib.Path(os.environ["GAUSSCOPE"]), environment(folder / "attached", "attached"), folder / "a.pftrace"
    (folder / "attached" / "run").mkdir(0o700, parents=True, exist_ok=True)
    library = next(p for p in (gausscope.with_name(INJECTED), gausscope.parents[1] / "lib" / INJECTED) if p.exists())
    program = subprocess.Popen([python, folder / "train.py", str(workers), str(batch_ms), str(steps), "wait"], text=True,
                               env=dict(around, NVTX_INJECTION64_PATH=str(library)), stdin=subprocess.PIPE)

    def wait_for_leases(count):
        for _ in range(600):
            listed = subprocess.run([gausscope, "attach", "--json"], env=around, check=True, capture_output=True, text=True).stdout
            if any(p["leases"] == count for p in json.loads(listed.splitlines()[-1])["processes"]):
                return
            time.sleep(0.05)
        raise RuntimeError(f"no process with {count} leases")

    attach = None
    try:
        wait_for_leases(0)
        attach = subprocess.Popen([gausscope, "attach", str(program.pid), "--headless", "--insights", "--json", "-o", trace],
                                  env=around, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        wait_for_leases(1)
        program.stdin.close()
        program.wait(timeout=120)
        said = attach.communicate(timeout=60)[0]
    finally:
        for started in (program, attach):
            if started and started.poll() is None:
                started.kill()
                started.wait()
    return [json.loads(said.splitlines()[-1])["insights"]["iterations"] + WARM_UP]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("python")
    parser.add_argument("kinds", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--workers", type=int, nargs="*", default=range(1, 9))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the traces of wrong cells")
    asked = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gs-iterations-"))
    (folder / "run").mkdir(0o700)
    daemon = subprocess.Popen([os.environ["GAUSSCOPE"], "serve", "--listen", "127.0.0.1:0", "--dir", folder / "recordings"],
                              env=environment(folder, ""), text=True, stdout=subprocess.PIPE)
    try:
        address = "http://127.0.0.1:" + daemon.stdout.readline().rsplit("(port ", 1)[1].split(")")[0]
        cells = wrong = 0
        for kind in asked.kinds:
            for workers in asked.workers:
                for batch_ms in BATCH_MS:
                    in_file, in_daemon = counted(folder, address, asked.python, kind, workers, batch_ms, asked.steps)
                    expected = 2 if kind == "mpi" else 1
                    found = {"file": in_file, "daemon": in_daemon}
                    if kind == "nvtx":
                        found["attached"] = counted_attached(folder, asked.python, workers, batch_ms, asked.steps)
                    right = all(len(each) == expected and all(abs(n - asked.steps) <= 1 for n in each) for each in found.values())
                    cells += 1
                    wrong += not right
                    if not right and asked.keep:
                        for trace in folder.glob("*.pftrace"):
                            shutil.copy(trace, asked.keep / f"{kind}-{workers}-{batch_ms}-{trace.name}")
                    if not right:
                        print(f"{kind}, {workers} workers, {batch_ms} ms a batch: {found} of {asked.steps}", flush=True)
            print(f"{kind}: {cells} cells so far, {wrong} wrong; load {os.getloadavg()[0]:.1f}", flush=True)
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(folder, True)
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
