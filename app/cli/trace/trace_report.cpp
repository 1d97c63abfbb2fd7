#include "app/cli/trace/trace_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/report.h"
#include "base/format.h"
#include "base/shortened.h"
#include "profiler/analysis/collectives.h"
#include "profiler/analysis/machine_use.h"
#include "profiler/analysis/span_summary.h"
#include "profiler/files/export_lanes.h"
#include "profiler/files/loss_reasons.h"
#include "profiler/store/kernel_kinds.h"
#include "profiler/store/process_labels.h"

namespace gs::cli {
namespace {

constexpr std::size_t kTopKernels = 15, kTopCalls = 10, kNameWidth = 64;

std::size_t spans_of(const TraceTrack& track) {
    std::size_t count = 0;
    for (const auto& row : track.rows) count += row.size();
    return count;
}

std::string cut(std::string_view name) {
    return name.size() <= kNameWidth ? shortened(name)
                                     : shortened(whole_characters(name, kNameWidth - 3)) + "...";
}

NamedTime named(const TraceStore& store, const NameFigures& f) {
    return {store.name(f.name),
            f.stage,
            f.count,
            f.bytes,
            f.total_ms(),
            static_cast<double>(f.max_ns) * 1e-6};
}

/// Kernels by stage, or by the kinds of any deep learning program; the largest total first.
std::vector<NamedTime> grouped(const std::vector<NamedTime>& kernels, bool by_kind) {
    std::vector<NamedTime> out;
    for (const NamedTime& kernel : kernels) {
        const std::string_view name = by_kind ? kernel_kind(kernel.name) : name_of(kernel.stage);
        auto row = std::ranges::find(out, name, &NamedTime::name);
        if (row == out.end()) row = out.insert(out.end(), {name, kernel.stage});
        row->count += kernel.count;
        row->total_ms += kernel.total_ms;
        row->max_ms = std::max(row->max_ms, kernel.max_ms);
    }
    std::ranges::stable_sort(out, std::greater{}, &NamedTime::total_ms);
    return out;
}

Json stages_json(const std::vector<StageStats>& stats) {
    Json out = Json::array();
    for (const StageStats& s : stats)
        out.push_back({{"name", name_of(s.stage)},
                       {"calls", s.calls},
                       {"ms_mean", number(s.mean_ms)},
                       {"ms_p50", number(s.p50_ms)},
                       {"ms_p95", number(s.p95_ms)},
                       {"ms_max", number(s.max_ms)},
                       {"ms_total", number(s.total_ms)}});
    return out;
}

void print_stages(const char* title, const std::vector<StageStats>& stats) {
    if (stats.empty()) return;
    fmt::print("  {:<20} {:>9} {:>11} {:>11} {:>11} {:>12}   milliseconds\n", title, "calls", "p50",
               "p95", "max", "total");
    for (const StageStats& s : stats)
        fmt::print("    {:<18} {:>9} {:>11.3f} {:>11.3f} {:>11.3f} {:>12.2f}\n", name_of(s.stage),
                   s.calls, s.p50_ms, s.p95_ms, s.max_ms, s.total_ms);
}

/// `share_of`: the total that shares are of, 0: no shares.
void print_times(const char* title, const std::vector<NamedTime>& rows, std::size_t most,
                 double share_of, bool with_stage) {
    if (rows.empty()) return;
    fmt::print("  {:<20} {:>9} {:>12} {:>11} {:>11}\n", title, "count", "total ms", "mean us",
               "max us");
    for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
        const NamedTime& r = rows[i];
        fmt::print("    {:>18} {:>9} {:>12.3f} {:>11.2f} {:>11.2f}  {}{}\n",
                   share_of > 0 ? fmt::format("{:.1f} %", r.total_ms / share_of * 100) : "",
                   r.count, r.total_ms, r.total_ms * 1e3 / static_cast<double>(r.count),
                   r.max_ms * 1e3, cut(r.name),
                   with_stage ? fmt::format("  [{}]", name_of(r.stage)) : "");
    }
    if (rows.size() > most) fmt::print("    {:>18} {} more\n", "", rows.size() - most);
}

void print_copies(const std::vector<NamedTime>& rows) {
    if (rows.empty()) return;
    fmt::print("  {:<20} {:>9} {:>12} {:>11} {:>11}\n", "copies and fills", "count", "total ms",
               "MB", "GB/s");
    for (const NamedTime& r : rows)
        fmt::print("    {:>18} {:>9} {:>12.3f} {:>11.3f} {:>11.2f}  {}\n", "", r.count, r.total_ms,
                   static_cast<double>(r.bytes) * 1e-6,
                   r.total_ms > 0 ? static_cast<double>(r.bytes) * 1e-6 / r.total_ms : 0,
                   cut(r.name));
}

void print_process(const TraceStore& store, std::uint32_t index) {
    const TraceProcess& process = store.processes()[index];
    std::string labels;
    for (const std::string& label : label_texts(process.labels)) labels += "  " + label;
    fmt::print("  process {}  {}{}\n", process.pid, shortened(process.name), shortened(labels));
    if (!process.labels.command.empty()) fmt::print("    {}\n", cut(process.labels.command));
    for (const GpuDeviceEvent& d : process.devices)
        fmt::print("    GPU {}: {}{}\n", d.device, cut(d.name),
                   d.multiprocessors == 0
                       ? ", " + cut(d.uuid)
                       : fmt::format(", sm_{}{}, {} multiprocessors", d.compute_major,
                                     d.compute_minor, d.multiprocessors));
    for (const TraceTrack& track : store.tracks())
        if (track.process == index)
            fmt::print("    {:<11} {}  {}, {}\n", kind_text(track.kind), shortened(track.name),
                       counted(spans_of(track), "span"), counted(track.rows.size(), "row"));
    const std::string machine =
        machine_text(machine_use(store, index, store.begin_ns(), store.end_ns()));
    if (!machine.empty()) fmt::print("    machine: {}\n", machine);
    std::string losses;
    for (const auto& [reason, count] : losses_of(process.loss, process.service, 0))
        losses += fmt::format("{}{} {}", losses.empty() ? "" : ", ", count, reason);
    if (!losses.empty())
        fmt::print("    lost while recording: {} records ({})\n", process.loss.total(), losses);
}

/// Open ranges of threads when their process ended or was killed.
void print_open(const TraceStore& store, const OpenRanges& open) {
    if (open.count() == 0) return;
    fmt::print("  open at the end\n");
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        if (open.of(t).empty()) continue;
        std::string ranges;
        for (const OpenRange& range : open.of(t))
            ranges += fmt::format("{}{} ({:.6f} s)", ranges.empty() ? "" : " > ",
                                  cut(store.name(range.span.name)),
                                  static_cast<double>(range.span.length_ns()) * 1e-9);
        fmt::print("    {}  {}: {}\n", store.processes()[store.tracks()[t].process].pid,
                   shortened(store.tracks()[t].name), ranges);
    }
}

Json open_json(const TraceStore& store, const OpenRanges& open) {
    Json out = Json::array();
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (const OpenRange& range : open.of(t))
            out.push_back({{"name", store.name(range.span.name)},
                           {"track", t},
                           {"begin_ns", range.span.begin_ns},
                           {"end_ns", range.span.end_ns}});
    return out;
}

/// Collectives by operation; the rate counts those with known bytes, over the time of a rank.
struct OperationTime {
    std::string_view operation;
    bool on_gpu = false;
    std::uint64_t count = 0, bytes = 0, told_bytes = 0;
    double total_ms = 0, told_ms = 0;  ///< of all; of those with bytes whose length is known
    double gb_s() const { return static_cast<double>(told_bytes) * 1e-6 / told_ms; }
};
std::vector<OperationTime> collective_times(const TraceStore& store) {
    std::vector<OperationTime> out;
    for (const auto& of_process : collectives(store))
        for (const Collective& c : of_process) {
            auto row = std::ranges::find_if(out, [&](const OperationTime& r) {
                return r.operation == c.operation && r.on_gpu == c.on_gpu;
            });
            if (row == out.end()) row = out.insert(out.end(), {c.operation, c.on_gpu});
            const double ms = static_cast<double>(c.end_ns - c.begin_ns) * 1e-6;
            ++row->count;
            row->bytes += c.bytes;
            row->total_ms += ms;
            if (c.bytes == 0 || c.enqueues) continue;
            row->told_bytes += c.bytes;
            row->told_ms += ms;
        }
    std::ranges::stable_sort(out, std::greater{}, &OperationTime::total_ms);
    return out;
}

void print_collectives(const std::vector<OperationTime>& rows) {
    if (rows.empty()) return;
    fmt::print("  {:<20} {:>9} {:>12} {:>11} {:>11}\n", "collectives", "count", "total ms", "MB",
               "GB/s");
    for (const OperationTime& r : rows)
        fmt::print("    {:>18} {:>9} {:>12.3f} {:>11} {:>11}  {}\n", r.on_gpu ? "GPU" : "host",
                   r.count, r.total_ms,
                   r.bytes > 0 ? fmt::format("{:.3f}", static_cast<double>(r.bytes) * 1e-6) : "",
                   r.told_ms > 0 ? fmt::format("{:.3f}", r.gb_s()) : "", cut(r.operation));
}

Json collectives_json(const std::vector<OperationTime>& rows) {
    Json out = Json::array();
    for (const OperationTime& r : rows) {
        Json row{{"name", r.operation},
                 {"on_gpu", r.on_gpu},
                 {"count", r.count},
                 {"ms_total", r.total_ms}};
        if (r.bytes > 0) row["bytes"] = r.bytes;
        if (r.told_ms > 0) row["gb_per_s"] = r.gb_s();
        out.push_back(std::move(row));
    }
    return out;
}

Json times_json(const std::vector<NamedTime>& rows, bool with_stage, bool with_bytes) {
    Json out = Json::array();
    for (const NamedTime& r : rows) {
        Json row{
            {"name", r.name}, {"count", r.count}, {"ms_total", r.total_ms}, {"ms_max", r.max_ms}};
        if (with_stage) row["stage"] = name_of(r.stage);
        if (with_bytes) row["bytes"] = r.bytes;
        out.push_back(std::move(row));
    }
    return out;
}

Json process_json(const TraceStore& store, std::uint32_t index) {
    const TraceProcess& process = store.processes()[index];
    Json devices = Json::array();
    for (const GpuDeviceEvent& d : process.devices)
        devices.push_back(
            {{"device", d.device}, {"name", d.name}, {"multiprocessors", d.multiprocessors}});
    Json out{{"pid", process.pid},
             {"name", process.name},
             {"labels", label_texts(process.labels)},
             {"command", process.labels.command},
             {"gpus", devices},
             {"machine", machine_json(machine_use(store, index, store.begin_ns(), store.end_ns()))},
             {"lost",
              {{"lapped", process.loss.lapped},
               {"dropped", process.loss.dropped},
               {"malformed", process.loss.malformed},
               {"untimed", process.loss.untimed},
               {"too_deep", process.loss.too_deep},
               {"forgotten", process.loss.forgotten},
               {"unexplained", process.loss.unexplained}}}};
    if (process.service)
        out["service"] = {{"cupti_dropped", process.service->cupti_dropped},
                          {"budget_skipped", process.service->budget_skipped}};
    return out;
}

}  // namespace

const char* kind_text(TrackKind kind) {
    constexpr const char* kTexts[] = {"thread", "GPU stream", "CUDA calls", "overlapping",
                                      "overhead"};
    return kTexts[static_cast<std::size_t>(kind)];
}

GpuTotals gpu_totals(const TraceStore& store) {
    GpuTotals out;
    for (const NameFigures& f : totals_by_name(store)) {
        if (f.kind == TrackKind::api) out.calls.push_back(named(store, f));
        if (!f.work) continue;
        const bool moves = *f.work == GpuWorkKind::copy || *f.work == GpuWorkKind::fill;
        (moves ? out.copies : out.kernels).push_back(named(store, f));
        if (!moves) out.kernel_ms += f.total_ms();
    }
    const auto splats = [](const NamedTime& kernel) { return is_splatting(kernel.stage); };
    out.by_kind = !out.kernels.empty() && std::ranges::none_of(out.kernels, splats);
    out.stages = grouped(out.kernels, out.by_kind);
    return out;
}

std::string lost_on_reading(const ImportSummary& read, const TraceStore& store) {
    const Timeline& timeline = store.timeline();
    std::string out;
    const auto lost = [&](std::uint64_t count, const char* what) {
        if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
    };
    lost(read.lost, "events of the file");
    lost(timeline.misplaced(), "spans that fit no row");
    lost(timeline.forgotten(), "spans that did not fit in memory");
    if (read.cut) out += out.empty() ? "the part that was cut off" : ", the part that was cut off";
    return out;
}

void print_trace(const std::string& path, const ImportSummary& read, const TraceStore& store) {
    fmt::print("{}\n  {}, {:.6f} s, {}, {}, {}", path, read.format,
               static_cast<double>(store.end_ns() - store.begin_ns()) * 1e-9,
               counted(read.spans, "span"), counted(read.instants, "instant"),
               counted(read.points, "counter value"));
    if (read.work > 0) fmt::print(", {} of GPU work", counted(read.work, "piece"));
    if (read.calls > 0) fmt::print(", {}", counted(read.calls, "CUDA call"));
    if (read.samples > 0) fmt::print(", {} of call stacks", counted(read.samples, "sample"));
    fmt::print("\n");
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) print_process(store, p);
    print_open(store, OpenRanges(store));
    print_stages("stages, CPU", store.frames().statistics(StatScope::call, kAllCalls));
    const GpuTotals gpu = gpu_totals(store);
    if (gpu.stages.empty())
        print_stages("stages, GPU", store.frames().gpu_statistics(StatScope::call, kAllCalls));
    print_times(gpu.by_kind ? "kernels by kind" : "kernels by stage", gpu.stages, kStageCount,
                gpu.kernel_ms, false);
    print_times("kernels", gpu.kernels, kTopKernels, gpu.kernel_ms, !gpu.by_kind);
    print_copies(gpu.copies);
    print_collectives(collective_times(store));
    print_times("CUDA calls", gpu.calls, kTopCalls, 0, false);
    if (store.timeline().misplaced() > 0)
        fmt::print("  skipped: {} that fit no row\n",
                   counted(store.timeline().misplaced(), "span"));
    if (store.timeline().forgotten() > 0)
        fmt::print("  dropped: the oldest {}\n", counted(store.timeline().forgotten(), "span"));
    if (gpu.by_kind)
        fmt::print(
            "  note: no kernel belongs to 3D Gaussian Splatting; kernels are listed by kind\n");
    for (const std::string& note : read.notes) fmt::print("  note: {}\n", note);
}

Json trace_json(const std::string& path, const ImportSummary& read, const TraceStore& store) {
    Json tracks = Json::array(), processes = Json::array();
    for (std::uint32_t p = 0; p < store.processes().size(); ++p)
        processes.push_back(process_json(store, p));
    for (const TraceTrack& track : store.tracks())
        tracks.push_back({{"name", track.name},
                          {"kind", kind_text(track.kind)},
                          {"process", track.process},
                          {"pid", track.pid},
                          {"tid", track.tid},
                          {"spans", spans_of(track)},
                          {"depth", track.rows.size()}});
    const GpuTotals gpu = gpu_totals(store);
    return {{"command", "trace"},
            {"path", path},
            {"format", read.format},
            {"process", store.sources().process_name()},
            {"begin_ns", store.begin_ns()},
            {"end_ns", store.end_ns()},
            {"spans", read.spans},
            {"gpu_work", read.work},
            {"cuda_calls", read.calls},
            {"stack_samples", read.samples},
            {"instants", read.instants},
            {"counter_values", read.points},
            {"processes", processes},
            {"tracks", tracks},
            {"stages", stages_json(store.frames().statistics(StatScope::call, kAllCalls))},
            {"gpu_stages", stages_json(store.frames().gpu_statistics(StatScope::call, kAllCalls))},
            {gpu.by_kind ? "kernels_by_kind" : "kernels_by_stage",
             times_json(gpu.stages, false, false)},
            {"kernels", times_json(gpu.kernels, true, false)},
            {"copies", times_json(gpu.copies, false, true)},
            {"collectives", collectives_json(collective_times(store))},
            {"calls", times_json(gpu.calls, false, false)},
            {"lost", store.sources().loss().total()},
            {"misplaced", store.timeline().misplaced()},
            {"forgotten", store.timeline().forgotten()},
            {"open", open_json(store, OpenRanges(store))},
            {"skipped", read.skipped},
            {"missed", read.lost},
            {"cut", read.cut},
            {"notes", read.notes}};
}

}  // namespace gs::cli
