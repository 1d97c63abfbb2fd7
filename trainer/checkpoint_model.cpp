#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/scene/lost_views.h"
#include "trainer/checkpoint.h"
#include "trainer/settings/schedule.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

/// Without photos: what has been learned needs none, and they may have to be decoded.
Capture cameras_of(const Capture& capture) {
    Capture out;
    for (const View& view : capture.views)
        out.views.push_back({.name = view.name,
                             .camera = view.camera,
                             .photo = {},
                             .mask = {},
                             .test = view.test,
                             .camera_number = view.camera_number,
                             .rig_frame = view.rig_frame});
    return out;
}

/// trainable_views(), also where the capture was loaded without photos: the run had them all.
std::vector<std::size_t> trained_views(const Capture& capture) {
    std::vector<std::size_t> views = capture.view_indices(false);
    std::erase_if(views, [&](std::size_t v) { return !capture.views[v].camera.valid(); });
    return without_blind(capture, std::move(views));
}

}  // namespace

tl::unexpected<Error> other_cameras(const fs::path& checkpoint) {
    return fail(ErrorKind::malformed, checkpoint.string(),
                "its corrected cameras do not belong to this capture");
}

Result<std::unique_ptr<Trainer>> Trainer::resume(const fs::path& checkpoint,
                                                 std::shared_ptr<const Capture> capture,
                                                 std::unique_ptr<TrainingBackend> backend) {
    const Span span(Stage::checkpoint);
    GS_TRY(auto contents, read_checkpoint(checkpoint, capture.get()));
    auto state = std::make_unique<State>(std::move(capture), contents.settings, std::move(backend));
    GS_TRY_VOID(state->may_draw());
    if (!state->restore(std::move(contents))) return other_cameras(checkpoint);
    return std::unique_ptr<Trainer>(new Trainer(std::move(state)));
}

Result<CheckpointViews> read_checkpoint_views(const fs::path& checkpoint, const Capture& capture) {
    const auto head = read_checkpoint_head(checkpoint);
    if (head && head->settings.appearance == AppearanceMode::none &&
        !corrects_cameras(head->settings))
        return CheckpointViews{};
    GS_TRY(auto contents, read_checkpoint(checkpoint, &capture));
    CheckpointViews out{{contents.settings.appearance, std::move(contents.arrays.appearance)}, {}};
    if (!corrects_cameras(contents.settings)) return out;
    const Capture given = cameras_of(capture);
    RefinedCameras refined(contents.settings, given, trained_views(capture));
    if (!refined.restore(contents.cameras)) return other_cameras(checkpoint);
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        out.cameras.push_back(refined.camera(given, v));
    return out;
}

Result<CheckpointModel> read_checkpoint_model(const fs::path& checkpoint) {
    const Span span(Stage::checkpoint);
    GS_TRY(auto contents, read_checkpoint(checkpoint, nullptr));
    CheckpointModel out;
    RunArrays& run = contents.arrays;
    LazyAdam(run.model, run.adam, std::as_const(run.identity.tags).span()).flush(run.model);
    out.model = std::move(contents.arrays.model);
    out.steps = contents.steps();
    out.sh_degree = std::min(sh_degree_at(contents.settings, out.steps), out.model.sh_degree);
    out.unscented = contents.settings.projection == ProjectionMethod::ut;
    filter_model(out.model, std::as_const(contents.arrays.filter).span());
    return out;
}

}  // namespace gs
