#include "trainer/step_keeper.h"

#include <new>

#include "base/try.h"
#include "trainer/step_file.h"
#include "trainer/step_hashes.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

Result<fs::path> save_capture(const StepRecord& record, const fs::path& path,
                              const std::string& capture, const std::string& stage_times,
                              Rasterizer& rasterizer) {
    try {
        GS_TRY(CapturedStep step, capture_of(record, capture, rasterizer));
        step.origin.stage_times = stage_times;
        GS_TRY_VOID(
            write_into_folder(path, [&](const fs::path& p) { return write_step(step, p); }));
        return path;
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::unwritable, path.string(), "not enough memory to capture the step");
    }
}

}  // namespace

StepKeeper::StepKeeper() = default;
StepKeeper::~StepKeeper() = default;

StepRecord* StepKeeper::before(std::uint64_t step) {
    record_.reset();
    if (wanted_.contains(step)) record_ = std::make_unique<StepRecord>();
    return record_.get();
}

std::optional<Result<fs::path>> StepKeeper::after(Trainer& trainer, const fs::path& folder,
                                                  const std::string& capture,
                                                  const std::string& stage_times) {
    if (!record_) return std::nullopt;
    const std::unique_ptr<StepRecord> record = std::move(record_);
    const auto wanted = wanted_.extract(record->plan.step + 1);
    if (wanted.empty()) return std::nullopt;
    const fs::path path =
        wanted.mapped().empty() ? folder / step_file_name(record->plan.step + 1) : wanted.mapped();
    return save_capture(*record, path, capture, stage_times, trainer.rasterizer());
}

Result<void> StepKeeper::begin_hashes(Trainer& trainer, const fs::path& folder,
                                      const std::string& backend, std::uint64_t last_step) {
    log_.reset();
    (void)trainer.take_hashes(true);  // of steps that another file has, or none
    trainer.hash_steps(true);
    GS_TRY(HashLog log, HashLog::open(folder / "hashes.txt", backend, last_step));
    log_ = std::make_unique<HashLog>(std::move(log));
    return {};
}

void StepKeeper::end_hashes(Trainer& trainer) {
    trainer.hash_steps(false);
    (void)take_hashes(trainer, true);
    log_.reset();
}

Result<void> StepKeeper::take_hashes(Trainer& trainer, bool all) {
    if (!log_) return {};
    Result<void> done;
    for (const StepHashes& row : trainer.take_hashes(all))
        if (done) done = log_->add(row);
    if (done && all) done = log_->flush();
    if (done) return done;
    log_.reset();
    trainer.hash_steps(false);
    return done;
}

}  // namespace gs
