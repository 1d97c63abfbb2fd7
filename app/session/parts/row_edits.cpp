#include "app/session/parts/row_edits.h"

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

/// Selected rows that are not locked; empty if an error was reported.
std::vector<std::uint32_t> RowEdits::editable_rows(const Verb& verb) {
    if (!the<Editor>().begin(true)) return {};
    auto rows = rows_with(the<Editor>().flags(), kSelected, kLocked);
    const std::uint64_t locked = count_flags(the<Editor>().flags()).selected - rows.size();
    if (rows.empty())
        ctx_.events.error(fmt::format("all selected Gaussians ({}) are locked: run edit.unlock",
                                      counted_gaussians(locked)));
    else if (locked > 0)
        ctx_.events.done(fmt::format("{} not {}: locked", counted_gaussians(locked), verb.past));
    return rows;
}

void RowEdits::remove() {
    auto rows = editable_rows(kDelete);
    if (rows.empty()) return;
    EditName name = named(kDelete, rows.size());
    remove_rows(std::move(name), std::move(rows));
}

void RowEdits::remove_rows(EditName name, std::vector<std::uint32_t> rows) {
    if (rows.size() == the<Editor>().flags().size())
        return ctx_.events.error("cannot delete all Gaussians: keep at least one");
    the<Editor>().make(std::move(name), RowChange::removal(std::move(rows)), {});
}

void RowEdits::crop(const ClipBox& box) {
    if (!the<Editor>().begin(false)) return;
    const Hits inside = rows_in_box(the<Viewer>().current_model(*ctx_.scene), box);
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < inside.size(); ++i)
        if (inside[i] == 0 && (the<Editor>().flags()[i] & kLocked) == 0)
            rows.push_back(static_cast<std::uint32_t>(i));
    if (rows.empty()) return ctx_.events.done("nothing outside the box");
    EditName name = named({"crop: delete", "cropped: deleted"}, rows.size());
    remove_rows(std::move(name), std::move(rows));
}

void RowEdits::duplicate() {
    const auto rows = editable_rows(kDuplicate);
    if (rows.empty()) return;
    const GaussianModel& model = the<Viewer>().current_model(*ctx_.scene);
    the<Editor>().make(named(kDuplicate, rows.size()),
                       RowChange::addition(model.count, gathered(model, rows), 0),
                       [&](const Flags& flags) {
                           Flags after = with_bits(flags, 0, 0, kSelected);
                           std::fill(after.end() - static_cast<std::ptrdiff_t>(rows.size()),
                                     after.end(), kSelected);
                           return after;
                       });
}

void RowEdits::transform(const Verb& verb, const Mat3d& linear, Vec3d shift) {
    auto rows = editable_rows(kMove);
    if (rows.empty()) return;
    const GaussianModel& model = the<Viewer>().current_model(*ctx_.scene);
    Vec3f lo, hi;
    if (!bounds_of_selection(model, the<Editor>().flags(), lo, hi))
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
    RowChange change = RowChange::values(std::move(rows), after, kMeans, planes);
    if (!model.sky.empty() && after.count == model.count)
        change.with_sky(turned(model.sky, linear));
    the<Editor>().make(std::move(name), std::move(change), {});
}

void RowEdits::recolor(Recolor how, Vec3f color) {
    auto rows = editable_rows(kRecolor);
    if (rows.empty()) return;
    GaussianModel after = gathered(the<Viewer>().current_model(*ctx_.scene), rows);
    recolor_rows(after, how, color);
    EditName name = named(kRecolor, rows.size());
    the<Editor>().make(std::move(name),
                       RowChange::values(std::move(rows), after, kSh0, after.planes() - kSh0), {});
}

}  // namespace gs
