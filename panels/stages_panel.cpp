#include "panels/stages_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/format.h"
#include "panels/widgets.h"
#include "profiler/store.h"

namespace gs {
namespace {

constexpr std::array<const char*, 4> kScopeTitles{"per iteration", "per view frame", "per UI frame", "per call"};
constexpr std::array<int, 4> kWindows{64, 256, 1024, 8192};

std::string milliseconds(double value) {
    return std::isfinite(value) ? fmt::format("{:.3f}", value) : std::string("-");
}

/// The order of StageStats along column `column` of the table.
bool comes_before(const StageStats& a, const StageStats& b, int column) {
    switch (column) {
        case 0:
            return a.stage < b.stage;
        case 1:
            return a.mean_ms < b.mean_ms;
        case 2:
            return a.p50_ms < b.p50_ms;
        case 3:
            return a.p95_ms < b.p95_ms;
        case 4:
            return a.p99_ms < b.p99_ms;
        case 5:
            return a.share < b.share;
        case 6:
            return a.samples < b.samples;
        default:
            return a.newest_ns > b.newest_ns;
    }
}

void stage_cell(Stage stage, double share) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (std::isfinite(share))
        list.AddRectFilled({at.x, at.y},
                           {at.x + width * static_cast<float>(std::clamp(share, 0.0, 1.0)), at.y + 1.1F * em()},
                           with_alpha(stage_color(stage), 60), 2);
    list.AddRectFilled({at.x, at.y + 0.2F * em()}, {at.x + 0.55F * em(), at.y + 0.85F * em()}, stage_color(stage), 2);
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 0.8F * em());
    text(fitted(name_of(stage), width - 0.8F * em()));
}

}  // namespace

void StagesPanel::draw_controls(std::size_t frames) {
    int chosen = static_cast<int>(scope);
    ImGui::SetNextItemWidth(8.2F * em());
    if (ImGui::Combo("##scope", &chosen, kScopeTitles.data(), static_cast<int>(kScopeTitles.size()))) {
        scope = static_cast<StatScope>(chosen);
        range.fit = true;
    }
    tooltip(
        "What one sample is: a training iteration, a picture for the viewport, a frame of this window, or every single "
        "call");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(5 * em());
    if (ImGui::BeginCombo("##window", fmt::format("{}", last_n).c_str())) {
        for (const int n : kWindows)
            if (ImGui::Selectable(fmt::format("last {}", n).c_str(), n == last_n)) last_n = n;
        ImGui::EndCombo();
    }
    tooltip(
        "Statistics are over the newest this many samples; warm-up and samples with lost records are left out. "
        "Recorded: " +
        format_count(static_cast<double>(frames)));
}

void StagesPanel::draw_table(const TraceStore& trace, const std::vector<StageStats>& rows) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float history_height =
        history && scope != StatScope::call ? std::min(11 * em(), 0.4F * ImGui::GetContentRegionAvail().y) : 0;
    const float height =
        std::max(ImGui::GetContentRegionAvail().y - history_height - (history_height > 0 ? 0.4F * em() : 0), 4 * em());
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Sortable | ImGuiTableFlags_Hideable | ImGuiTableFlags_SizingFixedFit |
                                  ImGuiTableFlags_SortTristate;
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {0.22F * em(), 0.1F * em()});
    if (ImGui::BeginTable("##stages", 8, flags, {0, height})) {
        ImGui::TableSetupScrollFreeze(1, 1);
        constexpr ImGuiTableColumnFlags down =
            ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_PreferSortDescending;
        const float cell = std::max((width - 7.4F * em() - 3.6F * em()) / 6 - 0.6F * em(), 2.9F * em());
        ImGui::TableSetupColumn("stage (ms)", ImGuiTableColumnFlags_WidthFixed, 7.4F * em());
        for (const char* name : {"mean", "p50", "p95", "p99"}) ImGui::TableSetupColumn(name, down, cell);
        ImGui::TableSetupColumn("share", down, cell);
        ImGui::TableSetupColumn("count", down, cell);
        ImGui::TableSetupColumn("age", ImGuiTableColumnFlags_WidthFixed, 3.3F * em());
        ImGui::TableHeadersRow();
        std::vector<StageStats> sorted = rows;
        if (const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs(); specs && specs->SpecsCount > 0)
            std::stable_sort(sorted.begin(), sorted.end(), [&](const StageStats& a, const StageStats& b) {
                const int column = specs->Specs->ColumnIndex;
                return specs->Specs->SortDirection == ImGuiSortDirection_Descending ? comes_before(b, a, column)
                                                                                    : comes_before(a, b, column);
            });
        for (const StageStats& row : sorted) {
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            stage_cell(row.stage, row.stage == frame_stage_of(scope) ? NAN : row.share);
            tooltip(fmt::format("{}: {} calls in {} samples, min {}, max {}, without inner spans {}",
                                name_of(row.stage), row.calls, row.samples, format_ms(row.min_ms),
                                format_ms(row.max_ms), format_ms(row.self_mean_ms)));
            for (const double value : {row.mean_ms, row.p50_ms, row.p95_ms, row.p99_ms}) {
                ImGui::TableNextColumn();
                cell_right(milliseconds(value));
            }
            ImGui::TableNextColumn();
            cell_right(format_share(row.share), kDimColor);
            ImGui::TableNextColumn();
            cell_right(format_count(static_cast<double>(row.samples)), kDimColor);
            ImGui::TableNextColumn();
            const double age = row.age_s(trace.read_ns());
            cell_right(age < 0.95 ? "now" : format_duration(age), age > 10 ? kFaintColor : kDimColor);
        }
        ImGui::EndTable();
    }
    ImGui::PopStyleVar();
}

void StagesPanel::draw_history(const TraceStore& trace) {
    const auto samples = trace.history(scope);
    for (auto& layer : layers_) layer.clear();
    if (samples.empty()) return;
    range.begin(static_cast<double>(samples[samples.size() > 120 ? samples.size() - 120 : 0].number),
                static_cast<double>(samples.back().number) + 1);
    // Only what is visible becomes points; numbers ascend within one run.
    for (const FrameSample& sample : samples) {
        const auto number = static_cast<double>(sample.number);
        if (number < range.lo - 1 || number > range.hi + 1) continue;
        for (std::size_t stage = 0; stage < kStageCount; ++stage)
            layers_[stage].push_back({static_cast<float>(number), sample.self_ms[stage]});
    }
    std::vector<PlotLine> lines;
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
        const bool any =
            std::any_of(layers_[stage].begin(), layers_[stage].end(), [](const CurvePoint& p) { return p.value > 0; });
        if (any) lines.push_back({kStageNames[stage], stage_color(static_cast<Stage>(stage)), layers_[stage]});
    }
    PlotLook look;
    look.title = "self time";
    look.unit = "ms";
    look.x_name = scope == StatScope::iteration ? "step" : "frame";
    look.stacked = true;
    look.legend = false;
    plot("##history", lines, look, range);
}

void StagesPanel::draw(const Snapshot& snapshot, Commands&) {
    if (!snapshot.trace) {
        empty_note("Nothing has been measured yet");
        return;
    }
    const TraceStore& trace = *snapshot.trace;
    const auto rows = trace.statistics(scope, static_cast<std::size_t>(last_n));
    draw_controls(trace.history(scope).size());
    ImGui::SameLine();
    ImGui::Checkbox("history", &history);
    ImGui::SameLine();
    if (ImGui::Button("CSV")) ImGui::SetClipboardText(stage_table_csv(rows).c_str());
    tooltip("Copies the table as CSV");
    if (rows.empty()) {
        empty_note(scope == StatScope::iteration ? "No iteration has been measured yet: start training"
                                                 : "No frame has been measured yet");
        return;
    }
    draw_table(trace, rows);
    if (history && scope != StatScope::call) draw_history(trace);
}

}  // namespace gs
