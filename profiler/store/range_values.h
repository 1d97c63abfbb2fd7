// RangeValues: what ranges and marks tell beyond their one payload (NVTX's payload extension: bytes
// and communicator of a collective), by track in order of their begins. Few ranges have any, so
// they lie beside the spans and not in them. A part of the TraceStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/store/event.h"
#include "profiler/store/renumbering.h"
#include "profiler/store/sliding.h"

namespace gs {

class NameBook;

/// A value by its name; both names are indices into the NameBook.
struct TraceValue {
    std::int64_t begin_ns = 0;  ///< of its range
    std::uint64_t value = 0;    ///< bits as `kind` says
    std::uint32_t name = 0;
    std::uint8_t depth = 0;
    PayloadKind kind = PayloadKind::whole;
};

class RangeValues {
  public:
    static constexpr std::uint8_t kMark = 255;  ///< the depth of marks

    /// Values of the range of `track` that began then, at this depth, in the order they were
    /// recorded.
    std::span<const TraceValue> of(std::size_t track, std::int64_t begin_ns,
                                   std::size_t depth) const;

    // ---- for the store that fills it
    /// Values come in the order of the begins of their ranges, except values recorded at the end of
    /// a range. Those that come too late to be placed are discarded.
    void add(std::uint32_t track, const TraceValue& value);
    std::size_t bytes_before(std::int64_t t) const;
    void forget_before(std::int64_t t);
    void mark_names(std::vector<bool>& used) const;
    void renumber(const Renumbering& to);
    std::size_t bytes() const;
    /// A copy of those of [begin, end]; under the same numbers.
    RangeValues excerpt(std::int64_t begin_ns, std::int64_t end_ns) const;

  private:
    std::vector<SlidingArray<TraceValue>> by_track_;
};

/// "sum", "4096".
std::string value_text(const NameBook& names, const TraceValue& value);

}  // namespace gs
