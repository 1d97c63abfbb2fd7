#include "renderer/problems/same_point.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr int kCropPixels = 96;

/// Mean error around pixel (x, y); 0 where all of it is masked.
double error_around(const ImageF& error, const View& view, int x, int y) {
    double sum = 0, pixels = 0;
    for (int row = std::max(0, y - kPointReach);
         row <= std::min(view.camera.height - 1, y + kPointReach); ++row)
        for (int column = std::max(0, x - kPointReach);
             column <= std::min(view.camera.width - 1, x + kPointReach); ++column) {
            if (!view.mask.empty() && *view.mask.at(column, row) == 0) continue;
            sum += static_cast<double>(error.at(0, column, row));
            ++pixels;
        }
    return pixels > 0 ? sum / pixels : 0;
}

}  // namespace

std::optional<Vec3d> point_of_pixel(PhotoDrawer& drawer, const Camera& camera, int x, int y) {
    const RenderResult& drawn = drawer.draw(camera);
    if (x < 0 || y < 0 || x >= drawn.width || y >= drawn.height) return std::nullopt;
    const auto z = static_cast<double>(drawn.median_depth.at(0, x, y));
    if (!(z > 0) || !std::isfinite(z)) return std::nullopt;
    return camera.point_at(x + 0.5, y + 0.5, z);
}

PointSearch::PointSearch(PhotoDrawer drawer, std::shared_ptr<const Capture> capture, Vec3d point)
    : drawer_(std::move(drawer)), capture_(std::move(capture)) {
    found_.point = point;
}

bool PointSearch::next() {
    while (found_.looked_at < total()) {
        const std::size_t index = found_.looked_at++;
        if (look(capture_->views[index], index)) break;
    }
    return found_.looked_at < total();
}

/// False: the place is not in its picture.
bool PointSearch::look(const View& view, std::size_t index) {
    const Vec3d seen = view.camera.rotation * found_.point + view.camera.translation;
    const double far = view.camera.depth_of(seen);
    const auto at = far > 0 ? view.camera.pixel_of(seen) : Vec2<double>{-1, -1};
    if (!(at.x >= 0 && at.y >= 0 && at.x < view.camera.width && at.y < view.camera.height) ||
        !has_photo(view)) {
        ++found_.outside;
        return false;
    }
    const int x = static_cast<int>(at.x), y = static_cast<int>(at.y);
    const RenderResult& drawn = drawer_.draw(view.camera);
    const auto depth = static_cast<double>(drawn.median_depth.at(0, x, y));
    if (depth > 0 && depth < kHidden * far) {
        ++found_.hidden;
        return true;
    }
    const WholeView whole(view);
    if (!has_photo(*whole)) {
        found_.unread.add(whole.problem());
        return true;
    }
    PointInPhoto one{.view = index,
                     .x = at.x,
                     .y = at.y,
                     .depth = far,
                     .error = error_around(photo_error(drawn, *whole), *whole, x, y),
                     .rect = crop_around({x, y, x + 1, y + 1}, kCropPixels, view)};
    one.crops = crops_of(drawn, *whole, one.rect);
    const auto place = std::upper_bound(
        found_.photos.begin(), found_.photos.end(), one,
        [](const PointInPhoto& a, const PointInPhoto& b) { return a.error > b.error; });
    found_.photos.insert(place, std::move(one));
    return true;
}

}  // namespace gs
