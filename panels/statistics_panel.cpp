#include "panels/statistics_panel.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "panels/timeline/paint.h"
#include "panels/widgets/fuzzy.h"

namespace gs {
namespace {

constexpr std::array kSides{"ranges", "CUDA calls", "GPU work"};
constexpr std::array kColumns{"name", "total", "%", "self", "count", "mean", "min", "max"};

std::string ms_text(std::int64_t ns) { return format_ns(static_cast<double>(ns)); }

double share_of(const NameFigures& row, std::int64_t outer_ns) {
    return outer_ns > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(outer_ns) : 0;
}

double sort_value(const NameFigures& row, int column) {
    switch (column) {
        case 3:
            return static_cast<double>(row.self_ns);
        case 4:
            return static_cast<double>(row.count);
        case 5:
            return row.mean_ns();
        case 6:
            return static_cast<double>(row.min_ns);
        case 7:
            return static_cast<double>(row.max_ns);
        default:
            return static_cast<double>(row.total_ns);
    }
}

std::string shown_name(const TraceStore& trace, const NameFigures& row) {
    const std::string_view name = trace.name(row.name);
    return row.kind == TrackKind::gpu_stream ? short_name(name) : std::string(name);
}

}  // namespace

std::string statistics_csv(const TraceStore& trace, std::span<const NameFigures> rows,
                           std::int64_t outer_ns) {
    std::string out = "name,stage,total ms,percent,self ms,count,mean ms,min ms,max ms\n";
    for (const NameFigures& row : rows)
        out += fmt::format("{},{},{:.6f},{:.4f},{:.6f},{},{:.6f},{:.6f},{:.6f}\n",
                           csv_cell(trace.name(row.name)), name_of(row.stage),
                           static_cast<double>(row.total_ns) * 1e-6, 100 * share_of(row, outer_ns),
                           static_cast<double>(row.self_ns) * 1e-6, row.count, row.mean_ns() * 1e-6,
                           static_cast<double>(row.min_ns) * 1e-6,
                           static_cast<double>(row.max_ns) * 1e-6);
    return out;
}

std::string StatisticsPanel::csv(const TraceStore& trace) const {
    return statistics_csv(trace, rows_, made_.outer_ns());
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
    ImGui::InputTextWithHint("##filter", "filter", &filter);
    ImGui::SameLine();
    if (ImGui::Button("CSV")) ImGui::SetClipboardText(csv(trace).c_str());
    tooltip("Copy the table as CSV");
    ImGui::SameLine();
    if (icon_button("save", Icon::save, "Save the table as a CSV file"))
        commands.push("browse", {"statistics.save"});
    ImGui::SameLine();
    range_note(view_, task_, making_.share());
}

void StatisticsPanel::sort_rows(const TraceStore& trace, int column, bool descending) {
    if (!stale_ && rows_filter_ == filter && sorted_by_ == column && sorted_down_ == descending)
        return;
    stale_ = false;
    rows_filter_ = filter;
    sorted_by_ = column;
    sorted_down_ = descending;
    rows_.clear();
    for (const NameFigures& row : made_.rows())
        if (contains_text(trace.name(row.name), filter)) rows_.push_back(row);
    std::stable_sort(rows_.begin(), rows_.end(), [&](const NameFigures& a, const NameFigures& b) {
        if (column == 0)
            return descending ? trace.name(a.name) > trace.name(b.name)
                              : trace.name(a.name) < trace.name(b.name);
        const double left = sort_value(a, column), right = sort_value(b, column);
        return descending ? left > right : left < right;
    });
}

void StatisticsPanel::draw_table(const TraceStore& trace, Commands& commands) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY |
                                       ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit |
                                       ImGuiTableFlags_Resizable;
    if (!ImGui::BeginTable("##statistics", static_cast<int>(kColumns.size()), kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
        const ImGuiTableColumnFlags first =
            i == 0 ? ImGuiTableColumnFlags_WidthStretch
                   : ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_PreferSortDescending;
        ImGui::TableSetupColumn(kColumns[i],
                                first | (i == 1 ? ImGuiTableColumnFlags_DefaultSort : 0),
                                i == 0   ? 1.0F
                                : i == 2 ? 3.4F * em()
                                         : 4.9F * em());
    }
    ImGui::TableHeadersRow();
    const ImGuiTableSortSpecs* order = ImGui::TableGetSortSpecs();
    const bool any = order && order->SpecsCount > 0;
    sort_rows(trace, any ? order->Specs[0].ColumnIndex : 1,
              !any || order->Specs[0].SortDirection == ImGuiSortDirection_Descending);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const NameFigures& row = rows_[static_cast<std::size_t>(i)];
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            const ImVec2 at = ImGui::GetCursorScreenPos();
            const float width = ImGui::GetContentRegionAvail().x;
            ImDrawList& list = *ImGui::GetWindowDrawList();
            const auto share =
                static_cast<float>(std::clamp(share_of(row, made_.outer_ns()), 0.0, 1.0));
            list.AddRectFilled(at, {at.x + width * share, at.y + 1.1F * em()},
                               with_alpha(stage_color(row.stage), 60), 2);
            ImGui::PushID(i);
            if (ImGui::Selectable("##row", false, ImGuiSelectableFlags_SpanAllColumns))
                commands.push("trace.find", {std::string(trace.name(row.name))});
            if (ImGui::IsItemHovered())
                ImGui::SetTooltip("%s\nstage: %s\nclick to find its spans",
                                  std::string(trace.name(row.name)).c_str(), name_of(row.stage));
            ImGui::PopID();
            ImGui::SameLine(0, 0);
            text(fitted(shown_name(trace, row), width));
            const std::array<std::string, 7> cells{
                ms_text(row.total_ns),    format_share(share_of(row, made_.outer_ns())),
                ms_text(row.self_ns),     format_count(static_cast<double>(row.count)),
                format_ns(row.mean_ns()), ms_text(row.min_ns),
                ms_text(row.max_ns)};
            for (const std::string& cell : cells) {
                ImGui::TableNextColumn();
                cell_right(cell);
            }
        }
    ImGui::EndTable();
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
