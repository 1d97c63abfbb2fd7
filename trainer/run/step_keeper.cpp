#include "trainer/run/step_keeper.h"

#include <new>
#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "base/try.h"
#include "trainer/run/run_record.h"
#include "trainer/run/step_file.h"
#include "trainer/step_hashes.h"

namespace gs {
namespace {

Result<void> save_capture(const StepRecord& record, const fs::path& path, const RunContext& run) {
    try {
        const auto& times = run.options.stage_times;
        const std::string stages = times ? json_text(times()) : "";
        GS_TRY(CapturedStep step,
               capture_of(record, run.options.capture, run.trainer->rasterizer()));
        step.origin.stage_times = stages;
        return write_into_folder(path, [&](const fs::path& p) { return write_step(step, p); });
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::unwritable, path.string(), "not enough memory to capture the step");
    }
}

}  // namespace

StepKeeper::StepKeeper(RunContext& run) : run_(run) {}
StepKeeper::~StepKeeper() = default;

StepRecord* StepKeeper::before_step() {
    record_.reset();
    if (!wanted_.contains(run_.step() + 1)) return nullptr;
    if (const auto can = can_capture(run_.trainer->settings()); !can) {
        wanted_.erase(run_.step() + 1);
        run_.tell(LogLevel::warning,
                  fmt::format("step {} was not captured: {}", run_.step() + 1, can.error().text()));
        return nullptr;
    }
    record_ = std::make_unique<StepRecord>();
    return record_.get();
}

void StepKeeper::after_step() {
    if (record_) save_captured();
    take_hashes(false);
}

void StepKeeper::save_captured() {
    const std::unique_ptr<StepRecord> record = std::move(record_);
    const std::uint64_t step = record->plan.step + 1;
    const auto wanted = wanted_.extract(step);
    if (wanted.empty()) return;
    const fs::path path =
        wanted.mapped().empty() ? run_.options.folder / step_file_name(step) : wanted.mapped();
    if (const auto saved = save_capture(*record, path, run_); !saved)
        run_.tell(LogLevel::warning,
                  fmt::format("step {} was not captured: {}", step, saved.error().text()));
    else
        run_.tell(LogLevel::info, fmt::format("step {} is in {}", step, path.string()));
}

void StepKeeper::set_hashes(bool on) {
    if (std::exchange(run_.options.hashes, on) == on) return;
    if (on && run_.begun) begin_hashes();
    if (on) return;
    run_.trainer->hash_steps(false);
    take_hashes(true);
    log_.reset();
}

void StepKeeper::begin_hashes() {
    if (!run_.options.hashes) return;
    log_.reset();
    Trainer& trainer = *run_.trainer;
    (void)trainer.take_hashes(true);  // of steps that another file has, or none
    trainer.hash_steps(true);
    const std::string& backend = run_.options.backend;
    auto log = HashLog::open(run_.options.folder / "hashes.txt",
                             backend.empty() ? trainer.rasterizer().name() : backend, run_.step());
    if (log) {
        log_ = std::make_unique<HashLog>(std::move(*log));
    } else {
        trainer.hash_steps(false);
        run_.tell(LogLevel::warning, "step hashes are not written: " + log.error().text());
    }
}

void StepKeeper::take_hashes(bool all) {
    if (!log_) return;
    Result<void> done;
    for (const StepHashes& row : run_.trainer->take_hashes(all))
        if (done) done = log_->add(row);
    if (done && all) done = log_->flush();
    if (done) return;
    run_.tell(LogLevel::warning, "step hashes stop: " + done.error().text());
    log_.reset();
    run_.trainer->hash_steps(false);
}

}  // namespace gs
