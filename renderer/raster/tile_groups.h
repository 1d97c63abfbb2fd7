// Groups of tiles: a frame with more (Gaussian, tile) pairs than are listed at once is projected
// once and then listed and blended group after group. Every tile has the list it would have in one
// pass, so the picture is the same to the bit; a Gaussian's gradients are added up in the order of
// its tiles, row by row, which groups keep. Both backends cut frames by these rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "renderer/raster/tile_cover.h"

namespace gs {

/// Tiles [first, end) of the picture, row by row: whole rows, or a part of one.
struct TileGroup {
    std::uint32_t first = 0, end = 0;
    std::uint64_t pairs = 0;

    GS_HD bool has(std::uint32_t tile) const { return tile - first < end - first; }
    GS_HD TileRange rows(int tiles_x) const {
        const auto columns = static_cast<std::uint32_t>(tiles_x);
        return {static_cast<int>(first / columns), static_cast<int>((end - 1) / columns) + 1};
    }
    GS_HD TileRange columns(int tiles_x) const {
        if (end - first >= static_cast<std::uint32_t>(tiles_x)) return {0, tiles_x};
        const int begin = static_cast<int>(first % static_cast<std::uint32_t>(tiles_x));
        return {begin, begin + static_cast<int>(end - first)};
    }
};

/// The tiles of `range`, of one row, in a group's `columns`. A range that goes around the
/// seam meets either all columns or one.
GS_HD inline TileRange within(TileRange range, TileRange columns, int tiles_x) {
    if (columns.end - columns.first == tiles_x) return range;
    const auto both = [&](int by) {
        const int first = range.first - by, end = range.end - by;
        return TileRange{first > columns.first ? first : columns.first,
                         end < columns.end ? end : columns.end};
    };
    const TileRange here = both(0);
    if (here.first < here.end) return here;
    const TileRange behind = both(tiles_x);
    return behind.first < behind.end ? behind : TileRange{0, 0};
}

/// Cuts a picture into groups of at most `most` pairs each, a tile with more being a group of its
/// own. `changes`: [tiles_y][tiles_x + 1], by how much a tile's pairs are more than those of the
/// tile before it in its row, modulo 2^32. A picture that goes `around` has rows cut to tiles.
std::vector<TileGroup> group_tiles(std::span<const std::uint32_t> changes, int tiles_x, int tiles_y,
                                   std::uint64_t most, bool around);

/// Pairs of the fullest row that was cut, or 0. Around a seam a Gaussian's tiles may begin in the
/// middle of a row, and no order of its parts keeps the order of their gradients.
std::uint64_t fullest_cut_row(std::span<const TileGroup> groups, int tiles_x);

/// Of the fullest group.
std::uint64_t most_pairs(std::span<const TileGroup> groups);
/// Of all.
std::uint64_t sum_of_pairs(std::span<const TileGroup> groups);

/// Pairs that `bytes` of lists hold, for `each` a pair; half of what is free is left to others.
/// At least kLeastPairs, so that little memory is an error of the allocation and not a crawl.
std::uint64_t pairs_that_fit(std::uint64_t free_bytes, std::uint64_t each);

}  // namespace gs
