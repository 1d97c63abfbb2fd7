#include "profiler/serve/flight_recorder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json_write.h"
#include "base/log.h"
#include "base/machine.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/insights/insight.h"
#include "profiler/serve/watch.h"

namespace gs::serve {
namespace {

constexpr std::string_view kPrefix = "gausscope-", kTraceEnd = ".pftrace", kReportEnd = ".json";

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

std::string host() {
    std::string name = host_name();
    return name.empty() ? "host" : name;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::uint64_t bytes_of(const fs::path& path) {
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    return error ? 0 : bytes;
}

}  // namespace

Result<FlightRecorder> FlightRecorder::open(RecorderOptions options) {
    std::error_code error;
    fs::create_directories(options.folder, error);
    if (!fs::is_directory(options.folder, error) || ::access(options.folder.c_str(), W_OK) != 0)
        return fail(ErrorKind::unwritable, options.folder,
                    "recordings cannot be written to this folder", "choose another one with --dir");
    return FlightRecorder(std::move(options));
}

fs::path FlightRecorder::report_of(const fs::path& trace) {
    fs::path path = trace;
    return path.replace_extension(kReportEnd);
}

fs::path FlightRecorder::new_path(const std::string& kind) {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const std::string stem =
        fmt::format("{}{:%Y%m%dT%H%M%SZ}-{}-{}", kPrefix, fmt::gmtime(now), host(), kind);
    // Two in one second, or a clock that was set back: nothing that exists, or waits to be written,
    // is overwritten.
    const auto taken = [&](const fs::path& path) {
        return fs::exists(path) ||
               std::any_of(waiting_.begin(), waiting_.end(),
                           [&](const Recording& waiting) { return waiting.path == path; });
    };
    fs::path path = options_.folder / (stem + std::string(kTraceEnd));
    while (taken(path)) path = options_.folder / fmt::format("{}-{}{}", stem, ++serial_, kTraceEnd);
    return path;
}

const Recording* FlightRecorder::ask(const std::string& kind, const std::string& reason,
                                     std::int64_t time_ns, std::int64_t since_ns) {
    const auto newest = newest_of_kind_.find(kind);
    if (newest != newest_of_kind_.end() &&
        time_ns - newest->second < nanoseconds(options_.cooldown_s))
        return nullptr;
    if (waiting_.size() >= kMaxWaiting) return nullptr;
    newest_of_kind_[kind] = time_ns;
    const std::int64_t begin_ns = since_ns != 0 ? std::min(since_ns, time_ns) : time_ns;
    waiting_.push_back({kind, reason, begin_ns - nanoseconds(options_.before_s),
                        time_ns + nanoseconds(options_.after_s), new_path(kind)});
    return &waiting_.back();
}

Result<Recording> FlightRecorder::ask_stretch(const std::string& reason, std::int64_t begin_ns,
                                              std::int64_t end_ns) {
    if (waiting_.size() >= kMaxWaiting)
        return fail(ErrorKind::unwritable, "", "too many recordings are waiting to be written",
                    "ask again later");
    waiting_.push_back({"request", reason, begin_ns, end_ns, new_path("request")});
    return waiting_.back();
}

std::vector<Recording> FlightRecorder::write_due(const TraceStore& store, std::int64_t now_ns) {
    std::vector<Recording> due, written;
    std::erase_if(waiting_, [&](const Recording& r) {
        const bool complete = r.end_ns + kLagNs <= now_ns &&
                              std::ranges::all_of(store.processes(), [&](const TraceProcess& p) {
                                  return settled_until(p, now_ns) >= r.end_ns;
                              });
        if (complete) due.push_back(r);
        return complete;
    });
    for (const Recording& recording : due)
        if (write(store, recording)) written.push_back(recording);
    if (!due.empty()) make_room();
    return written;
}

std::vector<Recording> FlightRecorder::write_all(const TraceStore& store) {
    return write_due(store, std::numeric_limits<std::int64_t>::max());
}

bool FlightRecorder::write(const TraceStore& store, const Recording& recording) {
    // What a daemon has kept is much more than a recording holds; to describe and project all of it
    // would take its thread away from everything else.
    const TraceStore part = store.excerpt(recording.begin_ns, recording.end_ns);
    const auto trace =
        export_perfetto(part, recording.path, {recording.begin_ns, recording.end_ns});
    if (!trace) {
        log_error("{}", trace.error().text());
        return false;
    }
    InsightOptions options;
    options.begin_ns = recording.begin_ns;
    options.end_ns = recording.end_ns;
    options.past = options_.past;
    const std::int64_t to_realtime = store.sources().realtime_offset_ns();
    const std::int64_t from = std::max(recording.begin_ns, store.timeline().kept_from_ns());
    const double asked_s = seconds(recording.end_ns - recording.begin_ns);
    const double written_s = seconds(std::max<std::int64_t>(recording.end_ns - from, 0));
    const bool gpu_complete = std::ranges::none_of(store.processes(), [&](const TraceProcess& p) {
        return misses_gpu_work(p, recording.end_ns);
    });
    const nlohmann::ordered_json report{
        {"trace", recording.path.filename().string()},
        {"kind", recording.kind},
        {"reason", recording.reason},
        {"host", host()},
        {"begin_realtime_ns", recording.begin_ns + to_realtime},
        {"end_realtime_ns", recording.end_ns + to_realtime},
        {"asked_s", asked_s},
        {"written_s", written_s},
        {"gpu_complete", gpu_complete},
        {"insights", insights_json(part, find_insights(part, options))}};
    const auto said = write_text_file(report_of(recording.path), json_text(report, 2) + "\n");
    if (!said) log_error("{}", said.error().text());
    log_info("recorded {} ({} spans): {}", recording.path.string(), trace->spans, recording.reason);
    if (!gpu_complete)
        log_warning("{} lacks GPU work: CUPTI had not reported all of it a minute later",
                    recording.path.string());
    if (written_s < asked_s)
        log_warning("{} holds the last {:.1f} s of {:.1f} s: --memory had no space for more",
                    recording.path.string(), written_s, asked_s);
    return true;
}

std::vector<fs::path> FlightRecorder::finished_in(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        // Nothing but our own files is ever counted or removed.
        if (name.starts_with(kPrefix) && name.ends_with(kTraceEnd) && entry.is_regular_file(error))
            found.emplace_back(entry.last_write_time(error), entry.path());
    }
    std::sort(found.begin(), found.end());
    std::vector<fs::path> out;
    for (auto& [time, path] : found) out.push_back(std::move(path));
    return out;
}

void FlightRecorder::make_room() {
    const std::vector<fs::path> files = finished_in(options_.folder);
    std::uint64_t total = 0;
    for (const fs::path& file : files) total += bytes_of(file) + bytes_of(report_of(file));
    for (const fs::path& file : files) {
        // The newest stays, however large: it is what somebody is about to look for.
        if (total <= options_.max_bytes || file == files.back()) return;
        total -= bytes_of(file) + bytes_of(report_of(file));
        std::error_code error;
        fs::remove(file, error);
        fs::remove(report_of(file), error);
        log_info("removed {}: recordings may use {} MiB", file.string(), options_.max_bytes >> 20);
    }
}

}  // namespace gs::serve
