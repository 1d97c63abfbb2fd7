// `gausscope lab report`: a lab's database as one page, with the worst photos rendered again.
#include "app/lab/lab_report.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "app/cli/common.h"
#include "app/cli/options.h"
#include "app/cli/report.h"
#include "app/cli/train/lab.h"
#include "app/paths/path_contents.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/picture_error.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/near_plane.h"
#include "trainer/density/init.h"

namespace gs::cli {
namespace {

constexpr double kErrorRange = 0.2;  // difference that is the brightest
constexpr double kPhotoWidth = 460;  // px on the page
constexpr std::size_t kMostPhotos = 4;

/// A photo of the page: which, and the runs that draw it. Without `left` it is the photo itself.
struct Shown {
    std::string photo;
    const lab::LabRun *left = nullptr, *right = nullptr;
    double psnr_left = 0, psnr_right = 0;
};

/// Draws photos of runs as they were trained; captures and models are kept until another is needed.
class PhotoDrawer {
  public:
    explicit PhotoDrawer(std::unique_ptr<Rasterizer> rasterizer)
        : rasterizer_(std::move(rasterizer)) {}

    Result<ReportSlider> draw(const Shown& shown) {
        GS_TRY(const View* view, view_of(*shown.right, shown.photo));
        GS_TRY(const Image8 right, drawn(*shown.right, *view));
        ReportSlider out;
        Image8 left = view->photo;
        if (shown.left != nullptr) {
            GS_TRY(left, drawn(*shown.left, *view));
        }
        const std::string name = fmt::format("{} {}", shown.right->of.scene, shown.photo);
        GS_TRY(out.left,
               picture(shown.left == nullptr ? name + ", the photo"
                                             : fmt::format("{}, {} {:.2f} dB", name,
                                                           label(*shown.left), shown.psnr_left),
                       left));
        GS_TRY(out.right,
               picture(fmt::format("{} {:.2f} dB", label(*shown.right), shown.psnr_right), right));
        GS_TRY(out.error, picture("its difference from the photo, brightest from 0.2",
                                  difference_picture(right, view->photo, kErrorRange)));
        return out;
    }

  private:
    static std::string label(const lab::LabRun& run) {
        return run.of.label + " " + run.of.settings;
    }

    Result<const View*> view_of(const lab::LabRun& run, const std::string& photo) {
        if (capture_of_ != run.capture || !capture_) {
            GS_TRY(const RunDescription described, read_run_description(run.folder));
            GS_TRY(Capture read, load_capture(run.capture, described.loading));
            capture_ = std::make_unique<Capture>(std::move(read));
            capture_of_ = run.capture;
            background_ = described.loading.background;
        }
        for (const View& view : capture_->views)
            if (view.name == photo) return &view;
        return fail(ErrorKind::not_found, run.capture, "has no photo " + photo);
    }

    Result<Image8> drawn(const lab::LabRun& run, const View& view) {
        GS_TRY(const SplatFile scene, read_any_splats(find_contents(run.folder)));
        ModelSource source(scene.model);
        const auto state = rasterizer_->make_state();
        RenderOptions options;
        options.background = background_;
        draw_as_trained(scene, {}, options);
        options.near_plane = near_plane_for(static_cast<double>(scene_extent_of(*capture_)));
        options.depth = options.gradients = false;
        RenderResult result;
        rasterizer_->forward(source, view.camera, options, *state, result);
        return to_bytes(result.color);
    }

    /// Through a file, because reports read their pictures from files.
    static Result<ReportPicture> picture(std::string title, const Image8& image) {
        const fs::path file =
            fs::temp_directory_path() / fmt::format("gausscope-lab-{}.png", ::getpid());
        auto written = write_png(file, image);
        auto read = written ? report_picture(std::move(title), file)
                            : Result<ReportPicture>(tl::unexpected(written.error()));
        std::error_code ignored;
        fs::remove(file, ignored);
        if (read) read->width_px = kPhotoWidth;
        return read;
    }

    std::unique_ptr<Rasterizer> rasterizer_;
    std::unique_ptr<Capture> capture_;
    std::string capture_of_;
    Vec3f background_{};
};

/// The largest losses of a comparison; else the worst photo of each scene's newest run.
std::vector<Shown> photos_to_show(const std::vector<lab::LabRun>& runs,
                                  const std::optional<lab::RunComparison>& comparison) {
    std::vector<Shown> out;
    if (comparison) {
        const auto by_id = [&](std::int64_t id) {
            const auto at = std::find_if(runs.begin(), runs.end(),
                                         [&](const lab::LabRun& run) { return run.id == id; });
            return at == runs.end() ? nullptr : &*at;
        };
        for (const lab::PhotoChange& p : comparison->worst) {
            const Shown shown{p.photo, by_id(p.run_a), by_id(p.run_b), p.psnr_a, p.psnr_b};
            if (shown.left && shown.right && out.size() < kMostPhotos) out.push_back(shown);
        }
        return out;
    }
    std::map<std::string, const lab::LabRun*> newest;
    for (const lab::LabRun& run : runs)
        if (!run.failed && !run.photos.empty()) newest[run.of.scene] = &run;
    for (const auto& [scene, run] : newest) {
        const auto worst = std::min_element(
            run->photos.begin(), run->photos.end(),
            [](const lab::LabPhoto& a, const lab::LabPhoto& b) { return a.psnr < b.psnr; });
        if (out.size() < kMostPhotos) out.push_back({worst->name, nullptr, run, 0, worst->psnr});
    }
    return out;
}

}  // namespace

Result<int> report_lab(const LabReportArguments& a, const CommonArguments& common) {
    GS_TRY(const lab::LabFile file, lab::LabFile::open_to_read(a.database));
    GS_TRY(const std::vector<lab::LabRun> runs, file.runs());
    std::optional<lab::RunComparison> comparison;
    if (!a.a.empty()) {
        GS_TRY(const lab::RunSelection first, lab::select_runs(runs, a.a));
        GS_TRY(const lab::RunSelection second, lab::select_runs(runs, a.b));
        GS_TRY(const std::vector<lab::Gate> gates, lab::gates_of(file, second.runs));
        GS_TRY(comparison, lab::compare_runs(first, second, gates));
    }
    GS_TRY_VOID(prepare_output_file(a.html));
    Report report = lab::lab_report(runs, comparison, fs::path(a.database).filename().string());
    GS_TRY(auto rasterizer, make_rasterizer(common));
    PhotoDrawer drawer(std::move(rasterizer));
    for (const Shown& shown : photos_to_show(runs, comparison)) {
        auto drawn = drawer.draw(shown);
        if (drawn)
            report.sliders.push_back(std::move(*drawn));
        else
            log_warning("{} is not shown: {}", shown.photo, drawn.error().text());
    }
    const std::string html = report_html(report);
    GS_TRY_VOID(write_text_file(a.html, html));
    const Json out{{"command", "lab report"},
                   {"output", a.html},
                   {"bytes", html.size()},
                   {"runs", runs.size()},
                   {"photos", report.sliders.size()},
                   {"plots", report.plots.size()}};
    say("written: {output}, {bytes:bytes}", out);
    if (common.json) print_json(out);
    return kDone;
}

}  // namespace gs::cli
