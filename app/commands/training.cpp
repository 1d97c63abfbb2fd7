// Commands of the Training menu: start, pause, step, edit, evaluate, save.
#include "app/commands/commands.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

Result<void> start(S state, A) { return send(state, StartCommand{}); }
Result<void> pause(S state, A) { return send(state, PauseCommand{}); }
Result<void> toggle(S state, A) {
    if (state.status.training.state == RunState::training) return send(state, PauseCommand{});
    return send(state, StartCommand{});
}
Result<void> step(S state, A arguments) {
    StepCommand command;
    if (!arguments.empty()) {
        const auto count = integer_argument(arguments[0], 1, 1'000'000'000, "the number of steps");
        if (!count) return tl::unexpected<Error>(count.error());
        command.steps = static_cast<std::uint64_t>(*count);
    }
    return send(state, command);
}
Result<void> run_to(S state, A arguments) {
    const auto goal = integer_argument(arguments[0], 1, 1'000'000'000, "the step");
    if (!goal) return tl::unexpected<Error>(goal.error());
    return send(state, RunToCommand{static_cast<std::uint64_t>(*goal)});
}
Result<void> stop(S state, A) { return send(state, StopCommand{}); }
Result<void> set(S state, A arguments) {
    const SettingField* field = find_setting(arguments[0]);
    if (!field)
        return fail(ErrorKind::usage, "", fmt::format("there is no setting \"{}\"", arguments[0]),
                    "the Training panel lists them");
    const auto value = number_argument(arguments[1], field->min, field->max, arguments[0]);
    if (!value) return tl::unexpected<Error>(value.error());
    return send(state, SetCommand{arguments[0], *value});
}
Result<void> profile_steps(S state, A arguments) {
    const auto first = integer_argument(arguments[0], 1, 1'000'000'000, "the first step");
    if (!first) return tl::unexpected<Error>(first.error());
    const auto last = integer_argument(arguments.back(), *first, 1'000'000'000, "the last step");
    if (!last) return tl::unexpected<Error>(last.error());
    return send(state, ProfileStepsCommand{static_cast<std::uint64_t>(*first),
                                           static_cast<std::uint64_t>(*last)});
}
Result<void> measure_limits(S state, A arguments) {
    if (!arguments.empty() && arguments[0] != "again")
        return fail(
            ErrorKind::usage, "",
            fmt::format("limits.measure takes \"again\" or nothing, not \"{}\"", arguments[0]));
    return send(state, MeasureLimitsCommand{!arguments.empty()});
}
Result<void> checkpoint(S state, A arguments) {
    return send(state, CheckpointCommand{arguments.empty() ? "" : arguments[0]});
}
Result<void> evaluate(S state, A) { return send(state, EvaluateCommand{}); }

}  // namespace

void add_training_commands(std::vector<CommandRow>& rows) {
    const std::string menu = "Training";
    rows.push_back(
        {{"train.start", "Start", menu, "", "", "Trains until the last step."}, start, {}, 0, 0});
    rows.push_back({{"train.pause", "Pause", menu, "", "", "Pauses after the current step."},
                    pause,
                    {},
                    0,
                    0});
    rows.push_back(
        {{"train.toggle", "Start or pause", menu, "Space", "", "Starts training, or pauses it."},
         toggle,
         {},
         0,
         0});
    rows.push_back({{"train.step", "Single step", menu, ".", "[COUNT]",
                     "Does one step (or COUNT) and pauses."},
                    step,
                    {},
                    0,
                    1});
    rows.push_back(
        {{"train.run-to", "Run to step", menu, "", "STEP", "Trains up to STEP and pauses there."},
         run_to,
         {},
         1,
         1});
    rows.push_back({{"train.evaluate", "Evaluate", menu, "Ctrl+T", "",
                     "Measures PSNR and SSIM of the test views now."},
                    evaluate,
                    {},
                    0,
                    0});
    rows.push_back({{"train.checkpoint", "Save checkpoint", menu, "Ctrl+S", "[PATH]",
                     "Saves everything needed to go on later, to PATH or the output folder."},
                    checkpoint,
                    {},
                    0,
                    1});
    rows.push_back({{"train.stop", "End the run", menu, "", "",
                     "Saves a checkpoint and ends the run; the model stays on view."},
                    stop,
                    {},
                    0,
                    0});
    rows.push_back({{"train.set", "Change a setting", "", "", "NAME VALUE",
                     "Changes a hyper-parameter while training; logged and marked on the curves."},
                    set,
                    {},
                    2,
                    2});
    rows.push_back(
        {{"train.profile-steps", "Profile steps", "", "", "FIRST [LAST]",
          "Marks these training steps for nsys and ncu (--capture-range=cudaProfilerApi)."},
         profile_steps,
         {},
         1,
         2});
    rows.push_back({{"limits.measure", "Measure the machine's limits", menu, "", "[again]",
                     "Finds what this machine can do at most, for the Limits view of Stages; a "
                     "second, in which training "
                     "waits."},
                    measure_limits,
                    {},
                    0,
                    1});
}

}  // namespace gs
