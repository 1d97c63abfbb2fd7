"""gausscope in Python: Gaussian splatting kernels for PyTorch trainers, splat files, captures, and the program.

Importing it imports neither PyTorch nor NumPy; what needs them does so when it is first used."""
from __future__ import annotations

import importlib

# name: the module that defines it
_HOMES = {
    "rasterization": "rasterize",
    "Error": "_lib",
    "NotFound": "_lib",
    "version": "_lib",
    "Splats": "splats",
    "load": "splats",
    "save": "splats",
    "Capture": "capture",
    "stage": "stages",
    **dict.fromkeys(
        ("Run", "call", "train", "evaluate", "info", "doctor", "inspect", "costs", "predict", "convert", "simplify"),
        "program"),
}
__all__ = [*_HOMES]


def __getattr__(name: str):
    if name in ("inria", "strategy"):
        return importlib.import_module(f"gausscope.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gausscope' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"gausscope.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "inria", "strategy"})
