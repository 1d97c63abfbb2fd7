#!/usr/bin/env python3
"""Launches kernels at a given rate, to measure what recording costs.

gpu_check_launches.py OUT.json RATE SECONDS [SPIN]    empty kernels by the driver's API, 100 a step, RATE a second
gpu_check_launches.py OUT.json torch SECONDS          steps of a PyTorch trainer

Between launches a step spins as many turns of a loop as fill its time; SPIN is how many, so that runs which are compared do
the same work. Without it they are counted first and written out. Needs nothing but the driver: the kernel is PTX in here.
"""
import ctypes
import json
import pathlib
import statistics
import sys
import time

PTX = b".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n"
LAUNCHES = 100  # a step


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)  # as if the program were linked to it
        self.call("cuInit", 0)
        device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.function = ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"nothing")

    def call(self, name: str, *arguments: object) -> None:
        if code := getattr(self.cuda, name)(*arguments):
            sys.exit(f"{name} failed: {code}")

    def step(self, spin: int) -> None:
        launch, function = self.cuda.cuLaunchKernel, self.function
        for _ in range(LAUNCHES):
            launch(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
        for _ in range(spin):
            pass
        self.call("cuStreamSynchronize", None)


def seconds_of(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def spin_for(driver: Driver, rate: float) -> int:
    """Turns of the loop that fill what launching leaves of a step."""
    bare = statistics.median(seconds_of(lambda: driver.step(0)) for _ in range(40))
    turns = 200_000
    full = statistics.median(seconds_of(lambda: driver.step(turns)) for _ in range(9))
    return max(0, round((LAUNCHES / rate - bare) / max((full - bare) / turns, 1e-10)))


def trainer():
    import torch  # pylint: disable=import-outside-toplevel
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    torch.manual_seed(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.LayerNorm(1024), torch.nn.GELU()) for _ in range(12)]
    model = torch.nn.Sequential(*blocks).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(4096, 1024, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        loss = ((model(data) - data) ** 2).mean()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


def main() -> int:
    out, rate, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    spin = None
    if rate == "torch":
        step = trainer()
    else:
        driver = Driver()
        for _ in range(10):
            driver.step(0)
        spin = int(sys.argv[4]) if len(sys.argv) > 4 else spin_for(driver, float(rate))

        def step() -> None:
            driver.step(spin)
    for _ in range(5):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        times.append(seconds_of(step))
    # The mean, not the median: what recording takes now and then counts as well.
    out.write_text(json.dumps({"spin": spin, "steps": len(times), "ms": 1e3 * statistics.fmean(times),
                               "ms_p50": 1e3 * statistics.median(times),
                               "launches_a_second": None if spin is None else LAUNCHES / statistics.fmean(times)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
