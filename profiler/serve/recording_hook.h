// RecordingHook: runs the user's command with the path of each finished recording, to upload it or
// to call somebody. The daemon never waits for it. Used by `gausscope serve --on-recording`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/mailbox.h"

namespace gs::serve {

class RecordingHook {
  public:
    /// A shell's command. The path is its "$1".
    explicit RecordingHook(std::string command,
                           std::chrono::milliseconds patience = std::chrono::minutes(5),
                           std::chrono::milliseconds patience_at_end = std::chrono::seconds(10));
    /// Runs the command for what is still waiting, within `patience_at_end` for all of it.
    ~RecordingHook();
    RecordingHook(const RecordingHook&) = delete;
    RecordingHook& operator=(const RecordingHook&) = delete;

    /// Never waits. From one thread.
    void run(const fs::path& recording);

  private:
    void work(const std::stop_token& stop);
    std::chrono::steady_clock::time_point end(const std::stop_token& stop);
    /// Empty when the command ended with 0, else why not.
    std::string call(const fs::path& recording, const std::stop_token& stop);
    void report(const std::string& trouble);

    std::string command_;
    std::chrono::milliseconds patience_, patience_at_end_;
    bool skipping_ = false;
    std::string trouble_;  // of the last call
    std::optional<std::chrono::steady_clock::time_point> end_;
    Queue<fs::path> waiting_{16};
    std::jthread thread_;
};

}  // namespace gs::serve
