#include "panels/costs_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

std::string cost_ms(double ns) { return format_number(ns / 1e6, 3) + " ms"; }
std::string pair_count(std::uint64_t count) { return format_short(static_cast<double>(count)); }

/// A line of the table of sums: its name, and a value for the frame and for the region.
template <class F>
void cost_row(const CostReport& report, const char* name, const char* hint, F&& value) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(name);
    tooltip(hint);
    ImGui::TableNextColumn();
    cell_right(value(report.frame));
    if (!report.region) return;
    ImGui::TableNextColumn();
    cell_right(value(report.region->sums));
}

void draw_cost_sums(const CostReport& report) {
    const int columns = report.region ? 3 : 2;
    if (!ImGui::BeginTable("##sums", columns, ImGuiTableFlags_RowBg)) return;
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("frame", ImGuiTableColumnFlags_WidthFixed, 4.6F * em());
    if (report.region)
        ImGui::TableSetupColumn("region", ImGuiTableColumnFlags_WidthFixed, 4.6F * em());
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int i = 0; i < columns; ++i)
        table_heading(i == 0 ? "" : i == 1 ? "frame" : "region", i > 0);
    const bool backward = report.frame.backward > 0;
    cost_row(report, "blending", "time of all tiles, summed over threads or thread blocks",
             [](const CostSums& s) { return cost_ms(s.forward_ns); });
    if (backward)
        cost_row(report, "its gradients", "the same, backward",
                 [](const CostSums& s) { return cost_ms(s.backward_ns); });
    cost_row(report, "in the lists", "(Gaussian, tile) pairs",
             [](const CostSums& s) { return pair_count(s.isects); });
    cost_row(report, "pairs evaluated", "(Gaussian, pixel) pairs whose exponent was computed",
             [](const CostSums& s) { return pair_count(s.evaluated); });
    cost_row(report, "blended", "pairs that contributed to a pixel",
             [](const CostSums& s) { return pair_count(s.blended); });
    cost_row(report, "wasted", "evaluated pairs that changed no pixel",
             [](const CostSums& s) { return format_share(s.wasted()); });
    if (backward)
        cost_row(report, "backward", "pairs in the backward pass",
                 [](const CostSums& s) { return pair_count(s.backward); });
    ImGui::EndTable();
    if (!report.region) return;
    const CostReport::Region& r = *report.region;
    ImGui::PushTextWrapPos(0);
    dim_text(fmt::format("region ({}, {}) to ({}, {}): {} of the time", r.x0, r.y0, r.x1, r.y1,
                         format_share(r.sums.forward_ns / std::max(report.frame.forward_ns, 1.0))));
    ImGui::PopTextWrapPos();
}

void draw_without(const CostReport::Without& without) {
    ImGui::PushTextWrapPos(0);
    text(
        fmt::format("Without the {} most expensive: {} fewer pairs, so about {} of blending's "
                    "time saved",
                    format_count(static_cast<double>(without.count)), format_share(without.share),
                    format_share(without.share)));
    if (std::isfinite(without.ns_without))
        text(fmt::format("measured: {} instead of {}", cost_ms(without.ns_without),
                         cost_ms(without.ns)));
    if (without.photos == 0) {
        dim_text("no photos to measure the PSNR change on");
    } else if (without.done == 0) {
        dim_text("rendering photos");
    } else {
        text(fmt::format("PSNR {} dB instead of {} dB ({:+.3f} dB)",
                         format_number(without.psnr_without, 4), format_number(without.psnr, 4),
                         without.psnr_without - without.psnr));
        dim_text(fmt::format("over {} of {} photos", without.done, without.photos));
    }
    ImGui::PopTextWrapPos();
}

/// Selects the listed Gaussians. If the model has been trained further, rows may have changed.
void select_top(const CostReport& report, const Snapshot& snapshot, Commands& commands) {
    const bool same = report.step == snapshot.training.step;
    ImGui::BeginDisabled(!same || report.top.empty());
    if (ImGui::SmallButton(fmt::format("Select these {}", report.top.size()).c_str())) {
        std::string rows;
        for (const CostlyGaussian& g : report.top)
            rows += (rows.empty() ? "" : ",") + std::to_string(g.row);
        commands.push("select.row", {rows});
    }
    ImGui::EndDisabled();
    tooltip(same ? "Select the listed Gaussians; cost.top COUNT lists more"
                 : "The model has been trained further: measure again");
}

void draw_top(const CostReport& report, const Snapshot& snapshot, Commands& commands) {
    dim_text(fmt::format("{} of {} Gaussians make half of the pairs",
                         format_count(static_cast<double>(report.for_half)),
                         format_count(static_cast<double>(report.gaussians))));
    select_top(report, snapshot, commands);
    if (!ImGui::BeginTable("##top", 4, ImGuiTableFlags_RowBg)) return;
    constexpr const char* kNames[] = {"Gaussian", "pairs", "share", "wasted"};
    for (const char* name : kNames)
        ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (const char* name : kNames) table_heading(name, name != kNames[0]);
    for (const CostlyGaussian& g : report.top) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        const std::string row = std::to_string(g.row);
        if (ImGui::Selectable(("#" + row).c_str(), false, ImGuiSelectableFlags_SpanAllColumns))
            commands.push("view.gaussian", {row});
        tooltip("Look at it");
        ImGui::TableNextColumn();
        cell_right(pair_count(g.evaluated));
        ImGui::TableNextColumn();
        cell_right(format_share(static_cast<double>(g.evaluated) /
                                std::max(static_cast<double>(report.frame.evaluated), 1.0)));
        ImGui::TableNextColumn();
        cell_right(format_share(CostSums{0, 0, 0, g.evaluated, g.blended, 0}.wasted()));
    }
    ImGui::EndTable();
}

}  // namespace

void CostsPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene) return empty_note("Open a scene to measure the cost of its pictures");
    const CostReport* report = snapshot.cost_report.get();
    if (ImGui::Button(report ? "Measure again" : "Measure")) commands.push("cost.measure");
    tooltip(
        "Time every tile of the current view, forward and backward, and count the pairs of "
        "every Gaussian");
    if (!report) {
        ImGui::PushTextWrapPos(0);
        dim_text(
            "Measure the current view: the time of each tile, and which Gaussians "
            "make blending expensive. The modes time, wasted and pairs show where.");
        ImGui::PopTextWrapPos();
        return;
    }
    ImGui::SameLine();
    if (ImGui::Button("Clear")) commands.push("cost.clear");
    ImGui::PushTextWrapPos(0);
    dim_text(fmt::format("{} x {} px from {}, step {}", report->width, report->height, report->from,
                         format_count(static_cast<double>(report->step))));
    dim_text(report->note);
    ImGui::PopTextWrapPos();
    draw_cost_sums(*report);
    if (section("The most expensive Gaussians")) draw_top(*report, snapshot, commands);
    if (!section("Without them")) return;
    ImGui::SetNextItemWidth(6 * em());
    if (ImGui::InputInt("##count", &without_, 0)) without_ = std::max(without_, 1);
    ImGui::SameLine();
    if (ImGui::Button("Leave them out")) commands.push("cost.without", {std::to_string(without_)});
    tooltip(
        "Render the frame and the photos without the N most expensive Gaussians; the model "
        "does not change");
    if (report->without) draw_without(*report->without);
}

}  // namespace gs
