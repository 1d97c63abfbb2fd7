// The lower half of the Pixel panel: the tile of the inspected pixel, where its pixels stop, and
// the table of the most expensive tiles.
#pragma once

#include "panels/state/command.h"
#include "panels/state/inspection.h"
#include "panels/state/snapshot.h"

namespace gs {

/// The cost of the tile's list; click one of its pixels to inspect it.
void draw_tile(const PixelAnswer& answer, const Snapshot& snapshot, Commands& commands);
/// `table`: null: not requested; `answer`: the pixel whose tile is bright, or null. Click a tile to
/// go to it.
void draw_tile_table(const TileTable* table, const PixelAnswer* answer, Commands& commands);

}  // namespace gs
