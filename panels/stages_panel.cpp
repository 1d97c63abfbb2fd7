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

/// Three digits; the unit stands in the table's head.
std::string milliseconds(double value) {
    if (!std::isfinite(value)) return "-";
    return fmt::format("{:.{}f}", value, std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0);
}

std::string age_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    if (seconds < 0.95) return "now";
    return seconds < 99.5   ? fmt::format("{:.0f} s", seconds)
           : seconds < 5940 ? fmt::format("{:.0f} min", seconds / 60)
                            : fmt::format("{:.0f} h", seconds / 3600);
}

/// A heading without the room that ImGui keeps for the sorting arrow: names stay whole in narrow columns.
void heading(const char* name, bool right) {
    if (!ImGui::TableNextColumn()) return;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float spare = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(name).x;
    ImGui::TableHeader((std::string("##") + name).c_str());
    ImGui::GetWindowDrawList()->AddText({at.x + (right ? std::max(spare, 0.0F) : 0), at.y}, kTextColor, name);
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

void StagesPanel::draw_row(const StageStats& row, std::int64_t now_ns) const {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    stage_cell(row.stage, row.stage == frame_stage_of(scope) ? NAN : row.share);
    tooltip(fmt::format("{}: {} calls in {} samples, min {}, p99 {}, max {}, without inner spans {}",
                        name_of(row.stage), row.calls, row.samples, format_ms(row.min_ms), format_ms(row.p99_ms),
                        format_ms(row.max_ms), format_ms(row.self_mean_ms)));
    for (const double value : {row.mean_ms, row.p50_ms, row.p95_ms, row.p99_ms}) {
        if (ImGui::TableNextColumn()) cell_right(milliseconds(value));
    }
    ImGui::TableNextColumn();
    cell_right(row.share >= 0.9995 ? "100 %" : format_share(row.share), kDimColor);
    ImGui::TableNextColumn();
    cell_right(format_count(static_cast<double>(row.samples)), kDimColor);
    ImGui::TableNextColumn();
    const double age = row.age_s(now_ns);
    cell_right(age_text(age), age > 10 ? kFaintColor : kDimColor);
}

void StagesPanel::draw_table(const TraceStore& trace) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float history_height = history && scope != StatScope::call ? std::min(12 * em(), 0.42F * room.y) : 0;
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit |
                                  ImGuiTableFlags_SortTristate | ImGuiTableFlags_NoKeepColumnsVisible;
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {0.16F * em(), 0.1F * em()});
    if (ImGui::BeginTable("##stages", 8, flags, {0, std::max(room.y - history_height - 0.4F * em(), 4 * em())})) {
        ImGui::TableSetupScrollFreeze(1, 1);
        // A narrow column does without p99 (the tooltip has it), so that share, count and age stay in view.
        const bool narrow = room.x < 25 * em();
        const float name = (narrow ? 6 : 7.2F) * em();
        const float cell = std::max((room.x - name - 1.4F * em()) / (narrow ? 6.0F : 7.0F) - 0.35F * em(), 2 * em());
        ImGui::TableSetupColumn("stage, ms", ImGuiTableColumnFlags_WidthFixed, name);
        for (const std::string_view title : {"mean", "p50", "p95", "p99", "share", "count", "age"})
            ImGui::TableSetupColumn(title.data(),
                                    ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_PreferSortDescending |
                                        (narrow && title == "p99" ? ImGuiTableColumnFlags_Disabled : 0),
                                    title == "share" ? cell + 0.5F * em() : cell);
        ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
        for (int column = 0; column < 8; ++column) heading(ImGui::TableGetColumnName(column), column > 0);
        std::vector<StageStats> sorted = rows_;
        if (const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs(); specs && specs->SpecsCount > 0) {
            const int column = specs->Specs->ColumnIndex;
            const bool descending = specs->Specs->SortDirection == ImGuiSortDirection_Descending;
            std::stable_sort(sorted.begin(), sorted.end(), [&](const StageStats& a, const StageStats& b) {
                return descending ? comes_before(b, a, column) : comes_before(a, b, column);
            });
        }
        for (const StageStats& row : sorted) draw_row(row, trace.read_ns());
        ImGui::EndTable();
    }
    ImGui::PopStyleVar();
}

void StagesPanel::refresh(const TraceStore& trace) {
    // Statistics over thousands of frames cost milliseconds: a few times a second is what an eye can follow.
    const double now = ImGui::GetTime();
    const bool changed = scope != rows_scope_ || last_n != rows_window_;
    if (!changed && (trace.records_written() == rows_written_ || now < rows_time_ + 0.2)) return;
    rows_ = trace.statistics(scope, static_cast<std::size_t>(last_n));
    rows_scope_ = scope;
    rows_window_ = last_n;
    rows_written_ = trace.records_written();
    rows_time_ = now;
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
    refresh(trace);
    draw_controls(trace.history(scope).size());
    ImGui::SameLine();
    ImGui::Checkbox("history", &history);
    ImGui::SameLine();
    if (ImGui::Button("CSV")) ImGui::SetClipboardText(stage_table_csv(rows_).c_str());
    tooltip("Copies the table as CSV");
    if (rows_.empty()) {
        empty_note(scope == StatScope::iteration ? "No iteration has been measured yet: start training"
                                                 : "No frame has been measured yet");
        return;
    }
    draw_table(trace);
    if (history && scope != StatScope::call) draw_history(trace);
}

}  // namespace gs
