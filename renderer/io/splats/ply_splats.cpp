// The .ply of 3D Gaussian Splatting, as written by the original program and most others. Columns: x
// y z, nx ny nz (unused), f_dc_0..2, f_rest_* (channel-major), opacity (logit), scale_0..2 (log),
// rot_0..3 (w x y z), in any order and of any numeric type. NaN and infinite values are kept both
// ways.
#include <algorithm>
#include <array>

#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/splat_origin.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr const char* kPositionAxes[3] = {"x", "y", "z"};

std::string numbered(const char* stem, int i) { return fmt::format("{}{}", stem, i); }

// The logarithm of a thickness that no pixel sees.
constexpr float kFlatLogScale = -16;

struct PlyLayout {
    std::vector<PlyColumn> columns;  // target holds nothing yet
    std::vector<int> planes;         // plane of each column
    int sh_degree = 0;
    bool flat = false;          // scale_2 is missing
    bool byte_colours = false;  // f_dc is missing, red green blue take its place
};

// f_rest_0.. are channel-major: all of red's coefficients, then green's, then blue's.
void add_sh_rest(const PlyElement& vertex, PlyLayout& layout, std::vector<std::string>& notes) {
    int count = 0;
    while (vertex.find(numbered("f_rest_", count)) >= 0) ++count;
    const int per_channel = count / 3;
    while (layout.sh_degree < 3 && sh_bases(layout.sh_degree + 1) - 1 <= per_channel)
        ++layout.sh_degree;
    if (count % 3 != 0 || per_channel != sh_bases(layout.sh_degree) - 1)
        notes.push_back(
            fmt::format("{} f_rest columns are not those of degree 0 to 3; degree {} is used",
                        count, layout.sh_degree));
    if (count % 3 != 0) layout.sh_degree = 0;
    for (int channel = 0; channel < 3; ++channel)
        for (int k = 1; k < sh_bases(layout.sh_degree); ++k) {
            layout.columns.push_back(
                {vertex.find(numbered("f_rest_", channel * per_channel + k - 1)), nullptr});
            layout.planes.push_back(kShRest + 3 * (k - 1) + channel);
        }
}

Result<PlyLayout> plan_layout(const PlyElement& vertex, const std::string& path,
                              std::vector<std::string>& notes) {
    static constexpr std::array<const char*, 14> kNames = {
        "x",     "y",     "z",     "scale_0", "scale_1", "scale_2", "rot_0",
        "rot_1", "rot_2", "rot_3", "opacity", "f_dc_0",  "f_dc_1",  "f_dc_2"};
    static constexpr std::array<const char*, 3> kColours = {"red", "green", "blue"};
    PlyLayout layout{.byte_colours = vertex.find("f_dc_0") < 0 && vertex.find("red") >= 0};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        const char* name = layout.byte_colours && i >= kSh0 ? kColours[i - kSh0] : kNames[i];
        const int property = vertex.find(name);
        if (property < 0 && i == kLogScales + 2 && vertex.find("scale_1") >= 0) {
            layout.flat = true;
            notes.emplace_back("scale_2 is missing, as in files of 2D Gaussians: they are flat");
            continue;
        }
        if (property < 0)
            return fail(ErrorKind::malformed, path, fmt::format("has no property \"{}\"", name),
                        "it is a point cloud or mesh, not a splat file");
        layout.columns.push_back({property, nullptr});
        layout.planes.push_back(static_cast<int>(i));
    }
    add_sh_rest(vertex, layout, notes);
    if (layout.byte_colours)
        notes.emplace_back("f_dc is missing, colours are taken from red, green, blue");
    return layout;
}

void note_ignored(const PlyElement& vertex, const PlyLayout& layout,
                  std::vector<std::string>& notes) {
    std::string names;
    std::size_t ignored = 0;
    for (std::size_t p = 0; p < vertex.properties.size(); ++p) {
        const std::string& name = vertex.properties[p].name;
        if (name == "nx" || name == "ny" || name == "nz") continue;  // 3DGS writes them as zeros
        const bool used = std::ranges::any_of(
            layout.columns, [&](const PlyColumn& c) { return c.property == static_cast<int>(p); });
        if (used) continue;
        if (++ignored <= 8) names += (names.empty() ? "" : ", ") + name;
    }
    if (ignored > 0)
        notes.push_back(
            fmt::format("{} columns ignored: {}{}", ignored, names, ignored > 8 ? ", ..." : ""));
}

std::string header_of(const GaussianModel& model, const TrainedThrough& trained) {
    std::string out = fmt::format("ply\nformat binary_little_endian 1.0\n{}element vertex {}\n",
                                  ply_comments(model, trained), model.count);
    const auto property = [&](const std::string& name) { out += "property float " + name + "\n"; };
    for (const char* name : kPositionAxes)
        out += fmt::format("property {} {}\n", is_zero(model.origin) ? "float" : "double", name);
    for (const char* name : {"nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"}) property(name);
    for (int i = 0; i < 3 * (sh_bases(model.sh_degree) - 1); ++i) property(numbered("f_rest_", i));
    for (const char* name :
         {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        property(name);
    return out + "end_header\n";
}

// The plane of each column, -1 for the normals, which are written as zeros.
std::vector<int> written_planes(const GaussianModel& model) {
    std::vector<int> planes = {kMeans, kMeans + 1, kMeans + 2, -1,      -1,
                               -1,     kSh0,       kSh0 + 1,   kSh0 + 2};
    for (int channel = 0; channel < 3; ++channel)
        for (int k = 1; k < sh_bases(model.sh_degree); ++k)
            planes.push_back(kShRest + 3 * (k - 1) + channel);
    planes.push_back(kOpacityLogits);
    for (int i = 0; i < 3; ++i) planes.push_back(kLogScales + i);
    for (int i = 0; i < 4; ++i) planes.push_back(kQuats + i);
    return planes;
}

// red, green and blue become coefficients of degree 0.
void take_colors(const PlyElement& vertex, GaussianModel& model) {
    const std::array<std::span<const float>, 3> planes = {
        std::span(model.plane(kSh0), model.count), std::span(model.plane(kSh0 + 1), model.count),
        std::span(model.plane(kSh0 + 2), model.count)};
    const PlyType type = vertex.properties[static_cast<std::size_t>(vertex.find("red"))].type;
    const auto full = static_cast<float>(full_ply_color(planes, type));
    for (int c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < model.count; ++i) {
            float& value = model.at(kSh0 + c, i);
            value = sh0_of_color(value / full);
        }
}

// Whether positions have more digits than a float: doubles, whole numbers, text.
bool has_exact_positions(const PlyHeader& header, const PlyElement& vertex) {
    if (header.encoding == PlyEncoding::ascii) return true;
    return std::any_of(std::begin(kPositionAxes), std::end(kPositionAxes), [&](const char* axis) {
        const PlyType type = vertex.properties[static_cast<std::size_t>(vertex.find(axis))].type;
        return type == PlyType::f64 || type == PlyType::i32 || type == PlyType::u32;
    });
}

// Positions as the file has them become the model's, less an origin where they are far from zero.
void take_positions(const PlyHeader& header, const std::vector<double> (&exact)[3],
                    SplatFile& out) {
    const Vec3d origin = origin_of_columns(exact[0], exact[1], exact[2], header.origin());
    const double less[3] = {origin.x, origin.y, origin.z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        float* plane = out.model.plane(kMeans + static_cast<int>(axis));
        for (std::size_t i = 0; i < out.model.count; ++i)
            plane[i] = static_cast<float>(exact[axis][i] - less[axis]);
    }
    out.model.origin = origin;
    if (!is_zero(origin)) out.notes.push_back(origin_note(origin));
}

}  // namespace

bool recognises_splat_ply(std::span<const std::byte> first_bytes, const fs::path&) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                first_bytes.size());
    if (!text.starts_with("ply\n") && !text.starts_with("ply\r")) return false;
    const auto end = text.find("end_header");
    const std::string_view header = text.substr(0, end);
    return header.find(" scale_0") != std::string_view::npos &&
           header.find(" rot_0") != std::string_view::npos;
}

Result<SplatFile> read_splat_ply(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto file, InputFile::open(path));
    GS_TRY(const auto header, read_ply_header(file));
    const PlyElement* vertex = header.find("vertex");
    if (vertex == nullptr)
        return fail(ErrorKind::malformed, path.string(), "has no vertex element");
    SplatFile out;
    GS_TRY(auto layout, plan_layout(*vertex, path.string(), out.notes));
    GS_TRY_VOID(check_ply_size(file, header, *vertex));

    out.format = fmt::format("3DGS PLY ({})", header.encoding == PlyEncoding::ascii ? "ASCII"
                                              : header.encoding == PlyEncoding::little_endian
                                                  ? "binary"
                                                  : "binary, big-endian");
    out.model = GaussianModel::to_fill(vertex->count, layout.sh_degree);
    out.model.antialiased = header.says_antialiased();
    out.model.sky = header.sky(out.notes);
    out.trained = header.trained();
    for (std::size_t c = 0; c < layout.columns.size(); ++c)
        layout.columns[c].target = out.model.plane(layout.planes[c]);
    std::vector<double> exact[3];
    if (has_exact_positions(header, *vertex))
        for (std::size_t axis = 0; axis < 3; ++axis) {
            exact[axis].resize(vertex->count);
            layout.columns[axis].exact = exact[axis].data();
        }
    GS_TRY_VOID(read_ply_columns(file, header, *vertex, layout.columns, options.progress));
    if (!exact[0].empty()) take_positions(header, exact, out);
    if (layout.flat) std::fill_n(out.model.plane(kLogScales + 2), out.model.count, kFlatLogScale);
    if (layout.byte_colours) take_colors(*vertex, out.model);
    note_ignored(*vertex, layout, out.notes);
    note_not_finite(out.model, out.notes);
    return out;
}

Result<SplatNotes> write_splat_ply(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options) {
    GS_TRY(auto file, AtomicFile::create(path));
    GS_TRY_VOID(file.append(header_of(model, options.trained)));
    const std::vector<int> planes = written_planes(model);
    const bool far = !is_zero(model.origin);  // positions are doubles then, in the file's world
    const auto rows = [&](std::byte* out, std::size_t first, std::size_t n) {
        for (std::size_t i = first; i < first + n; ++i) {
            const Vec3d place = world_position(model.mean(i), model.origin);
            const double position[3] = {place.x, place.y, place.z};
            for (const int p : planes) {
                const bool exact = far && p >= 0 && p < kMeans + 3;
                if (exact)
                    store_as(out, position[p - kMeans]);
                else
                    store_as(out, p < 0 ? 0.0f : model.at(p, i));
                out += exact ? sizeof(double) : sizeof(float);
            }
        }
    };
    const std::size_t row_bytes =
        planes.size() * sizeof(float) + (far ? 3 * (sizeof(double) - sizeof(float)) : 0);
    GS_TRY_VOID(write_records(file, path, row_bytes, model.count, options.progress, rows));
    GS_TRY_VOID(file.commit());
    return SplatNotes{};
}

}  // namespace gs
