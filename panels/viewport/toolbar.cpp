#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/viewport/viewport.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// Goes on in the same line where `width` em still fit, else begins the next one.
void flow(float width) {
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < width * em()) ImGui::NewLine();
}

bool is_map(ViewMode mode) { return mode != ViewMode::color && mode != ViewMode::photo; }

void number_command(Commands& commands, const char* id, double value, float width,
                    const char* format, const char* hint, const auto& give) {
    ImGui::SetNextItemWidth(width * em());
    double edited = value;
    if (ImGui::InputDouble(id, &edited, 0, 0, format, ImGuiInputTextFlags_EnterReturnsTrue) &&
        std::isfinite(edited))
        give(commands, edited);
    tooltip(hint);
}

void draw_range(const ViewSettings& view, Commands& commands) {
    const bool signs = view.mode == ViewMode::error && view.signed_error;  // has colours of its own
    if (!signs) {
        flow(6.2F);
        choice_command(commands, "##colormap", "view.colormap", kColormapNames,
                       static_cast<std::size_t>(view.colormap), 6,
                       "Colormap; viridis, inferno and cividis are perceptual, cividis is safest "
                       "for colour-blind eyes");
    }
    flow(6.6F);
    choice_command(commands, "##range", "view.range", kRangeModeNames,
                   static_cast<std::size_t>(view.range), 6.4F,
                   "Range of the colormap: all values, percentiles, or by hand");
    if (view.range == RangeMode::manual) {
        flow(9.4F);
        const auto push = [](Commands& c, double lo, double hi) {
            if (lo < hi) c.push("view.range", {"manual", argument(lo), argument(hi)});
        };
        number_command(commands, "##lo", view.range_lo, 4.4F, "%.4g",
                       "Lower end, in the map's unit; Enter takes it",
                       [&](Commands& c, double lo) { push(c, lo, view.range_hi); });
        ImGui::SameLine(0, 3);
        number_command(commands, "##hi", view.range_hi, 4.4F, "%.4g",
                       "Upper end, in the map's unit; Enter takes it",
                       [&](Commands& c, double hi) { push(c, view.range_lo, hi); });
    } else if (view.range == RangeMode::percentile) {
        flow(4.8F);
        number_command(commands, "##percentile", view.percentile, 4.4F, "%.4g %%",
                       "Upper percentile; the lower is 100 minus this", [](Commands& c, double p) {
                           c.push("view.percentile", {argument(std::clamp(p, 50.0, 100.0))});
                       });
    }
    if (signs) return;
    flow(2.4F);
    toggle_command(commands, "log", "view.log", view.logarithmic, "Logarithmic colours");
}

void draw_more(const ViewSettings& view, Commands& commands) {
    flow(3);
    if (ImGui::Button("More")) ImGui::OpenPopup("##more");
    tooltip("Background, SH degree, size of the Gaussians, speed");
    if (!ImGui::BeginPopup("##more")) return;
    float rgb[3] = {view.background.x, view.background.y, view.background.z};
    if (ImGui::ColorEdit3("background", rgb, ImGuiColorEditFlags_Float))
        commands.push("view.background",
                      {argument(static_cast<double>(rgb[0])), argument(static_cast<double>(rgb[1])),
                       argument(static_cast<double>(rgb[2]))});
    int degree = view.sh_degree;
    if (ImGui::SliderInt("SH degree", &degree, 0, 3, "%d", ImGuiSliderFlags_AlwaysClamp))
        commands.push("view.sh-degree", {std::to_string(degree)});
    auto scale = static_cast<float>(view.scale_modifier);
    if (ImGui::SliderFloat("size of Gaussians", &scale, 0.01F, 2, "%.2f x",
                           ImGuiSliderFlags_AlwaysClamp))
        commands.push("view.scale", {fmt::format("{:.3f}", scale)});
    auto speed = static_cast<float>(view.fly_speed);
    if (ImGui::SliderFloat("flying speed", &speed, 0.01F, 10, "%.2f extents/s",
                           ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_Logarithmic))
        commands.push("view.fly-speed", {fmt::format("{:.3f}", speed)});
    ImGui::EndPopup();
}

void draw_place(const Snapshot& snapshot, Commands& commands) {
    const ViewSettings& view = snapshot.view;
    const bool any = snapshot.cameras && !snapshot.cameras->empty();
    flow(12.5F);
    if (icon_button("previous", Icon::previous, "Previous capture camera", any))
        commands.push("view.previous");
    ImGui::SameLine(0, 2);
    if (icon_button("next", Icon::next, "Next capture camera", any)) commands.push("view.next");
    ImGui::SameLine();
    std::string name = "free camera";
    if (any && view.capture_view >= 0)
        for (const CameraRow& row : *snapshot.cameras)
            if (static_cast<int>(row.view) == view.capture_view) name = row.name;
    ImGui::AlignTextToFramePadding();
    dim_text(fitted_path(name, 9 * em()));
    tooltip(name);
}

void draw_compare(const Snapshot& snapshot, Commands& commands) {
    const ViewSettings& view = snapshot.view;
    const bool scenes = snapshot.other && view.with == CompareWith::scene;
    flow(6);
    ImGui::SetNextItemWidth(7.2F * em());
    const std::string what = scenes ? "A | B: " : "photo: ";
    if (ImGui::BeginCombo("##compare",
                          (what + kCompareNames[static_cast<std::size_t>(view.compare)]).c_str())) {
        for (std::size_t i = 0; i < kCompareNames.size(); ++i)
            if (ImGui::Selectable((what + kCompareNames[i]).c_str(),
                                  i == static_cast<std::size_t>(view.compare)))
                commands.push("view.compare", {kCompareNames[i]});
        ImGui::EndCombo();
    }
    tooltip(scenes ? "Compare with " + snapshot.other->name
                   : "Compare with the photo of the capture camera");
    if (view.compare == Compare::toggle) {
        flow(4);
        toggle_command(commands, scenes ? "other" : "photo", "view.show-photo", view.show_photo,
                       "The other picture instead of this one");
    }
    if (view.mode == ViewMode::error) {
        flow(3.4F);
        toggle_command(commands, "signed", "view.signed", view.signed_error,
                       "This picture minus the other one: orange where it is brighter, blue where "
                       "it is darker");
    }
    if (!snapshot.other) return;
    flow(5.6F);
    choice_command(commands, "##with", "view.with", kCompareWithNames,
                   static_cast<std::size_t>(view.with), 5.4F, "What the picture is compared with");
    flow(3.2F);
    if (ImGui::Button("Swap")) commands.push("scene.swap");
    tooltip("Exchanges the sides of A and B");
    flow(2.8F);
    if (ImGui::Button("End")) commands.push("scene.end-compare");
    tooltip("Ends the comparison: closes " + snapshot.other->name);
}

}  // namespace

void draw_viewport_toolbar(const Snapshot& snapshot, Commands& commands) {
    const ViewSettings& view = snapshot.view;
    choice_command(commands, "##mode", "view.mode", kViewModeNames,
                   static_cast<std::size_t>(view.mode), 7, "What the picture shows");
    flow(6.4F);
    choice_command(commands, "##style", "view.style", kDrawStyleNames,
                   static_cast<std::size_t>(view.style), 6.2F, "How Gaussians are drawn");
    if (is_map(view.mode)) draw_range(view, commands);
    draw_compare(snapshot, commands);
    flow(6);
    choice_command(commands, "##navigation", "view.navigation", kNavigationNames,
                   static_cast<std::size_t>(view.navigation), 6, "How the mouse steers");
    flow(2.6F);
    if (ImGui::Button("All")) commands.push("view.frame-all");
    tooltip("Moves back until the whole scene is in view");
    flow(5);
    toggle_command(commands, "cameras", "view.frusta", view.frusta, "Shows the capture cameras");
    flow(2.8F);
    toggle_command(commands, "info", "view.overlays", view.overlays,
                   "Legend, axes and value under the mouse");
    if (view.mode == ViewMode::isects || view.mode == ViewMode::pairs) {
        flow(2.8F);
        toggle_command(commands, "grid", "view.tile-grid", view.tile_grid, "Lines between tiles");
    }
    draw_more(view, commands);
    draw_place(snapshot, commands);
}

}  // namespace gs
