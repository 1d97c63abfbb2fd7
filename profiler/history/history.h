// History: what things took, over weeks. A SQLite file of series (what, of which job and
// configuration, on which host), each of points: a time, a commit, and the quantiles of what was
// measured then: a minute of a job under `serve`, one run of `bench`, one of `train`. Written by
// those three, read by `gausscope history` and by rule R22 of the insights. Several programs may
// use one file at a time. One thread per object.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "profiler/history/database.h"
#include "profiler/store/store.h"

namespace gs::history {

/// What a series is of. Two runs with the same are the same thing done twice.
struct Subject {
    std::string source;  ///< "serve", "bench", "train"
    std::string job;     ///< what it is called: the job's name, the scene
    std::string config;  ///< how it was done: the command line, the settings
    std::string host;
    auto operator<=>(const Subject&) const = default;
};

/// Of a process that `serve` watches.
Subject subject_of(const TraceProcess& process);

/// Ascending quantiles of `count` measurements.
struct Quantiles {
    std::uint64_t count = 0;
    double p05 = std::numeric_limits<double>::quiet_NaN(), p25 = p05, p50 = p05, p75 = p05,
           p95 = p05;
};
/// Of values in any order, which get sorted.
Quantiles quantiles_of(std::vector<double>& values);

struct Point {
    std::int64_t time_s = 0;  ///< since 1970: when the minute began, when the run ended
    std::string commit;       ///< "" where it is not known
    Quantiles of;
};
struct Metric {
    std::string name;  ///< "iteration", "GPU blend", "PSNR"
    std::string unit;  ///< "ms", "dB"
};
struct Series {
    Subject subject;
    Metric metric;
    std::vector<Point> points;  ///< in order of time
};

/// What to read; empty texts take everything.
struct Query {
    std::int64_t since_s = std::numeric_limits<std::int64_t>::min();
    std::string job = {}, metric = {}, source = {};
};

class History {
  public:
    /// Makes the file where there is none. Errors: unwritable; malformed: not a history, or of a
    /// newer gausscope.
    static Result<History> open(const fs::path& path);
    /// Errors: not_found, unreadable, malformed.
    static Result<History> open_to_read(const fs::path& path);

    struct Entry {
        Metric metric;
        Point point;
    };
    /// All of them or none. What is there at the same time already is merged: counts add up,
    /// quantiles become their mean by count.
    Result<void> add(const Subject& subject, std::span<const Entry> entries);
    Result<std::vector<Series>> read(const Query& query = {}) const;
    /// Points of `serve` that are older than 14 days become one an hour, merged as above; a year
    /// of a job then takes about 10,000 points a series. Runs of bench and train stay as they are.
    Result<void> thin(std::int64_t now_s);

  private:
    explicit History(Database database) : database_(std::move(database)) {}
    Result<void> is_known() const;
    Result<std::int64_t> series_of(const Subject& subject, const Metric& metric);
    Result<void> add_each(const Subject& subject, std::span<const Entry> entries);
    Database database_;
};

/// Medians of `subject`'s iterations [ms] before `until_s`, oldest first, the newest 256: of the
/// same job, configuration and host; where there are none, of other hosts; then of the job at all.
/// Empty when nothing is known, or cannot be read.
std::vector<double> past_medians(const History& history, const Subject& subject,
                                 std::int64_t until_s);

}  // namespace gs::history
