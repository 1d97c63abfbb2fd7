// The Lab panel's comparison: each metric with its interval and verdict, gates, and the photos with
// the largest losses.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/training/lab_panel.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

Tone tone_of_verdict(const std::string& verdict) {
    return verdict == "better" || verdict == "holds"                          ? Tone::good
           : verdict == "worse" || verdict == "fails"                         ? Tone::error
           : verdict == "more" || verdict == "less" || verdict == "undecided" ? Tone::warning
                                                                              : Tone::dim;
}

void choose_side(const char* id, std::string& side, const std::vector<std::string>& names) {
    ImGui::SetNextItemWidth(9 * em());
    if (!ImGui::BeginCombo(id, side.c_str())) return;
    for (const std::string& name : names)
        if (ImGui::Selectable(name.c_str(), name == side)) side = name;
    ImGui::EndCombo();
}

void draw_metrics(const LabComparison& compared) {
    constexpr ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                      ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    using Metric = LabComparison::Metric;
    const auto side = [](const char* title, double Metric::*of) -> ColumnOf<Metric> {
        return {"", title, significant<5>,
                [of](const Metric& m) {
                    return m.unit == "bytes" ? TableCell(format_bytes(m.*of)) : TableCell(m.*of);
                },
                -1};
    };
    const auto difference = [](const Metric& m) {
        return std::isfinite(m.difference)
                   ? fmt::format("{:+.3g} {}", m.difference, m.relative ? "%" : m.unit)
                   : "-";
    };
    const auto interval = [](const Metric& m) {
        return std::isfinite(m.low) ? fmt::format("{:+.3g} to {:+.3g}", m.low, m.high) : "-";
    };
    draw_table(
        table_of<Metric>(
            std::span(compared.metrics),
            {{"", "metric", nullptr, &Metric::name, -1.3F},
             side("A", &Metric::a),
             side("B", &Metric::b),
             {"", "B - A", significant<3>, difference, -1},
             {"", "95 % interval", significant<3>, interval, -1.5F},
             {"", "verdict", nullptr,
              [](const Metric& m) { return TableCell(m.verdict, tone_of_verdict(m.verdict)); },
              -0.9F}}),
        {.id = "##metrics",
         .flags = flags,
         .size = {0.62F * ImGui::GetContentRegionAvail().x, 0},
         .draw = {{"metric", [&](std::size_t i) { text(compared.metrics[i].name); }}}});
}

void draw_photos(const LabComparison& compared, Commands& commands) {
    ImGui::BeginChild("##photos");
    for (const LabComparison::Gate& gate : compared.gates) {
        colored_text(color_of(tone_of_verdict(gate.state)), gate.state);
        ImGui::SameLine();
        text(gate.text);
    }
    if (!compared.worst.empty()) dim_text("photos with the largest loss from A to B (dB)");
    for (std::size_t i = 0; i < compared.worst.size(); ++i) {
        const LabComparison::Photo& photo = compared.worst[i];
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::SmallButton("A")) commands.push("lab.show", {std::to_string(photo.run_a)});
        tooltip(fmt::format("Opens run {}", photo.run_a));
        ImGui::SameLine(0, 3);
        if (ImGui::SmallButton("B")) commands.push("lab.show", {std::to_string(photo.run_b)});
        tooltip(fmt::format("Opens run {}", photo.run_b));
        ImGui::SameLine(0, 3);
        const std::string name =
            fmt::format("{:.2f} {:.2f} {} {}", photo.psnr_a, photo.psnr_b, photo.scene, photo.name);
        if (ImGui::Selectable(fitted(name, ImGui::GetContentRegionAvail().x).c_str()))
            commands.push("lab.photo", {std::to_string(photo.run_b), photo.name});
        tooltip("View from this photo (open one of the runs first)");
        ImGui::PopID();
    }
    ImGui::PushTextWrapPos(0);
    for (const std::string& note : compared.notes) dim_text(note);
    ImGui::PopTextWrapPos();
    ImGui::EndChild();
}

}  // namespace

void LabPanel::draw_comparison(const LabState& lab, Commands& commands) {
    if (lab.names.size() < 2)
        return empty_note(lab.runs.empty()
                              ? "Run a suite, or read a database of gausscope lab"
                              : "Only one label and one kind of settings: run the suite again "
                                "with another label");
    const auto there = [&](const std::string& name) {
        return std::find(lab.names.begin(), lab.names.end(), name) != lab.names.end();
    };
    if (!there(a)) a = lab.compared ? lab.compared->a : lab.names[0];
    if (!there(b)) b = lab.compared ? lab.compared->b : lab.names[1];
    choose_side("A", a, lab.names);
    ImGui::SameLine();
    choose_side("B", b, lab.names);
    ImGui::SameLine();
    if (ImGui::Button("Compare")) commands.push("lab.compare", {a, b});
    tooltip("Compare B with A, paired by scene and seed");
    if (!lab.compared) return;
    ImGui::SameLine();
    dim_text(fmt::format("{} against {}: {}", lab.compared->b, lab.compared->a,
                         counted(lab.compared->pairs, "pair")));
    draw_metrics(*lab.compared);
    ImGui::SameLine();
    draw_photos(*lab.compared, commands);
}

}  // namespace gs
