#include "app/session/parts/picture_places.h"

#include <algorithm>
#include <cmath>

namespace gs {

std::optional<Vec3d> point_at(Viewer& viewer, const Shown& shown, ViewRequest request, double x,
                              double y) {
    request.settings.mode = ViewMode::depth;
    request.settings.style = DrawStyle::splats;
    const auto frame = viewer.picture(shown, request, 0.5, false);
    const ImageF& depth = frame->map;
    const int column = std::clamp(static_cast<int>(x * depth.width), 0, depth.width - 1);
    const int row = std::clamp(static_cast<int>(y * depth.height), 0, depth.height - 1);
    const double z = static_cast<double>(depth.at(0, column, row));
    if (!std::isfinite(z)) return std::nullopt;
    return frame->camera.point_at(column + 0.5, row + 0.5, z);
}

std::vector<Vec3d> points_at(Viewer& viewer, const Shown& shown, ViewRequest request,
                             const std::vector<std::array<double, 2>>& places) {
    request.settings.style = DrawStyle::splats;
    const auto drawn = [&](ViewMode mode) {
        request.settings.mode = mode;
        return viewer.picture(shown, request, 1, false);
    };
    const auto median = drawn(ViewMode::median);
    std::shared_ptr<ViewFrame> mean;
    std::vector<Vec3d> out;
    for (const auto& [x, y] : places) {
        const int column =
                      std::clamp(static_cast<int>(x * median->map.width), 0, median->map.width - 1),
                  row = std::clamp(static_cast<int>(y * median->map.height), 0,
                                   median->map.height - 1);
        float z = median->map.at(0, column, row);
        if (!std::isfinite(z)) {
            if (!mean) mean = drawn(ViewMode::depth);
            z = mean->map.at(0, column, row);
        }
        if (!std::isfinite(z)) break;
        out.push_back(median->camera.point_at(column + 0.5, row + 0.5, static_cast<double>(z)));
    }
    return out;
}

std::shared_ptr<const ViewFrame> median_depth(Viewer& viewer, const Shown& shown,
                                              ViewRequest request) {
    request.settings.mode = ViewMode::median;
    request.settings.style = DrawStyle::splats;
    request.settings.compare = Compare::off;
    return viewer.picture(shown, request, 0.5, false);
}

Vec3f color_at(Viewer& viewer, const Shown& shown, ViewRequest request, double x, double y) {
    request.settings.mode = ViewMode::color;
    request.settings.compare = Compare::off;
    Shown plain = shown;
    plain.tint = nullptr;
    const auto frame = viewer.picture(plain, request);
    const Image8& picture = frame->rgba;
    const int column = std::clamp(static_cast<int>(x * picture.width), 0, picture.width - 1);
    const int row = std::clamp(static_cast<int>(y * picture.height), 0, picture.height - 1);
    const std::uint8_t* c = picture.at(column, row);
    return {static_cast<float>(c[0]) / 255, static_cast<float>(c[1]) / 255,
            static_cast<float>(c[2]) / 255};
}

}  // namespace gs
