#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/cameras.h"
#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/log.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::array<const char*, 6> kMaps{"color",        "alpha",  "depth",
                                           "contributors", "isects", "pairs"};

Result<std::vector<std::string>> parse_maps(const std::string& text) {
    if (text == "all") return std::vector<std::string>(kMaps.begin(), kMaps.end());
    auto maps = split(text, ',');
    for (const std::string& map : maps)
        if (std::find(kMaps.begin(), kMaps.end(), map) == kMaps.end())
            return fail(ErrorKind::usage, "", fmt::format("there is no map \"{}\"", map),
                        "color, alpha, depth, contributors, isects, pairs or all");
    return maps;
}

template <class T>
ImageF plane_of(const Buffer<T>& values, int width, int height) {
    ImageF out(width, height, 1);
    for (std::size_t i = 0; i < out.pixels(); ++i) out.values[i] = static_cast<float>(values[i]);
    return out;
}

// Sum of weight * depth -> expected depth; 0 where nothing is.
ImageF expected_depth(const RenderResult& r) {
    ImageF out(r.width, r.height, 1);
    for (std::size_t i = 0; i < out.pixels(); ++i)
        out.values[i] = r.alpha.values[i] > 0 ? r.depth.values[i] / r.alpha.values[i] : 0;
    return out;
}

ImageF map_of(const std::string& name, const RenderResult& r) {
    if (name == "alpha") return plane_of(r.alpha.values, r.width, r.height);
    if (name == "depth") return expected_depth(r);
    if (name == "contributors") return plane_of(r.contributors, r.width, r.height);
    if (name == "isects") return plane_of(r.isects_per_tile, r.tiles_x, r.tiles_y);
    return plane_of(r.pairs_per_tile, r.tiles_x, r.tiles_y);
}

class RenderRun {
  public:
    explicit RenderRun(const Arguments& arguments)
        : a_(arguments.render), common_(arguments.common) {}
    int run();

  private:
    Result<void> prepare();
    Result<std::vector<NamedCamera>> choose_cameras();
    Camera sized(const Camera& camera) const;
    Result<void> draw_all();
    Result<Json> write_maps(const NamedCamera& camera);
    Result<fs::path> write_one(const fs::path& stem, const std::string& map, Json& ranges);

    const RenderArguments& a_;
    const CommonArguments& common_;
    std::vector<std::string> maps_;
    GaussianModel model_;
    std::vector<NamedCamera> cameras_;
    RenderOptions options_;
    std::unique_ptr<Rasterizer> rasterizer_;
    RenderResult result_;
    Json written_ = Json::array();
    double draw_ms_ = 0;
};

Result<void> RenderRun::prepare() {
    // Numbers are asked for to be used: npy writes everything unless told otherwise.
    auto maps = parse_maps(a_.maps.empty() ? (a_.format == "npy" ? "all" : "color") : a_.maps);
    if (!maps) return tl::unexpected(maps.error());
    maps_ = std::move(*maps);
    auto options = picture_options(a_.picture);
    if (!options) return tl::unexpected(options.error());
    options_ = *options;
    options_.counters = std::any_of(maps_.begin(), maps_.end(), [](const std::string& m) {
        return m == "contributors" || m == "pairs";
    });
    auto rasterizer = make_rasterizer(common_);
    if (!rasterizer) return tl::unexpected(rasterizer.error());
    rasterizer_ = std::move(*rasterizer);
    if (auto ready = prepare_output_folder(a_.output); !ready) return ready;

    auto scene = read_splats(a_.scene);
    if (!scene) return tl::unexpected(scene.error());
    for (const std::string& note : scene->notes) log_info("{}: {}", a_.scene, note);
    model_ = std::move(scene->model);
    options_.antialiased |= model_.antialiased;
    auto cameras = choose_cameras();
    if (!cameras) return tl::unexpected(cameras.error());
    cameras_ = std::move(*cameras);
    for (NamedCamera& c : cameras_) c.camera = sized(c.camera);
    return {};
}

Result<std::vector<NamedCamera>> RenderRun::choose_cameras() {
    if (!a_.cameras.empty()) return read_cameras(a_.cameras);
    std::optional<Capture> capture;
    if (!a_.capture.empty()) {
        auto options = capture_options(a_.loading, common_);
        if (!options) return tl::unexpected(options.error());
        options->photos = false;
        auto loaded = load_capture(a_.capture, *options);
        if (!loaded) return tl::unexpected(loaded.error());
        for (const std::string& skipped : loaded->skipped) log_warning("skipped {}", skipped);
        capture = std::move(*loaded);
    }
    if (a_.path.empty()) {
        auto cameras = cameras_of(*capture, a_.test_only);
        if (cameras.empty())
            return fail(ErrorKind::usage, a_.capture, "no camera is left", "leave out --test-only");
        return cameras;
    }
    const auto count = parse_path(a_.path);
    if (!count) return tl::unexpected(count.error());
    Orbit orbit = capture ? orbit_of(*capture) : orbit_of(model_);
    if (!capture) orbit.fov_y = a_.fov * 3.14159265358979 / 180;
    const int width = a_.width > 0 ? a_.width : 1280,
              height = a_.height > 0 ? a_.height : width * 9 / 16;
    return orbit_cameras(orbit, *count, width, std::max(height, 1));
}

Camera RenderRun::sized(const Camera& camera) const {
    if (a_.width <= 0 && a_.height <= 0) return camera;
    const double ratio = static_cast<double>(camera.width) / camera.height;
    const int width = a_.width > 0 ? a_.width : static_cast<int>(std::lround(a_.height * ratio));
    const int height = a_.height > 0 ? a_.height : static_cast<int>(std::lround(a_.width / ratio));
    return camera.scaled_to(std::max(width, 1), std::max(height, 1));
}

Result<fs::path> RenderRun::write_one(const fs::path& stem, const std::string& map, Json& ranges) {
    fs::path path = stem;
    path += (map == "color" ? "" : "_" + map) + "." + a_.format;
    const ImageF values = map == "color" ? ImageF() : map_of(map, result_);
    Result<void> done;
    if (a_.format == "npy") {
        done = write_npy(path, map == "color" ? result_.color : values);
    } else if (map == "color") {
        done = write_png(path, to_bytes(result_.color));
    } else {
        // Gray from 0 to the largest value, which goes into the index.
        const float largest =
            map == "alpha"
                ? 1.0f
                : std::max(1e-20f, *std::max_element(values.values.begin(), values.values.end()));
        ImageF gray(values.width, values.height, 1);
        for (std::size_t i = 0; i < gray.pixels(); ++i) gray.values[i] = values.values[i] / largest;
        ranges[map] = largest;
        done = write_png(path, to_bytes(gray));
    }
    if (!done) return tl::unexpected(done.error());
    return path;
}

Result<Json> RenderRun::write_maps(const NamedCamera& camera) {
    Json files = Json::object(), white = Json::object();
    for (const std::string& map : maps_) {
        auto path = write_one(fs::path(a_.output) / camera.name, map, white);
        if (!path) return tl::unexpected(path.error());
        files[map] = path->filename().string();
    }
    Json entry{{"name", camera.name},
               {"width", result_.width},
               {"height", result_.height},
               {"files", files}};
    if (!white.empty()) entry["value_of_white"] = white;
    entry["visible"] = result_.counters.visible;
    entry["isects"] = result_.counters.isects;
    return entry;
}

Result<void> RenderRun::draw_all() {
    ModelSource source(model_);
    const auto state = rasterizer_->make_state();
    ProgressLine progress("render");
    for (std::size_t i = 0; i < cameras_.size(); ++i) {
        if (interrupted())
            return fail(ErrorKind::cancelled, a_.output,
                        fmt::format("stopped after {} of {} pictures", i, cameras_.size()));
        const auto begin = std::chrono::steady_clock::now();
        rasterizer_->forward(source, cameras_[i].camera, options_, *state, result_);
        draw_ms_ +=
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count();
        auto entry = write_maps(cameras_[i]);
        if (!entry) return tl::unexpected(entry.error());
        written_.push_back(std::move(*entry));
        progress.update(i + 1, cameras_.size(), cameras_[i].name);
    }
    return {};
}

int RenderRun::run() {
    catch_interrupts();
    if (auto ready = prepare(); !ready) return report(ready.error());
    if (auto drawn = draw_all(); !drawn) {
        report(drawn.error());
        return kFailed;
    }
    const double mean = draw_ms_ / static_cast<double>(cameras_.size());
    fmt::print("{}: {} pictures, {:.1f} ms each to draw\n", a_.output, cameras_.size(), mean);
    if (common_.json)
        print_json({{"command", "render"},
                    {"scene", a_.scene},
                    {"output", a_.output},
                    {"backend", rasterizer_->name()},
                    {"gaussians", model_.count},
                    {"profile", name_of(options_.compatibility)},
                    {"format", a_.format},
                    {"ms_mean", mean},
                    {"images", written_}});
    return kDone;
}

}  // namespace

int run_render(const Arguments& arguments) {
    const RenderArguments& a = arguments.render;
    if (a.cameras.empty() == (a.capture.empty() && a.path.empty()))
        return report({ErrorKind::usage,
                       "",
                       "cameras come from --cameras, or from --capture and --path",
                       "for example --path orbit:60",
                       {},
                       {}});
    return RenderRun(arguments).run();
}

}  // namespace gs::cli
