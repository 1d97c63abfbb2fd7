#include "app/lab/capture_hashes.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "app/lab/suite.h"
#include "base/hash.h"
#include "base/parallel.h"

namespace gs::lab {
namespace {

constexpr double kPerUnit = 1e5;  // a C library's last digit of a sine is no other camera

std::string line_of(const View& view, const Image8& image) {
    return fmt::format("{} {} {} {} {:016x}\n", view.name, image.width, image.height,
                       image.channels, hash_bytes(std::as_bytes(std::span(image.bytes))));
}

std::string line_of(const View& view) {
    const Camera& c = view.camera;
    std::string out = fmt::format("{} {} {} {} {}", view.name, static_cast<int>(c.model), c.width,
                                  c.height, static_cast<int>(c.shutter));
    const auto add = [&](double value) {
        const double rounded = std::round(value * kPerUnit);
        out += fmt::format(" {:.0f}", rounded == 0 ? 0.0 : rounded);  // -0 is 0
    };
    for (const double value : {c.fx, c.fy, c.cx, c.cy}) add(value);
    for (const double value : c.distortion) add(value);
    for (const Pose& pose : {Pose{c.rotation, c.translation}, c.first, c.last}) {
        for (const auto& row : pose.rotation.m)
            for (const double value : row) add(value);
        for (const double value : {pose.translation.x, pose.translation.y, pose.translation.z})
            add(value);
    }
    return out + "\n";
}

std::string hash_of_points(const std::vector<SparsePoint>& points) {
    std::vector<std::uint32_t> words;
    words.reserve(4 * points.size());
    for (const SparsePoint& p : points) {
        for (const float value : {p.position.x, p.position.y, p.position.z}) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &value, sizeof bits);
            words.push_back(bits);
        }
        words.push_back(p.rgb[0] | p.rgb[1] << 8U | p.rgb[2] << 16U);
    }
    return fmt::format("{:016x}", hash_array(std::span<const std::uint32_t>(words)));
}

}  // namespace

Result<CaptureHashes> hashes_of(const Capture& capture) {
    std::vector<std::string> photos(capture.views.size()), masks(capture.views.size());
    try {
        parallel_for(capture.views.size(), 1, [&](std::size_t i) {
            const LentPhoto lent = lend_photo(capture.views[i]);
            photos[i] = line_of(capture.views[i], lent.photo());
            if (!lent.mask().empty()) masks[i] = line_of(capture.views[i], lent.mask());
        });
    } catch (const PhotoError& error) {
        return fail(ErrorKind::unreadable, capture.path, error.what());
    }
    CaptureHashes out;
    std::string all_photos, all_masks, all_cameras;
    for (std::size_t i = 0; i < photos.size(); ++i) {
        all_photos += photos[i];
        all_masks += masks[i];
        all_cameras += line_of(capture.views[i]);
        out.masked += masks[i].empty() ? 0 : 1;
    }
    out.photos = fingerprint_of(all_photos);
    out.masks = out.masked == 0 ? "none" : fingerprint_of(all_masks);
    out.cameras = fingerprint_of(all_cameras);
    out.points = capture.points_are_random ? "random" : hash_of_points(capture.points);
    return out;
}

}  // namespace gs::lab
