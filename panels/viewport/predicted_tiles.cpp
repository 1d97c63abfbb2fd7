#include "panels/viewport/overlay_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "panels/state/inspection.h"
#include "panels/state/prediction_state.h"
#include "panels/viewport/colormap_legend.h"
#include "panels/widgets/theme.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {
constexpr float kTile = 16;        // pixels of the counted picture
constexpr unsigned kOpaque = 150;  // of 255: the picture stays to be seen
}  // namespace

void draw_predicted_tiles(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          PictureRect picture) {
    const PredictionState* const state = snapshot.prediction.get();
    if (state == nullptr || !state->map || state->tile_us.empty() || state->tiles_x <= 0 ||
        !same_view(state->camera, frame.camera))
        return;
    const double most = *std::max_element(state->tile_us.begin(), state->tile_us.end());
    const float x_scale = picture.width() / static_cast<float>(state->camera.width),
                y_scale = picture.height() / static_cast<float>(state->camera.height);
    for (std::size_t tile = 0; tile < state->tile_us.size(); ++tile) {
        const auto columns = static_cast<std::size_t>(state->tiles_x);
        const auto column = static_cast<float>(tile % columns),
                   row = static_cast<float>(tile / columns);
        const Rgb8 c = colormap_color(
            Colormap::inferno,
            colormap_position(static_cast<double>(state->tile_us[tile]), 0, most, false));
        const ImVec2 a{picture.a.x + column * kTile * x_scale, picture.a.y + row * kTile * y_scale};
        const ImVec2 b{std::min(a.x + kTile * x_scale, picture.b.x),
                       std::min(a.y + kTile * y_scale, picture.b.y)};
        list.AddRectFilled(a, b, IM_COL32(c.r, c.g, c.b, kOpaque));
    }
    draw_colormap_legend(list, {picture.b.x - em(), picture.a.y + 3 * em()},
                         std::min(10 * em(), 0.4F * picture.height()), Colormap::inferno, 0, most,
                         false, fmt::format("us, {}, predicted", state->gpus[0].id), NAN);
}

}  // namespace gs
