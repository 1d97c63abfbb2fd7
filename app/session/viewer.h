// Viewer: decides when the open scene is drawn, how large, and with what, including a second scene
// to compare. The engine (engine.h) owns one, passes the open scene with each call, and publishes
// the pictures.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "app/session/engine_part.h"
#include "app/session/frame_time.h"
#include "app/session/gradient_picture.h"
#include "app/session/loading.h"
#include "app/session/photo_at_size.h"
#include "app/session/view_budget.h"
#include "renderer/rays/ray_rasterizer.h"

namespace gs {

/// What the viewer draws, and the work in progress.
struct Shown {
    LoadedScene& scene;
    LoadedScene* beside = nullptr;  ///< to compare with
    ShownTint* tint = nullptr;      ///< of `scene`; null: Gaussians are drawn as they are
    bool training = false, evaluating = false;
};

/// The camera of a picture: the request's, or the photo's that it asks for. `exact_size`: as large
/// as was asked, where a picture of the viewport shows a photo at most at its own size.
Camera camera_of(const LoadedScene& scene, const ViewRequest& request, double scale,
                 bool exact_size);
RenderOptions render_options(const LoadedScene& scene, const ViewSettings& settings);

class Viewer final : public EnginePart {
  public:
    /// Sets the viewport's request.
    void look(ViewRequest request);
    const std::optional<ViewRequest>& request() const { return request_; }
    /// There is a request() with a non-empty picture.
    bool looks() const {
        return request_ && request_->camera.width > 0 && request_->camera.height > 0;
    }
    /// Nothing is drawn until the next look().
    void look_away() { request_.reset(); }
    /// Whether the viewport needs another picture, and training does not come first.
    bool due(const Shown& shown) const;
    /// The viewport's next picture; there is a request().
    std::shared_ptr<ViewFrame> next_picture(const Shown& shown);
    /// A picture at exactly the requested size, at any cost; or, not `exact_size`, as the viewport
    /// draws it, `scale` times as large. Questions about it are in picture_places.h.
    std::shared_ptr<ViewFrame> picture(const Shown& shown, const ViewRequest& request,
                                       double scale = 1, bool exact_size = true);
    /// Of a photo's camera, `width` pixels wide and as high as that makes it, whatever it costs;
    /// what the viewport shows stays as it is.
    std::shared_ptr<ViewFrame> small_picture(const Shown& shown, int view, int width);
    /// At a photo's camera its picture as training draws it, else what the viewport shows at its
    /// full size; as splats without a tint, with what blending costs forward and backward. `sink`
    /// gets the gradients.
    GradientPicture::Drawn gradients(const Shown& shown, const ViewRequest& request,
                                     Upstream upstream, GradientSink& sink, RenderResult& result);
    /// What the viewport shows at its full size, as splats through `tint` (null: none), with what
    /// blending costs, the least times of some looks; backward too where that is asked and there is
    /// no tint. Returns what the gradients are of, or why there are none.
    std::string draw_costs(const Shown& shown, const ViewRequest& request,
                           std::shared_ptr<const GaussianTint> tint, bool backward,
                           RenderResult& result);
    /// The picture of a photo's camera, as large as the photo, as training draws it.
    void draw_photo(const Shown& shown, std::size_t view, std::shared_ptr<const GaussianTint> tint,
                    RenderResult& result);
    /// A copy when it trains, kept until the next step.
    const GaussianModel& current_model(const LoadedScene& scene);

    /// Discards the last request with the scene: the UI sends a new one for the next scene.
    void scene_changed(SceneChange change) override;
    /// The second scene was opened or closed.
    void forget_beside();

    /// False while training comes first.
    bool may_draw(const Shown& shown) const {
        return !(shown.training || shown.evaluating) || budget_.may_draw();
    }
    /// Adds `seconds` spent on another picture than the viewport's.
    void add_picture(const Shown& shown, double seconds) {
        budget_.add_view(seconds, shown.training || shown.evaluating);
    }
    /// Adds `seconds` of training, which earn time for pictures: the viewport's share, or without
    /// one a quarter for jobs in slices.
    void add_work(double seconds);
    /// The pictures' share of the engine's time while training.
    double share() const { return budget_.share(); }
    const FrameCost& frame_cost() const { return frame_cost_; }  ///< of the last picture

  private:
    using Clock = std::chrono::steady_clock;

    std::shared_ptr<ViewFrame> draw(const Shown& shown, const ViewRequest& request, double scale,
                                    bool exact_size);
    void draw_both(const Shown& shown, const ViewRequest& request, double scale,
                   const Image8& photo, ViewFrame& frame);
    double scale_for(const Shown& shown, const ViewRequest& request) const;
    void render(LoadedScene& scene, const Camera& camera, const RenderOptions& options,
                const ViewSettings& settings, RenderResult& result);
    std::shared_ptr<const DevicePicture> render_for_display(LoadedScene& scene,
                                                            const Camera& camera,
                                                            const RenderOptions& options);
    ViewBudget budget_;
    std::optional<ViewRequest> request_;
    bool request_is_new_ = false;
    std::uint64_t frame_serial_ = 0, frame_step_ = 0, frame_tint_ = 0;
    double frame_scale_ = 1;
    FrameTime frame_time_;
    Clock::time_point last_frame_{};
    const std::unique_ptr<Rasterizer> exact_ = make_ray_rasterizer();
    std::unique_ptr<ForwardState> exact_state_;  ///< null before the first picture along rays
    RenderResult result_, beside_result_;
    FrameCost frame_cost_;
    GradientPicture gradient_picture_;
    // What beside_result_ shows: it does not change while the first scene trains and the camera
    // rests.
    struct {
        std::uint64_t request = 0;
        double scale = 0;
    } beside_drawn_;
    PhotoAtSize photo_;
    struct {
        std::uint64_t step = 0;
        GaussianModel model;
    } model_copy_;
};

}  // namespace gs
