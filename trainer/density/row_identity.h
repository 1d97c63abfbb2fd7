// RowIdentity: which Gaussian a row is, for as long as its run lives, and whether it is locked.
// Rows move with every round of density control; ids stay. They are given in ascending order: a
// clone's original keeps its own, its copy gets a new one, both parts of a split get new ones.
// Carried along by density control and edits on every backend, kept in checkpoints. The studio
// finds Gaussians again by it, and their age.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/host_device.h"

namespace gs {

/// A row's tag: its id, and this bit where it is locked: then nothing of it is changed by training.
inline constexpr std::uint32_t kLockedTag = 0x80000000u;
/// The bits of a tag that are the id. Also the last id there is, which all share that come after.
inline constexpr std::uint32_t kLastId = 0x7fffffffu;

GS_HD inline std::uint32_t id_of_tag(std::uint32_t tag) { return tag & kLastId; }
GS_HD inline bool locked_tag(std::uint32_t tag) { return (tag & kLockedTag) != 0; }
/// The `n`-th id after `first`.
GS_HD inline std::uint32_t later_id(std::uint32_t first, std::uint32_t n) {
    return n < kLastId - first ? first + n : kLastId;
}

/// Ids from `first_id` on, up to the next one's, were given after `step` steps.
struct Birth {
    std::uint32_t first_id, step;
    bool operator==(const Birth&) const = default;
};

/// Which ids were given, and when.
struct IdBook {
    std::uint32_t next = 0;     ///< the id to be given next, kLastId at most
    std::vector<Birth> births;  ///< both members ascend

    /// `count` new ids; the first of them (see later_id()).
    std::uint32_t give(std::size_t count, std::uint32_t step);
    /// Ids that were given first of all: how many Gaussians the run began with.
    std::uint32_t first_given() const { return births.size() > 1 ? births[1].first_id : next; }
    /// The steps done when `id` was given.
    std::uint32_t birth_step(std::uint32_t id) const;
    bool operator==(const IdBook&) const = default;
};

struct RowIdentity {
    /// [capacity]; zero beyond the rows in use. Of TrainingBackend::identity(): those only.
    Buffer<std::uint32_t> tags;
    IdBook book;

    RowIdentity() = default;
    /// Ids are the numbers of the rows, born at step 0, nothing is locked.
    RowIdentity(std::size_t count, std::size_t capacity);
    /// Of every tag: its id; whether it is locked (1).
    std::vector<std::uint32_t> ids() const;
    std::vector<std::uint8_t> locked() const;
    /// What can be believed of a run of `count` rows and `steps` steps: ids were given, each to one
    /// row.
    bool plausible(std::size_t count, std::uint32_t steps) const;
};

/// Bit i: row 16 * block + i is locked. `tags`: of all rows.
std::uint32_t locked_lanes(const Buffer<std::uint32_t>& tags, std::size_t block);

}  // namespace gs
