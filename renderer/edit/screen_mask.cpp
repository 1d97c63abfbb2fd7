#include "renderer/edit/screen_mask.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

/// The pixel that holds `at`, kept inside 0 .. size - 1; -1 and size where it lies outside.
int pixel_near(double at, int size) {
    return static_cast<int>(std::clamp(std::floor(at), -1.0, static_cast<double>(size)));
}

void fill_row(ScreenMask& mask, int y, int first, int last) {
    first = std::max(first, 0);
    last = std::min(last, mask.width - 1);
    if (y < 0 || y >= mask.height || first > last) return;
    const auto row = mask.pixels.begin() + static_cast<std::ptrdiff_t>(y) * mask.width;
    std::fill(row + first, row + last + 1, std::uint8_t{1});
}

double squared_distance(ScreenPoint p, ScreenPoint a, ScreenPoint b) {
    const ScreenPoint line = b - a, to = p - a;
    const double length = line.x * line.x + line.y * line.y;
    const double along =
        length > 0 ? std::clamp((to.x * line.x + to.y * line.y) / length, 0.0, 1.0) : 0.0;
    const ScreenPoint off = to - along * line;
    return off.x * off.x + off.y * off.y;
}

}  // namespace

ScreenMask rectangle_mask(int width, int height, ScreenPoint a, ScreenPoint b) {
    ScreenMask out(width, height);
    const int x0 = pixel_near(std::min(a.x, b.x), width),
              x1 = pixel_near(std::max(a.x, b.x), width);
    const int y0 = pixel_near(std::min(a.y, b.y), height),
              y1 = pixel_near(std::max(a.y, b.y), height);
    for (int y = y0; y <= y1; ++y) fill_row(out, y, x0, x1);
    return out;
}

ScreenMask polygon_mask(int width, int height, std::span<const ScreenPoint> corners) {
    ScreenMask out(width, height);
    if (corners.size() < 3) return out;
    std::vector<double> crossings;
    for (int y = 0; y < height; ++y) {
        const double centre = y + 0.5;
        crossings.clear();
        for (std::size_t i = 0; i < corners.size(); ++i) {
            const ScreenPoint a = corners[i], b = corners[(i + 1) % corners.size()];
            if ((a.y <= centre) == (b.y <= centre)) continue;
            crossings.push_back(a.x + (centre - a.y) / (b.y - a.y) * (b.x - a.x));
        }
        std::sort(crossings.begin(), crossings.end());
        for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
            // Pixels x with crossings[i] <= x + 0.5 < crossings[i + 1].
            const double limit = width + 1.0;
            fill_row(
                out, y, static_cast<int>(std::ceil(std::clamp(crossings[i] - 0.5, -1.0, limit))),
                static_cast<int>(std::ceil(std::clamp(crossings[i + 1] - 0.5, -1.0, limit))) - 1);
        }
    }
    return out;
}

ScreenMask brush_mask(int width, int height, std::span<const ScreenPoint> path, double radius) {
    ScreenMask out(width, height);
    for (std::size_t i = 0; i < path.size(); ++i) {
        const ScreenPoint a = path[i], b = path[std::min(i + 1, path.size() - 1)];
        if (i == 0)
            fill_row(out, pixel_near(a.y, height), pixel_near(a.x, width), pixel_near(a.x, width));
        const int y0 = pixel_near(std::min(a.y, b.y) - radius, height),
                  y1 = pixel_near(std::max(a.y, b.y) + radius, height);
        const int x0 = std::max(0, pixel_near(std::min(a.x, b.x) - radius, width)),
                  x1 = std::min(width - 1, pixel_near(std::max(a.x, b.x) + radius, width));
        for (int y = std::max(0, y0); y <= std::min(height - 1, y1); ++y)
            for (int x = x0; x <= x1; ++x)
                if (squared_distance({x + 0.5, y + 0.5}, a, b) <= radius * radius)
                    fill_row(out, y, x, x);
    }
    return out;
}

}  // namespace gs
