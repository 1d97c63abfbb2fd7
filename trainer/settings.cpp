#include "trainer/settings.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gs {
namespace {

using S = TrainingSettings;

constexpr const char *kAuthors = "3DGS, the authors' code", *kOwn = "gausscope",
                     *kLater = "3DGS, the authors' code since 2024 (0.05 before)",
                     *kPaper = "3DGS as published: its code never applies it",
                     *kMip = "Mip-Splatting", *kPpisp = "PPISP", *kGrendel = "Grendel-GS",
                     *kUt = "3DGUT", *kAbs = "AbsGS, gsplat", *kMcmc = "3DGS-MCMC",
                     *kSplatAd = "SplatAD", *kRevised = "Rota Bulò et al. 2024";

// name, group, help, unit, source, value, min, max, integer, logarithmic, live, choices
// clang-format off
constexpr std::array kFields{
    SettingField{"steps", "Run", "total iterations", "steps", kAuthors, &S::steps, 1, 1e7, true, true, true},
    SettingField{"batch", "Run", "photos per step: gradients are averaged; rates and moments are adapted", "photos", kGrendel, &S::batch, 1, 64, true, false, false},
    SettingField{"seed", "Run", "seed of the view order, split samples and random backgrounds", "", kOwn, &S::seed, 0, 9007199254740991.0, true, false, false},
    SettingField{"lr_means", "Learning rates", "positions, x scene extent, at the start", "x scene extent", kAuthors, &S::lr_means, 0, 1, false, true, true},
    SettingField{"lr_means_final", "Learning rates", "positions, x scene extent, at the last step", "x scene extent", kAuthors, &S::lr_means_final, 0, 1, false, true, true},
    SettingField{"lr_sh0", "Learning rates", "base colour", "", kAuthors, &S::lr_sh0, 0, 1, false, true, true},
    SettingField{"lr_sh_rest", "Learning rates", "view-dependent colour", "", kAuthors, &S::lr_sh_rest, 0, 1, false, true, true},
    SettingField{"lr_opacity", "Learning rates", "opacity logits", "", kLater, &S::lr_opacity, 0, 1, false, true, true},
    SettingField{"lr_scales", "Learning rates", "log scales", "", kAuthors, &S::lr_scales, 0, 1, false, true, true},
    SettingField{"lr_quats", "Learning rates", "rotations", "", kAuthors, &S::lr_quats, 0, 1, false, true, true},
    SettingField{"lambda_dssim", "Loss", "weight of 1 - SSIM; the rest is L1", "", kAuthors, &S::lambda_dssim, 0, 1, false, false, true},
    SettingField{"sh_degree", "Colour", "highest spherical-harmonics degree trained", "", kAuthors, &S::sh_degree, 0, 3, true, false, false},
    SettingField{"sh_interval", "Colour", "steps between degree increases", "steps", kAuthors, &S::sh_interval, 1, 1e7, true, true, true},
    SettingField{"densify_from", "Density control", "first step after which Gaussians may be added or removed", "steps", kAuthors, &S::densify_from, 0, 1e7, true, true, true},
    SettingField{"densify_until", "Density control", "last step before which Gaussians may be added or removed", "steps", kAuthors, &S::densify_until, 0, 1e7, true, true, true},
    SettingField{"densify_every", "Density control", "steps between rounds of density control", "steps", kAuthors, &S::densify_every, 1, 1e6, true, true, true},
    SettingField{"densify_gradient", "Density control", "mean gradient of the projected mean, NDC, above which a Gaussian is cloned or split", "NDC", kAuthors, &S::densify_gradient, 0, 1, false, true, true},
    SettingField{"absgrad", "Density control", "1: sum absolute gradients of pixels, so that opposite ones do not cancel", "", kAbs, &S::absgrad, 0, 1, true, false, false},
    SettingField{"densify_absgrad", "Density control", "used instead of densify_gradient with absgrad", "NDC", kAbs, &S::densify_absgrad, 0, 1, false, true, true},
    SettingField{"densify_extent", "Density control", "x scene extent: smaller Gaussians are cloned, larger ones split", "x scene extent", kAuthors, &S::densify_extent, 0, 10, false, true, true},
    SettingField{"prune_opacity", "Density control", "Gaussians below this opacity are removed", "", kAuthors, &S::prune_opacity, 0, 1, false, true, true},
    SettingField{"prune_extent", "Density control", "x scene extent: larger Gaussians are removed after the first opacity reset", "x scene extent", kAuthors, &S::prune_extent, 0, 100, false, true, true},
    SettingField{"prune_screen_px", "Density control", "Gaussians of a larger radius in pixels are removed after the first opacity reset; 0 = off", "px", kPaper, &S::prune_screen_px, 0, 1e5, false, true, true},
    SettingField{"opacity_reset_every", "Density control", "steps between opacity resets; 0 = never", "steps", kAuthors, &S::opacity_reset_every, 0, 1e7, true, true, true},
    SettingField{"max_gaussians", "Density control", "growth stops at this many Gaussians", "Gaussians", kOwn, &S::max_gaussians, 1, 2e9, true, true, true},
    SettingField{"strategy", "Density control", "density control: adaptive, MCMC (relocates, up to max_gaussians), or a growth curve to max_gaussians", "", kOwn, &S::strategy, 0, 2, true, false, false, "adc|mcmc|budget"},
    SettingField{"revised_opacity", "Density control", "1: cloned and split Gaussians get the opacity that keeps the picture's brightness", "", kRevised, &S::revised_opacity, 0, 1, true, false, true},
    SettingField{"relocate_spread", "Density control", "mcmc: spread of moved and added Gaussians around the shared position, in standard deviations; 0 = none, as published", "", kOwn, &S::relocate_spread, 0, 10, false, false, true},
    SettingField{"relocate_by_pull", "Density control", "mcmc: 1: positions are drawn by opacity times gradient; 0: by opacity only, as published", "", kOwn, &S::relocate_by_pull, 0, 1, true, false, true},
    SettingField{"init_opacity", "Start", "opacity of the first Gaussians", "", kAuthors, &S::init_opacity, 0.001, 0.999, false, false, false},
    SettingField{"init_scale", "Start", "size of the first Gaussians, x distance to their neighbours", "", kAuthors, &S::init_scale, 0.001, 100, false, true, false},
    SettingField{"init_surfaces", "Start", "1: the points are on surfaces (from a lidar, for example): the first Gaussians are surface-aligned and opaque, so ranges are right from the start; test photos get worse", "", kOwn, &S::init_surfaces, 0, 1, true, false, false},
    SettingField{"noise", "Exploration", "noise that moves faint Gaussians in each step, x their size squared and lr_means; 0 = off", "x lr_means", kMcmc, &S::noise, 0, 1e9, false, true, true},
    SettingField{"noise_until", "Exploration", "last step with this noise", "steps", kOwn, &S::noise_until, 0, 1e7, true, true, true},
    SettingField{"opacity_reg", "Exploration", "weight of the mean opacity in the loss", "", kMcmc, &S::opacity_reg, 0, 10, false, true, true},
    SettingField{"scale_reg", "Exploration", "weight of the mean scale, in scene extents, in the loss", "", kMcmc, &S::scale_reg, 0, 10, false, true, true},
    SettingField{"scale_limit", "Exploration", "x scene extent: larger Gaussians shrink; 0 = off", "x scene extent", kOwn, &S::scale_limit, 0, 100, false, true, true},
    SettingField{"stretch_limit", "Exploration", "shrink the longest axis of Gaussians if it is this many times the middle one; 0 = off", "", kOwn, &S::stretch_limit, 0, 1e4, false, true, true},
    SettingField{"crop", "Crop", "1: Gaussians outside the box are removed, at the start and in every round of density control", "", kOwn, &S::crop, 0, 1, true, false, true},
    SettingField{"crop_x0", "Crop", "the box's lower corner", "world units", kOwn, &S::crop_x0, -1e9, 1e9, false, false, true},
    SettingField{"crop_y0", "Crop", "the box's lower corner", "world units", kOwn, &S::crop_y0, -1e9, 1e9, false, false, true},
    SettingField{"crop_z0", "Crop", "the box's lower corner", "world units", kOwn, &S::crop_z0, -1e9, 1e9, false, false, true},
    SettingField{"crop_x1", "Crop", "the box's upper corner", "world units", kOwn, &S::crop_x1, -1e9, 1e9, false, false, true},
    SettingField{"crop_y1", "Crop", "the box's upper corner", "world units", kOwn, &S::crop_y1, -1e9, 1e9, false, false, true},
    SettingField{"crop_z1", "Crop", "the box's upper corner", "world units", kOwn, &S::crop_z1, -1e9, 1e9, false, false, true},
    SettingField{"refine_poses", "Poses", "1: also correct the camera poses of the training photos", "", kOwn, &S::refine_poses, 0, 1, true, false, false},
    SettingField{"pose_sigma", "Poses", "expected pose error (standard deviation): degrees, and percent of the scene's extent; unseen degrees of freedom keep the input pose", "deg, %", kOwn, &S::pose_sigma, 0.001, 20, false, true, true},
    SettingField{"pose_from", "Poses", "first step after which poses are corrected", "steps", kOwn, &S::pose_from, 0, 1e7, true, true, true},
    SettingField{"pose_smoothness", "Poses", "after each pass over the photos, move each correction this far to the mean of its neighbours' (photos in name order): for photos along a path whose errors change slowly", "", kOwn, &S::pose_smoothness, 0, 1, false, false, true},
    SettingField{"lidar_weight", "Lidar", "weight of the loss on a drive's lidar ranges (m), added to the photo's; 0 = photos only", "", kSplatAd, &S::lidar_weight, 0, 100, false, true, true},
    SettingField{"lidar_beams", "Lidar", "approximate number of lidar rays per step, from one sweep", "beams", kOwn, &S::lidar_beams, 64, 1e7, true, true, true},
    SettingField{"random_background", "Background", "1: a new random background colour every step", "", kAuthors, &S::random_background, 0, 1, true, false, true},
    SettingField{"background_r", "Background", "red, 0..1", "", kAuthors, &S::background_r, 0, 1, false, false, true},
    SettingField{"background_g", "Background", "green, 0..1", "", kAuthors, &S::background_g, 0, 1, false, false, true},
    SettingField{"background_b", "Background", "blue, 0..1", "", kAuthors, &S::background_b, 0, 1, false, false, true},
    SettingField{"antialiased", "Rendering", "1: train with opacity compensation for the pixel blur", "", kMip, &S::antialiased, 0, 1, true, false, false},
    SettingField{"filter_3d", "Rendering", "1: 3D filter: no Gaussian thinner than a pixel of the nearest photo, with antialiasing: pictures of other sizes keep brightness and sharpness", "", kMip, &S::filter_3d, 0, 1, true, false, false},
    SettingField{"projection", "Rendering", "how Gaussians become ellipses: by the lens's Jacobian, or by seven points through the whole camera (unscented transform)", "", kUt, &S::projection, 0, 1, true, false, false, "ewa|ut"},
    SettingField{"appearance", "Appearance", "learn per photo: nothing, exposure and white balance, or all stages of PPISP", "", kOwn, &S::appearance, 0, 2, true, false, false, "none|exposure|ppisp"},
    SettingField{"lr_appearance", "Appearance", "peak learning rate of PPISP's vignetting and tone-curve parameters", "", kPpisp, &S::lr_appearance, 0, 1, false, true, true},
    SettingField{"appearance_from", "Appearance", "first step after which exposure and white balance are learned", "steps", kOwn, &S::appearance_from, 0, 1e7, true, true, true},
};
// clang-format on

// A multiple of `unit`, at least one of them.
double whole(double value, double unit) { return std::max(unit, std::round(value / unit) * unit); }

}  // namespace

std::span<const SettingField> setting_fields() { return kFields; }

const SettingField* find_setting(std::string_view name) {
    const auto it = std::find_if(kFields.begin(), kFields.end(),
                                 [&](const SettingField& f) { return name == f.name; });
    return it == kFields.end() ? nullptr : &*it;
}

std::vector<std::string> choices_of(const SettingField& field) {
    std::vector<std::string> out;
    if (field.choices == nullptr) return out;
    for (std::string_view rest = field.choices; !rest.empty();) {
        const std::size_t end = std::min(rest.find('|'), rest.size());
        out.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
}

std::optional<double> choice_value(const SettingField& field, std::string_view word) {
    const auto words = choices_of(field);
    const auto it = std::find(words.begin(), words.end(), word);
    if (it == words.end()) return std::nullopt;
    return static_cast<double>(it - words.begin());
}

std::string setting_choice(std::string_view name, double value) {
    const SettingField* field = find_setting(name);
    const auto words = field == nullptr ? std::vector<std::string>() : choices_of(*field);
    const auto i = static_cast<std::size_t>(value);
    return value >= 0 && i < words.size() ? words[i] : fmt::format("{:g}", value);
}

Result<void> set_setting(TrainingSettings& settings, std::string_view name, double value) {
    const SettingField* field = find_setting(name);
    if (field == nullptr)
        return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name));
    if (!(value >= field->min && value <= field->max))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} = {} is outside {} .. {}", name, value, field->min, field->max),
                    field->help);
    settings.*field->value = field->integer ? std::round(value) : value;
    return {};
}

std::optional<ClipBox> crop_of(const TrainingSettings& s) {
    if (s.crop == 0) return std::nullopt;
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

StrategyKind strategy_kind(const TrainingSettings& settings) {
    return static_cast<StrategyKind>(std::clamp(static_cast<int>(settings.strategy), 0, 2));
}

TrainingSettings defaults_of(StrategyKind strategy) {
    TrainingSettings s;
    s.strategy = static_cast<double>(strategy);
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
        s.revised_opacity = 1;
    }
    return s;
}

TrainingSettings scaled_to_steps(TrainingSettings settings, double steps) {
    settings.steps = steps;
    const double share = steps / 30000;
    if (share >= 1) return settings;
    settings.sh_interval = whole(settings.sh_interval * share, 10);
    settings.densify_from = std::min(settings.densify_from, whole(steps / 12, 10));
    if (strategy_kind(settings) == StrategyKind::mcmc) {
        settings.densify_until = whole(settings.densify_until * share, 10);
        settings.densify_every =
            std::max(20.0, std::min(settings.densify_every, whole(steps / 40, 10)));
        if (share < 0.5) {  // no time for specks to grow
            settings.init_opacity = TrainingSettings().init_opacity;
            settings.init_scale = TrainingSettings().init_scale;
            settings.relocate_spread = settings.relocate_by_pull = 1;  // nor to part, nor to spare
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

TrainingSettings with_strategy(TrainingSettings settings, StrategyKind strategy) {
    const TrainingSettings before = scaled_to_steps(defaults_of(strategy_kind(settings)),
                                                    settings.steps),
                           wanted = scaled_to_steps(defaults_of(strategy), settings.steps);
    for (const SettingField& field : kFields)
        if (settings.*field.value == before.*field.value)
            settings.*field.value = wanted.*field.value;
    settings.strategy = static_cast<double>(strategy);
    return settings;
}

Result<TrainingSettings> make_settings(const NamedValues& given) {
    TrainingSettings asked;
    for (const auto& [name, value] : given) {
        if (name == "steps") asked.steps = value;
        if (name == "strategy") asked.strategy = value;
    }
    TrainingSettings settings = defaults_of(strategy_kind(asked));
    if (asked.steps != settings.steps) settings = scaled_to_steps(settings, asked.steps);
    for (const auto& [name, value] : given)
        if (auto set = set_setting(settings, name, value); !set) return tl::unexpected(set.error());
    return settings;
}

Result<void> change_settings(TrainingSettings& settings, const NamedValues& given) {
    for (const auto& [name, value] : given) {
        const SettingField* field = find_setting(name);
        if (field == nullptr)
            return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name));
        if (!field->live && settings.*field->value != value)
            return fail(
                ErrorKind::usage, "",
                fmt::format("{} is {} in the checkpoint and cannot change when a run resumes", name,
                            settings.*field->value),
                "omit it, or train from scratch without --resume");
        if (auto set = set_setting(settings, name, value); !set) return set;
    }
    return {};
}

}  // namespace gs
