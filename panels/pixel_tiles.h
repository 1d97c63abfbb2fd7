// The lower half of the Pixel panel: the tile of the inspected pixel, where its pixels stop, and
// the table of the most expensive tiles.
#pragma once

#include "panels/state/command.h"
#include "panels/state/inspection.h"
#include "panels/state/snapshot.h"

namespace gs {

/// What the tile's list costs; a click on one of its pixels inspects that.
void draw_tile(const PixelAnswer& answer, const Snapshot& snapshot, Commands& commands);
/// `table`: null: not asked for; `answer`: the pixel whose tile is bright, or null. A click goes to
/// a tile.
void draw_tile_table(const TileTable* table, const PixelAnswer* answer, Commands& commands);

}  // namespace gs
