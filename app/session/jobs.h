// Jobs: the engine's background jobs next to pictures and training (loading, examining, fixing,
// writing, changing levels). A job's work runs on a thread of its own; its result is handled on the
// engine's thread, from follow(), between two steps.
#pragma once

#include <algorithm>
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

/// A job's name and its command.
struct JobLabel {
    const char* name;           ///< Activity::name; there is one job of a name at a time
    std::string what;           ///< shown until the work itself reports
    std::uint64_t command = 0;  ///< done when the job is; 0: none
    bool of_scene = false;      ///< the result needs the scene of its start
};

class Jobs {
  public:
    enum class News { none, reports, results };

    /// `wake` is called from a job's thread when there is something to follow.
    explicit Jobs(std::function<void()> wake) : wake_(std::move(wake)) {}

    /// Starts `work`; an earlier job of the same name is dropped. On the engine's thread, `on_done`
    /// gets its result, `on_error` its error, such as cancelled.
    template <class T>
    void start(JobLabel label, std::function<Result<T>(const Progress&)> work,
               std::function<void(T)> on_done, std::function<void(const Error&)> on_error) {
        drop(label.name);
        // The handler travels back together with its value.
        auto whole = [work = std::move(work),
                      on_done = std::move(on_done)](const Progress& progress) -> Result<Done> {
            GS_TRY(T value, work(progress));
            auto held = std::make_shared<T>(std::move(value));
            return Done([held, on_done] { on_done(std::move(*held)); });
        };
        auto task = std::make_unique<Task<Done>>(label.name, label.what, std::move(whole), wake_);
        jobs_.push_back({std::move(label), std::move(on_error), std::move(task), false});
    }
    const TaskProgress* progress_of(std::string_view name) const {
        for (const Job& job : jobs_)
            if (!job.orphan && job.label.name == name) return &job.task->newest();
        return nullptr;
    }
    bool running(std::string_view name) const { return progress_of(name) != nullptr; }
    /// Asks one job to end, or all when empty; its on_error follows. False: there is none.
    bool cancel(std::string_view name) {
        bool any = false;
        for (Job& job : jobs_)
            if (!job.orphan && (name.empty() || name == job.label.name))
                job.task->cancel(), any = true;
        return any;
    }
    /// Ends a job at once, and nothing follows.
    void drop(std::string_view name) {
        std::erase_if(jobs_, [&](const Job& job) { return !job.orphan && job.label.name == name; });
    }
    /// The scene was closed or replaced: asks jobs that need it to end and discards their results.
    /// Returns their activities.
    std::vector<std::string> scene_gone() {
        std::vector<std::string> out;
        for (Job& job : jobs_) {
            if (!job.label.of_scene || job.orphan) continue;
            job.task->cancel();
            job.orphan = true;
            job.label.command = 0;
            out.push_back(job.label.what);
        }
        return out;
    }
    /// Takes reports and results, and runs the handlers of results.
    News follow() {
        News news = News::none;
        for (Job& job : jobs_)
            if (job.task->update()) news = News::reports;
        for (std::size_t i = 0; i < jobs_.size();) {
            auto result = jobs_[i].task->take();
            if (!result) {
                ++i;
                continue;
            }
            news = News::results;
            // Handlers may start and drop jobs.
            const Job ended = std::move(jobs_[i]);
            jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
            if (!ended.orphan && *result) (**result)();
            if (!ended.orphan && !*result) ended.on_error(result->error());
            i = 0;
        }
        return news;
    }
    /// Longest running first.
    std::vector<Activity> activities() const {
        std::vector<Activity> out;
        for (const Job& job : jobs_)
            if (!job.orphan)
                out.push_back({job.label.name, job.task->newest().what, job.task->newest().share,
                               job.task->seconds()});
        std::stable_sort(out.begin(), out.end(), [](const Activity& a, const Activity& b) {
            return a.seconds > b.seconds;
        });
        return out;
    }
    /// The last of the commands up to `carried_out` before any whose job still runs.
    std::uint64_t done(std::uint64_t carried_out) const {
        for (const Job& job : jobs_)
            if (job.label.command > 0) carried_out = std::min(carried_out, job.label.command - 1);
        return carried_out;
    }

  private:
    using Done = std::function<void()>;
    struct Job {
        JobLabel label;
        std::function<void(const Error&)> on_error;
        std::unique_ptr<Task<Done>> task;
        bool orphan = false;  ///< its scene is gone
    };
    std::function<void()> wake_;
    std::vector<Job> jobs_;
};

}  // namespace gs
