#include "app/cli/train/render_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "base/choice.h"

namespace gs::cli {
namespace {

std::string map_names() {
    return fmt::format("{}, {}", fmt::join(kMaps, ", "), fmt::join(kCostMaps, ", "));
}
void add_cameras(CLI::App& app, RenderArguments& a) {
    const char* from = "Cameras";
    add_value(app, "--cameras FILE", a.cameras, "JSON list of cameras")->group(from);
    add_value(app, "--capture DIR", a.capture,
              "use a capture's cameras; with --path, base the path on them")
        ->group(from);
    add_value(app, "--path PATH", a.path,
              "orbit:N, spiral:N or dolly:N for N pictures, or a camera path file (gausscope "
              "or nerfstudio)")
        ->group(from);
    add_value(app, "--lidar PATH", a.lidar,
              "the beams of a lidar's recording instead of cameras: a range image a sweep, "
              "rendered, measured and difference, evaluated exactly on the CPU")
        ->group(from);
}

/// What is drawn, how large, and through which lens.
void add_pictures(CLI::App& app, RenderArguments& a) {
    add_value(app, "--format png|npy", a.format, CLI::IsMember({"png", "npy"}),
              "png, or npy (float32, exact)");
    add_value(app, "--maps NAME,...", a.maps,
              "maps to write: " + map_names() + ", comma separated, or all = the first eight");
    add_given(app, "--width PIXELS", a.width, picture_side(), "picture width [the camera's]");
    add_given(app, "--height PIXELS", a.height, picture_side(), "picture height [from the width]");
    add_value(app, "--fov X", a.fov, number_from(1, 170),
              "vertical field of view of --path orbit:N and the like, degrees [50]");
    app.add_option_function<std::string>(
           "--lens", [&a](const std::string& text) { a.lens = *viewer_lens_named(text); },
           "render the same poses through another lens: fisheye[:DEGREES] (across the height, 10 "
           "to 360 [180]) or equirectangular")
        ->check(CLI::Validator(
            [](std::string& text) {
                const auto lens = viewer_lens_named(text);
                return lens && lens->wide() ? std::string() : "\"" + text + "\" is not a lens";
            },
            ""))
        ->option_text("NAME");
}

void add_video(CLI::App& app, RenderArguments& a) {
    add_given(app, "--fps X", a.fps, number_from(0.01, 1000),
              "frames per second [the path file's, else 30]");
    const char* video = "Video";
    add_value(app, "--video FILE", a.video, "write a video instead of pictures: .mp4 or .mkv")
        ->group(video);
    add_value(app, "--time-lapse [CAMERA]", a.lapse,
              "write a run's time lapse, or its kept steps, as --video from this camera or the "
              "first")
        ->expected(0, 1)
        ->group(video);
    add_value(app, "--codec h264|av1", a.codec, CLI::IsMember(kVideoCodecNames),
              "of --video [h264]")
        ->group(video);
    add_value(app, "--quality N", a.quality, whole_from(1, 100), "of --video, 1 to 100 [75]")
        ->group(video);
}

}  // namespace

void add_render_options(CLI::App& app, RenderArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or a run's folder")->required();
    add_value(app, "-o,--output DIR", a.output, "output folder");
    add_cameras(app, a);
    add_pictures(app, a);
    add_video(app, a);
    app.add_flag("--test-only", a.test_only, "use only the test photos' cameras of --capture");
    add_loading(app, a.loading);
    add_given(app, "--lod-budget N", a.lod_budget, number_from(1, 1e9),
              "Gaussians in a picture of a streamed set, by levels that each camera chooses "
              "[all of the finest]");
    add_picture(app, a.picture);
    add_exact(app, a.picture);
    add_value(app, "--precision exact|fast", a.precision, CLI::IsMember({"exact", "fast"}),
              "fast: read colours in half precision on CUDA, and report the first picture's "
              "loss [exact]")
        ->group("Picture");
}

Result<std::vector<std::string>> parse_maps(const std::string& text, bool exact) {
    const std::span<const char* const> known =
        std::span(kMaps).first(exact ? kExactMaps : kMaps.size());
    if (text == "all") return std::vector<std::string>(known.begin(), known.end());
    auto maps = split(text, ',');
    for (const std::string& map : maps)
        if (!choice_named<int>(kMaps, map) && !choice_named<int>(kCostMaps, map))
            return fail(ErrorKind::usage, "", fmt::format("unknown map \"{}\"", map),
                        map_names() + " or all");
    for (const std::string& map : maps)
        if (exact && std::ranges::find(known, map) == known.end())
            return fail(ErrorKind::usage, "",
                        fmt::format("\"{}\" is a map of splatting; --exact has none", map),
                        fmt::format("{} or all", fmt::join(known, ", ")));
    return maps;
}

}  // namespace gs::cli
