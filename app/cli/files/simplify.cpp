#include "app/cli/files/simplify.h"

#include "app/backend/simplify.h"
#include "app/cli/cameras.h"
#include "app/cli/progress.h"
#include "base/try.h"
#include "trainer/run/run_folder.h"

namespace gs::cli {
namespace {

struct Weighers {
    std::vector<Camera> cameras;
    std::string from;
};

Result<Weighers> weighers_of(const GaussianModel& model, const std::string& views,
                             const fs::path& folder, const CommonArguments& common) {
    if (views.empty()) {
        const auto run = read_run_description(folder);
        const CaptureFiles files = run ? find_capture(run->capture) : CaptureFiles();
        if (!files.certain)
            return Weighers{cameras_to_look_from(model), "generated views all around it"};
        CaptureOptions options = run->loading;
        options.photos = false;
        options.origin = model.origin;
        GS_TRY(const auto capture, load_capture(files, options));
        return Weighers{cameras_to_look_from(capture), run->capture};
    }
    if (const CaptureFiles files = find_capture(views); files.certain) {
        GS_TRY(auto options, capture_options(CaptureArguments{}, common));
        options.photos = false;
        options.origin = model.origin;
        GS_TRY(const auto capture, load_capture(files, options));
        return Weighers{cameras_to_look_from(capture), views};
    }
    GS_TRY(const auto cameras, read_cameras(views, model.origin));
    Weighers out{{}, views};
    for (const NamedCamera& c : cameras) out.cameras.push_back(c.camera);
    return out;
}

}  // namespace

Result<Simplified> simplified_as_asked(const GaussianModel& model, const SimplifyRequest& request,
                                       const fs::path& folder, const CommonArguments& common) {
    GS_TRY(const std::size_t n, simplified_count(request.to, model.count));
    GS_TRY(Weighers from, weighers_of(model, request.views, folder, common));
    GS_TRY(const auto rasterizer, make_rasterizer(common));
    const std::size_t cameras = std::min(from.cameras.size(), kMostWeighed);
    ProgressLine line("simplify", "simplifying: {1} in {0} steps");
    auto made = simplified(*rasterizer, model, n, std::move(from.cameras), told_by(line));
    line.finish();
    if (!made) return tl::unexpected(std::move(made).error());
    return Simplified{*std::move(made), cameras, std::move(from.from)};
}

}  // namespace gs::cli
