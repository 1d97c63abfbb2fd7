#include "panels/import_dialog.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr const char* kTitle = "Open a capture##import";

void draw_facts(const char* id, const ImportState::Facts& facts) {
    if (!ImGui::BeginTable(id, 2)) return;
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthFixed, 8.8F * em());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    for (const auto& [what, value] : facts) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        dim_text(what);
        ImGui::TableNextColumn();
        wrapped_text(theme().text, value);
    }
    ImGui::EndTable();
}

void draw_findings(const ImportState& import) {
    for (const Finding& finding : import.findings) {
        if (finding.severity == Severity::note) continue;
        wrapped_text(finding.severity == Severity::error ? theme().error : theme().warning,
                     finding.what);
        tooltip(finding.consequence + "; " + finding.advice);
    }
    if (import.skipped.empty()) return;
    colored_text(theme().warning, counted(import.skipped.size(), "photo") + " skipped");
    std::string all;
    for (const std::string& line : import.skipped) all += (all.empty() ? "" : "\n") + line;
    tooltip(all);
}

void draw_found(const ImportState& import) {
    if (!import.problem.empty()) return wrapped_text(theme().error, import.problem);
    if (import.found.empty()) return dim_text("Examining the capture…");
    draw_facts("##found", import.found);
    draw_findings(import);
}

/// `typing`: Escape is a field's.
void draw_buttons(const ImportState& import, bool typing, Commands& commands) {
    const bool possible = import.problem.empty() && import.wrong.empty();
    ImGui::BeginDisabled(!possible);
    if (other_button("Open and train", {9 * em(), 0}) && possible)
        commands.push("import.accept", {"train"});
    tooltip("Load it and start training (Ctrl+Enter)");
    ImGui::SameLine();
    if (default_button("Open", {6 * em(), 0}) && possible) commands.push("import.accept");
    tooltip("Load it for viewing; training can start later (Enter)");
    ImGui::EndDisabled();
    ImGui::SameLine();
    const bool escaped = escape_leaves() && !typing;
    if (other_button("Cancel", {6 * em(), 0}) || escaped) commands.push("import.cancel");
    if (possible && ImGui::GetIO().KeyCtrl && named_key_pressed(ImGuiKey_Enter))
        commands.push("import.accept", {"train"});
    if (import.wrong.empty()) return;
    ImGui::SameLine();
    colored_text(theme().error, import.wrong);
}

}  // namespace

/// One of several: a list.
void ImportDialog::draw_list(const ImportState::Choice& choice, Commands& commands) {
    const auto is = [](const std::string& value) {
        return [&value](const auto& offer) { return offer.first == value; };
    };
    const auto now = std::ranges::find_if(choice.offers, is(choice.value));
    const std::string& shown = now == choice.offers.end() ? choice.value : now->second;
    ImGui::SetNextItemWidth(-1);
    if (!ImGui::BeginCombo("##value", sentence(shown).c_str())) return tooltip(choice.help);
    for (const auto& [value, words] : choice.offers)
        if (ImGui::Selectable(sentence(words).c_str(), value == choice.value))
            commands.push("import.set", {choice.name, value});
    ImGui::EndCombo();
}

/// A field, with common choices behind an arrow. It applies when it is entered or loses the focus;
/// numbers with or without separators.
void ImportDialog::draw_field(const ImportState::Choice& choice, Commands& commands) {
    const bool browses = choice.name == "output",
               number = choice.kind == ImportState::Choice::Kind::number;
    const float beside = browses ? 5.5F * em() : choice.offers.empty() ? 0 : 2 * em();
    ImGui::SetNextItemWidth(-std::max(beside, 1.0F));
    std::string& typed = typed_[choice.name];
    ImGui::InputTextWithHint("##value", choice.usual.c_str(), &typed);
    const bool left = ImGui::IsItemDeactivatedAfterEdit();
    typing_ = typing_ || ImGui::IsItemActive();
    std::string plain = typed;
    if (number) std::erase(plain, ',');
    if (left && plain != choice.value) commands.push("import.set", {choice.name, plain});
    if (!left && !ImGui::IsItemActive()) {
        const bool digits = number && !choice.value.empty() &&
                            choice.value.find_first_not_of("0123456789") == std::string::npos;
        typed = digits ? format_count(std::stod(choice.value)) : choice.value;
    }
    tooltip(choice.help);
    if (browses) {
        ImGui::SameLine();
        if (ImGui::Button("Browse…")) commands.push("browse", {"import.output"});
    } else if (!choice.offers.empty()) {
        ImGui::SameLine();
        if (ImGui::ArrowButton("##offers", ImGuiDir_Down)) ImGui::OpenPopup("##offered");
        if (ImGui::BeginPopup("##offered")) {
            for (const auto& [value, words] : choice.offers)
                if (ImGui::Selectable(sentence(words).c_str(), value == choice.value))
                    commands.push("import.set", {choice.name, value});
            ImGui::EndPopup();
        }
    }
}

void ImportDialog::draw_choice(const ImportState::Choice& choice, Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    dim_text(choice.label);
    tooltip(choice.help);
    ImGui::TableNextColumn();
    ImGui::PushID(choice.name.c_str());
    if (choice.kind == ImportState::Choice::Kind::one_of)
        draw_list(choice, commands);
    else
        draw_field(choice, commands);
    ImGui::PopID();
}

void ImportDialog::draw_choices(const ImportState& import, Commands& commands) {
    if (!ImGui::BeginTable("##choices", 2)) return;
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthFixed, 8.8F * em());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    for (const ImportState::Choice& choice : import.choices) draw_choice(choice, commands);
    ImGui::EndTable();
}

void ImportDialog::draw(const Snapshot& snapshot, Commands& commands, FileDialog& file_dialog) {
    const ImportState* import = snapshot.import.get();
    if (import && !ImGui::IsPopupOpen(kTitle)) {
        ImGui::OpenPopup(kTitle);
        typed_.clear();
    }
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
    ImGui::SetNextWindowSize(
        {std::min(44 * em(), display.x - 2 * em()), std::min(46 * em(), display.y - 2 * em())});
    if (!ImGui::BeginPopupModal(kTitle, nullptr,
                                ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize))
        return;
    if (!import) {
        ImGui::CloseCurrentPopup();
        ImGui::EndPopup();
        return;
    }
    text(fitted_path(import->path, ImGui::GetContentRegionAvail().x));
    const bool typed_before = std::exchange(typing_, false);
    const float foot = 3.2F * ImGui::GetFrameHeightWithSpacing();
    ImGui::BeginChild("##content", {0, -foot});
    draw_found(*import);
    ImGui::Separator();
    draw_choices(*import, commands);
    ImGui::Separator();
    draw_facts("##forecast", import->forecast);
    ImGui::EndChild();
    dim_text("The same from a terminal:");
    std::string line = import->command_line;
    ImGui::SetNextItemWidth(-5 * em());
    ImGui::InputText("##line", &line, ImGuiInputTextFlags_ReadOnly);
    tooltip(line);
    ImGui::SameLine();
    if (ImGui::Button("Copy", {-1, 0})) commands.push("import.copy");
    draw_buttons(*import, typed_before, commands);
    file_dialog.draw(snapshot, commands);
    ImGui::EndPopup();
}

}  // namespace gs
