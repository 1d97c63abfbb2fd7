#include "panels/status_bar.h"

#include <fmt/format.h>
#include <imgui.h>

#include "base/format.h"
#include "panels/state/inspection.h"
#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

struct Item {
    std::string words, hint;
    ImU32 color = theme().dim;
    const char* panel = nullptr;  ///< shown by a click
};

/// The doctor's errors and warnings; nothing if there are none.
void add_doctor(const Snapshot& s, std::vector<Item>& items) {
    if (!s.doctor) return;
    std::size_t errors = 0, warnings = 0;
    for (const Finding& f : s.doctor->findings) {
        errors += f.severity == Severity::error ? 1 : 0;
        warnings += f.severity == Severity::warning ? 1 : 0;
    }
    if (errors + warnings == 0) return;
    std::string words = "doctor:";
    if (errors > 0) words += fmt::format(" {} error{}", errors, errors == 1 ? "" : "s");
    if (warnings > 0) words += fmt::format(" {} warning{}", warnings, warnings == 1 ? "" : "s");
    items.push_back({words, "problems of the open scene; click to show them",
                     errors > 0 ? theme().error : theme().warning, "Doctor"});
}

/// Answers to actions in the picture, whose panels may be behind others.
void add_answers(const Snapshot& s, std::vector<Item>& items) {
    if (s.selection && s.selection->selected > 0)
        items.push_back({fmt::format("{} of {} selected",
                                     format_count(static_cast<double>(s.selection->selected)),
                                     format_count(static_cast<double>(s.gaussians()))),
                         "selected Gaussians; click to show the Selection panel", theme().accent,
                         "Selection"});
    if (s.inspection && s.inspection->pixel)
        items.push_back({"pixel: " + counted(s.inspection->pixel->report.contributors, "Gaussian"),
                         "Gaussians blended in the inspected pixel; click to show the Pixel panel",
                         theme().dim, "Pixel"});
}

std::vector<Item> items_of(const Snapshot& s) {
    std::vector<Item> items;
    add_doctor(s, items);
    add_answers(s, items);
    if (!s.backend.empty()) items.push_back({s.backend, "backend that renders and trains"});
    // The backend's name already contains a GPU's name.
    if (!s.device.empty() && s.backend.find(s.device) == std::string::npos)
        items.push_back({s.device, "device it runs on"});
    if (s.device_memory && s.device_memory->total_bytes > 0) {
        const DeviceMemory& m = *s.device_memory;
        const bool tight = m.free_bytes < m.total_bytes / 10;
        items.push_back(
            {fmt::format("GPU {} of {}", format_bytes(static_cast<double>(m.held_bytes)),
                         format_bytes(static_cast<double>(m.total_bytes))),
             fmt::format("device memory held by gausscope; {} of it is free",
                         format_bytes(static_cast<double>(m.free_bytes))),
             tight ? theme().warning : theme().dim});
    }
    if (!s.present_path.empty()) {
        const bool upload = s.present_path.starts_with("upload");
        items.push_back({upload ? "upload" : s.present_path,
                         "how pictures get from the GPU to the screen: " + s.present_path,
                         upload ? theme().warning : theme().dim});
    }
    if (s.process_bytes > 0) {
        std::string words = "memory " + format_bytes(static_cast<double>(s.process_bytes));
        if (s.machine_bytes > 0)
            words += " of " + format_bytes(static_cast<double>(s.machine_bytes));
        const bool tight = s.machine_bytes > 0 && s.process_bytes > s.machine_bytes / 10 * 9;
        items.push_back(
            {words, "resident memory of gausscope", tight ? theme().warning : theme().dim});
    }
    if (s.ui_fps > 0)
        items.push_back(
            {fmt::format("UI {:.0f} fps, {}", s.ui_fps, format_ms(s.ui_ms)),
             "frames of this window per second, and the time per frame; it pauses while "
             "nothing changes"});
    // Only training gives the viewer something to take time from.
    const bool training = s.training.state == RunState::training;
    const double budget = s.training.followed ? s.training.copy_budget : s.view.viewer_budget;
    const bool over = training && s.training.viewer_share > budget + 0.05;
    items.push_back({training
                         ? fmt::format("viewer {} of {}", format_share(s.training.viewer_share),
                                       format_share(budget))
                         : fmt::format("viewer budget {}", format_share(s.view.viewer_budget)),
                     s.training.followed
                         ? "measured share of the trainer's time spent on copies for viewers, and "
                           "its budget for them"
                         : "measured share of the engine's time spent on viewport pictures, "
                           "and its budget while training",
                     over ? theme().warning : theme().dim});
    items.push_back({"dropped " + format_count(static_cast<double>(s.dropped_records)) + " records",
                     "measurements overwritten before they were read",
                     s.dropped_records > 0 ? theme().warning : theme().dim});
    return items;
}

}  // namespace

std::string answers_in_words(const Snapshot& snapshot) {
    std::vector<Item> items;
    add_answers(snapshot, items);
    std::string words;
    for (const Item& item : items) words += (words.empty() ? "" : ", ") + item.words;
    return words;
}

float StatusBar::height() const { return 1.5F * em(); }

void StatusBar::draw(const Snapshot& snapshot, Commands& commands) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({0, display.y - height()});
    ImGui::SetNextWindowSize({display.x, height()});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0.6F * em(), 0.2F * em()});
    ImGui::PushStyleColor(ImGuiCol_WindowBg, theme().window);
    ImGui::Begin("##status", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                     ImGuiWindowFlags_NoNav);
    bool first = true;
    for (const Item& item : items_of(snapshot)) {
        const float width = ImGui::CalcTextSize(item.words.c_str()).x;
        if (!first) {
            const float end = ImGui::GetItemRectMax().x + 1.4F * em() + ImGui::CalcTextSize("|").x;
            if (end + width > display.x - 0.5F * em()) break;
            ImGui::SameLine(0, 0.7F * em());
            colored_text(theme().faint, "|");
            ImGui::SameLine(0, 0.7F * em());
        }
        colored_text(item.color, item.words);
        tooltip(item.hint);
        if (item.panel && ImGui::IsItemClicked()) commands.push("panel", {item.panel});
        first = false;
    }
    if (!snapshot.training.message.empty() && !snapshot.nothing_open()) {
        const float room = display.x - ImGui::GetItemRectMax().x - 2 * em();
        const std::string words = fitted(snapshot.training.message, room);
        if (room > 6 * em()) {
            ImGui::SameLine(display.x - ImGui::CalcTextSize(words.c_str()).x - 0.6F * em());
            colored_text(snapshot.training.state == RunState::failed ? theme().error : theme().dim,
                         words);
        }
    }
    ImGui::End();
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
}

}  // namespace gs
