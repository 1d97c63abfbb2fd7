// Task<T>: work on a thread of its own that can be cancelled and reports its progress. Reports and
// result arrive in mailboxes, which its owner checks between two steps or two frames. The engine
// starts one for each long operation (loading, examining, fixing, exporting, changing levels), the
// panels for work that a frame must not wait for (reading a folder, insights).
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/exception_words.h"
#include "base/expected.h"
#include "base/mailbox.h"
#include "base/progress.h"
#include "base/record/scope.h"
#include "base/seconds.h"

namespace gs {

struct TaskProgress {
    std::string what;
    double share = 0;  ///< 0..1 of this part
};

template <class T>
class Task {
  public:
    using Work = std::function<Result<T>(const Progress&)>;

    /// Starts at once. `what` is shown until the work itself reports; `wake` is called after each
    /// report and at the end, from the task's thread. What the work throws (out of memory, mostly)
    /// becomes an error.
    Task(const char* thread_name, std::string what, Work work, std::function<void()> wake = {})
        : newest_{std::move(what), 0},
          begin_(std::chrono::steady_clock::now()),
          part_begin_(begin_) {
        thread_ = std::thread([this, thread_name, work = std::move(work), wake = std::move(wake)] {
            name_this_thread(thread_name);
            const Progress progress = [&](std::string_view what_now, std::size_t done,
                                          std::size_t total) {
                progress_.put(
                    {std::string(what_now),
                     total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0});
                if (wake) wake();
                return !cancelled_;
            };
            Result<T> result = fail(ErrorKind::cancelled, "", "was cancelled");
            try {
                result = work(progress);
            } catch (const std::exception& error) {
                result =
                    fail(ErrorKind::unreadable, "", fmt::format("stopped: {}", words_of(error)));
            }
            result_.put(std::move(result));
            if (wake) wake();
        });
    }
    /// Cancels and waits.
    ~Task() {
        cancelled_ = true;
        thread_.join();
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    void cancel() { cancelled_ = true; }
    bool cancelled() const { return cancelled_; }
    /// Takes the newest report; true when there was one.
    bool update() {
        auto report = progress_.take();
        if (!report) return false;
        if (report->what != newest_.what) part_begin_ = std::chrono::steady_clock::now();
        newest_ = std::move(*report);
        return true;
    }
    const TaskProgress& newest() const { return newest_; }
    double seconds() const { return seconds_since(begin_); }
    /// Duration of the current part.
    double part_seconds() const { return seconds_since(part_begin_); }
    /// Once, when the work has ended.
    std::optional<Result<T>> take() { return result_.take(); }
    std::optional<Result<T>> take_within(std::chrono::milliseconds patience) {
        return result_.take_within(patience);
    }

  private:
    std::atomic<bool> cancelled_{false};
    Latest<TaskProgress> progress_;
    Latest<Result<T>> result_;
    TaskProgress newest_;
    std::chrono::steady_clock::time_point begin_, part_begin_;
    std::thread thread_;
};

}  // namespace gs
