#include "app/session/parts/place_finder.h"

#include <algorithm>
#include <cmath>

#include "app/session/parts/picture_places.h"

namespace gs {

void PlaceFinder::focus(const Shown& shown, const ViewRequest& request, double x, double y) {
    const auto point = point_at(the<Viewer>(), shown, request, x, y);
    if (!point) return ctx_.events.done("nothing at this pixel");
    ctx_.events.focus(*point);
}

void PlaceFinder::pick(const Shown& shown, const ViewRequest& request,
                       const std::vector<std::array<double, 2>>& places, PickedFor what) {
    PickedPoints picked{what, points_at(the<Viewer>(), shown, request, places)};
    if (picked.points.size() < places.size())
        return ctx_.events.error("nothing at this pixel: no point was picked");
    ctx_.events.picked(std::move(picked));
}

void PlaceFinder::locate(const Shown& shown, const ViewRequest& request, double x, double y) {
    const auto point = point_at(the<Viewer>(), shown, request, x, y);
    if (!point) return ctx_.events.error("nothing at this pixel to pin a note to");
    ctx_.events.found({ctx_.events.command, *point, ctx_.scene->steps_done()});
}

void PlaceFinder::locate_gaussian(std::uint64_t row) {
    if (!ctx_.scene) return ctx_.events.error("no scene is open");
    const GaussianModel& model = the<Viewer>().current_model(*ctx_.scene);
    if (row >= model.count)
        return ctx_.events.error(fmt::format("no Gaussian {}: the scene has {}", row, model.count));
    const Vec3f mean = model.mean(row);
    if (!std::isfinite(mean.x + mean.y + mean.z))
        return ctx_.events.error(
            fmt::format("cannot pin a note to Gaussian {}: its position is not a number", row));
    FoundPoint found{ctx_.events.command, {mean.x, mean.y, mean.z}, ctx_.scene->steps_done()};
    if (ctx_.scene->trainer) found.id = ctx_.scene->trainer->identity().ids()[row];
    ctx_.events.found(found);
}

void PlaceFinder::focus_on_id(std::uint32_t id) {
    if (!ctx_.scene || !ctx_.scene->trainer) return;
    const std::vector<std::uint32_t> ids = ctx_.scene->trainer->identity().ids();
    const auto it = std::find(ids.begin(), ids.end(), id);
    if (it == ids.end())
        return ctx_.events.done("this Gaussian no longer exists: showing where it was", true);
    const Vec3f mean =
        the<Viewer>().current_model(*ctx_.scene).mean(static_cast<std::size_t>(it - ids.begin()));
    ctx_.events.focus({mean.x, mean.y, mean.z});
}

}  // namespace gs
