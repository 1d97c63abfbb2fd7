#include "app/session/editor.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "app/session/picture_places.h"
#include "base/format.h"
#include "base/try.h"
#include "panels/state/selection_state.h"
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

Flags moved_flags(const Flags& flags, const std::vector<std::uint32_t>& before,
                  const std::vector<std::uint32_t>& after) {
    std::unordered_map<std::uint32_t, std::uint8_t> flags_of_id;
    for (std::size_t row = 0; row < before.size(); ++row)
        if (flags[row] != 0) flags_of_id.emplace(before[row], flags[row]);
    Flags out(after.size(), 0);
    for (std::size_t row = 0; row < after.size() && !flags_of_id.empty(); ++row)
        if (const auto at = flags_of_id.find(after[row]); at != flags_of_id.end())
            out[row] = at->second;
    return out;
}

std::string Editor::why_not() const {
    if (!ctx_.scene) return "nothing to edit: open a scene first";
    if (ctx_.scene->levels) return "a streamed set cannot be edited: convert one level and open it";
    return {};
}

bool Editor::may_edit() {
    if (const std::string problem = why_not(); !problem.empty()) {
        ctx_.events.error(problem);
        return false;
    }
    follow_rows();
    flags_.resize(static_cast<std::size_t>(ctx_.scene->gaussian_count()));
    if (ctx_.scene->trainer && ids_.size() != flags_.size()) take_names();
    return true;
}

/// True when a shape was being drawn; undoes its preview of the selection.
bool Editor::end_live() {
    if (!before_live_) return false;
    flags_ = std::move(*before_live_);
    before_live_.reset();
    return true;
}

void Editor::select(const Selecting& how, const Question& question) {
    if (!may_edit()) return;
    const GaussianModel& model = viewer_.current_model(*ctx_.scene);
    const Flags& base = before_live_ ? *before_live_ : flags_;
    Flags after = with_selection(base, question(model), how.mode);
    if (how.live) {
        if (!before_live_) before_live_ = std::move(flags_);
        flags_ = std::move(after);
        return show();
    }
    end_live();
    const std::uint64_t count = count_flags(after).selected;
    const std::string found = counted_gaussians(count);
    make({fmt::format("select {} ({})", found, how.name),
          fmt::format("{}: {} selected", how.name, found)},
         {}, [&](const Flags&) { return std::move(after); });
}

void Editor::select_on_screen(const Selecting& how, const Shown& shown, const ViewRequest& request,
                              const ScreenShape& shape, bool only_seen) {
    if (!may_edit() || shape.points.empty()) return;
    Sight sight;
    sight.camera = camera_of(*ctx_.scene, request, 1.0, false);
    const RenderOptions options = render_options(*ctx_.scene, request.settings);
    sight.near_plane = static_cast<double>(options.near_plane);
    sight.clip = options.clip;
    std::shared_ptr<const ViewFrame> surface;
    if (only_seen) {
        surface = median_depth(viewer_, shown, request);
        sight.surface = &surface->map;
    }
    const ScreenMask mask = mask_of(shape, sight.camera.width, sight.camera.height);
    select(how, [&](const GaussianModel& model) { return rows_on_screen(model, sight, mask); });
}

void Editor::select_color_at(const Selecting& how, const Shown& shown, const ViewRequest& request,
                             double x, double y, float tolerance) {
    const auto color = gs::color_at(viewer_, shown, request, x, y);
    select(how, [&](const GaussianModel& model) { return rows_by_color(model, color, tolerance); });
}

void Editor::invert() {
    if (!may_edit()) return;
    end_live();
    Hits hits(flags_.size());
    for (std::size_t i = 0; i < hits.size(); ++i) hits[i] = (flags_[i] & kSelected) == 0 ? 1 : 0;
    select({"inverted"}, [&](const GaussianModel&) { return std::move(hits); });
}

bool Editor::select_rows(const Selecting& how, const std::vector<std::uint64_t>& rows) {
    if (!may_edit()) return false;
    Hits hits(flags_.size(), 0);
    for (const std::uint64_t row : rows) {
        if (row >= hits.size()) {
            ctx_.events.error(fmt::format("no Gaussian #{}: the scene has {}", row, hits.size()));
            return false;
        }
        hits[static_cast<std::size_t>(row)] = 1;
    }
    select(how, [&](const GaussianModel&) { return std::move(hits); });
    return true;
}

bool Editor::choose(const std::vector<std::uint64_t>& rows, std::optional<std::uint64_t> step) {
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

void Editor::select_neighbours(NeighbourStep step, double reach) {
    if (!may_edit()) return;
    end_live();
    if (!any_selected()) return;
    constexpr std::array kNames{"grown", "shrunk", "connected"};
    const std::string name = kNames[static_cast<std::size_t>(step)];
    const auto model =
        ctx_.scene->trainer
            ? std::make_shared<const GaussianModel>(viewer_.current_model(*ctx_.scene))
            : ctx_.scene->model;
    ctx_.jobs.start<Hits>(
        {"select", "searching neighbours", ctx_.events.command, true},
        [model, flags = flags_, step, reach](const Progress& progress) -> Result<Hits> {
            if (progress && !progress("searching neighbours", 0, flags.size()))
                return fail(ErrorKind::cancelled, "", "was cancelled");
            const Neighbours neighbours(*model);
            if (step == NeighbourStep::grow) return neighbours.grown(flags, reach);
            if (step == NeighbourStep::shrink) return neighbours.shrunk(flags, reach);
            return neighbours.connected(flags, reach, progress);
        },
        [this, name, ids = ids_, changes = changes_, command = ctx_.events.command](Hits hits) {
            if (changes != changes_)
                return ctx_.events.error(
                    "Gaussians were selected or edited during the search for neighbours");
            follow_rows();
            if (ids != ids_) hits = hits_of_ids(hits, ids, ids_);  // it trains
            ctx_.events.command = command;                         // it is done only now
            select({name}, [&](const GaussianModel&) { return std::move(hits); });
            ctx_.events.command = 0;
        },
        [this](const Error& why) {
            ctx_.events.failed(why, "the search for neighbours was cancelled");
        });
}

void Editor::mark(const Verb& verb, std::uint8_t of, std::uint8_t set, std::uint8_t clear) {
    if (!may_edit()) return;
    end_live();
    if ((of & kSelected) != 0 && !any_selected()) return;
    Flags after = with_bits(flags_, of, set, clear);
    const std::uint64_t changed = FlagChange(flags_, after).count();
    if (changed == 0) return ctx_.events.done(fmt::format("nothing to do: already {}", verb.past));
    make(named(verb, changed), {}, [&](const Flags&) { return std::move(after); });
}

void Editor::solo() {
    if (!may_edit()) return;
    end_live();
    if (!any_selected()) return;
    Flags after = flags_;
    for (std::uint8_t& f : after)
        f = static_cast<std::uint8_t>((f & kSelected) != 0 ? f & ~kHidden : f | kHidden);
    make(named({"show only", "only"}, count_flags(flags_).selected), {},
         [&](const Flags&) { return std::move(after); });
}

bool Editor::any_selected() {
    if (count_flags(flags_).selected > 0) return true;
    ctx_.events.error(
        "no Gaussians selected: select some first (the tools above the picture, or "
        "select.all)");
    return false;
}

void Editor::make(EditName name, RowChange rows, const std::function<Flags(const Flags&)>& flags) {
    EditStep step{std::move(name), std::move(rows)};
    if (!change_rows(step)) return;
    if (flags) {
        Flags after = flags(flags_);
        step.flags = FlagChange(flags_, after);
        after.swap(flags_);
        if (!sync_locks(step.name.past, after)) {
            step.flags.toggle(flags_);
            return;
        }
        if (ctx_.scene->trainer) step.flags.name_rows(ids_);
    }
    ++changes_;
    ctx_.events.done(step.name.past);
    if (step.rows.any() || step.flags.count() > 0) record(std::move(step));
    show();
}

/// Into the history.
void Editor::record(EditStep made) {
    const auto step = std::make_shared<EditStep>(std::move(made));
    step->before = step->after = model_;
    if (step->rows.any() || step->whole.model) step->after = model_ = ++models_;
    ctx_.history.add({step->whole.fix ? EditOf::fix : EditOf::gaussians, step->name.label,
                      [this, step](bool back) { return toggle(*step, back); },
                      [step] { return step->bytes(); }});
}

bool Editor::toggle(EditStep& step, bool back) {
    follow_rows();
    end_live();
    ++changes_;
    const bool toggled = toggle_parts(step, back);
    if (toggled) model_ = back ? step.before : step.after;
    show();
    if (toggled && step.whole.model) changed_whole(step.whole.fix, back);
    return toggled;
}

bool Editor::toggle_parts(EditStep& step, bool back) {
    const auto flip = [&] {
        if (ctx_.scene->trainer) step.flags.find_rows(ids_);
        Flags before = flags_;
        step.flags.toggle(flags_);
        if (sync_locks(step.name.past, before)) return true;
        flags_ = std::move(before);
        return false;
    };
    const auto change = [&] {
        return step.whole.model ? change_whole(step.whole) : change_rows(step);
    };
    // Both or neither: if the second fails, undo the first.
    if (back ? !flip() : !change()) return false;
    if (back ? change() : flip()) return true;
    (void)(back ? flip() : change());
    return false;
}

void Editor::scene_changed(SceneChange change) {
    if (change != SceneChange::scene && change != SceneChange::restarted) return;
    ctx_.jobs.drop("select");
    flags_.clear();
    before_live_.reset();
    fixes_.clear();
    saved_ = model_ = models_;
    ids_.clear();
    followed_ = ctx_.scene ? ctx_.scene->steps_done() : 0;
    if (ctx_.scene && ctx_.scene->trainer && followed_ > 0) {  // some may be locked
        flags_.resize(static_cast<std::size_t>(ctx_.scene->gaussian_count()));
        take_names();
        if (count_flags(flags_).locked == 0) flags_.clear(), ids_.clear();
    }
    ++changes_;
    show();
}

/// Takes the ids of a run's rows; Gaussians locked in it before stay locked.
void Editor::take_names() {
    const RowIdentity identity = ctx_.scene->trainer->identity();
    ids_ = identity.ids();
    const std::vector<std::uint8_t> locked = identity.locked();
    for (std::size_t row = 0; row < flags_.size(); ++row)
        if (locked[row] != 0) flags_[row] |= kLocked;
}

void Editor::follow_rows() {
    const Trainer* trainer = ctx_.scene ? ctx_.scene->trainer : nullptr;
    if (!trainer) return;
    const std::uint64_t before = std::exchange(followed_, trainer->steps_done());
    if (ids_.empty()) return;  // nobody has asked for any
    // Steps move rows by density control alone.
    const bool other_count = trainer->gaussian_count() != flags_.size();
    if (!other_count && (followed_ == before ||
                         (followed_ == before + 1 && !ctx_.scene->run->record().last.densified)))
        return;
    std::vector<std::uint32_t> ids = trainer->identity().ids();
    if (ids == ids_) return;
    end_live();
    flags_ = moved_flags(flags_, ids_, ids);
    ids_ = std::move(ids);
    show();
}

void Editor::exported() {
    saved_ = model_;
    show();
}

bool Editor::unsaved() const { return ctx_.scene && !ctx_.scene->trainer && model_ != saved_; }

/// Draws and publishes the selection.
void Editor::show() {
    tint_.set_flags(flags_);
    if (!ctx_.scene) {
        ctx_.events.changed().selection = nullptr;
        return;
    }
    auto out = std::make_shared<SelectionState>();
    const FlagCounts counts = count_flags(flags_);
    out->gaussians = ctx_.scene->gaussian_count();
    out->selected = counts.selected;
    out->hidden = counts.hidden;
    out->locked = counts.locked;
    if (counts.selected > 0)
        out->bounded =
            bounds_of_selection(viewer_.current_model(*ctx_.scene), flags_, out->lo, out->hi);
    out->unsaved = unsaved();
    out->why_not = why_not();
    ctx_.events.changed().selection = std::move(out);
    ctx_.events.status.at_once();
}

}  // namespace gs
