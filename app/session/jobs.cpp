#include "app/session/jobs.h"

#include "app/session/viewer.h"
#include "base/format.h"
#include "base/seconds.h"
#include "renderer/raster/frame_size.h"

namespace gs {
namespace {

constexpr double kPace = 2;  // seconds until a thread's pace is known

}  // namespace

void Jobs::start_slices(JobLabel label, SliceWork work, OnDone on_done, OnError on_error) {
    drop(label.name);
    const std::string what = label.what;
    jobs_.push_back(std::make_shared<Job>(Job{std::move(label),
                                              std::move(on_error),
                                              nullptr,
                                              std::move(work),
                                              std::move(on_done),
                                              {what}}));
}

const TaskProgress* Jobs::progress_of(std::string_view name) const {
    for (const auto& job : jobs_)
        if (!job->orphan && job->label.name == name) return &job->newest();
    return nullptr;
}

/// Unless it was dropped meanwhile.
void Jobs::end(const std::shared_ptr<Job>& job, const Result<OnDone>& result) {
    if (std::erase(jobs_, job) == 0 || job->orphan) return;
    result ? (*result)() : job->on_error(result.error());
}

bool Jobs::cancel(std::string_view name) {
    bool any = false;
    for (const auto& job : List(jobs_)) {
        if (job->orphan || job->label.what.empty() || !(name.empty() || name == job->label.name))
            continue;
        any = true;
        if (job->task)
            job->task->cancel();
        else
            end(job, fail(ErrorKind::cancelled, "", "was cancelled"));
    }
    return any;
}

void Jobs::cancel_slices() {
    for (const auto& job : List(jobs_))
        if (job->slice) end(job, fail(ErrorKind::cancelled, "", "was cancelled"));
}

void Jobs::drop(std::string_view name) {
    std::erase_if(jobs_, [&](const auto& job) {
        if (job->orphan || job->label.name != name) return false;
        job->task.reset();  // now, although a loop may hold the job
        return true;
    });
}

std::vector<std::string> Jobs::scene_gone() {
    std::vector<std::string> out;
    std::erase_if(jobs_, [&](const auto& job) {
        if (!job->label.of_scene || job->orphan) return false;
        job->orphan = true;
        job->label.command = 0;
        if (!job->label.what.empty()) out.push_back(job->label.what);
        if (job->task) job->task->cancel();
        return !job->task;
    });
    return out;
}

Jobs::News Jobs::follow() {
    News news = News::none;
    List threads = jobs_;  // no slices: one that is dropped meanwhile must go before its scene
    std::erase_if(threads, [](const auto& job) { return !job->task; });
    for (const auto& job : threads) {
        if (!job->task) continue;  // an earlier handler dropped it
        if (job->task->update()) news = std::max(news, News::reports);
        if (const auto result = job->task->take()) {
            news = News::results;
            end(job, *result);
        }
    }
    return news;
}

Jobs::News Jobs::slice(const Shown& shown, Viewer& viewer) {
    News news = News::none;
    for (const auto& job : List(jobs_)) {
        const bool first = job->label.like_training;
        if (!job->slice || !std::ranges::count(jobs_, job) || !(first || viewer.may_draw(shown)))
            continue;
        const auto begin = std::chrono::steady_clock::now();
        const auto progress = [&](std::string_view what, std::size_t n, std::size_t of) {
            job->sliced = {std::string(what),
                           of > 0 ? static_cast<double>(n) / static_cast<double>(of) : 0.0};
            return true;
        };
        Result<Slice> did = Slice::waited;
        try {
            did = job->slice(shown, progress);
        } catch (const FrameTooLarge& error) {  // ends this job; other work continues
            did = fail(ErrorKind::unsupported, "", error.what());
        }
        if (did && *did == Slice::waited) continue;
        const double seconds = seconds_since(begin);
        first ? viewer.add_work(seconds) : viewer.add_picture(shown, seconds);
        news = std::max(news, News::reports);
        if (did && *did == Slice::worked) {  // the others come first next time
            const auto at = std::ranges::find(jobs_, job);
            if (at != jobs_.end()) std::rotate(at, at + 1, jobs_.end());
            continue;
        }
        news = News::results;
        end(job, did.map([&](Slice) { return job->on_done; }));
    }
    return news;
}

std::vector<Activity> Jobs::activities() const {
    std::vector<Activity> out;
    for (const auto& job : jobs_) {
        const auto& [what, share] = job->newest();
        if (job->orphan || what.empty()) continue;
        const double part = job->part_seconds();
        const JobLabel& label = job->label;
        out.push_back({label.name, what, share, job->seconds(), label.writes, label.of_scene});
        if (share > 0 && share < 1 && (job->slice || part > kPace))
            out.back().what += ", " + format_duration(part * (1 - share) / share) + " left";
    }
    std::ranges::stable_sort(out, std::greater{}, &Activity::seconds);
    return out;
}

std::uint64_t Jobs::done(std::uint64_t carried_out) const {
    for (const auto& job : jobs_)
        if (job->label.command > 0) carried_out = std::min(carried_out, job->label.command - 1);
    return carried_out;
}

}  // namespace gs
