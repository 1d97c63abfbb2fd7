#include "app/session/parts/inspector.h"

#include <algorithm>
#include <cmath>

#include "app/session/timed_looks.h"
#include "base/seconds.h"
#include "renderer/inspect/inspect.h"
#include "trainer/loss/loss_window.h"

namespace gs {
namespace {

constexpr std::size_t kMostTiles = 100;  // listed
constexpr const char* kAgainJob = "inspect again";

/// Whether the picture that is shown of a photo's camera is another one than training has of it.
bool is_altered(const RenderOptions& shown, const RenderOptions& trained) {
    return shown.clip || shown.near_plane != trained.near_plane ||
           shown.scale_modifier != trained.scale_modifier || shown.sh_degree != trained.sh_degree ||
           shown.tint;
}

PixelPhoto against(const View& view, const PixelWalk& walk, int x, int y, double lambda) {
    PixelPhoto out;
    const std::uint8_t* rgb = view.photo.at(x, y);
    out.color = {rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0};
    out.lambda_dssim = lambda;
    out.masked = !view.mask.empty() && *view.mask.at(x, y) == 0;
    const PixelRect around = walk.around();
    out.v_color = loss_gradient_at(x, y, walk.colors(around), around.x0, around.y0, view.photo,
                                   view.mask, lambda);
    return out;
}

TileTable table_of(const RenderResult& drawn) {
    TileTable out{.tiles = drawn.isects_per_tile.size()};
    const BlendCosts& costs = drawn.costs;
    out.timed = costs.tile_ns.size() == out.tiles && out.tiles > 0;
    for (std::size_t i = 0; i < out.tiles; ++i) {
        TileCost one{.column = static_cast<int>(i) % drawn.tiles_x,
                     .row = static_cast<int>(i) / drawn.tiles_x,
                     .listed = drawn.isects_per_tile[i],
                     .pairs = out.timed ? costs.tile_evaluated[i] : drawn.pairs_per_tile[i],
                     .blended = out.timed ? costs.tile_blended[i] : 0,
                     .us = out.timed ? static_cast<double>(costs.tile_ns[i]) / 1000 : 0};
        out.pairs += one.pairs;
        out.us += one.us;
        out.worst.push_back(one);
    }
    std::stable_sort(out.worst.begin(), out.worst.end(), [](const TileCost& a, const TileCost& b) {
        return a.us != b.us ? a.us > b.us : a.pairs > b.pairs;
    });
    out.worst.resize(std::min(out.worst.size(), kMostTiles));
    return out;
}

}  // namespace

std::optional<Camera> Inspector::camera_of_question(const ViewRequest& request) {
    if (!ctx_.scene) {
        ctx_.events.error("nothing to inspect: open a scene first");
        return {};
    }
    const View* const view = photo_view(*ctx_.scene, request.settings.capture_view);
    const Camera camera = view ? view->camera : camera_of(*ctx_.scene, request, 1, false);
    if (camera.valid()) return camera;
    ctx_.events.error("no picture to inspect yet");
    return {};
}

void Inspector::pixel(const ViewRequest& request, double x, double y) {
    const auto camera = camera_of_question(request);
    if (!camera) return;
    const auto at = [](double share, int size) {
        return std::clamp(static_cast<int>(std::floor(share * size)), 0, size - 1);
    };
    asked_ = {request, at(x, camera->width), at(y, camera->height)};
    answer();
}

void Inspector::again() {
    if (!ctx_.scene || !asked_)
        return ctx_.events.error("no pixel inspected yet: run inspect.pixel X Y");
    answer();
}

void Inspector::tile(const ViewRequest& request, int column, int row) {
    const auto camera = camera_of_question(request);
    if (!camera) return;
    const int columns = (camera->width + kTileSize - 1) / kTileSize,
              rows = (camera->height + kTileSize - 1) / kTileSize;
    if (column >= columns || row >= rows)
        return ctx_.events.error(
            fmt::format("no tile ({}, {}): a picture of {} x {} pixels has {} x {}", column, row,
                        camera->width, camera->height, columns, rows));
    asked_ = {request, std::min(column * kTileSize + kTileSize / 2, camera->width - 1),
              std::min(row * kTileSize + kTileSize / 2, camera->height - 1)};
    answer();
}

void Inspector::listed_tile(int column, int row) {
    if (!published().tiles)
        return ctx_.events.error(
            "no tiles are listed: run inspect.tiles to list those of this picture");
    tile(listed_, column, row);
}

void Inspector::answer() {
    const auto begin = std::chrono::steady_clock::now();
    const LoadedScene& scene = *ctx_.scene;
    ctx_.jobs.drop(kAgainJob);
    const auto camera = camera_of_question(asked_->request);
    if (!camera || asked_->x >= camera->width || asked_->y >= camera->height) return clear();
    RenderOptions options = render_options(scene, asked_->request.settings);
    options.tint = the<ShownTint>().hiding();  // figures are of Gaussians in their own colours
    const View* const view = photo_view(scene, asked_->request.settings.capture_view);
    const auto whole = whole_view(scene.capture.get(), asked_->request.settings.capture_view);
    const bool measured = whole && !(*whole)->photo.empty();
    const PixelWalk walk(the<Viewer>().current_model(scene), *camera, options, asked_->x, asked_->y,
                         measured ? kLossReach : 0);
    auto out = std::make_shared<PixelAnswer>();
    out->report = walk.report();
    out->camera = *camera;
    out->view = view ? view->name : "";
    out->step = scene.steps_done();
    out->profile = name_of(options.compatibility);
    if (measured) {
        const auto& settings = scene.trainer ? scene.trainer->settings() : ctx_.options.settings;
        out->photo = against(**whole, walk, asked_->x, asked_->y, settings.lambda_dssim);
        walk.share_out(out->photo->v_color, out->report);
        ViewSettings untouched{.capture_view = asked_->request.settings.capture_view};
        out->photo->altered = is_altered(options, render_options(scene, untouched));
    }
    if (whole) out->photo_problem = whole->problem();
    out->milliseconds = 1000 * seconds_since(begin);
    PixelInspection inspection = published();
    inspection.pixel = std::move(out);
    publish(std::move(inspection));
}

void Inspector::tiles(const ViewRequest& request) {
    const auto camera = camera_of_question(request);
    if (!camera) return;
    const LoadedScene& scene = *ctx_.scene;
    RenderOptions options = render_options(scene, request.settings);
    options.tint = the<ShownTint>().hiding();
    options.counters = options.costs = true;
    options.gradients = options.depth = options.median_depth = false;  // whatever map is shown
    RenderResult drawn;
    draw_with_least_times(drawn, [&] {
        if (scene.trainer)
            scene.trainer->render(*camera, options, drawn);
        else
            scene.rasterizer->forward(*scene.source, *camera, options, *scene.state, drawn);
    });
    auto table = std::make_shared<TileTable>(table_of(drawn));
    const View* const view = photo_view(scene, request.settings.capture_view);
    table->camera = *camera;
    table->view = view ? view->name : "";
    table->step = scene.steps_done();
    listed_ = request;
    PixelInspection inspection = published();
    inspection.tiles = std::move(table);
    publish(std::move(inspection));
}

void Inspector::clear() {
    asked_.reset();
    ctx_.jobs.drop(kAgainJob);
    ctx_.events.changed().inspection = nullptr;
}

void Inspector::scene_changed(SceneChange change) {
    if (change == SceneChange::closing) return;
    if (change == SceneChange::scene || !asked_) return clear();
    PixelInspection inspection = published();
    inspection.tiles = nullptr;  // of the model before
    publish(std::move(inspection));
    ctx_.jobs.start_slices({kAgainJob}, [this](const Shown&, const Progress&) {
        if (the<Viewer>().request() && the<Viewer>().request()->moving) return Jobs::Slice::waited;
        answer();
        return Jobs::Slice::ended;
    });
}

PixelInspection Inspector::published() {
    const auto& now = ctx_.events.changed().inspection;
    return now ? *now : PixelInspection{};
}

void Inspector::publish(PixelInspection inspection) {
    ctx_.events.changed().inspection =
        std::make_shared<const PixelInspection>(std::move(inspection));
}

}  // namespace gs
