#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/check/verify_rows.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "app/verify/frame_check.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/density/init.h"

namespace gs::cli {
namespace {

struct VerifyArguments {
    std::string scene, capture, photo, cameras, region, difference;
    int width = 0, height = 0;
    bool gradients = false;
    CaptureArguments loading;
    PictureArguments picture;
};

void add_options(CLI::App& app, VerifyArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or a run's folder")->required();
    add_value(app, "--capture DIR", a.capture,
              "render from a photo's camera in this capture and compare the loss as well");
    add_value(app, "--photo NAME", a.photo, "name of the photo [the first]");
    add_value(app, "--cameras FILE", a.cameras, "render from the first camera of a JSON list");
    add_value(app, "--region X0,Y0,X1,Y1", a.region,
              "verify only these columns and rows of pixels");
    add_given(app, "--width PIXELS", a.width, picture_side(),
              "picture width [the camera's, else 640]");
    add_given(app, "--height PIXELS", a.height, picture_side(), "picture height [from the width]");
    app.add_flag("--gradients", a.gradients, "also verify the backward pass");
    add_value(app, "--difference FILE.png", a.difference, "write the differences as a picture");
    add_loading(app, a.loading);
    add_picture(app, a.picture);
}

Result<reference::Region> parse_region(const std::string& text) {
    if (text.empty()) return reference::Region{};
    int numbers[4] = {};
    const auto words = split(text, ',');
    bool good = words.size() == 4;
    for (std::size_t i = 0; good && i < 4; ++i) {
        const char* end = words[i].data() + words[i].size();
        const auto [at, error] = std::from_chars(words[i].data(), end, numbers[i]);
        good = error == std::errc() && at == end && numbers[i] >= 0;
    }
    if (!good || numbers[0] >= numbers[2] || numbers[1] >= numbers[3])
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a region", text),
                    "use --region X0,Y0,X1,Y1 with X0 < X1 and Y0 < Y1, in pixels");
    return reference::Region{numbers[0], numbers[1], numbers[2], numbers[3]};
}

/// From where it is looked at, and the photo that was taken there.
struct Place {
    NamedCamera from;
    std::shared_ptr<const Capture> capture;
    const View* view = nullptr;  ///< null: no photo
};

Result<Place> photo_place(const VerifyArguments& a, const PathContents& scene, Vec3d origin,
                          const CommonArguments& common) {
    Place out;
    GS_TRY(RunPhotos photos, photos_of(scene, a.capture, a.loading, common));
    if (!is_zero(origin)) photos.loading.origin = origin;
    GS_TRY(const auto capture, load_with_progress(find_capture(photos.capture), photos.loading));
    take_learned_views(scene, *capture);
    const auto& views = capture->views;
    out.capture = capture;
    const auto named = std::ranges::find_if(
        views, [&](const View& view) { return a.photo.empty() || view.name == a.photo; });
    if (named == views.end())
        return fail(ErrorKind::usage, a.capture, fmt::format("has no photo \"{}\"", a.photo));
    out.view = &*named;
    out.from = {named->name, named->camera};
    return out;
}

Result<Place> place_for(const VerifyArguments& a, const PathContents& scene,
                        const CommonArguments& common, const GaussianModel& model) {
    Place out;
    if (!a.capture.empty()) {
        GS_TRY(out, photo_place(a, scene, model.origin, common));
    } else if (!a.cameras.empty()) {
        GS_TRY(const auto cameras, read_cameras(a.cameras, model.origin));
        if (cameras.empty()) return fail(ErrorKind::usage, a.cameras, "lists no camera");
        out.from = cameras.front();
    } else {
        out.from = orbit_cameras(place_of(model), 1, 640, 360).front();
    }
    Camera& camera = out.from.camera;
    camera = resized(camera, a.width, a.height);
    if (out.view &&
        (camera.width != out.view->camera.width || camera.height != out.view->camera.height))
        out.view = nullptr;
    return out;
}

Result<int> run(const VerifyArguments& a, const CommonArguments& common) {
    catch_interrupts();
    GS_TRY(const reference::Region region, parse_region(a.region));
    GS_TRY(RenderOptions options, picture_options(a.picture));
    GS_TRY(const auto rasterizer, make_rasterizer(common));
    if (!a.difference.empty()) GS_TRY_VOID(prepare_output_file(a.difference));
    const PathContents contents = find_contents(a.scene);
    GS_TRY(const SplatFile scene, read_any_splats(contents));
    if (scene.model.count == 0)
        return fail(ErrorKind::usage, a.scene, "the scene has no Gaussians to verify");
    GS_TRY(const Place place, place_for(a, contents, common, scene.model));
    draw_as_trained(scene, a.picture, options);
    if (options.compatibility == Compatibility::tight)
        options.near_plane =
            place.capture ? near_plane_for(static_cast<double>(scene_extent_of(*place.capture)))
                          : near_plane_of(scene.model);
    ProgressLine progress("verify");
    GS_TRY(const VerifyReport report,
           check_frame({.model = scene.model,
                        .camera = place.from.camera,
                        .options = options,
                        .region = region,
                        .gradients = a.gradients,
                        .photo = place.view ? &place.view->photo : nullptr},
                       *rasterizer, told_by(progress)));
    if (report.pixels + report.fragile == 0)
        return fail(ErrorKind::usage, "",
                    fmt::format("the region is outside the picture of {} x {} pixels", report.width,
                                report.height));
    if (!a.difference.empty()) {
        Image8 opaque = *report.difference;
        for (std::size_t i = 3; i < opaque.bytes.size(); i += 4) opaque.bytes[i] = 255;
        GS_TRY_VOID(write_png(a.difference, opaque));
    }
    Json out{{"command", "verify"},
             {"scene", a.scene},
             {"backend", rasterizer->name()},
             {"camera", place.from.name}};
    out.update(verify_json(report));
    say("{scene} from {camera}, {width} x {height} pixels, {gaussians} Gaussians, on {backend}",
        out);
    print_verify(report);
    if (common.json) print_json(out);
    return report.passed() ? kDone : kGate;
}

}  // namespace

Subcommand verify_command() {
    return subcommand<VerifyArguments>(
        "verify", "check a frame against the double-precision reference, stage by stage",
        "  gausscope verify point_cloud.ply                              from one side\n"
        "  gausscope verify out/ --capture photos/ --photo 0012.jpg --gradients\n"
        "  gausscope verify out/ --capture photos/ --region 200,100,328,228 --difference d.png\n"
        "Exit code 3: something differs by more than rounding explains. See docs/replay.md.\n",
        add_options, run);
}

}  // namespace gs::cli
