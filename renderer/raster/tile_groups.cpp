#include "renderer/raster/tile_groups.h"

#include <algorithm>
#include <numeric>

namespace gs {
namespace {

constexpr std::uint64_t kLeastPairs = 1u << 20;

/// Groups of one row that has more pairs than a group may: as many tiles as fit, or one.
void cut_row(std::span<const std::uint32_t> pairs, std::uint32_t first, std::uint64_t most,
             bool around, std::vector<TileGroup>& out) {
    TileGroup group{first, first, 0};
    for (const std::uint32_t of_tile : pairs) {
        if (group.end > group.first && (around || group.pairs + of_tile > most)) {
            out.push_back(group);
            group = {group.end, group.end, 0};
        }
        ++group.end;
        group.pairs += of_tile;
    }
    out.push_back(group);
}

}  // namespace

std::vector<TileGroup> group_tiles(std::span<const std::uint32_t> changes, int tiles_x, int tiles_y,
                                   std::uint64_t most, bool around) {
    const auto columns = static_cast<std::uint32_t>(tiles_x);
    std::vector<TileGroup> out;
    std::vector<std::uint32_t> row(columns);
    TileGroup group;
    const auto close = [&](std::uint32_t next) {
        if (group.end > group.first) out.push_back(group);
        group = {next, next, 0};
    };
    for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(tiles_y); ++y) {
        const std::uint32_t first = y * columns;
        const auto from = changes.subspan(std::size_t{y} * (columns + 1), columns);
        std::inclusive_scan(from.begin(), from.end(), row.begin());
        const std::uint64_t pairs = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
        if (group.pairs + pairs > most) close(first);
        if (pairs > most) {
            cut_row(row, first, most, around, out);
            close(first + columns);
            continue;
        }
        group.end = first + columns;
        group.pairs += pairs;
    }
    close(0);
    return out;
}

std::uint64_t fullest_cut_row(std::span<const TileGroup> groups, int tiles_x) {
    const auto columns = static_cast<std::uint32_t>(tiles_x);
    std::uint64_t fullest = 0, row = 0;
    for (const TileGroup& group : groups) {
        if (group.end - group.first >= columns) continue;
        row = group.pairs + (group.first % columns == 0 ? 0 : row);
        fullest = std::max(fullest, row);
    }
    return fullest;
}

std::uint64_t most_pairs(std::span<const TileGroup> groups) {
    std::uint64_t most = 0;
    for (const TileGroup& group : groups) most = std::max(most, group.pairs);
    return most;
}
std::uint64_t sum_of_pairs(std::span<const TileGroup> groups) {
    std::uint64_t sum = 0;
    for (const TileGroup& group : groups) sum += group.pairs;
    return sum;
}

std::uint64_t pairs_that_fit(std::uint64_t free_bytes, std::uint64_t each) {
    return std::max(free_bytes / 2 / each, kLeastPairs);
}

}  // namespace gs
