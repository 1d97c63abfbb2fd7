#include "renderer/io/splat_ply.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>

#include "renderer/device/parallel.h"
#include "renderer/io/ply.h"

namespace gs {
namespace {

// Degree-0 spherical harmonic: colour = 0.5 + kSh0Basis * sh0.
constexpr float kSh0Basis = 0.28209479177387814f;

std::string numbered(const char* stem, int i) { return fmt::format("{}{}", stem, i); }

// "SplatRenderMode: mip" (Brush) or any comment that names antialiased training.
bool says_antialiased(const std::vector<std::string>& comments) {
    return std::any_of(comments.begin(), comments.end(), [](std::string text) {
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const auto mode = text.find("splatrendermode");
        if (mode != std::string::npos) return text.find("mip", mode) != std::string::npos;
        const auto word = text.find("antialiased");
        if (word == std::string::npos) return false;
        const std::string rest = text.substr(word);
        return rest.find("0") == std::string::npos && rest.find("false") == std::string::npos;
    });
}

struct Layout {
    std::vector<PlyColumn> columns;  // target holds nothing yet
    std::vector<int> planes;         // plane of each column
    int sh_degree = 0;
    bool byte_colours = false;  // f_dc is missing, red green blue take its place
};

// f_rest_0.. are channel-major: all of red's coefficients, then green's, then blue's.
void add_sh_rest(const PlyElement& vertex, Layout& layout, std::vector<std::string>& notes) {
    int count = 0;
    while (vertex.find(numbered("f_rest_", count)) >= 0) ++count;
    const int per_channel = count / 3;
    while (layout.sh_degree < 3 && sh_bases(layout.sh_degree + 1) - 1 <= per_channel) ++layout.sh_degree;
    if (count % 3 != 0 || per_channel != sh_bases(layout.sh_degree) - 1)
        notes.push_back(fmt::format("{} f_rest columns are not those of degree 0 to 3; degree {} is used", count,
                                    layout.sh_degree));
    if (count % 3 != 0) layout.sh_degree = 0;
    for (int channel = 0; channel < 3; ++channel)
        for (int k = 1; k < sh_bases(layout.sh_degree); ++k) {
            layout.columns.push_back({vertex.find(numbered("f_rest_", channel * per_channel + k - 1)), nullptr});
            layout.planes.push_back(kShRest + 3 * (k - 1) + channel);
        }
}

Result<Layout> plan_layout(const PlyElement& vertex, const std::string& path, std::vector<std::string>& notes) {
    static constexpr std::array<const char*, 14> kNames = {"x",       "y",      "z",      "scale_0", "scale_1",
                                                           "scale_2", "rot_0",  "rot_1",  "rot_2",   "rot_3",
                                                           "opacity", "f_dc_0", "f_dc_1", "f_dc_2"};
    static constexpr std::array<const char*, 3> kColours = {"red", "green", "blue"};
    Layout layout;
    layout.byte_colours = vertex.find("f_dc_0") < 0 && vertex.find("red") >= 0;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        const char* name = layout.byte_colours && i >= kSh0 ? kColours[i - kSh0] : kNames[i];
        const int property = vertex.find(name);
        if (property < 0) {
            const bool packed = vertex.find("packed_position") >= 0;
            return fail(
                packed ? ErrorKind::unsupported : ErrorKind::malformed, path,
                packed ? "is a compressed PLY, which is not read here" : fmt::format("has no property \"{}\"", name),
                packed ? "convert it to plain PLY" : "it is a point cloud or mesh, not a splat file");
        }
        layout.columns.push_back({property, nullptr});
        layout.planes.push_back(static_cast<int>(i));
    }
    add_sh_rest(vertex, layout, notes);
    if (layout.byte_colours) notes.emplace_back("f_dc is missing, colours are taken from red, green, blue");
    return layout;
}

void note_ignored(const PlyElement& vertex, const Layout& layout, std::vector<std::string>& notes) {
    std::string names;
    std::size_t ignored = 0;
    for (std::size_t p = 0; p < vertex.properties.size(); ++p) {
        const std::string& name = vertex.properties[p].name;
        if (name == "nx" || name == "ny" || name == "nz") continue;  // 3DGS writes them as zeros
        const bool used = std::any_of(layout.columns.begin(), layout.columns.end(),
                                      [&](const PlyColumn& c) { return c.property == static_cast<int>(p); });
        if (used) continue;
        if (++ignored <= 8) names += (names.empty() ? "" : ", ") + name;
    }
    if (ignored > 0)
        notes.push_back(fmt::format("{} columns ignored: {}{}", ignored, names, ignored > 8 ? ", ..." : ""));
}

void note_not_finite(const GaussianModel& model, std::vector<std::string>& notes) {
    std::atomic<std::size_t> bad{0};
    parallel_ranges(model.count, 65536, [&](std::size_t begin, std::size_t end) {
        std::vector<std::uint8_t> finite(end - begin, 1);
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t i = begin; i < end; ++i) finite[i - begin] &= std::isfinite(model.at(p, i)) ? 1 : 0;
        bad += static_cast<std::size_t>(std::count(finite.begin(), finite.end(), 0));
    });
    if (bad > 0) notes.push_back(fmt::format("{} Gaussians have values that are NaN or infinite", bad.load()));
}

constexpr std::size_t kWriteRows = 16384;

std::string header_of(const GaussianModel& model) {
    std::string out =
        fmt::format("ply\nformat binary_little_endian 1.0\ncomment Generated by gausscope\n{}element vertex {}\n",
                    model.antialiased ? "comment SplatRenderMode: mip\n" : "", model.count);
    const auto property = [&](const std::string& name) { out += "property float " + name + "\n"; };
    for (const char* name : {"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"}) property(name);
    for (int i = 0; i < 3 * (sh_bases(model.sh_degree) - 1); ++i) property(numbered("f_rest_", i));
    for (const char* name : {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        property(name);
    return out + "end_header\n";
}

// The plane of each column, -1 for the normals, which are written as zeros.
std::vector<int> written_planes(const GaussianModel& model) {
    std::vector<int> planes = {kMeans, kMeans + 1, kMeans + 2, -1, -1, -1, kSh0, kSh0 + 1, kSh0 + 2};
    for (int channel = 0; channel < 3; ++channel)
        for (int k = 1; k < sh_bases(model.sh_degree); ++k) planes.push_back(kShRest + 3 * (k - 1) + channel);
    planes.push_back(kOpacityLogits);
    for (int i = 0; i < 3; ++i) planes.push_back(kLogScales + i);
    for (int i = 0; i < 4; ++i) planes.push_back(kQuats + i);
    return planes;
}

}  // namespace

bool recognises_splat_ply(std::span<const std::byte> first_bytes, const fs::path&) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size());
    if (!text.starts_with("ply\n") && !text.starts_with("ply\r")) return false;
    const auto end = text.find("end_header");
    const std::string_view header = text.substr(0, end);
    return header.find(" scale_0") != std::string_view::npos && header.find(" rot_0") != std::string_view::npos;
}

Result<SplatFile> read_splat_ply(const fs::path& path, const Progress& progress) {
    const auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    const auto header = read_ply_header(*file);
    if (!header) return tl::unexpected(header.error());
    const PlyElement* vertex = header->find("vertex");
    if (vertex == nullptr) return fail(ErrorKind::malformed, path.string(), "has no vertex element");
    SplatFile out;
    auto layout = plan_layout(*vertex, path.string(), out.notes);
    if (!layout) return tl::unexpected(layout.error());
    if (auto fits = check_ply_size(*file, *header, *vertex); !fits) return tl::unexpected(fits.error());

    out.format = fmt::format("3DGS PLY ({})", header->encoding == PlyEncoding::ascii           ? "ASCII"
                                              : header->encoding == PlyEncoding::little_endian ? "binary"
                                                                                               : "binary, big-endian");
    out.model = GaussianModel(vertex->count, layout->sh_degree);
    out.model.antialiased = says_antialiased(header->comments);
    for (std::size_t c = 0; c < layout->columns.size(); ++c)
        layout->columns[c].target = out.model.plane(layout->planes[c]);
    const auto report = [&](std::size_t done, std::size_t total) {
        return !progress || progress("splats", done, total);
    };
    if (auto read = read_ply_columns(*file, *header, *vertex, layout->columns, report); !read)
        return tl::unexpected(read.error());
    if (layout->byte_colours)
        for (int c = 0; c < 3; ++c)
            for (std::size_t i = 0; i < out.model.count; ++i) {
                float& value = out.model.at(kSh0 + c, i);
                value = (value / 255.0f - 0.5f) / kSh0Basis;
            }
    note_ignored(*vertex, *layout, out.notes);
    note_not_finite(out.model, out.notes);
    return out;
}

Result<void> write_splat_ply(const fs::path& path, const GaussianModel& model) {
    auto file = AtomicFile::create(path);
    if (!file) return tl::unexpected(file.error());
    if (auto done = file->append(header_of(model)); !done) return done;
    const std::vector<int> planes = written_planes(model);
    std::vector<float> rows(planes.size() * std::min(kWriteRows, model.count));
    for (std::size_t begin = 0; begin < model.count; begin += kWriteRows) {
        const std::size_t count = std::min(kWriteRows, model.count - begin);
        parallel_for(count, 256, [&](std::size_t i) {
            float* row = rows.data() + i * planes.size();
            for (std::size_t p = 0; p < planes.size(); ++p)
                row[p] = planes[p] < 0 ? 0.0f : model.at(planes[p], begin + i);
        });
        if (auto done = file->append(std::as_bytes(std::span(rows).first(count * planes.size()))); !done) return done;
    }
    return file->commit();
}

}  // namespace gs
