#include "app/session/parts/frame_verifier.h"

#include <algorithm>

#include "app/verify/precision.h"
#include "base/format.h"
#include "base/try.h"

namespace gs {
namespace {

/// Backward is verified where the reference, one thread then, does not take minutes.
constexpr std::int64_t kMostGradientPixels = 256 * 256;

/// Everything the task needs, so that the engine can continue meanwhile.
struct VerifySubject {
    std::shared_ptr<const GaussianModel> model;
    std::shared_ptr<const Capture> capture;
    int photo = -1;  ///< of the capture; -1: none
    Camera camera;
    RenderOptions options;
    reference::Region region;
    double lambda_dssim = 0.2;
    bool gradients = false;
    std::string note;  ///< of what is not verified
    std::function<Result<std::unique_ptr<Rasterizer>>()> make_rasterizer;
};

/// The photo of the subject, where it is of the camera's size and no mask hides parts of it.
const Image8* photo_of(const View& view, const Camera& camera) {
    const bool fits = view.photo.width == camera.width && view.photo.height == camera.height;
    return fits && !view.photo.empty() && view.mask.empty() ? &view.photo : nullptr;
}

Result<VerifyReport> verify_subject(const VerifySubject& subject, const Progress& progress) {
    GS_TRY(const auto rasterizer, subject.make_rasterizer());
    const auto view = whole_view(subject.capture.get(), subject.photo);
    const Progress report_done = [&](std::string_view, std::size_t done, std::size_t total) {
        return progress("verifying the frame", done, total);
    };
    GS_TRY(VerifyReport out,
           check_frame({.model = *subject.model,
                        .camera = subject.camera,
                        .options = subject.options,
                        .region = subject.region,
                        .gradients = subject.gradients,
                        .photo = view ? photo_of(**view, subject.camera) : nullptr,
                        .lambda_dssim = subject.lambda_dssim},
                       *rasterizer, report_done));
    out.note = subject.note;
    if (view && !view->problem().empty())
        out.note +=
            (out.note.empty() ? "" : "; ") + ("the loss is not verified: " + view->problem());
    return out;
}

std::string words_of(const VerifyReport& report) {
    const auto failed = std::count_if(report.rows.begin(), report.rows.end(),
                                      [](const ComparisonRow& row) { return !row.passed(); });
    return fmt::format(
        "{} of {} x {} pixels against the reference: {}, in {:.1f} s",
        format_count(static_cast<double>(report.pixels)), report.width, report.height,
        failed == 0 ? "all match"
                    : fmt::format("{} of {} figures differ", failed, report.rows.size()),
        report.seconds);
}

std::string words_of_fast(LoadedScene& scene, const ViewRequest& request, bool on_device) {
    if (scene.trainer)
        return "fast pictures: a run's model is drawn exactly; export and open it instead";
    if (const std::string why = why_exact(on_device, *scene.model); !why.empty())
        return "fast pictures: " + why;
    const Camera camera = camera_of(scene, request, 1.0, false);
    RenderOptions options = render_options(scene, request.settings);
    options.precision = Precision::fast;
    RenderResult fast;
    scene.rasterizer->forward(*scene.source, camera, options, *scene.state, fast);
    const double psnr =
        fast_psnr(*scene.rasterizer, *scene.source, camera, options, *scene.state, fast);
    if (psnr >= kSamePicture) return "fast pictures: identical to the exact picture";
    return fmt::format("fast pictures: {} from the exact picture", format_db(psnr));
}

}  // namespace

void FrameVerifier::verify(const std::optional<reference::Region>& region) {
    const auto& request = the<Viewer>().request();
    if (!ctx_.scene || !request || request->camera.width <= 0)
        return ctx_.events.error("nothing to verify: open a scene first");
    const LoadedScene& scene = *ctx_.scene;
    VerifySubject subject{.camera = camera_of(scene, *request, 1.0, false),
                          .region = region.value_or(reference::Region{})};
    const std::int64_t width =
                           std::min(subject.region.x1, subject.camera.width) - subject.region.x0,
                       height =
                           std::min(subject.region.y1, subject.camera.height) - subject.region.y0;
    if (width <= 0 || height <= 0)
        return ctx_.events.error(fmt::format("the region is outside the picture of {} x {} pixels",
                                             subject.camera.width, subject.camera.height));
    subject.options = render_options(scene, request->settings);
    subject.capture = scene.capture;
    subject.photo = request->settings.capture_view;
    subject.lambda_dssim = ctx_.options.settings.lambda_dssim;
    // Gradients are of the Gaussians as they are, and through a lens.
    const bool plain = !subject.camera.orthographic() && subject.options.scale_modifier == 1.0f;
    subject.gradients = plain && width * height <= kMostGradientPixels;
    subject.make_rasterizer = ctx_.options.make_rasterizer;
    subject.model =
        scene.trainer ? std::make_shared<const GaussianModel>(scene.trainer->model()) : scene.model;
    subject.note =
        subject.gradients ? ""
        : plain ? fmt::format("the backward pass is verified only in regions up to {} pixels",
                              format_count(static_cast<double>(kMostGradientPixels)))
                : "verifying the backward pass needs a perspective camera and scale 1";
    ctx_.jobs.start<VerifyReport>(
        {"verify", "verifying the frame", ctx_.events.command, true},
        [subject = std::move(subject)](const Progress& progress) {
            return verify_subject(subject, progress);
        },
        [this, name = scene.name, step = scene.steps_done()](VerifyReport report) {
            report.serial = ++serial_;
            report.scene = name;
            report.step = step;
            ctx_.events.done(
                words_of(report), true,
                report.note.empty() ? std::vector<std::string>() : std::vector{report.note});
            ctx_.events.changed().verified =
                std::make_shared<const VerifyReport>(std::move(report));
        },
        ctx_.events.if_failed("verification was cancelled"));
}

void FrameVerifier::check_fast(const Shown& shown, const ViewRequest& request) {
    ctx_.events.done(words_of_fast(shown.scene, request, ctx_.options.on_device), true);
}

void FrameVerifier::clear() {
    ctx_.jobs.cancel("verify");
    ctx_.events.changed().verified = nullptr;
}

void FrameVerifier::scene_changed(SceneChange change) {
    if (change != SceneChange::scene) return;
    ctx_.jobs.drop("verify");
    ctx_.events.changed().verified = nullptr;
}

}  // namespace gs
