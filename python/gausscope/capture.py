"""Captures: posed photos and points, of COLMAP, transforms.json, OpenSfM and drives, for anybody's trainer."""
from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Optional

from ._files import CaptureOptions, Handle, checked, function
from ._lib import Error

if TYPE_CHECKING:
    import numpy as np


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class View:
    """One photo with its camera. Axes are OpenCV's: x right, y down, z forward; pixel centres lie at +0.5."""

    name: str         #: of the photo's file, relative to the photo folder
    test: bool        #: held out of training
    width: int        #: px, of the photo as it was scaled
    height: int
    model: str        #: the lens: "pinhole", "opencv", "fisheye", … (docs/cameras.md)
    K: np.ndarray     #: [3,3] float64: fx, fy, cx, cy in px
    viewmat: np.ndarray  #: [4,4] float64: world to camera; of a rolling shutter, at half the read-out
    distortion: list[float]  #: the lens's coefficients, in the order of docs/cameras.md
    shutter: str      #: "global", or the order of a rolling shutter's read-out: "top-to-bottom", …
    viewmat_first: np.ndarray  #: of a rolling shutter, as its first row is read; else viewmat
    viewmat_last: np.ndarray   #: as its last row is read
    number: int       #: in Capture.views
    _handle: Handle

    def __repr__(self) -> str:
        return f"<View {self.number} {self.name!r}: {self.width} x {self.height}, {self.model}{', test' if self.test else ''}>"

    @property
    def camtoworld(self) -> np.ndarray:
        """[4,4] float64: camera to world."""
        import numpy as np
        return np.linalg.inv(self.viewmat)

    def photo(self) -> np.ndarray:
        """[height,width,3] uint8, RGB. Transparent pixels lie over black."""
        return self._pixels(3)

    def mask(self) -> np.ndarray:
        """[height,width] uint8: 0 where the pixel does not count (masked, or the lens sees nothing there)."""
        return self._pixels(1)

    def _pixels(self, channels: int):
        import numpy as np
        out = np.empty((self.height, self.width, channels)[:2 if channels == 1 else 3], np.uint8)
        pointers = (out.ctypes.data, None) if channels == 3 else (None, out.ctypes.data)
        checked("get_photo", self._handle.pointer, self.number, *pointers)
        return out


class Capture:
    """A capture, loaded. len() and indexing go over its views, so that it is a dataset as it stands.

    downscale: photos are shrunk by this whole factor; 0: so that the longest side is at most 1600 px.
    max_side: further limit of the longest side, px. model: of several COLMAP models the one called so. test_every: every
    Nth view by name is a test view, 0: none; None: those that the capture lists, else every 8th. test_views: their names
    instead. masks: a folder, or "none"; None: masks/ beside the photos. undistort: resample photos to pinholes, which many
    trainers need. photos: False reads cameras and points alone. photo_memory: bytes that decoded photos may take.
    """

    def __init__(self, path: str | bytes | os.PathLike, *, downscale: int = 0, max_side: int = 0, model: str | None = None,
                 test_every: int | None = None, test_views: Optional[list[str]] = None,
                 masks: str | bytes | os.PathLike | None = None, undistort: bool = False, photos: bool = True,
                 photo_memory: int = 0):
        def text(value):
            return None if value is None else os.fsencode(value)

        if test_every is not None and test_every < 0:
            raise Error("test_every is not negative")
        names = None if test_views is None else b"\n".join(map(os.fsencode, test_views))
        options = CaptureOptions(downscale, max_side, -1 if test_every is None else test_every, undistort, photos,
                                 photo_memory, text(model), text(masks), names)
        self._handle = Handle("capture", checked("open_capture", os.fsencode(path), options))
        self.about = self._handle.description()  #: what it is: format, model, split, origin, notes, skipped, …
        self.views = [self._view(i, row) for i, row in enumerate(self.about.pop("views"))]

    def _view(self, number: int, row: dict) -> View:
        import numpy as np
        fx, fy, cx, cy = (row.pop(name) for name in ("fx", "fy", "cx", "cy"))
        row["viewmat"] = np.array(row["viewmat"])
        for name in ("viewmat_first", "viewmat_last"):
            row[name] = np.array(row.get(name, row["viewmat"]))
        row.setdefault("shutter", "global")
        return View(K=np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]]), number=number, _handle=self._handle, **row)

    @property
    def origin(self) -> tuple[float, ...]:
        """What was subtracted from all positions, for captures far from zero."""
        return tuple(self.about["origin"])

    @property
    def train(self) -> list[View]:
        return [view for view in self.views if not view.test]

    @property
    def test(self) -> list[View]:
        return [view for view in self.views if view.test]

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """positions [P,3] float32 and colours [P,3] uint8 of the sparse points."""
        import numpy as np
        n = self.about["points"]
        positions, colors = np.empty((n, 3), np.float32), np.empty((n, 3), np.uint8)
        function("get_points")(self._handle.pointer, positions.ctypes.data, colors.ctypes.data)
        return positions, colors

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, i: int) -> View:
        return self.views[i]

    def __repr__(self) -> str:
        return (f"<Capture {self.about['path']!r}: {self.about['format']}, {len(self.train)} training and "
                f"{len(self.test)} test views, {self.about['points']:,} points>")
