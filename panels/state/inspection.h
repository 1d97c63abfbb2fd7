// PixelInspection: facts about one pixel of the picture, and the frame's most expensive tiles. Made
// by app/session/parts/inspector.h, shown by the Pixel panel and over the viewport's picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "renderer/inspect/pixel_report.h"
#include "renderer/scene/camera.h"

namespace gs {

/// The pixel compared with the photo, at a photo's camera.
struct PixelPhoto {
    Vec3d color{0, 0, 0};     ///< 0..1
    Vec3d v_color{0, 0, 0};   ///< d loss / d colour of this pixel, of the shown picture
    double lambda_dssim = 0;  ///< of that loss
    bool masked = false;      ///< the loss ignores the pixel
    /// The picture is clipped, partly hidden or drawn differently from training: its gradients are
    /// not the training's.
    bool altered = false;
};
struct PixelAnswer {
    PixelReport report;
    Camera camera;            ///< of the picture whose pixel it is
    std::string view;         ///< the photo's name; empty: a free camera
    std::uint64_t step = 0;   ///< of the model
    std::string profile;      ///< rules that were blended by: "tight"
    double milliseconds = 0;  ///< time for the answer
    std::optional<PixelPhoto> photo;
    std::string photo_problem;  ///< why the photo could not be read; empty: it could, or is none
};

/// One tile of a frame, as the rasterizer counted it.
struct TileCost {
    int column = 0, row = 0;
    std::uint32_t listed = 0;
    std::uint32_t pairs = 0, blended = 0;  ///< of pixel and Gaussian: evaluated; changed a pixel
    double us = 0;                         ///< microseconds of blending, where they were measured
};
struct TileTable {
    std::vector<TileCost> worst;  ///< most time first, or most pairs where times are not known
    bool timed = false;
    std::size_t tiles = 0;    ///< of the frame
    std::uint64_t pairs = 0;  ///< of all of them, as the next
    double us = 0;
    Camera camera;  ///< of the picture
    std::uint64_t step = 0;
    std::string view;
};

struct PixelInspection {
    std::shared_ptr<const PixelAnswer> pixel;  ///< null: none inspected
    std::shared_ptr<const TileTable> tiles;    ///< null: not asked for
    // ---- rows of entries, outlined in the picture; put in by the studio
    std::optional<std::uint64_t> marked;   ///< chosen (inspect.mark)
    std::optional<std::uint64_t> pointed;  ///< under the mouse in the panel
};

/// The pixel at the same place of a picture of another size.
inline Vec2<double> moved_to(const Camera& to, const Camera& from, Vec2<double> at) {
    return {at.x * to.width / from.width, at.y * to.height / from.height};
}
/// Whether two pictures differ only by their size.
inline bool same_view(const Camera& a, const Camera& b) {
    const auto near = [](double p, double q) { return p - q < 1e-6 && q - p < 1e-6; };
    bool same = a.orthographic() == b.orthographic() && near(a.translation.x, b.translation.x) &&
                near(a.translation.y, b.translation.y) && near(a.translation.z, b.translation.z);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) same = same && near(a.rotation.m[i][j], b.rotation.m[i][j]);
    // Sizes are rounded to whole pixels.
    const double wide = a.fx / a.width - b.fx / b.width;
    return same && wide < 0.01 && wide > -0.01;
}

}  // namespace gs
