// What the engine has running beside pictures and training: exports, the list of all of it, and
// cancelling.
#include <algorithm>

#include "app/session/engine.h"
#include "base/format.h"

namespace gs {

std::function<void()> Engine::bell() {
    return [this] { in_.bell.put({}); };
}

void Engine::tell_status() {
    status_changed_ = true;
    if (seconds_since(last_status_) > 0.02) last_status_ = {};
}

void Engine::export_splats(const std::string& path) {
    if (!scene_) return report_error("nothing is open that could be exported");
    if (export_) return report_error(fmt::format("{} is being written", export_->path));
    std::shared_ptr<const GaussianModel> model = scene_->model;
    if (scene_->trainer) model = std::make_shared<const GaussianModel>(scene_->trainer->model());
    export_ = std::make_unique<Export>(
        path, model->count, current_command_,
        [model, path](const Progress& progress) -> Result<SplatNotes> {
            const Span span(Stage::export_splats);
            SplatWriteOptions options;
            options.progress = [&](std::string_view, std::size_t done, std::size_t total) {
                return progress("writing " + path, done, total);
            };
            return write_splats(path, *model, options);
        },
        bell());
    status_changed_ = true;
}

bool Engine::follow_export() {
    if (!export_) return false;
    bool any = export_->task.update();
    if (auto result = export_->task.take()) {
        const auto job = std::move(export_);
        any = true;
        if (*result) {
            report_done(fmt::format("exported {} Gaussians to {} ({})",
                                    format_count(static_cast<double>(job->gaussians)), job->path,
                                    format_bytes(static_cast<double>(splat_bytes(job->path)))),
                        true, std::move(**result), job->serial);
        } else {
            report_error(result->error().text(), job->serial);
        }
        last_status_ = {};
    }
    if (any) tell_status();
    return any;
}

/// Of whatever runs, longest first.
std::vector<Activity> Engine::activities() const {
    std::vector<Activity> out;
    const auto add = [&](const char* name, const auto& task) {
        out.push_back({name, task.newest().what, task.newest().share, task.seconds()});
    };
    if (loader_) add("load", loader_->task);
    if (beside_loader_) add("compare", beside_loader_->task);
    if (checkup_) add("doctor", *checkup_);
    if (mending_) add("mend", mending_->task);
    if (export_) add("export", export_->task);
    if (change_) add("levels", *change_);
    std::stable_sort(out.begin(), out.end(),
                     [](const Activity& a, const Activity& b) { return a.seconds > b.seconds; });
    return out;
}

void Engine::cancel(const std::string& name) {
    bool any = false;
    const auto end = [&](const char* activity, auto* task) {
        if (!task || (!name.empty() && name != activity)) return;
        task->cancel();
        any = true;
    };
    end("load", loader_ ? &loader_->task : nullptr);
    end("compare", beside_loader_ ? &beside_loader_->task : nullptr);
    end("doctor", checkup_.get());
    end("mend", mending_ ? &mending_->task : nullptr);
    end("export", export_ ? &export_->task : nullptr);
    end("levels", change_.get());
    if (!any) report_done("nothing was going on that could be cancelled");
}

}  // namespace gs
