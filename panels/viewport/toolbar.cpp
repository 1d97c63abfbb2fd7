#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/viewport/camera_popup.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/item_row.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

void number_command(Commands& commands, const char* label, double value, const char* format,
                    const auto& give) {
    ImGui::SetNextItemWidth(5 * em());
    double edited = value;
    if (ImGui::InputDouble(label, &edited, 0, 0, format, ImGuiInputTextFlags_EnterReturnsTrue) &&
        std::isfinite(edited))
        give(commands, edited);
}

std::string words_of_range(const ViewSettings& view) {
    if (view.range == RangeMode::manual)
        return format_compact(view.range_lo) + " .. " + format_compact(view.range_hi);
    if (view.range == RangeMode::percentile)
        return fmt::format("{} .. {} %", format_number(100 - view.percentile, 4),
                           format_number(view.percentile, 4));
    return "auto range";
}

/// The numbers of a range are in its list, so that the row's items keep their places.
void draw_range(const ViewSettings& view, Commands& commands) {
    ImGui::SetNextItemWidth(7 * em());
    if (!ImGui::BeginCombo("##range", words_of_range(view).c_str(), ImGuiComboFlags_HeightLarge)) {
        tooltip("Range of the colormap: all values, percentiles, or by hand");
        return;
    }
    for (std::size_t i = 0; i < kRangeModeNames.size(); ++i)
        if (ImGui::Selectable(kRangeModeNames[i], i == static_cast<std::size_t>(view.range),
                              ImGuiSelectableFlags_DontClosePopups))
            commands.push("view.range", {kRangeModeNames[i]});
    ImGui::Separator();
    if (view.range == RangeMode::manual) {
        const auto push = [](Commands& c, double lo, double hi) {
            if (lo < hi) c.push("view.range", {"manual", argument(lo), argument(hi)});
        };
        number_command(commands, "Lower end", view.range_lo, "%.4g",
                       [&](Commands& c, double lo) { push(c, lo, view.range_hi); });
        number_command(commands, "Upper end", view.range_hi, "%.4g",
                       [&](Commands& c, double hi) { push(c, view.range_lo, hi); });
        dim_text("in the map's unit; press Enter to apply");
    } else if (view.range == RangeMode::percentile) {
        number_command(commands, "Upper percentile", view.percentile, "%.4g %%",
                       [](Commands& c, double p) {
                           c.push("view.percentile", {argument(std::clamp(p, 50.0, 100.0))});
                       });
        dim_text("the lower one is 100 % minus it; press Enter to apply");
    } else {
        dim_text("from the smallest to the largest value");
    }
    ImGui::EndCombo();
}

/// Colours of a map: the same places whatever is shown, without effect on what has no map.
void draw_map(ItemRow& row, const ViewSettings& view, Commands& commands) {
    const bool signs = view.mode == ViewMode::error && view.signed_error;  // has colours of its own
    const bool tiles = is_of_tiles(view.mode);
    ImGui::BeginDisabled(!has_colormap(view.mode) || signs);
    if (row.place(6, "Colormap"))
        choice_command(commands, "##colormap", "view.colormap", kColormapNames,
                       static_cast<std::size_t>(view.colormap), 6,
                       "Colormap; viridis, inferno and cividis are perceptual, cividis is safest "
                       "for colour-blind eyes");
    ImGui::EndDisabled();
    ImGui::BeginDisabled(!has_colormap(view.mode));
    if (row.place(7, "Range")) draw_range(view, commands);
    ImGui::EndDisabled();
    ImGui::BeginDisabled(!has_colormap(view.mode) || signs);
    if (row.place(2.6F, ""))
        toggle_command(commands, "Log", "view.log", view.logarithmic, "Logarithmic colours");
    ImGui::EndDisabled();
    ImGui::BeginDisabled(!tiles && view.mode != ViewMode::error);
    if (row.place(4, "")) {
        if (view.mode == ViewMode::error)
            toggle_command(commands, "Signed", "view.signed", view.signed_error,
                           "Show this picture minus the other: orange where it is brighter, blue "
                           "where it is darker");
        else
            toggle_command(commands, "Grid", "view.tile-grid", view.tile_grid,
                           "Draw lines between tiles in maps with one value per tile");
    }
    ImGui::EndDisabled();
}

void draw_place(ItemRow& row, const Snapshot& snapshot, Commands& commands) {
    if (!row.place(10.4F, "Camera")) return;
    const ViewSettings& view = snapshot.view;
    const bool any = snapshot.cameras && !snapshot.cameras->empty();
    if (icon_button("previous", Icon::previous,
                    with_key(commands, "view.previous", "Previous capture camera").c_str(), any))
        commands.push("view.previous");
    ImGui::SameLine(0, 2);
    if (icon_button("next", Icon::next,
                    with_key(commands, "view.next", "Next capture camera").c_str(), any))
        commands.push("view.next");
    ImGui::SameLine();
    std::string name = "free camera";
    if (any && view.capture_view >= 0)
        for (const CameraRow& camera : *snapshot.cameras)
            if (static_cast<int>(camera.view) == view.capture_view) name = camera.name;
    ImGui::AlignTextToFramePadding();
    dim_text(fitted_path(name, 6.7F * em()));
    tooltip(name);
}

/// The entries for a second scene in the list of compare modes.
void draw_second_scene(const Snapshot& snapshot, Commands& commands) {
    ImGui::Separator();
    for (std::size_t i = 0; i < kCompareWithNames.size(); ++i)
        if (ImGui::Selectable((std::string("With ") + kCompareWithNames[i]).c_str(),
                              i == static_cast<std::size_t>(snapshot.view.with)))
            commands.push("view.with", {kCompareWithNames[i]});
    ImGui::Separator();
    if (ImGui::Selectable("Swap A and B")) commands.push("scene.swap");
    if (ImGui::Selectable("End the comparison")) commands.push("scene.end-compare");
    tooltip("Close " + snapshot.other->name);
}

void draw_compare(ItemRow& row, const Snapshot& snapshot, Commands& commands) {
    const ViewSettings& view = snapshot.view;
    const bool scenes = snapshot.other && view.with == CompareWith::scene;
    const bool photos = snapshot.cameras && !snapshot.cameras->empty();
    if (!row.place(7.4F, "Compare")) return;
    ImGui::SetNextItemWidth(7.4F * em());
    const std::string what = scenes ? "A | B: " : "Photo: ";
    ImGui::BeginDisabled(!snapshot.other && !photos);
    if (ImGui::BeginCombo("##compare",
                          (what + kCompareNames[static_cast<std::size_t>(view.compare)]).c_str())) {
        for (std::size_t i = 0; i < kCompareNames.size(); ++i)
            if (ImGui::Selectable((what + kCompareNames[i]).c_str(),
                                  i == static_cast<std::size_t>(view.compare)))
                commands.push("view.compare", {kCompareNames[i]});
        if (snapshot.other) draw_second_scene(snapshot, commands);
        ImGui::EndCombo();
    }
    ImGui::EndDisabled();
    tooltip(scenes   ? "Compare with " + snapshot.other->name
            : photos ? "Compare with the photo of the capture camera"
                     : "There are no photos to compare with; open a second scene with "
                       "Ctrl+Shift+O");
}

void draw_toggle(ItemRow& row, const Snapshot& snapshot, Commands& commands) {
    if (!row.place(4, "")) return;
    const bool scenes = snapshot.other && snapshot.view.with == CompareWith::scene;
    ImGui::BeginDisabled(snapshot.view.compare != Compare::toggle);
    toggle_command(commands, scenes ? "Other" : "Photo", "view.show-photo",
                   snapshot.view.show_photo,
                   "Show the other picture instead, in compare mode toggle");
    ImGui::EndDisabled();
}

void draw_items(ItemRow row, const Snapshot& snapshot, Commands& commands) {
    const ViewSettings& view = snapshot.view;
    if (row.place(8.5F, "Show"))
        choice_command(commands, "##mode", "view.mode", kViewModeNames,
                       static_cast<std::size_t>(view.mode), 8.5F, "Choose what the picture shows");
    draw_compare(row, snapshot, commands);
    draw_place(row, snapshot, commands);
    if (row.place(6, "Tool"))
        choice_command(commands, "##tool", "tool", kToolNames,
                       static_cast<std::size_t>(snapshot.tools.tool), 6,
                       "The left mouse button's tool: steer, or select and edit (Escape: steer "
                       "again)");
    draw_map(row, view, commands);
    if (row.place(5, "")) {
        if (ImGui::Button("Frame all")) commands.push("view.frame-all");
        tooltip(with_key(commands, "view.frame-all", "Move back until the whole scene is in view"));
    }
    if (row.place(4.6F, "")) draw_camera_popup(snapshot, commands);
    if (row.place(6.2F, "Draw as"))
        choice_command(commands, "##style", "view.style", kDrawStyleNames,
                       static_cast<std::size_t>(view.style), 6.2F, "Draw style of the Gaussians");
    ImGui::BeginDisabled(!snapshot.cameras || snapshot.cameras->empty());
    if (row.place(5, ""))
        toggle_command(commands, "Cameras", "view.frusta", view.frusta, "Show the capture cameras");
    ImGui::EndDisabled();
    if (row.place(5.2F, ""))
        toggle_command(commands, "Overlays", "view.overlays", view.overlays,
                       "Show legend, figures, axes and the value under the mouse");
    draw_toggle(row, snapshot, commands);
    if (row.place(6, "Steer by"))
        choice_command(commands, "##navigation", "view.navigation", kNavigationNames,
                       static_cast<std::size_t>(view.navigation), 6, "How the mouse steers");
}

void draw_settings(const ViewSettings& view, Commands& commands) {
    float rgb[3] = {view.background.x, view.background.y, view.background.z};
    if (ImGui::ColorEdit3("Background", rgb, ImGuiColorEditFlags_Float))
        commands.push("view.background",
                      {argument(static_cast<double>(rgb[0])), argument(static_cast<double>(rgb[1])),
                       argument(static_cast<double>(rgb[2]))});
    toggle_command(commands, "Sky", "view.sky", view.sky,
                   "Draw a learned sky, where the scene has one, in place of the background");
    int degree = view.sh_degree;
    if (drag_bar("SH degree", degree, 0, 3, "%.0f"))
        commands.push("view.sh-degree", {std::to_string(degree)});
    choice_command(
        commands, "projection", "view.projection", kViewProjectionNames,
        static_cast<std::size_t>(view.projection), 6,
        "Project by the lens's Jacobian (ewa), by seven points of each Gaussian (ut), or as the "
        "run trains");
    auto scale = static_cast<float>(view.scale_modifier);
    if (drag_bar("Size of Gaussians", scale, 0.01F, 2.0F, "%.2f x"))
        commands.push("view.scale", {fmt::format("{:.3f}", scale)});
    tooltip("Outline Gaussians at this many standard deviations in style rings");
    auto dots = static_cast<float>(view.point_size);
    if (drag_bar("Size of dots", dots, 1.0F, 16.0F, "%.1f px"))
        commands.push("view.point-size", {fmt::format("{:.2f}", dots)});
    tooltip("For styles points and centres");
    choice_command(commands, "Cameras' colours", "view.frusta.color", kFrustaColorNames,
                   static_cast<std::size_t>(view.frusta_color), 6,
                   "Colour the capture cameras by this value");
    ImGui::SameLine();
    toggle_command(commands, "With photos", "view.frusta.photos", view.frusta_photos,
                   "Show each capture camera's photo");
    auto size = static_cast<float>(view.frusta_size);
    if (drag_bar("Size of cameras", size, 0.05F, 20.0F, "%.2f x", ImGuiSliderFlags_Logarithmic))
        commands.push("view.frusta.size", {fmt::format("{:.3f}", size)});
    auto speed = static_cast<float>(view.fly_speed);
    if (drag_bar("Flying speed", speed, 0.01F, 10.0F, "%.2f extents/s",
                 ImGuiSliderFlags_Logarithmic))
        commands.push("view.fly-speed", {fmt::format("{:.3f}", speed)});
}

}  // namespace

void draw_viewport_toolbar(const Snapshot& snapshot, Commands& commands) {
    const float more = 3.2F * em(), room = ImGui::GetContentRegionAvail().x - more;
    const ImVec2 corner = ImGui::GetCursorPos();
    draw_items(ItemRow(room), snapshot, commands);
    ImGui::SetCursorPos({corner.x + std::max(room, 0.0F), corner.y});
    if (ImGui::Button("More", {more, 0})) ImGui::OpenPopup("##more");
    tooltip("Settings that do not fit in this row; background, SH degree, sizes, speed");
    if (!ImGui::BeginPopup("##more")) return;
    draw_items(ItemRow::rest(room), snapshot, commands);
    ImGui::Separator();
    draw_settings(snapshot.view, commands);
    ImGui::EndPopup();
}

}  // namespace gs
