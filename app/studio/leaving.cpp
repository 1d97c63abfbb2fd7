#include "app/studio/leaving.h"

#include <utility>

#include "app/session/engine.h"
#include "base/format.h"
#include "base/try.h"
#include "panels/state/history_state.h"

namespace gs {
namespace {

/// The newest edit that can be undone; empty: there is none.
std::vector<std::string> newest_edit(const StudioState& state) {
    for (std::size_t i = state.history ? state.history->done : 0; i-- > 0;) {
        const HistoryState::Row& row = state.history->rows[i];
        if (row.of == EditOf::gaussians && !row.flags_only) return {"newest edit: " + row.label};
    }
    return {};
}

/// Edits and snapshots of a run, which only this session knows.
std::vector<std::string> session_of_run(const StudioState& state) {
    std::vector<std::string> out = newest_edit(state);
    out.push_back("after saving, edits can no longer be undone");
    if (const std::size_t count = state.training.snapshots.size(); count > 0)
        out.push_back(fmt::format("{} will be lost", counted(count, "snapshot")));
    return out;
}

}  // namespace

Result<void> Leaving::begin(EngineJob job, bool of_script) {
    job_ = std::move(job);
    state_.asks_to_leave.reset();
    saving_ = 0;
    if (of_script) return go();
    if (auto writing = state_.being_written(!job_); !writing.empty())
        return question(LeaveQuestion::Of::writing, std::move(writing));
    return ask_of_scene();
}

Result<void> Leaving::ask_of_scene() {
    if (state_.would_lose()) {
        std::vector<std::string> lines;
        if (state_.doctor) lines = state_.doctor->changes;
        for (std::string& line : newest_edit(state_)) lines.push_back(std::move(line));
        return question(LeaveQuestion::Of::splats, std::move(lines));
    }
    if (state_.training.unsaved && state_.training.unsaved_edits)
        return question(LeaveQuestion::Of::edited_run, session_of_run(state_));
    return state_.training.unsaved ? save() : go();
}

Result<void> Leaving::answer(QuitAnswer answer) {
    const auto asked = std::exchange(state_.asks_to_leave, {});
    const bool waited = std::exchange(saving_, 0) != 0;
    if (answer == QuitAnswer::stay || (!asked && !waited)) job_ = {};
    if (answer == QuitAnswer::stay) return prepare(Training::Closing::stay);
    if (answer == QuitAnswer::save && asked && asked->of != LeaveQuestion::Of::splats)
        return save();
    if (answer == QuitAnswer::now && asked && asked->of == LeaveQuestion::Of::writing)
        return ask_of_scene();
    if (answer == QuitAnswer::now) GS_TRY_VOID(prepare(Training::Closing::discard));
    return go();
}

Result<void> Leaving::advance() {
    if (saving_ == 0 || state_.status.carried_out < saving_) return {};
    saving_ = 0;
    if (state_.training.not_saved.empty()) return go();
    return question(LeaveQuestion::Of::unsaved_run, state_.training.not_saved);
}

Result<void> Leaving::prepare(Training::Closing how) {
    return send(state_, [how](Engine& e) { e.part<Training>().prepare_to_close(how); });
}

Result<void> Leaving::save() {
    GS_TRY_VOID(prepare(Training::Closing::save));
    saving_ = state_.last_sent;
    return {};
}

Result<void> Leaving::go() {
    if (job_) return send(state_, std::exchange(job_, {}));
    quits_ = true;
    return {};
}

Result<void> Leaving::question(LeaveQuestion::Of of, std::vector<std::string> lines) {
    state_.asks_to_leave = LeaveQuestion{of, std::move(lines)};
    return {};
}

}  // namespace gs
