#include "base/record/scope.h"
#include "base/try.h"
#include "trainer/checkpoint.h"
#include "trainer/settings/schedule.h"
#include "trainer/trainer_state.h"

namespace gs {

Result<CheckpointViews> read_checkpoint_views(const fs::path& checkpoint, const Capture& capture) {
    const auto head = read_checkpoint_head(checkpoint);
    if (head && head->settings.appearance == AppearanceMode::none &&
        !corrects_cameras(head->settings))
        return CheckpointViews{};
    GS_TRY(auto contents, read_checkpoint(checkpoint, &capture));
    CheckpointViews out{{contents.settings.appearance, std::move(contents.arrays.appearance)}, {}};
    if (!corrects_cameras(contents.settings)) return out;
    RefinedCameras refined(contents.settings, capture, trainable_views(capture));
    if (!refined.restore(contents.cameras)) return other_cameras(checkpoint);
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        out.cameras.push_back(refined.camera(capture, v));
    return out;
}

Result<CheckpointModel> read_checkpoint_model(const fs::path& checkpoint) {
    const Span span(Stage::checkpoint);
    GS_TRY(auto contents, read_checkpoint(checkpoint, nullptr));
    CheckpointModel out;
    LazyAdam(contents.arrays.model, contents.arrays.adam).flush(contents.arrays.model);
    out.model = std::move(contents.arrays.model);
    out.steps = contents.steps();
    out.sh_degree = std::min(sh_degree_at(contents.settings, out.steps), out.model.sh_degree);
    out.unscented = contents.settings.projection == ProjectionMethod::ut;
    filter_model(out.model, std::as_const(contents.arrays.filter).span());
    return out;
}

}  // namespace gs
