#include <algorithm>

#include "base/try.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/io/files/byte_reader.h"

namespace gs {
namespace {

// Smallest possible records: a count above file size / record size is a lie, reported before
// anything is allocated.
constexpr std::size_t kCameraBytes = 24, kImageBytes = 73, kPointBytes = 51, kTrackBytes = 8,
                      kKeyPointBytes = 24;

Result<std::uint64_t> read_count(ByteReader& reader, const std::string& path, std::size_t record,
                                 const char* what) {
    const auto count = reader.read<std::uint64_t>();
    if (!reader.ok()) return reader.failure(fmt::format("the number of {}", what));
    if (count > reader.remaining() / record)
        return fail_at_byte(
            path, 0,
            fmt::format("claims {} {}, but only {} bytes follow", count, what, reader.remaining()),
            "the file is cut or damaged; copy it again");
    return count;
}

Result<void> expect_end(const ByteReader& reader, const std::string& path, const char* what) {
    if (reader.remaining() == 0) return {};
    return fail_at_byte(
        path, reader.position(),
        fmt::format("{} bytes follow after the last of the {}", reader.remaining(), what),
        "the count at the start of the file is wrong, or the file is damaged");
}

// A model number that no COLMAP up to 4.1 has, and how many numbers its cameras are taken to have.
struct UnknownLens {
    std::int32_t model = -1;
    int params = -1;  // < 0: unknown
};

Result<void> read_cameras(std::span<const std::byte> bytes, const std::string& path,
                          UnknownLens& unknown, ColmapModel& model) {
    ByteReader reader(bytes, path);
    GS_TRY(const auto count, read_count(reader, path, kCameraBytes, "cameras"));
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto id = reader.read<std::uint32_t>();
        ColmapCamera camera;
        const std::size_t model_at = reader.position();
        camera.model = reader.read<std::int32_t>();
        camera.width = reader.read<std::uint64_t>();
        camera.height = reader.read<std::uint64_t>();
        if (!reader.ok()) return reader.failure(fmt::format("camera {} of {}", i + 1, count));
        const ColmapLens* lens = colmap_lens(camera.model);
        if (lens == nullptr && unknown.params >= 0 && camera.model == unknown.model) {
            camera.unknown = fmt::format("unknown model number {}", camera.model);
            camera.model = -1;
        } else if (lens == nullptr) {
            if (unknown.params < 0) unknown.model = camera.model;
            return fail_at_byte(
                path, model_at,
                fmt::format("camera {} has the unknown model number {}", id, camera.model),
                "the file is damaged, or written by a newer COLMAP");
        }
        const int params = lens != nullptr ? lens->params : unknown.params;
        for (int p = 0; p < params; ++p) camera.params.push_back(reader.read<double>());
        if (!reader.ok()) return reader.failure(fmt::format("camera {} of {}", i + 1, count));
        model.cameras[id] = std::move(camera);
    }
    return expect_end(reader, path, "cameras");
}

}  // namespace

/// Of a lens that a newer COLMAP has the file does not say how many numbers it takes: the count
/// with which the file comes out even.
Result<void> read_cameras_binary(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto bytes, read_file(path));
    constexpr int kMostParams = 32;
    UnknownLens unknown;
    auto read = read_cameras(bytes, path.string(), unknown, model);
    if (read || unknown.model < static_cast<std::int32_t>(kColmapLenses)) return read;
    for (unknown.params = 0; unknown.params <= kMostParams; ++unknown.params) {
        ColmapModel attempt;
        if (!read_cameras(bytes, path.string(), unknown, attempt)) continue;
        model.cameras = std::move(attempt.cameras);
        return {};
    }
    return read;
}

Result<void> read_images_binary(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto bytes, read_file(path));
    ByteReader reader(bytes, path.string());
    GS_TRY(const auto count, read_count(reader, path.string(), kImageBytes, "images"));
    for (std::uint64_t i = 0; i < count; ++i) {
        ColmapImage image{.number = reader.read<std::uint32_t>()};
        for (double* q :
             {&image.rotation.w, &image.rotation.x, &image.rotation.y, &image.rotation.z})
            *q = reader.read<double>();
        for (double* t : {&image.translation.x, &image.translation.y, &image.translation.z})
            *t = reader.read<double>();
        image.camera = reader.read<std::uint32_t>();
        image.name = reader.read_zero_terminated();
        const auto key_points = reader.read<std::uint64_t>();
        if (reader.ok()) reader.skip(key_points, kKeyPointBytes);
        if (!reader.ok()) return reader.failure(fmt::format("image {} of {}", i + 1, count));
        model.images.push_back(std::move(image));
    }
    return expect_end(reader, path.string(), "images");
}

Result<void> read_points_binary(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto bytes, read_file(path));
    ByteReader reader(bytes, path.string());
    GS_TRY(const auto count, read_count(reader, path.string(), kPointBytes, "points"));
    model.points.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        reader.read<std::uint64_t>();  // number
        const auto x = reader.read<double>(), y = reader.read<double>(), z = reader.read<double>();
        std::uint8_t rgb[3];
        for (std::uint8_t& channel : rgb) channel = reader.read<std::uint8_t>();
        const auto error = reader.read<double>();
        const auto track = reader.read<std::uint64_t>();
        if (reader.ok()) reader.skip(track, kTrackBytes);
        if (!reader.ok()) return reader.failure(fmt::format("point {} of {}", i + 1, count));
        add_point(model, x, y, z, rgb, error);
    }
    return expect_end(reader, path.string(), "points");
}

}  // namespace gs
