#include "panels/viewport.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/format.h"
#include "panels/keys.h"
#include "panels/widgets.h"

namespace gs {
namespace {

ImTextureID texture(std::uint64_t name) { return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(name)); }

/// The part of the picture between two shares of its width.
void image_part(std::uint64_t name, PictureRect picture, float from, float to) {
    ImGui::GetWindowDrawList()->AddImage(texture(name), {picture.a.x + from * picture.width(), picture.a.y},
                                         {picture.a.x + to * picture.width(), picture.b.y}, {from, 0}, {to, 1});
}

void caption(PictureRect picture, const char* words) {
    draw_chip(*ImGui::GetWindowDrawList(), {picture.a.x + 0.5F * em(), picture.b.y - 2 * em()}, words, kDimColor);
}

}  // namespace

void Viewport::begin_frame() {
    input_ = {};
    drawn_ = hovered_ = steering_ = false;
    pixel_.reset();
}

void Viewport::draw_loading(const Snapshot& snapshot) {
    const TrainingStatus& t = snapshot.training;
    const float width = std::min(28 * em(), ImGui::GetContentRegionAvail().x - 2 * em());
    if (t.state != RunState::loading || width < 4 * em()) {
        const bool failed = t.state == RunState::failed;
        empty_note(failed ? t.message : "No picture yet");
        return;
    }
    const ImVec2 room = ImGui::GetContentRegionAvail();
    ImGui::SetCursorPos({ImGui::GetCursorPosX() + (room.x - width) / 2, ImGui::GetCursorPosY() + 0.42F * room.y});
    ImGui::BeginGroup();
    text(t.message.empty() ? "Loading" : fitted(t.message, width));
    ImGui::ProgressBar(static_cast<float>(std::clamp(t.progress, 0.0, 1.0)), {width, 0});
    ImGui::EndGroup();
}

void Viewport::draw_photo(const Snapshot& snapshot, PictureRect picture, PictureRect room) {
    if (snapshot.photo_texture != 0) {
        image_part(snapshot.photo_texture, picture, 0, 1);
        caption(picture, "photo");
        return;
    }
    ImGui::GetWindowDrawList()->AddRect(room.a, room.b, kGridColor);
    const char* words = "No photo here: go to a capture camera";
    const ImVec2 size = ImGui::CalcTextSize(words);
    if (size.x < room.width())
        ImGui::GetWindowDrawList()->AddText({(room.a.x + room.b.x - size.x) / 2, (room.a.y + room.b.y - size.y) / 2},
                                            kDimColor, words);
}

void Viewport::draw_split(const Snapshot& snapshot, Commands& commands, PictureRect picture) {
    const auto share = static_cast<float>(std::clamp(snapshot.view.split, 0.0, 1.0));
    image_part(snapshot.photo_texture, picture, share, 1);
    const float x = picture.a.x + share * picture.width();
    const ImVec2 mouse = ImGui::GetMousePos();
    const bool near = std::abs(mouse.x - x) < 0.5F * em() && picture.contains(mouse);
    if (near && ImGui::IsItemHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragging_split_ = true;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragging_split_ = false;
    if (near || dragging_split_) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    ImGui::GetWindowDrawList()->AddLine({x, picture.a.y}, {x, picture.b.y},
                                        near || dragging_split_ ? kAccentColor : IM_COL32_WHITE, 2);
    if (dragging_split_ && picture.width() > 0) {
        const double wanted = std::clamp(static_cast<double>((mouse.x - picture.a.x) / picture.width()), 0.0, 1.0);
        if (std::abs(wanted - snapshot.view.split) > 1e-4)
            commands.push("view.split", {argument(std::round(wanted * 1e4) / 1e4)});
    }
}

void Viewport::pick(const Snapshot& snapshot, Commands& commands, PictureRect picture) {
    const ViewFrame& frame = *snapshot.frame;
    hovered_camera_.reset();
    if (!hovered_ || !picture.contains(ImGui::GetMousePos()) || picture.width() < 1) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const double scale = static_cast<double>(frame.camera.width) / static_cast<double>(picture.width());
    const Pixel at{static_cast<double>(mouse.x - picture.a.x) * scale,
                   static_cast<double>(mouse.y - picture.a.y) * scale};
    if (!dragging_split_ && !ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3))
        hovered_camera_ = frustum_at(frusta_in(snapshot, frame), at, 0.35 * static_cast<double>(em()) * scale);
    const bool clicked = ImGui::IsMouseReleased(ImGuiMouseButton_Left) && dragged_ < 3 && !dragging_split_;
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && !hovered_camera_)
        commands.push("view.focus", {argument(std::floor(at.x) + 0.5), argument(std::floor(at.y) + 0.5)});
    else if (clicked && hovered_camera_)
        commands.push("view.capture", {std::to_string((*snapshot.cameras)[*hovered_camera_].view)});
}

void Viewport::steer(const Snapshot& snapshot, PictureRect picture) {
    const ImGuiIO& io = ImGui::GetIO();
    input_.mode = snapshot.view.navigation;
    input_.fly_speed = snapshot.view.fly_speed;
    input_.height_px = static_cast<double>(std::max(picture.height(), 1.0F));
    input_.dt = std::min(static_cast<double>(io.DeltaTime), 0.1);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragged_ = 0;
    const bool active = ImGui::IsItemActive();
    if (active && !dragging_split_) {
        const double dx = static_cast<double>(io.MouseDelta.x), dy = static_cast<double>(io.MouseDelta.y);
        dragged_ += std::abs(io.MouseDelta.x) + std::abs(io.MouseDelta.y);
        const bool left = ImGui::IsMouseDown(ImGuiMouseButton_Left);
        if (dragged_ < 3 && left) {  // not yet a drag
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
            return (letter_held(plus) ? 1.0 : 0.0) - (letter_held(minus) ? 1.0 : 0.0);
        };
        input_.move = {axis('D', 'A'), axis('Q', 'E'), axis('W', 'S')};
        input_.fast = io.KeyShift;
    }
    steering_ = active || input_.move.x != 0 || input_.move.y != 0 || input_.move.z != 0;
}

void Viewport::draw_pictures(const Snapshot& snapshot, Commands& commands, PictureRect room) {
    const ViewFrame& frame = *snapshot.frame;
    const PhotoCompare compare = snapshot.view.compare;
    PictureRect left = room, right = room;
    if (compare == PhotoCompare::beside) {
        left.b.x = std::floor((room.a.x + room.b.x) / 2) - 1;
        right.a.x = left.b.x + 2;
    }
    const PictureRect picture = letterbox(left, frame.camera.width, frame.camera.height);
    const bool photo_instead = compare == PhotoCompare::toggle && snapshot.view.show_photo;
    if (photo_instead)
        draw_photo(snapshot, picture, left);
    else if (snapshot.frame_texture != 0)
        image_part(snapshot.frame_texture, picture, 0, 1);
    if (compare == PhotoCompare::beside)
        draw_photo(snapshot, letterbox(right, frame.camera.width, frame.camera.height), right);
    if (compare == PhotoCompare::split && snapshot.photo_texture != 0) draw_split(snapshot, commands, picture);
    pick(snapshot, commands, picture);
    steer(snapshot, picture);
    OverlayState state;
    state.hovered_camera = hovered_camera_;
    state.room = left;
    std::string under;
    const ImVec2 mouse = ImGui::GetMousePos();
    if (hovered_ && picture.contains(mouse) && picture.width() > 0) {
        const float scale = static_cast<float>(frame.camera.width) / picture.width();
        const int x = static_cast<int>((mouse.x - picture.a.x) * scale),
                  y = static_cast<int>((mouse.y - picture.a.y) * scale);
        pixel_ = {x, y};
        state.mark = map_value(frame, x, y);
        under = pixel_text(frame, x, y, snapshot.frame_pixel);
    }
    draw_viewport_overlays(*ImGui::GetWindowDrawList(), snapshot, frame, picture, state);
    if (!snapshot.view.overlays || under.empty()) return;
    const float width = ImGui::CalcTextSize(under.c_str()).x + em();
    draw_chip(*ImGui::GetWindowDrawList(),
              {std::max(picture.a.x, picture.b.x - width - 0.3F * em()), picture.b.y - 2 * em()}, under, kTextColor);
}

void Viewport::draw_picture(const Snapshot& snapshot, int width, int height) const {
    if (!snapshot.frame) return;
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const PictureRect picture{{0, 0}, {static_cast<float>(width), static_cast<float>(height)}};
    if (snapshot.frame_texture != 0) list.AddImage(texture(snapshot.frame_texture), picture.a, picture.b);
    draw_viewport_overlays(list, snapshot, *snapshot.frame, picture, {});
}

void Viewport::draw(const Snapshot& snapshot, Commands& commands) {
    drawn_ = true;
    draw_viewport_toolbar(snapshot, commands);
    const ImVec2 corner = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
    if (size.x < 2 || size.y < 2) return;
    const float one = snapshot.view.compare == PhotoCompare::beside ? std::floor(size.x / 2) - 1 : size.x;
    width_px_ = std::max(1, static_cast<int>(one));
    height_px_ = std::max(1, static_cast<int>(size.y));
    const PictureRect room{corner, {corner.x + size.x, corner.y + size.y}};
    ImGui::GetWindowDrawList()->AddRectFilled(room.a, room.b, color_rgb(0x0c0e11));
    if (!snapshot.frame || snapshot.frame->camera.width <= 0 || snapshot.frame->camera.height <= 0) {
        draw_loading(snapshot);
        return;
    }
    ImGui::InvisibleButton(
        "##picture", size,
        ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonMiddle | ImGuiButtonFlags_MouseButtonRight);
    hovered_ = ImGui::IsItemHovered();
    draw_pictures(snapshot, commands, room);
    if (snapshot.training.state != RunState::loading) return;
    ImGui::SetCursorScreenPos({corner.x + em(), corner.y + size.y - 4 * em()});
    ImGui::ProgressBar(static_cast<float>(std::clamp(snapshot.training.progress, 0.0, 1.0)),
                       {std::min(18 * em(), size.x - 2 * em()), 0}, snapshot.training.message.c_str());
}

}  // namespace gs
