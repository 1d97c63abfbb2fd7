"""The photos that a trainer gives to attach(), as a capture in a temporary folder."""
from __future__ import annotations

import os
import shutil
import struct
import tempfile
from typing import Any

from ._lib import Error
from .arrays import as_numpy
from .handover import shape_of


def _pixels_of(image: Any) -> Any:
    """A photo in memory as bytes, [height, width, 3 or 4]. Errors: ValueError, what it is instead."""
    shape = shape_of(image)
    if len(shape) != 3 or shape[2] not in (3, 4) or 0 in shape:
        raise ValueError(f"image is [height, width, 3], not {list(shape)}")
    import numpy as np
    pixels = as_numpy("image", image)
    if pixels.dtype != np.uint8:
        if pixels.dtype.kind != "f":
            raise ValueError(f"image is uint8, or floats from 0 to 1, not {pixels.dtype}")
        pixels = (np.nan_to_num(pixels).clip(0, 1) * 255 + 0.5).astype(np.uint8)
    return pixels


def write_png(path: str, image: Any) -> None:
    """A photo in memory as a file, compressed fast rather than well."""
    import zlib
    pixels = _pixels_of(image)
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def _transforms_of(photos: Any) -> tuple[str, list[tuple[str, Any]]]:
    """The trainer's photos as a capture: a transforms.json that names them where they are, and (file, image) of those that are in
    memory only, to be written beside it."""
    import json
    frames, images = [], []
    for number, photo in enumerate(photos):
        try:
            K, view = photo["K"], photo["viewmat"]
            if "image" in photo:
                size = shape_of(photo["image"])[1::-1]
                _pixels_of(photo["image"][:1])
                path = f"{number:05}.png"
                images.append((path, photo["image"]))
            else:
                size, path = None, os.path.abspath(os.fspath(photo["path"]))
            turn = [[float(view[row][column]) for column in range(3)] for row in range(3)]
            shift = [float(view[row][3]) for row in range(3)]
            frame = {"file_path": path, "fl_x": float(K[0][0]), "fl_y": float(K[1][1]), "cx": float(K[0][2]),
                     "cy": float(K[1][2])}
            size = photo.get("size", size)
            if size is not None:
                frame["w"], frame["h"] = (int(side) for side in size)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Error(f"photos[{number}]: give dict(path=... or image=[height, width, 3], viewmat=[4, 4], K=[3, 3], "
                        f"size=(width, height)): {type(error).__name__}: {error}") from None
        # World from camera, and OpenGL's axes.
        signs = (1, -1, -1)
        frame["transform_matrix"] = [
            [signs[column] * turn[column][row] for column in range(3)]
            + [-sum(turn[k][row] * shift[k] for k in range(3))] for row in range(3)] + [[0, 0, 0, 1]]
        frames.append(frame)
    test = [frame["file_path"] for frame, photo in zip(frames, photos) if photo.get("test")]
    return json.dumps({"camera_model": "PINHOLE", "frames": frames, **({"test_filenames": test} if test else {})}), images


class Photos:
    """A temporary folder with a transforms.json, locked as long as this process needs it; folders of killed ones go. Photos that
    are in memory are in it after write(). Errors: photos that do not fit; there is no space for a folder."""

    def __init__(self, photos: Any):
        import fcntl
        import glob
        document, self._images = _transforms_of(photos)
        for old in glob.glob(os.path.join(tempfile.gettempdir(), "gausscope-photos-*", "transforms.json")):
            try:
                with open(old, encoding="utf-8") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(os.path.dirname(old))
            except OSError:
                pass  # it is in use, or another user's
        try:
            self.folder = tempfile.mkdtemp(prefix="gausscope-photos-")
            self._lock = open(os.path.join(self.folder, "part"), "w", encoding="utf-8")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            except OSError:
                pass  # nobody can lock there, and so nobody removes it
            self._lock.write(document)
            self._lock.flush()
            os.rename(self._lock.name, os.path.join(self.folder, "transforms.json"))
        except OSError as error:
            raise Error(f"no temporary folder for the photos: {error}", "unwritable") from None

    def write(self) -> None:
        """Those that are in memory only, once. Errors: what writing a file has."""
        images, self._images = self._images, []
        for path, image in images:
            write_png(os.path.join(self.folder, path), image)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
