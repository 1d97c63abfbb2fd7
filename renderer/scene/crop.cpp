#include "renderer/scene/crop.h"

#include "base/parallel.h"
#include "renderer/math/project.h"

namespace gs {

std::vector<std::uint32_t> rows_outside(const GaussianModel& model, const ClipBox& box) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < model.count; ++row)
        if (!math::inside(box.lo, box.hi, model.mean(row)))
            rows.push_back(static_cast<std::uint32_t>(row));
    return rows;
}

GaussianModel cropped(const GaussianModel& model, const ClipBox& box) {
    const std::vector<std::uint32_t> outside = rows_outside(model, box);
    GaussianModel out = GaussianModel::to_fill(model.count - outside.size(), model.sh_degree);
    out.antialiased = model.antialiased;
    out.origin = model.origin;
    parallel_for(static_cast<std::size_t>(model.planes()), 1, [&](std::size_t p) {
        const float* from = model.plane(static_cast<int>(p));
        float* to = out.plane(static_cast<int>(p));
        for (std::size_t row = 0, gap = 0; row < model.count; ++row) {
            if (gap < outside.size() && outside[gap] == row)
                ++gap;
            else
                to[row - gap] = from[row];
        }
    });
    return out;
}

}  // namespace gs
