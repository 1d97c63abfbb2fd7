// GaussianValues: the value that Gaussians are coloured by, for the Values panel: its histogram,
// the range of its colours, and the number within. Made by the engine (app/session/parts/values.h).
#pragma once

#include <cstdint>
#include <string>

#include "panels/state/snapshot.h"

namespace gs {

struct GaussianValues {
    GaussianValue value = GaussianValue::none;
    std::string note;            ///< about its source: "since the last density round"
    std::string problem;         ///< why there are none; empty: there are
    Histogram histogram;         ///< with name, unit and scale
    double lo = 0, hi = 1;       ///< of the colours
    double least = 0, most = 1;  ///< of all values; the histogram omits the outermost
    std::uint64_t rows = 0, finite = 0;
    std::uint64_t within = 0;  ///< of the finite ones, the range
    std::uint64_t step = 0;
};

}  // namespace gs
