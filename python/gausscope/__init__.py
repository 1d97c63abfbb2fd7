"""gausscope in Python: Gaussian splatting kernels for PyTorch trainers, splat files, captures, and the program.

Importing it imports neither PyTorch nor NumPy; what needs them does so when it is first used."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what __getattr__() finds, for editors and type checkers
    from . import benchmark, inria, strategy
    from ._lib import Error, NotFound, version
    from .capture import Capture, View
    from .program import Run, call, convert, costs, doctor, evaluate, info, inspect, predict, simplify, train
    from .rasterize import compat, rasterization
    from .splats import Splats, load, save
    from .stages import stage
    from .trace import Trace
    from .viewer import attach

# name: the module that defines it
_HOMES = {
    "rasterization": "rasterize",
    "compat": "rasterize",
    "Error": "_lib",
    "NotFound": "_lib",
    "version": "_lib",
    "Splats": "splats",
    "load": "splats",
    "save": "splats",
    "Capture": "capture",
    "View": "capture",
    "stage": "stages",
    "Trace": "trace",
    "attach": "viewer",
    **dict.fromkeys(
        ("Run", "call", "train", "evaluate", "info", "doctor", "inspect", "costs", "predict", "convert", "simplify"),
        "program"),
}
_MODULES = ("benchmark", "inria", "strategy")
__all__ = [
    "Capture", "Error", "NotFound", "Run", "Splats", "Trace", "View", "attach", "call", "compat", "convert", "costs",
    "doctor", "evaluate", "info", "inspect", "load", "predict", "rasterization", "save", "simplify", "stage", "train",
    "version"]


if not TYPE_CHECKING:  # else it would have every name
    def __getattr__(name: str):
        if name in _MODULES:
            return importlib.import_module(f"gausscope.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'gausscope' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"gausscope.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
