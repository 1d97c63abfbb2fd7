"""Shows a training in gausscope while it runs: what a trainer does with it is one call a step.

    viewer = gausscope.attach(editable={"lr": 1e-3})
    for step in range(30_000):
        ...
        viewer.step(step, loss, means=means, quats=quats, scales=scales, opacities=opacities, sh=sh)
        optimizer.param_groups[0]["lr"] = viewer["lr"]
        viewer.wait()

`gausscope attach PID` connects to the socket PID.training in the runtime directory (link.py). There is no thread: step() and wait()
answer. A viewer that wants a picture gets one copy of the Gaussians in a memfd, which is reused when every viewer has read it.
None is made without one.
"""
from __future__ import annotations

import atexit
import os
import socket
import struct
import sys
import time
import warnings
import weakref
from typing import Any, Mapping, Optional, Sequence, Union

from ._lib import Error
from .handover import Past, Slot, as_number, check, color_arrays, fill, on_gpu
from .link import (CAPTURE, GOODBYE, HELLO, MAGIC, MOST_VIEWERS, PARAMETER, RECORD, RELEASE, RUN_TO, SET, SNAPSHOT, STEP, VALUE,
                   VERSION, WANT, Peer, listen, make_record)
from .photos import Photos

_SLOTS, _MOST_OWED, _MOST_PAST = 3, 1024, 700
_PIECE_S = 0.05
_AT_ONCE_S = 0.02
_GOODBYE_S = 0.5  # for what viewers are still to get at the end
_STORED, _ANTIALIASED, _GRADIENTS, _MOMENTS = 1, 2, 4, 8


class Viewer:
    """What attach() returns."""

    _listener: Optional[socket.socket] = None

    def __init__(self, editable: Mapping[str, Any], name: str, capture: str, steps: int, budget: float):
        if not 0 < budget <= 1:
            raise Error(f"budget is a share of the trainer's time, above 0 and at most 1, not {budget}")
        self._parameters: dict[str, float] = {}
        self._declared: list[tuple[str, float, float, float]] = []
        for key, value in editable.items():
            low, high = (value[1], value[2]) if isinstance(value, tuple) and len(value) == 3 else (-float("inf"), float("inf"))
            start = float(value[0] if isinstance(value, tuple) else value)
            if not low <= start <= high:
                raise Error(f"editable {key!r}: give a number, or (value, lowest, highest), not {value!r}")
            self._parameters[key] = start
            self._declared.append((key, start, float(low), float(high)))
        self.name, self.capture, self.budget = name, capture, budget
        self.copies = 0  #: snapshots copied so far
        self.seconds = 0.0  #: of the trainer's time that viewers have taken since the first of them came
        self._steps = steps
        self._changed: dict[str, float] = {}
        self._step = 0
        self._waits = False  # wait() is called in this training
        self._past = Past()
        self._aside = 0.0  # seconds of the present call that are not of the budget
        self._peers: list[Peer] = []
        self._slots: list[Slot] = []
        self._latest: Optional[tuple[int, Slot, bytes]] = None
        self._on_its_way: Any = None
        self._last_step = self._looked_since = time.perf_counter()
        self._not_before = 0.0  # after a failure
        self._photos: Optional[Photos] = None
        self._count = -1
        self._next_look = 0.0  # for new viewers and what they ask
        self._pid = os.getpid()
        self._listener, self._path = listen(self._pid)

    # ---- for the trainer

    def __getitem__(self, name: str) -> float:
        """The present value of an editable parameter."""
        return self._parameters[name]

    @property
    def watched(self) -> bool:
        """Whether a viewer is connected."""
        return bool(self._peers)

    @property
    def share(self) -> float:
        """The share of the trainer's time that viewers have taken since the first of them came."""
        return self.seconds / max(time.perf_counter() - self._looked_since, 1e-9) if self._peers else 0.0

    def step(self, step: int, loss: Any = None, *, means: Any, quats: Any, scales: Any, opacities: Any,
             sh: Any = None, sh0: Any = None, shN: Any = None, colors: Any = None, layout: str = "linear",
             antialiased: bool = False, gradients: Any = None, second_moments: Any = None,
             log: Optional[Mapping[str, Any]] = None) -> dict[str, float]:
        """Call it after each step of training, with the Gaussians as they are now. Returns the editable parameters that a
        viewer has changed since the last call.

        means [N,3], quats [N,4] wxyz, scales [N,3], opacities [N] or [N,1]; one of sh [N,K,3], sh0 [N,1,3] with shN
        [N,K-1,3], or colors [N,3] from 0 to 1. layout "linear": scales and opacities are what rasterization() takes;
        "stored": logarithms and logits, what optimizers hold. gradients, second_moments: numbers [N] to colour by.
        log: numbers to plot, by name.
        Tensors or arrays of any float type, device and strides.

        Without a viewer it looks for one and checks shapes, 20 times a second and where N changes, and returns. Errors:
        shapes and names that do not fit.
        """
        now = time.perf_counter()
        milliseconds, self._last_step = (now - self._last_step) * 1e3, now
        self._step = step
        self._past.add(step, loss, means, milliseconds, log)
        looks = now >= self._next_look
        # Between the times to look for viewers nothing more is done: what is not in a cache costs much.
        idle = not looks and (not self._peers or not self._may_spend())
        if idle and getattr(means, "shape", (None,))[0] == self._count:
            return {}
        self._step = int(step)
        count, bases = check(layout, means, quats, scales, opacities, sh, sh0, shN, colors, gradients, second_moments)
        self._count = count
        if self._listener is None or os.getpid() != self._pid:
            return {}
        if looks:
            self._next_look = now + _PIECE_S
            self._answer()
            now += self._aside
            self._last_step += self._aside
            self._aside = 0.0
        if self._peers and (looks or self._may_spend()):
            extra = [numbers for numbers in (gradients, second_moments) if numbers is not None]
            flags = (_STORED * (layout == "stored") | _ANTIALIASED * antialiased | _GRADIENTS * (gradients is not None)
                     | _MOMENTS * (second_moments is not None))
            try:
                if self._tell(loss, milliseconds, count, log or {}):
                    arrays = [(means, 3), (quats, 4), (scales, 3), (opacities, 1), *color_arrays(sh, sh0, shN, colors)]
                    self._copy([*arrays, *((numbers, 1) for numbers in extra)], count, bases | flags << 8)
                self._announce()
            except Exception as error:  # no run ends because somebody looks
                self._not_before = time.perf_counter() + 10
                warnings.warn(f"gausscope cannot show this training: {error}", RuntimeWarning, stacklevel=2)
            self.seconds += time.perf_counter() - now
        elif self._slots and not self._peers:
            self._announce()
            if self._on_its_way is None:
                self._slots, self._latest = [], None  # nobody looks: give the memory back
        return self._take_changes()

    def wait(self) -> dict[str, float]:
        """Waits while a viewer has paused the training; call it after step(). Returns the editable parameters that were
        changed meanwhile. Ctrl-C interrupts it, and it continues when that viewer has gone."""
        self._waits = True
        if self._listener is None or os.getpid() != self._pid or not self._paused():
            return {}
        import select
        self._tell_waiting(True)
        while self._paused():
            self._hand_latest()
            select.select([self._listener, *(peer.socket for peer in self._peers)], [], [], _PIECE_S)
            self._answer()
        self._tell_waiting(False)
        self._aside, self._last_step = 0.0, time.perf_counter()
        return self._take_changes()

    def close(self) -> None:
        """Viewers keep the last picture. Happens by itself at exit, or when nothing refers to this object any more."""
        if self._listener is None:
            return
        import select
        until = time.perf_counter() + _GOODBYE_S
        for peer in self._peers:
            peer.owe(make_record(GOODBYE, self._step, text="the training has ended"))
            while not peer.settle() and time.perf_counter() < until:
                select.select([], [peer.socket], [], _PIECE_S)
        self._forget()
        try:
            os.unlink(self._path)
        except OSError:
            pass
        if self._photos:
            self._photos.close()

    __del__ = close

    # ---- its own

    def _forget(self) -> None:
        """Closes what is ours of the sockets, and tells nobody: in a child of fork() they are the parent's."""
        for peer in self._peers:
            peer.socket.close()
        if self._listener is not None:
            self._listener.close()
        self._listener, self._peers, self._slots, self._latest, self._on_its_way = None, [], [], None, None

    def _paused(self) -> bool:
        return any(self._step >= peer.run_to for peer in self._peers)

    def _may_spend(self) -> bool:
        """Whether viewers may take more of the trainer's time: within the budget, and something at once for the first."""
        now = time.perf_counter()
        return self._paused() or (now >= self._not_before
                                  and self.seconds <= self.budget * (now - self._looked_since) + _AT_ONCE_S)

    def _take_changes(self) -> dict[str, float]:
        changed, self._changed = self._changed, {}
        return changed

    def _answer(self) -> None:
        """Takes new viewers and what viewers ask."""
        while True:
            try:
                connection, _ = self._listener.accept()  # type: ignore[union-attr]
            except OSError:
                break
            self._welcome(connection)
        for peer in list(self._peers):
            if not self._read(peer):
                peer.socket.close()
                self._peers.remove(peer)
                for slot in self._slots:
                    slot.readers.discard(peer)

    def _welcome(self, connection: socket.socket) -> None:
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        connection.setblocking(False)
        peer = Peer(connection)
        if uid not in (os.geteuid(), 0):
            connection.close()
            return
        if len(self._peers) >= MOST_VIEWERS:
            peer.send(make_record(GOODBYE, text=f"{MOST_VIEWERS} viewers are connected already"))
            connection.close()
            return
        if not self._peers:
            self._looked_since, self.seconds = time.perf_counter(), 0.0
        peer.owe(make_record(HELLO, self._step, self._steps, os.getpid(), [self.budget], self.name))
        if self._photos:
            self._write_photos(self._photos)
        if self.capture:
            peer.owe(make_record(CAPTURE, text=self.capture))
        for name, start, low, high in self._declared:
            peer.owe(make_record(PARAMETER, values=[self._parameters[name], low, high, start], text=name))
        for name, (step, value, count, milliseconds) in self._past.before(self._step, _MOST_PAST):
            point = [value, milliseconds, 0.0, 0.0, float(self._waits)]
            peer.owe(make_record(VALUE, step, values=[value], text=name) if name is not None else
                     make_record(STEP, step, count, values=point))
        self._peers.append(peer)

    def _read(self, peer: Peer) -> bool:
        """False: it has gone, does not speak our language, or asks without ever reading."""
        if not peer.settle() and len(peer.owed) > _MOST_OWED:
            return False
        while True:
            try:
                data = peer.socket.recv(RECORD.size + 1)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if len(data) != RECORD.size:
                return False
            magic, version, kind, step, a, _, *rest = RECORD.unpack(data)
            if magic != MAGIC or version != VERSION:
                return False
            if kind in (WANT, RELEASE):
                peer.wants = kind == WANT
                for slot in self._slots:
                    slot.readers.discard(peer)
            elif kind == RUN_TO:
                peer.run_to = a
            elif kind == SET:
                self._set(rest[-1].split(b"\0")[0].decode("utf-8", "replace"), rest[0])

    def _set(self, name: str, value: float) -> None:
        for key, start, low, high in self._declared:
            if key == name and low <= value <= high:
                self._parameters[name] = self._changed[name] = value
                for peer in self._peers:
                    peer.owe(make_record(PARAMETER, self._step, values=[value, low, high, start], text=name))

    def _tell_waiting(self, waiting: bool) -> None:
        for peer in self._peers:
            peer.owe(make_record(STEP, self._step, values=[float("nan"), float("nan"), self.share, float(waiting), 1.0]))

    def _tell(self, loss: Any, milliseconds: float, count: int, log: Mapping[str, Any]) -> bool:
        """Sends the step's numbers. Whether a snapshot is to be copied as well."""
        self._announce()
        if not self._may_spend():
            return False
        wanted = self._on_its_way is None and (self._paused() or any(peer.wants for peer in self._peers))
        # A number of the GPU would have to be waited for.
        value = as_number(loss) if loss is not None and (wanted or not on_gpu(loss)) else float("nan")
        records = [make_record(STEP, self._step, count, 0, [value, milliseconds, self.share, 0.0, float(self._waits)])]
        for name, number in log.items():
            if wanted or not on_gpu(number):
                records.append(make_record(VALUE, self._step, values=[as_number(number)], text=name))
        for peer in self._peers:
            for record in records:
                peer.send(record)
        return wanted

    def _copy(self, arrays: list[tuple[Any, int]], count: int, code: int) -> None:
        slot = self._free_slot(4 * count * sum(width for _, width in arrays))
        if slot is not None:
            self._on_its_way = (slot, make_record(SNAPSHOT, self._step, count, code), fill(slot, arrays, count))
            self.copies += 1

    def _write_photos(self, photos: Photos) -> None:
        begin = time.perf_counter()
        try:
            photos.write()
        except Exception as error:  # no run ends because somebody looks
            self.capture = ""
            warnings.warn(f"gausscope cannot show this training's photos: {error}", RuntimeWarning, stacklevel=3)
        self._aside += time.perf_counter() - begin

    def _free_slot(self, size: int) -> Optional[Slot]:
        """A slot that nobody reads, of at least that size; growing by a quarter, so that a count that changes with every
        step rarely needs another one."""
        free = [slot for slot in self._slots if not slot.readers]
        for slot in free:
            if slot.size >= size:
                if self._latest and self._latest[1] is slot:
                    self._latest = None  # it is about to be another
                return slot
        if free:
            self._slots.remove(free[0])
            if self._latest and self._latest[1] is free[0]:
                self._latest = None
        if len(self._slots) >= _SLOTS:
            return None
        self._slots.append(Slot(max(4096, size + size // 4)))
        return self._slots[-1]

    def _announce(self) -> None:
        """Hands over the copy that is complete."""
        if self._on_its_way is None:
            return
        slot, record, event = self._on_its_way
        if event is not None:
            if not event[1].query():
                return
            self.seconds += event[0].elapsed_time(event[1]) / 1e3
        self._on_its_way = None
        self._latest = (self._step, slot, record)
        self._hand_latest()

    def _hand_latest(self) -> None:
        if self._on_its_way is not None:
            return self._announce()
        if self._latest is None:
            return
        _, slot, record = self._latest
        for peer in self._peers:
            if peer.wants and peer.send(record, slot.fd):
                peer.wants = False
                slot.readers.add(peer)


_viewers: "weakref.WeakSet[Viewer]" = weakref.WeakSet()


def _in_child() -> None:
    for viewer in list(_viewers):
        viewer._forget()


os.register_at_fork(after_in_child=_in_child)
atexit.register(lambda: [viewer.close() for viewer in list(_viewers) if viewer._pid == os.getpid()])


def attach(*, editable: Optional[Mapping[str, Union[float, tuple[float, float, float]]]] = None, name: str = "",
           capture: Union[str, os.PathLike[str]] = "", photos: Optional[Sequence[Mapping[str, Any]]] = None, steps: int = 0,
           budget: float = 0.01) -> Viewer:
    """Lets `gausscope attach PID` show this training. Call it once, before the loop.

    editable: parameters that a viewer may change, by name: a number, or (value, lowest, highest). name: of the training
    [the script's]. capture: the folder of its photos, where their cameras are in the trainer's coordinates; or photos:
    dict(path, viewmat [4,4] world to camera, K [3,3], size (width, height) that K is for, test=True where held out) each;
    image [height,width,3] in place of path is written to a temporary folder when somebody looks first: the run waits for it.
    steps: how many there will be. budget: the share of the time that copies may take.

    Errors: no socket can be made; another viewer of this process is open; photos that do not fit.
    """
    if any(viewer._listener is not None for viewer in _viewers):
        raise Error("attach() was called before in this process: use that viewer, or close() it first")
    if photos and capture:
        raise Error("give capture or photos, not both")
    path = os.path.abspath(os.fspath(capture)) if capture else ""
    if len(path.encode()) > 415:
        raise Error(f"the path of the capture is longer than 415 bytes: {path}")
    given = Photos(photos) if photos else None
    try:
        viewer = Viewer(editable or {}, name or os.path.basename(sys.argv[0]) or "python", given.folder if given else path, steps, budget)
    except BaseException:
        if given:
            given.close()
        raise
    viewer._photos = given
    _viewers.add(viewer)
    return viewer
