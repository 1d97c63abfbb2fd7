#include "app/session/viewer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "app/session/photo_looks.h"
#include "app/session/timed_looks.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/draw_styles.h"
#include "renderer/maps/scalar_map.h"
#include "renderer/maps/view_frame.h"
#include "renderer/raster/no_sink.h"
#include "trainer/loss/loss.h"

namespace gs {
namespace {

// Seconds a picture should take at most; it gets fewer pixels otherwise.
constexpr double kMovingPatience = 0.030, kTrainingPatience = 0.15;
// Between two pictures of the same view that differ only by training.
constexpr double kRefreshInterval = 0.25;
// Few sizes, so that buffers and textures settle.
constexpr std::array<double, 6> kScales{1.0, 0.71, 0.5, 0.35, 0.25, 0.18};

const Image8 kNoImage;

/// What Gaussians are to be drawn through, the colours of their levels included, where these are
/// asked for and the scene has any. Maps are of Gaussians in their own colours: an error would be
/// that of a selection's orange.
std::shared_ptr<const GaussianTint> tint_of(const Shown& shown, const ViewSettings& settings) {
    if (!shown.tint) return nullptr;
    const LoadedScene& scene = shown.scene;
    const bool levels = settings.level_colors && !scene.trainer && !scene.level_runs.empty();
    if (!scene.trainer)
        shown.tint->set_levels(*scene.model, levels ? std::span<const LevelRun>(scene.level_runs)
                                                    : std::span<const LevelRun>{});
    return settings.mode == ViewMode::color ? shown.tint->tint() : shown.tint->hiding();
}

bool compares_scenes(const Shown& shown, const ViewSettings& settings) {
    return shown.beside && settings.with == CompareWith::scene &&
           (settings.compare != Compare::off || settings.mode == ViewMode::error);
}

/// SSIM of two pictures, as training measures it (trainer/loss/loss.h).
double ssim_between(const RenderResult& a, const RenderResult& b) {
    const Span span(Stage::pack);
    const auto clamped = [](const ImageF& color) {
        ImageF out = color;
        parallel_ranges(out.values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                out.values[i] = std::clamp(out.values[i], 0.0f, 1.0f);
        });
        return out;
    };
    return photo_loss(clamped(a.color), clamped(b.color), {}, 0.0, nullptr).ssim;
}

/// Clipping and tints change the score as well: it would say nothing about the model.
void drop_score_of_a_part(ViewFrame& frame) {
    if (frame.clip || frame.cut_before > 0 || frame.tinted) frame.psnr = 0;
}

/// As far as the run has corrected it.
Camera photo_camera(const LoadedScene& scene, std::size_t view) {
    return scene.trainer ? scene.trainer->camera_of(view) : scene.capture->views[view].camera;
}

}  // namespace

Camera camera_of(const LoadedScene& scene, const ViewRequest& request, double scale,
                 bool exact_size) {
    Camera camera = request.camera;
    double fit = scale;
    if (photo_view(scene, request.settings.capture_view)) {
        camera = photo_camera(scene, static_cast<std::size_t>(request.settings.capture_view));
        const double room = std::min(static_cast<double>(request.camera.width) / camera.width,
                                     static_cast<double>(request.camera.height) / camera.height);
        // Photos are not enlarged, nor pictures compared with them.
        const bool measured =
            request.settings.mode == ViewMode::error || request.settings.mode == ViewMode::photo;
        fit = scale * (exact_size && !measured ? room : std::min(1.0, room));
    }
    if (!request.settings.shutter) camera.shutter = Shutter::global;
    const auto size = [&](int full) {
        return std::max(1, static_cast<int>(std::lround(full * fit)));
    };
    return camera.scaled_to(size(camera.width), size(camera.height));
}

RenderOptions render_options(const LoadedScene& scene, const ViewSettings& settings) {
    RenderOptions options;
    if (scene.trainer) {
        options = scene.trainer->render_options();
    } else {
        options.sh_degree = std::min(scene.model->sh_degree, scene.sh_degree);
        options.antialiased = scene.model->antialiased;
        options.near_plane = scene.near_plane;
        if (scene.trained.unscented) options.projection = ProjectionMethod::ut;
    }
    if (settings.projection != ViewProjection::automatic)
        options.projection = settings.projection == ViewProjection::ut ? ProjectionMethod::ut
                                                                       : ProjectionMethod::ewa;
    if (settings.capture_view < 0) options.background = settings.background;
    options.sky = settings.sky;
    options.sh_degree = std::min(options.sh_degree, settings.sh_degree);
    options.scale_modifier = static_cast<float>(settings.scale_modifier);
    if (settings.near_plane > 0) options.near_plane = static_cast<float>(settings.near_plane);
    options.clip = settings.clip;
    options.counters = options.gradients = options.depth = options.median_depth = false;
    want_maps(settings.mode, options);
    return options;
}

void Viewer::look(ViewRequest request) {
    request_ = std::move(request);
    request_is_new_ = true;
}

void Viewer::scene_changed(SceneChange change) {
    if (change == SceneChange::closing) return;
    model_copy_ = {};
    request_is_new_ = true;
    if (change != SceneChange::scene) return;
    request_.reset();
    result_ = {};
    photo_ = {};
    frame_time_ = {};
    gradient_picture_.forget();
}

void Viewer::forget_beside() {
    beside_result_ = {};
    beside_drawn_ = {};
    request_is_new_ = true;
}

void Viewer::add_work(double seconds) {
    budget_.add_work(seconds, request_ ? request_->settings.viewer_budget : 0.25);
}

bool Viewer::due(const Shown& shown) const {
    if (!looks()) return false;
    const bool training = shown.training || shown.evaluating;
    const std::uint64_t step = shown.scene.steps_done();
    const bool other_tint = shown.tint && shown.tint->serial() != frame_tint_;
    const bool coarse = frame_scale_ < 0.99 && !request_->moving && !training;
    const bool refresh =
        frame_step_ != step && (!training || seconds_since(last_frame_) > kRefreshInterval);
    return (request_is_new_ || coarse || refresh || other_tint) &&
           (!training || budget_.may_draw());
}

std::shared_ptr<ViewFrame> Viewer::next_picture(const Shown& shown) {
    const bool training = shown.training || shown.evaluating;
    const std::uint64_t step = shown.scene.steps_done();
    const double scale = scale_for(shown, *request_);
    const Clock::time_point begin = Clock::now();
    auto frame = draw(shown, *request_, scale, false);
    const double seconds = seconds_since(begin);
    const double pixels =
        static_cast<double>(frame->camera.width) * static_cast<double>(frame->camera.height);
    frame_time_.add(pixels, seconds);
    budget_.add_view(seconds, training);
    frame->milliseconds = seconds * 1000;
    frame_step_ = step;
    frame_scale_ = scale;
    if (shown.tint) frame_tint_ = shown.tint->serial();
    last_frame_ = Clock::now();
    request_is_new_ = false;
    return frame;
}

std::shared_ptr<ViewFrame> Viewer::picture(const Shown& shown, const ViewRequest& request,
                                           double scale, bool exact_size) {
    const Clock::time_point begin = Clock::now();
    auto frame = draw(shown, request, scale, exact_size);
    frame->milliseconds = seconds_since(begin) * 1000;
    return frame;
}

std::shared_ptr<ViewFrame> Viewer::small_picture(const Shown& shown, int view, int width) {
    ViewRequest request;
    request.camera.width = width;
    request.camera.height = 1 << 20;  // the width decides
    request.settings.capture_view = view;
    // Reused by the viewport's next picture, and the reported cost of its own frame.
    const auto cost = frame_cost_;
    auto photo = std::exchange(photo_, {});
    auto copy = std::exchange(model_copy_, {});
    Shown untinted = shown;
    untinted.tint = nullptr;
    auto frame = draw(untinted, request, 1.0, true);
    frame_cost_ = cost;
    photo_ = std::move(photo);
    model_copy_ = std::move(copy);
    return frame;
}

const GaussianModel& Viewer::current_model(const LoadedScene& scene) {
    if (!scene.trainer) return *scene.model;
    if (model_copy_.step != scene.steps_done() || model_copy_.model.count == 0)
        model_copy_ = {scene.steps_done(), scene.trainer->model()};
    return model_copy_.model;
}

double Viewer::scale_for(const Shown& shown, const ViewRequest& request) const {
    // While a run rests and is measured, its pictures are drawn in full.
    const bool training = shown.training || (shown.evaluating && !shown.scene.run);
    if (!request.moving && !training) return 1.0;
    const double patience = request.moving ? kMovingPatience : kTrainingPatience;
    const double pixels = static_cast<double>(request.camera.width) * request.camera.height;
    return frame_time_.scale_for(pixels, patience, kScales);
}

void Viewer::render(LoadedScene& scene, const Camera& camera, const RenderOptions& options,
                    const ViewSettings& settings, RenderResult& result) {
    const DrawStyle style =
        style_applies(settings.style, settings.mode) ? settings.style : DrawStyle::splats;
    const auto point_px = static_cast<float>(settings.point_size);
    const bool over_splats = style == DrawStyle::rings || style == DrawStyle::centres;
    if (style != DrawStyle::splats && !over_splats) {
        draw_model_as(style, current_model(scene), camera, options, point_px, result);
        return;
    }
    if (along_rays(settings, camera)) {
        if (!exact_state_) exact_state_ = exact_->make_state();
        ModelSource source(current_model(scene));
        exact_->forward(source, camera, options, *exact_state_, result);
    } else if (scene.trainer) {
        if (!over_splats) model_copy_ = {};
        scene.trainer->render(camera, options, result);
    } else {
        scene.rasterizer->forward(*scene.source, camera, options, *scene.state, result);
    }
    if (over_splats)
        draw_over_splats(style, current_model(scene), camera, options, point_px, result);
}

namespace {

/// Rendering options of an analysis: costs and their inputs.
RenderOptions cost_options(const LoadedScene& scene, const ViewSettings& settings) {
    ViewSettings splats = settings;
    splats.mode = ViewMode::time;
    return render_options(scene, splats);
}

}  // namespace

GradientPicture::Drawn Viewer::gradients(const Shown& shown, const ViewRequest& request,
                                         Upstream upstream, GradientSink& sink,
                                         RenderResult& result) {
    LoadedScene& scene = shown.scene;
    const View* const view = photo_view(scene, request.settings.capture_view);
    const auto whole = whole_view(scene.capture.get(), request.settings.capture_view);
    ViewSettings settings = request.settings;
    if (view) {
        settings = {};
        settings.capture_view = request.settings.capture_view;
    }
    const Camera camera =
        view ? photo_camera(scene, static_cast<std::size_t>(request.settings.capture_view))
             : camera_of(scene, request, 1.0, false);
    return gradient_picture_.draw(scene, current_model(scene), camera,
                                  cost_options(scene, settings), whole ? (*whole)->photo : kNoImage,
                                  whole ? (*whole)->mask : kNoImage, upstream, sink, result);
}

std::string Viewer::draw_costs(const Shown& shown, const ViewRequest& request,
                               std::shared_ptr<const GaussianTint> tint, bool backward,
                               RenderResult& result) {
    const Camera camera = camera_of(shown.scene, request, 1.0, false);
    RenderOptions options = cost_options(shown.scene, request.settings);
    const auto against =
        photo_.of(shown.scene, request.settings.capture_view, camera.width, camera.height);
    std::string note;
    result.backward_costs = {};
    draw_with_least_times(result, [&] {
        if (backward && !tint) {
            NoSink nowhere;
            note = gradient_picture_
                       .draw(shown.scene, current_model(shown.scene), camera, options,
                             against.photo, against.mask, Upstream::loss, nowhere, result)
                       .note;
        } else {
            options.tint = tint;
            render(shown.scene, camera, options, {}, result);
        }
    });
    if (backward && tint) note = "some Gaussians are hidden: no gradients measured";
    return note;
}

void Viewer::draw_photo(const Shown& shown, std::size_t view,
                        std::shared_ptr<const GaussianTint> tint, RenderResult& result) {
    ViewSettings settings{.capture_view = static_cast<int>(view)};
    RenderOptions options = render_options(shown.scene, settings);
    options.tint = std::move(tint);
    render(shown.scene, photo_camera(shown.scene, view), options, {}, result);
}

std::shared_ptr<const DevicePicture> Viewer::render_for_display(LoadedScene& scene,
                                                                const Camera& camera,
                                                                const RenderOptions& options) {
    if (!scene.trainer)
        return scene.rasterizer->forward_for_display(*scene.source, camera, options, *scene.state,
                                                     result_);
    model_copy_ = {};
    return scene.trainer->render_for_display(camera, options, result_);
}

std::shared_ptr<ViewFrame> Viewer::draw(const Shown& shown, const ViewRequest& request,
                                        double scale, bool exact_size) {
    const Span span(Stage::view_frame, frame_serial_ + 1);
    auto frame = std::make_shared<ViewFrame>();
    frame->camera = camera_of(shown.scene, request, scale, exact_size);
    frame->serial = ++frame_serial_;
    frame->request = request.serial;
    frame->step = shown.scene.steps_done();
    frame->mode = request.settings.mode;
    frame->exact = along_rays(request.settings, frame->camera);
    if (frame->mode != ViewMode::photo) {  // a photo is whole
        frame->clip = request.settings.clip;
        frame->cut_before = request.settings.near_plane;
    }
    RenderOptions options = render_options(shown.scene, request.settings);
    const bool backward = is_of_backward(frame->mode);
    if (!backward) options.tint = tint_of(shown, request.settings);  // gradients are of what is
    frame->tinted = options.tint != nullptr;
    ViewSettings settings = request.settings;
    settings.point_size *= scale;  // dots are as large on the screen whatever the picture's size
    const auto [photo, mask, shrunk] = photo_.of(shown.scene, request.settings.capture_view,
                                                 frame->camera.width, frame->camera.height);
    frame->shrunk = shrunk;
    const bool both = compares_scenes(shown, request.settings);
    // Colours alone may stay on the device; maps, comparisons and files need numbers on the host.
    const std::optional<AppliedLook> look = shown_look(shown.scene, request.settings);
    const bool only_looked_at = !exact_size && photo.empty() && !both && !look &&
                                request.settings.mode == ViewMode::color && !frame->exact &&
                                request.settings.style == DrawStyle::splats;
    if (only_looked_at) {
        RenderOptions looked_at = options;
        if (settings.fast) looked_at.precision = Precision::fast;
        frame->picture = render_for_display(shown.scene, frame->camera, looked_at);
    }
    if (frame->picture) {
        frame->visible = result_.counters.visible;
        frame->isects = result_.counters.isects;
    } else {
        NoSink nowhere;
        if (backward)
            frame->note = gradient_picture_
                              .draw(shown.scene, current_model(shown.scene), frame->camera, options,
                                    photo, mask, Upstream::loss, nowhere, result_)
                              .note;
        else
            render(shown.scene, frame->camera, options, settings, result_);
        if (look) apply_look(*look, result_.color, nullptr, result_.color);
        if (both)
            draw_both(shown, request, scale, photo, *frame);
        else
            fill_view_frame(result_, request.settings, photo, *frame);
        drop_score_of_a_part(*frame);
    }
    frame_cost_ = {result_.counters, frame->camera.width, frame->camera.height, options.sh_degree};
    // Stage times are of two pictures then, these counts of one; rays have no stages.
    if (both || frame->exact) frame_cost_ = {};
    frame->photo = photo;
    if (!photo_.problem().empty()) frame->note = photo_.problem();
    return frame;
}

/// `result_` shows the first scene already; draws the second and fills both pictures.
void Viewer::draw_both(const Shown& shown, const ViewRequest& request, double scale,
                       const Image8& photo, ViewFrame& frame) {
    const bool drawn = request.serial != 0 && beside_drawn_.request == request.serial &&
                       beside_drawn_.scale == scale;
    if (!drawn) {
        RenderOptions options = render_options(*shown.beside, request.settings);
        options.background =
            render_options(shown.scene, request.settings).background;  // one ground for both
        ViewSettings settings = request.settings;
        settings.point_size *= scale;
        NoSink nowhere;
        if (is_of_backward(settings.mode))  // a second scene is never a run: no state of its own
            gradient_picture_.draw(*shown.beside, *shown.beside->model, frame.camera, options, {},
                                   {}, Upstream::loss, nowhere, beside_result_);
        else
            render(*shown.beside, frame.camera, options, settings, beside_result_);
    }
    beside_drawn_ = {request.serial, scale};
    auto other = std::make_shared<ViewFrame>(frame);
    frame.name = "A";
    frame.scene = shown.scene.name;
    other->name = "B";
    other->scene = shown.beside->name;
    other->step = 0;
    other->shrunk = frame.shrunk;
    const bool swapped = request.settings.swapped;
    if (swapped) {
        std::swap(frame.name, other->name);
        std::swap(frame.scene, other->scene);
        std::swap(frame.step, other->step);
    }
    const RenderResult &first = swapped ? beside_result_ : result_,
                       &second = swapped ? result_ : beside_result_;
    fill_compared_frames(first, second, request.settings, photo, frame, *other);
    if (request.settings.mode == ViewMode::error) {
        const std::string words = frame.name + " - " + other->name;
        frame.scene = request.settings.signed_error ? words : "|" + words + "|";
    }
    if (frame.tinted)
        frame.psnr_between = other->psnr_between = std::numeric_limits<double>::quiet_NaN();
    // Costs about as much as drawing: only when no caller waits for it.
    else if (!request.moving && !shown.training)
        frame.ssim_between = other->ssim_between = ssim_between(first, second);
    other->tinted = false;
    drop_score_of_a_part(*other);
    frame.other = std::move(other);
}

}  // namespace gs
