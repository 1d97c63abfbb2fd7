#include "panels/viewport/overlays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/state/photo_problems.h"
#include "panels/viewport/colormap_legend.h"
#include "panels/viewport/ground_grid.h"
#include "panels/viewport/overlay_parts.h"
#include "panels/viewport/pose_arrows.h"
#include "panels/widgets/sheet_texture.h"
#include "panels/widgets/theme.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

constexpr double kNearestLine = 1e-3;  // world units

/// The place of draw_axes().
PictureRect axes_place(PictureRect picture) {
    return {{picture.a.x, picture.b.y - 4.6F * em()}, {picture.a.x + 4.4F * em(), picture.b.y}};
}

ImU32 frustum_color(const CameraRow& row, const FrustaRange& range) {
    if (range.of == FrustaColor::split)
        return row.test ? theme().test_camera : theme().train_camera;
    const double value = range.value_of(row);
    if (!std::isfinite(value)) return theme().faint;
    const Rgb8 c =
        colormap_color(Colormap::viridis, colormap_position(value, range.lo, range.hi, false));
    return IM_COL32(c.r, c.g, c.b, 255);
}

void draw_frustum_photo(ImDrawList& list, const Snapshot& snapshot, const FrustumLines& one,
                        const ViewFrame& frame, PictureRect picture) {
    const CameraRow& row = (*snapshot.cameras)[one.row];
    const SheetPicture* made = sheet_picture(snapshot, row);
    if (!made || one.photo.empty() || !made->problem.empty()) return;
    const PanelPicture texture = sheet_texture(snapshot, row);
    if (texture.id == 0) return;
    const double end = 1.0 / made->parts;  // the photo comes first
    for (const PhotoCell& cell : one.photo) {
        std::array<ImVec2, 4> at{};
        for (std::size_t i = 0; i < at.size(); ++i)
            at[i] = on_screen(picture, frame.camera, cell.corners[i]);
        const auto left = static_cast<float>(cell.left * end),
                   right = static_cast<float>(cell.right * end), top = static_cast<float>(cell.top),
                   bottom = static_cast<float>(cell.bottom);
        list.AddImageQuad((ImTextureID)(std::uintptr_t)texture.id, at[0], at[1], at[2], at[3],
                          {left, top}, {right, top}, {right, bottom}, {left, bottom});
    }
}

void draw_frusta(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                 PictureRect picture, const OverlayState& state) {
    const FrustumLines* bright = nullptr;
    const auto frusta = frusta_in(snapshot, frame);
    const auto draw = [&](const FrustumLines& one, ImU32 color, float thickness) {
        for (const auto& [p, q] : one.lines)
            list.AddLine(on_screen(picture, frame.camera, p), on_screen(picture, frame.camera, q),
                         color, thickness * hairline());
    };
    const FrustaRange range(*snapshot.cameras, snapshot.view.frusta_color);
    const bool split = range.of == FrustaColor::split;
    for (std::size_t i = 0; i < frusta.size(); ++i) {
        const FrustumLines& one = frusta[i];
        if (snapshot.view.frusta_photos && i + kMostFrustaPhotos >= frusta.size())
            draw_frustum_photo(list, snapshot, one, frame, picture);
        if (state.hovered_camera == one.row)
            bright = &one;
        else
            draw(one,
                 with_alpha(frustum_color((*snapshot.cameras)[one.row], range), split ? 130 : 220),
                 split ? 1 : 1.5F);
    }
    if (!bright) return;
    const CameraRow& row = (*snapshot.cameras)[bright->row];
    draw(*bright, IM_COL32_WHITE, 2);
    std::string words = row.name + (row.test ? " (test)" : "");
    if (std::isfinite(row.psnr)) words += fmt::format(", {:.2f} dB", row.psnr);
    ImVec2 at = on_screen(picture, frame.camera, bright->label);
    at.y =
        std::clamp(at.y - 1.6F * em(), picture.a.y, std::max(picture.a.y, picture.b.y - 2 * em()));
    draw_chip(list, at, words, row.test ? theme().test_camera : theme().text);
}

void draw_mark(ImDrawList& list, const MarkedGaussian& marked, const Camera& camera,
               PictureRect picture) {
    for (const auto& [p, q] : outline_of(marked, camera)) {
        const ImVec2 a = on_screen(picture, camera, p), b = on_screen(picture, camera, q);
        list.AddLine(a, b, theme().window, 3 * hairline());
        list.AddLine(a, b, theme().warning, 1.5F * hairline());
    }
    const auto centre = project_point(camera, {marked.mean.x, marked.mean.y, marked.mean.z}, 1e-3);
    if (!centre) return;
    const ImVec2 at = on_screen(picture, camera, *centre);
    list.AddCircle(at, 0.35F * em(), theme().warning, 0, 2);  // seen however small it is
    draw_chip(list, {at.x + 0.7F * em(), at.y - 0.7F * em()}, words_of(marked), theme().warning);
}

/// Distances with their lengths, and a point that waits for the other end.
void draw_measures(ImDrawList& list, const MeasureState& measured, const Camera& camera,
                   PictureRect picture) {
    for (const MeasureLine& line : lines_of(measured, camera)) {
        const ImVec2 a = on_screen(picture, camera, line.ends[0]),
                     b = on_screen(picture, camera, line.ends[1]);
        list.AddLine(a, b, theme().window, 4 * hairline());
        list.AddLine(a, b, theme().accent, 2 * hairline());
        for (const ImVec2 end : {a, b}) list.AddCircleFilled(end, 0.25F * em(), theme().accent);
        const std::string words = fmt::format("{}: {}", line.number, line.words);
        draw_chip(list, {0.5F * (a.x + b.x) + 0.4F * em(), 0.5F * (a.y + b.y) - 0.8F * em()}, words,
                  theme().accent);
    }
    if (measured.points.size() % 2 == 0) return;
    if (const auto waits = project_point(camera, measured.points.back(), kNearestLine))
        list.AddCircle(on_screen(picture, camera, *waits), 0.35F * em(), theme().accent, 0, 2);
}

/// The visited region of a photo, while the picture is of that photo.
void draw_problem_mark(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                       PictureRect picture) {
    if (!snapshot.problems || !snapshot.problems->mark || !snapshot.cameras) return;
    const PhotoProblems::Mark& mark = *snapshot.problems->mark;
    if (static_cast<int>(mark.view) != snapshot.view.capture_view ||
        mark.view >= snapshot.cameras->size())
        return;
    const Camera& photo = (*snapshot.cameras)[mark.view].camera;
    const auto corner = [&](int x, int y) {
        return on_screen(picture, frame.camera,
                         {static_cast<double>(x) * frame.camera.width / photo.width,
                          static_cast<double>(y) * frame.camera.height / photo.height});
    };
    const ImVec2 a = corner(mark.rect.x0, mark.rect.y0), b = corner(mark.rect.x1, mark.rect.y1);
    list.AddRect(a, b, theme().window, 0, 0, 4 * hairline());
    list.AddRect(a, b, theme().warning, 0, 0, 2 * hairline());
    const float above = a.y - 1.7F * em();
    draw_chip(list, {std::max(a.x, picture.a.x), above > picture.a.y ? above : b.y + 0.3F * em()},
              mark.words, theme().warning);
}

void draw_tile_grid(ImDrawList& list, const ViewFrame& frame, PictureRect picture) {
    const float cell = static_cast<float>(frame.map_cell) * picture.width() /
                       static_cast<float>(frame.camera.width);
    if (frame.map_cell < 2 || !(cell >= 4)) return;
    const ImU32 color = IM_COL32(255, 255, 255, 40);
    for (float x = picture.a.x + cell; x < picture.b.x; x += cell)
        list.AddLine({x, picture.a.y}, {x, picture.b.y}, color, hairline());
    for (float y = picture.a.y + cell; y < picture.b.y; y += cell)
        list.AddLine({picture.a.x, y}, {picture.b.x, y}, color, hairline());
}

/// The world's axes as the camera sees them, in a corner.
void draw_axes(ImDrawList& list, const Camera& camera, PictureRect picture) {
    const float length = 1.5F * em();
    const ImVec2 origin{picture.a.x + 2.2F * em(), picture.b.y - 2.4F * em()};
    struct Axis {
        const char* name;
        ImU32 color;
        double x, y, z;
    };
    const auto& m = camera.rotation.m;
    std::array<Axis, 3> axes{{{"x", color_rgb(0xe8704f), m[0][0], m[1][0], m[2][0]},
                              {"y", color_rgb(0x7fc97f), m[0][1], m[1][1], m[2][1]},
                              {"z", color_rgb(0x5aa9f0), m[0][2], m[1][2], m[2][2]}}};
    std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.z > b.z; });
    for (const Axis& axis : axes) {
        const ImVec2 end{origin.x + length * static_cast<float>(axis.x),
                         origin.y + length * static_cast<float>(axis.y)};
        list.AddLine(origin, end, axis.color, 2 * hairline());
        list.AddText({end.x + 2, end.y - 0.6F * em()}, axis.color, axis.name);
    }
}

/// Shown even without other overlays.
void put_what_is_cut(ImDrawList& list, const ViewFrame& frame, PictureRect room) {
    Chips chips(list);
    const float margin = 0.5F * em();
    for (const std::string& line : wrapped(what_is_cut(frame), room.width() - 2 * margin))
        chips.put({room.a.x + margin, room.a.y + margin}, Chips::Side::left, Chips::Way::down, line,
                  theme().warning);
}

/// The edges of the clip box.
void draw_clip_box(ImDrawList& list, const ClipBox& box, const Camera& camera,
                   PictureRect picture) {
    const auto corner = [&](int i) {
        return Vec3d{i & 1 ? box.hi.x : box.lo.x, i & 2 ? box.hi.y : box.lo.y,
                     i & 4 ? box.hi.z : box.lo.z};
    };
    for (int from = 0; from < 8; ++from)
        for (const int axis : {1, 2, 4})
            if ((from & axis) == 0)
                project_line(camera, corner(from), corner(from | axis), kNearestLine,
                             [&](const auto& line) {
                                 list.AddLine(on_screen(picture, camera, line[0]),
                                              on_screen(picture, camera, line[1]), theme().warning,
                                              hairline());
                             });
}

void draw_grid(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
               PictureRect picture) {
    const auto grid = grid_of(snapshot, frame);
    for (const GridLine& line : lines_of(grid, frame.camera)) {
        const ImU32 color = line.kind == GridLine::Kind::axis ? theme().accent : IM_COL32_WHITE;
        const double full = line.kind == GridLine::Kind::fine ? 60 : 120;
        list.AddLine(on_screen(picture, frame.camera, line.ends[0]),
                     on_screen(picture, frame.camera, line.ends[1]),
                     with_alpha(color, static_cast<int>(full * line.strength)), hairline());
    }
}

/// Name, facts and statistics of one picture, in lines of at most `width` from a corner of `room`.
void put_facts(Chips& chips, const ViewFrame& frame, PictureRect room, float width, bool at_right) {
    const float margin = 0.5F * em();
    const ImVec2 at{at_right ? room.b.x - margin : room.a.x + margin, room.a.y + margin};
    const auto put = [&](std::span<const std::string> words, ImU32 color) {
        for (const std::string& line : wrapped(words, width))
            chips.put(at, at_right ? Chips::Side::right : Chips::Side::left, Chips::Way::down, line,
                      color);
    };
    const bool difference = frame.mode == ViewMode::error && frame.other;
    if (!frame.name.empty())
        put(std::array{difference ? frame.scene : frame.name + "  " + frame.scene}, theme().text);
    put(facts_of(frame), theme().dim);
    put(what_is_cut(frame), theme().warning);
    if (!frame.note.empty()) put(std::array{frame.note}, theme().dim);
    if (has_map(frame) && !frame.map_empty) put(statistics_of(frame), theme().dim);
}

}  // namespace

ImVec2 on_screen(PictureRect picture, const Camera& camera, Pixel p) {
    return {picture.a.x +
                static_cast<float>(std::clamp(p.x / camera.width, -50.0, 50.0)) * picture.width(),
            picture.a.y + static_cast<float>(std::clamp(p.y / camera.height, -50.0, 50.0)) *
                              picture.height()};
}

PictureRect letterbox(PictureRect room, int width, int height) {
    if (width <= 0 || height <= 0 || room.width() <= 0 || room.height() <= 0) return room;
    const float scale = std::min(room.width() / static_cast<float>(width),
                                 room.height() / static_cast<float>(height));
    const ImVec2 size{std::round(scale * static_cast<float>(width)),
                      std::round(scale * static_cast<float>(height))};
    const ImVec2 a{std::floor(room.a.x + (room.width() - size.x) / 2),
                   std::floor(room.a.y + (room.height() - size.y) / 2)};
    return {a, {a.x + size.x, a.y + size.y}};
}

std::vector<FrustumLines> frusta_in(const Snapshot& snapshot, const ViewFrame& frame) {
    if (!snapshot.view.frusta || !snapshot.cameras || !snapshot.scene) return {};
    return visible_frusta(
        frame.camera, *snapshot.cameras,
        snapshot.view.frusta_size * frustum_size(*snapshot.scene, snapshot.cameras->size()),
        snapshot.view.frusta_photos);
}

namespace {

/// Explains the cameras' colours if they show a quantity.
std::string words_of_cameras(const Snapshot& snapshot) {
    const ViewSettings& view = snapshot.view;
    if (!view.frusta || view.frusta_color == FrustaColor::split || !snapshot.cameras ||
        snapshot.cameras->empty())
        return {};
    const FrustaRange range(*snapshot.cameras, view.frusta_color);
    const std::string what = kFrustaColorNames[static_cast<std::size_t>(view.frusta_color)];
    if (!range.any()) return "cameras by " + what + ": none evaluated yet";
    return fmt::format("cameras by {}: dark {}, bright {}", what, format_number(range.lo, 4),
                       format_number(range.hi, 4));
}

/// The legend, at the top right of `room`, below earlier texts.
void put_legend(ImDrawList& list, Chips& chips, const ViewFrame& frame, PictureRect room,
                double mark) {
    const float height = std::min(16 * em(), 0.6F * room.height()), margin = 0.5F * em();
    if (!has_map(frame) || frame.map_empty || height <= 6 * em()) return;
    const float width = colormap_legend_width(height, frame.range_lo, frame.range_hi,
                                              frame.logarithmic, frame.unit);
    PictureRect place{{room.b.x - margin - width, room.a.y + margin},
                      {room.b.x - margin, room.a.y + margin + height}};
    for (const PictureRect& taken : chips.taken())
        if (place.touches(taken))
            place.a.y = taken.b.y + 0.3F * em(), place.b.y = place.a.y + height;
    draw_colormap_legend(list, {place.b.x, place.a.y}, height, frame.colormap, frame.range_lo,
                         frame.range_hi, frame.logarithmic, frame.unit, mark);
    chips.keep_clear(place);
}

/// Which side of a split is which; scenes are named among their facts.
void put_side_names(Chips& chips, const OverlayState& state, PictureRect picture) {
    const float margin = 0.5F * em(), y = picture.b.y - 2 * em();
    using Side = Chips::Side;
    const auto put = [&](float x, Side side, const char* words) {
        chips.put({x, y}, side, Chips::Way::up, words, theme().dim);
    };
    if (state.photo_instead) put(picture.a.x + margin, Side::left, "photo");
    if (!state.photo || !state.divider) return;
    if (*state.divider - picture.a.x > 4 * em())
        put(*state.divider - margin, Side::right, "render");
    if (picture.b.x - *state.divider > 4 * em()) put(*state.divider + margin, Side::left, "photo");
}

void put_level_legend(ImDrawList& list, Chips& chips, const LevelsState& levels, PictureRect room) {
    const float margin = 0.5F * em();
    const ImVec2 corner{room.b.x - margin, room.a.y + margin};
    const ImVec2 size = draw_level_legend(list, corner, levels);
    chips.keep_clear({{corner.x - size.x, corner.y}, {corner.x, corner.y + size.y}});
}

/// Below the picture's facts, in the middle of `width`: deviations from the request, and the
/// meaning of colours without a legend.
void put_reasons(Chips& chips, const Snapshot& snapshot, const ViewFrame& frame, ImVec2 at,
                 float width) {
    const auto put = [&](std::span<const std::string> words, ImU32 color) {
        for (const std::string& line : wrapped(words, width))
            chips.put(at, Chips::Side::middle, Chips::Way::down, line, color);
    };
    put(std::array{what_is_not_shown(frame)}, theme().warning);
    put(std::array{what_is_left_out(snapshot, frame)}, theme().dim);
    if (frame.mode == ViewMode::normals && !frame.map_empty)
        put(std::array<std::string, 3>{"surfaces face:", "red x, green y, blue z", "(gray is 0)"},
            theme().dim);
}

/// With its spacing in metres, where the scene's scale is known.
std::string words_of_grid(const Snapshot& snapshot, const GroundGrid& grid) {
    const double scale = snapshot.measured ? snapshot.measured->metres_per_unit : 0;
    return words_of_grid(grid) +
           (scale > 0 ? " (" + length_words(grid.spacing, scale) + ")" : std::string());
}

/// Texts at the edges of the whole viewport: beside a narrow picture, over a wide one.
void put_texts(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
               PictureRect picture, const OverlayState& state) {
    Chips chips(list);
    const float margin = 0.5F * em();
    const PictureRect room = state.room.value_or(picture);
    const PictureRect other = state.other_room.value_or(room);
    chips.keep_clear(axes_place(picture));
    const bool scenes = state.other_room && frame.other, same_room = other.a.x == room.a.x;
    const float half = (room.width() - 3 * margin) / 2;
    const float free = has_map(frame) ? std::max(0.6F * room.width(), room.width() - 8 * em())
                                      : room.width() - 2 * margin;
    list.PushClipRect(room.a, {other.b.x, room.b.y}, true);
    put_facts(chips, frame, room, scenes && same_room ? half : free, false);
    if (scenes) put_facts(chips, *frame.other, other, same_room ? half : free, same_room);
    put_legend(list, chips, frame, room, state.mark);
    if (snapshot.view.grid)
        chips.put({picture.a.x + 5 * em(), room.b.y - 2 * em()}, Chips::Side::left, Chips::Way::up,
                  words_of_grid(snapshot, grid_of(snapshot, frame)), theme().dim);
    for (const std::string& words :
         {words_of_sweep(snapshot), words_of_shutter(snapshot, frame),
          state.photo_instead ? std::string() : words_of_pose_arrows(snapshot)})
        if (!words.empty())
            chips.put({picture.a.x + 5 * em(), room.b.y - 2 * em()}, Chips::Side::left,
                      Chips::Way::up, words, theme().dim);
    if (snapshot.view.level_colors && snapshot.levels && frame.mode == ViewMode::color)
        put_level_legend(list, chips, *snapshot.levels, room);
    put_side_names(chips, state, picture);
    if (state.photo && !state.divider && state.other_room)
        chips.put({other.a.x + margin, other.b.y - 2 * em()}, Chips::Side::left, Chips::Way::up,
                  "photo", theme().dim);
    const float middle = (room.a.x + other.b.x) / 2;
    chips.put({middle, room.b.y - 2 * em()}, Chips::Side::middle, Chips::Way::up,
              nearness_of(frame), theme().accent);
    chips.put({other.b.x - margin, room.b.y - 2 * em()}, Chips::Side::right, Chips::Way::up,
              state.value, theme().text);
    if (!state.photo_instead)
        chips.put({other.b.x - margin, room.b.y - 4 * em()}, Chips::Side::right, Chips::Way::up,
                  words_of_cameras(snapshot), theme().dim);
    put_reasons(chips, snapshot, frame, {middle, room.a.y + 2.5F * em()}, other.b.x - room.a.x);
    list.PopClipRect();
}

}  // namespace

void draw_viewport_overlays(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                            PictureRect picture, const OverlayState& state) {
    list.PushClipRect(picture.a, picture.b, true);
    if (!state.photo_instead) draw_predicted_tiles(list, snapshot, frame, picture);
    if (snapshot.view.tile_grid) draw_tile_grid(list, frame, picture);
    // The photo's camera sees no frusta: they belong to the render alone.
    if (!state.photo_instead) {
        const float end = state.photo && state.divider ? *state.divider : picture.b.x;
        list.PushClipRect(picture.a, {end, picture.b.y}, true);
        if (snapshot.view.grid) draw_grid(list, snapshot, frame, picture);
        if (frame.clip && snapshot.view.overlays)
            draw_clip_box(list, *frame.clip, frame.camera, picture);
        draw_frusta(list, snapshot, frame, picture, state);
        draw_pose_arrows(list, snapshot, frame, picture);
        if (snapshot.film && snapshot.scene && snapshot.view.frusta)
            draw_film_path(list, *snapshot.film, frame, snapshot.scene->extent, picture);
        list.PopClipRect();
    }
    draw_sweep_overlay(list, snapshot, frame, picture, state.photo_instead);
    if (snapshot.inspection && !state.photo_instead)
        draw_inspected_pixel(list, snapshot, frame, picture.a, {picture.width(), picture.height()});
    if (!state.photo_instead) draw_cost_region(list, snapshot, frame, picture);
    if (snapshot.measured && !state.photo_instead)
        draw_measures(list, *snapshot.measured, frame.camera, picture);
    draw_shutter(list, snapshot, frame, picture);
    draw_problem_mark(list, snapshot, frame, picture);
    draw_verified(list, snapshot, frame, picture);
    if (snapshot.marked) draw_mark(list, *snapshot.marked, frame.camera, picture);
    if (snapshot.notes && snapshot.view.overlays && !state.photo_instead)
        draw_note_pins(list, *snapshot.notes, frame.camera, picture);
    if (snapshot.view.overlays) draw_axes(list, frame.camera, picture);
    list.PopClipRect();
    if (snapshot.view.overlays)
        put_texts(list, snapshot, frame, picture, state);
    else
        put_what_is_cut(list, frame, state.room.value_or(picture));
}

}  // namespace gs
