// Commands in the Training menu: start, pause, step, edit, evaluate, save.
#include "app/commands/settings.h"
#include "app/session/engine.h"
#include "app/session/parts/costs.h"
#include "app/session/parts/exporter.h"
#include "app/session/parts/row_edits.h"
#include "app/session/parts/run_recording.h"
#include "app/session/parts/run_settings.h"
#include "app/studio/studio.h"
#include "panels/training/time_lapse_panel.h"
#include "trainer/run/lapse_video.h"

namespace gs {
namespace command::training {

using namespace args;
using S = StudioState&;

constexpr std::int64_t kMostSteps = 1'000'000'000;

Result<void> toggle_run(S state) {
    return send(state, [](Engine& e) {
        if (e.part<Training>().running() || e.part<FollowedTraining>().running())
            e.part<Training>().pause();
        else
            e.start_training();
    });
}
Result<void> set(S state, const std::string& name, const std::string& text) {
    if (state.training.followed) {  // its parameters are the trainer's
        GS_TRY(const double value, number_argument(text, -1e30, 1e30, name));
        return send(state,
                    [name, value](Engine& e) { e.part<FollowedTraining>().set(name, value); });
    }
    GS_TRY(auto setting, read_setting(name, text));
    return send(state, [setting = std::move(setting)](Engine& e) {
        e.part<RunSettings>().set(setting.first, setting.second);
    });
}
/// Without a box, the end of cropping.
Result<void> crop_to(S state, const std::optional<ClipBox>& box) {
    if (!state.scene || state.scene->train_views == 0)
        return fail(ErrorKind::usage, "", "no training run is open",
                    "edit.crop deletes Gaussians outside the clip box in any scene");
    return send(state, [box](Engine& e) {
        if (e.part<RunSettings>().crop(box) && box) e.part<RowEdits>().crop(*box);
    });
}
Result<void> crop_run(S state, const std::optional<std::optional<ClipBox>>& box) {
    if (box) return crop_to(state, *box);
    GS_TRY(const ClipBox clip, clip_box(state));
    return crop_to(state, clip);
}
/// "#3" is a snapshot's number; anything else is its step.
Parameter<Training::Which> snapshot() {
    return {{"[STEP]", 0, 1, "a step, or # and a snapshot's number", {}},
            [](StudioState&, Words& words) -> Result<Training::Which> {
                Training::Which out;
                if (!words.has(1)) return out;
                std::string text = words.take();
                const bool numbered = text.starts_with('#');
                GS_TRY(const auto value, integer_argument(numbered ? text.substr(1) : text, 1,
                                                          kMostSteps, "the step of the snapshot"));
                (numbered ? out.number : out.step) = static_cast<std::uint64_t>(value);
                return out;
            }};
}
Result<void> profile_steps(S state, std::uint64_t first, std::optional<std::uint64_t> given) {
    const std::uint64_t last = given.value_or(first);
    if (last < first)
        return fail(ErrorKind::usage, "",
                    fmt::format("the last step must be {} or later, not {}", first, last));
    return send(state, [first, last](Engine& e) { e.part<RunRecording>().profile(first, last); });
}
Result<void> set_lapse(S state, std::optional<LapsePace> pace, const std::string& names) {
    std::vector<Camera> photos;
    if (state.cameras)
        for (const CameraRow& row : *state.cameras) photos.push_back(row.camera);
    return send(state,
                [pace, names, saved = saved_lapse_cameras(state.saved_views, photos)](Engine& e) {
                    e.part<RunRecording>().set_time_lapse(pace, names, saved);
                });
}
Result<void> lapse_every(S state, const std::string& steps) {
    GS_TRY(const LapsePace pace, parse_lapse_pace(steps));
    return set_lapse(state, pace, {});
}
Result<void> lapse_views(S state, const std::string& names) { return set_lapse(state, {}, names); }
Result<void> has_lapse(S state, const std::string& view) {
    const auto& lapse = state.time_lapse;
    for (std::size_t i = 0; lapse && i < lapse->views.size(); ++i)
        if (!lapse->views[i].pictures.empty() && (view.empty() || lapse->views[i].name == view))
            return {};
    return fail(ErrorKind::usage, "",
                view.empty() ? "there are no time lapse pictures"
                             : fmt::format("the time lapse has no pictures of \"{}\"", view),
                "record some with timelapse.every");
}
Result<void> lapse_show(S state, const std::string& view, std::optional<std::uint64_t> step) {
    GS_TRY_VOID(has_lapse(state, view));
    return ask(state, [view, step](Studio& s) {
        TimeLapsePanel& panel = s.ui().workspace().panel<TimeLapsePanel>();
        panel.set_playing(false);
        panel.view = view;
        panel.newest = !step;
        panel.step = step.value_or(0);
        return s.ui().show_panel("Time lapse", false);
    });
}
Result<void> lapse_play(S state, std::optional<bool> on) {
    GS_TRY_VOID(has_lapse(state, {}));
    return ask(state, [on](Studio& s) {
        TimeLapsePanel& panel = s.ui().workspace().panel<TimeLapsePanel>();
        panel.set_playing(on.value_or(!panel.playing));
        return s.ui().show_panel("Time lapse", false);
    });
}
Result<void> lapse_export(S state, const std::string& path, const std::string& view, double fps) {
    GS_TRY_VOID(has_lapse(state, view));
    return send(state, [=](Engine& e) { e.part<Exporter>().time_lapse(path, view, fps); });
}

// clang-format off
const CommandRow kRows[] = {
    {"train.start",         "Start",                        "Training 1",
     "Train until the last step; splats that are open with their photos are trained further.",
     &Engine::start_training},
    {"train.pause",         "Pause",                        "Training 1",
     "Pause after the current step.", &Training::pause},
    {"train.toggle",        "Start or pause",               "Training 1",
     "Start or pause training.", toggle_run},
    {"train.step",          "Single step",                  "Training 1",
     "Do one step (or COUNT), then pause.",
     &Training::step, optional(whole("COUNT", 1, kMostSteps), std::int64_t{1})},
    {"train.run-to",        "Run to step",                  "Training 1",
     "Train up to STEP, then pause.", &Training::run_to, whole("STEP", 1, kMostSteps)},
    {"train.evaluate",      "Evaluate",                     "Training 2",
     "Measure PSNR and SSIM of the test views now.", &Training::evaluate},
    {"train.checkpoint",    "Save checkpoint",              "Training 2",
     "Save everything needed to resume later, to PATH or the run's folder.",
     &Training::save_checkpoint, optional_word("PATH")},
    {"train.stop",          "Finish the run",               "Training 3",
     "Save the results of the run and finish it here; Start continues it.", &Training::stop},
    {"train.set",           "Change a setting",             "",
     "Change a hyper-parameter while training; logged and marked on the curves.", set, word("NAME"), word("VALUE")},
    {"train.crop",          "Train a part of the scene",    "",
     "Remove Gaussians outside a box (clip: the clip box) now and in every round of density control; off: stop.",
     crop_run, either(either(box(), "off"), "clip")},
    {"train.revert",        "Go back to a snapshot",        "Training 5",
     "Go back to the state before an edit (the newest, or that of STEP); the current state "
     "becomes a snapshot as well.", &Training::revert, snapshot()},
    {"train.branch",        "Branch from a snapshot",       "Training 5",
     "Save the run and continue from the state before an edit as a separate run.", &Training::branch, snapshot()},
    {"curves.show",         "Show the curves of a run",     "",
     "Draw the curves of the run in this folder behind the current ones and list the settings that "
     "differ.", &RunProgress::show_other, word("RUN")},
    {"curves.hide",         "Hide the curves of a run",     "",
     "Hide them again; without a name, all of them.", &RunProgress::hide_other, optional_word("RUN")},
    {"timelapse.every",     "Time lapse…",                "Training 2",
     "Save pictures of the run from fixed cameras every STEPS steps; auto: as often as costs "
     "1 % of the time.", lapse_every, word("STEPS|auto|off")},
    {"timelapse.views",     "Cameras of the time lapse",    "",
     "Saved views and photos to record the time lapse from; default: the first held-out photo and "
     "all saved views.", lapse_views, word("NAME,...")},
    {"timelapse.show",      "Show a picture of the time lapse", "",
     "Show this camera's picture of the time lapse at or before STEP; without STEP, follow the "
     "newest picture.", lapse_show, word("VIEW"), optional(whole("STEP", 0, kMostSteps))},
    {"timelapse.export",    "Save the time lapse as a film…", "Training 2",
     "Make a video of one camera's time lapse (default: the first camera, 12 frames per second).",
     lapse_export, word("PATH"), optional_word("VIEW"), optional(number("FPS", 0.1, 240), kLapseFps)},
    {"timelapse.play",      "Play the time lapse",          "",
     "Play the time lapse from the shown picture, or stop.", lapse_play, toggle()},
    {"train.profile-steps", "Profile steps",                "",
     "Mark these training steps for nsys and ncu (--capture-range=cudaProfilerApi).",
     profile_steps, whole("FIRST", 1, kMostSteps), optional(whole("LAST", 1, kMostSteps))},
    {"limits.measure",      "Measure the machine's limits", "Training 4",
     "Measure this machine's peak rates for the Limits view of Stages; takes a second, while "
     "training waits.", &Costs::measure_limits, flag("again")},
};
// clang-format on

}  // namespace command::training

std::span<const CommandRow> training_commands() { return command::training::kRows; }

}  // namespace gs
