#include "panels/viewport/overlay_parts.h"

namespace gs {

std::vector<MeasureLine> lines_of(const MeasureState& measured, const Camera& camera) {
    constexpr double kNearestEnd = 1e-3;  // world units
    std::vector<MeasureLine> out;
    for (std::size_t i = 0; i < measured.distances(); ++i)
        if (const auto ends = project_segment(camera, measured.points[2 * i],
                                              measured.points[2 * i + 1], kNearestEnd))
            out.push_back(
                {i + 1, *ends, length_words(measured.length(i), measured.metres_per_unit)});
    return out;
}

}  // namespace gs
