#!/usr/bin/env python3
"""Runs a daemon for an hour while processes come and go, on a mock CUDA driver. Checks that its memory is flat, that every
living process has series, and that the GPU's idle ratio is true at every budget. Prints a table and exits with 3 when
a limit is missed. The variables are those of tests/end_to_end/churn_test.py, and GAUSSCOPE_FAKE_TRAINER.

    churn_bench.py [--minutes 60] [--processes 1000]
"""
import argparse
import os
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from churn_test import Node, samples  # noqa: E402

BUDGETS = ("0", "1", "0.2")  # percent of a process's time; the second one's daemon is the one with the processes
AT_ONCE = 20
LIVES = 100_000  # the rank of the process that lives all the time


class Watched(Node):
    """A daemon and a trainer that lives as long as the daemon. The mock driver records how busy the trainer's GPU is."""

    def __init__(self, budget):
        super().__init__("--budget", budget, "--memory", "16")  # MiB
        self.budget = budget
        self.truth = os.path.join(self.folder, "busy")
        self.start(LIVES, os.environ["GAUSSCOPE_FAKE_TRAINER"], "--iterations", "100000000", MOCK_CUDA_BUSY=self.truth)

    def figures(self):
        """(time, true busy, reported busy, watched), seconds."""
        with open(self.truth, "rb") as file:
            busy_ns, = struct.unpack("=Q", file.read(8))
        now, text = time.monotonic(), self.metrics()
        told = [next(iter(samples(text, f"gausscope_{name}_seconds_total").values()), 0.0)
                for name in ("gpu_busy", "watched")]
        return now, busy_ns * 1e-9, *told

    def idle(self, since):
        """Since then: the true idle ratio, the reported one, and for how long the daemon watched."""
        seconds, true, told, watched = (b - a for a, b in zip(since, self.figures()))
        return 1 - true / seconds, 1 - told / watched if watched > 0 else float("nan"), watched

    def resident(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def churn(node, minutes, processes):
    """Waves of processes over the time. (seconds, resident MiB) after each, and how often one that lived had no series."""
    waves = max(processes // AT_ONCE, 1)
    began, memory, missed = time.monotonic(), [], 0
    for wave in range(waves):
        programs = node.wave(range(wave * AT_ONCE, (wave + 1) * AT_ONCE))  # waits for series of all
        due = began + (wave + 1) * minutes * 60 / waves
        while True:
            missed += LIVES not in node.ranks()
            if time.monotonic() >= due:
                break
            time.sleep(min(1, max(0, due - time.monotonic())))
        node.end(programs)
        memory.append((time.monotonic() - began, node.resident()))
        if wave % max(waves // 20, 1) == 0:
            print(f"  {memory[-1][0]:7.0f} s  {(wave + 1) * AT_ONCE:5d} processes  {memory[-1][1]:6.1f} MiB", flush=True)
    return memory, missed


def growth(memory):
    """The most of the last third over the most of the one before: the store and the series of the dead are full by then."""
    third = len(memory) // 3
    most = [max(mib for _, mib in part) for part in (memory[third:2 * third], memory[2 * third:])]
    return most[1] / most[0] - 1, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--processes", type=int, default=1000)
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # also ends the processes that were started
    nodes = {budget: Watched(budget) for budget in BUDGETS}
    try:
        for node in nodes.values():
            while node.figures()[3] <= 0:  # recording has begun
                time.sleep(0.5)
        since = {budget: node.figures() for budget, node in nodes.items()}
        memory, missed = churn(nodes["1"], a.minutes, a.processes)
        met = missed == 0
        print(f"{a.processes} processes in {memory[-1][0] / 60:.1f} minutes; looks at which one that lived had no series: {missed}")
        if len(memory) >= 3:
            grown, (before, after) = growth(memory)
            met = met and grown <= 0.05
            print(f"memory of the daemon: {before:.1f} MiB in the second third, {after:.1f} MiB in the last: {100 * grown:+.1f} %")
        for budget, node in nodes.items():
            true, told, watched = node.idle(since[budget])
            met = met and abs(true - told) <= 0.03
            print(f"budget {budget:>3} %: idle {told:.3f} reported, {true:.3f} true ({told - true:+.3f}); watched {watched:.0f} s")
    finally:
        for node in nodes.values():
            node.__exit__()
    return 0 if met else 3


if __name__ == "__main__":
    sys.exit(main())
