#include "app/cli/simplify.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/try.h"
#include "renderer/edit/merge.h"
#include "renderer/raster/blend_weights.h"
#include "renderer/raster/fit_colors.h"
#include "trainer/run_folder.h"

namespace gs::cli {
namespace {

constexpr int kColorPasses = 10;  // half the loss comes back in five

struct Weighers {
    std::vector<Camera> cameras;
    std::string from;
};

std::vector<Camera> of_capture(const Capture& capture) {
    std::vector<Camera> out;
    for (const std::size_t i : capture.view_indices(false)) out.push_back(capture.views[i].camera);
    return out;
}

/// All around the Gaussians, at three heights.
std::vector<Camera> made_up(const GaussianModel& model) {
    std::vector<Camera> out;
    PathPlace place = place_of(model);
    for (const double elevation : {-0.2, 0.2, 0.7}) {
        place.elevation = elevation;
        for (const NamedCamera& c : orbit_cameras(place, 16, kWeighedSide, kWeighedSide * 3 / 4))
            out.push_back(c.camera);
    }
    return out;
}

Result<Weighers> weighers_of(const GaussianModel& model, const std::string& views,
                             const fs::path& input, const CommonArguments& common) {
    std::error_code ignored;
    const fs::path folder = fs::is_directory(input, ignored) ? input : input.parent_path();
    if (views.empty()) {
        const auto run = read_run_description(folder);
        if (!run || !is_capture(run->capture))
            return Weighers{made_up(model), "made-up views all around it"};
        CaptureOptions options = run->loading;
        options.photos = false;
        GS_TRY(const auto capture, load_capture(run->capture, options));
        return Weighers{of_capture(capture), run->capture};
    }
    if (is_capture(views)) {
        GS_TRY(auto options, capture_options(CaptureArguments{}, common));
        options.photos = false;
        GS_TRY(const auto capture, load_capture(views, options));
        return Weighers{of_capture(capture), views};
    }
    GS_TRY(const auto cameras, read_cameras(views));
    Weighers out{{}, views};
    for (const NamedCamera& c : cameras) out.cameras.push_back(c.camera);
    return out;
}

/// Evenly spread, and no larger than it needs to be seen what does much.
void reduce(std::vector<Camera>& cameras) {
    const std::size_t n = std::min(cameras.size(), kMostWeighed);
    for (std::size_t i = 0; i < n; ++i) {
        Camera c = cameras[i * cameras.size() / n];
        if (const int side = std::max(c.width, c.height); side > kWeighedSide)
            c = c.scaled_to(std::max(1, c.width * kWeighedSide / side),
                            std::max(1, c.height * kWeighedSide / side));
        cameras[i] = c;
    }
    cameras.resize(n);
}

}  // namespace

Result<std::size_t> simplified_count(const std::string& to, std::size_t count) {
    const bool percent = !to.empty() && to.back() == '%';
    const char* const end = to.data() + to.size() - (percent ? 1 : 0);
    double value = 0;
    const auto read = std::from_chars(to.data(), end, value);
    const bool whole = percent || value == std::floor(value);
    if (read.ec != std::errc() || read.ptr != end || !whole || !(value > 0) || !(value <= 1e12) ||
        (percent && value > 100))
        return fail(ErrorKind::usage, "",
                    fmt::format("--simplify {}: not a number of Gaussians or a percentage", to),
                    "for example 200000, or 50%");
    const double wanted = percent ? std::round(static_cast<double>(count) * value / 100) : value;
    if (wanted < 1)
        return fail(ErrorKind::usage, "",
                    fmt::format("--simplify {} of {} Gaussians leaves none", to, count));
    return std::min(static_cast<std::size_t>(wanted), count);
}

Result<Simplified> simplified(const GaussianModel& model, const SimplifyRequest& request,
                              const fs::path& input, const CommonArguments& common) {
    GS_TRY(const std::size_t n, simplified_count(request.to, model.count));
    GS_TRY(Weighers from, weighers_of(model, request.views, input, common));
    if (from.cameras.empty())
        return fail(ErrorKind::usage, from.from, "there is no camera to weigh Gaussians from");
    reduce(from.cameras);
    GS_TRY(const auto rasterizer, make_rasterizer(common));
    ProgressLine line("simplify");
    const Progress told = told_by(line);
    GS_TRY(const auto weights, blend_weights(*rasterizer, model, from.cameras, told));
    GS_TRY(GaussianModel fewer, merged_to(model, weights, n, told));
    GS_TRY_VOID(fit_colors(*rasterizer, model, fewer, from.cameras, kColorPasses, told));
    line.finish();
    return Simplified{std::move(fewer), from.cameras.size(), std::move(from.from)};
}

}  // namespace gs::cli
