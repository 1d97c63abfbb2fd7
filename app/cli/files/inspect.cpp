#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/inspect/inspect.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/density/init.h"
#include "trainer/loss/loss_window.h"

namespace gs::cli {
namespace {

struct InspectArguments {
    std::string scene, pixel;
    std::string cameras, capture;  ///< one of them
    std::string camera;            ///< a name or a number
    int width = 0;
    int most = 40;     ///< rows of the table
    bool all = false;  ///< also what was not blended
    CaptureArguments loading;
    PictureArguments picture;
};

void add_options(CLI::App& app, InspectArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or a run's folder")->required();
    add_value(app, "--pixel X,Y", a.pixel, "the pixel, from the upper left corner")->required();
    const char* from = "Cameras";
    add_value(app, "--cameras FILE", a.cameras, "JSON list of cameras")->group(from);
    add_value(app, "--capture DIR", a.capture,
              "use a capture's cameras, and compare with its photos")
        ->group(from);
    add_value(app, "--camera NAME|N", a.camera, "name or number of the camera [the first]")
        ->group(from);
    add_given(app, "--width PIXELS", a.width, picture_side(), "picture width [the camera's]");
    add_value(app, "--most N", a.most, whole_from(1, 1e9),
              "most rows in the table (JSON has all) [40]");
    app.add_flag("--all", a.all, "also list Gaussians of the tile that the pixel skips");
    add_loading(app, a.loading);
    add_picture(app, a.picture);
}

Result<std::array<int, 2>> parse_pixel(const std::string& text) {
    std::array<int, 2> out{};
    const auto words = split(text, ',');
    bool good = words.size() == 2;
    for (std::size_t i = 0; good && i < 2; ++i) {
        const char* const end = words[i].data() + words[i].size();
        const auto [at, error] = std::from_chars(words[i].data(), end, out[i]);
        good = at == end && error == std::errc() && out[i] >= 0;
    }
    if (good) return out;
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a pixel", text),
                "use two whole numbers >= 0: --pixel 320,240");
}

/// By its name, with or without the ending, or its number.
Result<std::size_t> choose(const std::vector<NamedCamera>& cameras, const std::string& wanted) {
    if (wanted.empty()) return std::size_t{0};
    for (std::size_t i = 0; i < cameras.size(); ++i)
        if (cameras[i].name == wanted || fs::path(cameras[i].name).stem() == wanted) return i;
    std::size_t number = 0;
    const char* const end = wanted.data() + wanted.size();
    const auto [at, error] = std::from_chars(wanted.data(), end, number);
    if (at == end && error == std::errc() && number < cameras.size()) return number;
    return fail(ErrorKind::usage, "", fmt::format("no camera \"{}\"", wanted),
                fmt::format("a name, or a number up to {}", cameras.size() - 1));
}

Json triple(Vec3d v) { return Json::array({number(v.x), number(v.y), number(v.z)}); }

class Inspection {
  public:
    Inspection(const InspectArguments& a, const CommonArguments& common) : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> prepare();
    Result<void> choose_camera();
    Json explain();
    Json draw();

    const InspectArguments& a_;
    const CommonArguments& common_;
    std::array<int, 2> at_{};
    PathContents contents_;  // of the scene
    GaussianModel model_;
    std::shared_ptr<Capture> capture_;
    const View* photo_ = nullptr;  ///< of this camera and size
    NamedCamera camera_;
    RenderOptions options_;
    std::unique_ptr<Rasterizer> rasterizer_;
    PixelReport report_;
};

Result<void> Inspection::prepare() {
    GS_TRY(at_, parse_pixel(a_.pixel));
    GS_TRY(options_, picture_options(a_.picture));
    options_.gradients = options_.depth = false;
    options_.counters = true;
    GS_TRY(rasterizer_, make_rasterizer(common_));
    contents_ = find_contents(a_.scene);
    GS_TRY(auto scene, read_any_splats(contents_));
    for (const std::string& note : scene.notes) log_info("{}: {}", a_.scene, note);
    draw_as_trained(scene, a_.picture, options_);
    model_ = std::move(scene.model);
    GS_TRY_VOID(choose_camera());
    if (options_.compatibility == Compatibility::tight)
        options_.near_plane = capture_
                                  ? near_plane_for(static_cast<double>(scene_extent_of(*capture_)))
                                  : near_plane_of(model_);
    const Camera& c = camera_.camera;
    if (at_[0] >= c.width || at_[1] >= c.height)
        return fail(ErrorKind::usage, "",
                    fmt::format("pixel ({}, {}) is outside the picture of {} x {}", at_[0], at_[1],
                                c.width, c.height));
    return {};
}

Result<void> Inspection::choose_camera() {
    std::vector<NamedCamera> cameras;
    if (!a_.cameras.empty()) {
        GS_TRY(cameras, read_cameras(a_.cameras, model_.origin));
    } else {
        GS_TRY(auto photos,
               photos_of(contents_, a_.capture, a_.loading, common_, a_.picture.background));
        if (!is_zero(model_.origin)) photos.loading.origin = model_.origin;
        GS_TRY(capture_, load_with_progress(find_capture(photos.capture), photos.loading));
        options_.background = photos.loading.background;
        take_learned_views(contents_, *capture_);
        // With their endings, which render's files do without.
        for (const View& view : capture_->views) cameras.push_back({view.name, view.camera});
    }
    if (cameras.empty()) return fail(ErrorKind::usage, a_.capture, "has no camera");
    GS_TRY(const std::size_t which, choose(cameras, a_.camera));
    camera_ = cameras[which];
    Camera& c = camera_.camera;
    const bool other_size = a_.width > 0 && a_.width != c.width;
    if (other_size) c = resized(c, a_.width, 0);
    if (capture_ && !other_size && !capture_->views[which].photo.empty())
        photo_ = &capture_->views[which];
    return {};
}

/// The reference's answer.
Json Inspection::explain() {
    const auto begin = std::chrono::steady_clock::now();
    const PixelWalk walk(model_, camera_.camera, options_, at_[0], at_[1], photo_ ? kLossReach : 0);
    report_ = walk.report();
    Json photo;
    if (photo_) {
        const double lambda = TrainingSettings().lambda_dssim;
        const PixelRect around = walk.around();
        const Vec3d v = loss_gradient_at(at_[0], at_[1], walk.colors(around), around.x0, around.y0,
                                         photo_->photo, photo_->mask, lambda);
        walk.share_out(v, report_);
        const std::uint8_t* rgb = photo_->photo.at(at_[0], at_[1]);
        const Vec3d color{rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0};
        photo = {{"color", triple(color)},
                 {"difference", triple(report_.color - color)},
                 {"loss_by_color", triple(v)},
                 {"lambda_dssim", lambda},
                 {"masked", !photo_->mask.empty() && *photo_->mask.at(at_[0], at_[1]) == 0}};
    }
    const TileReport& tile = report_.tile;
    return {
        {"color", triple(report_.color)},
        {"transmittance", report_.transmittance},
        {"depth", report_.alpha > 0 ? number(report_.depth / report_.alpha) : Json(nullptr)},
        {"median_depth", report_.median_depth > 0 ? number(report_.median_depth) : Json(nullptr)},
        {"contributors", report_.contributors},
        {"fragile", report_.fragile},
        {"photo", photo},
        {"tile",
         {{"column", tile.column},
          {"row", tile.row},
          {"listed", tile.listed},
          {"evaluated", tile.evaluated},
          {"blended", tile.blended},
          {"wasted_share", tile.wasted_share()},
          {"pixel_step", tile.step},
          {"stops", tile.stops}}},
        {"milliseconds", 1000 * seconds_since(begin)}};
}

/// The same pixel as the backend draws it.
Json Inspection::draw() {
    ModelSource source(model_);
    const auto state = rasterizer_->make_state();
    RenderResult drawn;
    rasterizer_->forward(source, camera_.camera, options_, *state, drawn);
    const auto at = [&](int c) { return static_cast<double>(drawn.color.at(c, at_[0], at_[1])); };
    const Vec3d color{at(0), at(1), at(2)}, off = color - report_.color;
    const auto pixel = static_cast<std::size_t>(at_[1]) * static_cast<std::size_t>(drawn.width) +
                       static_cast<std::size_t>(at_[0]);
    const auto tile =
        static_cast<std::size_t>(report_.tile.row * drawn.tiles_x + report_.tile.column);
    return {{"name", rasterizer_->name()},
            {"color", triple(color)},
            {"difference", number(std::max({std::abs(off.x), std::abs(off.y), std::abs(off.z)}))},
            {"contributors", drawn.contributors[pixel]},
            {"listed", drawn.isects_per_tile[tile]},
            {"pairs", drawn.pairs_per_tile[tile]}};
}

Json rows_of(const PixelReport& report) {
    Json rows = Json::array();
    for (const PixelEntry& e : report.entries)
        rows.push_back({{"row", e.row},
                        {"fate", kPixelFateNames[static_cast<std::size_t>(e.fate)]},
                        {"depth", number(e.depth)},
                        {"opacity", number(e.opacity)},
                        {"alpha", number(e.alpha)},
                        {"before", number(e.before)},
                        {"weight", number(e.weight)},
                        {"color", triple(e.color)},
                        {"adds", triple(e.contribution())},
                        {"running", triple(e.running)},
                        {"mean", Json::array({number(e.mean.x), number(e.mean.y)})},
                        {"conic", triple({e.conic.xx, e.conic.xy, e.conic.yy})},
                        {"loss_by_alpha", number(e.v_alpha)},
                        {"gradient_share", number(e.share)},
                        {"fragile", e.fragile}});
    return rows;
}

void print(const Json& out, const InspectArguments& a) {
    say("{camera}, {width} x {height}: pixel ({x}, {y}), {profile}, {milliseconds:.1f} ms", out);
    say("  colour        {color.0:.6f} {color.1:.6f} {color.2:.6f}", out);
    say("  {name}: {color.0:.6f} {color.1:.6f} {color.2:.6f}, difference {difference:.1e}, "
        "{contributors} blended, {listed} in the tile",
        out["backend"]);
    if (!out["photo"].is_null()) {
        say("  photo         {color.0:.6f} {color.1:.6f} {color.2:.6f}", out["photo"]);
        say("  loss by it    {loss_by_color.0:.3e} {loss_by_color.1:.3e} {loss_by_color.2:.3e}",
            out["photo"]);
    }
    say("  blended       {contributors}, light left {transmittance:.4g}, depth {depth:.4g}, "
        "median {median_depth:.4g}",
        out);
    say("  tile ({column}, {row}): {listed} listed, {evaluated} pairs evaluated, {blended} "
        "blended, {wasted_share:percent} wasted\n",
        out["tile"]);
    constexpr Column kColumns[] = {
        {"row", "{row}"},
        {"depth", "{depth:.4g}"},
        {"opacity", "{opacity:.4f}"},
        {"alpha", "{alpha:.5f}"},
        {"light", "{before:.5f}"},
        {"weight", "{weight:.5f}"},
        {"colour", "{color.0:.3f} {color.1:.3f} {color.2:.3f}"},
        {"adds", "{adds.0:.4f} {adds.1:.4f} {adds.2:.4f}"},
        {"gradient", "{gradient_share:percent}"},
        {" ", "{fate}", true},
    };
    Json rows = Json::array();
    for (const Json& row : out["gaussians"])
        if (a.all || row["fate"] == "blended") rows.push_back(row);
    say_table(rows, kColumns, {.most = static_cast<std::size_t>(a.most)});
}

Result<int> Inspection::run() {
    GS_TRY_VOID(prepare());
    const Camera& c = camera_.camera;
    Json out{{"command", "inspect"},
             {"scene", a_.scene},
             {"camera", camera_.name},
             {"width", c.width},
             {"height", c.height},
             {"x", at_[0]},
             {"y", at_[1]},
             {"profile", name_of(options_.compatibility)}};
    out.update(explain());
    out["backend"] = draw();
    out["gaussians"] = rows_of(report_);
    print(out, a_);
    if (common_.json) print_json(out);
    return kDone;
}

Result<int> run_inspect(const InspectArguments& a, const CommonArguments& common) {
    if (a.cameras.empty() == a.capture.empty())
        return fail(ErrorKind::usage, "", "the camera comes from --cameras or from --capture",
                    "for example --capture photos/ --camera 3");
    return Inspection(a, common).run();
}

}  // namespace

Subcommand inspect_command() {
    return subcommand<InspectArguments>(
        "inspect", "list the Gaussians of one pixel, what each adds, and why others add nothing",
        "  gausscope inspect runs/photos-2026-11-22-1 --capture photos/ --camera IMG_0012 --pixel "
        "640,400\n"
        "  gausscope inspect scene.ply --cameras cameras.json --pixel 10,20 --all --json\n",
        add_options, run_inspect);
}

}  // namespace gs::cli
