#include "panels/training/training_panel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/state/history_state.h"
#include "panels/widgets/fuzzy.h"

namespace gs {
namespace {

/// Its digits are those that a logarithmic slider can tell from zero.
constexpr const char* kSliderFormat = "%.9g";

/// Rounds dragged values that span decades.
double three_digits(double value) { return std::stod(fmt::format("{:.3g}", value)); }

std::string text_of(const SettingRow& row, double value) {
    if (row.kind == SettingKind::toggle) return value > 0.5 ? "on" : "off";
    if (row.kind == SettingKind::count) return format_count(value);
    if (row.kind == SettingKind::number) return format_number(value, 4);
    const bool known = value >= 0 && value < static_cast<double>(row.choices.size());
    return known ? row.choices[static_cast<std::size_t>(value)].word : "";
}

bool is_scale(const SettingRow& row) {
    return row.kind == SettingKind::count || row.kind == SettingKind::number;
}

std::string help_of(const SettingRow& row, bool changed) {
    const std::string range =
        is_scale(row) ? fmt::format("{} to {}, ", format_number(row.min), format_number(row.max))
                      : std::string();
    return fmt::format("{}\n{}usually {}{} ({}){}{}", row.help, range, text_of(row, row.usual),
                       row.unit.empty() ? "" : " " + row.unit, row.source,
                       changed ? "\nright click the name to reset it" : "",
                       row.live ? "" : "\nfixed once training has started");
}

/// The choices by name, each with what it does and how many other settings it changes.
void draw_choices(const SettingRow& row, Commands& commands) {
    const std::string now = text_of(row, row.value);
    if (!ImGui::BeginCombo("##choice", now.c_str())) return;
    for (const SettingRow::Choice& choice : row.choices) {
        const std::size_t changes = choice.changes.size();
        if (ImGui::Selectable(choice.word.c_str(), choice.word == now) && choice.word != now)
            commands.push("train.set", {row.name, choice.word});
        ImGui::Indent();
        dim_text(choice.help);
        if (changes > 0) {
            dim_text(fmt::format("changes {} other setting{}", changes, changes == 1 ? "" : "s"));
            tooltip(fmt::format("{}", fmt::join(choice.changes, "\n")));
        }
        ImGui::Unindent();
    }
    ImGui::EndCombo();
}

double photos_a_step(const Snapshot& snapshot) {
    const SettingRow* const row = snapshot.setting("batch");
    return row == nullptr ? 1 : row->value;
}

}  // namespace

void TrainingPanel::draw_state(const Snapshot& snapshot) {
    const TrainingStatus& t = snapshot.training;
    if (t.state == RunState::loading) {
        ImGui::ProgressBar(static_cast<float>(std::clamp(t.progress, 0.0, 1.0)), {-1, 0});
        return;
    }
    if (!ImGui::BeginTable("##state", 4)) return;
    for (const float label : {3.2F, 3.9F}) {
        ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthFixed, label * em());
        ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    }
    const auto cell = [](const char* label, const std::string& value) {
        ImGui::TableNextColumn();
        dim_text(label);
        ImGui::TableNextColumn();
        text(value);
    };
    cell("step", format_count(static_cast<double>(t.step)));
    cell("loss", t.step > 0 ? format_number(t.loss, 4) : "-");
    cell("of", t.total_steps > 0 ? format_count(static_cast<double>(t.total_steps)) : "-");
    cell("per step", t.step_ms > 0 ? format_ms(t.step_ms) : "-");
    cell("ETA", t.eta_seconds > 0 ? format_duration(t.eta_seconds) : "-");
    cell("test", t.test_psnr > 0 ? format_db(t.test_psnr) : "-");
    if (t.test_psnr > 0)
        tooltip("PSNR over the test photos after step " +
                format_count(static_cast<double>(t.test_step)));
    const double batch = photos_a_step(snapshot);
    cell("batch", counted(static_cast<std::uint64_t>(batch), "photo"));
    tooltip("Photos per step; loss and curves are means over them");
    cell("per photo", t.step_ms > 0 ? format_ms(t.step_ms / batch) : "-");
    tooltip("Time of a step divided by its photos");
    ImGui::EndTable();
}

void TrainingPanel::draw_buttons(const Snapshot& snapshot, Commands& commands) {
    const RunState state = snapshot.training.state;
    const bool running = state == RunState::training, idle = snapshot.training.can_start();
    if (running) {
        if (icon_text_button(Icon::pause, "Pause", "Pause after this step"))
            commands.push("train.pause");
    } else if (icon_text_button(Icon::play, state == RunState::finished ? "Continue" : "Start",
                                "Train until the last step", idle)) {
        commands.push("train.start");
    }
    ImGui::SameLine();
    if (icon_text_button(Icon::step, "Step", "One step, then pause", running || idle))
        commands.push("train.step");
    ImGui::SameLine();
    if (icon_text_button(
            Icon::stop, "Finish", "Save the results and finish the run here; it can be continued",
            !snapshot.training.followed && (running || (idle && state != RunState::finished))))
        commands.push("train.stop");
    const auto step = static_cast<double>(snapshot.training.step);
    if (run_to <= 0) run_to = static_cast<int>(std::min(1e9, (std::floor(step / 1000) + 1) * 1000));
    if (icon_text_button(Icon::run_to, "Run to", "Train up to this step, then pause",
                         running || idle))
        commands.push("train.run-to", {std::to_string(run_to)});
    ImGui::SameLine();
    ImGui::SetNextItemWidth(std::max(5 * em(), ImGui::GetContentRegionAvail().x));
    ImGui::InputInt("##run to", &run_to, 100, 1000);
    run_to = std::max(run_to, 1);
}

void TrainingPanel::draw_files(const Snapshot& snapshot, Commands& commands) {
    const bool any = snapshot.scene != nullptr;
    const bool can_save =
        !snapshot.training.followed && (snapshot.training.state == RunState::training ||
                                        snapshot.training.state == RunState::paused ||
                                        snapshot.training.state == RunState::finished ||
                                        snapshot.training.state == RunState::ready);
    if (icon_text_button(Icon::save, "Checkpoint", "Save everything needed to resume later",
                         any && can_save))
        commands.push("train.checkpoint");
    ImGui::SameLine();
    if (icon_text_button(Icon::save, "Export…", "Write the splats to a file other programs read",
                         any))
        commands.push("browse", {"export"});
    const std::string& saved = snapshot.training.last_checkpoint;
    const float room = ImGui::GetContentRegionAvail().x;
    if (snapshot.training.followed) {
        dim_text(fitted(fmt::format("In another process; copies take {} of {}",
                                    format_share(snapshot.training.viewer_share),
                                    format_share(snapshot.training.copy_budget)),
                        room));
        tooltip("Share of its time, and what it allows: gausscope.attach(budget=0.01)");
        return;
    }
    if (snapshot.training.state == RunState::failed) {
        colored_text(theme().error, fitted(snapshot.training.message, room));
        tooltip(snapshot.training.message);
    } else {
        dim_text(saved.empty() ? "No checkpoint yet"
                               : "Saved " + fitted_path(saved, room - 4 * em()));
        tooltip(saved);
    }
    auto share = static_cast<float>(100 * snapshot.view.viewer_budget);
    ImGui::SetNextItemWidth(std::max(4 * em(), ImGui::GetContentRegionAvail().x - 7.5F * em()));
    if (drag_bar("Viewer budget", share, 0.0F, 95.0F, "%.0f %%"))
        commands.push("view.budget", {argument(std::round(static_cast<double>(share)) / 100)});
    tooltip(
        "Largest share of the engine's time that pictures for the viewport may take while "
        "training. Measured now: " +
        format_share(snapshot.training.viewer_share));
}

/// States that can be gone back to, newest first.
void TrainingPanel::draw_snapshots(const Snapshot& snapshot, Commands& commands) {
    const auto& rows = snapshot.training.snapshots;
    if (rows.empty()) return empty_note("A change of a setting keeps the state before it here");
    std::uint64_t bytes = 0;
    for (const SnapshotRow& row : rows) bytes += row.bytes;
    dim_text(format_bytes(static_cast<double>(bytes)) + " of memory");
    for (std::size_t i = rows.size(); i-- > 0;) {
        const SnapshotRow& row = rows[i];
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::SmallButton("Restore"))
            commands.push("train.revert", {fmt::format("#{}", row.number)});
        tooltip("Go back to this state; the current state becomes a snapshot as well");
        ImGui::SameLine(0, 3);
        if (ImGui::SmallButton("Branch"))
            commands.push("train.branch", {fmt::format("#{}", row.number)});
        tooltip("Save the run and continue from this state as a separate run");
        ImGui::SameLine();
        const std::string line =
            fmt::format("step {} {}", format_count(static_cast<double>(row.step)), row.why);
        dim_text(fitted(line, ImGui::GetContentRegionAvail().x));
        tooltip(line + ", " + format_bytes(static_cast<double>(row.bytes)));
        ImGui::PopID();
    }
}

/// The run's results and their files.
void TrainingPanel::draw_finish(const Snapshot& snapshot) {
    const TrainingStatus& t = snapshot.training;
    if (t.state != RunState::finished || t.files.empty())
        return empty_note("The finished run's score and files appear here");
    ImGui::PushTextWrapPos(0);
    text(fmt::format(
        "{} steps in {}: {} Gaussians{}", format_count(static_cast<double>(t.step)),
        format_duration(t.seconds), format_count(static_cast<double>(t.gaussians)),
        t.test_psnr > 0 ? fmt::format(", {} over the test photos (step {})", format_db(t.test_psnr),
                                      format_count(static_cast<double>(t.test_step)))
                        : std::string()));
    ImGui::PopTextWrapPos();
    for (const auto& [what, where] : t.files) {
        ImGui::PushID(what.c_str());
        if (ImGui::SmallButton("Copy")) ImGui::SetClipboardText(where.c_str());
        tooltip("Copy the path");
        ImGui::SameLine();
        dim_text(fitted_path(where, ImGui::GetContentRegionAvail().x));
        tooltip(what + ": " + where);
        ImGui::PopID();
    }
}

void TrainingPanel::draw_setting(const SettingRow& row, bool changeable, Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    // Changed settings are highlighted; right click the name to reset one.
    const bool changed = row.name != "steps" && row.value != row.usual;
    const std::string name = fitted(row.name, ImGui::GetContentRegionAvail().x);
    const std::string help = help_of(row, changed);
    changed ? colored_text(theme().accent, name) : dim_text(name);
    const bool back = changed && changeable && ImGui::IsItemClicked(ImGuiMouseButton_Right);
    if (back) commands.push("train.set", {row.name, argument(row.usual)});
    tooltip(help);
    ImGui::TableNextColumn();
    ImGui::PushID(row.name.c_str());
    ImGui::BeginDisabled(!changeable);
    ImGui::SetNextItemWidth(-1);
    if (row.kind == SettingKind::choice) {
        draw_choices(row, commands);
    } else if (row.kind == SettingKind::toggle) {
        bool on = row.value > 0.5;
        if (ImGui::Checkbox("##switch", &on))
            commands.push("train.set", {row.name, on ? "1" : "0"});
    } else {
        const bool whole = row.kind == SettingKind::count;
        double value = edited == row.name ? edited_value : row.value;
        const ImGuiSliderFlags flags =
            row.logarithmic ? ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_NoRoundToFormat : 0;
        // The slider covers the usual range; typed values cover the whole range.
        if (drag_bar("##slider", value, row.slider_min, row.slider_max,
                     whole ? "%.0f" : kSliderFormat, flags, true)) {
            const bool dragged = row.logarithmic && ImGui::IsMouseDown(ImGuiMouseButton_Left);
            value = std::clamp(dragged ? three_digits(value) : value, row.min, row.max);
            edited = row.name;
            edited_value = whole ? std::round(value) : value;
        }
        // One command when the slider is released: each is logged and marked on the curves.
        if (ImGui::IsItemDeactivatedAfterEdit() && edited == row.name) {
            commands.push("train.set", {row.name, argument(edited_value)});
        }
        if (edited == row.name && !ImGui::IsItemActive()) edited.clear();
    }
    ImGui::EndDisabled();
    tooltip(text_of(row, row.value) + (is_scale(row) ? "; Ctrl + click to type a value\n" : "\n") +
            help);
    ImGui::PopID();
}

void TrainingPanel::draw_settings(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.settings) return;
    if (snapshot.settings->empty())
        return empty_note("The trainer declares no editable parameters");
    for (const bool back : {true, false}) {
        const HistoryState::Row* edit = nullptr;
        if (snapshot.history)
            edit = back ? snapshot.history->to_undo() : snapshot.history->to_redo();
        if (edit && edit->of != EditOf::setting) edit = nullptr;
        ImGui::BeginDisabled(!edit);
        if (ImGui::Button(back ? "Undo" : "Redo")) commands.push(back ? "undo" : "redo");
        ImGui::EndDisabled();
        tooltip(edit ? edit_title(back ? "Undo" : "Redo", edit) : "");
        ImGui::SameLine(0, 3);
    }
    ImGui::SetNextItemWidth(-1);
    ImGui::InputTextWithHint("##filter", "Find a setting", &filter);
    const RunState state = snapshot.training.state;
    const bool begun =
        state == RunState::training || (snapshot.training.step > 0 && state != RunState::ready);
    ImGui::BeginChild("##settings");
    const auto& rows = *snapshot.settings;
    for (std::size_t i = 0; i < rows.size();) {
        std::size_t end = i;
        while (end < rows.size() && rows[end].group == rows[i].group) ++end;
        const bool any = std::any_of(
            rows.begin() + static_cast<std::ptrdiff_t>(i),
            rows.begin() + static_cast<std::ptrdiff_t>(end), [&](const SettingRow& row) {
                return contains_text(row.name, filter) || contains_text(row.help, filter);
            });
        if (any && section((rows[i].group + "##group").c_str()) &&
            ImGui::BeginTable("##rows", 2, ImGuiTableFlags_SizingStretchProp)) {
            ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 1);
            ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch, 1);
            for (std::size_t k = i; k < end; ++k)
                if (contains_text(rows[k].name, filter) || contains_text(rows[k].help, filter))
                    draw_setting(rows[k], rows[k].live || !begun, commands);
            ImGui::EndTable();
        }
        i = end;
    }
    ImGui::EndChild();
}

void TrainingPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.nothing_open()) {
        empty_note("Open a capture to train on it");
        return;
    }
    if (snapshot.nothing_to_train()) {
        empty_note(
            "Nothing to train: these splats have no photos. Open a capture, or the splats with "
            "their capture: open SPLATS CAPTURE");
        return;
    }
    draw_state(snapshot);
    draw_buttons(snapshot, commands);
    draw_files(snapshot, commands);
    if (!ImGui::BeginTabBar("##parts")) return;
    const std::size_t kept = snapshot.training.snapshots.size();
    const std::string snapshots = kept > 0 ? fmt::format("Snapshots ({})", kept) : "Snapshots";
    const auto part = [&](const char* name, const std::string& title, const auto& draw) {
        const ImGuiTabItemFlags flags = raise == name ? ImGuiTabItemFlags_SetSelected : 0;
        if (!ImGui::BeginTabItem((title + "###" + name).c_str(), nullptr, flags)) return;
        const float height = std::max(ImGui::GetContentRegionAvail().y, 8 * em());
        if (ImGui::BeginChild("##part", {0, height})) draw();
        ImGui::EndChild();
        ImGui::EndTabItem();
    };
    part("Settings", "Settings", [&] { draw_settings(snapshot, commands); });
    part("Snapshots", snapshots, [&] { draw_snapshots(snapshot, commands); });
    part("Growth", "Growth", [&] { draw_growth(snapshot); });
    part("Result", "Result", [&] { draw_finish(snapshot); });
    raise.clear();
    ImGui::EndTabBar();
}

}  // namespace gs
