#include "panels/viewport/camera_popup.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <numbers>

#include "base/format.h"
#include "panels/viewport/navigation.h"
#include "panels/widgets/widgets.h"
#include "renderer/scene/camera_names.h"
#include "renderer/scene/viewer_lens.h"

namespace gs {
namespace {

constexpr std::array<const char*, 7> kUps{"auto", "x", "y", "z", "-x", "-y", "-z"};

float wide() { return 11 * em(); }

/// Degrees, as view.fov takes them.
void draw_fov(const Snapshot& snapshot, Commands& commands) {
    auto degrees = static_cast<float>(snapshot.fov_y * 180 / std::numbers::pi);
    ImGui::SetNextItemWidth(wide());
    ImGui::BeginDisabled(snapshot.camera.model != CameraModel::pinhole);
    if (drag_bar("Field of view", degrees, 5.0F, 150.0F, "%.1f deg"))
        commands.push("view.fov", {fmt::format("{:.2f}", degrees)});
    ImGui::EndDisabled();
    tooltip(snapshot.camera.orthographic() ? "Not used with parallel rays: zoom to change the width"
                                           : "Vertical field of view of the free camera");
}

/// The free camera's lens; at a photo's camera, the name of the photo's lens.
void draw_lens(const Snapshot& snapshot, Commands& commands) {
    const CameraModel now = snapshot.camera.model;
    ImGui::SetNextItemWidth(wide());
    if (ImGui::BeginCombo("Lens", text_of(now))) {
        for (const CameraModel model : kViewerLenses)
            if (ImGui::Selectable(text_of(model), now == model))
                commands.push("camera.lens", {text_of(model)});
        ImGui::EndCombo();
    }
    tooltip(
        "Lens of the camera: fisheye sees half of all directions (up to all with "
        "camera.lens fisheye DEGREES), equirectangular sees all");
    if (now != CameraModel::opencv_fisheye || snapshot.view.capture_view >= 0) return;
    auto degrees =
        static_cast<float>(snapshot.camera.height / snapshot.camera.fy * 180 / std::numbers::pi);
    ImGui::SetNextItemWidth(wide());
    if (drag_bar("Across", degrees, 10.0F, 360.0F, "%.0f deg"))
        commands.push("camera.lens", {text_of(now), fmt::format("{:.1f}", degrees)});
    tooltip("Angle across the picture's height");
}

void draw_near(const Snapshot& snapshot, Commands& commands) {
    const SceneInfo& scene = *snapshot.scene;
    const bool automatic = snapshot.view.near_plane <= 0;
    const double radius = scene.radius > 0 ? scene.radius : 1;
    auto near_plane = static_cast<float>(automatic ? scene.near_plane : snapshot.view.near_plane);
    ImGui::SetNextItemWidth(wide());
    const float most = static_cast<float>(2 * kParallelStandoff * radius),
                least = std::min(near_plane, static_cast<float>(1e-3 * radius));
    if (drag_bar("Near plane", near_plane, least, most, automatic ? "auto: %.3g" : "%.3g",
                 ImGuiSliderFlags_Logarithmic))
        commands.push("view.near", {argument(static_cast<double>(near_plane))});
    tooltip("Hide Gaussians nearer than this, in world units along the view");
    ImGui::SameLine();
    ImGui::BeginDisabled(automatic);
    if (ImGui::SmallButton("Auto")) commands.push("view.near", {"auto"});
    ImGui::EndDisabled();
}

/// The name of the current up direction; "auto" if it is the scene's.
std::string name_of_up(const Snapshot& snapshot) {
    const auto same = [&](double x, double y, double z) {
        return dot(snapshot.up, Vec3d{x, y, z}) > 0.999999;
    };
    const Vec3f own = snapshot.scene->up;
    if (same(static_cast<double>(own.x), static_cast<double>(own.y), static_cast<double>(own.z)))
        return "auto";
    for (std::size_t i = 1; i < kUps.size(); ++i) {
        const double sign = i > 3 ? -1 : 1;
        const std::size_t axis = (i - 1) % 3;
        if (same(axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0)) return kUps[i];
    }
    return "another way";
}

void draw_up(const Snapshot& snapshot, Commands& commands) {
    ImGui::SetNextItemWidth(wide());
    const std::string now = name_of_up(snapshot);
    if (ImGui::BeginCombo("Up", now.c_str())) {
        for (const char* name : kUps)
            if (ImGui::Selectable(name, now == name)) commands.push("view.up", {name});
        ImGui::EndCombo();
    }
    tooltip("Up direction of the horizon; auto: from the capture cameras");
}

void draw_sides(Commands& commands) {
    for (std::size_t i = 0; i < kSideNames.size(); ++i) {
        if (i % 3 != 0) ImGui::SameLine();
        if (ImGui::Button(kSideNames[i], {3.6F * em(), 0}))
            commands.push(std::string("view.from.") + kSideNames[i]);
    }
}

/// One slider of the box; the other end stays where it is.
void draw_box_end(const Snapshot& snapshot, Commands& commands, int axis, bool upper) {
    const ClipBox& box = *snapshot.view.clip;
    const ClipBox& core = snapshot.scene->core;
    std::array<float, 6> v{box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
    const std::array<float, 6> c{core.lo.x, core.lo.y, core.lo.z, core.hi.x, core.hi.y, core.hi.z};
    const auto a = static_cast<std::size_t>(axis), i = a + (upper ? 3U : 0U);
    // Half the core's size beyond it, and whatever the box has.
    const float more = 0.5F * (c[a + 3] - c[a]);
    const float least = std::min(c[a] - more, v[a]), most = std::max(c[a + 3] + more, v[a + 3]);
    ImGui::PushID(static_cast<int>(i));
    ImGui::SetNextItemWidth(wide() / 2 - 2);
    if (drag_bar("##end", v[i], least, most, "%.3g")) {
        v[i] = upper ? std::max(v[i], v[a]) : std::min(v[i], v[a + 3]);
        std::vector<std::string> arguments;
        for (const float end : v) arguments.push_back(argument(static_cast<double>(end)));
        commands.push("view.clip", arguments);
    }
    ImGui::PopID();
}

void draw_clip(const Snapshot& snapshot, Commands& commands) {
    bool on = snapshot.view.clip.has_value();
    if (ImGui::Checkbox("Clip box", &on)) {
        if (on)
            commands.push("view.clip.fit");
        else
            commands.push("view.clip", {"off"});
    }
    tooltip("Draw only Gaussians with centres in a box; training and scores ignore it");
    if (!snapshot.view.clip) return;
    ImGui::SameLine();
    if (ImGui::SmallButton("Fit")) commands.push("view.clip.fit");
    tooltip("Fit the box to the scene's core, by the points");
    constexpr std::array<const char*, 3> kAxes{"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
        draw_box_end(snapshot, commands, axis, false);
        ImGui::SameLine(0, 4);
        draw_box_end(snapshot, commands, axis, true);
        ImGui::SameLine();
        ImGui::TextUnformatted(kAxes[static_cast<std::size_t>(axis)]);
    }
}

}  // namespace

void draw_camera_popup(const Snapshot& snapshot, Commands& commands) {
    if (ImGui::Button("Camera")) ImGui::OpenPopup("##lens");
    tooltip("Field of view, near plane, orthographic, sides to look from, up, grid, clip box");
    if (!ImGui::BeginPopup("##lens")) return;
    if (snapshot.scene) {
        draw_fov(snapshot, commands);
        draw_near(snapshot, commands);
        toggle_command(commands, "Orthographic", "view.orthographic",
                       snapshot.camera.orthographic(),
                       "Parallel rays: sizes do not depend on depth (5 on the number pad)");
        draw_lens(snapshot, commands);
        toggle_command(
            commands, "rolling shutter", "view.shutter", snapshot.view.shutter,
            "For photos with a rolling shutter: draw every row from its own pose, or all from one");
        toggle_command(commands, "Shutter arrows", "view.shutter.arrows",
                       snapshot.view.shutter_arrows,
                       "Show when each row is read, and the shift this causes");
        ImGui::Separator();
        draw_sides(commands);
        draw_up(snapshot, commands);
        toggle_command(commands, "Ground grid", "view.grid", snapshot.view.grid,
                       "Draw lines on the ground, a round number of world units apart (Shift+G)");
        toggle_command(commands, "Fast pictures", "view.fast", snapshot.view.fast,
                       "CUDA, while not training: half-precision colours in the viewport only; "
                       "files, maps, scores and training stay exact");
        toggle_command(commands, "Exact pictures", "view.exact", snapshot.view.exact,
                       "Along each pixel's ray instead of projected, on the CPU: slower; shows "
                       "large Gaussians near the camera as they are");
        ImGui::Separator();
        draw_clip(snapshot, commands);
    }
    ImGui::EndPopup();
}

}  // namespace gs
