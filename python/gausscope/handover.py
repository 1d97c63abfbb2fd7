"""The arguments of Viewer.step(): checked, and copied into the shared memory of a slot."""
from __future__ import annotations

import mmap
import os
import sys
import weakref
from typing import Any, Optional

from ._lib import Error

_SH0 = 0.28209479177387814
_MOST_CURVES, _MOST_POINTS = 16, 400


class Slot:
    """Shared memory of our own for one snapshot. It cannot shrink while a viewer reads it."""

    def __init__(self, size: int):
        self.size = size
        self.fd = os.memfd_create("gausscope-training", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.fd)
        os.ftruncate(self.fd, size)
        import fcntl
        fcntl.fcntl(self.fd, 1033, 0x2 | 0x4 | 0x1)  # F_ADD_SEALS: SHRINK, GROW, SEAL
        self.map = mmap.mmap(self.fd, size)
        self.readers: set = set()
        self.pinned = False

    def pin(self, torch: Any) -> bool:
        """So that a GPU can copy into it beside its other work."""
        if not self.pinned:
            start = torch.frombuffer(self.map, dtype=torch.uint8).data_ptr()
            self.pinned = int(torch.cuda.cudart().cudaHostRegister(start, self.size, 0)) == 0
            if self.pinned:
                weakref.finalize(self, torch.cuda.cudart().cudaHostUnregister, start)
        return self.pinned


def is_torch(array: Any) -> bool:
    return hasattr(array, "detach")


def on_gpu(array: Any) -> bool:
    return bool(getattr(array, "is_cuda", False))


def as_number(value: Any) -> float:
    return float(value.detach() if is_torch(value) else value)


class Past:
    """What a viewer that comes late sees of the curves: every step at first, and fewer the more there are."""

    def __init__(self) -> None:
        # By name, None the loss: points (step, value, N, milliseconds) of every stride-th call, calls and stride.
        self._curves: dict[Optional[str], tuple[list[tuple[int, Any, int, float]], list[int]]] = {}

    def add(self, step: Any, loss: Any, means: Any, milliseconds: float, log: Any) -> None:
        try:
            self._add(None, step, loss, means, milliseconds)
            for name, value in log.items() if log else ():
                self._add(name, step, value, means, 0.0)
        except Exception:
            pass  # no number: step() says so when somebody looks

    def _add(self, name: Optional[str], step: Any, value: Any, means: Any, milliseconds: float) -> None:
        if name not in self._curves:
            if value is None or len(self._curves) > _MOST_CURVES or not isinstance(name, (str, type(None))):
                return
            self._curves[name] = [], [0, 1]
        points, calls = self._curves[name]
        calls[0] += 1
        if (calls[0] - 1) % calls[1] or value is None:
            return
        if is_torch(value) and value.device.type != "cpu":
            if value.numel() != 1:
                return
            value = value.detach().clone()  # it would have to be waited for, and may be overwritten
        elif is_torch(value) or isinstance(value, (int, float)) or hasattr(value, "__array_interface__"):
            value = as_number(value)
        points.append((int(step), value, means.shape[0], milliseconds))
        if len(points) > _MOST_POINTS:
            del points[1::2]
            calls[1] *= 2

    def before(self, step: int, most: int) -> list[tuple[Optional[str], tuple[int, float, int, float]]]:
        """About that many points before a step at most, all curves thinned alike."""
        out: list[tuple[Optional[str], tuple[int, float, int, float]]] = []
        stride = 1 + sum(len(points) for points, _ in self._curves.values()) // most
        for name, (points, _) in self._curves.items():
            for at, value, count, milliseconds in points[::stride]:
                try:
                    if at < step:
                        out.append((name, (at, as_number(value), count, milliseconds)))
                except Exception:
                    continue  # no number
        return out


def shape_of(array: Any) -> tuple[int, ...]:
    try:
        return tuple(array.shape)
    except AttributeError:
        raise Error(f"give tensors or arrays, not {type(array).__name__}") from None


def check(layout, means, quats, scales, opacities, sh, sh0, shN, colors, gradients, second_moments) -> tuple[int, int]:
    """How many Gaussians and how many bases of spherical harmonics. Errors: what does not fit, and how it should be."""
    if layout not in ("linear", "stored"):
        raise Error(f'layout is "linear" (as rasterization() takes them) or "stored" (logarithms and logits), not {layout!r}')
    shape = shape_of(means)
    if len(shape) != 2 or shape[1] != 3:
        raise Error(f"means: [N, 3] is needed, not {list(shape)}")
    count = shape[0]

    def fits(name, array, *allowed):
        if shape_of(array) not in allowed:
            raise Error(f"{name}: {list(allowed[0])} is needed for {count} means, not {list(shape_of(array))}")

    fits("quats", quats, (count, 4))
    fits("scales", scales, (count, 3))
    fits("opacities", opacities, (count,), (count, 1))
    for name, array in (("gradients", gradients), ("second_moments", second_moments)):
        if array is not None:
            fits(name, array, (count,), (count, 1))
    if (sh is not None) + (sh0 is not None) + (colors is not None) != 1:
        raise Error("give the colours as one of sh [N,K,3], sh0 [N,1,3] (with shN [N,K-1,3]), or colors [N,3]")
    if colors is not None:
        fits("colors", colors, (count, 3))
        return count, 1
    if sh0 is not None:
        fits("sh0", sh0, (count, 1, 3), (count, 3))
    bases = 1 + (shape_of(shN)[1] if len(shape_of(shN)) == 3 else -1) if shN is not None else 1
    if sh is not None:
        bases = shape_of(sh)[1] if len(shape_of(sh)) == 3 else 0
    if bases not in (1, 4, 9, 16):
        raise Error(f"sh needs 1, 4, 9 or 16 bases, [N, K, 3], not {list(shape_of(shN if sh is None else sh))}")
    if shN is not None and sh0 is not None:
        fits("shN", shN, (count, bases - 1, 3))
    if sh is not None:
        fits("sh", sh, (count, bases, 3))
    return count, bases


def color_arrays(sh, sh0, shN, colors) -> list[tuple[Any, int]]:
    """In the order of the memory: degree 0 first."""
    if colors is not None:
        source = colors.detach() if is_torch(colors) else colors
        return [((source - 0.5) / _SH0, 3)]
    if sh is not None:
        first, rest = sh[:, :1], sh[:, 1:]
    else:
        first, rest = sh0, shN
    width = 0 if rest is None else 3 * shape_of(rest)[1]
    return [(first, 3)] + ([(rest, width)] if width else [])


def fill(slot: Slot, arrays, count: int) -> Any:
    """Copies arrays one behind the other; None, or the events around copies that a GPU is still doing."""
    offset, events, torch = 0, None, sys.modules.get("torch")
    for array, width in arrays:
        if count and is_torch(array):
            source = array.detach().reshape(count, width)
            to = torch.frombuffer(slot.map, dtype=torch.float32, count=count * width, offset=offset).view(count, width)
            beside = on_gpu(array) and slot.pin(torch)
            if beside and events is None:
                events = [torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)]
                events[0].record()
            to.copy_(source.to(torch.float32).contiguous() if beside else source, non_blocking=beside)
        elif count:
            import numpy
            to = numpy.frombuffer(slot.map, numpy.float32, count * width, offset).reshape(count, width)
            numpy.copyto(to, numpy.asarray(array).reshape(count, width), casting="unsafe")
        offset += 4 * count * width
    if events:
        events[1].record()
    return events
