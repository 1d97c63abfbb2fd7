// Scripts: commands by name, one per line, # comments, with waits between them. For automation and
// tests (--script FILE). A script is checked as a whole before it starts; the first command that
// fails ends it and reports its line.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/studio/command_table.h"
#include "app/studio/studio_state.h"

namespace gs {

struct ScriptLine {
    std::uint64_t number = 0;  ///< 1-based
    std::string name;
    Arguments arguments;
};

/// Commands for scripts only: waits and their limit. ScriptRunner runs them.
std::span<const CommandRow> script_commands();

/// Errors (kind usage, with path and line): unknown commands, wrong numbers of arguments.
Result<std::vector<ScriptLine>> parse_script(std::string_view text, const std::string& path,
                                             const CommandTable& table);

class ScriptRunner {
  public:
    ScriptRunner(std::vector<ScriptLine> lines, std::string path, const CommandTable& table)
        : lines_(std::move(lines)), path_(std::move(path)), table_(table) {}

    /// Runs lines until one has to wait. True when the script has ended; an error also ends it.
    /// Call once per UI frame.
    Result<bool> advance(StudioState& state);
    /// Passes the engine's events to the script; an error answering one of its commands makes
    /// the next advance() fail.
    void take_event(const EngineEvent& event);
    bool ended() const { return next_ >= lines_.size(); }

  private:
    using Clock = std::chrono::steady_clock;
    Result<bool> ready(StudioState& state);
    Result<bool> wait_is_over(const ScriptLine& line, StudioState& state);
    Error at_line(const ScriptLine& line, Error error) const;

    std::vector<ScriptLine> lines_;
    std::string path_;
    const CommandTable& table_;
    std::size_t next_ = 0;
    std::vector<std::pair<std::uint64_t, std::size_t>> sent_;  // engine serial, line index
    std::optional<Error> failure_;
    std::optional<Clock::time_point> waiting_since_;
    std::uint64_t frames_at_wait_ = 0;
    double timeout_seconds_ = 600;
};

}  // namespace gs
