// FollowedTraining: shows the training of another process (trainer_link.h) as the open scene: its
// newest snapshot, its curves, its parameters, and passes pause, step and edits on. A part of the
// engine; Training hands commands over to it while it follows one.
#pragma once

#include <chrono>
#include <limits>
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
    bool follows() const { return now_.link && (!ctx_.scene || ctx_.scene->followed); }
    bool running() const { return follows() && now_.link->ended().empty() && !now_.waiting; }
    std::uint64_t steps_done() const { return now_.step; }
    /// Adds what it knows while it follows one.
    void describe(TrainingStatus& training) const;

    void before_picture(const Shown* shown) override;
    void scene_changed(SceneChange change) override;
    bool is_restless() const override { return now_.link && now_.link->ended().empty(); }
    using EnginePart::describe;

  private:
    static constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
    void take(service::TrainerLink::Message message);
    void take_step(const service::TrainerRecord& record);
    void plot(const service::TrainerRecord& record);
    void take_parameter(const service::TrainerRecord& record);
    void read(service::TrainerLink::Message message);
    void show(LoadedScene scene);
    void ask();

    /// The training that is followed; empty: none.
    struct Followed {
        std::optional<service::TrainerLink> link;
        std::uint32_t pid = 0;
        std::string name, capture;
        std::vector<SettingRow> parameters;
        std::vector<service::TrainerRecord> early;  ///< steps from before the scene was open
        std::uint64_t step = 0, total = 0, gaussians = 0, run_to = service::TrainerRecord::kNever;
        double loss = kNotKnown, psnr = kNotKnown, share = 0, budget = 0;
        bool waiting = false, can_wait = false;  ///< wait() is called in its loop
        bool asked = false, told_end = false;    ///< a snapshot is on its way
        std::chrono::steady_clock::time_point shown_at{};
    };
    Followed now_;
    bool opening_ = false;
};

}  // namespace gs
