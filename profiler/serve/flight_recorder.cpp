#include "profiler/serve/flight_recorder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/full_disk.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/try.h"
#include "profiler/files/export_lanes.h"
#include "profiler/files/export_perfetto.h"
#include "profiler/insights/insight.h"
#include "profiler/serve/watch.h"
#include "profiler/store/node_gpus.h"
#include "profiler/store/process_labels.h"

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

/// A recording and its report on the disk.
struct Kept {
    fs::path path;
    std::string kind;
    std::uint64_t bytes = 0;
};

/// Of a file "gausscope-TIME-HOST-KIND.pftrace", or "...-KIND-2.pftrace".
std::string kind_in(const fs::path& path) {
    std::string stem = path.stem().string();
    const std::size_t serial = stem.find_last_not_of("0123456789");
    if (serial + 1 < stem.size() && serial > 0 && stem[serial] == '-') stem.resize(serial);
    if (stem.ends_with("-slow-step")) return "slow-step";
    return stem.substr(stem.rfind('-') + 1);
}

std::vector<Kept> kept_in(const fs::path& folder) {
    std::vector<Kept> out;
    for (const fs::path& file : FlightRecorder::finished_in(folder))
        out.push_back(
            {file, kind_in(file), bytes_of(file) + bytes_of(FlightRecorder::report_of(file))});
    return out;
}

/// Whose recording it is, and which ranges their threads were in at its end.
nlohmann::ordered_json processes_json(const TraceStore& part) {
    const OpenRanges open(part);
    auto out = nlohmann::ordered_json::array();
    for (std::uint32_t p = 0; p < part.processes().size(); ++p) {
        const TraceProcess& process = part.processes()[p];
        if (is_node_gpus(process)) continue;
        nlohmann::ordered_json entry{{"name", process.name}, {"pid", process.pid}};
        for (const auto& [key, text] : label_pairs(process.labels)) entry[key] = text;
        for (std::size_t t = 0; t < part.tracks().size(); ++t) {
            if (part.tracks()[t].process != p || open.of(t).empty()) continue;
            std::string inside;
            for (const OpenRange& range : open.of(t))
                inside +=
                    fmt::format("{}{}", inside.empty() ? "" : " > ", part.name(range.span.name));
            entry["inside"][part.tracks()[t].name] = inside;
        }
        out.push_back(std::move(entry));
    }
    return out;
}

/// Crashes and stalls come once, and are what the recordings are for.
bool is_rare(std::string_view kind) { return kind == "crash" || kind == "stall"; }

/// The recording to remove next; the last, which stays: none. The routine kind that uses most loses
/// its oldest. Crashes and stalls follow when nothing else is left, first those that were followed
/// by another of their kind, which also go once they use three quarters of `max_bytes`.
std::vector<Kept>::const_iterator next_to_go(const std::vector<Kept>& files,
                                             std::uint64_t max_bytes, bool spare_rare) {
    std::map<std::string, std::uint64_t> bytes;
    std::uint64_t rare = 0;
    for (const Kept& file : files) (is_rare(file.kind) ? rare : bytes[file.kind]) += file.bytes;
    const auto newest = files.end() - 1;
    const auto repeated = std::find_if(files.begin(), newest, [&](const Kept& file) {
        const auto is_same = [&](const Kept& other) { return other.kind == file.kind; };
        return is_rare(file.kind) && std::find_if(&file + 1, &*newest + 1, is_same) != &*newest + 1;
    });
    auto found = newest;
    if (!spare_rare && rare > max_bytes / 4 * 3) found = repeated;
    if (found == newest)
        for (auto file = files.begin(); file != newest; ++file)
            if (!is_rare(file->kind) && (found == newest || bytes[file->kind] > bytes[found->kind]))
                found = file;
    if (found != newest || spare_rare) return found;
    return repeated != newest ? repeated : files.begin();
}

}  // namespace

Result<FlightRecorder> FlightRecorder::open(RecorderOptions options) {
    GS_TRY_VOID(make_folder(options.folder, "choose another one with --dir"));
    std::error_code error;
    if (!fs::is_directory(options.folder, error) || ::access(options.folder.c_str(), W_OK) != 0)
        return fail(ErrorKind::unwritable, options.folder,
                    "recordings cannot be written to this folder", "choose another one with --dir");
    FlightRecorder out(std::move(options));
    std::uint64_t space = fs::space(out.options_.folder, error).available;
    for (const Kept& file : kept_in(out.options_.folder)) space += file.bytes;
    if (!error && space < out.options_.max_bytes)
        log_warning("{} has {} MiB for recordings, less than the {} MiB of --max-disk",
                    out.options_.folder.string(), space >> 20, out.options_.max_bytes >> 20);
    if (out.options_.group) {
        out.share(out.options_.folder);
        const auto group_may = fs::perms::group_read | fs::perms::group_exec;
        fs::permissions(out.options_.folder, group_may, fs::perm_options::add, error);
    }
    return out;
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

const Recording* FlightRecorder::ask(const std::string& kind, const std::string& job,
                                     const std::string& reason, std::int64_t time_ns,
                                     std::int64_t since_ns) {
    std::erase_if(newest_, [&](const auto& entry) {
        return time_ns - entry.second >= nanoseconds(options_.cooldown_s);
    });
    if (newest_.contains({job, kind})) return nullptr;
    const std::int64_t begin_ns =
        (since_ns != 0 ? std::min(since_ns, time_ns) : time_ns) - nanoseconds(options_.before_s);
    // A recording is of all jobs of the node.
    const auto same = std::ranges::find_if(waiting_, [&](const Recording& waiting) {
        return waiting.kind == kind && waiting.begin_ns <= time_ns && time_ns <= waiting.end_ns;
    });
    if (same == waiting_.end() && waiting_.size() >= kMaxWaiting && !is_rare(kind)) {
        log_warning("not recorded, since {} recordings are waiting: {}", kMaxWaiting, reason);
        return nullptr;
    }
    newest_[{job, kind}] = time_ns;
    if (same == waiting_.end()) {
        waiting_.push_back(
            {kind, reason, begin_ns, time_ns + nanoseconds(options_.after_s), new_path(kind)});
        return &waiting_.back();
    }
    same->begin_ns = std::min(same->begin_ns, begin_ns);
    same->reason += "; " + reason;
    return &*same;
}

Result<Recording> FlightRecorder::ask_stretch(const std::string& reason, std::int64_t begin_ns,
                                              std::int64_t end_ns) {
    if (waiting_.size() >= kMaxWaiting)
        return fail(ErrorKind::unwritable, "", "too many recordings are waiting to be written",
                    "ask again later");
    waiting_.push_back({"request", reason, begin_ns, end_ns, new_path("request")});
    return waiting_.back();
}

std::optional<Recording> FlightRecorder::write_due(const TraceStore& store, std::int64_t now_ns) {
    const auto is_due = [&](const Recording& r) {
        return r.end_ns + kLagNs <= now_ns &&
               std::ranges::all_of(store.processes(), [&](const TraceProcess& p) {
                   return settled_until(p, now_ns) >= r.end_ns;
               });
    };
    auto next = std::ranges::find_if(
        waiting_, [&](const Recording& r) { return is_rare(r.kind) && is_due(r); });
    if (next == waiting_.end()) next = std::ranges::find_if(waiting_, is_due);
    if (next == waiting_.end()) return std::nullopt;
    Recording recording = std::move(*next);
    waiting_.erase(next);
    if (!write(store, recording)) return std::nullopt;
    make_space(options_.max_bytes, false);
    return recording;
}

std::vector<Recording> FlightRecorder::write_all(const TraceStore& store) {
    std::vector<Recording> written;
    while (!waiting_.empty())
        if (auto one = write_due(store, std::numeric_limits<std::int64_t>::max()))
            written.push_back(std::move(*one));
    return written;
}

/// On a full disk older recordings make space: a sixteenth of their bytes, then an eighth of the
/// rest, then a quarter, and so on, since each try takes as long as the first.
template <class Write>
auto FlightRecorder::write_with_space(const Recording& recording, Write write) const {
    for (std::uint64_t part = 16;; part = std::max<std::uint64_t>(part / 2, 1)) {
        auto done = write();
        if (done) return done;
        std::uint64_t used = 0;
        for (const Kept& file : kept_in(options_.folder)) used += file.bytes;
        if (!is_full_disk(done.error()) ||
            make_space(used - (used + part - 1) / part, !is_rare(recording.kind)) == 0) {
            log_error("{}", done.error().text());
            return done;
        }
    }
}

bool FlightRecorder::write(const TraceStore& store, const Recording& recording) {
    // What a daemon has kept is much more than a recording holds; to describe and project all of it
    // would take its thread away from everything else.
    const TraceStore part = store.excerpt(recording.begin_ns, recording.end_ns);
    const auto trace = write_with_space(recording, [&] {
        return export_perfetto(part, recording.path, {recording.begin_ns, recording.end_ns});
    });
    if (!trace) return false;
    share(recording.path);
    log_info("recorded {} ({} spans): {}", recording.path.string(), trace->spans, recording.reason);
    if (write_report(store, part, recording) && options_.on_written)
        options_.on_written(recording.path);
    return true;
}

bool FlightRecorder::write_report(const TraceStore& store, const TraceStore& part,
                                  const Recording& recording) const {
    const InsightOptions options{
        .begin_ns = recording.begin_ns, .end_ns = recording.end_ns, .past = options_.past};
    const std::int64_t to_realtime = store.sources().realtime_offset_ns();
    const std::int64_t kept_from = store.timeline().kept_from_ns();
    const std::int64_t from = std::max({recording.begin_ns, kept_from, store.begin_ns()});
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
        {"processes", processes_json(part)},
        {"insights", insights_json(part, find_insights(part, options))}};
    const fs::path path = report_of(recording.path);
    const std::string text = json_text(report, 2) + "\n";
    if (!write_with_space(recording, [&] { return write_text_file(path, text); })) return false;
    share(path);
    if (!gpu_complete)
        log_warning("{} lacks GPU work: CUPTI had not reported all of it a minute later",
                    recording.path.string());
    if (kept_from > recording.begin_ns)
        log_warning("{} holds the last {:.1f} s of {:.1f} s: --memory had no space for more",
                    recording.path.string(), written_s, asked_s);
    return true;
}

void FlightRecorder::share(const fs::path& file) const {
    if (options_.group && ::chown(file.c_str(), static_cast<uid_t>(-1), *options_.group) != 0)
        log_error("{} cannot be given to the group of --group: {}", file.string(),
                  std::strerror(errno));
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

std::size_t FlightRecorder::make_space(std::uint64_t max_bytes, bool spare_rare) const {
    std::vector<Kept> files = kept_in(options_.folder);
    std::uint64_t total = 0;
    for (const Kept& file : files) total += file.bytes;
    std::size_t removed = 0;
    // The newest stays, however large: it is what somebody is about to look for.
    while (total > max_bytes && files.size() > 1) {
        const auto file = next_to_go(files, options_.max_bytes, spare_rare);
        if (file + 1 == files.end()) break;
        std::error_code error;
        if (fs::remove(file->path, error)) {
            ++removed;
            fs::remove(report_of(file->path), error);
            log_info("removed {}: recordings may use {} MiB", file->path.string(),
                     options_.max_bytes >> 20);
        }
        if (error) log_warning("{} cannot be removed: {}", file->path.string(), error.message());
        if (!error) total -= file->bytes;
        files.erase(file);
    }
    return removed;
}

}  // namespace gs::serve
