#include "app/cli/convert_verify.h"

#include <algorithm>

#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "trainer/metrics.h"

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
        auto indices = out.capture->view_indices(true);
        if (indices.empty()) indices = out.capture->view_indices(false);
        for (const std::size_t i : indices) {
            const View& view = out.capture->views[i];
            out.list.push_back({view.name, view.camera, view.photo.pixels() > 0 ? &view : nullptr});
        }
    } else {
        GS_TRY(const auto cameras, read_cameras(views, origin));
        for (const NamedCamera& camera : cameras)
            out.list.push_back({camera.name, camera.camera, nullptr});
    }
    if (out.list.size() > kMostVerifyViews) {
        std::vector<Stand> some;
        for (std::size_t i = 0; i < kMostVerifyViews; ++i)
            some.push_back(out.list[i * out.list.size() / kMostVerifyViews]);
        out.list = std::move(some);
    }
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
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double d = static_cast<double>(a.values[i]) - static_cast<double>(b.values[i]);
        sum += d * d;
    }
    return psnr_of(sum / static_cast<double>(std::max<std::size_t>(1, a.values.size())));
}

void average(ConversionCost& cost) {
    double between = 0, source = 0, result = 0;
    std::size_t photos = 0;
    for (const ViewCost& view : cost.views) {
        between += view.between;
        if (!view.source || !view.result) continue;
        source += *view.source;
        result += *view.result;
        ++photos;
    }
    cost.between = between / static_cast<double>(cost.views.size());
    if (photos == 0) return;
    cost.source = source / static_cast<double>(photos);
    cost.result = result / static_cast<double>(photos);
}

}  // namespace

Result<ConversionCost> verify_conversion(const GaussianModel& source, const GaussianModel& result,
                                         const std::string& views, const CommonArguments& common) {
    GS_TRY(const Stands stands, stands_of(views, source.origin, common));
    if (stands.list.empty()) return fail(ErrorKind::usage, views, "no view to verify from");
    ConversionCost out;
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
        out.views.push_back(std::move(cost));
        progress.update(out.views.size(), stands.list.size(), stand.name);
    }
    progress.finish();
    average(out);
    return out;
}

}  // namespace gs::cli
