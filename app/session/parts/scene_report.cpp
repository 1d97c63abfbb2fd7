#include "app/session/parts/scene_report.h"

#include <algorithm>

#include "app/session/parts/scene_info.h"
#include "base/seconds.h"

namespace gs {
namespace {

constexpr double kInterval = 4;  // seconds

}  // namespace

void SceneReport::scene_changed(SceneChange change) {
    if (change == SceneChange::closing) return;
    if (!ctx_.scene) {
        ctx_.events.changed().scene = nullptr;
        return;
    }
    // Snapshots of another process's training come as often as its steps do.
    if (change == SceneChange::model && ctx_.scene->followed) return;
    if (change == SceneChange::scene) info_ = describe_scene(*ctx_.scene);
    publish();
}

void SceneReport::publish() {
    const auto begin = std::chrono::steady_clock::now();
    const LoadedScene& scene = *ctx_.scene;
    describe_model(scene.trainer ? scene.trainer->model() : *scene.model, info_);
    publish_memory();
    step_ = scene.steps_done();
    seconds_ = seconds_since(begin);
}

void SceneReport::publish_memory() {
    const LoadedScene& scene = *ctx_.scene;
    const bool on_device = ctx_.options.on_device;
    info_.memory.clear();
    if (scene.trainer) {
        for (const MemoryUse& use : scene.trainer->memory())
            info_.memory.push_back({use.category, use.bytes, use.device, use.peak});
        std::uint64_t snapshots = 0;
        for (const RunSnapshot& snapshot : scene.run->snapshots().all())
            snapshots += snapshot.bytes();
        if (snapshots > 0) info_.memory.push_back({"snapshots of the run", snapshots});
    } else {
        info_.memory = {
            {"parameters", scene.model->bytes()},
            {"forward state", scene.state->bytes(), on_device, scene.state->high_water()}};
        if (on_device) info_.memory.push_back({"parameters", scene.model->bytes(), true});
    }
    if (the<ContactSheet>().bytes() > 0)
        info_.memory.push_back({"contact sheet", the<ContactSheet>().bytes()});
    if (ctx_.beside)
        info_.memory.push_back({"second scene", ctx_.beside->model->bytes(), on_device});
    sheet_bytes_ = the<ContactSheet>().bytes();
    ctx_.events.changed().scene = std::make_shared<const SceneInfo>(info_);
    last_ = std::chrono::steady_clock::now();
}

bool SceneReport::publish_when_due(bool training) {
    if (!ctx_.scene) return false;
    const double since = seconds_since(last_);
    // Histograms need a copy of the model; they may not take more than about a fiftieth of the
    // time.
    const bool due = step_ != ctx_.scene->steps_done() &&
                     (!training || since > std::max(kInterval, 50 * seconds_));
    if (due) publish();
    if (!due && the<ContactSheet>().bytes() != sheet_bytes_ && since > 1) publish_memory();
    return due;
}

void SceneReport::skip_step() {
    if (ctx_.scene) step_ = ctx_.scene->steps_done();
}

}  // namespace gs
