#include "app/cli/check/verify.h"

#include <algorithm>

#include "base/check.h"
#include "renderer/scene/crop.h"

namespace gs::cli {

VerifyReport verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& options, Rasterizer& rasterizer, bool gradients) {
    auto report = check_frame(
        {.model = model, .camera = camera, .options = options, .gradients = gradients}, rasterizer);
    CHECK(report.has_value(), "nobody cancels it");
    std::erase_if(report->rows, [](const ComparisonRow& row) {
        return row.stage == "projection" || row.what == "depth" || row.what == "order by depth";
    });
    return std::move(*report);
}

GaussianModel thinned(const GaussianModel& model, std::size_t limit) {
    const std::size_t most = std::max<std::size_t>(limit, 1),
                      stride = std::max<std::size_t>(1, (model.count + most - 1) / most);
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < model.count; i += stride)
        rows.push_back(static_cast<std::uint32_t>(i));
    return gathered(model, rows);
}

}  // namespace gs::cli
