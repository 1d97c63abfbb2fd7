"""What rasterization() says beside its pictures."""
from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

TILE_KEYS = ("tiles_per_gauss", "isect_ids", "flatten_ids", "isect_offsets")


class Meta(dict):
    """A dict whose lists of tiles are made when somebody asks for them: no trainer's step does."""

    lead: tuple  # batch dimensions and cameras
    first: Tensor  # where each image's entries begin; on the CPU
    numbers: dict  # sizes and numbers that it was projected with
    world: Optional[tuple]  # until it is drawn: means, quats and scales; viewmats, Ks, distortion and viewmats_rs
    boxes: Optional[Tensor] = None  # radii by axis, where those under the key are not
    listed = False

    def __missing__(self, key):
        if key not in TILE_KEYS or self.listed:
            raise KeyError(key)
        self._list_tiles()
        return dict.__getitem__(self, key)

    def __contains__(self, key) -> bool:
        return dict.__contains__(self, key) or (key in TILE_KEYS and not self.listed)

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __iter__(self):
        self._list_tiles()
        return dict.__iter__(self)

    def __len__(self) -> int:
        return dict.__len__(self) + (0 if self.listed else len(TILE_KEYS))

    def pop(self, key, *default):
        if key in TILE_KEYS:
            self._list_tiles()
        return dict.pop(self, key, *default)

    def keys(self):
        self._list_tiles()
        return dict.keys(self)

    def values(self):
        self._list_tiles()
        return dict.values(self)

    def items(self):
        self._list_tiles()
        return dict.items(self)

    @torch.no_grad()
    def _list_tiles(self) -> None:
        """Every tile of 16 x 16 pixels that the box of a Gaussian's radii touches, by image, tile and depth."""
        if self.listed:
            return
        self.listed = True
        columns, rows = self["tile_width"], self["tile_height"]
        radii = self["radii"] if self.boxes is None else self.boxes
        means, radii = self["means2d"].detach().reshape(-1, 2) / 16, radii.reshape(-1, 2) / 16
        device = means.device
        most = torch.tensor([columns, rows], device=device)
        low = torch.minimum((means - radii).floor().clamp(min=0), most).long()
        high = torch.minimum((means + radii).ceil().clamp(min=0), most).long()
        sizes = (high - low).clamp(min=0) * (radii > 0).all(-1, keepdim=True)
        counts = sizes.prod(-1)
        entry = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        place = torch.arange(len(entry), device=device) - (counts.cumsum(0) - counts)[entry]
        width = sizes[entry, 0]
        tile = (low[entry, 1] + place.div(width, rounding_mode="floor")) * columns + low[entry, 0] + place % width
        image = torch.searchsorted(self.first.to(device), torch.arange(len(counts), device=device), right=True)[entry] - 1
        bits = self["depths"].detach().reshape(-1).contiguous().view(torch.int32).long() & 0xFFFFFFFF
        tile_bits = (columns * rows).bit_length()
        ids, order = torch.sort((image << (32 + tile_bits)) | (tile << 32) | bits[entry], stable=True)
        keys = torch.arange((len(self.first) - 1) * columns * rows, device=device)
        at = (keys.div(columns * rows, rounding_mode="floor") << tile_bits) | keys % (columns * rows)
        offsets = torch.searchsorted(ids >> 32, at)
        self.update(tiles_per_gauss=counts.reshape(self["depths"].shape).int(), isect_ids=ids,
                    flatten_ids=entry[order].int(), isect_offsets=offsets.reshape(*self.lead, rows, columns).int())
