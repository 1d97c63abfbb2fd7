#include "trainer/run/run_snapshots.h"

#include "base/exception_words.h"
#include "base/format.h"
#include "base/try.h"
#include "trainer/run/run_keeper.h"

namespace gs {
namespace {

tl::unexpected<Error> no_snapshot(const std::string& which) {
    return fail(ErrorKind::usage, "", "no snapshot " + which,
                "training takes a snapshot before each edit");
}

}  // namespace

void RunSnapshots::take_before(const std::string& what) {
    if (const auto kept = take("before " + what); !kept)
        run_.tell(LogLevel::warning, fmt::format("step {}: no snapshot to restore: {}", run_.step(),
                                                 kept.error().message));
}

Result<void> RunSnapshots::take(std::string why) {
    if (!run_.options.snapshot_budget || run_.step() == 0 ||
        run_.moved != RunContext::Moved::by_step)
        return {};
    const std::uint64_t budget = run_.options.snapshot_budget();
    const std::uint64_t needed = snapshot_bytes(run_.trainer->backend(), run_.trainer->settings());
    if (needed > budget)
        return fail(
            ErrorKind::unwritable, "",
            fmt::format("a snapshot would take {} of {}", format_bytes(static_cast<double>(needed)),
                        format_bytes(static_cast<double>(budget))));
    try {
        snapshots_.push_back(
            {++taken_, run_.trainer->snapshot(), run_.record, std::move(why), run_.edited});
    } catch (const std::exception& error) {
        return fail(ErrorKind::unwritable, "", words_of(error));
    }
    run_.moved = RunContext::Moved::no;
    std::uint64_t bytes = 0;
    for (const RunSnapshot& snapshot : snapshots_) bytes += snapshot.bytes();
    for (; bytes > budget && snapshots_.size() > 1; snapshots_.pop_front())
        bytes -= snapshots_.front().bytes();
    return {};
}

Result<std::uint64_t> RunSnapshots::newest_of(std::uint64_t step) const {
    for (std::size_t i = snapshots_.size(); i-- > 0;) {
        const RunSnapshot& s = snapshots_[i];
        const bool here = run_.moved == RunContext::Moved::no && s.step() == run_.step();
        if (step == 0 ? !here || i == 0 : s.step() == step) return s.number;
    }
    return no_snapshot(fmt::format("of step {}", step));
}

Result<RunSnapshot> RunSnapshots::find(std::uint64_t number) const {
    for (const RunSnapshot& snapshot : snapshots_)
        if (snapshot.number == number) return snapshot;
    return no_snapshot(std::to_string(number));
}

/// On disk, whole, under a name of its own; and in memory, if there is space.
Result<void> RunSnapshots::keep_present() {
    using Moved = RunContext::Moved;
    if (run_.moved == Moved::no) return {};  // it is a snapshot
    run_.moved = Moved::by_step;
    (void)take(fmt::format("before leaving step {}", run_.step()));
    const bool in_memory = run_.moved == Moved::no;
    if (in_memory && !run_.begun) return {};
    GS_TRY_VOID(keeper_.take_folder());
    const fs::path path = free_reverted(run_.options.folder, run_.step());
    const auto saved = write_into_folder(
        path, [&](const fs::path& p) { return run_.trainer->save_checkpoint(p); });
    if (saved)
        run_.tell(LogLevel::info, fmt::format("step {} is kept in {}", run_.step(), path.string()));
    else if (!in_memory)
        return fail(ErrorKind::unwritable, saved.error().path,
                    "the current state could not be saved: " + saved.error().message,
                    "save a checkpoint elsewhere first, or free some memory");
    return {};
}

/// Throws nothing: a failure is reported, and the run ends where it can still be read.
Result<void> RunSnapshots::go_to(const RunSnapshot& target) {
    try {
        run_.trainer->restore(*target.state);
    } catch (const std::exception& error) {
        // The model is neither state now: it must not be saved over anything.
        run_.saved_step = run_.step();
        run_.ended = run_.stopped = true;
        run_.failure =
            fmt::format("step {} could not be restored: {}", target.step(), words_of(error));
        return fail(ErrorKind::unwritable, "", run_.failure, "resume the run from its folder");
    }
    // Both ends of the way are kept, even if the other one pushed this one out.
    if (!find(target.number)) snapshots_.push_back(target);
    run_.record = target.record;
    run_.record.alarms.forget();
    run_.saved_step = run_.step();  // nothing is written before the next step
    run_.edited = target.edited;
    run_.moved = RunContext::Moved::no;
    run_.stopped = run_.records_due = false;
    run_.ended = run_.trainer->finished();
    run_.failure.clear();
    return {};
}

Result<void> RunSnapshots::revert(std::uint64_t number) {
    GS_TRY(const RunSnapshot target, find(number));
    run_.evaluation.reset();
    run_.pause();
    GS_TRY_VOID(keep_present());
    GS_TRY_VOID(go_to(target));
    keeper_.go_back(target.step());
    return {};
}

Result<void> RunSnapshots::branch(std::uint64_t number) {
    GS_TRY(const RunSnapshot target, find(number));
    run_.evaluation.reset();
    run_.pause();
    GS_TRY_VOID(keeper_.save_as_parent());
    GS_TRY(RunFolder folder, keeper_.take_beside());
    GS_TRY_VOID(go_to(target));
    snapshots_ = {target};
    run_.times = RunTimes(target.step());
    run_.saved_step = kNeverSaved;
    keeper_.branch(std::move(folder), target.step());
    return {};
}

}  // namespace gs
