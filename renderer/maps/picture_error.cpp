#include "renderer/maps/picture_error.h"

#include <cmath>
#include <vector>

#include "renderer/maps/plane.h"

namespace gs {

// Sum over rows first, so that the result does not depend on how rows are shared among threads.
double mean_squared_error(const RenderResult& result, const PictureReference& reference) {
    const auto width = static_cast<std::size_t>(result.width),
               height = static_cast<std::size_t>(result.height);
    std::vector<double> rows(height, 0.0);
    parallel_for(height, 8, [&](std::size_t y) {
        double sum = 0;
        for (std::size_t i = y * width; i < (y + 1) * width; ++i)
            for (int c = 0; c < 3; ++c) {
                const double d =
                    static_cast<double>(std::clamp(result.color.plane(c)[i], 0.0f, 1.0f)) -
                    static_cast<double>(reference.at(c, i));
                sum += d * d;
            }
        rows[y] = sum;
    });
    double sum = 0;
    for (const double row : rows) sum += row;
    return sum / static_cast<double>(3 * width * height);
}

ImageF error_map(const RenderResult& result, const PictureReference& reference, bool keep_sign) {
    const float* planes[3] = {result.color.plane(0), result.color.plane(1), result.color.plane(2)};
    return plane_of(result.width, result.height, [&](std::size_t i) {
        float sum = 0;
        for (int c = 0; c < 3; ++c) {
            const float off = std::clamp(planes[c][i], 0.0f, 1.0f) - reference.at(c, i);
            sum += keep_sign ? off : std::abs(off);
        }
        return sum / 3.0f;
    });
}

}  // namespace gs
