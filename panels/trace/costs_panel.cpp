#include "panels/trace/costs_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

std::string cost_ms(double ns) { return format_number(ns / 1e6, 3) + " ms"; }
std::string pair_count(std::uint64_t count) { return format_short(static_cast<double>(count)); }

/// A line of the table of sums.
struct CostLine {
    const char *name, *hint;
    bool backward;  ///< only where the backward pass was measured
    std::string (*value)(const CostSums&);
};
constexpr CostLine kCostLines[] = {
    {"blending", "time of all tiles, summed over threads or thread blocks", false,
     [](const CostSums& s) { return cost_ms(s.forward_ns); }},
    {"its gradients", "the same, backward", true,
     [](const CostSums& s) { return cost_ms(s.backward_ns); }},
    {"in the lists", "(Gaussian, tile) pairs", false,
     [](const CostSums& s) { return pair_count(s.isects); }},
    {"pairs evaluated", "(Gaussian, pixel) pairs whose exponent was computed", false,
     [](const CostSums& s) { return pair_count(s.evaluated); }},
    {"blended", "pairs that contributed to a pixel", false,
     [](const CostSums& s) { return pair_count(s.blended); }},
    {"wasted", "evaluated pairs that changed no pixel", false,
     [](const CostSums& s) { return format_share(s.wasted()); }},
    {"backward", "pairs in the backward pass", true,
     [](const CostSums& s) { return pair_count(s.backward); }}};

void draw_cost_sums(const CostReport& report) {
    std::vector<CostLine> rows(std::begin(kCostLines), std::end(kCostLines));
    if (report.frame.backward == 0)
        std::erase_if(rows, [](const CostLine& l) { return l.backward; });
    std::vector<ColumnOf<CostLine>> columns{
        {"", " ", nullptr,
         [](const CostLine& l) { return TableCell(l.name, Tone::normal, l.hint); }, -1}};
    const auto add = [&](const char* title, const CostSums& sums) {
        columns.push_back(
            {"", title, format_share, [&](const CostLine& l) { return l.value(sums); }, 4.6F});
    };
    add("frame", report.frame);
    if (report.region) add("region", report.region->sums);
    draw_table(table_of<CostLine>(std::span(rows), std::move(columns)),
               {.id = "##sums", .flags = ImGuiTableFlags_RowBg, .tight = true});
    if (!report.region) return;
    const CostReport::Region& r = *report.region;
    wrapped_text(
        theme().dim,
        fmt::format("region ({}, {}) to ({}, {}): {} of the time", r.x0, r.y0, r.x1, r.y1,
                    format_share(r.sums.forward_ns / std::max(report.frame.forward_ns, 1.0))));
}

void draw_without(const CostWithout& without) {
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
    if (without.unread.count > 0) colored_text(theme().warning, without.unread.words());
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
    using Row = CostlyGaussian;
    const auto share = [all = std::max(static_cast<double>(report.frame.evaluated), 1.0)](
                           const Row& g) { return static_cast<double>(g.evaluated) / all; };
    const auto wasted = [](const Row& g) {
        return CostSums{0, 0, 0, g.evaluated, g.blended, 0}.wasted();
    };
    std::vector<ColumnOf<Row>> columns{
        {"", "Gaussian", nullptr, [](const Row& g) { return fmt::format("#{}", g.row); }},
        {"", "pairs", format_short, &Row::evaluated},
        {"", "share", format_share, share},
        {"", "wasted", format_share, wasted}};
    TableView view{.id = "##top", .flags = ImGuiTableFlags_RowBg, .tight = true};
    view.click = [&](std::size_t i) {
        commands.push("view.gaussian", {std::to_string(report.top[i].row)});
    };
    view.item = [](std::size_t) { tooltip("Look at it"); };
    draw_table(table_of<Row>(std::span(report.top), std::move(columns)), view);
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
        wrapped_text(theme().dim,
                     "Measure the current view: the time of each tile, and which Gaussians "
                     "make blending expensive. The modes time, wasted and pairs show where.");
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
