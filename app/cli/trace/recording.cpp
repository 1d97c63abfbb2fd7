#include "app/cli/trace/recording.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/trace/trace_export.h"
#include "base/beside_program.h"
#include "base/full_disk.h"
#include "base/shortened.h"
#include "base/try.h"
#include "profiler/analysis/pauses.h"
#include "profiler/analysis/span_summary.h"
#include "profiler/files/export_lanes.h"
#include "profiler/insights/insight.h"
#include "profiler/store/node_gpus.h"

namespace gs::cli {
namespace {

constexpr std::size_t kShown = 8;

std::uint64_t tracks_of(const TraceStore& store, TrackKind kind) {
    return static_cast<std::uint64_t>(std::ranges::count_if(store.tracks(), [&](const auto& t) {
        return t.kind == kind &&
               std::ranges::any_of(t.rows, [](const auto& r) { return r.size() > 0; });
    }));
}

/// Content of a trace, by name. Nested ranges count for both.
struct Contents {
    std::vector<NameFigures> ranges, gpu;
    std::uint64_t range_count = 0, gpu_count = 0, api_count = 0;
    explicit Contents(const TraceStore& store) {
        for (const NameFigures& f : totals_by_name(store)) {
            if (f.kind == TrackKind::thread) ranges.push_back(f);
            if (f.kind == TrackKind::gpu_stream) gpu.push_back(f);
            if (f.kind == TrackKind::gpu_stream) gpu_count += f.count;
            if (f.kind == TrackKind::api) api_count += f.count;
            if (f.kind == TrackKind::thread || f.kind == TrackKind::overlapping)
                range_count += f.count;
        }
    }
};

void print_totals(const TraceStore& store, const char* title,
                  const std::vector<NameFigures>& totals) {
    if (totals.empty()) return;
    fmt::print(stderr, "  {:<48} {:>9} {:>12} {:>10}   milliseconds\n", title, "calls", "total",
               "mean");
    for (std::size_t i = 0; i < std::min(totals.size(), kShown); ++i) {
        std::string name = shortened(store.name(totals[i].name));
        if (name.size() > 46) name = std::string(whole_characters(name, 43)) + "...";
        fmt::print(stderr, "    {:<46} {:>9} {:>12.2f} {:>10.4f}\n", name, totals[i].count,
                   totals[i].total_ms(), totals[i].mean_ns() * 1e-6);
    }
    if (totals.size() > kShown) fmt::print(stderr, "    and {} more\n", totals.size() - kShown);
}

Json totals_json(const TraceStore& store, const std::vector<NameFigures>& totals) {
    Json out = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(totals.size(), 100); ++i)
        out.push_back({{"name", store.name(totals[i].name)},
                       {"calls", totals[i].count},
                       {"ms_total", number(totals[i].total_ms())}});
    return out;
}

std::string who(const TraceProcess& process) {
    std::string text = fmt::format("{} ({})", process.name, process.pid);
    if (process.labels.rank >= 0) text += fmt::format(" rank {}", process.labels.rank);
    return text;
}

/// Why a process's GPU work is missing or incomplete; empty: there is nothing to say.
std::string cupti_remark(const TraceProcess& process) {
    if (!process.service) return "";
    const ServiceStatus& s = *process.service;
    const std::string because = s.cupti_reason.empty() ? "" : ": " + s.cupti_reason;
    if (s.cupti == abi::CuptiState::held)
        return fmt::format(
            "{}: another tool holds CUPTI, so kernels and CUDA calls are missing{}. "
            "Run without it (torch.profiler, nsys, ncu), or take only one of the two",
            who(process), because);
    if (s.cupti == abi::CuptiState::unavailable)
        return fmt::format("{}: kernels and CUDA calls could not be recorded{}", who(process),
                           because);
    if (s.cupti == abi::CuptiState::released)
        return fmt::format("{}: CUPTI was released on request; kernels since then are missing",
                           who(process));
    return "";
}

void add_losses(const TraceProcess& process, std::vector<std::string>& out) {
    const auto lost = [&](std::uint64_t count, const char* what) {
        if (count > 0) out.push_back(fmt::format("{}: {} {}", who(process), count, what));
    };
    lost(process.loss.lapped, "records were overwritten before they were read (machine too busy)");
    lost(process.loss.dropped, "records were dropped: more threads than lanes in the ring");
    lost(process.loss.too_deep,
         "ranges were dropped: too many open (64 nested, 4096 by start and end)");
    lost(process.loss.malformed, "records were malformed and skipped");
    lost(process.loss.dropped_strings, "names did not fit and are empty");
    if (!process.service) return;
    lost(process.service->cupti_dropped, "GPU records were lost by CUPTI");
    lost(process.service->budget_skipped, "ranges were skipped to hold the budget");
    if (process.service->lost_descriptors > 0)
        out.push_back(fmt::format(
            "{}: the program closed gausscope's connection; ranges after that may be missing",
            who(process)));
}

/// Data skipped during the budget's pauses; empty: none.
std::string pause_remark(const TraceStore& store, std::uint32_t index) {
    const TraceProcess& process = store.processes()[index];
    const auto paused_s = [&](gs::Unrecorded what) {
        return 1e-9 * static_cast<double>(length_of(pauses_of(store, index, what)));
    };
    const double gpu = paused_s(gs::Unrecorded::gpu), ranges = paused_s(gs::Unrecorded::ranges);
    if (!process.service || process.service->budget <= 0 || gpu + ranges <= 0) return "";
    const double whole = 1e-9 * static_cast<double>(store.end_ns() - store.begin_ns());
    return fmt::format(
        "{}: to hold the budget of {:.3g} %, for {:.1f} s of {:.1f} s no GPU work was recorded and "
        "for {:.1f} s no ranges",
        who(process), 100 * process.service->budget, gpu, whole, ranges);
}

/// Open ranges of a process's threads when it ended or was killed; may be empty.
std::string open_remark(const TraceStore& store, const OpenRanges& open, std::uint32_t index) {
    std::string out;
    std::size_t threads = 0;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        if (store.tracks()[t].process != index || open.of(t).empty()) continue;
        if (++threads > kShown) continue;
        std::string ranges;
        for (const OpenRange& range : open.of(t))
            ranges += (ranges.empty() ? "" : " > ") + std::string(store.name(range.span.name));
        out += fmt::format("{}{} in {}", out.empty() ? "" : "; ", store.tracks()[t].name, ranges);
    }
    if (threads == 0) return "";
    if (threads > kShown) out += fmt::format("; and {} more threads", threads - kShown);
    return fmt::format("{}: ranges were open when it ended: {}", who(store.processes()[index]),
                       out);
}

Json process_json(const TraceProcess& p) {
    Json out{{"pid", p.pid}, {"name", p.name}, {"written", p.written}, {"lost", p.loss.total()}};
    const ProcessLabels& l = p.labels;
    if (l.rank >= 0) out["rank"] = l.rank;
    if (!l.job.empty()) out["job"] = l.job;
    if (!l.pod.empty()) out["pod"] = l.pod;
    if (!l.command.empty()) out["command"] = l.command;
    if (!l.job_name.empty()) out["job_name"] = l.job_name;
    if (!l.commit.empty()) out["commit"] = l.commit;
    if (p.service) {
        out["service_cpu_ms"] = number(static_cast<double>(p.service->service_cpu_ns) * 1e-6);
        out["cupti_reason"] = p.service->cupti_reason;
    }
    return out;
}

/// Ends of spans in order, of 16,384 or less: the newest half, quarter, ... of a trace begins with
/// the newest half of them, where time may hold all within an instant. 64 times beside them.
std::vector<std::int64_t> some_ends(const TraceStore& store) {
    std::vector<std::int64_t> ends;
    for (std::int64_t i = 0, all = store.end_ns() - store.begin_ns(); i < 64; ++i)
        ends.push_back(store.begin_ns() + all / 64 * i);
    for (const auto& track : store.tracks())
        for (const auto& row : track.rows)
            for (std::size_t i = 0; i < row.size(); i += 1 + store.span_count() / 16384)
                ends.push_back(row.view()[i].end_ns);
    std::ranges::sort(ends);
    return ends;
}

}  // namespace

ProcessRecording::ProcessRecording(RecordingOptions options)
    : options_(std::move(options)), store_([&] {
          TraceStoreOptions o{.max_bytes = static_cast<std::size_t>(options_.memory_mib) << 20};
          o.max_spans = o.max_bytes / sizeof(TraceSpan);
          o.max_calls = o.max_points = std::size_t{1} << 20;
          return o;
      }()) {}

Result<std::unique_ptr<ProcessRecording>> ProcessRecording::start(RecordingOptions options) {
    std::unique_ptr<ProcessRecording> out(new ProcessRecording(std::move(options)));
    out->options_.collector.devices.emplace();
    GS_TRY(out->collector_, service::MultiCollector::start(out->options_.collector));
    return out;
}

void ProcessRecording::take() {
    collector_->drain_into(store_);
    if (sampler_) sampler_->take_into(store_);
}

void ProcessRecording::take_sampler(Result<std::unique_ptr<StackSampler>> sampler) {
    if (sampler)
        sampler_ = std::move(*sampler);
    else
        no_sampler_ = "no call stacks: " + sampler.error().text();
}

void ProcessRecording::sample_next_program(int hz) {
    take_sampler(StackSampler::of_next_program({.hz = hz}));
}

void ProcessRecording::sample_process(std::uint32_t pid, int hz) {
    take_sampler(StackSampler::of_process(pid, {.hz = hz}));
}

void ProcessRecording::finish() {
    collector_->finish(store_);
    if (sampler_) sampler_->finish(store_);
    end_ = std::chrono::steady_clock::now();
}

double ProcessRecording::seconds() const {
    return std::chrono::duration<double>(end_ - begin_).count();
}

Result<void> ProcessRecording::write_part(const TraceStore& part, const fs::path& path) {
    GS_TRY(ExportNotes notes, export_trace(part, path));
    written_ = path;
    for (const std::string& lost : notes.lost)
        written_notes_.push_back(fmt::format("not in {}: {}", path.string(), lost));
    written_notes_.insert(written_notes_.end(), notes.notes.begin(), notes.notes.end());
    return {};
}

Result<void> ProcessRecording::write(const fs::path& path) {
    auto done = write_part(store_, path);
    if (done || !is_of_disk(done.error())) return done;
    const mode_t usual = ::umask(S_IRWXG | S_IRWXO);  // another folder may be everybody's
    if (!rescue(path))
        written_notes_.push_back("no other folder has space for any of it; the recording is lost");
    ::umask(usual);
    return done;
}

/// The disk of `path` is full: the whole trace into another folder, else the newest part that fits
/// in one of them. Nothing that exists is overwritten.
bool ProcessRecording::rescue(const fs::path& path) {
    std::error_code error;
    const fs::path folders[] = {fs::absolute(path).parent_path(), fs::current_path(error),
                                fs::temp_directory_path(error)};
    const std::int64_t end = store_.end_ns();
    const std::vector<std::int64_t> ends = some_ends(store_);
    for (int i = 0; ends.size() >> i > 0; ++i) {
        const std::int64_t begin = ends[ends.size() - (ends.size() >> i)];
        const TraceStore part = i == 0 ? TraceStore() : store_.excerpt(begin, end);
        for (const fs::path& folder : folders) {
            if (i == 0 && folder == folders[0]) continue;  // has just failed
            fs::path file = folder / path.filename();
            if (folder != folders[0] && fs::exists(file, error))
                file = folder / fmt::format("{}-{}", ::getpid(), path.filename().string());
            if (!write_part(i == 0 ? store_ : part, file)) continue;
            written_notes_.push_back(
                fmt::format("the disk of {} is full: {} is in {}", path.string(),
                            i == 0 ? "the whole trace"
                                   : fmt::format("the end of the trace, {:.3g} s,",
                                                 1e-9 * static_cast<double>(end - begin)),
                            file.string()));
            return true;
        }
    }
    return false;
}

std::vector<std::string> ProcessRecording::remarks() {
    std::vector<std::string> out;
    const OpenRanges open(store_);
    for (const TraceProcess& process : store_.processes()) {
        if (auto remark = cupti_remark(process); !remark.empty()) out.push_back(std::move(remark));
        add_losses(process, out);
        const auto index = static_cast<std::uint32_t>(&process - store_.processes().data());
        if (auto remark = pause_remark(store_, index); !remark.empty())
            out.push_back(std::move(remark));
        if (auto remark = open_remark(store_, open, index); !remark.empty())
            out.push_back(std::move(remark));
    }
    out.insert(out.end(), written_notes_.begin(), written_notes_.end());
    if (!no_sampler_.empty()) out.push_back(no_sampler_);
    if (sampler_)
        for (std::string& remark : sampler_->remarks()) out.push_back(std::move(remark));
    for (const service::SourceState& source : collector_->sources())
        if (!source.note.empty())
            out.push_back(fmt::format("{} ({}): {}{}", source.name, source.pid,
                                      source.read ? "" : "not recorded: ", source.note));
    if (store_.timeline().forgotten() > 0)
        out.push_back(fmt::format(
            "the oldest {} spans were dropped: {} MiB of memory were full (raise --memory)",
            store_.timeline().forgotten(), options_.memory_mib));
    if (store_.timeline().misplaced() > 0)
        out.push_back(
            fmt::format("{} spans fit no row and were skipped", store_.timeline().misplaced()));
    const Contents contents(store_);
    const bool any = contents.gpu_count + contents.range_count > 0;
    if (!found_any() || any || !store_.samples().empty()) return out;
    out.push_back(
        "the trace has neither NVTX ranges nor GPU work. Ranges come from "
        "torch.cuda.nvtx.range_push(\"step\") or the nvtx package; kernels appear when the program "
        "uses CUDA through its driver");
    return out;
}

void ProcessRecording::print(std::vector<std::string> notes) {
    const Contents contents(store_);
    std::string recorded;
    for (const TraceProcess& process : store_.processes())
        if (!is_node_gpus(process)) recorded += (recorded.empty() ? ", " : "; ") + who(process);
    fmt::print(stderr, "gausscope: {:.1f} s{}\n", seconds(), recorded);
    if (found_any())
        fmt::print(
            stderr,
            "  {} ranges on {} threads, {} pieces of GPU work on {} streams, {} CUDA calls\n",
            contents.range_count, tracks_of(store_, TrackKind::thread), contents.gpu_count,
            tracks_of(store_, TrackKind::gpu_stream), contents.api_count);
    if (const auto samples = store_.samples().count(); samples > 0)
        fmt::print(stderr, "  {} samples of call stacks\n", samples);
    print_totals(store_, "ranges", contents.ranges);
    print_totals(store_, "GPU", contents.gpu);
    for (std::string& remark : remarks()) notes.push_back(std::move(remark));
    for (const std::string& note : notes) fmt::print(stderr, "  note: {}\n", note);
    if (options_.insights && found_any())
        fmt::print(stderr, "{}", insights_text(store_, find_insights(store_)));
    if (written_.empty()) return;
    std::error_code error;
    fmt::print(
        stderr, "  written: {} ({}){}\n", written_.string(),
        human_bytes(fs::file_size(written_, error)),
        written_.extension() == ".pftrace"
            ? fmt::format("; open it with gausscope {} or ui.perfetto.dev", written_.string())
            : "");
}

Json ProcessRecording::json() {
    const Contents contents(store_);
    Json out{{"seconds", number(seconds())}, {"processes", Json::array()}};
    for (const TraceProcess& process : store_.processes())
        if (!is_node_gpus(process)) out["processes"].push_back(process_json(process));
    out.update({{"ranges", contents.range_count},
                {"gpu_work", contents.gpu_count},
                {"cuda_calls", contents.api_count},
                {"stack_samples", store_.samples().count()},
                {"lost", store_.sources().loss().total()},
                {"forgotten", store_.timeline().forgotten()},
                {"top_ranges", totals_json(store_, contents.ranges)},
                {"top_gpu", totals_json(store_, contents.gpu)},
                {"notes", remarks()}});
    if (!written_.empty()) out["trace"] = written_.string();
    if (options_.insights) out["insights"] = insights_json(store_, find_insights(store_));
    return out;
}

void warn_of_little_space(const fs::path& output, int memory_mib) {
    std::error_code error;
    const std::uint64_t free = fs::space(fs::absolute(output).parent_path(), error).available;
    const std::uint64_t most = std::uint64_t{static_cast<unsigned>(memory_mib)} << 20;
    if (error || free >= most / 2) return;  // ranges take half as many bytes there as in memory
    fmt::print(stderr,
               "gausscope: {} are free in the folder of {}; a trace of --memory {} may need {}\n",
               human_bytes(free), output.string(), memory_mib, human_bytes(most / 2));
}

Result<fs::path> injection_library() {
    return beside_program("libgausscope_inject.so", {"", "../lib"},
                          "the injection library is missing");
}

Result<fs::path> pytorch_folder() {
    return beside_program("pytorch", {"", "../share/gausscope"},
                          "the module for Python programs is missing");
}

std::string default_trace_name(const std::vector<std::string>& command, std::time_t now) {
    const auto is_script = [](const std::string& word) {
        return word.ends_with(".py") || word.ends_with(".sh") || word.ends_with(".pl");
    };
    const auto script = std::ranges::find_if(command, is_script);
    const fs::path named = script != command.end() ? *script
                           : command.empty()       ? "recording"
                                                   : command.front();
    std::string stem = named.stem().string();
    if (stem.empty()) stem = "recording";
    return fmt::format("{}-{:%Y%m%d-%H%M%S}.pftrace", stem, fmt::localtime(now));
}

}  // namespace gs::cli
