#include "app/session/parts/selector.h"

#include <array>

#include "app/session/parts/picture_places.h"
#include "renderer/edit/neighbours.h"

namespace gs {
namespace {

ScreenMask mask_of(const ScreenShape& shape, int width, int height) {
    std::vector<ScreenPoint> points;
    for (const ScreenPoint p : shape.points) points.push_back({p.x * width, p.y * height});
    switch (shape.kind) {
        case ScreenShape::Kind::rectangle:
            return rectangle_mask(width, height, points.front(), points.back());
        case ScreenShape::Kind::lasso:
            return polygon_mask(width, height, points);
        case ScreenShape::Kind::brush:
            break;
    }
    return brush_mask(width, height, points, shape.radius * width);
}

/// Moves flags from rows with the ids `before` to rows with the ids `now`.
Hits hits_of_ids(const Hits& hits, const std::vector<std::uint32_t>& before,
                 const std::vector<std::uint32_t>& now) {
    const std::vector<std::uint32_t> rows = rows_of_ids(before, now);
    Hits out(now.size(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] != kNoSuchRow) out[rows[i]] = hits[i];
    return out;
}

}  // namespace

void Selector::select_on_screen(const Selecting& how, const Shown& shown,
                                const ViewRequest& request, const ScreenShape& shape,
                                bool only_seen) {
    if (!the<Editor>().may_edit() || shape.points.empty()) return;
    Sight sight{.camera = camera_of(*ctx_.scene, request, 1.0, false)};
    const RenderOptions options = render_options(*ctx_.scene, request.settings);
    sight.near_plane = static_cast<double>(options.near_plane);
    sight.clip = options.clip;
    std::shared_ptr<const ViewFrame> surface;
    if (only_seen) {
        surface = median_depth(the<Viewer>(), shown, request);
        sight.surface = &surface->map;
    }
    const ScreenMask mask = mask_of(shape, sight.camera.width, sight.camera.height);
    the<Editor>().select(
        how, [&](const GaussianModel& model) { return rows_on_screen(model, sight, mask); });
}

void Selector::select_color_at(const Selecting& how, const Shown& shown, const ViewRequest& request,
                               double x, double y, float tolerance) {
    const auto color = gs::color_at(the<Viewer>(), shown, request, x, y);
    the<Editor>().select(
        how, [&](const GaussianModel& model) { return rows_by_color(model, color, tolerance); });
}

void Selector::invert() {
    if (!the<Editor>().begin(false)) return;
    const Flags& flags = the<Editor>().flags();
    Hits hits(flags.size());
    for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = (flags[i] & kSelected) == 0 ? 1 : 0;
    the<Editor>().select({"inverted"}, [&](const GaussianModel&) { return std::move(hits); });
}

bool Selector::select_rows(const Selecting& how, const std::vector<std::uint64_t>& rows) {
    if (!the<Editor>().may_edit()) return false;
    Hits hits(the<Editor>().flags().size(), 0);
    for (const std::uint64_t row : rows) {
        if (row >= hits.size()) {
            ctx_.events.error(fmt::format("no Gaussian #{}: the scene has {}", row, hits.size()));
            return false;
        }
        hits[static_cast<std::size_t>(row)] = 1;
    }
    the<Editor>().select(how, [&](const GaussianModel&) { return std::move(hits); });
    return true;
}

bool Selector::choose(const std::vector<std::uint64_t>& rows, std::optional<std::uint64_t> step) {
    if (rows.empty()) return true;
    if (ctx_.scene && step && *step != ctx_.scene->steps_done()) {
        ctx_.events.error(
            fmt::format("these ids are from step {}, the model is at step {}: pause and inspect "
                        "the pixel again (inspect.pixel)",
                        *step, ctx_.scene->steps_done()));
        return false;
    }
    return select_rows({"rows"}, rows);
}

void Selector::select_neighbours(NeighbourStep step, double reach) {
    if (!the<Editor>().begin(true)) return;
    constexpr std::array kNames{"grown", "shrunk", "connected"};
    const std::string name = kNames[static_cast<std::size_t>(step)];
    const auto model =
        ctx_.scene->trainer
            ? std::make_shared<const GaussianModel>(the<Viewer>().current_model(*ctx_.scene))
            : ctx_.scene->model;
    ctx_.jobs.start<Hits>(
        {"select", "searching neighbours", ctx_.events.command, true},
        [model, flags = the<Editor>().flags(), step,
         reach](const Progress& progress) -> Result<Hits> {
            if (progress && !progress("searching neighbours", 0, flags.size()))
                return fail(ErrorKind::cancelled, "", "was cancelled");
            const Neighbours neighbours(*model);
            if (step == NeighbourStep::grow) return neighbours.grown(flags, reach);
            if (step == NeighbourStep::shrink) return neighbours.shrunk(flags, reach);
            return neighbours.connected(flags, reach, progress);
        },
        [this, name, ids = the<Editor>().ids(), changes = the<Editor>().changes(),
         command = ctx_.events.command](Hits hits) {
            if (changes != the<Editor>().changes())
                return ctx_.events.error(
                    "Gaussians were selected or edited during the search for neighbours");
            if (!the<Editor>().may_edit()) return;
            if (ids != the<Editor>().ids())
                hits = hits_of_ids(hits, ids, the<Editor>().ids());  // it trains
            ctx_.events.command = command;                           // it is done only now
            the<Editor>().select({name}, [&](const GaussianModel&) { return std::move(hits); });
            ctx_.events.command = 0;
        },
        ctx_.events.if_failed("the search for neighbours was cancelled"));
}

void Selector::mark(const Verb& verb, std::uint8_t of, std::uint8_t set, std::uint8_t clear) {
    if (!the<Editor>().begin((of & kSelected) != 0)) return;
    Flags after = with_bits(the<Editor>().flags(), of, set, clear);
    const std::uint64_t changed = FlagChange(the<Editor>().flags(), after).count();
    if (changed == 0) return ctx_.events.done(fmt::format("nothing to do: already {}", verb.past));
    the<Editor>().make(named(verb, changed), {}, [&](const Flags&) { return std::move(after); });
}

void Selector::solo() {
    if (!the<Editor>().begin(true)) return;
    Flags after = the<Editor>().flags();
    for (std::uint8_t& f : after)
        f = static_cast<std::uint8_t>((f & kSelected) != 0 ? f & ~kHidden : f | kHidden);
    the<Editor>().make(named({"show only", "only"}, count_flags(the<Editor>().flags()).selected),
                       {}, [&](const Flags&) { return std::move(after); });
}

}  // namespace gs
