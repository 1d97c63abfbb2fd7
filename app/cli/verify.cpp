#include "app/cli/verify.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace gs::cli {

Verification verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& options, Rasterizer& rasterizer, bool gradients) {
    const auto report = check_frame(
        {.model = model, .camera = camera, .options = options, .gradients = gradients}, rasterizer);
    CHECK(report.has_value(), "nobody cancels it");
    Verification out;
    out.pixels = report->pixels + report->fragile;
    out.fragile = report->fragile;
    for (const VerifyRow& row : report->rows) {
        const auto is = [&](std::string_view stage, std::string_view what) {
            return row.stage == stage && row.what == what;
        };
        if (is("picture", "colour")) out.color = row.worst;
        if (is("picture", "opacity")) out.alpha = row.worst;
        if (is("picture", "depth")) out.depth = row.worst;
        if (is("lists", "count per pixel"))
            out.contributors =
                static_cast<std::size_t>(row.mean * static_cast<double>(row.values) + 0.5);
        if (row.stage == "gradients") out.gradient = row.worst;
    }
    return out;
}

GaussianModel thinned(const GaussianModel& model, std::size_t limit) {
    const std::size_t stride = (model.count + limit - 1) / std::max<std::size_t>(limit, 1);
    if (stride <= 1) return model.resized(model.capacity, model.sh_degree);
    GaussianModel out((model.count + stride - 1) / stride, model.sh_degree);
    out.antialiased = model.antialiased;
    out.origin = model.origin;
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < out.count; ++i) out.at(p, i) = model.at(p, i * stride);
    return out;
}

}  // namespace gs::cli
