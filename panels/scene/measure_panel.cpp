#include "panels/scene/measure_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include "base/format.h"
#include "panels/state/measure_state.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

std::string words_of_direction(Vec3d v) {
    return fmt::format("{} {} {}", format_number(v.x, 3), format_number(v.y, 3),
                       format_number(v.z, 3));
}

}  // namespace

void MeasurePanel::draw_distances(const MeasureState& measured, Commands& commands) {
    if (!ImGui::BeginTable("##distances", 4,
                           ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit))
        return;
    ImGui::TableSetupColumn("##number");
    ImGui::TableSetupColumn("##length", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("##units");
    ImGui::TableSetupColumn("##forget");
    for (std::size_t i = 0; i < measured.distances(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        const bool chosen = chosen_ == i + 1 || (chosen_ == 0 && i + 1 == measured.distances());
        if (ImGui::Selectable(std::to_string(i + 1).c_str(), chosen)) chosen_ = i + 1;
        tooltip("Use this distance for scale and up");
        ImGui::TableNextColumn();
        text(length_words(measured.length(i), measured.metres_per_unit));
        ImGui::TableNextColumn();
        if (measured.metres_per_unit > 0) dim_text(format_number(measured.length(i), 4) + " units");
        ImGui::TableNextColumn();
        if (ImGui::SmallButton("x")) commands.push("measure.remove", {std::to_string(i + 1)});
        tooltip("Delete this distance");
        ImGui::PopID();
    }
    ImGui::EndTable();
}

void MeasurePanel::draw_scale(const MeasureState& measured, Commands& commands) {
    const std::size_t number = chosen_ != 0 ? chosen_ : measured.distances();
    ImGui::AlignTextToFramePadding();
    text(number > 0 ? fmt::format("Distance {} is", number) : "Distance is");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(5 * em());
    ImGui::InputDouble("m##metres", &metres_, 0, 0, "%.6g");
    ImGui::SameLine();
    const bool usable = metres_ > 0 && number > 0 && measured.length(number - 1) > 0;
    ImGui::BeginDisabled(!usable);
    if (ImGui::Button("Set##scale"))
        commands.push("scene.scale", {argument(metres_), std::to_string(number)});
    ImGui::EndDisabled();
    tooltip("Set the scene's scale, to show lengths in metres");
}

void MeasurePanel::draw_up(const Snapshot& snapshot, const MeasureState& measured,
                           Commands& commands) {
    const char* const by = measured.up ? "(set)" : "(from the cameras)";
    text("Up: " + words_of_direction(snapshot.up));
    beside_if_fits(by);
    dim_text(by);
    const std::size_t number = chosen_ != 0 ? chosen_ : measured.distances();
    ImGui::BeginDisabled(number == 0);
    if (ImGui::Button("Along the distance"))
        commands.push("scene.up", {"distance", std::to_string(number)});
    ImGui::EndDisabled();
    tooltip("Set up from the first to the second end of the chosen distance");
    ImGui::SameLine();
    ImGui::BeginDisabled(!measured.up);
    if (ImGui::Button("Reset")) commands.push("scene.up", {"auto"});
    ImGui::EndDisabled();
    tooltip("Take up from the capture cameras again");
}

void MeasurePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene) return empty_note("Open a scene to measure in it");
    static const MeasureState kNothing;
    const MeasureState& measured = snapshot.measured ? *snapshot.measured : kNothing;
    if (chosen_ > measured.distances()) chosen_ = 0;
    draw_scale(measured, commands);
    text(measured.metres_per_unit > 0
             ? fmt::format("1 unit is {}", length_words(1, measured.metres_per_unit))
             : "Lengths are in scene units");
    ImGui::SameLine();
    ImGui::BeginDisabled(measured.metres_per_unit <= 0);
    if (ImGui::SmallButton("Reset##scale")) commands.push("scene.scale", {"off"});
    ImGui::EndDisabled();
    tooltip("Show lengths in scene units");
    ImGui::Separator();
    draw_up(snapshot, measured, commands);
    ImGui::Separator();
    if (measured.distances() > 0) return draw_distances(measured, commands);
    ImGui::TextWrapped(
        "Drag with the distance tool (tool.distance) from one point of the picture to another.");
}

}  // namespace gs
