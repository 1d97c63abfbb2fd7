// FollowedTraining: shows the training of another process (trainer_link.h) as the open scene: its
// newest snapshot, its curves, its parameters, and passes pause, step and edits on. A part of the
// engine; Training hands commands over to it while it follows one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/run_progress.h"
#include "profiler/collect/trainer_link.h"

namespace gs {

class FollowedTraining final : public PartWith<RunProgress> {
  public:
    using PartWith::PartWith;

    // ---- commands
    /// Closes what is open when the first snapshot has come.
    void follow(std::uint32_t pid);
    /// To pause at: 0: now; service::TrainerRecord::kNever: continue.
    void run_to(std::uint64_t step);
    void set(const std::string& name, double value);

    /// One is open, or awaited; perhaps it has ended by now.
    bool follows() const { return link_ && (!ctx_.scene || ctx_.scene->followed); }
    bool running() const { return follows() && link_->ended().empty() && !waiting_; }
    std::uint64_t steps_done() const { return step_; }
    /// Adds what it knows while it follows one.
    void describe(TrainingStatus& training) const;

    void before_picture(const Shown* shown) override;
    void scene_changed(SceneChange change) override;
    bool is_restless() const override { return link_ && link_->ended().empty(); }
    using EnginePart::describe;

  private:
    void take(service::TrainerLink::Message message);
    void take_step(const service::TrainerRecord& record);
    void plot(const service::TrainerRecord& record);
    void take_parameter(const service::TrainerRecord& record);
    void read(service::TrainerLink::Message message);
    void show(LoadedScene scene);
    void ask();

    std::optional<service::TrainerLink> link_;
    std::uint32_t pid_ = 0;
    std::string name_, capture_;
    std::vector<SettingRow> parameters_;
    std::vector<service::TrainerRecord> early_;  // steps from before the scene was open
    std::uint64_t step_ = 0, total_ = 0, gaussians_ = 0, run_to_ = 0;
    double loss_ = 0, psnr_ = 0, share_ = 0, budget_ = 0;
    bool waiting_ = false, can_wait_ = false;  // wait() is called in its loop
    bool asked_ = false, told_end_ = false;    // a snapshot is on its way
    bool opening_ = false;
    std::chrono::steady_clock::time_point shown_at_{};
};

}  // namespace gs
