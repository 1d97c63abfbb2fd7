#include "renderer/edit/flags.h"

#include "base/check.h"
#include "base/parallel.h"

namespace gs {
namespace {

constexpr std::size_t kFlagGrain = 65536;

}  // namespace

FlagCounts count_flags(std::span<const std::uint8_t> flags) {
    FlagCounts out;
    for (const std::uint8_t f : flags) {
        out.selected += f & kSelected;
        out.hidden += (f & kHidden) / kHidden;
        out.locked += (f & kLocked) / kLocked;
    }
    return out;
}

Flags with_selection(const Flags& flags, const Hits& hits, SelectMode mode) {
    CHECK(flags.size() == hits.size(), "a hit for every row");
    Flags out(flags.size());
    parallel_for(flags.size(), kFlagGrain, [&](std::size_t i) {
        const bool was = (flags[i] & kSelected) != 0, hit = hits[i] != 0;
        const bool now = mode == SelectMode::replace ? hit
                         : mode == SelectMode::add   ? was || hit
                                                     : was && !hit;
        const bool hidden = (flags[i] & kHidden) != 0;
        out[i] = static_cast<std::uint8_t>((flags[i] & ~kSelected) | (now && !hidden ? 1 : 0));
    });
    return out;
}

Flags with_bits(const Flags& flags, std::uint8_t of, std::uint8_t set, std::uint8_t clear) {
    Flags out(flags.size());
    parallel_for(flags.size(), kFlagGrain, [&](std::size_t i) {
        const bool meant = (flags[i] & of) == of;
        out[i] = meant ? static_cast<std::uint8_t>((flags[i] | set) & ~clear) : flags[i];
    });
    return out;
}

std::vector<std::uint32_t> rows_with(std::span<const std::uint8_t> flags, std::uint8_t with,
                                     std::uint8_t without) {
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if ((flags[i] & with) == with && (flags[i] & without) == 0)
            rows.push_back(static_cast<std::uint32_t>(i));
    return rows;
}

}  // namespace gs
