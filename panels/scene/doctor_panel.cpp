#include "panels/scene/doctor_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

ImU32 severity_color(Severity severity) {
    return severity == Severity::error     ? theme().error
           : severity == Severity::warning ? theme().warning
                                           : theme().dim;
}

/// A label in the first column, words that wrap in the second.
void line(const char* label, std::string_view words) {
    if (words.empty()) return;
    dim_text(label);
    ImGui::SameLine(4.6F * em());
    wrapped_text(theme().text, words);
}

void plan_row(const char* name, const MemoryPlan& plan, bool training, const DoctorReport& report) {
    const std::uint64_t needed = training ? plan.to_train() + report.photo_bytes : plan.to_view();
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(name);
    tooltip(
        fmt::format("{} Gaussians at {} x {} pixels, about {} (Gaussian, tile) pairs; an estimate",
                    format_count(static_cast<double>(plan.gaussians)), report.width, report.height,
                    format_short(static_cast<double>(plan.isects))));
    ImGui::TableNextColumn();
    const auto over = [&](const FreeMemory& free) {
        return free.free_bytes > 0 && needed > free.free_bytes;
    };
    const bool wide = over(report.device) || (report.device.free_bytes == 0 && over(report.host));
    cell_right(format_bytes(static_cast<double>(needed)), wide ? theme().warning : theme().text);
    if (ImGui::IsItemHovered())
        tooltip(fmt::format(
            "parameters {}\n{}lists and pictures of a frame {}{}",
            format_bytes(static_cast<double>(plan.parameters)),
            training ? fmt::format("moments and statistics {}\n",
                                   format_bytes(static_cast<double>(plan.optimizer)))
                     : std::string(),
            format_bytes(static_cast<double>(training ? plan.frame_train : plan.frame_view)),
            training && report.photo_bytes > 0
                ? fmt::format("\nphotos {}", format_bytes(static_cast<double>(report.photo_bytes)))
                : std::string()));
}

void free_memory_row(const char* name, const FreeMemory& free) {
    if (free.free_bytes == 0) return;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    dim_text(name);
    ImGui::TableNextColumn();
    cell_right(format_bytes(static_cast<double>(free.free_bytes)), theme().dim);
}

/// A budget that overgrows has this many times max_gaussians before it is reduced.
double growth_over_cap(const Snapshot& snapshot) {
    const SettingRow* const strategy = snapshot.setting("strategy");
    const SettingRow* const overgrow = snapshot.setting("overgrow");
    if (strategy == nullptr || overgrow == nullptr) return 1;
    for (std::size_t i = 0; i < strategy->choices.size(); ++i)
        if (strategy->choices[i].word == "budget" && strategy->value == static_cast<double>(i))
            return std::max(1.0, overgrow->value);
    return 1;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> command_of_example(const Snapshot& snapshot,
                                                                      const std::string& example) {
    if (example.size() > 1 && example[0] == '#' &&
        std::all_of(example.begin() + 1, example.end(),
                    [](char c) { return c >= '0' && c <= '9'; }))
        return std::pair<std::string, std::string>("view.gaussian", example.substr(1));
    if (!snapshot.cameras) return {};
    const auto row = std::ranges::find(*snapshot.cameras, example, &CameraRow::name);
    if (row == snapshot.cameras->end()) return {};
    return std::pair<std::string, std::string>("view.capture", std::to_string(row->view));
}

void DoctorPanel::draw_head(const Snapshot& snapshot, Commands& commands) const {
    const DoctorReport* report = snapshot.doctor.get();
    // Work takes the place of the buttons: the findings stay where they are.
    for (const Activity& a : snapshot.activities)
        if (a.name == "doctor" || a.name == "mend") {
            ImGui::ProgressBar(static_cast<float>(std::clamp(a.share, 0.0, 1.0)), {-5 * em(), 0},
                               a.what.c_str());
            ImGui::SameLine();
            if (ImGui::Button("Cancel")) commands.push("cancel", {a.name});
            return;
        }
    if (ImGui::Button(report ? "Examine again" : "Examine")) commands.push("doctor.examine");
    if (!report) return;
    const auto fixable = std::ranges::count_if(report->findings, &Finding::fixable);
    // The button stays when nothing is left to fix, so that Undo after it does not move.
    if (fixable > 1 || !report->fixes.empty()) {
        beside_if_fits("Fix all");
        ImGui::BeginDisabled(fixable == 0);
        if (ImGui::Button("Fix all")) commands.push("doctor.fix");
        ImGui::EndDisabled();
        tooltip(
            fmt::format("Fix {} that can be fixed; the file does not change. Undo with doctor.undo",
                        fixable == 1 ? "the one finding" : fmt::format("all {}", fixable)));
    }
    if (report->fixes.empty()) return;
    beside_if_fits("Undo");
    if (ImGui::Button("Undo")) commands.push("doctor.undo");
    tooltip("Undo the fix of " +
            (report->fixes.back().empty() ? "everything" : report->fixes.back()));
}

/// What the fixes changed, below the findings.
void DoctorPanel::draw_changes(const DoctorReport& report) const {
    if (report.fixes.empty()) return;
    if (report.unsaved)
        wrapped_text(theme().warning,
                     "Fixed but not saved. Export the splats to keep the changes.");
    else
        wrapped_text(theme().good, "Fixed and exported.");
    for (const std::string& change : report.changes) wrapped_text(theme().dim, "  " + change);
}

void DoctorPanel::draw_finding(const Snapshot& snapshot, const Finding& f,
                               Commands& commands) const {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.1F * em()},
                                              {at.x + 0.22F * em(), at.y + 1.2F * em()},
                                              severity_color(f.severity));
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + 0.5F * em());
    ImGui::PushStyleColor(ImGuiCol_Text, severity_color(f.severity));
    const std::string what = fitted(f.what, ImGui::GetContentRegionAvail().x - 1.6F * em());
    const bool open =
        ImGui::TreeNodeEx("##finding",
                          ImGuiTreeNodeFlags_SpanAvailWidth |
                              (f.severity == Severity::note ? 0 : ImGuiTreeNodeFlags_DefaultOpen),
                          "%s", what.c_str());
    ImGui::PopStyleColor();
    tooltip(fmt::format("{}: {}", name_of(f.severity), f.what));
    if (!open) return;
    if (what.size() != f.what.size()) wrapped_text(severity_color(f.severity), f.what);
    line("means", f.consequence);
    line("advice", f.advice);
    bool first = true;
    for (const std::string& example : f.examples) {
        const auto command = command_of_example(snapshot, example);
        if (!command) {
            line(first ? "such as" : "", example);
        } else {
            if (first) dim_text("such as"), ImGui::SameLine(4.6F * em());
            if (!first) beside_if_fits(example.c_str());
            if (ImGui::SmallButton(example.c_str()))
                commands.push(command->first, {command->second});
            tooltip("Look at it");
        }
        first = false;
    }
    if (f.of_gaussians && snapshot.selection && snapshot.selection->why_not.empty()) {
        if (ImGui::Button("Select these")) commands.push("select.finding", {f.id});
        tooltip("select.finding " + f.id);
        if (f.fixable) ImGui::SameLine();
    }
    if (f.fixable) {
        ImGui::BeginDisabled(find_activity(snapshot, "mend") != nullptr);
        if (ImGui::Button("Fix")) commands.push("doctor.fix", {f.id});
        ImGui::EndDisabled();
        tooltip("doctor.fix " + f.id);
    }
    ImGui::TreePop();
}

void DoctorPanel::draw_memory(const Snapshot& snapshot, Commands& commands) const {
    const DoctorReport& report = *snapshot.doctor;
    if (!report.planned || !section("Memory (estimated)")) return;
    if (!ImGui::BeginTable("##plan", 2, ImGuiTableFlags_SizingStretchProp)) return;
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, 6 * em());
    plan_row("to view now", report.now, false, report);
    plan_row("to train now", report.now, true, report);
    const std::string cap = fmt::format("to train at the cap of {}",
                                        format_short(static_cast<double>(report.at_cap.gaussians)));
    plan_row(cap.c_str(), report.at_cap, true, report);
    free_memory_row("free on the device", report.device);
    free_memory_row("free in the machine", report.host);
    ImGui::EndTable();
    std::uint64_t fits = 0;
    for (const FreeMemory& free : {report.host, report.device})
        if (free.fits > 0) fits = fits == 0 ? free.fits : std::min(fits, free.fits);
    if (fits == 0) return wrapped_text(theme().dim, "Training up to the cap fits.");
    wrapped_text(theme().warning,
                 fmt::format("Training up to the cap does not fit; about {} Gaussians do.",
                             format_count(static_cast<double>(fits))));
    const double most = std::floor(static_cast<double>(fits) / growth_over_cap(snapshot));
    const std::string set = fmt::format("Set the cap to {}", format_short(most));
    if (ImGui::Button(set.c_str()))
        commands.push("train.set", {"max_gaussians", fmt::format("{:.0f}", most)});
    tooltip(
        "train.set max_gaussians; smaller photos (--downscale) and a lower sh_degree also help");
}

void DoctorPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene) {
        empty_note("Open a scene to list its problems here");
        return;
    }
    draw_head(snapshot, commands);
    if (!snapshot.doctor) return;
    if (snapshot.doctor->findings.empty()) colored_text(theme().good, "No problems found.");
    int index = 0;
    for (const Finding& f : snapshot.doctor->findings) {
        ImGui::PushID(index++);
        draw_finding(snapshot, f, commands);
        ImGui::PopID();
    }
    draw_changes(*snapshot.doctor);
    ImGui::Spacing();
    draw_memory(snapshot, commands);
}

}  // namespace gs
