// Exposition: figures of one moment by family, with their labels, and OpenMetrics 1.0 text of them,
// the format that Prometheus scrapes. Filled by Metrics; otlp.h sends the same to OpenTelemetry.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
    struct Point {
        Labels labels;
        double value = 0;
        std::optional<TimeHistogram> times;  ///< of histograms, in place of `value`
    };
    struct Family {
        std::string name, help, unit;  ///< of the unit: "seconds", "bytes", "ratio", ... or empty
        Type type = Type::gauge;
        std::vector<Point> points{};
        std::string semantic{};  ///< its name among OpenTelemetry's conventions, if it has one
    };

    /// Begins a family. `unit` must end the name when given.
    void family(std::string_view name, Type type, std::string_view help,
                std::string_view unit = {});
    void family(Family about) { families_.push_back(std::move(about)); }
    /// A value of the present family. Values that are not finite are skipped: unavailable is not
    /// zero.
    void value(const Labels& labels, double value);
    void value(const Labels& labels, const TimeHistogram& histogram);

    const std::vector<Family>& families() const { return families_; }
    /// Counters' samples get the suffix "_total", those of infos "_info"; "# EOF" at the end.
    std::string open_metrics() const;

  private:
    std::vector<Family> families_;
};

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace gs::serve
