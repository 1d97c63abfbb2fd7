#include "renderer/io/captures/ply_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "renderer/io/splats/ply.h"

namespace gs {

Result<std::vector<SparsePoint>> read_ply_points(const fs::path& path,
                                                 std::vector<std::string>& notes) {
    GS_TRY(const auto file, InputFile::open(path));
    GS_TRY(const auto header, read_ply_header(file));
    const PlyElement* vertex = header.find("vertex");
    if (vertex == nullptr || vertex->find("x") < 0 || vertex->find("y") < 0 ||
        vertex->find("z") < 0)
        return fail(ErrorKind::malformed, path.string(), "has no vertex element with x, y and z");
    GS_TRY_VOID(check_ply_size(file, header, *vertex));

    constexpr const char* kNames[6] = {"x", "y", "z", "red", "green", "blue"};
    const bool coloured =
        vertex->find("red") >= 0 && vertex->find("green") >= 0 && vertex->find("blue") >= 0;
    const int used = coloured ? 6 : 3;
    std::vector<float> planes[6];
    std::vector<PlyColumn> columns;
    for (int i = 0; i < used; ++i) {
        planes[i].resize(vertex->count);
        columns.push_back({vertex->find(kNames[i]), planes[i].data()});
    }
    GS_TRY_VOID(read_ply_columns(file, header, *vertex, columns));
    // Colours are bytes, or fractions of one where they are stored as real numbers.
    const bool fractions =
        coloured &&
        vertex->properties[static_cast<std::size_t>(vertex->find("red"))].type >= PlyType::f32 &&
        std::all_of(planes[3].begin(), planes[3].end(), [](float v) { return !(v > 1); });
    std::vector<SparsePoint> points;
    points.reserve(vertex->count);
    for (std::size_t i = 0; i < vertex->count; ++i) {
        SparsePoint point;
        point.position = {planes[0][i], planes[1][i], planes[2][i]};
        if (!std::isfinite(point.position.x) || !std::isfinite(point.position.y) ||
            !std::isfinite(point.position.z))
            continue;
        for (int c = 0; c < 3 && coloured; ++c) {
            const float value = planes[3 + c][i] * (fractions ? 255.0f : 1.0f);
            point.rgb[c] = value > 0 ? static_cast<std::uint8_t>(std::min(value, 255.0f) + 0.5f)
                                     : std::uint8_t{0};
        }
        points.push_back(point);
    }
    if (points.size() < vertex->count)
        notes.push_back(fmt::format("{} points without a finite position were dropped",
                                    vertex->count - points.size()));
    return points;
}

Result<void> write_ply_points(const fs::path& path, const std::vector<SparsePoint>& points) {
    std::string text = fmt::format(
        "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty "
        "float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
        points.size());
    for (const SparsePoint& p : points)
        text += fmt::format("{:.9g} {:.9g} {:.9g} {} {} {}\n", p.position.x, p.position.y,
                            p.position.z, p.rgb[0], p.rgb[1], p.rgb[2]);
    return write_text_file(path, text);
}

}  // namespace gs
