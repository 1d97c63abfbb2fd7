#include "app/cli/train/film_steps.h"

#include <algorithm>

#include "app/paths/path_contents.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/run/foreign_run.h"

namespace gs::cli {
namespace {

/// Of the photos of a run, at most as large as a time lapse's pictures; even sides, for codecs.
Result<LapseCamera> camera_of(const std::string& run, const std::string& name, std::string path,
                              const std::optional<Vec3d>& origin) {
    CaptureOptions loading;
    if (auto known = read_run_description(run)) {
        loading = std::move(known->loading);
        if (path.empty()) path = known->capture;
    }
    if (path.empty())
        return fail(ErrorKind::usage, run, "does not name its capture",
                    "name it: --capture FOLDER");
    loading.photos = false;
    if (origin) loading.origin = origin;
    GS_TRY(const Capture capture, load_capture(path, loading));
    GS_TRY(const auto found, choose_lapse_cameras(name, {}, capture));
    const Camera& c = found.front().camera;
    const double share = std::min(1.0, kTimeLapseSide / std::max<double>(c.width, c.height));
    const auto side = [&](int px) { return std::max(2, 2 * static_cast<int>(share * px / 2)); };
    return LapseCamera{found.front().name, c.scaled_to(side(c.width), side(c.height))};
}

}  // namespace

Result<LapseVideo> film_steps(const std::string& run, const std::string& camera,
                              const std::string& capture, const PictureArguments& picture,
                              const CommonArguments& common, const fs::path& file,
                              VideoOptions options, const Progress& progress) {
    const std::vector<ForeignStep> steps = foreign_steps(run);
    if (steps.empty())
        return fail(ErrorKind::usage, run, "has neither a time lapse nor splats of several steps",
                    "train with --timelapse or --save-at");
    GS_TRY(const auto rasterizer, make_rasterizer(common));
    std::optional<LapseCamera> from;
    std::optional<VideoWriter> video;
    RenderResult drawn;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (progress && !progress(fmt::format("step {}", steps[i].step), i, steps.size()))
            return fail(ErrorKind::cancelled, file.string(), "was cancelled");
        GS_TRY(SplatFile scene, read_any_splats(find_contents(steps[i].splats.string())));
        GS_TRY(RenderOptions how, picture_options(picture));
        how.gradients = how.depth = false;
        draw_as_trained(scene, picture, how);
        if (!from) {
            const Vec3d& origin = scene.model.origin;
            GS_TRY(from, camera_of(run, camera, capture,
                                   is_zero(origin) ? std::nullopt : std::optional(origin)));
            options.width = from->camera.width;
            options.height = from->camera.height;
            GS_TRY(video, VideoWriter::create(file, options));
        }
        if (how.compatibility == Compatibility::tight) how.near_plane = near_plane_of(scene.model);
        const auto source = rasterizer->source_of(scene.model);
        rasterizer->forward(*source, from->camera, how, *rasterizer->make_state(), drawn);
        GS_TRY_VOID(video->add(to_bytes(drawn.color)));
    }
    GS_TRY_VOID(video->finish());
    return LapseVideo{from->name, video->encoder(), steps.size(), {}};
}

}  // namespace gs::cli
