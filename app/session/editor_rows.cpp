// The editor's changes of rows: delete, duplicate, move, recolour, crop; and how a changed model
// replaces the shown one.
#include <cmath>

#include "app/session/editor.h"
#include "base/format.h"
#include "base/parallel.h"
#include "renderer/math/sh.h"

namespace gs {
namespace {

constexpr std::size_t kColorGrain = 4096;
constexpr Verb kDelete{"delete", "deleted"}, kDuplicate{"duplicate", "duplicated"},
    kMove{"move", "moved"}, kRecolor{"recolour", "recoloured"};

void recolor_rows(GaussianModel& model, Recolor how, Vec3f color) {
    const float by[3] = {color.x, color.y, color.z};
    const bool set = how == Recolor::set;
    parallel_for(model.count, kColorGrain, [&](std::size_t i) {
        for (int c = 0; c < 3; ++c) {
            float& base = model.at(kSh0 + c, i);
            const float own = 0.5f + math::kSh0Basis * base;
            base = ((set ? by[c] : by[c] * own) - 0.5f) / math::kSh0Basis;
            for (int p = kShRest + c; p < model.planes(); p += 3)
                model.at(p, i) = set ? 0.0f : by[c] * model.at(p, i);
        }
    });
}

}  // namespace

std::string counted_gaussians(std::uint64_t count) {
    return format_count(static_cast<double>(count)) + (count == 1 ? " Gaussian" : " Gaussians");
}

EditName named(const Verb& verb, std::uint64_t gaussians) {
    const std::string counted = counted_gaussians(gaussians);
    return {fmt::format("{} {}", verb.now, counted), fmt::format("{} {}", verb.past, counted)};
}

/// Selected rows that are not locked; empty if an error was reported.
std::vector<std::uint32_t> Editor::editable_rows(const Verb& verb) {
    if (!may_edit()) return {};
    end_live();
    if (!any_selected()) return {};
    auto rows = rows_with(flags_, kSelected, kLocked);
    const std::uint64_t locked = count_flags(flags_).selected - rows.size();
    if (rows.empty())
        ctx_.events.error(fmt::format("all selected Gaussians ({}) are locked: run edit.unlock",
                                      counted_gaussians(locked)));
    else if (locked > 0)
        ctx_.events.done(fmt::format("{} not {}: locked", counted_gaussians(locked), verb.past));
    return rows;
}

void Editor::remove() {
    auto rows = editable_rows(kDelete);
    if (rows.empty()) return;
    EditName name = named(kDelete, rows.size());
    remove_rows(std::move(name), std::move(rows));
}

void Editor::remove_rows(EditName name, std::vector<std::uint32_t> rows) {
    if (rows.size() == flags_.size())
        return ctx_.events.error("cannot delete all Gaussians: keep at least one");
    make(std::move(name), RowChange::removal(std::move(rows)), {});
}

void Editor::crop(const ClipBox& box) {
    if (!may_edit()) return;
    end_live();
    const Hits inside = rows_in_box(viewer_.current_model(*ctx_.scene), box);
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < inside.size(); ++i)
        if (inside[i] == 0 && (flags_[i] & kLocked) == 0)
            rows.push_back(static_cast<std::uint32_t>(i));
    if (rows.empty()) return ctx_.events.done("nothing outside the box");
    EditName name = named({"crop: delete", "cropped: deleted"}, rows.size());
    remove_rows(std::move(name), std::move(rows));
}

void Editor::duplicate() {
    const auto rows = editable_rows(kDuplicate);
    if (rows.empty()) return;
    const GaussianModel& model = viewer_.current_model(*ctx_.scene);
    make(named(kDuplicate, rows.size()), RowChange::addition(model.count, gathered(model, rows), 0),
         [&](const Flags& flags) {
             Flags after = with_bits(flags, 0, 0, kSelected);
             std::fill(after.end() - static_cast<std::ptrdiff_t>(rows.size()), after.end(),
                       kSelected);
             return after;
         });
}

void Editor::transform(const Verb& verb, const Mat3d& linear, Vec3d shift) {
    auto rows = editable_rows(kMove);
    if (rows.empty()) return;
    const GaussianModel& model = viewer_.current_model(*ctx_.scene);
    Vec3f lo, hi;
    if (!bounds_of_selection(model, flags_, lo, hi))
        return ctx_.events.error("no selected Gaussian has a valid position");
    const Vec3f middle = 0.5f * (lo + hi);
    const Vec3d about{middle.x, middle.y, middle.z};
    // Leave out the additions of a run's 3D filter.
    const auto& trainer = ctx_.scene->trainer;
    GaussianModel after = gathered(trainer ? trainer->backend().model() : model, rows);
    transform_rows(after, 0, after.count, {linear, about + shift - linear * about});
    const bool moves = linear.m[0][0] == 1 && linear.m[1][1] == 1 && linear.m[2][2] == 1 &&
                       linear.m[0][1] == 0 && linear.m[0][2] == 0 && linear.m[1][2] == 0;
    const int planes = moves ? kLogScales : after.planes();
    EditName name = named(verb, rows.size());
    make(std::move(name), RowChange::values(std::move(rows), after, kMeans, planes), {});
}

void Editor::recolor(Recolor how, Vec3f color) {
    auto rows = editable_rows(kRecolor);
    if (rows.empty()) return;
    GaussianModel after = gathered(viewer_.current_model(*ctx_.scene), rows);
    recolor_rows(after, how, color);
    EditName name = named(kRecolor, rows.size());
    make(std::move(name), RowChange::values(std::move(rows), after, kSh0, after.planes() - kSh0),
         {});
}

std::shared_ptr<const GaussianModel> Editor::selected_model() {
    if (!may_edit()) return nullptr;
    end_live();
    if (!any_selected()) return nullptr;
    return std::make_shared<const GaussianModel>(
        gathered(viewer_.current_model(*ctx_.scene), rows_with(flags_, kSelected)));
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
    if (ctx_.scene->trainer) return change_run(step);
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

/// Rows of a run are found by their ids, and come and go with all that training knows of them.
bool Editor::change_run(EditStep& step) {
    RowChange& change = step.rows;
    const bool first = !change.named();
    if (!first) change.find_rows(ids_);
    const bool goes = change.moves_rows() && change.present();
    if (goes && change.rows().size() == flags_.size()) {
        ctx_.events.error("cannot delete all Gaussians of the run: keep at least one");
        return false;
    }
    if (first && (goes || !change.moves_rows())) change.name_rows(ids_);
    const auto done = ctx_.scene->run->edit(step.name.past, [&](RunArrays& arrays) {
        if (!change.moves_rows())
            change.toggle(arrays.model, flags_);
        else if (goes)
            step.taken = take_rows(arrays, change.rows());
        else if (first)
            append_rows(arrays, change.added(arrays.model.sh_degree));
        else
            put_back(arrays, step.taken);
    });
    if (!done) {
        ctx_.events.error(done.error().text());
        return false;
    }
    if (change.moves_rows()) follow_presence(step, goes, first);
    ctx_.run_changed(SceneChange::edited);
    return true;
}

/// After rows of a run went, or came: for the first time, or back.
void Editor::follow_presence(EditStep& step, bool goes, bool first) {
    if (goes) {
        step.taken_flags.clear();
        for (const std::uint32_t row : step.rows.rows()) step.taken_flags.push_back(flags_[row]);
    }
    std::vector<std::uint32_t> now = ctx_.scene->trainer->identity().ids();
    flags_ = moved_flags(flags_, ids_, now);
    ids_ = std::move(now);
    step.rows.set_present(!goes);
    if (goes) return;
    if (first) return step.rows.name_rows(ids_);
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < step.taken.rows.size(); ++i)
        ids.push_back(id_of_tag(step.taken.arrays.identity.tags[i]));
    const std::vector<std::uint32_t> rows = rows_of_ids(ids, ids_);
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (rows[k] != kNoSuchRow) flags_[rows[k]] = step.taken_flags[k];
    step.taken = {};
}

/// Passes newly locked and unlocked rows to training; `before`: the earlier locks.
bool Editor::sync_locks(const std::string& what, const Flags& before) {
    if (!ctx_.scene->trainer) return true;
    std::vector<std::uint32_t> locked, freed;
    for (std::size_t row = 0; row < flags_.size(); ++row)
        if (((flags_[row] ^ before[row]) & kLocked) != 0)
            ((flags_[row] & kLocked) != 0 ? locked : freed)
                .push_back(static_cast<std::uint32_t>(row));
    if (locked.empty() && freed.empty()) return true;
    const auto done = ctx_.scene->run->edit(what, [&](RunArrays& arrays) {
        lock_rows(arrays, locked, true);
        lock_rows(arrays, freed, false);
    });
    if (!done) ctx_.events.error(done.error().text());
    return done.has_value();
}

}  // namespace gs
