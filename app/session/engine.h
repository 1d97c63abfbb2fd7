// Engine: what the engine thread does, one turn after another: commands, a finished load, one
// training step, a picture for the viewport when the budget allows. Sole owner of the scene, and of
// parts that own the rest: Viewer, Training, SceneDoctor, StreamedLevels; what they have to say
// goes through the Teller. Lives entirely on the engine thread (session.cpp starts it).
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "app/session/bundle_saver.h"
#include "app/session/contact_sheet.h"
#include "app/session/costs.h"
#include "app/session/drive_desk.h"
#include "app/session/editor.h"
#include "app/session/exporter.h"
#include "app/session/film_render.h"
#include "app/session/frame_verifier.h"
#include "app/session/inspector.h"
#include "app/session/jobs.h"
#include "app/session/lab_desk.h"
#include "app/session/loading.h"
#include "app/session/photo_problems.h"
#include "app/session/place_finder.h"
#include "app/session/predictor.h"
#include "app/session/scene_doctor.h"
#include "app/session/session.h"
#include "app/session/simplifier.h"
#include "app/session/streamed_levels.h"
#include "app/session/teller.h"
#include "app/session/training.h"
#include "app/session/values.h"
#include "app/session/viewer.h"

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
    /// Measures what this machine can do at most, unless that is known already and not to be
    /// measured `again`; nothing else is computed meanwhile.
    void measure_limits(bool again);
    /// Says what fast pictures lose where they are drawn, or why they are not.
    void tell_of_fast(const ViewRequest& request);
    /// The scene with all that was made of it as one file.
    void save_bundle(BundleRequest request);
    /// Takes the newest edit of any kind back: of Gaussians, by the doctor, of a setting.
    void undo();
    /// Makes what was taken back again, oldest first.
    void redo();
    /// Ends what goes on in the background: Activity::name, or everything when empty.
    void cancel(const std::string& name);
    /// One picture at exactly the requested size, whatever it costs; it comes back through
    /// SessionOutbox::pictures.
    void picture(const PictureRequest& request);

    // ---- parts that have commands of their own
    Training& training() { return training_; }
    Editor& editor() { return editor_; }
    SceneDoctor& doctor() { return doctor_; }
    Simplifier& simplifier() { return simplifier_; }
    ContactSheet& sheet() { return sheet_; }
    FilmRender& film() { return film_; }
    Exporter& exporter() { return exporter_; }
    PlaceFinder& places() { return places_; }
    ProblemFinder& problems() { return problems_; }
    FrameVerifier& verifier() { return verifier_; }
    /// Why Gaussians are shown otherwise than they are: parts say their reasons here.
    ShownTint& tint() { return tint_; }
    Inspector& inspector() { return inspector_; }
    Costs& costs() { return costs_; }
    Predictor& predictor() { return predictor_; }
    Values& values() { return values_; }
    LabDesk& lab() { return lab_; }
    DriveDesk& drive() { return drive_; }
    /// What is open, for parts that draw; none, and an error is told, when nothing is.
    std::optional<Shown> open_scene();

  private:
    using Clock = std::chrono::steady_clock;

    bool turn();
    bool take_commands();
    void adopt(LoadedScene scene, bool train);
    void adopt_beside(LoadedScene scene);
    void close_beside();
    /// The same scene with another model; camera and photos stay.
    void replace_model(LoadedScene scene);
    Lent lent();
    Shown shown();
    bool draw_when_due();
    void publish_status();
    void describe_memory();
    void publish_scene();
    bool publish_when_due();
    void end_jobs_of_scene();
    void stop_after_exception(const std::exception& error);

    SessionOptions options_;
    SessionInbox& in_;
    Teller tell_;

    std::optional<LoadedScene> scene_, beside_;
    std::optional<OpenRequest> next_beside_;  // when what is being loaded is there
    SceneInfo info_;
    std::uint64_t commands_done_ = 0, scene_serial_ = 0;
    std::string backend_;
    Clock::time_point last_scene_{};
    std::uint64_t described_step_ = 0;
    double describe_seconds_ = 0;
    std::uint64_t described_sheet_ = 0;  // bytes

    Viewer viewer_;
    ShownTint tint_;
    Training training_;
    Editor editor_;
    SceneDoctor doctor_;
    Simplifier simplifier_;
    StreamedLevels levels_;
    ContactSheet sheet_;
    Inspector inspector_;
    FilmRender film_;
    BundleSaver bundle_;
    Exporter exporter_;
    PlaceFinder places_;
    ProblemFinder problems_;
    Costs costs_;
    Predictor predictor_;
    Values values_;
    FrameVerifier verifier_;
    LabDesk lab_;
    DriveDesk drive_;

    Jobs jobs_;  // last: they end before what they refer to
};

}  // namespace gs
