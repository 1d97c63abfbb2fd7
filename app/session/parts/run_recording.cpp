#include "app/session/parts/run_recording.h"

namespace gs {

void RunRecording::set_time_lapse(std::optional<LapsePace> pace, const std::string& names,
                                  const std::vector<LapseCamera>& saved) {
    if (!the<Training>().may_train("take pictures of the run")) return;
    RunKeeper& keeper = ctx_.scene->run->keeper();
    std::vector<LapseCamera> cameras;
    if (!names.empty() || !keeper.lapse().has_cameras()) {
        auto chosen = choose_lapse_cameras(names, saved, *ctx_.scene->capture);
        if (!chosen) return ctx_.events.error(chosen.error().text());
        cameras = std::move(*chosen);
    }
    if (!pace) pace = keeper.lapse().pace().on() ? keeper.lapse().pace() : LapsePace{0, true};
    keeper.set_time_lapse(*pace, std::move(cameras));
    ctx_.events.done("time lapse: " + text_of(*pace));
    the<RunProgress>().publish_lapse();
}

void RunRecording::capture_step(const std::string& path) {
    if (!the<Training>().may_train("capture a step")) return;
    std::error_code error;
    if (!path.empty() && fs::exists(path, error))
        return ctx_.events.error(path + " already exists: choose another name");
    ctx_.scene->run->keeper().steps().capture(ctx_.scene->steps_done() + 1, path);
    if (!the<Training>().running()) the<Training>().step(1);
}

void RunRecording::set_hashes(bool on) {
    if (!ctx_.scene || !ctx_.scene->run)
        return ctx_.events.error("nothing to train: open a capture first");
    ctx_.scene->run->keeper().steps().set_hashes(on);
    ctx_.events.done(on ? "writing hashes of every step to hashes.txt in the run's folder"
                        : "stopped hashing steps");
}

void RunRecording::profile(std::uint64_t first, std::uint64_t last) {
    if (!the<Training>().may_train("profile steps")) return;
    if (last <= ctx_.scene->steps_done())
        return ctx_.events.error(
            fmt::format("step {} is already done: nothing left to profile", last));
    if (!ctx_.options.run.set_profiling)
        return ctx_.events.error("cannot profile steps: not training on a CUDA device");
    ctx_.scene->run->profile({first, last});
    ctx_.events.done(fmt::format("steps {} to {} will be marked for nsys and ncu", first, last));
}

}  // namespace gs
