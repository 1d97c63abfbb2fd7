#include "panels/trace/statistics_panel.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "panels/timeline/paint.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/table_view.h"

namespace gs {
namespace {

constexpr std::array kSides{"ranges", "CUDA calls", "GPU work"};
double share_of(const NameFigures& row, std::int64_t outer_ns) {
    return outer_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(outer_ns) : 0;
}

/// In the order of the file; the window shows short names of kernels.
Table statistics_table(const TraceStore& trace, std::span<const NameFigures> rows,
                       std::int64_t outer_ns) {
    const auto time = [](const char* id, const char* title, auto ns) -> ColumnOf<NameFigures> {
        return {id,
                title,
                [](double ms) { return format_ns(1e6 * ms); },
                [ns](const NameFigures& row) {
                    return 1e-6 * static_cast<double>(std::invoke(ns, row));
                },
                4.9F,
                {},
                SortOrder::descending,
                fixed<6>};
    };
    return table_of<NameFigures>(
        rows,
        {{"name", "", nullptr, [&](const NameFigures& row) { return trace.name(row.name); }},
         {"", "name", nullptr,
          [&](const NameFigures& row) {
              const std::string_view name = trace.name(row.name);
              return row.kind == TrackKind::gpu_stream ? short_name(name) : std::string(name);
          },
          -1},
         {"stage", "", nullptr, [](const NameFigures& row) { return name_of(row.stage); }},
         time("total ms", "total", &NameFigures::total_ns),
         {"percent",
          "%",
          [](double percent) { return format_share(percent / 100); },
          [=](const NameFigures& row) { return 100 * share_of(row, outer_ns); },
          3.4F,
          {},
          SortOrder::descending,
          fixed<4>},
         time("self ms", "self", &NameFigures::self_ns),
         {"count", "count", format_count, &NameFigures::count, 4.9F, {}, SortOrder::descending},
         time("mean ms", "mean", &NameFigures::mean_ns),
         time("min ms", "min", &NameFigures::min_ns),
         time("max ms", "max", &NameFigures::max_ns)});
}

}  // namespace

std::string StatisticsPanel::csv(const TraceStore& trace) const {
    return table_csv(statistics_table(trace, rows_, made_.outer_ns()));
}

void StatisticsPanel::draw_controls(const TraceStore& trace, Commands& commands) {
    process_combo(trace, process);
    int chosen = static_cast<int>(side);
    ImGui::SetNextItemWidth(6.5F * em());
    if (ImGui::Combo("##side", &chosen, kSides.data(), static_cast<int>(kSides.size())))
        side = static_cast<Side>(chosen);
    tooltip("Sum ranges of host threads, CUDA API calls, or GPU work");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(8 * em());
    ImGui::InputTextWithHint("##filter", "Filter", &filter);
    ImGui::SameLine();
    if (ImGui::Button("CSV")) ImGui::SetClipboardText(csv(trace).c_str());
    tooltip("Copy the table as CSV");
    ImGui::SameLine();
    if (icon_button("save", Icon::save, "Save the table as a CSV file"))
        commands.push("browse", {"statistics.save"});
    ImGui::SameLine();
    range_note(view_, task_, making_.share());
}

void StatisticsPanel::draw_table(const TraceStore& trace, Commands& commands) {
    if (stale_ || rows_filter_ != filter) {
        stale_ = false;
        rows_filter_ = filter;
        rows_.clear();
        for (const NameFigures& row : made_.rows())
            if (contains_text(trace.name(row.name), filter)) rows_.push_back(row);
        order_.stale = true;
    }
    const auto mark = [&](std::size_t i) {
        const NameFigures& row = rows_[i];
        if (ImGui::IsItemHovered())
            ImGui::SetTooltip("%s\nstage: %s\nclick to find its spans",
                              std::string(trace.name(row.name)).c_str(), name_of(row.stage));
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const auto share = static_cast<float>(std::clamp(share_of(row, made_.outer_ns()), 0., 1.));
        ImGui::GetWindowDrawList()->AddRectFilled(
            at, {at.x + ImGui::GetContentRegionAvail().x * share, at.y + 1.1F * em()},
            with_alpha(stage_color(row.stage), 60), 2);
    };
    TableView view{.id = "##statistics", .item = mark, .sort_by = "total", .order = &order_};
    view.flags |=
        ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_Resizable;
    view.click = [&](std::size_t i) {
        commands.push("trace.find", {std::string(trace.name(rows_[i].name))});
    };
    gs::draw_table(statistics_table(trace, rows_, made_.outer_ns()), view);
    order_.apply(rows_);
}

void StatisticsPanel::draw(const Snapshot& snapshot, Commands& commands) {
    busy_ = false;
    const TraceStore* trace = snapshot.shown();
    if (!trace || trace->tracks().empty()) {
        empty_note("Train or open a trace to see statistics here");
        return;
    }
    const TrackChoice choice{side == Side::ranges, side == Side::calls, side == Side::gpu, process};
    const bool other = task_.store != trace || task_.id != snapshot.shown_trace;
    if (task_.begin(snapshot, *trace, view_,
                    fmt::format("{} {}", static_cast<int>(side), process))) {
        making_ = NameTable(*trace, task_.range, choice);
        if (other) made_ = {}, stale_ = true;
    }
    if (task_.running && making_.advance(*trace, TraceTask::kSliceMs)) {
        made_ = std::move(making_);
        making_ = {};
        task_.running = false;
        stale_ = true;
    }
    busy_ = task_.running;
    draw_controls(*trace, commands);
    draw_table(*trace, commands);
}

}  // namespace gs
