// Exposition: writes OpenMetrics 1.0 text, the format that Prometheus scrapes. Families one after
// the other, samples of a family together, "# EOF" at the end. Used by Metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gs::serve {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Upper bounds of stage and iteration times in seconds: 1, 2.5, 5 in each decade from 10 us to 10
/// s.
inline constexpr std::array kBuckets{1e-5,   2.5e-5, 5e-5, 1e-4,   2.5e-4, 5e-4, 1e-3,
                                     2.5e-3, 5e-3,   1e-2, 2.5e-2, 5e-2,   0.1,  0.25,
                                     0.5,    1.0,    2.5,  5.0,    10.0};

struct TimeHistogram {
    std::array<std::uint64_t, kBuckets.size() + 1>
        counts{};  ///< per bucket, not yet summed; the last is "+Inf"
    double sum = 0;
    std::uint64_t count() const;
    void add(double seconds);
};

class Exposition {
  public:
    enum class Type { gauge, counter, histogram, info };
    /// Begins a family; counters' samples get the suffix "_total", those of infos "_info". `unit`
    /// ("seconds", "bytes", "ratio") must end the name when given.
    void family(std::string_view name, Type type, std::string_view help,
                std::string_view unit = {});
    /// A value of the present family. What is not finite is left out: unavailable is not zero.
    void value(const Labels& labels, double value);
    void value(const Labels& labels, const TimeHistogram& histogram);
    /// The whole text; ends the exposition.
    std::string finish();

  private:
    void sample(std::string_view suffix, const Labels& labels, std::string_view le, double value);
    std::string text_, name_;
    Type type_ = Type::gauge;
};

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace gs::serve
