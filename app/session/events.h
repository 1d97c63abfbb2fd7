// Events: publishes the results of the engine and its parts: the shown state as a whole at the end
// of a turn, and events, one after the other. Lives on the engine thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "base/log.h"
#include "base/seconds.h"

namespace gs {

/// State that is published now and then while it changes.
struct Paced {
    bool changed = false;
    std::chrono::steady_clock::time_point last{};

    void at_once() {
        changed = true;
        last = {};
    }
    bool due(double interval) const { return changed && seconds_since(last) > interval; }
    void published() {
        changed = false;
        last = std::chrono::steady_clock::now();
    }
};

class Events {
  public:
    /// `wake` is called after anything went out.
    Events(SessionOutbox& out, std::function<void()> wake);

    /// The next state to publish, to be changed.
    Published& changed() {
        changed_ = true;
        return view_;
    }
    /// Publishes changes at the end of a turn.
    void publish();
    void error(const std::string& text, std::uint64_t of_command = 0);
    /// `notice`: shown, not only logged. `lines`: its details.
    void done(const std::string& text, bool notice = false, std::vector<std::string> lines = {},
              std::uint64_t of_command = 0);
    /// Shows and logs a warning.
    void warning(const std::string& text);
    /// Reports a failed task: an error, or `cancelled` if the user cancelled it.
    void failed(const Error& why, const std::string& cancelled, std::uint64_t of_command = 0) {
        why.kind == ErrorKind::cancelled ? done(cancelled) : error(why.text(), of_command);
    }
    /// A job's on_error: failed() of the command that runs now.
    std::function<void(const Error&)> if_failed(std::string cancelled) {
        return [this, cancelled = std::move(cancelled), of = command](const Error& why) {
            failed(why, cancelled, of);
        };
    }
    /// Passes on a run's message: an error, a notice, or a line for the log.
    void of_run(LogLevel level, const std::string& text) {
        if (level == LogLevel::error) return error(text);
        level == LogLevel::warning ? warning(text) : done(text);
    }
    /// Asks the studio for something. False, with an error reported: it takes nothing more now.
    bool ask_studio(StudioJob job);
    void focus(const Vec3d& point);
    void picked(PickedPoints points);
    void found(FoundPoint found);
    void picture(Picture picture);

    std::uint64_t command = 0;      ///< serial of the running command for its messages; 0: none
    Paced status{.changed = true};  ///< Published::status and training

  private:
    SessionOutbox& out_;
    std::function<void()> wake_;
    Published view_;
    bool changed_ = false;
};

}  // namespace gs
