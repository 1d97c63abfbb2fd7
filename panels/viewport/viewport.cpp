#include "panels/viewport/viewport.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// The same pixel of the other picture.
void draw_cross(ImDrawList& list, ImVec2 at) {
    const float arm = 0.45F * em();
    for (const auto& [color, thickness] :
         {std::pair{theme().window, 3.0F}, std::pair{IM_COL32_WHITE, 1.0F}}) {
        list.AddLine({at.x - arm, at.y}, {at.x + arm, at.y}, color, thickness);
        list.AddLine({at.x, at.y - arm}, {at.x, at.y + arm}, color, thickness);
    }
}

}  // namespace

void Viewport::begin_frame() {
    input_ = {};
    drawn_ = hovered_ = steering_ = false;
    pixel_.reset();
}

void Viewport::draw_loading(const Snapshot& snapshot, Commands& commands) {
    const TrainingStatus& t = snapshot.training;
    const float width = std::min(28 * em(), ImGui::GetContentRegionAvail().x - 2 * em());
    if (t.state != RunState::loading || width < 4 * em()) {
        const bool failed = t.state == RunState::failed;
        empty_note(failed ? t.message : "No picture yet");
        return;
    }
    const ImVec2 room = ImGui::GetContentRegionAvail();
    ImGui::SetCursorPos(
        {ImGui::GetCursorPosX() + (room.x - width) / 2, ImGui::GetCursorPosY() + 0.42F * room.y});
    ImGui::BeginGroup();
    text(t.message.empty() ? "Loading" : fitted(t.message, width));
    ImGui::ProgressBar(static_cast<float>(std::clamp(t.progress, 0.0, 1.0)), {width, 0});
    if (ImGui::Button("Cancel")) commands.push("cancel", {"load"});
    ImGui::EndGroup();
}

/// True when the divider is pointed at or held.
bool Viewport::drag_split(const Snapshot& snapshot, Commands& commands,
                          const PicturePlaces& places) {
    if (!places.split) return false;
    const PictureRect& picture = places.picture;
    const ImVec2 mouse = ImGui::GetMousePos();
    const bool near = std::abs(mouse.x - places.divider) < 0.5F * em() && picture.contains(mouse);
    if (near && ImGui::IsItemHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Left))
        dragging_split_ = true;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragging_split_ = false;
    if (near || dragging_split_) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    if (dragging_split_ && picture.width() > 0) {
        const double wanted =
            std::clamp(static_cast<double>((mouse.x - picture.a.x) / picture.width()), 0.0, 1.0);
        if (std::abs(wanted - snapshot.view.split) > 1e-4)
            commands.push("view.split", {argument(std::round(wanted * 1e4) / 1e4)});
    }
    return near || dragging_split_;
}

void Viewport::pick(const Snapshot& snapshot, Commands& commands, PictureRect picture) {
    const ViewFrame& frame = *snapshot.frame;
    hovered_camera_.reset();
    if (snapshot.tools.tool != Tool::navigate) return;
    if (!hovered_ || !picture.contains(ImGui::GetMousePos()) || picture.width() < 1) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const double scale =
        static_cast<double>(frame.camera.width) / static_cast<double>(picture.width());
    const Pixel at{static_cast<double>(mouse.x - picture.a.x) * scale,
                   static_cast<double>(mouse.y - picture.a.y) * scale};
    const bool photo =
        snapshot.view.compare == Compare::toggle && snapshot.view.show_photo && !frame.other;
    if (!photo && !dragging_split_ && !ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3))
        hovered_camera_ =
            frustum_at(frusta_in(snapshot, frame), at, 0.35 * static_cast<double>(em()) * scale);
    const bool clicked =
        ImGui::IsMouseReleased(ImGuiMouseButton_Left) && dragged_ < 3 && !dragging_split_;
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && !hovered_camera_)
        commands.push("view.focus",
                      {argument(std::floor(at.x) + 0.5), argument(std::floor(at.y) + 0.5)});
    else if (clicked && hovered_camera_)
        commands.push("view.capture", {std::to_string((*snapshot.cameras)[*hovered_camera_].view)});
    else if (clicked)
        commands.push("inspect.pixel",
                      {argument(std::floor(at.x) + 0.5), argument(std::floor(at.y) + 0.5)});
}

void Viewport::steer(const Snapshot& snapshot, PictureRect picture) {
    const ImGuiIO& io = ImGui::GetIO();
    input_.mode = snapshot.view.navigation;
    input_.fly_speed = snapshot.view.fly_speed;
    input_.height_px = static_cast<double>(std::max(picture.height(), 1.0F));
    input_.dt = std::min(static_cast<double>(io.DeltaTime), 0.1);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragged_ = 0;
    const bool active = ImGui::IsItemActive();
    if (active) dragged_ += std::abs(io.MouseDelta.x) + std::abs(io.MouseDelta.y);
    if (active && !dragging_split_) {
        const double dx = static_cast<double>(io.MouseDelta.x),
                     dy = static_cast<double>(io.MouseDelta.y);
        const bool left = ImGui::IsMouseDown(ImGuiMouseButton_Left);
        if (left && snapshot.tools.tool != Tool::navigate) {  // the tool's
        } else if (dragged_ < 3 && left) {                    // not yet a drag
        } else if (left && io.KeyCtrl) {
            input_.roll = dx;
        } else if (left && !io.KeyShift) {
            input_.turn_x = dx;
            input_.turn_y = dy;
        } else {
            input_.pan_x = dx;
            input_.pan_y = dy;
        }
    }
    if (hovered_) {
        input_.zoom = static_cast<double>(io.MouseWheel);
        const auto axis = [](char plus, char minus) {
            return (place_held(plus) ? 1.0 : 0.0) - (place_held(minus) ? 1.0 : 0.0);
        };
        input_.move = {axis('D', 'A'), axis('Q', 'E'), axis('W', 'S')};
        input_.fast = io.KeyShift;
    }
    steering_ = active || input_.move.x != 0 || input_.move.y != 0 || input_.move.z != 0;
}

/// The value under the mouse: in the legend, in words, and in the other picture.
void Viewport::point_at(const Snapshot& snapshot, const PicturePlaces& places,
                        OverlayState& state) {
    const ImVec2 mouse = ImGui::GetMousePos();
    const PictureRect& under = places.under(mouse);
    if (!hovered_ || !under.contains(mouse) || under.width() <= 0) return;
    const ViewFrame& frame = shown_frame(snapshot, places);
    const float scale = static_cast<float>(frame.camera.width) / under.width();
    const int x = static_cast<int>((mouse.x - under.a.x) * scale),
              y = static_cast<int>((mouse.y - under.a.y) * scale);
    pixel_ = {x, y};
    state.mark = map_value(frame, x, y);
    if (!snapshot.view.overlays) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const PictureRect& twin = &under == &places.other ? places.picture : places.other;
    if (places.beside)
        draw_cross(list, {mouse.x - under.a.x + twin.a.x, mouse.y - under.a.y + twin.a.y});
    state.value = pixel_text(frame, x, y, snapshot.frame_pixel);
}

void Viewport::draw_scene(const Snapshot& snapshot, Commands& commands, PictureRect room) {
    const PicturePlaces places = places_of(snapshot, room);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool bright = drag_split(snapshot, commands, places);
    draw_pictures(list, snapshot, places, bright);
    const PictureRect& under = places.under(ImGui::GetMousePos());
    pick(snapshot, commands, under);
    steer(snapshot, places.picture);
    OverlayState state{.hovered_camera = hovered_camera_};
    point_at(snapshot, places, state);
    draw_overlays(list, snapshot, places, state);
    list.PushClipRect(room.a, room.b, true);
    tools_.use(list, snapshot, places.picture, hovered_ && !dragging_split_, commands);
    list.PopClipRect();
    steering_ = steering_ || tools_.busy();
}

void Viewport::draw_picture(const Snapshot& snapshot, int width, int height) const {
    if (!snapshot.frame) return;
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const PicturePlaces places =
        places_of(snapshot, {{0, 0}, {static_cast<float>(width), static_cast<float>(height)}});
    draw_pictures(list, snapshot, places, false);
    draw_overlays(list, snapshot, places, {});
}

void Viewport::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.nothing_open()) draw_viewport_toolbar(snapshot, commands);
    draw_alone(snapshot, commands);
}

void Viewport::draw_alone(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.nothing_open()) {
        welcome_.draw(snapshot, commands);
        return;
    }
    drawn_ = true;
    const ImVec2 corner = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
    if (size.x < 2 || size.y < 2) return;
    width_px_ = picture_width(snapshot.view, std::max(1, static_cast<int>(size.x)));
    height_px_ = std::max(1, static_cast<int>(size.y));
    const PictureRect room{corner, {corner.x + size.x, corner.y + size.y}};
    ImGui::GetWindowDrawList()->AddRectFilled(room.a, room.b, color_rgb(0x0c0e11));
    if (!snapshot.frame || snapshot.frame->camera.width <= 0 ||
        snapshot.frame->camera.height <= 0) {
        draw_loading(snapshot, commands);
        return;
    }
    ImGui::InvisibleButton("##picture", size,
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonMiddle |
                               ImGuiButtonFlags_MouseButtonRight);
    hovered_ = ImGui::IsItemHovered();
    draw_scene(snapshot, commands, room);
}

}  // namespace gs
