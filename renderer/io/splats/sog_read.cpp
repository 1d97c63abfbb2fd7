#include "base/try.h"
#include "renderer/io/files/meter.h"
#include "renderer/io/images/webp.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/sog.h"
#include "renderer/io/splats/sog_meta.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

// Four bytes a pixel hardly compressed, and what a container may hold besides.
constexpr std::uint64_t kMostBytesAPixel = 8, kMostOtherBytes = 1 << 20;

// The images of a SOG, in the order they are unpacked: the large ones first.
enum Image { kQuatsImage, kMeansLow, kMeansHigh, kScales, kSh0Image, kLabels, kCentroids, kImages };

struct Sog {
    const FileSet& files;
    const std::string meta_name;
    SogMeta meta;
    WebpImage images[kImages];
    std::vector<float> palette;  // [entry][coefficient][channel]
    int degree = 0;
    std::atomic<std::size_t> bad_labels{0}, bad_tags{0};
};

// Relative to the folder of the meta.json.
std::string beside(const std::string& meta_name, const std::string& file) {
    const auto slash = meta_name.rfind('/');
    return slash == std::string::npos ? file : meta_name.substr(0, slash + 1) + file;
}

std::string file_of(const SogMeta& meta, int image) {
    switch (image) {
        case kQuatsImage:
            return meta.quats_file;
        case kMeansLow:
            return meta.means_files[0];
        case kMeansHigh:
            return meta.means_files[1];
        case kScales:
            return meta.scales_file;
        case kSh0Image:
            return meta.sh0_file;
        case kLabels:
            return meta.labels_file;
        default:
            return meta.centroids_file;
    }
}

Result<void> unpack_image(Sog& sog, int which, Meter& meter) {
    const std::string name = beside(sog.meta_name, file_of(sog.meta, which));
    // Writers round the sides up to multiples of four; an image far larger than what is in it is an
    // attack.
    std::uint64_t least = sog.meta.count, most = 2 * least + 16 * kSogLongestSide;
    if (which == kCentroids) {
        least = 1;
        most = kSogLargestPalette * static_cast<std::uint64_t>(sh_bases(3) - 1) + kSogLongestSide;
    }
    GS_TRY(const auto bytes, sog.files.read(name, kMostBytesAPixel * most + kMostOtherBytes));
    GS_TRY(auto image,
           decode_webp(bytes, sog.files.describe(name), least, most, [&](std::size_t n) {
               meter.add(n);
               return !meter.cancelled();
           }));
    sog.images[which] = std::move(image);
    return {};
}

Result<void> unpack_images(Sog& sog, const Progress& progress) {
    const std::size_t images = sog.meta.has_shn ? kImages : kLabels;
    return run_metered(progress, sog.files.size(), [&](Meter& meter) {
        FirstError error;
        parallel_for(images, 1, [&](std::size_t i) {
            if (error.failed()) return;
            if (auto done = unpack_image(sog, static_cast<int>(i), meter); !done)
                error.set(done.error());
        });
        return error.result();
    });
}

// The palette as coefficients; its image gives the degree in version 1.
Result<void> unpack_palette(Sog& sog) {
    if (!sog.meta.has_shn) return {};
    const WebpImage& image = sog.images[kCentroids];
    const std::string name = sog.files.describe(sog.meta.centroids_file);
    const auto width = static_cast<std::size_t>(image.width),
               height = static_cast<std::size_t>(image.height);
    for (int degree = 1; degree <= 3; ++degree)
        if (width == kSogPaletteColumns * static_cast<std::size_t>(sh_bases(degree) - 1))
            sog.degree = degree;
    if (sog.degree == 0 || (sog.meta.bands != 0 && sog.meta.bands != sog.degree))
        return fail(
            ErrorKind::malformed, name,
            fmt::format("is {} pixels wide, which does not fit degree {}", width, sog.meta.bands),
            "the file is damaged");
    const std::size_t bases = static_cast<std::size_t>(sh_bases(sog.degree) - 1),
                      room = kSogPaletteColumns * height;
    const std::size_t entries =
        sog.meta.palette_size != 0 ? std::min(sog.meta.palette_size, room) : room;
    sog.palette.resize(entries * bases * 3);
    for (std::size_t entry = 0; entry < entries; ++entry)
        for (std::size_t k = 0; k < bases; ++k) {
            const std::size_t pixel =
                entry / kSogPaletteColumns * width + entry % kSogPaletteColumns * bases + k;
            for (std::size_t c = 0; c < 3; ++c)
                sog.palette[(entry * bases + k) * 3 + c] = sog.meta.shn[image.rgba[4 * pixel + c]];
        }
    return {};
}

void decode_rotation(const std::uint8_t* pixel, std::size_t i, Sog& sog, GaussianModel& model) {
    float q[4] = {1, 0, 0, 0};
    if (pixel[3] >= kSogFirstQuatTag) {
        const int largest = pixel[3] - kSogFirstQuatTag;
        float part[3];
        for (int k = 0; k < 3; ++k)
            part[k] = (static_cast<float>(pixel[k]) / 255.0f * 2 - 1) * kHalfSqrt2;
        for (int c = 0, k = 0; c < 4; ++c)
            q[c] = c == largest ? largest_of(part[0], part[1], part[2]) : part[k++];
    } else {
        ++sog.bad_tags;
    }
    for (int c = 0; c < 4; ++c) model.at(kQuats + c, i) = q[c];
}

void decode_range(Sog& sog, GaussianModel& model, std::size_t begin, std::size_t end) {
    const SogMeta& meta = sog.meta;
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const float lo = meta.mins[a], extent = meta.maxs[a] - lo;
        for (std::size_t i = begin; i < end; ++i) {
            const int level =
                sog.images[kMeansLow].rgba[4 * i + a] | sog.images[kMeansHigh].rgba[4 * i + a] << 8;
            const float v = lo + extent * (static_cast<float>(level) / 65535.0f);
            const float magnitude = std::expm1(std::abs(v));
            model.at(kMeans + axis, i) = v < 0 ? -magnitude : magnitude;
            model.at(kLogScales + axis, i) = meta.scales[a][sog.images[kScales].rgba[4 * i + a]];
            model.at(kSh0 + axis, i) = meta.sh0[a][sog.images[kSh0Image].rgba[4 * i + a]];
        }
    }
    for (std::size_t i = begin; i < end; ++i) {
        model.at(kOpacityLogits, i) = meta.sh0[3][sog.images[kSh0Image].rgba[4 * i + 3]];
        decode_rotation(sog.images[kQuatsImage].rgba.data() + 4 * i, i, sog, model);
    }
    const std::size_t coefficients = 3 * static_cast<std::size_t>(sh_bases(sog.degree) - 1);
    if (coefficients == 0) return;
    const std::size_t entries = sog.palette.size() / coefficients;
    for (std::size_t i = begin; i < end; ++i) {
        const std::uint8_t* pixel = sog.images[kLabels].rgba.data() + 4 * i;
        const std::size_t label = pixel[0] | static_cast<std::size_t>(pixel[1]) << 8;
        if (label >= entries) ++sog.bad_labels;
        const float* from = label < entries ? sog.palette.data() + label * coefficients : nullptr;
        for (std::size_t c = 0; c < coefficients; ++c)
            model.at(kShRest + static_cast<int>(c), i) = from != nullptr ? from[c] : 0.0f;
    }
}

// True for the beginning of a JSON text that describes a SOG: codebooks of version 2 may fill what
// is seen of it.
bool describes_sog(std::string_view text) {
    const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
    return (has("\"means\"") && has("\"files\"")) ||
           (has("\"codebook\"") && (has("\"scales\"") || has("\"sh0\"")));
}

}  // namespace

Result<SplatFile> read_sog_files(const FileSet& files, const std::string& meta_name,
                                 const SplatReadOptions& options) {
    GS_TRY(auto meta, read_sog_meta(files, meta_name));
    Sog sog{files, meta_name, std::move(meta), {}, {}, 0, {}, {}};
    GS_TRY_VOID(unpack_images(sog, options.progress));
    GS_TRY_VOID(unpack_palette(sog));
    SplatFile out{GaussianModel::to_fill(sog.meta.count, sog.degree),
                  fmt::format("SOG {}", sog.meta.version),
                  {}};
    out.model.antialiased = sog.meta.antialiased;
    out.trained = sog.meta.trained;
    out.model.origin = sog.meta.origin;
    parallel_ranges(out.model.count, 16384, [&](std::size_t begin, std::size_t end) {
        decode_range(sog, out.model, begin, end);
    });
    if (sog.bad_tags > 0)
        out.notes.push_back(
            fmt::format("{} rotations are not valid and replaced by none", grouped(sog.bad_tags)));
    if (sog.bad_labels > 0)
        out.notes.push_back(
            fmt::format("{} Gaussians refer to harmonics beyond the palette and get none",
                        grouped(sog.bad_labels)));
    note_not_finite(out.model, out.notes);
    return out;
}

bool recognises_sog(FirstBytes first_bytes, const fs::path& path) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                first_bytes.size());
    if (!text.starts_with("PK\x03\x04")) {
        const auto begin = text.find_first_not_of(" \t\r\n");
        return begin != std::string_view::npos && text[begin] == '{' && describes_sog(text);
    }
    const auto zip = open_zip(path);
    return zip && !(*zip)->find("meta.json").empty();
}

Result<SplatFile> read_sog(const fs::path& path, const SplatReadOptions& options) {
    std::byte head[4] = {};
    GS_TRY(const auto file, InputFile::open(path));
    if (file.size() < sizeof head)
        return fail_at_byte(path.string(), file.size(), "the file is too short", "the file is cut");
    GS_TRY_VOID(file.read_at(0, head));
    if (head[0] != std::byte{'P'}) {
        const auto folder =
            open_folder(path.parent_path().empty() ? fs::path(".") : path.parent_path());
        auto out = read_sog_files(*folder, path.filename().string(), options);
        if (out) out->format += " (folder)";
        return out;
    }
    GS_TRY(const auto zip, open_zip(path));
    // People zip the folder as well as what is in it.
    const std::string meta = zip->find("meta.json");
    auto out = read_sog_files(*zip, meta.empty() ? "meta.json" : meta, options);
    if (out) out->format += " (bundle)";
    return out;
}

}  // namespace gs
