#include "profiler/serve/capture_request.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace gs::serve {
namespace {

constexpr double kNsPerSecond = 1e9, kNsPerMillisecond = 1e6;

std::optional<double> positive_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value <= 0)
        return {};
    return value;
}

tl::unexpected<Error> wrong(std::string what) {
    return fail(ErrorKind::usage, "", std::move(what),
                "give ms=N, with at=/Ns or at=SECONDS_SINCE_1970 for its begin, or last=N");
}

/// The first whole multiple of `period` after `now`.
std::int64_t next_multiple(std::int64_t now, std::int64_t period) {
    return (now / period + 1) * period;
}

Result<std::int64_t> begin_of(std::string_view at, std::int64_t now_ns) {
    if (at.empty()) return now_ns;
    if (at.front() == '/') {
        std::string_view period = at.substr(1);
        if (period.ends_with('s')) period.remove_suffix(1);
        const auto seconds = positive_number(period);
        if (!seconds || *seconds < 1e-3 || *seconds > 3600)
            return wrong("at=/N needs 0.001 to 3600 seconds");
        return next_multiple(now_ns, static_cast<std::int64_t>(*seconds * kNsPerSecond));
    }
    const auto seconds = positive_number(at);
    if (!seconds || std::abs(*seconds * kNsPerSecond - static_cast<double>(now_ns)) >
                        static_cast<double>(kMaxAwayNs))
        return wrong("at= needs a time within an hour of now");
    return static_cast<std::int64_t>(*seconds * kNsPerSecond);
}

}  // namespace

Result<CaptureRequest> parse_capture(const HttpRequest& request, std::int64_t now_ns) {
    const std::string ms = request.parameter("ms"), last = request.parameter("last"),
                      at = request.parameter("at");
    if (ms.empty() == last.empty()) return wrong("give either ms or last");
    const auto length = positive_number(ms.empty() ? last : ms);
    if (!length || *length * kNsPerMillisecond > static_cast<double>(kMaxCaptureNs))
        return wrong("a capture lasts up to ten minutes: 600000 ms");
    const auto ns = static_cast<std::int64_t>(*length * kNsPerMillisecond);
    if (ms.empty()) {
        if (!at.empty()) return wrong("last= ends now; it cannot be combined with at=");
        return CaptureRequest{now_ns - ns, now_ns};
    }
    return begin_of(at, now_ns).map([&](std::int64_t begin) {
        return CaptureRequest{begin, begin + ns};
    });
}

}  // namespace gs::serve
