// Runs a program for the lab and waits for it: its output goes into a file, its resources are
// measured, it is stopped at its time limit, and it does not outlive the lab. A crash is its result
// and does not end the lab. Used by the runner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs::lab {

struct ChildOutcome {
    int exit_code = -1;            ///< -1: a signal ended it
    int signal = 0;                ///< of that signal
    bool timed_out = false;        ///< it was asked to end
    double seconds = 0;            ///< from start to end
    std::uint64_t peak_bytes = 0;  ///< resident, the most there ever was

    bool done() const { return exit_code == 0; }
    /// "exit code 2", "killed by signal 9: out of memory, or ended by a user".
    std::string text() const;
};
struct ChildOptions {
    std::vector<std::string> words;  ///< the program and its arguments
    fs::path log;                    ///< stdout and stderr, rewritten, below a line with the words
    double limit_s = 0;              ///< SIGTERM after this time, SIGKILL a minute later; 0: none
    std::function<bool()> stopped;   ///< the user cancelled: SIGTERM, as above
};
/// Waits for its end. Errors: the log cannot be written; the program cannot be started.
Result<ChildOutcome> run_child(const ChildOptions& options);

/// The last `lines` lines of a log that are not empty, as one text.
std::string tail_of(const fs::path& log, std::size_t lines);
/// The last line of stdout as an object of JSON, as `--json` prints it; "" where there is none.
std::string last_json_of(const fs::path& log);

}  // namespace gs::lab
