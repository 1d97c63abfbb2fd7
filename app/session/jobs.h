// Jobs: the engine's background jobs next to pictures and training. Work on a thread of its own
// (loading, examining, fixing, writing) hands over its result between two steps. Work in slices
// (film, problems, costs, contact sheet) does one small piece a turn on the engine's thread.
// All handlers run on the engine's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"
#include "base/try.h"
#include "panels/state/scene_state.h"

namespace gs {

struct Shown;
class Viewer;

/// A job's name and its command.
struct JobLabel {
    const char* name;  ///< Activity::name; there is one job of a name at a time
    /// Shown until the work itself reports. Empty: a job in slices that is neither shown nor
    /// cancelled by name.
    std::string what{};
    std::uint64_t command = 0;   ///< done when the job is; 0: none
    bool of_scene = false;       ///< ends with the scene of its start
    bool writes = false;         ///< files that somebody asked for
    bool like_training = false;  ///< its slices earn the pictures' credit and never wait for it
};

class Jobs {
  public:
    enum class News { none, reports, results };
    /// What a slice did.
    enum class Slice { waited, worked, ended };
    using SliceWork = std::function<Result<Slice>(const Shown&, const Progress&)>;
    using OnDone = std::function<void()>;
    using OnError = std::function<void(const Error&)>;

    /// `wake` is called from a job's thread when there is something to follow.
    explicit Jobs(std::function<void()> wake) : wake_(std::move(wake)) {}

    /// Starts `work` on a thread; an earlier job of the same name is dropped. `on_done` gets its
    /// result, `on_error` its error, such as cancelled.
    template <class T>
    void start(JobLabel label, std::function<Result<T>(const Progress&)> work,
               std::function<void(T)> on_done, OnError on_error) {
        drop(label.name);
        // The handler travels back together with its value.
        auto whole = [work = std::move(work),
                      on_done = std::move(on_done)](const Progress& progress) -> Result<OnDone> {
            GS_TRY(T value, work(progress));
            auto held = std::make_shared<T>(std::move(value));
            return OnDone([held, on_done] { on_done(std::move(*held)); });
        };
        auto task = std::make_unique<Task<OnDone>>(label.name, label.what, std::move(whole), wake_);
        jobs_.push_back(
            std::make_shared<Job>(Job{std::move(label), std::move(on_error), std::move(task)}));
    }
    /// Starts work in slices; an earlier job of the same name is dropped. `work` does one piece, or
    /// waits, with each turn that has an open scene and time for it, until it ends or fails.
    void start_slices(
        JobLabel label, SliceWork work, OnDone on_done = [] {},
        OnError on_error = [](const Error&) {});
    const TaskProgress* progress_of(std::string_view name) const;
    bool running(std::string_view name) const { return progress_of(name) != nullptr; }
    /// The command that waits for a running job is this one from now on.
    void wait_for(std::string_view name, std::uint64_t command) {
        for (const auto& job : jobs_)
            if (!job->orphan && job->label.name == name) job->label.command = command;
    }
    /// Asks one job to end, or all when empty; its on_error follows. False: there is none.
    bool cancel(std::string_view name);
    /// After an exception: cancels all jobs in slices, or the same would fail again and again.
    void cancel_slices();
    /// Ends a job at once, and nothing follows.
    void drop(std::string_view name);
    /// The scene was closed or replaced: asks jobs that need it to end and discards their results.
    /// Returns their activities.
    std::vector<std::string> scene_gone();
    /// Takes reports and results of threads, and runs the handlers of results.
    News follow();
    /// Runs one slice of each job in slices that may work, within the pictures' share of the time
    /// while something trains.
    News slice(const Shown& shown, Viewer& viewer);
    /// Longest running first, with the time left where the pace is known.
    std::vector<Activity> activities() const;
    /// The last of the commands up to `carried_out` before any whose job still runs.
    std::uint64_t done(std::uint64_t carried_out) const;

  private:
    struct Job {
        const TaskProgress& newest() const { return task ? task->newest() : sliced; }
        double seconds() const { return task ? task->seconds() : seconds_since(begin); }
        double part_seconds() const { return task ? task->part_seconds() : seconds(); }

        JobLabel label;
        OnError on_error;
        std::unique_ptr<Task<OnDone>> task{};  ///< null: in slices
        SliceWork slice{};
        OnDone on_done{};
        TaskProgress sliced{};
        std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
        bool orphan = false;  ///< its scene is gone
    };
    using List = std::vector<std::shared_ptr<Job>>;

    void end(const std::shared_ptr<Job>& job, const Result<OnDone>& result);

    std::function<void()> wake_;
    List jobs_;  // handlers may change it: loops that call them run over a copy
};

}  // namespace gs
