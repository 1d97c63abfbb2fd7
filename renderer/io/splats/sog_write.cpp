#include <nlohmann/json.hpp>

#include "base/file_group.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/files/meter.h"
#include "renderer/io/files/zip_writer.h"
#include "renderer/io/images/webp.h"
#include "renderer/io/splats/codebook.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/sog.h"
#include "renderer/io/splats/sog_meta.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr float kScaleLimit = 30;  // logarithms beyond are clamped: JSON has no infinities
// Shares of the work, about, for the progress.
constexpr std::size_t kWork = 1000, kPaletteWork = 600, kImagesWork = 400;

struct NamedImage {
    std::string name;
    WebpImage image;
};

// Images of as many pixels as Gaussians, as square as can be, sides multiples of four.
WebpImage blank(std::size_t count) {
    const auto side = [](double x) { return static_cast<std::size_t>(std::ceil(x / 4)) * 4; };
    const std::size_t width = std::max<std::size_t>(4, side(std::sqrt(static_cast<double>(count))));
    const std::size_t height =
        std::max<std::size_t>(4, side(static_cast<double>(count) / static_cast<double>(width)));
    WebpImage out{static_cast<int>(width), static_cast<int>(height), {}};
    out.rgba.assign(width * height * 4, 0);
    for (std::size_t i = 3; i < out.rgba.size(); i += 4) out.rgba[i] = 255;
    return out;
}

float log_position(float x) { return std::copysign(std::log1p(std::abs(x)), x); }

class SogEncoder {
  public:
    SogEncoder(const GaussianModel& model, const SplatRows& rows) : model_(model), rows_(rows) {}

    OrderedJson meta{{"version", 2}, {"asset", {{"generator", "gausscope"}}}};
    std::vector<SogFiles::Image> packed;
    Tally clamped_scales;

    Result<void> run(const TrainedThrough& trained, Meter& meter) {
        if (trained.unscented) meta["asset"]["projection"] = "ut";
        if (trained.widest_angle > 0) meta["asset"]["widest_angle"] = trained.widest_angle;
        if (const Vec3d o = model_.origin; !is_zero(o)) meta["asset"]["origin"] = {o.x, o.y, o.z};
        meta["count"] = rows_.size();
        if (model_.antialiased) meta["antialias"] = true;
        positions();
        scales();
        rotations();
        colors();
        if (model_.sh_degree > 0) GS_TRY_VOID(harmonics(meter));
        return pack(meter);
    }

  private:
    template <class Value>
    void each(WebpImage& image, Value value) {
        parallel_for(rows_.size(), 16384,
                     [&](std::size_t r) { value(rows_[r], image.rgba.data() + 4 * r); });
    }
    void add(std::string name, WebpImage image) {
        images_.push_back({std::move(name), std::move(image)});
    }

    void positions() {
        OrderedJson mins = OrderedJson::array(), maxs = OrderedJson::array();
        WebpImage low = blank(rows_.size()), high = low;
        for (int axis = 0; axis < 3; ++axis) {
            float lo = kInfinite, hi = -kInfinite;
            for (const std::uint32_t i : rows_) {
                const float v = log_position(model_.at(axis, i));
                lo = std::min(lo, v);
                hi = std::max(hi, v);
            }
            if (rows_.empty()) lo = hi = 0;
            mins.push_back(lo);
            maxs.push_back(hi);
            const float steps = hi > lo ? 65535.0f / (hi - lo) : 0.0f;
            parallel_for(rows_.size(), 16384, [&](std::size_t r) {
                const std::uint32_t level =
                    quantised(log_position(model_.at(axis, rows_[r])) - lo, steps, 65535);
                low.rgba[4 * r + static_cast<std::size_t>(axis)] =
                    static_cast<std::uint8_t>(level & 255);
                high.rgba[4 * r + static_cast<std::size_t>(axis)] =
                    static_cast<std::uint8_t>(level >> 8);
            });
        }
        meta["means"] = {{"mins", mins},
                         {"maxs", maxs},
                         {"files", OrderedJson::array({"means_l.webp", "means_u.webp"})}};
        add("means_l.webp", std::move(low));
        add("means_u.webp", std::move(high));
    }
    // Three planes through one codebook into the first three bytes of `image`.
    OrderedJson through_codebook(int plane, float limit, WebpImage& image) {
        std::vector<float> values(3 * rows_.size());
        parallel_for(rows_.size(), 16384, [&](std::size_t r) {
            for (int c = 0; c < 3; ++c) {
                const float value = model_.at(plane + c, rows_[r]);
                if (std::abs(value) > limit) clamped_scales.add(1);
                values[3 * r + static_cast<std::size_t>(c)] = std::clamp(value, -limit, limit);
            }
        });
        const auto codebook = fit_codebook(values);
        parallel_for(rows_.size(), 16384, [&](std::size_t r) {
            for (std::size_t c = 0; c < 3; ++c)
                image.rgba[4 * r + c] = nearest_entry(codebook, values[3 * r + c]);
        });
        return codebook;
    }
    void scales() {
        WebpImage image = blank(rows_.size());
        OrderedJson codebook = through_codebook(kLogScales, kScaleLimit, image);
        meta["scales"] = {{"codebook", std::move(codebook)},
                          {"files", OrderedJson::array({"scales.webp"})}};
        add("scales.webp", std::move(image));
    }
    void rotations() {
        WebpImage image = blank(rows_.size());
        each(image, [&](std::size_t i, std::uint8_t* pixel) {
            const UnitQuat q = unit_quat(model_.at(kQuats, i), model_.at(kQuats + 1, i),
                                         model_.at(kQuats + 2, i), model_.at(kQuats + 3, i));
            for (int c = 0, k = 0; c < 4; ++c)
                if (c != q.largest) pixel[k++] = byte_of(q.q[c] * kHalfSqrt2 + 0.5f);
            pixel[3] = static_cast<std::uint8_t>(kSogFirstQuatTag + q.largest);
        });
        meta["quats"] = {{"files", OrderedJson::array({"quats.webp"})}};
        add("quats.webp", std::move(image));
    }
    void colors() {
        WebpImage image = blank(rows_.size());
        OrderedJson codebook = through_codebook(kSh0, std::numeric_limits<float>::max(), image);
        each(image, [&](std::size_t i, std::uint8_t* pixel) {
            pixel[3] = byte_of_logit(model_.at(kOpacityLogits, i));
        });
        meta["sh0"] = {{"codebook", std::move(codebook)},
                       {"files", OrderedJson::array({"sh0.webp"})}};
        add("sh0.webp", std::move(image));
    }
    // A power of two times 1024, 64 Ki at most: what other writers choose.
    std::size_t palette_size() const {
        std::size_t entries = 1024;
        while (entries < 65536 && 2 * entries <= rows_.size()) entries *= 2;
        return entries;
    }
    Result<void> harmonics(Meter& meter) {
        const auto dimensions = static_cast<std::size_t>(model_.planes() - kShRest);
        std::size_t told = 0;
        std::mutex mutex;
        const VectorPalette palette = fit_palette(
            rows_.size(), dimensions, palette_size(),
            [&](std::size_t r, float* out) {
                for (std::size_t d = 0; d < dimensions; ++d)
                    out[d] = model_.at(kShRest + static_cast<int>(d), rows_[r]);
            },
            [&](double share) {
                const std::lock_guard lock(mutex);
                const auto now =
                    static_cast<std::size_t>(share * static_cast<double>(kPaletteWork));
                if (now > told) meter.add(now - told), told = now;
                return !meter.cancelled();
            });
        if (meter.cancelled()) return fail(ErrorKind::cancelled, "", "writing was cancelled");
        const auto codebook = fit_codebook(palette.values);
        const std::size_t bases = dimensions / 3;
        const std::size_t height = std::max<std::size_t>(
            1, (palette.entries + kSogPaletteColumns - 1) / kSogPaletteColumns);
        WebpImage centroids{
            static_cast<int>(kSogPaletteColumns * bases), static_cast<int>(height), {}};
        centroids.rgba.assign(kSogPaletteColumns * bases * height * 4, 255);
        parallel_for(palette.entries * bases, 4096, [&](std::size_t i) {
            for (std::size_t c = 0; c < 3; ++c)
                centroids.rgba[4 * i + c] = nearest_entry(codebook, palette.values[3 * i + c]);
        });
        WebpImage labels = blank(rows_.size());
        parallel_for(rows_.size(), 16384, [&](std::size_t r) {
            labels.rgba[4 * r] = static_cast<std::uint8_t>(palette.labels[r] & 255);
            labels.rgba[4 * r + 1] = static_cast<std::uint8_t>(palette.labels[r] >> 8);
        });
        meta["shN"] = {{"count", palette.entries},
                       {"bands", model_.sh_degree},
                       {"codebook", codebook},
                       {"files", OrderedJson::array({"shN_centroids.webp", "shN_labels.webp"})}};
        add("shN_centroids.webp", std::move(centroids));
        add("shN_labels.webp", std::move(labels));
        return {};
    }
    Result<void> pack(Meter& meter) {
        std::size_t pixels = 0;
        for (const NamedImage& named : images_) pixels += named.image.pixels();
        packed.resize(images_.size());
        FirstError error;
        parallel_for(images_.size(), 1, [&](std::size_t i) {
            if (error.failed()) return;
            double told = 0;
            auto bytes = encode_webp(images_[i].image, [&](std::size_t n) {
                const double before = told;
                told += static_cast<double>(n * kImagesWork) / static_cast<double>(pixels);
                meter.add(static_cast<std::size_t>(told) - static_cast<std::size_t>(before));
                return !meter.cancelled();
            });
            if (!bytes) return error.set(bytes.error());
            packed[i] = {std::move(images_[i].name), std::move(*bytes)};
            images_[i].image = {};
        });
        return error.result();
    }

    const GaussianModel& model_;
    const SplatRows& rows_;
    std::vector<NamedImage> images_;
};

Result<void> write_bundle(const fs::path& path, const SogFiles& sog) {
    GS_TRY(auto file, AtomicFile::create(path));
    ZipWriter zip(file);
    auto done = zip.add("meta.json", std::as_bytes(std::span(sog.meta)));
    for (const SogFiles::Image& image : sog.images)
        if (done) done = zip.add(image.name, image.bytes);
    if (done) done = zip.finish();
    if (done) done = file.commit();
    return done;
}

// The images first: a meta.json is never there without them.
Result<void> write_folder(const fs::path& path, const SogFiles& sog) {
    FileGroup files;
    for (const SogFiles::Image& image : sog.images)
        GS_TRY_VOID(files.add(path.parent_path() / image.name, image.bytes));
    GS_TRY_VOID(files.add(path, sog.meta));
    return files.commit();
}

}  // namespace

Result<SogFiles> encode_sog(const fs::path& path, const GaussianModel& model, const SplatRows& rows,
                            const SplatWriteOptions& options, SplatNotes& notes) {
    if (rows.size() > kSogLongestSide * (kSogLongestSide - 3))
        return fail(ErrorKind::unsupported, path.string(),
                    "has more Gaussians than a WebP image has pixels");
    SogEncoder sog(model, rows);
    GS_TRY_VOID(run_metered(options.progress, kWork,
                            [&](Meter& meter) { return sog.run(options.trained, meter); }));
    if (sog.clamped_scales.count() > 0)
        notes.push_back(fmt::format("{} sizes are clamped to e^-30..e^30",
                                    grouped(sog.clamped_scales.count())));
    if (model.sh_degree > 0)
        notes.push_back(fmt::format("spherical harmonics are a palette of {} for {} Gaussians",
                                    grouped(sog.meta["shN"]["count"].get<std::size_t>()),
                                    grouped(rows.size())));
    return SogFiles{json_text(sog.meta), std::move(sog.packed)};
}

Result<void> write_sog_files(const fs::path& path, const SogFiles& sog) {
    return path.filename() == "meta.json" ? write_folder(path, sog) : write_bundle(path, sog);
}

Result<SplatNotes> write_sog(const fs::path& path, const GaussianModel& model,
                             const SplatWriteOptions& options) {
    SplatNotes notes;
    SplatRows rows = drawable_rows(model, notes);
    sort_along_curve(model, rows);
    GS_TRY(const SogFiles sog, encode_sog(path, model, rows, options, notes));
    GS_TRY_VOID(write_sog_files(path, sog));
    notes.emplace_back(
        "position is 16 bits of its logarithm, size and colour one of 256 values, rotation and "
        "opacity bytes; Gaussians are ordered along a space-filling curve");
    return notes;
}

}  // namespace gs
