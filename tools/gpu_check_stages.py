"""The stages of tools/gpu_check, in the order they run: what is worth most on a machine that may be taken away comes first."""
import dataclasses
from collections.abc import Callable

import gpu_check_correct as correct
import gpu_check_service as service
import gpu_check_times as times
from gpu_check_run import Stage


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    minutes: float     # it ends by then
    falsifies: str     # what a failure would show wrong
    function: Callable[[Stage], None]
    needed: bool = False  # all others wait for it to pass


STAGES = [
    Row("alive", 2, "the driver, the code for this GPU: all else is moot", correct.alive, needed=True),
    Row("cases", 3, "a kernel at a shape or an edge; look-back beyond its first turn", correct.cases),
    Row("selftest", 5, "a stage against the reference; times of the standard scenes", correct.selftest),
    Row("lists", 4, "look-back: order of memory between blocks, progress while blocks are preempted", correct.lists),
    Row("bits", 8, "the same bits from the same training, with steps that overlap, in eight modes and under load", correct.bits),
    Row("verify", 5, "whole frames of trained scenes against the reference", correct.verify),
    Row("viewer", 4, "frames for the screen, recorded and replayed, are those that are not", times.viewer),
    Row("replay", 3, "a step of training on the GPU is the CPU's", correct.replay),
    Row("bench", 6, "predicted times of stages", times.bench),
    Row("racecheck", 8, "shared memory of a kernel is free of races", correct.racecheck),
    Row("sanitizers", 8, "no kernel reads or writes what is not its own, or was never written", correct.sanitizers),
    Row("counters", 6, "instructions, registers and bytes as they were counted", times.counters),
    Row("service", 8, "recording stays within its budget", service.service),
    Row("service_pytorch", 5, "the same with PyTorch's ranges", service.service_pytorch),
    Row("tensors", 4, "the Python module's rasterization() with CUDA tensors is that of the CPU", service.tensors),
    Row("trainings", 8, "trainings of whole captures reach their scores", times.trainings),
    Row("stress", 6, "progress with few blocks at a time, and beside other processes", times.stress),
]


def shown() -> list[tuple[str, float, str]]:
    return [(row.name, row.minutes, row.falsifies) for row in STAGES]
