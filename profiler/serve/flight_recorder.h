// FlightRecorder: writes the last seconds of the store to disk when something asked for it, and
// keeps the folder within its bounds. Used by Server, on its own thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs::serve {

struct RecorderOptions {
    fs::path folder;
    std::uint64_t max_bytes = 1ull << 30;  ///< of all recordings in the folder
    double before_s = 20, after_s = 2;     ///< around what happened
    double cooldown_s = 60;                ///< at least, between two recordings of one kind and job
    std::optional<gid_t> group = {};       ///< that may read the recordings
    /// InsightOptions::past of a recording's report.
    std::function<std::vector<double>(const TraceProcess&)> past = {};
    /// Called with the path of each recording once it and its report are there. Must not block.
    std::function<void(const fs::path&)> on_written = {};
};

/// A recording that was asked for: the stretch [begin, end] of CLOCK_MONOTONIC.
struct Recording {
    std::string kind, reason;
    std::int64_t begin_ns = 0, end_ns = 0;
    fs::path path;
};

class FlightRecorder {
  public:
    /// Makes the folder. Errors: unwritable.
    static Result<FlightRecorder> open(RecorderOptions options);

    /// Something happened in `job` at `time_ns`, or since `since_ns`: its surroundings will be
    /// written when they are complete, with what happened at that time in other jobs. Null while
    /// this kind cools down for this job, and, but for crashes and stalls, when 16 are waiting.
    const Recording* ask(const std::string& kind, const std::string& job, const std::string& reason,
                         std::int64_t time_ns, std::int64_t since_ns = 0);
    /// A stretch that a user asked for; never refused but for more than 16 waiting ones.
    Result<Recording> ask_stretch(const std::string& reason, std::int64_t begin_ns,
                                  std::int64_t end_ns);

    /// Writes one recording whose end is further back than records may be late, crashes and stalls
    /// first. A file that cannot be written is logged and not tried again.
    std::optional<Recording> write_due(const TraceStore& store, std::int64_t now_ns);
    /// Writes all that waits, complete or not: the daemon is ending.
    std::vector<Recording> write_all(const TraceStore& store);

    /// The finished recordings of a folder, oldest first.
    static std::vector<fs::path> finished_in(const fs::path& folder);
    /// Beside a recording: why it was made, how much of what was asked for it holds, insights.
    static fs::path report_of(const fs::path& trace);
    const RecorderOptions& options() const { return options_; }

  private:
    explicit FlightRecorder(RecorderOptions options) : options_(std::move(options)) {}
    static constexpr std::size_t kMaxWaiting = 16;
    fs::path new_path(const std::string& kind);
    bool write(const TraceStore& store, const Recording& recording);
    template <class Write>
    auto write_with_space(const Recording& recording, Write write) const;
    bool write_report(const TraceStore& store, const TraceStore& part,
                      const Recording& recording) const;
    void share(const fs::path& file) const;
    /// Removes recordings until those left use at most `max_bytes`; no crash and no stall with
    /// `spare_rare`. Returns how many it removed.
    std::size_t make_space(std::uint64_t max_bytes, bool spare_rare) const;

    RecorderOptions options_;
    std::vector<Recording> waiting_;
    std::map<std::pair<std::string, std::string>, std::int64_t> newest_;  // by job and kind
    std::uint64_t serial_ = 0;
};

}  // namespace gs::serve
