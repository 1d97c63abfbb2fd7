#include "renderer/io/captures/ply_points.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/try.h"
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

using ColorProperties = std::array<int, 3>;

// The three colour properties, -1 where there is none; `harmonics`: coefficients of degree 0.
ColorProperties color_properties(const PlyElement& vertex, bool& harmonics) {
    constexpr std::array<std::array<const char*, 3>, 4> kNames = {
        {{"red", "green", "blue"},
         {"r", "g", "b"},
         {"diffuse_red", "diffuse_green", "diffuse_blue"},
         {"f_dc_0", "f_dc_1", "f_dc_2"}}};
    for (const auto& names : kNames) {
        const ColorProperties found{vertex.find(names[0]), vertex.find(names[1]),
                                    vertex.find(names[2])};
        harmonics = &names == &kNames.back();
        if (found[0] >= 0 && found[1] >= 0 && found[2] >= 0) return found;
    }
    return {-1, -1, -1};
}

void set_colors(const std::vector<float> (&planes)[3], PlyType type, bool harmonics,
                std::vector<SourcePoint>& points) {
    const double full = harmonics ? 1 : full_ply_color({planes[0], planes[1], planes[2]}, type);
    for (std::size_t i = 0; i < points.size(); ++i)
        for (int c = 0; c < 3; ++c) {
            const float raw = planes[c][i];
            points[i].rgb[c] =
                byte_of(harmonics ? color_of_sh0(raw) : raw / static_cast<float>(full));
        }
}

bool holds_position(const SourcePoint& p) {
    const Vec3f at = local_position(p.position, {});
    return std::isfinite(at.x) && std::isfinite(at.y) && std::isfinite(at.z);
}

}  // namespace

Result<PlyPoints> read_ply_points(const fs::path& path, std::vector<std::string>& notes) {
    GS_TRY(const auto file, InputFile::open(path));
    GS_TRY(const auto header, read_ply_header(file));
    const PlyElement* vertex = header.find("vertex");
    if (vertex == nullptr || vertex->find("x") < 0 || vertex->find("y") < 0 ||
        vertex->find("z") < 0)
        return fail(ErrorKind::malformed, path.string(), "has no vertex element with x, y and z");
    GS_TRY_VOID(check_ply_size(file, header, *vertex));

    std::vector<double> position[3];
    std::vector<float> color[3];
    std::vector<PlyColumn> columns;
    constexpr const char* kAxes[3] = {"x", "y", "z"};
    bool harmonics = false;
    const ColorProperties colors = color_properties(*vertex, harmonics);
    PlyPoints out{.have_colors = colors[0] >= 0};
    for (std::size_t i = 0; i < 3; ++i) {
        position[i].resize(vertex->count);
        columns.push_back({vertex->find(kAxes[i]), nullptr, position[i].data()});
        if (!out.have_colors) continue;
        color[i].resize(vertex->count);
        columns.push_back({colors[i], color[i].data()});
    }
    GS_TRY_VOID(read_ply_columns(file, header, *vertex, columns));
    out.points.resize(vertex->count);
    for (std::size_t i = 0; i < vertex->count; ++i)
        out.points[i].position = {position[0][i], position[1][i], position[2][i]};
    if (out.have_colors)
        set_colors(color, vertex->properties[static_cast<std::size_t>(colors[0])].type, harmonics,
                   out.points);
    std::erase_if(out.points, [](const SourcePoint& p) { return !holds_position(p); });
    if (out.points.size() < vertex->count)
        notes.push_back(fmt::format("{} points without a finite position were dropped",
                                    vertex->count - out.points.size()));
    return out;
}

std::vector<SourcePoint> world_points(const Capture& capture) {
    std::vector<SourcePoint> out;
    out.reserve(capture.points.size());
    for (const SparsePoint& p : capture.points)
        out.push_back({world_position(p.position, capture.origin), {p.rgb[0], p.rgb[1], p.rgb[2]}});
    return out;
}

std::string position_text(double x) {
    return static_cast<double>(static_cast<float>(x)) == x ? fmt::format("{:.9g}", x)
                                                           : fmt::format("{:.17g}", x);
}

Result<void> write_ply_points(const fs::path& path, const Capture& capture) {
    const char* type = is_zero(capture.origin) ? "float" : "double";
    std::string text = fmt::format(
        "ply\nformat ascii 1.0\nelement vertex {0}\nproperty {1} x\nproperty {1} y\nproperty "
        "{1} z\nproperty float nx\nproperty float ny\nproperty float nz\nproperty uchar red\n"
        "property uchar green\nproperty uchar blue\nend_header\n",
        capture.points.size(), type);
    for (const SourcePoint& p : world_points(capture))
        text += fmt::format("{} {} {} 0 0 0 {} {} {}\n", position_text(p.position.x),
                            position_text(p.position.y), position_text(p.position.z), p.rgb[0],
                            p.rgb[1], p.rgb[2]);
    return write_text_file(path, text);
}

}  // namespace gs
