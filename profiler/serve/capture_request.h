// What a user asks of the daemon by POST /trace?...: which stretch of time is to be written.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "profiler/serve/http.h"

namespace gs::serve {

/// A stretch of wall-clock time, CLOCK_REALTIME nanoseconds.
struct CaptureRequest {
    std::int64_t begin_ns = 0, end_ns = 0;
};

inline constexpr std::int64_t kMaxCaptureNs = 600'000'000'000;  ///< ten minutes
inline constexpr std::int64_t kMaxAwayNs =
    3'600'000'000'000;  ///< how far from now a capture may begin

/// The parameters of a request at wall-clock time `now_ns`:
///   ms=5000            how long, from now on
///   ms=5000&at=/10s    beginning at the next whole multiple of 10 s since 1970: every node that is
///   asked within the
///                      same 10 s begins at the same moment, without talking to the others
///   ms=5000&at=1763730000.5   beginning at this moment, seconds since 1970; of the past, what is
///   still kept
///   last=20000         the milliseconds before now, as far as they are still kept
/// Errors (usage): no or impossible numbers, both `ms` and `last`, a moment more than an
/// hour away.
Result<CaptureRequest> parse_capture(const HttpRequest& request, std::int64_t now_ns);

}  // namespace gs::serve
