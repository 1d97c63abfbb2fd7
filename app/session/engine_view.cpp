// The engine's viewing half: which picture to draw when, how large, and what goes into it.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/session/engine.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/draw_styles.h"
#include "renderer/maps/scalar_map.h"
#include "renderer/maps/view_frame.h"

namespace gs {
namespace {

// Seconds a picture should take at most; it gets fewer pixels otherwise.
constexpr double kMovingPatience = 0.030, kTrainingPatience = 0.15;
// Between two pictures of the same view that differ only by training.
constexpr double kRefreshInterval = 0.25;
// Few sizes, so that buffers and textures settle.
constexpr std::array<double, 6> kScales{1.0, 0.71, 0.5, 0.35, 0.25, 0.18};

}  // namespace

bool Engine::draw_when_due() {
    if (auto request = in_.view.take()) {
        request_ = std::move(*request);
        request_is_new_ = true;
        choose_levels_for(*request_);
    }
    if (!request_ || !scene_ || request_->camera.width <= 0 || request_->camera.height <= 0)
        return false;
    const bool training = state_ == RunState::training || evaluating();
    const bool same_model = frame_step_ == steps_done() && frame_scene_ == scene_serial_;
    const bool coarse = frame_scale_ < 0.99 && !request_->moving && !training;
    const bool refresh = !same_model && (!training || frame_scene_ != scene_serial_ ||
                                         seconds_since(last_frame_) > kRefreshInterval);
    if (!request_is_new_ && !coarse && !refresh) return false;
    if (training && !budget_.may_draw()) return false;

    const double scale = scale_for(*request_);
    const Clock::time_point begin = Clock::now();
    const std::shared_ptr<ViewFrame> frame = draw(*request_, scale, false);
    const double seconds = seconds_since(begin);
    const double pixels =
        static_cast<double>(frame->camera.width) * static_cast<double>(frame->camera.height);
    seconds_per_pixel_ = seconds / std::max(1.0, pixels);
    budget_.add_view(seconds, training);
    frame->milliseconds = seconds * 1000;
    frame_step_ = steps_done();
    frame_scene_ = scene_serial_;
    frame_scale_ = scale;
    last_frame_ = Clock::now();
    request_is_new_ = false;
    changed().frame = frame;
    status_changed_ = true;
    return true;
}

double Engine::scale_for(const ViewRequest& request) const {
    const bool training = state_ == RunState::training || evaluation_.has_value();
    if (!request.moving && !training) return 1.0;
    const double patience = request.moving ? kMovingPatience : kTrainingPatience;
    const double pixels = static_cast<double>(request.camera.width) * request.camera.height;
    for (const double scale : kScales)
        if (pixels * scale * scale * seconds_per_pixel_ <= patience) return scale;
    return kScales.back();
}

Camera Engine::camera_of(const ViewRequest& request, double scale, bool exact_size) const {
    const int index = request.settings.capture_view;
    Camera camera = request.camera;
    double fit = scale;
    if (index >= 0 && scene_->capture &&
        static_cast<std::size_t>(index) < scene_->capture->views.size()) {
        camera = scene_->capture->views[static_cast<std::size_t>(index)].camera;
        const double room = std::min(static_cast<double>(request.camera.width) / camera.width,
                                     static_cast<double>(request.camera.height) / camera.height);
        // Photos are not enlarged, so what is measured against them is not either.
        const bool measured =
            request.settings.mode == ViewMode::error || request.settings.mode == ViewMode::photo;
        fit = scale * (exact_size && !measured ? room : std::min(1.0, room));
    }
    const auto size = [&](int full) {
        return std::max(1, static_cast<int>(std::lround(full * fit)));
    };
    return camera.scaled_to(size(camera.width), size(camera.height));
}

RenderOptions Engine::render_options(const LoadedScene& scene, const ViewSettings& settings) const {
    RenderOptions options;
    if (scene.trainer) {
        options = scene.trainer->render_options();
    } else {
        options.sh_degree = std::min(scene.model->sh_degree, scene.sh_degree);
        options.antialiased = scene.model->antialiased;
    }
    if (settings.capture_view < 0) options.background = settings.background;
    options.sh_degree = std::min(options.sh_degree, settings.sh_degree);
    options.scale_modifier = static_cast<float>(settings.scale_modifier);
    options.counters = needs_counters(settings.mode);
    options.gradients = false;
    options.depth = settings.mode == ViewMode::depth;
    return options;
}

const GaussianModel& Engine::current_model(LoadedScene& scene) {
    if (!scene.trainer) return *scene.model;
    if (model_copy_.scene != scene_serial_ || model_copy_.step != steps_done() ||
        model_copy_.model.count == 0) {
        model_copy_.model = scene.trainer->model();
        model_copy_.scene = scene_serial_;
        model_copy_.step = steps_done();
    }
    return model_copy_.model;
}

const Image8& Engine::photo_for(int view, int width, int height) {
    static const Image8 kNone;
    if (view < 0 || !scene_->capture ||
        static_cast<std::size_t>(view) >= scene_->capture->views.size())
        return kNone;
    const Image8& photo = scene_->capture->views[static_cast<std::size_t>(view)].photo;
    if (photo.empty() || width > photo.width || height > photo.height) return kNone;
    if (photo.width == width && photo.height == height) return photo;
    if (photo_.view != view || photo_.width != width || photo_.height != height ||
        photo_.scene != scene_serial_)
        photo_ = {view, width, height, scene_serial_, resize_area(photo, width, height)};
    return photo_.photo;
}

void Engine::render(LoadedScene& scene, const Camera& camera, const RenderOptions& options,
                    const ViewSettings& settings, RenderResult& result) {
    // Maps of the rasterizer's own work (contributors, isects, pairs) exist for splats only.
    const bool drawable = settings.mode == ViewMode::color || settings.mode == ViewMode::depth ||
                          settings.mode == ViewMode::alpha;
    if (settings.style != DrawStyle::splats && drawable) {
        draw_model_as(settings.style, current_model(scene), camera, options.background,
                      options.scale_modifier, result);
    } else if (scene.trainer) {
        model_copy_ = {};
        scene.trainer->render(camera, options, result);
    } else {
        scene.rasterizer->forward(*scene.source, camera, options, *scene.state, result);
    }
}

std::shared_ptr<const DevicePicture> Engine::render_for_display(const Camera& camera,
                                                                const RenderOptions& options) {
    if (!scene_->trainer)
        return scene_->rasterizer->forward_for_display(*scene_->source, camera, options,
                                                       *scene_->state, result_);
    model_copy_ = {};
    return scene_->trainer->render_for_display(camera, options, result_);
}

std::shared_ptr<ViewFrame> Engine::draw(const ViewRequest& request, double scale, bool exact_size) {
    const Span span(Stage::view_frame, frame_serial_ + 1);
    auto frame = std::make_shared<ViewFrame>();
    frame->camera = camera_of(request, scale, exact_size);
    frame->serial = ++frame_serial_;
    frame->request = request.serial;
    frame->step = steps_done();
    frame->mode = request.settings.mode;
    const RenderOptions options = render_options(*scene_, request.settings);
    const Image8& photo =
        photo_for(request.settings.capture_view, frame->camera.width, frame->camera.height);
    const bool both = compares_scenes(request.settings);
    // Colours alone may stay on the device. Maps and comparisons need their numbers on the host,
    // and so does a picture that will be written to a file.
    const bool only_looked_at = !exact_size && photo.empty() && !both &&
                                request.settings.mode == ViewMode::color &&
                                request.settings.style == DrawStyle::splats;
    if (only_looked_at) frame->picture = render_for_display(frame->camera, options);
    if (frame->picture) {
        frame->visible = result_.counters.visible;
        frame->isects = result_.counters.isects;
    } else {
        render(*scene_, frame->camera, options, request.settings, result_);
        if (both)
            draw_both(request, scale, photo, *frame);
        else
            fill_view_frame(result_, request.settings, photo, *frame);
    }
    frame_cost_ = {result_.counters, frame->camera.width, frame->camera.height, options.sh_degree};
    if (both) frame_cost_ = {};  // stage times are of two pictures then, these counts of one
    frame->photo = photo;
    return frame;
}

void Engine::focus(ViewRequest request, double x, double y) {
    if (!scene_) return report_error("nothing is open");
    request.settings.mode = ViewMode::depth;
    request.settings.style = DrawStyle::splats;
    const auto frame = draw(request, 0.5, false);
    const ImageF& depth = frame->map;
    const int column = std::clamp(static_cast<int>(x * depth.width), 0, depth.width - 1);
    const int row = std::clamp(static_cast<int>(y * depth.height), 0, depth.height - 1);
    const double z = static_cast<double>(depth.at(0, column, row));
    if (!std::isfinite(z)) return report_done("nothing lies at this pixel");
    const Camera& camera = frame->camera;
    const Vec3d at{(column + 0.5 - camera.cx) / camera.fx * z,
                   (row + 0.5 - camera.cy) / camera.fy * z, z};
    out_.focus.put(transpose(camera.rotation) * (at - camera.translation));
    wake_();
}

void Engine::picture(const PictureRequest& request) {
    if (!scene_) return report_error("nothing is open that a picture could be taken of");
    const Camera& camera = request.request.camera;
    if (camera.width < 1 || camera.height < 1 || camera.width > 16384 || camera.height > 16384)
        return report_error(
            fmt::format("a picture of {} x {} pixels is not possible (1 to 16384 each)",
                        camera.width, camera.height));
    const Clock::time_point begin = Clock::now();
    auto frame = draw(request.request, 1.0, true);
    frame->milliseconds = seconds_since(begin) * 1000;

    out_.pictures.try_put(
        std::make_shared<const Picture>(Picture{current_command_, request, std::move(frame)}));
    wake_();
}

}  // namespace gs
