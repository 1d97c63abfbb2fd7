#include "panels/viewport/compare.h"

#include <algorithm>

#include "panels/widgets/theme.h"

namespace gs {
namespace {

/// The part of the picture between two shares of its width.
void image_part(ImDrawList& list, std::uint64_t name, PictureRect picture, float from, float to) {
    list.AddImage((ImTextureID)(std::uintptr_t)name,
                  {picture.a.x + from * picture.width(), picture.a.y},
                  {picture.a.x + to * picture.width(), picture.b.y}, {from, 0}, {to, 1});
}

void draw_other(ImDrawList& list, const Snapshot& snapshot, PictureRect picture, PictureRect room) {
    if (snapshot.second_texture != 0) {
        image_part(list, snapshot.second_texture, picture, 0, 1);
        return;
    }
    list.AddRect(room.a, room.b, theme().grid);
    const char* words = "No photo here: go to a capture camera";
    const ImVec2 size = ImGui::CalcTextSize(words);
    if (size.x < room.width())
        list.AddText({(room.a.x + room.b.x - size.x) / 2, (room.a.y + room.b.y - size.y) / 2},
                     theme().dim, words);
}

}  // namespace

PicturePlaces places_of(const Snapshot& snapshot, PictureRect room) {
    const ViewFrame& frame = *snapshot.frame;
    PicturePlaces places{
        .room = room, .other_room = room, .beside = snapshot.view.compare == Compare::beside};
    if (places.beside) {
        places.room.b.x = room.a.x + static_cast<float>(picture_width(
                                         snapshot.view, static_cast<int>(room.width())));
        places.other_room.a.x = places.room.b.x + kPictureGap;
    }
    places.picture = letterbox(places.room, frame.camera.width, frame.camera.height);
    places.other = letterbox(places.other_room, frame.camera.width, frame.camera.height);
    places.split = snapshot.view.compare == Compare::split && snapshot.second_texture != 0;
    places.divider =
        places.picture.a.x +
        static_cast<float>(std::clamp(snapshot.view.split, 0.0, 1.0)) * places.picture.width();
    places.other_instead = snapshot.view.compare == Compare::toggle && snapshot.view.show_photo;
    return places;
}

const ViewFrame& shown_frame(const Snapshot& snapshot, const PicturePlaces& places) {
    return places.other_instead && snapshot.frame->other ? *snapshot.frame->other : *snapshot.frame;
}

void draw_pictures(ImDrawList& list, const Snapshot& snapshot, const PicturePlaces& places,
                   bool bright) {
    if (places.other_instead)
        draw_other(list, snapshot, places.picture, places.room);
    else if (snapshot.frame_texture != 0)
        image_part(list, snapshot.frame_texture, places.picture, 0, 1);
    if (places.beside) draw_other(list, snapshot, places.other, places.other_room);
    if (!places.split) return;
    const float share =
        (places.divider - places.picture.a.x) / std::max(1.0F, places.picture.width());
    image_part(list, snapshot.second_texture, places.picture, share, 1);
    list.AddLine({places.divider, places.picture.a.y}, {places.divider, places.picture.b.y},
                 bright ? theme().accent : IM_COL32_WHITE, 2 * hairline());
}

void draw_overlays(ImDrawList& list, const Snapshot& snapshot, const PicturePlaces& places,
                   OverlayState state) {
    state.room = places.room;
    if (places.beside || places.split) state.other_room = places.other_room;
    if (places.split) state.divider = places.divider;
    state.photo = !snapshot.frame->other && snapshot.second_texture != 0;
    state.photo_instead = state.photo && places.other_instead;
    draw_viewport_overlays(list, snapshot, shown_frame(snapshot, places), places.picture, state);
}

}  // namespace gs
