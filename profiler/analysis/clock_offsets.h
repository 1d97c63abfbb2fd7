// How far the clocks of several hosts are apart, from collectives that their ranks carried out
// together: no rank leaves an all-reduce before the last has entered it, and all leave within the
// time its data takes. So what two hosts say of when the same collective ended differs by their
// clocks, and by no more than that time. Used when traces are merged (files/import_ranks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gs {

/// A collective as one rank saw it, by its own clock, which is right to ten seconds.
struct CollectiveCall {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t kind = 0;  ///< calls of different kinds are not the same collective
};

/// One clock against another: offset_ns + drift (t - at_ns) is what it shows more than the other
/// when that one shows t.
struct ClockOffset {
    double offset_ns = 0, error_ns = 0;  ///< the truth lies within the error
    double drift = 0, drift_error = 0;   ///< seconds a second; 0: none was seen
    std::int64_t at_ns = 0;
    std::size_t collectives = 0;  ///< that it rests on
    /// Whether the clocks differ measurably.
    bool differs() const;
};

/// What b's clock shows more than a's; both in order of their ends. None: too few collectives that
/// both took part in, they do not end together, or it is unknown which belong together (they
/// come as regularly as clockwork, and the wall clocks do not decide it). O(n log n).
std::optional<ClockOffset> clock_offset(std::span<const CollectiveCall> a,
                                        std::span<const CollectiveCall> b);

/// The ranks of a host, which share its clock: the calls of each.
using HostCalls = std::vector<std::vector<CollectiveCall>>;
/// Of every host against the first, from all pairs of hosts; none of those that no pair reaches,
/// and nothing but zeros for the first. All at one time, at_ns.
std::vector<std::optional<ClockOffset>> host_clocks(std::span<const HostCalls> hosts);

/// "3.210 ms ± 0.040 ms behind host a (212 collectives), drift -1.3 ppm".
std::string clock_text(const ClockOffset& offset, std::string_view other);

}  // namespace gs
