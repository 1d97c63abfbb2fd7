// RoundRows: the rows that a round of density control leaves, listed by where each comes from, and
// what carries such a list out on the host. Made by density.cpp and relocation.cpp; the device's
// twin is cuda/density_round.cpp. Where several processes train one run (base/exchange.h), each
// lists the rows that come from its own, and rearrange() sends them to whom they belong next:
// nobody holds more than its share. Without `ranks`, the process is alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/exchange.h"
#include "base/vec.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/density/density_rules.h"
#include "trainer/density/row_identity.h"

namespace gs {

struct RunArrays;

/// Blocks that a rank gets of a run: the same number for all, or one less.
struct RankBlocks {
    std::size_t first, count;
    RankBlocks(std::size_t blocks, int rank, int ranks);
};
/// The rows of its blocks, where the run has `all` rows.
struct RankRows {
    std::size_t first, count;
    RankRows(std::size_t all, int rank, int ranks);
};

struct RoundRows {
    std::vector<std::uint32_t> source;  ///< row of this rank as it is
    std::vector<Origin> origin;
    std::vector<Vec3f> mean;
    std::vector<std::uint32_t> tag;  ///< RowIdentity::tags
    /// Place in the list of all ranks' rows; after in_morton_order(): row of the next run.
    std::vector<std::uint32_t> place;
    /// Gaussians that share the source's place, and kNewcomer (relocation_rules.h).
    std::vector<std::uint8_t> share;
    std::size_t size() const { return source.size(); }
    void add(std::size_t row, Origin how, Vec3f where, std::uint32_t whose, std::size_t listed,
             std::uint8_t shared = 1) {
        source.push_back(static_cast<std::uint32_t>(row));
        origin.push_back(how);
        mean.push_back(where);
        tag.push_back(whose);
        place.push_back(static_cast<std::uint32_t>(listed));
        share.push_back(shared);
    }
};
/// Rows of the same Morton code are in the order of their places.
RoundRows in_morton_order(const RoundRows& rows, Exchange& ranks = one_process());

/// Rows for at least `count` Gaussians: an odd number of blocks, so that planes do not share cache
/// sets.
std::size_t padded_capacity(std::size_t count);
/// Rows to reserve when `wanted` do not fit: half as many again, up to `limit`.
std::size_t grown_capacity(std::size_t capacity, std::size_t wanted, std::size_t limit);
/// Reserves the own part of `wanted` rows; returns how many fit on all ranks. Storage grows only
/// as far as the model could still be copied; that memory is left in `save_reserve` if it is not
/// null.
std::size_t reserve_rows(RunArrays& arrays, std::size_t wanted, std::size_t limit, Exchange& ranks,
                         Buffer<float>* save_reserve);
/// What a round clears or sets afterwards (RowArray::round) need not move in one.
enum class MovedArrays { of_round, all };
/// The arrays move to these rows, which ascend by place and for which space is reserved; rows given
/// up become unused. What a round clears is cleared by clear_round(). Returns origin, mean and
/// share of the rows that are here now.
RoundRows rearrange(RunArrays& arrays, const RoundRows& rows, Exchange& ranks,
                    MovedArrays which = MovedArrays::of_round);
void clear_round(RunArrays& arrays);

}  // namespace gs
