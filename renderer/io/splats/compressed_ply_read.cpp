
#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/ply_compressed.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr std::size_t kColorColumns = 6;

struct Parts {
    const PlyElement *chunk, *vertex, *sh;
    std::uint32_t packed_at[4];  // bytes from the start of a vertex row
    bool swapped;                // big-endian
    bool chunk_colors;
};

Result<Parts> find_parts(const PlyHeader& header, const std::string& path) {
    Parts out{header.find("chunk"), header.find("vertex"), header.find("sh"), {}, false, true};
    const auto malformed = [&](std::string message) {
        return fail(ErrorKind::malformed, path, std::move(message),
                    "it is not a compressed PLY, or is damaged");
    };
    if (header.encoding == PlyEncoding::ascii)
        return fail(ErrorKind::unsupported, path, "is a compressed PLY written as text",
                    "export it as binary");
    out.swapped = header.encoding == PlyEncoding::big_endian;
    if (out.chunk == nullptr || out.vertex == nullptr)
        return malformed("has no chunk or no vertex element");
    for (std::size_t i = 0; i < kPackedColumns.size(); ++i) {
        const int at = out.vertex->find(kPackedColumns[i]);
        if (at < 0) return malformed(fmt::format("has no property \"{}\"", kPackedColumns[i]));
        const PlyProperty& property = out.vertex->properties[static_cast<std::size_t>(at)];
        if (property.type != PlyType::u32 && property.type != PlyType::i32)
            return malformed(
                fmt::format("property \"{}\" is not a 32-bit integer", kPackedColumns[i]));
        out.packed_at[i] = property.offset;
    }
    out.chunk_colors = out.chunk->find("min_r") >= 0;
    if ((out.vertex->count + kChunkRows - 1) / kChunkRows > out.chunk->count)
        return malformed(fmt::format("has {} chunks, too few for {} Gaussians", out.chunk->count,
                                     out.vertex->count));
    if (out.sh != nullptr && out.sh->count != out.vertex->count)
        return malformed(
            fmt::format("has {} rows of sh for {} Gaussians", out.sh->count, out.vertex->count));
    return out;
}

// bounds[column][chunk]
Result<std::vector<std::vector<float>>> read_chunks(const InputFile& file, const PlyHeader& header,
                                                    const Parts& parts) {
    GS_TRY_VOID(check_ply_size(file, header, *parts.chunk));
    std::vector<std::vector<float>> bounds(kChunkColumns.size(),
                                           std::vector<float>(parts.chunk->count, 0.0f));
    const std::size_t used = kChunkColumns.size() - (parts.chunk_colors ? 0 : kColorColumns);
    std::vector<PlyColumn> columns;
    for (std::size_t c = 0; c < used; ++c) {
        const int property = parts.chunk->find(kChunkColumns[c]);
        if (property < 0)
            return fail(ErrorKind::malformed, file.path(),
                        fmt::format("has no chunk property \"{}\"", kChunkColumns[c]),
                        "the file is damaged");
        columns.push_back({property, bounds[c].data()});
    }
    if (!parts.chunk_colors)
        for (std::size_t c = kChunkColumns.size() - 3; c < kChunkColumns.size(); ++c)
            std::fill(bounds[c].begin(), bounds[c].end(), 1.0f);
    GS_TRY_VOID(read_ply_columns(file, header, *parts.chunk, columns));
    return bounds;
}

float fraction(std::uint32_t word, int shift, int bits) {
    const std::uint32_t top = (1u << bits) - 1;
    return static_cast<float>(word >> shift & top) / static_cast<float>(top);
}
float between(float lo, float hi, float t) { return lo * (1 - t) + hi * t; }

class ChunkDecoder {
  public:
    ChunkDecoder(const Parts& parts, const std::vector<std::vector<float>>& bounds,
                 GaussianModel& model)
        : parts_(parts), bounds_(bounds), model_(model) {}

    void operator()(const std::byte* row, std::size_t i) const {
        const std::size_t chunk = i / kChunkRows;
        const std::uint32_t position = word(row, 0), rotation = word(row, 1), scale = word(row, 2),
                            color = word(row, 3);
        static constexpr int kShift[3] = {21, 11, 0}, kBits[3] = {11, 10, 11};
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const int plane = static_cast<int>(axis);
            const float p = fraction(position, kShift[axis], kBits[axis]),
                        s = fraction(scale, kShift[axis], kBits[axis]),
                        c = fraction(color, 24 - 8 * plane, 8);
            model_.at(kMeans + plane, i) =
                between(bounds_[axis][chunk], bounds_[3 + axis][chunk], p);
            model_.at(kLogScales + plane, i) =
                between(bounds_[6 + axis][chunk], bounds_[9 + axis][chunk], s);
            model_.at(kSh0 + plane, i) =
                sh0_of_color(between(bounds_[12 + axis][chunk], bounds_[15 + axis][chunk], c));
        }
        model_.at(kOpacityLogits, i) = logit_of_byte(static_cast<std::uint8_t>(color & 255));
        decode_rotation(rotation, i);
    }

  private:
    std::uint32_t word(const std::byte* row, int which) const {
        const auto value = load_as<std::uint32_t>(row + parts_.packed_at[which]);
        return parts_.swapped ? __builtin_bswap32(value) : value;
    }
    void decode_rotation(std::uint32_t word, std::size_t i) const {
        float part[3];
        for (int k = 0; k < 3; ++k)
            part[k] = (fraction(word, 20 - 10 * k, 10) - 0.5f) * 2.0f * kHalfSqrt2;
        const int largest = static_cast<int>(word >> 30);
        for (int c = 0, k = 0; c < 4; ++c)
            model_.at(kQuats + c, i) =
                c == largest ? largest_of(part[0], part[1], part[2]) : part[k++];
    }
    const Parts& parts_;
    const std::vector<std::vector<float>>& bounds_;
    GaussianModel& model_;
};

// The coefficients of `sh`, a byte each, into the model.
Result<void> read_sh(const InputFile& file, const PlyHeader& header, const Parts& parts,
                     GaussianModel& model, const Progress& progress) {
    const int per_channel = sh_bases(model.sh_degree) - 1;
    std::vector<PlyColumn> columns;
    for (int i = 0; i < 3 * per_channel; ++i)
        columns.push_back({parts.sh->find(fmt::format("f_rest_{}", i)),
                           model.plane(kShRest + 3 * (i % per_channel) + i / per_channel)});
    GS_TRY_VOID(read_ply_columns(file, header, *parts.sh, columns, progress));
    parallel_ranges(model.count, 65536, [&](std::size_t begin, std::size_t end) {
        for (int p = kShRest; p < model.planes(); ++p)
            for (std::size_t i = begin; i < end; ++i) {
                float& value = model.at(p, i);
                const float unit = value <= 0 ? 0.0f : value >= 255 ? 1.0f : (value + 0.5f) / 256;
                value = (unit - 0.5f) * kShRange;
            }
    });
    return {};
}

int degree_of(const PlyElement* sh) {
    int count = 0;
    if (sh != nullptr)
        while (sh->find(fmt::format("f_rest_{}", count)) >= 0) ++count;
    for (int degree = 3; degree > 0; --degree)
        if (count == 3 * (sh_bases(degree) - 1)) return degree;
    return 0;
}

}  // namespace

bool recognises_compressed_ply(FirstBytes first_bytes, const fs::path&) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                first_bytes.size());
    if (!text.starts_with("ply\n") && !text.starts_with("ply\r")) return false;
    const std::string_view header = text.substr(0, text.find("end_header"));
    return header.find("element chunk") != std::string_view::npos &&
           header.find(" packed_position") != std::string_view::npos;
}

Result<SplatFile> read_compressed_ply(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto file, InputFile::open(path));
    GS_TRY(const auto header, read_ply_header(file));
    GS_TRY(const auto parts, find_parts(header, path.string()));
    for (const PlyElement* element : {parts.vertex, parts.sh})
        if (element != nullptr) GS_TRY_VOID(check_ply_size(file, header, *element));
    GS_TRY(const auto bounds, read_chunks(file, header, parts));
    GS_TRY(const auto at, ply_element_offset(file, header, *parts.vertex));

    SplatFile out{
        GaussianModel::to_fill(parts.vertex->count, degree_of(parts.sh)), "compressed PLY", {}};
    out.model.antialiased = header.says_antialiased();
    out.model.sky = header.sky(out.notes);
    out.trained = header.trained();
    out.model.origin = header.origin().value_or(Vec3d{});
    if (parts.sh != nullptr && out.model.sh_degree == 0)
        out.notes.push_back(
            fmt::format("the {} columns of sh are not those of degree 1 to 3 and are ignored",
                        parts.sh->properties.size()));
    const ChunkDecoder decode(parts, bounds, out.model);
    const std::size_t stride = parts.vertex->row_bytes;
    GS_TRY_VOID(read_records(file, at, stride, out.model.count, options.progress,
                             [&](const std::byte* rows, std::size_t first, std::size_t n) {
                                 for (std::size_t i = 0; i < n; ++i)
                                     decode(rows + i * stride, first + i);
                             }));
    if (out.model.sh_degree > 0)
        GS_TRY_VOID(read_sh(file, header, parts, out.model, options.progress));
    note_not_finite(out.model, out.notes);
    return out;
}

}  // namespace gs
