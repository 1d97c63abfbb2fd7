#include "app/session/parts/editor.h"

#include <utility>

#include "base/format.h"
#include "panels/state/selection_state.h"

namespace gs {

std::string counted_gaussians(std::uint64_t count) {
    return format_count(static_cast<double>(count)) + (count == 1 ? " Gaussian" : " Gaussians");
}

EditName named(const Verb& verb, std::uint64_t gaussians) {
    const std::string counted = counted_gaussians(gaussians);
    return {fmt::format("{} {}", verb.now, counted), fmt::format("{} {}", verb.past, counted)};
}

std::string Editor::why_not() const {
    if (!ctx_.scene) return "nothing to edit: open a scene first";
    if (ctx_.scene->followed)
        return "a training of another process cannot be edited: export its splats and open them";
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
    if (ctx_.scene->trainer && ids().size() != flags_.size())
        rows_.begin(*ctx_.scene->trainer, flags_);
    return true;
}

/// Undoes the preview of a shape that is being drawn.
void Editor::end_live() {
    if (!before_live_) return;
    flags_ = std::move(*before_live_);
    before_live_.reset();
}

bool Editor::begin(bool of_selection) {
    if (!may_edit()) return false;
    end_live();
    if (!of_selection || count_flags(flags_).selected > 0) return true;
    ctx_.events.error(
        "no Gaussians selected: select some first (the tools above the picture, or select.all)");
    return false;
}

void Editor::select(const Selecting& how, const Question& question) {
    if (!may_edit()) return;
    const GaussianModel& model = the<Viewer>().current_model(*ctx_.scene);
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

std::shared_ptr<const GaussianModel> Editor::selected_model() {
    if (!begin(true)) return nullptr;
    return std::make_shared<const GaussianModel>(
        gathered(the<Viewer>().current_model(*ctx_.scene), rows_with(flags_, kSelected)));
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
        if (ctx_.scene->trainer) step.flags.name_rows(ids());
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
                      [step] { return step->bytes(); }, !step->rows.any() && !step->whole.model});
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
        if (ctx_.scene->trainer) step.flags.find_rows(ids());
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

/// `change` has the model that was shown before, then.
bool Editor::change_whole(WholeChange& change) {
    LoadedScene next = same_scene(*ctx_.scene);
    const std::shared_ptr<const GaussianModel> before = ctx_.scene->model;
    if (auto shown = show_model(next, change.model, ctx_.options); !shown) {
        ctx_.events.error(shown.error().text());
        return false;
    }
    ctx_.replace_model(std::move(next));
    change.model = before;
    std::swap(change.flags, flags_);
    return true;
}

void Editor::adopt_whole(LoadedScene shown, const std::optional<Fix>& fix, std::string label) {
    end_live();
    EditStep step{{std::move(label), {}}};
    step.whole = {ctx_.scene->model, std::move(flags_), fix};
    flags_.assign(shown.model->count, 0);
    ctx_.replace_model(std::move(shown));
    ++changes_;
    record(std::move(step));
    show();
    changed_whole(fix, false);
}

void Editor::changed_whole(const std::optional<Fix>& fix, bool back) {
    if (fix && back) fixes_.pop_back();
    if (fix && !back) fixes_.push_back(*fix);
    on_whole_change();
}

bool Editor::change_rows(EditStep& step) {
    RowChange& change = step.rows;
    if (!change.any()) return true;
    if (ctx_.scene->trainer) {
        const auto done = rows_.change(*ctx_.scene, step.name.past, change, step.removed, flags_);
        if (done)
            ctx_.run_changed(SceneChange::edited);
        else
            ctx_.events.error(done.error().text());
        return done.has_value();
    }
    LoadedScene next = same_scene(*ctx_.scene);
    const auto model = std::make_shared<GaussianModel>(*ctx_.scene->model);
    change.toggle(*model, flags_);
    if (auto shown = show_model(next, model, ctx_.options); !shown) {
        change.toggle(*model, flags_);
        ctx_.events.error(shown.error().text());
        return false;
    }
    ctx_.replace_model(std::move(next));
    return true;
}

void Editor::scene_changed(SceneChange change) {
    if (change != SceneChange::scene && change != SceneChange::restarted) return;
    flags_.clear();
    before_live_.reset();
    fixes_.clear();
    saved_ = model_ = models_;
    const std::uint64_t steps = ctx_.scene ? ctx_.scene->steps_done() : 0;
    rows_.clear(steps);
    if (ctx_.scene && ctx_.scene->trainer && steps > 0) {  // some may be locked
        flags_.resize(static_cast<std::size_t>(ctx_.scene->gaussian_count()));
        rows_.begin(*ctx_.scene->trainer, flags_);
        if (count_flags(flags_).locked == 0) flags_.clear(), rows_.clear(steps);
    }
    ++changes_;
    show();
}

void Editor::follow_rows() {
    if (!ctx_.scene || !ctx_.scene->trainer) return;
    auto moved = rows_.follow(*ctx_.scene, before_live_ ? *before_live_ : flags_);
    if (!moved) return;
    before_live_.reset();
    flags_ = std::move(*moved);
    show();
}

/// Passes newly locked and unlocked rows to training; `before`: the earlier locks.
bool Editor::sync_locks(const std::string& what, const Flags& before) {
    if (!ctx_.scene->trainer) return true;
    const auto done = rows_.lock(*ctx_.scene, what, before, flags_);
    if (!done) ctx_.events.error(done.error().text());
    return done.has_value();
}

void Editor::exported() {
    saved_ = model_;
    show();
}

bool Editor::unsaved() const { return ctx_.scene && !ctx_.scene->trainer && model_ != saved_; }

/// Draws and publishes the selection.
void Editor::show() {
    the<ShownTint>().set_flags(flags_);
    if (!ctx_.scene) {
        ctx_.events.changed().selection = nullptr;
        return;
    }
    auto out = std::make_shared<SelectionState>();
    const FlagCounts counts = count_flags(flags_);
    out->selected = counts.selected;
    out->hidden = counts.hidden;
    out->locked = counts.locked;
    if (counts.selected > 0)
        out->bounded =
            bounds_of_selection(the<Viewer>().current_model(*ctx_.scene), flags_, out->lo, out->hi);
    out->unsaved = unsaved();
    out->why_not = why_not();
    ctx_.events.changed().selection = std::move(out);
    ctx_.events.status.at_once();
}

}  // namespace gs
