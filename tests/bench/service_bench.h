// service_bench: what the profiling service costs on this machine, against its targets
// (docs/profiling.md). Every measurement runs in a process of its own that loads the injection
// library as a foreign program would; this process reads it as `record` does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs::bench {

/// One line of the table. `target`: the most (the least, with `at_least`) it may be; none: for
/// comparison only.
struct ServiceFigure {
    std::string name, unit;
    double value = 0;
    std::optional<double> target;
    bool at_least = false;
    std::string note;
    bool met() const { return !target || (at_least ? value >= *target : value <= *target); }
};
using ServiceFigures = std::vector<ServiceFigure>;

/// Nanoseconds a range: idle, recorded by handle and by text, the slow tail, threads beside each
/// other.
Result<ServiceFigures> measure_ranges();
/// What is lost and what reading costs at a steady rate.
Result<ServiceFigures> measure_rates();
/// What stays behind after disarming.
Result<ServiceFigures> measure_residue();
/// Our trainer on `capture`, watched and unwatched in turns of one run: `pairs` pairs of stretches.
Result<ServiceFigures> measure_trainer(const std::string& capture, int pairs);

/// Median of `values` and its 95 % interval by resampling them, always the same way.
struct Bootstrap {
    double median = 0, lo = 0, hi = 0;
};
Bootstrap bootstrap_median(const std::vector<double>& values);

}  // namespace gs::bench
