// Begins and ends of one track of a file become ranges with rows. Used by ImportEvents.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/files/import_events.h"

namespace gs {

/// Rows of the track of a thread or a GPU stream.
inline constexpr std::size_t kImportRows = 64;

struct Pairing {
    std::uint64_t ends_alone = 0, too_deep = 0, overlapping = 0;
    std::vector<ImportedEvent> open;    ///< without an end, unless the file says where it was open
    std::vector<ImportedEvent> beside;  ///< of a thread, in more others than there are rows
};

/// Leaves finished ranges only, in order of their ends, with rows. Ranges that lie inside others
/// are on the row below; those that overlap others are on the first row with space. `rounding_ns`:
/// neighbours that overlap by no more than this do so because their times were rounded.
Pairing pair_events(std::vector<ImportedEvent>& events, TrackKind kind, std::int64_t rounding_ns);

}  // namespace gs
