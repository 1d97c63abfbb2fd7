#include "profiler/store/iteration_rows.h"

#include <algorithm>

#include "profiler/store/iteration_name.h"

namespace gs {
namespace {

/// Of a process; the newest are kept.
constexpr std::size_t kMostIterationRows = 1024;

}  // namespace

int rather(const IterationRow& a, const IterationRow& b) {
    if (a.recurs != b.recurs) return a.recurs ? 1 : -1;
    if (a.rank != b.rank) return a.rank - b.rank;
    if (a.nests != b.nests) return a.nests ? 1 : -1;
    if (a.track != b.track || a.row == b.row) return 0;
    return a.row < b.row ? 1 : -1;
}

std::optional<std::uint64_t> iteration_number(const NameBook& names, const TraceSpan& span) {
    const bool whole = span.payload_kind == PayloadKind::whole ||
                       (span.payload_kind == PayloadKind::signed_whole &&
                        static_cast<std::int64_t>(span.payload) >= 0);
    if (span.has_payload && whole) return span.payload;
    const std::string_view text = names.text(span.name);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::ranges::any_of(text, is_digit) ? iteration_name(text).number : std::nullopt;
}

bool IterationRows::take(const TraceTrack& on, std::uint32_t track, std::size_t row, int rank,
                         std::int64_t length_ns) {
    ++ranges_;
    const bool nests = on.kind == TrackKind::thread;
    if (rank == 0 || (!nests && on.kind != TrackKind::overlapping)) return false;
    if (!nests) row = 0;
    auto own = std::find_if(rows_.begin(), rows_.end(), [&](const IterationRow& r) {
        return r.track == track && r.row == row && r.rank == rank;
    });
    if (own != rows_.end()) {
        own->recurs = true;
    } else {
        if (rows_.size() == kMostIterationRows) rows_.erase(rows_.begin());
        own = rows_.insert(rows_.end(), {track, row, rank, nests, false, 0, 0});
    }
    ++own->count;
    ++named_;
    last_ = ranges_;
    own->total_ns += length_ns;
    any_sure_ = any_sure_ || own->is_sure();
    const auto counts = [](const IterationRow& r) { return r.nests && r.rank > kPictureRank; };
    // Threads that do the same all have iterations, the first of a new one too.
    const auto alike = [&](const IterationRow& r) { return r.rank == rank && r.track != track; };
    return counts(*own) && std::none_of(rows_.begin(), rows_.end(), [&](const IterationRow& r) {
               return counts(r) && !alike(r) && rather(r, *own) > 0;
           });
}

void IterationRows::renumber(const Renumbering& to) {
    for (IterationRow& row : rows_) row.track = to.track(row.track);
    std::erase_if(rows_, [](const IterationRow& row) { return row.track == kNoTrack; });
    any_sure_ = std::any_of(rows_.begin(), rows_.end(), [](auto& row) { return row.is_sure(); });
}

}  // namespace gs
