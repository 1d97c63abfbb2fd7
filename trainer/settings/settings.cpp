#include "trainer/settings/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/try.h"

namespace gs {
namespace {

using S = TrainingSettings;

constexpr const char *kAuthors = "3DGS, the authors' code", *kOwn = "gausscope",
                     *kLater = "3DGS, the authors' code since 2024 (0.05 before)",
                     *kPaper = "3DGS as published: its code never applies it",
                     *kMip = "Mip-Splatting", *kPpisp = "PPISP", *kGrendel = "Grendel-GS",
                     *kUt = "3DGUT", *kAbs = "AbsGS, gsplat", *kMcmc = "3DGS-MCMC",
                     *kSplatAd = "SplatAD", *kRevised = "Rota Bulò et al. 2024",
                     *kLichtFeld = "LichtFeld Studio", *kDash = "DashGaussian";

constexpr SettingChoice kStrategies[] = {{"adc", "clone, split and prune by gradients"},
                                         {"mcmc", "relocate, and grow up to max_gaussians"},
                                         {"budget",
                                          "as adc, along a curve to max_gaussians x overgrow"}},
                        kProjections[] = {{"ewa", "by the lens's Jacobian"},
                                          {"ut",
                                           "by seven points through the whole camera "
                                           "(unscented transform)"}},
                        kSkies[] = {{"none", "nothing"},
                                    {"constant", "one colour"},
                                    {"sh1", "spherical harmonics of degree 1: 4 a channel"},
                                    {"sh2", "of degree 2: 9"},
                                    {"sh3", "of degree 3: 16"}},
                        kAppearances[] = {{"none", "nothing"},
                                          {"exposure", "exposure and white balance"},
                                          {"ppisp", "all stages of PPISP"}};

constexpr unsigned kLog = 1, kLive = 2;  // SettingField::logarithmic, live

#define GS_ROW(kind, name, group, help, unit, source, least, most, flags, choices) \
    SettingField{#name,                                                            \
                 group,                                                            \
                 help,                                                             \
                 unit,                                                             \
                 source,                                                           \
                 SettingKind::kind,                                                \
                 least,                                                            \
                 most,                                                             \
                 ((flags)&kLog) != 0,                                              \
                 ((flags)&kLive) != 0,                                             \
                 choices,                                                          \
                 [](const S& s) { return static_cast<double>(s.name); },           \
                 [](S& s, double value) { s.name = static_cast<decltype(s.name)>(value); }},
#define GS_TOGGLE(name, usual, group, help, source, flags) \
    GS_ROW(toggle, name, group, help, "", source, 0, 1, flags, {})
#define GS_CHOICE(name, type, usual, group, help, source, words) \
    GS_ROW(choice, name, group, help, "", source, 0, std::size(words) - 1.0, 0, words)
#define GS_COUNT(name, usual, group, help, unit, source, least, most, flags) \
    GS_ROW(count, name, group, help, unit, source, least, most, flags, {})
#define GS_NUMBER(name, usual, group, help, unit, source, least, most, flags) \
    GS_ROW(number, name, group, help, unit, source, least, most, flags, {})
constexpr SettingField kFields[] = {GS_SETTINGS(GS_TOGGLE, GS_CHOICE, GS_COUNT, GS_NUMBER)};
#undef GS_ROW
#undef GS_TOGGLE
#undef GS_CHOICE
#undef GS_COUNT
#undef GS_NUMBER

// A multiple of `unit`, at least one of them.
double whole(double value, double unit) { return std::max(unit, std::round(value / unit) * unit); }

Result<double> number_of(const std::string& word) {
    if (word == "true" || word == "yes" || word == "on") return 1.0;
    if (word == "false" || word == "no" || word == "off") return 0.0;
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != 0 || !std::isfinite(value))
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a number", word));
    return value;
}

}  // namespace

std::span<const SettingField> setting_fields() { return kFields; }

const SettingField* find_setting(std::string_view name) {
    const auto it = std::find_if(std::begin(kFields), std::end(kFields),
                                 [&](const SettingField& f) { return name == f.name; });
    return it == std::end(kFields) ? nullptr : &*it;
}

std::optional<double> SettingField::value_of(std::string_view word) const {
    const auto it = std::ranges::find(choices, word, &SettingChoice::word);
    if (it == choices.end()) return std::nullopt;
    return static_cast<double>(it - choices.begin());
}

std::string SettingField::text(double value) const {
    const auto i = static_cast<std::size_t>(std::max(value, 0.0));
    if (i < choices.size()) return std::string(choices[i].word);
    return kind == SettingKind::count ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

Result<void> set_setting(TrainingSettings& settings, std::string_view name, double value) {
    const SettingField* field = find_setting(name);
    if (field == nullptr)
        return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name));
    if (!(value >= field->min && value <= field->max))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} = {} is outside {} .. {}", name, value, field->min, field->max),
                    field->help);
    field->put(settings, field->kind == SettingKind::number ? value : std::round(value));
    return {};
}

Result<std::pair<std::string, double>> read_setting(std::string name, const std::string& text) {
    if (find_setting(name) == nullptr) std::replace(name.begin(), name.end(), '-', '_');
    const SettingField* field = find_setting(name);
    if (field == nullptr)
        return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name),
                    "gausscope train --help lists them");
    double value = 0;
    if (const auto chosen = field->value_of(text)) {
        value = *chosen;
    } else {
        const auto number = number_of(text);
        if (!number)
            return fail(ErrorKind::usage, "", fmt::format("{}: {}", name, number.error().message));
        value = *number;
    }
    if (field->kind != SettingKind::number && value != std::floor(value))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} is {}, which is not a whole number", name, value));
    TrainingSettings scratch;
    GS_TRY_VOID(set_setting(scratch, name, value));
    return std::pair(std::move(name), value);
}

std::optional<ClipBox> crop_of(const TrainingSettings& s) {
    if (!s.crop) return std::nullopt;
    const auto corner = [](double x, double y, double z) {
        return Vec3f{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)};
    };
    return ClipBox{corner(s.crop_x0, s.crop_y0, s.crop_z0),
                   corner(s.crop_x1, s.crop_y1, s.crop_z1)};
}

NamedValues crop_values(const std::optional<ClipBox>& crop) {
    if (!crop) return {{"crop", 0.0}};
    const auto value = [](float x) { return static_cast<double>(x); };
    return {{"crop", 1.0},
            {"crop_x0", value(crop->lo.x)},
            {"crop_y0", value(crop->lo.y)},
            {"crop_z0", value(crop->lo.z)},
            {"crop_x1", value(crop->hi.x)},
            {"crop_y1", value(crop->hi.y)},
            {"crop_z1", value(crop->hi.z)}};
}

TrainingSettings defaults_of(StrategyKind strategy) {
    TrainingSettings s;
    s.strategy = strategy;
    if (strategy == StrategyKind::mcmc) {
        s.lr_opacity = 5e-2;
        s.densify_until = 25000;
        s.opacity_reset_every = 0;
        s.max_gaussians = 1e6;
        s.init_opacity = 0.5;
        s.init_scale = 0.1;
        s.noise = 5e5;
        s.noise_until = 28000;
        s.opacity_reg = s.scale_reg = 0.01;
        s.stretch_limit = 10;
    } else if (strategy == StrategyKind::budget) {
        s.max_gaussians = 1e6;
        s.revised_opacity = s.long_axis = true;
    }
    return s;
}

TrainingSettings scaled_to_steps(TrainingSettings settings, double steps) {
    settings.steps = steps;
    const double share = steps / 30000;
    if (share >= 1) return settings;
    settings.sh_interval = whole(settings.sh_interval * share, 10);
    settings.densify_from = std::min(settings.densify_from, whole(steps / 12, 10));
    if (settings.strategy == StrategyKind::mcmc) {
        settings.densify_until = whole(settings.densify_until * share, 10);
        settings.densify_every =
            std::max(20.0, std::min(settings.densify_every, whole(steps / 40, 10)));
        if (share < 0.5) {  // no time for specks to grow
            settings.init_opacity = TrainingSettings().init_opacity;
            settings.init_scale = TrainingSettings().init_scale;
            settings.relocate_spread = 1;      // nor to part,
            settings.relocate_by_pull = true;  // nor to spare
        }
    } else {
        settings.densify_until = std::min(settings.densify_until, whole(steps / 2, 10));
    }
    settings.noise_until = whole(settings.noise_until * share, 10);
    settings.densify_gradient *= 2 - share;
    settings.densify_absgrad *= 2 - share;
    settings.lr_appearance *= std::min(1 / share, 5.0);  // as far in fewer steps
    settings.appearance_from = whole(settings.appearance_from * share, 10);
    return settings;
}

TrainingSettings usual_beside(const TrainingSettings& s) {
    TrainingSettings out = scaled_to_steps(defaults_of(s.strategy), s.steps);
    if (s.lidar_weight > 0) out.opacity_reset_every = 0;
    return out;
}

TrainingSettings with_setting(const TrainingSettings& settings, const SettingField& field,
                              double value) {
    TrainingSettings out = settings;
    (void)set_setting(out, field.name, value);
    if (&field == find_setting("steps")) return out;
    const TrainingSettings before = usual_beside(settings), wanted = usual_beside(out);
    for (const SettingField& other : kFields)
        if (&other != &field && other.of(out) == other.of(before)) other.put(out, other.of(wanted));
    return out;
}

Result<TrainingSettings> make_settings(const NamedValues& given) {
    TrainingSettings asked;
    for (const auto& [name, value] : given)
        if (name == "steps" || name == "strategy" || name == "lidar_weight")
            (void)set_setting(asked, name, value);
    TrainingSettings settings = usual_beside(asked);
    for (const auto& [name, value] : given)
        if (auto set = set_setting(settings, name, value); !set) return tl::unexpected(set.error());
    return settings;
}

Result<void> change_settings(TrainingSettings& settings, const NamedValues& given) {
    for (const auto& [name, value] : given) {
        const SettingField* field = find_setting(name);
        if (field == nullptr)
            return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name));
        if (!field->live && field->of(settings) != value)
            return fail(
                ErrorKind::usage, "",
                fmt::format("{} is {} in the checkpoint and cannot change when a run resumes", name,
                            field->text(field->of(settings))),
                "omit it, or train from scratch without --resume");
        if (auto set = set_setting(settings, name, value); !set) return set;
    }
    return {};
}

}  // namespace gs
