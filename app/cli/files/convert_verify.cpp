#include "app/cli/files/convert_verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/comparison.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/lost_views.h"
#include "trainer/loss/metrics.h"

namespace gs::cli {
namespace {

// A view to compare from; the photo belongs to the capture.
struct Stand {
    std::string name;
    Camera camera;
    const View* view = nullptr;
};

struct Stands {
    std::shared_ptr<const Capture> capture;
    std::vector<Stand> list;
};

Result<Stands> stands_of(const std::string& views, Vec3d origin, const CommonArguments& common) {
    Stands out;
    if (const CaptureFiles files = find_capture(views); files.certain) {
        GS_TRY(auto options, capture_options(CaptureArguments{}, common));
        options.origin = origin;
        GS_TRY(out.capture, load_with_progress(files, options));
        for (const std::size_t i : scored_views(*out.capture)) {
            const View& view = out.capture->views[i];
            out.list.push_back({view.name, view.camera, view.photo.pixels() > 0 ? &view : nullptr});
        }
    } else {
        GS_TRY(const auto cameras, read_cameras(views, origin));
        for (const NamedCamera& camera : cameras)
            out.list.push_back({camera.name, camera.camera, nullptr});
    }
    out.list = spread(out.list, kMostVerifyViews);
    return out;
}

class Drawer {
  public:
    Drawer() : rasterizer_(make_cpu_rasterizer()), state_(rasterizer_->make_state()) {}
    /// Clamped to 0..1, as a written picture is.
    ImageF draw(const GaussianModel& model, const Camera& camera) {
        RenderOptions options;
        options.antialiased = model.antialiased;
        options.gradients = false;
        options.depth = false;
        ModelSource source(model);
        rasterizer_->forward(source, camera, options, *state_, result_);
        ImageF out = result_.color;
        for (float& value : out.values) value = std::clamp(value, 0.0f, 1.0f);
        return out;
    }

  private:
    std::unique_ptr<Rasterizer> rasterizer_;
    std::unique_ptr<ForwardState> state_;
    RenderResult result_;
};

double psnr_between(const ImageF& a, const ImageF& b) {
    const double values = static_cast<double>(std::max<std::size_t>(1, a.values.size()));
    const double squares = compare({}, a.values, b.values).squares;
    return std::isfinite(squares) ? psnr_of(squares / values) : 0;
}

/// PSNR, dB.
struct ViewCost {
    std::string name;
    std::optional<double> between, source, result;
};

Result<std::vector<ViewCost>> costs_of(const GaussianModel& source, const GaussianModel& result,
                                       const std::string& views, const CommonArguments& common) {
    GS_TRY(const Stands stands, stands_of(views, source.origin, common));
    if (stands.list.empty()) return fail(ErrorKind::usage, views, "no view to verify from");
    std::vector<ViewCost> out;
    Drawer drawer;
    ProgressLine progress("verify");
    for (const Stand& stand : stands.list) {
        if (interrupted()) return fail(ErrorKind::cancelled, views, "verifying was stopped");
        ImageF before = drawer.draw(source, stand.camera),
               after = drawer.draw(result, stand.camera);
        ViewCost cost{stand.name, psnr_between(before, after), {}, {}};
        if (stand.view != nullptr) {
            cost.source = score_picture(before, stand.view->photo, stand.view->mask).psnr;
            cost.result = score_picture(after, stand.view->photo, stand.view->mask).psnr;
        }
        out.push_back(std::move(cost));
        progress.update(out.size(), stands.list.size(), stand.name);
    }
    progress.finish();
    return out;
}

}  // namespace

Result<Json> verify_conversion(const GaussianModel& source, const GaussianModel& result,
                               const std::string& views, const CommonArguments& common) {
    GS_TRY(const auto costs, costs_of(source, result, views, common));
    Json out;
    for (const auto& [name, of] : {std::pair{"psnr_between", &ViewCost::between},
                                   {"psnr_source", &ViewCost::source},
                                   {"psnr_result", &ViewCost::result}}) {
        double sum = 0;
        std::size_t count = 0;
        for (const ViewCost& cost : costs)
            if (cost.*of) sum += *(cost.*of), ++count;
        out[name] = count > 0 ? number(sum / static_cast<double>(count)) : nullptr;
    }
    out["views"] = table_json(
        table_of<ViewCost>(std::span(costs), {{"name", "", nullptr, &ViewCost::name},
                                              {"psnr_between", "", nullptr, &ViewCost::between},
                                              {"psnr_source", "", nullptr, &ViewCost::source},
                                              {"psnr_result", "", nullptr, &ViewCost::result}}));
    const auto worst = std::ranges::min_element(costs, {}, &ViewCost::between);
    fmt::print(
        "  verified from {} views: {:.2f} dB against the source's pictures (worst {:.2f} dB, {})\n",
        costs.size(), out["psnr_between"].get<double>(), *worst->between, worst->name);
    if (!out["psnr_source"].is_null())
        say("  against the photos: {psnr_result:.2f} dB, {psnr_source:.2f} dB of the source", out);
    return out;
}

}  // namespace gs::cli
