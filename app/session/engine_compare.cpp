// The engine's comparing half: a second scene (splats, a checkpoint, a run's result) is opened
// beside the first, which may be training, and drawn from the same camera.
#include <algorithm>

#include "app/session/engine.h"
#include "app/session/scene_info.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/maps/view_frame.h"
#include "trainer/loss.h"

namespace gs {
namespace {

/// SSIM of two pictures, as training measures it (trainer/loss.h).
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

}  // namespace

void Engine::adopt_beside(LoadedScene scene) {
    beside_.emplace(std::move(scene));
    beside_drawn_ = {};
    request_is_new_ = true;
    SceneInfo info = describe_scene(*beside_);
    describe_model(*beside_->model, info);
    info.memory = {{"parameters", beside_->model->bytes(), options_.on_device},
                   {"forward state", beside_->state->bytes(), options_.on_device,
                    beside_->state->high_water()}};
    changed().other = std::make_shared<const SceneInfo>(std::move(info));
    report_done(fmt::format("comparing with {} ({}), opened in {:.2f} s", beside_->name,
                            beside_->format, beside_->seconds));
}

void Engine::close_beside() {
    jobs_.drop("compare");
    beside_.reset();
    beside_result_ = {};
    beside_drawn_ = {};
    request_is_new_ = true;
    changed().other = nullptr;
}

void Engine::end_compare() {
    if (!beside_ && !jobs_.running("compare")) return report_error("nothing is being compared");
    close_beside();
    report_done("the comparison has ended");
}

bool Engine::compares_scenes(const ViewSettings& settings) const {
    return beside_ && settings.with == CompareWith::scene &&
           (settings.compare != Compare::off || settings.mode == ViewMode::error);
}

/// `result_` shows the first scene already; draws the second and fills both pictures.
void Engine::draw_both(const ViewRequest& request, double scale, const Image8& photo,
                       ViewFrame& frame) {
    const bool drawn = request.serial != 0 && beside_drawn_.request == request.serial &&
                       beside_drawn_.scale == scale;
    if (!drawn) {
        RenderOptions options = render_options(*beside_, request.settings);
        options.background =
            render_options(*scene_, request.settings).background;  // one ground for both
        render(*beside_, frame.camera, options, request.settings, beside_result_);
    }
    beside_drawn_ = {request.serial, scale};
    auto other = std::make_shared<ViewFrame>(frame);
    frame.name = "A";
    frame.scene = scene_->name;
    other->name = "B";
    other->scene = beside_->name;
    other->step = 0;
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
    // Costs about as much as drawing: where nobody waits for it.
    if (!request.moving && state_ != RunState::training)
        frame.ssim_between = other->ssim_between = ssim_between(first, second);
    frame.other = std::move(other);
}

}  // namespace gs
