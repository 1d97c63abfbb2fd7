// .splat of antimatter15/splat: no header, 32 bytes a Gaussian: position and standard deviations as
// floats, colour and opacity as bytes, rotation w x y z as bytes. No spherical harmonics. Viewers
// draw a file while it arrives, so the converter puts what is large and opaque first.
#include <cmath>

#include "base/text.h"
#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr std::size_t kRecord = 32;

// The converter truncates q * 128 + 128, so that the middle of what a byte stands for is (byte -
// 127.5) / 128; dividing by 127.5 makes 0 and 255 exact.
float component_of(std::byte b) { return static_cast<float>(b) / 127.5f - 1.0f; }

void decode(const std::byte* from, std::size_t i, GaussianModel& model) {
    for (int axis = 0; axis < 3; ++axis) {
        model.at(kMeans + axis, i) = load_as<float>(from + 4 * axis);
        model.at(kLogScales + axis, i) = std::log(load_as<float>(from + 12 + 4 * axis));
        model.at(kSh0 + axis, i) = sh0_of_color(static_cast<float>(from[24 + axis]) / 255.0f);
    }
    model.at(kOpacityLogits, i) = logit_of_byte(static_cast<std::uint8_t>(from[27]));
    const UnitQuat unit = unit_quat(component_of(from[28]), component_of(from[29]),
                                    component_of(from[30]), component_of(from[31]));
    for (int c = 0; c < 4; ++c) model.at(kQuats + c, i) = unit.q[c];
}

// True when a colour or opacity did not fit.
bool encode(const GaussianModel& model, std::size_t i, std::byte* to) {
    bool clamped = false;
    for (int axis = 0; axis < 3; ++axis) {
        store_as(to + 4 * axis, model.at(kMeans + axis, i));
        store_as(to + 12 + 4 * axis, std::exp(model.at(kLogScales + axis, i)));
        const float color = color_of_sh0(model.at(kSh0 + axis, i));
        clamped |= color < -0.5f / 255 || color > 1 + 0.5f / 255;
        to[24 + axis] = std::byte{byte_of(color)};
    }
    to[27] = std::byte{byte_of_logit(model.at(kOpacityLogits, i))};
    const UnitQuat unit = unit_quat(model.at(kQuats, i), model.at(kQuats + 1, i),
                                    model.at(kQuats + 2, i), model.at(kQuats + 3, i));
    for (int c = 0; c < 4; ++c) to[28 + c] = std::byte{byte_of(0.5f * unit.q[c] + 0.5f)};
    return clamped;
}

bool plausible(const std::byte* record) {
    for (int axis = 0; axis < 3; ++axis) {
        const float deviation = load_as<float>(record + 12 + 4 * axis);
        if (!std::isfinite(load_as<float>(record + 4 * axis)) || !std::isfinite(deviation) ||
            deviation < 0)
            return false;
    }
    return true;
}

}  // namespace

bool recognises_dot_splat(FirstBytes first_bytes, const fs::path& path) {
    const std::string extension = lower_case(path.extension().string());
    std::error_code ignored;
    const std::uint64_t size = fs::file_size(path, ignored);
    if (extension != ".splat" || ignored || size == 0 || size % kRecord != 0) return false;
    for (std::size_t at = 0; at + kRecord <= first_bytes.size(); at += kRecord)
        if (!plausible(first_bytes.data() + at)) return false;
    return true;
}

Result<SplatFile> read_dot_splat(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto file, InputFile::open(path));
    if (file.size() % kRecord != 0)
        return fail_at_byte(
            path.string(), file.size() / kRecord * kRecord,
            fmt::format("the file ends inside a record ({} bytes are not a multiple of {})",
                        file.size(), kRecord),
            "the file is cut, or it is not a .splat file");
    SplatFile out{GaussianModel::to_fill(file.size() / kRecord, 0), ".splat", {}};
    GS_TRY_VOID(read_records(file, 0, kRecord, out.model.count, options.progress,
                             [&](const std::byte* bytes, std::size_t first, std::size_t n) {
                                 for (std::size_t i = 0; i < n; ++i)
                                     decode(bytes + i * kRecord, first + i, out.model);
                             }));
    note_not_finite(out.model, out.notes);
    return out;
}

Result<SplatNotes> write_dot_splat(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options) {
    SplatNotes notes;
    SplatRows rows = drawable_rows(model, notes);
    sort_by_importance(model, rows);
    GS_TRY(auto file, AtomicFile::create(path));
    Tally clamped;
    GS_TRY_VOID(write_records(file, path, kRecord, rows.size(), options.progress,
                              [&](std::byte* out, std::size_t first, std::size_t n) {
                                  std::size_t found = 0;
                                  for (std::size_t i = 0; i < n; ++i)
                                      found +=
                                          encode(model, rows[first + i], out + i * kRecord) ? 1 : 0;
                                  clamped.add(found);
                              }));
    GS_TRY_VOID(file.commit());
    if (model.sh_degree > 0)
        notes.push_back(fmt::format(
            "spherical harmonics of degree {} are dropped: .splat holds one colour each",
            model.sh_degree));
    if (clamped.count() > 0)
        notes.push_back(fmt::format("the colours of {} Gaussians are clamped to 0..1",
                                    grouped(clamped.count())));
    if (model.antialiased)
        notes.emplace_back(".splat does not say that the Gaussians were trained antialiased");
    notes.emplace_back(
        "colour, opacity and rotation are bytes; Gaussians are ordered by size and opacity");
    return notes;
}

}  // namespace gs
