#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/ply_compressed.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr float kScaleLimit =
    20;  // logarithms beyond are clamped, as every writer of this format does

std::string header_of(const GaussianModel& model, std::size_t rows, const TrainedThrough& trained) {
    std::string out =
        fmt::format("ply\nformat binary_little_endian 1.0\n{}element chunk {}\n",
                    ply_comments(model, trained), (rows + kChunkRows - 1) / kChunkRows);
    for (const char* name : kChunkColumns) out += fmt::format("property float {}\n", name);
    out += fmt::format("element vertex {}\n", rows);
    for (const char* name : kPackedColumns) out += fmt::format("property uint {}\n", name);
    const int coefficients = 3 * (sh_bases(model.sh_degree) - 1);
    if (coefficients > 0) out += fmt::format("element sh {}\n", rows);
    for (int i = 0; i < coefficients; ++i) out += fmt::format("property uchar f_rest_{}\n", i);
    return out + "end_header\n";
}

// What is stored of plane `group * 3 + axis`: position, log scale, colour.
float stored_value(const GaussianModel& model, std::size_t group, std::size_t axis, std::size_t i) {
    static constexpr int kPlanes[3] = {kMeans, kLogScales, kSh0};
    const float value = model.at(kPlanes[group] + static_cast<int>(axis), i);
    if (group == 1) return std::clamp(value, -kScaleLimit, kScaleLimit);
    return group == 2 ? color_of_sh0(value) : value;
}

// The 18 numbers of each chunk: three minima, three maxima, of position, scale and colour.
std::vector<float> chunk_bounds(const GaussianModel& model, const SplatRows& rows) {
    const std::size_t chunks = (rows.size() + kChunkRows - 1) / kChunkRows;
    std::vector<float> out(chunks * kChunkColumns.size());
    parallel_for(chunks, 64, [&](std::size_t chunk) {
        float* bounds = out.data() + chunk * kChunkColumns.size();
        const std::size_t end = std::min(rows.size(), (chunk + 1) * kChunkRows);
        for (std::size_t group = 0; group < 3; ++group)
            for (std::size_t axis = 0; axis < 3; ++axis) {
                float lo = kInfinite, hi = -kInfinite;
                for (std::size_t r = chunk * kChunkRows; r < end; ++r) {
                    const float value = stored_value(model, group, axis, rows[r]);
                    lo = std::min(lo, value);
                    hi = std::max(hi, value);
                }
                bounds[6 * group + axis] = lo;
                bounds[6 * group + 3 + axis] = hi;
            }
    });
    return out;
}

// 0..1 between the chunk's bounds.
float unit(float value, float lo, float hi) {
    const float extent = hi - lo;
    if (std::isfinite(extent)) return extent > 0 ? (value - lo) / extent : 0.0f;
    return (0.5f * value - 0.5f * lo) / (0.5f * hi - 0.5f * lo);
}

std::uint32_t packed_rotation(const GaussianModel& model, std::size_t i) {
    const UnitQuat q = unit_quat(model.at(kQuats, i), model.at(kQuats + 1, i),
                                 model.at(kQuats + 2, i), model.at(kQuats + 3, i));
    auto out = static_cast<std::uint32_t>(q.largest);
    for (int c = 0; c < 4; ++c)
        if (c != q.largest) out = out << 10 | quantised(q.q[c] * kHalfSqrt2 + 0.5f, 1023, 1023);
    return out;
}

void encode(const GaussianModel& model, std::size_t i, const float* bounds, std::byte* out) {
    float u[3][3];
    for (std::size_t group = 0; group < 3; ++group)
        for (std::size_t axis = 0; axis < 3; ++axis)
            u[group][axis] = unit(stored_value(model, group, axis, i), bounds[6 * group + axis],
                                  bounds[6 * group + 3 + axis]);
    const auto pack = [](const float* v) {
        return quantised(v[0], 2047, 2047) << 21 | quantised(v[1], 1023, 1023) << 11 |
               quantised(v[2], 2047, 2047);
    };
    store_as(out, pack(u[0]));
    store_as(out + 4, packed_rotation(model, i));
    store_as(out + 8, pack(u[1]));
    const std::uint32_t color = static_cast<std::uint32_t>(byte_of(u[2][0])) << 24 |
                                static_cast<std::uint32_t>(byte_of(u[2][1])) << 16 |
                                static_cast<std::uint32_t>(byte_of(u[2][2])) << 8 |
                                byte_of_logit(model.at(kOpacityLogits, i));
    store_as(out + 12, color);
}

Result<void> write_body(AtomicFile& file, const fs::path& path, const GaussianModel& model,
                        const SplatRows& rows, const Progress& progress, Tally& clamped) {
    const std::vector<float> bounds = chunk_bounds(model, rows);
    GS_TRY_VOID(file.append(std::as_bytes(std::span(bounds))));
    auto done = write_records(
        file, path, 16, rows.size(), progress,
        [&](std::byte* out, std::size_t first, std::size_t n) {
            for (std::size_t r = first; r < first + n; ++r, out += 16)
                encode(model, rows[r], bounds.data() + r / kChunkRows * kChunkColumns.size(), out);
        });
    const int per_channel = sh_bases(model.sh_degree) - 1;
    if (!done || per_channel == 0) return done;
    const auto bytes = static_cast<std::size_t>(3 * per_channel);
    return write_records(
        file, path, bytes, rows.size(), progress,
        [&](std::byte* out, std::size_t first, std::size_t n) {
            std::size_t found = 0;
            for (std::size_t r = first; r < first + n; ++r)
                for (int c = 0; c < 3 * per_channel; ++c) {
                    const float value =
                        model.at(kShRest + 3 * (c % per_channel) + c / per_channel, rows[r]);
                    const float level = (value / kShRange + 0.5f) * 256;
                    found += std::abs(value) > kShRange / 2 ? 1 : 0;
                    *out++ = static_cast<std::byte>(std::clamp(level, 0.0f, 255.0f));
                }
            clamped.add(found);
        });
}

}  // namespace

Result<SplatNotes> write_compressed_ply(const fs::path& path, const GaussianModel& model,
                                        const SplatWriteOptions& options) {
    SplatNotes notes;
    SplatRows rows = drawable_rows(model, notes);
    sort_along_curve(model, rows);
    GS_TRY(auto file, AtomicFile::create(path));
    Tally clamped, scales;
    GS_TRY_VOID(file.append(header_of(model, rows.size(), options.trained)));
    GS_TRY_VOID(write_body(file, path, model, rows, options.progress, clamped));
    GS_TRY_VOID(file.commit());
    parallel_for(rows.size(), 16384, [&](std::size_t r) {
        for (int axis = 0; axis < 3; ++axis)
            if (std::abs(model.at(kLogScales + axis, rows[r])) > kScaleLimit) scales.add(1);
    });
    if (clamped.count() > 0)
        notes.push_back(fmt::format("compressed PLY clamps colours: {} coefficients beyond -4..4",
                                    grouped(clamped.count())));
    if (scales.count() > 0)
        notes.push_back(
            fmt::format("{} sizes are clamped to e^-20..e^20", grouped(scales.count())));
    notes.emplace_back(
        "position and size are 11, 10, 11 bits within each 256 Gaussians, rotation 3 x 10 bits, "
        "the rest bytes; Gaussians are ordered along a space-filling curve");
    return notes;
}

}  // namespace gs
