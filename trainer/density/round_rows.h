// RoundRows: the rows that a round of density control leaves, listed by where each comes from, and
// what carries such a list out on the host. Made by density.cpp and relocation.cpp; the device's
// twin is cuda/density_round.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/vec.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/density/density_rules.h"
#include "trainer/density/row_identity.h"

namespace gs {

struct RunArrays;

struct RoundRows {
    std::vector<std::uint32_t> source;  ///< row of the model as it is
    std::vector<Origin> origin;
    std::vector<Vec3f> mean;
    std::vector<std::uint32_t> tag;  ///< RowIdentity::tags
    /// Of a relocation: Gaussians that share the source's place, and kNewcomer
    /// (relocation_rules.h).
    std::vector<std::uint8_t> share;
    void add(std::size_t row, Origin how, Vec3f where, std::uint32_t whose) {
        source.push_back(static_cast<std::uint32_t>(row));
        origin.push_back(how);
        mean.push_back(where);
        tag.push_back(whose);
    }
};
RoundRows in_morton_order(const RoundRows& rows);

/// Rows for at least `count` Gaussians: an odd number of blocks, so that planes do not share cache
/// sets.
std::size_t padded_capacity(std::size_t count);
/// Rows to reserve when `wanted` do not fit: half as many again, up to `limit`.
std::size_t grown_capacity(std::size_t capacity, std::size_t wanted, std::size_t limit);
/// Reserves `wanted` rows; returns how many fit. Storage grows only as far as the model could still
/// be copied; that memory is left in `save_reserve` if it is not null.
std::size_t reserve_rows(RunArrays& arrays, std::size_t wanted, std::size_t limit,
                         Buffer<float>* save_reserve);
/// All arrays move to these rows, which are reserved; rows given up become unused. What a round
/// clears is cleared by clear_round().
void rearrange(RunArrays& arrays, const RoundRows& rows);
void clear_round(RunArrays& arrays);

}  // namespace gs
