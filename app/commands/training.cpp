// Commands in the Training menu: start, pause, step, edit, evaluate, save.
#include "app/session/training.h"
#include "app/commands/commands.h"
#include "app/session/editor.h"
#include "app/session/engine.h"
#include "app/session/exporter.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/try.h"
#include "panels/time_lapse_panel.h"
#include "trainer/lapse_video.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::int64_t kMostSteps = 1'000'000'000;

Result<void> start(S state, A) {
    return send(state, [](Engine& e) { e.part<Training>().start(); });
}
Result<void> pause(S state, A) {
    return send(state, [](Engine& e) { e.part<Training>().pause(); });
}
Result<void> toggle(S state, A a) {
    return state.training.state == RunState::training ? pause(state, a) : start(state, a);
}
Result<void> step(S state, A a) {
    GS_TRY(const auto count,
           integer_argument(a.empty() ? "1" : a[0], 1, kMostSteps, "the number of steps"));
    return send(state,
                [count](Engine& e) { e.part<Training>().step(static_cast<std::uint64_t>(count)); });
}
Result<void> run_to(S state, A a) {
    GS_TRY(const auto goal, integer_argument(a[0], 1, kMostSteps, "the step"));
    return send(state,
                [goal](Engine& e) { e.part<Training>().run_to(static_cast<std::uint64_t>(goal)); });
}
Result<void> stop(S state, A) {
    return send(state, [](Engine& e) { e.part<Training>().stop(); });
}
Result<void> set(S state, A a) {
    const SettingField* field = find_setting(a[0]);
    if (!field)
        return fail(ErrorKind::usage, "", fmt::format("there is no setting \"{}\"", a[0]),
                    "the Training panel lists them");
    if (const auto chosen = choice_value(*field, a[1]))
        return send(state, [name = a[0], value = *chosen](Engine& e) {
            e.part<Training>().set(name, value);
        });
    GS_TRY(const double value, number_argument(a[1], field->min, field->max, a[0]));
    return send(state, [name = a[0], value](Engine& e) { e.part<Training>().set(name, value); });
}
Result<void> crop_run(S state, A a) {
    std::optional<ClipBox> box;
    if (a[0] == "clip") {
        box = state.view.clip;
        if (!box)
            return fail(ErrorKind::usage, "", "there is no clip box",
                        "make one with view.clip X0 Y0 Z0 X1 Y1 Z1 or view.clip.fit");
    } else if (a[0] != "off") {
        GS_TRY(box, box_argument(a));
    }
    if (!state.scene || state.scene->train_views == 0)
        return fail(ErrorKind::usage, "", "no training run is open",
                    "edit.crop deletes Gaussians outside the clip box in any scene");
    return send(state, [box](Engine& e) {
        if (e.part<Training>().crop(box) && box) e.part<Editor>().crop(*box);
    });
}
/// "#3" is a snapshot's number; anything else is its step.
Result<Training::Which> snapshot_named(A a) {
    Training::Which out;
    if (a.empty()) return out;
    const bool numbered = a[0].starts_with('#');
    GS_TRY(const auto value, integer_argument(numbered ? a[0].substr(1) : a[0], 1, kMostSteps,
                                              "the step of the snapshot"));
    (numbered ? out.number : out.step) = static_cast<std::uint64_t>(value);
    return out;
}
Result<void> revert(S state, A a) {
    GS_TRY(const auto which, snapshot_named(a));
    return send(state, [which](Engine& e) { e.part<Training>().revert(which); });
}
Result<void> branch(S state, A a) {
    GS_TRY(const auto which, snapshot_named(a));
    return send(state, [which](Engine& e) { e.part<Training>().branch(which); });
}
Result<void> show_curves(S state, A a) {
    return send(state, [folder = a[0]](Engine& e) { e.part<Training>().show_other(folder); });
}
Result<void> hide_curves(S state, A a) {
    return send(state, [name = a.empty() ? std::string() : a[0]](Engine& e) {
        e.part<Training>().hide_other(name);
    });
}
Result<void> profile_steps(S state, A a) {
    GS_TRY(const auto first, integer_argument(a[0], 1, kMostSteps, "the first step"));
    GS_TRY(const auto last, integer_argument(a.back(), first, kMostSteps, "the last step"));
    return send(state, [first, last](Engine& e) {
        e.part<Training>().profile(static_cast<std::uint64_t>(first),
                                   static_cast<std::uint64_t>(last));
    });
}
Result<void> measure_limits(S state, A a) {
    if (!a.empty() && a[0] != "again")
        return fail(ErrorKind::usage, "",
                    fmt::format("limits.measure takes \"again\" or nothing, not \"{}\"", a[0]));
    return send(state, [again = !a.empty()](Engine& e) { e.measure_limits(again); });
}
Result<void> checkpoint(S state, A a) {
    return send(state, [path = a.empty() ? "" : a[0]](Engine& e) {
        e.part<Training>().save_checkpoint(path);
    });
}
Result<void> set_lapse(S state, std::optional<LapsePace> pace, const std::string& names) {
    std::vector<Camera> photos;
    if (state.cameras)
        for (const CameraRow& row : *state.cameras) photos.push_back(row.camera);
    return send(state, [pace, names, saved = saved_lapse_cameras(state.saved_views, photos)](
                           Engine& e) { e.part<Training>().set_time_lapse(pace, names, saved); });
}
Result<void> lapse_every(S state, A a) {
    GS_TRY(const LapsePace pace, parse_lapse_pace(a[0]));
    return set_lapse(state, pace, {});
}
Result<void> lapse_views(S state, A a) { return set_lapse(state, {}, a[0]); }
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
Result<void> lapse_show(S state, A a) {
    GS_TRY_VOID(has_lapse(state, a[0]));
    std::optional<std::uint64_t> step;
    if (a.size() > 1) {
        GS_TRY(const auto number, integer_argument(a[1], 0, kMostSteps, "the step"));
        step = static_cast<std::uint64_t>(number);
    }
    return ask(state, [view = a[0], step](Studio& s) {
        TimeLapsePanel& panel = s.ui().time_lapse();
        panel.set_playing(false);
        panel.view = view;
        panel.newest = !step;
        panel.step = step.value_or(0);
        return s.ui().show_panel("Time lapse", false);
    });
}
Result<void> lapse_play(S state, A a) {
    GS_TRY_VOID(has_lapse(state, {}));
    std::optional<bool> on;
    if (!a.empty()) {
        GS_TRY(on, switch_argument(a[0]));
    }
    return ask(state, [on](Studio& s) {
        TimeLapsePanel& panel = s.ui().time_lapse();
        panel.set_playing(on.value_or(!panel.playing));
        return s.ui().show_panel("Time lapse", false);
    });
}
Result<void> lapse_export(S state, A a) {
    const std::string view = a.size() > 1 ? a[1] : "";
    GS_TRY_VOID(has_lapse(state, view));
    double fps = kLapseFps;
    if (a.size() > 2) {
        GS_TRY(fps, number_argument(a[2], 0.1, 240, "the frames per second"));
    }
    return send(state, [path = a[0], view, fps](Engine& e) {
        e.part<Exporter>().time_lapse(path, view, fps);
    });
}
Result<void> evaluate(S state, A) {
    return send(state, [](Engine& e) { e.part<Training>().evaluate(); });
}

// clang-format off
const CommandRow kRows[] = {
    {"train.start",         "Start",                        "Training 1", "",       "",
     "Train until the last step.", start},
    {"train.pause",         "Pause",                        "Training 1", "",       "",
     "Pause after the current step.", pause},
    {"train.toggle",        "Start or pause",               "Training 1", "Space",  "",
     "Start or pause training.", toggle},
    {"train.step",          "Single step",                  "Training 1", ".",      "[COUNT]",
     "Do one step (or COUNT), then pause.", step},
    {"train.run-to",        "Run to step",                  "Training 1", "",       "STEP",
     "Train up to STEP, then pause.", run_to},
    {"train.evaluate",      "Evaluate",                     "Training 2", "Ctrl+T", "",
     "Measure PSNR and SSIM of the test views now.", evaluate},
    {"train.checkpoint",    "Save checkpoint",              "Training 2", "Ctrl+S", "[PATH]",
     "Save everything needed to resume later, to PATH or the run's folder.", checkpoint},
    {"train.stop",          "End the run",                  "Training 3", "",       "",
     "End the run and save its results; the model stays in view.", stop},
    {"train.set",           "Change a setting",             "",         "",       "NAME VALUE",
     "Change a hyper-parameter while training; logged and marked on the curves.", set},
    {"train.crop",          "Train a part of the scene",    "",         "",       "clip|off|X0 [Y0 Z0 X1 Y1 Z1]",
     "Remove Gaussians outside a box (clip: the clip box) now and in every round of density control; off: stop.", crop_run},
    {"train.revert",        "Go back to a snapshot",        "Training 5", "",       "[STEP]",
     "Go back to the state before an edit (the newest, or that of STEP); the current state "
     "becomes a snapshot as well.", revert},
    {"train.branch",        "Branch from a snapshot",       "Training 5", "",       "[STEP]",
     "Save the run and continue from the state before an edit as a separate run.", branch},
    {"curves.show",         "Show the curves of a run",     "",         "",       "RUN",
     "Draw the curves of the run in this folder behind the current ones and list the settings that "
     "differ.", show_curves},
    {"curves.hide",         "Hide the curves of a run",     "",         "",       "[RUN]",
     "Hide them again; without a name, all of them.", hide_curves},
    {"timelapse.every",     "Time lapse...",                "Training 2", "",       "STEPS|auto|off",
     "Save pictures of the run from fixed cameras every STEPS steps; auto: as often as costs "
     "1 % of the time.", lapse_every},
    {"timelapse.views",     "Cameras of the time lapse",    "",         "",       "NAME,...",
     "Saved views and photos to record the time lapse from; default: the first held-out photo and "
     "all saved views.", lapse_views},
    {"timelapse.show",      "Show a picture of the time lapse", "",     "",       "VIEW [STEP]",
     "Show this camera's picture of the time lapse at or before STEP; without STEP, follow the "
     "newest picture.", lapse_show},
    {"timelapse.export",    "Save the time lapse as a film...", "Training 2", "", "PATH [VIEW] [FPS]",
     "Make a video of one camera's time lapse (default: the first camera, 12 frames per second).",
     lapse_export},
    {"timelapse.play",      "Play the time lapse",          "",         "",       "[on|off]",
     "Play the time lapse from the shown picture, or stop.", lapse_play},
    {"train.profile-steps", "Profile steps",                "",         "",       "FIRST [LAST]",
     "Mark these training steps for nsys and ncu "
     "(--capture-range=cudaProfilerApi).", profile_steps},
    {"limits.measure",      "Measure the machine's limits", "Training 4", "",       "[again]",
     "Measure this machine's peak rates for the Limits view of Stages; takes a second, while "
     "training waits.", measure_limits},
};
// clang-format on

}  // namespace

std::span<const CommandRow> training_commands() { return kRows; }

}  // namespace gs
