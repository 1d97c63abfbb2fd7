// DrivePart: the engine's part for lidar recordings: the open drive's, or another one opened with
// the scene. It reads the chosen sweep and draws it from the model as a job, plays sweeps in real
// time, and scores all sweeps on request. Publishes SessionView::drive. Owned by the engine;
// commands (app/commands/drive.cpp) call it there.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/drive_reading.h"
#include "panels/state/drive_state.h"

namespace gs {

class DrivePart final : public PartWith<> {
  public:
    using PartWith::PartWith;

    /// Opens the scene's own recording; draws the sweep again with another model.
    void scene_changed(SceneChange change) override;
    /// Opens a recording in the world of the open scene; empty: its own. Reports unreadable files.
    void open(const std::string& path);
    /// Chooses the sweep with this index, or draws it again. Reports an unknown index.
    void choose(std::size_t sweep);
    /// Moves by this many sweeps, up to the first or last.
    void step(int by);
    /// Chooses the sweep nearest to this time in seconds after the first.
    void go(double seconds);
    void show_channel(SweepChannel channel);
    void play(bool on);
    void follow_photos(bool on);
    void show_in_picture(bool on);
    /// Reads all sweeps and draws them from the model, for the table. cancel("drive score") ends
    /// it.
    void score();
    /// Continues playing; draws the chosen sweep again if the model changed and nothing trains.
    void before_picture(const Shown* shown) override;
    bool is_restless() const override { return state_ && state_->playing; }

  private:
    using Clock = std::chrono::steady_clock;
    void take(DriveLog log);
    bool is_open();
    void look();
    void draw_now();
    void start_sweep(LookRequest request, const char* verb);
    void take_sweep(LookedAt looked);
    void fail_sweep(const Error& error);
    std::shared_ptr<const GaussianModel> model() const;
    void publish();

    std::optional<DriveState> state_;  // none: there is no recording
    std::shared_ptr<const LidarLog> log_;
    LookedAt held_;              // the newest that was read
    bool again_ = false;         // another is wanted than the one that is being read
    bool stale_ = false;         // the model is another than the drawn one
    std::uint64_t command_ = 0;  // that is done when the chosen sweep is shown; 0: none
    std::uint64_t serial_ = 0;
    Clock::time_point ticked_{}, published_{};
};

}  // namespace gs
