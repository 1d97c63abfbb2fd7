// Engine: what the engine thread does, one turn after another: commands, a finished load, one
// training step, a picture for the viewport when the budget allows. Sole owner of the scene; lives
// entirely on the engine thread (session.cpp starts it). What pictures need beside the
// scene is the Viewer's (viewer.h), examining and mending are the SceneDoctor's (scene_doctor.h),
// streamed sets the StreamedLevels' (streamed_levels.h); what is to be known of it goes through the
// Teller (teller.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "app/session/jobs.h"
#include "app/session/loading.h"
#include "app/session/run_record.h"
#include "app/session/scene_doctor.h"
#include "app/session/session.h"
#include "app/session/streamed_levels.h"
#include "app/session/teller.h"
#include "app/session/viewer.h"
#include "renderer/io/splats/splat_io.h"

namespace gs {

class Engine {
  public:
    Engine(SessionOptions options, SessionInbox& in, SessionOutbox& out,
           std::function<void()> wake);
    /// Returns soon after `stop` becomes true (and the bell was rung).
    void run(const std::atomic<bool>& stop);

    // ---- what commands ask for (app/commands); answers and errors go into the outbox
    void open(const OpenRequest& request);
    void close();
    /// Lets go of the scene that was opened beside the first.
    void end_compare();
    void carry_out(const StartCommand& command);
    void carry_out(const PauseCommand& command);
    void carry_out(const StepCommand& command);
    void carry_out(const RunToCommand& command);
    void carry_out(const StopCommand& command);
    void carry_out(const SetCommand& command);
    void carry_out(const ProfileStepsCommand& command);
    void carry_out(const MeasureLimitsCommand& command);
    void carry_out(const CheckpointCommand& command);
    void carry_out(const EvaluateCommand& command);
    void export_splats(const std::string& path);
    /// Ends what goes on in the background: Activity::name, or everything when empty.
    void cancel(const std::string& name);
    /// One picture at exactly the requested size, whatever it costs; it comes back through
    /// SessionOutbox::pictures.
    void picture(const PictureRequest& request);
    /// What lies at this place of the picture (fractions of its width and height); answered through
    /// SessionOutbox::focus.
    void focus(const ViewRequest& request, double x, double y);

    /// Examining, mending and marking are its commands.
    SceneDoctor& doctor() { return doctor_; }

  private:
    using Clock = std::chrono::steady_clock;

    // engine.cpp: turns, commands, loading, what is published.
    bool turn();
    bool take_commands();
    void loading_failed(const Error& error, const OpenRequest& request, std::uint64_t command);
    void adopt(LoadedScene scene, bool train);
    Lent lent();
    /// The same scene with another model; camera and photos stay.
    void replace_model(LoadedScene scene);
    void publish_status();
    void publish_scene();
    bool publish_when_due();
    void stop_after_exception(const char* what);

    // engine_training.cpp
    bool may_train(const char* verb);
    bool train_once();
    void pause(RunState state);
    bool evaluate_once();
    bool evaluating() const;
    void tell_evaluation(const Evaluation& evaluation);
    /// Before the scene goes: the run leaves everything it has.
    void finish_run();

    /// Soon; `at_once`: with this turn.
    void tell_status(bool at_once);

    // engine.cpp: a second scene beside the first; pictures.
    void adopt_beside(LoadedScene scene);
    void close_beside();
    bool draw_when_due();
    Shown shown();

    std::uint64_t steps_done() const { return scene_ ? scene_->steps_done() : 0; }

    SessionOptions options_;
    SessionInbox& in_;
    Teller tell_;

    std::optional<LoadedScene> scene_, beside_;
    RunRecord record_;
    SceneInfo info_;
    RunState state_ = RunState::empty;
    std::string message_;
    std::uint64_t commands_done_ = 0, scene_serial_ = 0;
    std::uint64_t run_to_ = 0;  // 0: to the end
    std::string last_checkpoint_, backend_;
    std::optional<EvaluationJob> evaluation_;  // where nothing trains

    Viewer viewer_;
    SceneDoctor doctor_;
    StreamedLevels levels_;
    Clock::time_point last_status_{}, last_curves_{}, last_cameras_{}, last_scene_{};
    bool status_changed_ = true, curves_changed_ = false, cameras_changed_ = false;
    std::uint64_t described_step_ = 0;
    double describe_seconds_ = 0;

    Jobs jobs_;  // last: they end before what they refer to
};

}  // namespace gs
