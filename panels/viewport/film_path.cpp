#include "panels/viewport/overlay_parts.h"

#include <cmath>

#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr double kKeySize = 0.06;  // of the scene's extent

ImVec2 screen_place(PictureRect picture, const Camera& camera, Pixel at) {
    return {picture.a.x + static_cast<float>(at.x / camera.width) * picture.width(),
            picture.a.y + static_cast<float>(at.y / camera.height) * (picture.b.y - picture.a.y)};
}

void draw_key(ImDrawList& list, const FilmState& film, std::size_t index, const Camera& viewer,
              double size, PictureRect picture) {
    constexpr std::array<std::array<std::size_t, 2>, 8> edges{
        {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {2, 3}, {3, 4}, {4, 1}}};
    const PathPose& pose = film.film.path.keys[index].pose;
    const Vec3d way = pose.position - viewer.position();
    if (dot(way, way) < 2.25 * size * size) return;  // its lines would cross the whole picture
    const auto corners = frustum_corners(camera_of(pose, film.film.width, film.film.height), size);
    const ImU32 color = film.selected == index ? theme().accent : theme().warning;
    for (const auto& [a, b] : edges)
        project_line(viewer, corners[a], corners[b], 0.02 * size, [&](const auto& line) {
            list.AddLine(screen_place(picture, viewer, line[0]),
                         screen_place(picture, viewer, line[1]), color, hairline());
        });
}

}  // namespace

void draw_film_path(ImDrawList& list, const FilmState& film, const ViewFrame& frame, double extent,
                    PictureRect picture) {
    const Camera& viewer = frame.camera;
    if (!film.shown || film.playing || !viewer.valid()) return;
    const double size = kKeySize * (extent > 0 && std::isfinite(extent) ? extent : 1);
    for (std::size_t i = 0; i + 1 < film.line.size(); ++i)
        project_line(viewer, film.line[i], film.line[i + 1], 0.02 * size, [&](const auto& line) {
            list.AddLine(screen_place(picture, viewer, line[0]),
                         screen_place(picture, viewer, line[1]), with_alpha(theme().warning, 200),
                         2 * hairline());
        });
    for (std::size_t i = 0; i < film.film.path.keys.size(); ++i)
        draw_key(list, film, i, viewer, size, picture);
}

}  // namespace gs
