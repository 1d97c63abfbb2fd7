#include "renderer/scene/crop.h"

#include "base/parallel.h"
#include "renderer/math/project.h"

namespace gs {

namespace {

std::vector<std::uint32_t> rows_where(const GaussianModel& model, const ClipBox& box, bool inside) {
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < model.count; ++row)
        if (math::inside(box.lo, box.hi, model.mean(row)) == inside)
            rows.push_back(static_cast<std::uint32_t>(row));
    return rows;
}

}  // namespace

GaussianModel gathered(const GaussianModel& model, std::span<const std::uint32_t> rows) {
    GaussianModel out = GaussianModel::to_fill(rows.size(), model.sh_degree);
    out.set_about(model);
    parallel_for(static_cast<std::size_t>(model.planes()), 1, [&](std::size_t p) {
        const float* from = model.plane(static_cast<int>(p));
        float* to = out.plane(static_cast<int>(p));
        for (std::size_t k = 0; k < rows.size(); ++k) to[k] = from[rows[k]];
    });
    return out;
}

std::vector<std::uint32_t> rows_outside(const GaussianModel& model, const ClipBox& box) {
    return rows_where(model, box, false);
}

GaussianModel cropped(const GaussianModel& model, const ClipBox& box) {
    return gathered(model, rows_where(model, box, true));
}

}  // namespace gs
