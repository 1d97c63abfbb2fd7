#include "app/session/parts/run_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "trainer/density/run_edit.h"

namespace gs {
namespace {

/// "lr_means 0.00016 -> 0.0002", or the box that is cropped to; empty: nothing differs.
std::string words_of_edit(const TrainingSettings& before, const TrainingSettings& after) {
    std::vector<std::string> words;
    bool crops = false;
    for (const SettingField& field : setting_fields()) {
        const double was = field.of(before), is = field.of(after);
        if (was == is) continue;
        crops = crops || std::string_view(field.name).starts_with("crop");
        words.push_back(fmt::format("{} {} -> {}", field.name, field.text(was), field.text(is)));
    }
    const auto box = crop_of(after);
    if (!crops || (!box && !before.crop)) return fmt::format("{}", fmt::join(words, ", "));
    if (!box) return "crop off";
    return fmt::format("crop to {:g} {:g} {:g} .. {:g} {:g} {:g}", box->lo.x, box->lo.y, box->lo.z,
                       box->hi.x, box->hi.y, box->hi.z);
}

/// The other settings that this value changes as well.
NamedValues others_changed_by(const SettingField& field, double value,
                              const TrainingSettings& settings) {
    NamedValues out;
    const TrainingSettings with = with_setting(settings, field, value);
    for (const SettingField& other : setting_fields())
        if (&other != &field && other.of(with) != other.of(settings))
            out.emplace_back(other.name, other.of(with));
    return out;
}

SettingRow row_of(const SettingField& field, const TrainingSettings& settings,
                  const TrainingSettings& usual) {
    constexpr double kDecades = 100;
    SettingRow row{.name = field.name,
                   .group = field.group,
                   .help = field.help,
                   .value = field.of(settings),
                   .min = field.min,
                   .max = field.max,
                   .kind = field.kind,
                   .logarithmic = field.logarithmic,
                   .live = field.live,
                   .usual = field.of(usual),
                   .unit = field.unit,
                   .source = field.source,
                   .slider_min = field.min,
                   .slider_max = field.max};
    if (field.logarithmic && row.usual > 0) {
        row.slider_min = std::max(field.min, std::min(row.usual / kDecades, row.value));
        row.slider_max = std::min(field.max, std::max(row.usual * kDecades, row.value));
    }
    if (row.unit == "world units") {
        row.slider_max = std::max(10.0, 2 * std::abs(row.value));
        row.slider_min = -row.slider_max;
    }
    return row;
}

std::shared_ptr<const std::vector<SettingRow>> setting_rows(const TrainingSettings& settings) {
    const TrainingSettings usual = usual_beside(settings);
    auto rows = std::make_shared<std::vector<SettingRow>>();
    for (const SettingField& field : setting_fields()) {
        SettingRow& row = rows->emplace_back(row_of(field, settings, usual));
        if (&field == find_setting("strategy")) row.usual = field.of(TrainingSettings());
        for (const SettingChoice& choice : field.choices) {
            const auto value = static_cast<double>(row.choices.size());
            row.choices.push_back({std::string(choice.word), choice.help, {}});
            for (auto& [name, unused] : others_changed_by(field, value, settings))
                row.choices.back().changes.push_back(std::move(name));
        }
    }
    return rows;
}

}  // namespace

void RunSettings::scene_changed(SceneChange change) {
    if (change != SceneChange::scene && change != SceneChange::restarted) return;
    const bool opened = change == SceneChange::scene;
    if (opened && asked_) ctx_.settings = *std::exchange(asked_, {});
    // Those that were fitted to splats are this run's alone.
    if (opened && ctx_.scene && ctx_.scene->run && !ctx_.scene->run->options().splats.empty())
        asked_ = ctx_.settings;
    if (ctx_.scene && ctx_.scene->run) ctx_.settings = ctx_.scene->trainer->settings();
    publish();
}

void RunSettings::publish() {
    ctx_.events.changed().settings = setting_rows(ctx_.settings);
    the<RunProgress>().publish_others();
}

void RunSettings::set(const std::string& name, double value) {
    NamedValues values{{name, value}};
    const SettingField* field = find_setting(name);
    if (field != nullptr && value >= field->min && value <= field->max)
        for (auto& other : others_changed_by(*field, value, ctx_.settings))
            values.push_back(std::move(other));
    edit_undoably(values);
}

void RunSettings::edit_undoably(const NamedValues& values) {
    NamedValues before, after;
    const TrainingSettings was = ctx_.settings;
    if (!edit(values)) return;
    for (const auto& [name, value] : values) {
        const SettingField* field = find_setting(name);
        if (field->of(was) == field->of(ctx_.settings)) continue;
        before.emplace_back(name, field->of(was));
        after.emplace_back(name, field->of(ctx_.settings));
    }
    const std::uint64_t bytes = 2 * after.size() * sizeof(NamedValues::value_type);
    ctx_.history.add({EditOf::setting, words_of_edit(was, ctx_.settings),
                      [this, before = std::move(before), after = std::move(after)](bool back) {
                          return edit(back ? before : after);
                      },
                      [bytes] { return bytes; }});
}

bool RunSettings::crop(const std::optional<ClipBox>& box) {
    if (!ctx_.scene || !ctx_.scene->run) {
        ctx_.events.error("cannot crop: no training run is open");
        return false;
    }
    edit_undoably(crop_values(box));
    return crop_values(crop_of(ctx_.settings)) == crop_values(box);
}

/// Errors (usage): the run cannot be cropped this way.
Result<void> RunSettings::check_crop(const TrainingSettings& changed) const {
    const std::optional<ClipBox> box = crop_of(changed);
    if (!box || crop_values(box) == crop_values(crop_of(ctx_.settings))) return {};
    if (box->lo.x > box->hi.x || box->lo.y > box->hi.y || box->lo.z > box->hi.z)
        return fail(
            ErrorKind::usage, "",
            "cannot crop: the box's lower corner is above its upper one (crop_x0 .. crop_z1)");
    if (!ctx_.scene || !ctx_.scene->run) return {};
    const Trainer& trainer = ctx_.scene->run->trainer();
    std::size_t outside = 0;
    look_at_arrays(trainer.backend(), [&](const RunArrays& arrays) {
        outside = rows_to_crop(arrays.model, arrays.identity, *box).size();
    });
    if (outside < trainer.gaussian_count()) return {};
    return fail(ErrorKind::usage, "",
                "cannot crop: this box contains no Gaussian (its corners are crop_x0 .. crop_z1)");
}

Result<TrainingSettings> RunSettings::changed_by(const NamedValues& values) const {
    const bool begun = ctx_.scene && ctx_.scene->steps_done() > 0;
    TrainingSettings changed = ctx_.settings;
    for (const auto& [name, value] : values) {
        TrainingSettings with = changed;
        GS_TRY_VOID(set_setting(with, name, value));
        const SettingField* field = find_setting(name);
        if (!field->live && begun && field->of(ctx_.settings) != field->of(with))
            return fail(ErrorKind::usage, "", fmt::format("{} cannot change during a run", name));
        changed = with;
    }
    GS_TRY_VOID(check_crop(changed));
    return changed;
}

bool RunSettings::edit(const NamedValues& values) {
    const auto changed = changed_by(values);
    if (!changed) {
        ctx_.events.error(changed.error().text());
        return false;
    }
    const std::string text = words_of_edit(ctx_.settings, *changed);
    if (text.empty()) return false;
    bool restarted = false;
    if (ctx_.scene && ctx_.scene->run) {
        const auto done = ctx_.scene->run->change(*changed, text);
        if (!done) {
            ctx_.events.error(done.error().text());
            return false;
        }
        restarted = *done;
        the<Training>().settings_changed();
    }
    ctx_.settings = *changed;
    publish();
    ctx_.events.done(fmt::format("step {}: {}{}", ctx_.scene ? ctx_.scene->steps_done() : 0, text,
                                 restarted ? "; the run restarts without edits of Gaussians" : ""));
    if (restarted) ctx_.run_changed(SceneChange::restarted);
    return true;
}

}  // namespace gs
