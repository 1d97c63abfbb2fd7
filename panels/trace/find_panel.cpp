#include "panels/trace/find_panel.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "panels/timeline/paint.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/table_view.h"

namespace gs {
namespace {

constexpr double kTypingPause = 0.25;  // seconds after the last letter until it looks
constexpr std::size_t kBars = 64;

std::string stretch(double ns) { return format_ns(ns); }

}  // namespace

std::string group_name(const TraceStore& trace, HitGroup by, std::uint32_t key) {
    switch (by) {
        case HitGroup::name:
            return short_name(trace.name(key));
        case HitGroup::thread:
            return key < trace.tracks().size() ? trace.tracks()[key].name : "?";
        case HitGroup::parent:
            return key == ~0U ? "(outermost)" : short_name(trace.name(key));
        case HitGroup::stage:
            break;
    }
    return key < kStageCount ? kStageNames[key] : "?";
}

void FindPanel::draw_controls(const TraceStore& trace) {
    ImGui::SetNextItemWidth(std::min(16 * em(), ImGui::GetContentRegionAvail().x * 0.45F));
    if (focus_) ImGui::SetKeyboardFocusHere();
    focus_ = false;
    if (ImGui::InputTextWithHint("##pattern", "Name, * for anything", &typed_))
        typed_at_ = ImGui::GetTime();
    if (typed_ != pattern && ImGui::GetTime() - typed_at_ > kTypingPause) pattern = typed_;
    busy_ |= typed_ != pattern;
    ImGui::SameLine();
    if (pattern.empty()) {
        dim_text(fmt::format("{} spans to search",
                             format_short(static_cast<double>(trace.span_count()))));
        return;
    }
    text(fmt::format(
        "{} found{}",
        format_count(static_cast<double>(task_.running ? making_.found() : made_.found())),
        made_.cut() ? fmt::format(", searched the first {}",
                                  format_short(static_cast<double>(SpanSearch::kMostHits)))
                    : std::string()));
    ImGui::SameLine();
    range_note(view_, task_, making_.share());
}

void FindPanel::draw_figures() const {
    const HitFigures& f = made_.figures();
    if (!ImGui::BeginTable("##figures", 8, ImGuiTableFlags_SizingStretchSame)) return;
    const auto cell = [](const char* label, const std::string& value) {
        ImGui::TableNextColumn();
        dim_text(label);
        text(value);
    };
    cell("total", stretch(f.total_ns));
    cell("mean", stretch(f.mean_ns));
    cell("median", stretch(f.percentiles[0]));
    for (std::size_t i = 1; i < kHitPercents.size(); ++i)
        cell(fmt::format("P{:g}", kHitPercents[i]).c_str(), stretch(f.percentiles[i]));
    cell("max", stretch(static_cast<double>(f.longest_first.front().length_ns)));
    ImGui::EndTable();
}

void FindPanel::make_histogram() {
    const auto& hits = made_.figures().longest_first;
    histogram_ = {};
    histogram_log_ = logarithmic;
    if (hits.empty()) return;
    const double most = static_cast<double>(hits.front().length_ns),
                 least = static_cast<double>(std::max<std::int64_t>(hits.back().length_ns, 1));
    histogram_.logarithmic = logarithmic && most > 1.5 * least;
    // Milliseconds, microseconds or nanoseconds: the unit of the longest.
    const double unit = most >= 1e6 ? 1e-6 : most >= 1e3 ? 1e-3 : 1;
    histogram_.unit = most >= 1e6 ? "ms" : most >= 1e3 ? "us" : "ns";
    histogram_.name = "duration";
    histogram_.lo = (histogram_.logarithmic ? least * 0.97 : 0) * unit;
    histogram_.hi = std::max(most * 1.03 * unit, histogram_.lo + 1e-9);
    histogram_.counts.assign(kBars, 0);
    for (const Hit& hit : hits) {
        const double v = static_cast<double>(std::max<std::int64_t>(hit.length_ns, 1)) * unit;
        const double t = histogram_.logarithmic
                             ? std::log(v / histogram_.lo) / std::log(histogram_.hi / histogram_.lo)
                             : (v - histogram_.lo) / (histogram_.hi - histogram_.lo);
        const auto bar =
            static_cast<std::size_t>(std::clamp(t, 0.0, 0.999999) * static_cast<double>(kBars));
        ++histogram_.counts[bar];
    }
}

void FindPanel::draw_histogram() {
    if (histogram_log_ != logarithmic) make_histogram();
    histogram("##durations", histogram_, theme().accent, 5.5F * em(), "spans");
}

void FindPanel::draw_groups(const TraceStore& trace) const {
    using Group = HitFigures::Group;
    const auto by = static_cast<std::size_t>(group);
    draw_table(
        table_of<Group>(std::span(made_.figures().groups[by]),
                        {{"", kHitGroupNames[by], nullptr,
                          [&](const Group& g) { return group_name(trace, group, g.key); }, -1},
                         {"", "count", format_count, &Group::count, 4.7F},
                         {"", "total", format_ns, &Group::total_ns, 4.7F},
                         {"", "median", format_ns, &Group::median_ns, 4.7F}}),
        {.id = "##groups"});
}

void FindPanel::draw_hits(const TraceStore& trace, Commands&) {
    const std::span hits(made_.figures().longest_first);
    const auto at = [&](const Hit& hit) {
        return TableCell(hit.begin_ns - trace.origin_ns(), Tone::dim);
    };
    const auto name = [&](const Hit& hit) { return short_name(trace.name(hit.name)); };
    const auto on = [&](const Hit& hit) {
        return TableCell(group_name(trace, HitGroup::thread, hit.track), Tone::dim);
    };
    TableView view{.id = "##hits"};
    view.click = [&](std::size_t i) {
        const Hit& hit = hits[i];
        view_.jump = TracePlace{{hit.begin_ns, hit.end_ns()}, hit.track, hit.row};
    };
    view.draw = {{"name", [&](std::size_t i) {
                      colored_text(mix(stage_color(hits[i].stage), theme().text, 0.55F),
                                   fitted(name(hits[i]), ImGui::GetContentRegionAvail().x));
                  }}};
    draw_table(table_of<Hit>(hits, {{"", "duration", format_ns, &Hit::length_ns, 4.9F},
                                    {"", "at", format_ns, at, 5.4F},
                                    {"", "name", nullptr, name, -2},
                                    {"", "on", nullptr, on, -1}}),
               view);
}

void FindPanel::draw(const Snapshot& snapshot, Commands& commands) {
    busy_ = false;
    const TraceStore* trace = snapshot.shown();
    if (!trace || trace->tracks().empty()) {
        empty_note("Train or open a trace to find spans");
        return;
    }
    if (view_.find) {
        focus_ = view_.find->empty();
        if (!view_.find->empty()) pattern = typed_ = *view_.find;
        view_.find.reset();
    }
    if (task_.store != trace || task_.id != snapshot.shown_trace) made_ = {};
    if (!pattern.empty() && task_.begin(snapshot, *trace, view_, pattern))
        making_ = SpanSearch(*trace, pattern, task_.range, {});
    if (!pattern.empty() && task_.running && making_.advance(*trace, TraceTask::kSliceMs)) {
        made_ = std::move(making_);
        making_ = {};
        task_.running = false;
        make_histogram();
    }
    draw_controls(*trace);
    busy_ |= task_.running && !pattern.empty();
    if (pattern.empty() || made_.figures().longest_first.empty()) {
        empty_note(pattern.empty() ? "Type part of a name: kernels, ranges, CUDA calls"
                   : task_.running ? "Looking"
                                   : "No spans with this name");
        return;
    }
    draw_figures();
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::BeginChild("##left", {0.46F * width, 0});
    ImGui::Checkbox("Logarithmic", &logarithmic);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(6 * em());
    int by = static_cast<int>(group);
    if (ImGui::Combo("##group", &by, kHitGroupNames.data(),
                     static_cast<int>(kHitGroupNames.size())))
        group = static_cast<HitGroup>(by);
    tooltip("Group the table below by this");
    draw_histogram();
    draw_groups(*trace);
    ImGui::EndChild();
    ImGui::SameLine();
    ImGui::BeginChild("##right", {0, 0});
    draw_hits(*trace, commands);
    ImGui::EndChild();
}

}  // namespace gs
