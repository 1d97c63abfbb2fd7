#include "panels/trace/stages_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "base/format.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/frame_ranges.h"
#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::array<const char*, 4> kScopeTitles{"per iteration", "per view frame", "per UI frame",
                                                  "per call"};
constexpr float kLeastCell = 2.4F, kSwatch = 1.5F, kLowestWithHistory = 20;  // em
constexpr double kTables = 0.05;  ///< Adam within this share of project backward is fused with it
constexpr double kLittle = 0.03;  ///< of the frames' time: not worth rows of their own
constexpr std::size_t kRangesListed = 12;
constexpr std::array<int, 4> kWindows{64, 256, 1024, 8192};

/// Three digits; the unit is in the table's head.
std::string milliseconds(double value) {
    if (!std::isfinite(value)) return "-";
    return fmt::format("{:.{}f}", value,
                       std::abs(value) < 9.995   ? 2
                       : std::abs(value) < 99.95 ? 1
                                                 : 0);
}

std::string age_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    if (seconds < 0.95) return "now";
    return seconds < 99.5   ? fmt::format("{:.0f} s", seconds)
           : seconds < 5940 ? fmt::format("{:.0f} min", seconds / 60)
                            : fmt::format("{:.0f} h", seconds / 3600);
}

std::string whole_share(double share) {
    return share >= 0.9995 && share < 1.0005 ? "100 %" : format_share(share);
}

double mean_of(const StageStats& stats) { return stats.samples > 0 ? stats.mean_ms : NAN; }

void stage_cell(Stage stage, std::string_view name, double share) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    if (std::isfinite(share))
        ImGui::GetWindowDrawList()->AddRectFilled(
            {at.x, at.y},
            {at.x + width * static_cast<float>(std::clamp(share, 0.0, 1.0)), at.y + 1.1F * em()},
            with_alpha(stage_color(stage), 60), 2);
    stage_label(stage, name);
}

}  // namespace

void StagesPanel::draw_tabs() {
    const auto tab = [&](View which, const char* label, const char* hint) {
        if (lit_button(label, view == which, hint)) view = which;
    };
    tab(View::times, "Times", "Time of each stage, on the CPU and on the GPU");
    ImGui::SameLine(0, 2);
    tab(View::limits, "Limits", "How close each stage is to this machine's lower bound");
    ImGui::SameLine(0, 2);
    tab(View::other_gpus, "Other GPUs", "Predicted times on other GPUs");
}

void StagesPanel::draw_controls(std::size_t frames) {
    int chosen = static_cast<int>(scope);
    ImGui::SetNextItemWidth(7.6F * em());
    if (ImGui::Combo("##scope", &chosen, kScopeTitles.data(),
                     static_cast<int>(kScopeTitles.size()))) {
        scope = static_cast<StatScope>(chosen);
        range.fit = true;
    }
    tooltip(
        "One sample is a training iteration, a picture for the viewport, a frame of this window, "
        "or every single call");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(4.2F * em());
    if (ImGui::BeginCombo("##window", fmt::format("{}", last_n).c_str())) {
        for (const int n : kWindows)
            if (ImGui::Selectable(fmt::format("Last {}", n).c_str(), n == last_n)) last_n = n;
        ImGui::EndCombo();
    }
    tooltip(
        "Number of newest samples in the statistics; warm-up and samples with lost records are "
        "ignored. Recorded: " +
        format_count(static_cast<double>(frames)));
    ImGui::SameLine();
    ImGui::SetNextItemWidth(4 * em());
    if (ImGui::BeginCombo("##side", shows_gpu() ? "GPU" : "CPU")) {
        if (ImGui::Selectable("CPU", !shows_gpu())) side = Side::cpu;
        if (ImGui::Selectable("GPU", shows_gpu())) side = Side::gpu;
        ImGui::EndCombo();
    }
    tooltip(
        "Show percentiles, share, count, age and history of this; the two columns of means are "
        "always there. GPU time is the work that a sample launched, even if it ran later");
}

void StagesPanel::draw_stage(const Row& row) const {
    const StageStats& stats = shows_gpu() ? row.gpu : row.cpu;
    const bool known = stats.samples > 0;
    stage_cell(row.stage, row.name,
               row.stage == frame_stage_of(scope) || !known ? NAN : stats.share);
    if (known)
        tooltip(fmt::format("{} on the {}: {} calls in {} samples, min {}, p99 {}, max {}{}",
                            row.name, shows_gpu() ? "GPU" : "CPU", stats.calls, stats.samples,
                            format_ms(stats.min_ms), format_ms(stats.p99_ms),
                            format_ms(stats.max_ms),
                            std::isfinite(stats.self_mean_ms)
                                ? ", without inner spans " + format_ms(stats.self_mean_ms)
                                : std::string()) +
                row.note);
}

StagesPanel::Widths StagesPanel::widths(float room) const {
    float name = 5.6F;
    for (const Row& row : rows_)
        name = std::max(name, ImGui::CalcTextSize(row.name.c_str()).x / em() + kSwatch);
    name = std::min(name, room / 2);
    const std::array<std::string_view, 5> order{"p99", "age", "count", shows_gpu() ? "CPU" : "GPU",
                                                "p95"};
    const auto cell_with = [&](std::size_t dropped) {
        return (room - name - 1.4F) / static_cast<float>(8 - dropped) - 0.35F;
    };
    std::size_t dropped = 0;
    while (cell_with(dropped) < kLeastCell && dropped < order.size()) ++dropped;
    return {name, std::max(cell_with(dropped), 2.0F), {order.begin(), order.begin() + dropped}};
}

Table StagesPanel::table(const Widths& widths, std::int64_t now_ns) const {
    const bool gpu = shows_gpu();
    const float cell = widths.cell;
    const auto column = [&](const char* title, CellFormat format, float width, auto value) {
        return ColumnOf<Row>{"", title, format, std::move(value), width, {}, SortOrder::descending};
    };
    const auto mean = [&](const char* title, StageStats Row::*of, bool shown) {
        return column(title, milliseconds, cell, [=](const Row& row) {
            return TableCell(mean_of(row.*of), shown ? Tone::normal : Tone::dim);
        });
    };
    const auto of_side = [&](const char* title, CellFormat format, float width, Tone tone,
                             auto value) {
        return column(title, format, width, [=](const Row& row) {
            const StageStats& stats = gpu ? row.gpu : row.cpu;
            const double v =
                stats.samples > 0 ? static_cast<double>(std::invoke(value, stats)) : NAN;
            return TableCell(v, format == age_text && v > 10 ? Tone::faint : tone);
        });
    };
    return table_of<Row>(std::span(rows_),
                         {{"", "stage, ms", nullptr,
                           [](const Row& row) { return static_cast<int>(row.stage); }, widths.name},
                          mean("CPU", &Row::cpu, !gpu),
                          mean("GPU", &Row::gpu, gpu),
                          of_side("p50", milliseconds, cell, Tone::normal, &StageStats::p50_ms),
                          of_side("p95", milliseconds, cell, Tone::normal, &StageStats::p95_ms),
                          of_side("p99", milliseconds, cell, Tone::normal, &StageStats::p99_ms),
                          of_side("share", whole_share, cell + 0.5F, Tone::dim, &StageStats::share),
                          of_side("count", format_count, cell, Tone::dim, &StageStats::samples),
                          of_side("age", age_text, cell, Tone::dim,
                                  [=](const StageStats& stats) { return stats.age_s(now_ns); })});
}

void StagesPanel::draw_table(const TraceStore& trace, bool above_history) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float history_height = above_history ? std::min(12 * em(), 0.42F * room.y) : 0;
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {0.16F * em(), 0.1F * em()});
    const Widths fitting = widths(room.x / em());
    gs::draw_table(
        table(fitting, trace.sources().read_ns()),
        {.id = "##stages",
         .flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX | ImGuiTableFlags_RowBg |
                  ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit |
                  ImGuiTableFlags_SortTristate | ImGuiTableFlags_NoKeepColumnsVisible,
         .size = {0, std::max(room.y - history_height - 0.4F * em(), 4 * em())},
         .frozen = 1,
         .tight = true,
         .dropped = fitting.dropped,
         .draw = {{"stage, ms", [this](std::size_t i) { draw_stage(rows_[i]); }}}});
    ImGui::PopStyleVar();
}

/// Share of what the frames kept their GPU stream busy for. The store's share is of the frames'
/// time on the CPU, which may be over long before the GPU's work is.
void StagesPanel::share_gpu_time(const TraceStore& trace) {
    double busy_ms = 0;
    std::size_t used = 0;
    const auto frames = trace.frames().history(scope);
    for (std::size_t i = frames.size(); i-- > 0 && used < static_cast<std::size_t>(last_n);) {
        if (frames[i].warm_up || frames[i].incomplete || !frames[i].gpu_complete) continue;
        busy_ms += static_cast<double>(frames[i].gpu_busy_ms);
        ++used;
    }
    for (StageStats& stats : gpu_rows_) stats.share = busy_ms > 0 ? stats.total_ms / busy_ms : NAN;
}

void StagesPanel::refresh(const TraceStore& trace) {
    // Statistics over thousands of frames cost milliseconds: a few times a second is what an eye
    // can follow.
    const double now = ImGui::GetTime();
    const bool changed = scope != rows_scope_ || last_n != rows_window_ || &trace != rows_of_;
    if (!changed && (trace.sources().records_written() == rows_written_ || now < rows_time_ + 0.2))
        return;
    if (&trace != rows_of_) range.fit = true;
    rows_of_ = &trace;
    cpu_rows_ = trace.frames().statistics(scope, static_cast<std::size_t>(last_n));
    gpu_rows_ = trace.frames().gpu_statistics(scope, static_cast<std::size_t>(last_n));
    share_gpu_time(trace);
    rows_.clear();
    for (std::size_t i = 0; i < kStageCount; ++i) {
        const auto stage = static_cast<Stage>(i);
        const auto is_it = [&](const StageStats& stats) {
            return stats.stage == stage && stats.samples > 0;
        };
        const auto cpu = std::ranges::find_if(cpu_rows_, is_it);
        const auto gpu = std::ranges::find_if(gpu_rows_, is_it);
        if (cpu == cpu_rows_.end() && gpu == gpu_rows_.end()) continue;
        Row row;
        row.stage = stage;
        row.name = name_of(stage);
        if (cpu != cpu_rows_.end()) row.cpu = *cpu;
        if (gpu != gpu_rows_.end()) row.gpu = *gpu;
        rows_.push_back(std::move(row));
    }
    join_adam(trace);
    list_ranges(trace);
    rows_scope_ = scope;
    rows_window_ = last_n;
    rows_written_ = trace.sources().records_written();
    rows_time_ = now;
}

/// Where Adam is a part of project backward (in both backends), its own spans hold only tables.
void StagesPanel::join_adam(const TraceStore& trace) {
    const auto row_of = [&](Stage stage) { return std::ranges::find(rows_, stage, &Row::stage); };
    const auto backward = row_of(Stage::project_backward), adam = row_of(Stage::adam);
    if (scope != StatScope::iteration || backward == rows_.end()) return;
    // Other programs' kernels are known by their names, which say nothing of Adam.
    const bool timed =
        backward->cpu.samples > 0 || std::ranges::any_of(trace.tracks(), [](const auto& t) {
            return t.kind == TrackKind::gpu_stream && !t.described() && !t.empty();
        });
    const auto total = [](const Row& row) { return row.cpu.total_ms + row.gpu.total_ms; };
    if (!timed || (adam != rows_.end() && total(*adam) > kTables * total(*backward))) return;
    backward->name = "project backward + Adam";
    if (adam == rows_.end()) return;
    backward->note = ". Adam's tables: " + format_ms(adam->cpu.mean_ms);
    rows_.erase(adam);
}

/// Lists the ranges that are no stages by name, unless they take next to no time.
void StagesPanel::list_ranges(const TraceStore& trace) {
    if (scope == StatScope::call || rows_.empty() || rows_.back().stage != Stage::other) return;
    Row& other = rows_.back();
    if (other.cpu.samples == 0) return;
    std::vector<FrameRange> ranges =
        ranges_in_frames(trace, scope, static_cast<std::size_t>(last_n));
    const double self_share =
        other.cpu.share * other.cpu.self_mean_ms / std::max(other.cpu.mean_ms, 1e-9);
    if (self_share < kLittle) {
        for (std::size_t i = 0; i < std::min(ranges.size(), kRangesListed); ++i)
            other.note +=
                fmt::format("{} {}", i == 0 ? ". Ranges:" : ",", trace.name(ranges[i].name));
        return;
    }
    const bool all = ranges.size() <= kRangesListed;
    if (!all) {
        other.note += fmt::format(". The {} ranges below are not in it",
                                  std::min(ranges.size(), kRangesListed));
        ranges.resize(kRangesListed);
        for (const FrameRange& r : ranges) {
            other.cpu.total_ms -= r.stats.total_ms;
            other.cpu.mean_ms -= r.stats.mean_ms;
            other.cpu.share -= r.stats.share;
        }
    }
    if (all && other.gpu.samples == 0)
        rows_.pop_back();
    else if (all)
        other.cpu = {};
    for (const FrameRange& r : ranges)
        rows_.push_back({Stage::other, std::string(trace.name(r.name)), {}, r.stats, {}});
}

void StagesPanel::draw_history(const TraceStore& trace) {
    const auto samples = trace.frames().history(scope);
    for (auto& layer : layers_) layer.clear();
    if (samples.empty()) return;
    range.begin(
        static_cast<double>(samples[samples.size() > 120 ? samples.size() - 120 : 0].number),
        static_cast<double>(samples.back().number) + 1);
    // Only visible samples become points; numbers ascend within one run.
    for (const FrameSample& sample : samples) {
        const auto number = static_cast<double>(sample.number);
        if (number < range.lo - 1 || number > range.hi + 1 || (shows_gpu() && !sample.gpu_complete))
            continue;
        const auto& times = shows_gpu() ? sample.gpu_ms : sample.self_ms;
        for (std::size_t stage = 0; stage < kStageCount; ++stage)
            layers_[stage].push_back({static_cast<float>(number), times[stage]});
    }
    std::vector<PlotLine> lines;
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
        const bool any =
            std::ranges::any_of(layers_[stage], [](const CurvePoint& p) { return p.value > 0; });
        if (any)
            lines.push_back(
                {kStageNames[stage], stage_color(static_cast<Stage>(stage)), layers_[stage]});
    }
    const PlotLook look{.title = shows_gpu() ? "GPU time" : "self time",
                        .unit = "ms",
                        .x_name = scope == StatScope::iteration ? "step" : "frame",
                        .stacked = true,
                        .legend = false};
    plot("##history", lines, look, range);
}

/// Why there are no rows, and what helps.
std::string StagesPanel::empty_text(const TraceStore& trace, const TraceEntry* other,
                                    std::uint64_t step) const {
    const std::size_t measured = trace.frames().history(scope).size();
    if (measured > 0)
        return fmt::format(
            "{} measured, all warm-up or with lost records: statistics begin with the next ones",
            format_count(static_cast<double>(measured)));
    if (other != nullptr) return "No samples of this kind in " + other->name;
    if (scope != StatScope::iteration) return "No frames measured yet";
    return step == 0 ? "No iterations measured yet: start training"
                     : fmt::format(
                           "No iterations measured in this session: the run's {} steps were "
                           "trained before. Train some more to measure them.",
                           format_count(static_cast<double>(step)));
}

void StagesPanel::draw_times(const Snapshot& snapshot, const TraceStore& trace,
                             const TraceEntry* other) {
    refresh(trace);
    // In a low panel the table needs the space.
    const float rows_above = other != nullptr ? 3 : 2;
    const bool low =
        ImGui::GetContentRegionAvail().y - rows_above * ImGui::GetFrameHeightWithSpacing() <=
        kLowestWithHistory * em();
    const bool may_show = !low && scope != StatScope::call;
    ImGui::BeginDisabled(!may_show);
    ImGui::Checkbox("History", &history);
    ImGui::EndDisabled();
    tooltip(may_show ? ""
            : low    ? "Make the panel taller to show the history"
                     : "Single calls have no history");
    ImGui::SameLine();
    if (ImGui::Button("CSV"))
        ImGui::SetClipboardText(stage_table_csv(cpu_rows_, gpu_rows_).c_str());
    tooltip("Copy the table as CSV");
    draw_controls(trace.frames().history(scope).size());
    if (other != nullptr) dim_text(fitted("of " + other->name, ImGui::GetContentRegionAvail().x));
    if (rows_.empty()) {
        empty_note(empty_text(trace, other, snapshot.training.step));
        return;
    }
    draw_table(trace, history && may_show);
    if (history && may_show) draw_history(trace);
}

void StagesPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.trace) {
        empty_note("Nothing measured yet");
        return;
    }
    // Whoever asks from a menu wants to see the answer.
    const bool predicted = snapshot.prediction && snapshot.prediction->counted;
    if (predicted && !predicted_) view = View::other_gpus;
    predicted_ = predicted;
    draw_tabs();
    if (view == View::other_gpus) return other_gpus.draw(snapshot, commands);
    beside_if_fits("xxxxx History   CSV");
    // The times are of the shown trace, as everywhere; the limits are this machine's.
    const TraceEntry* entry = snapshot.shown_entry();
    const TraceStore* shown = snapshot.shown();
    if (view == View::times)
        return shown == nullptr
                   ? empty_note(entry->problem.empty() ? "Reading " + entry->name : entry->problem)
                   : draw_times(snapshot, *shown, entry && !entry->own ? entry : nullptr);
    if (entry && !entry->own)
        dim_text("of this session: traces do not contain the numbers of Gaussians and pairs");
    if (snapshot.costs) return roofline.draw(*snapshot.costs);
    if (ImGui::Button("Measure")) commands.push("limits.measure");
    tooltip("Measure this machine's peak rates; takes a second, while training waits");
    empty_note("This machine's peak rates are unknown: press Measure, then train or view a scene");
}

}  // namespace gs
