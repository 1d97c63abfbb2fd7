#include "renderer/io/captures/point_colors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "base/parallel.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr std::size_t kPhotosAPoint = 5;  // the nearest; an odd number has a middle

using Pixel = std::array<std::uint8_t, 3>;

// Pixels of one point, the nearest photo first.
struct SeenPixels {
    std::array<float, kPhotosAPoint> distance{};
    std::array<Pixel, kPhotosAPoint> pixel{};
    std::size_t count = 0;

    void add(float from, Pixel value) {
        std::size_t at = count;
        while (at > 0 && from < distance[at - 1]) --at;
        if (at == kPhotosAPoint) return;
        count = std::min(count + 1, kPhotosAPoint);
        for (std::size_t i = count - 1; i > at; --i) {
            distance[i] = distance[i - 1];
            pixel[i] = pixel[i - 1];
        }
        distance[at] = from;
        pixel[at] = value;
    }
};

Pixel median_of_pixels(std::vector<Pixel>& pixels) {
    Pixel out{};
    const auto middle = pixels.begin() + static_cast<std::ptrdiff_t>((pixels.size() - 1) / 2);
    for (std::size_t c = 0; c < 3; ++c) {
        std::nth_element(pixels.begin(), middle, pixels.end(),
                         [c](const Pixel& a, const Pixel& b) { return a[c] < b[c]; });
        out[c] = (*middle)[c];
    }
    return out;
}

void set_color(SparsePoint& point, Pixel color) {
    std::copy(color.begin(), color.end(), point.rgb);
}

void look_at_photo(const View& view, const std::vector<SparsePoint>& points,
                   std::vector<SeenPixels>& seen) {
    const Camera& camera = view.camera;
    const CameraPixels pixels(camera);
    const LentPhoto lent = lend_photo(view);
    const Image8 &photo = lent.photo(), &mask = lent.mask();
    if (photo.bytes.empty()) return;
    parallel_for(points.size(), 256, [&](std::size_t i) {
        const Vec3f at = points[i].position;
        const Vec3d p = camera.rotation * Vec3d{at.x, at.y, at.z} + camera.translation;
        if (!(pixels.depth_of(p) > 0)) return;
        const Vec2<double> px = pixels.pixel_of(p);
        if (!(px.x >= 0 && px.x < camera.width && px.y >= 0 && px.y < camera.height)) return;
        const std::size_t pixel =
            static_cast<std::size_t>(px.y) * static_cast<std::size_t>(camera.width) +
            static_cast<std::size_t>(px.x);
        if (!mask.bytes.empty() && mask.bytes[pixel] == 0) return;
        seen[i].add(
            static_cast<float>(std::sqrt(dot(p, p))),
            {photo.bytes[3 * pixel], photo.bytes[3 * pixel + 1], photo.bytes[3 * pixel + 2]});
    });
}

}  // namespace

bool has_colors(const CaptureSource& source, const std::vector<SparsePoint>& points) {
    if (points.empty()) return true;
    if (!source.points_have_colors) return false;
    const std::uint8_t* first = points.front().rgb;
    const bool grey = first[0] == first[1] && first[1] == first[2];
    return points.size() < 2 || !grey ||
           std::any_of(points.begin(), points.end(),
                       [&](const SparsePoint& p) { return !std::equal(p.rgb, p.rgb + 3, first); });
}

void color_points_from_photos(Capture& capture) {
    std::vector<SeenPixels> seen(capture.points.size());
    for (const View& view : capture.views)
        if (!view.test) look_at_photo(view, capture.points, seen);
    std::vector<Pixel> all, own;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        if (seen[i].count == 0) continue;
        own.assign(seen[i].pixel.begin(),
                   seen[i].pixel.begin() + static_cast<std::ptrdiff_t>(seen[i].count));
        all.push_back(median_of_pixels(own));
        set_color(capture.points[i], all.back());
    }
    if (all.empty()) return;
    const std::size_t shown = all.size();
    const Pixel usual = median_of_pixels(all);
    for (std::size_t i = 0; i < seen.size(); ++i)
        if (seen[i].count == 0) set_color(capture.points[i], usual);
    capture.notes.push_back({fmt::format(
        "points have no colours: {} take theirs from the photos{}", counted(shown, "point"),
        shown < seen.size()
            ? fmt::format(", {} that no photo shows get the median", seen.size() - shown)
            : "")});
}

}  // namespace gs
