// TrainingSettings: every hyper-parameter, plain values, and one table that names, explains and
// bounds them. The table drives command-line flags, config files, checkpoints, the studio's sliders
// and the log of live edits. Defaults: Kerbl et al. 2023, "3D Gaussian Splatting for Real-Time
// Radiance Field Rendering", with the authors' later opacity rate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/vec.h"
#include "renderer/scene/clip_box.h"

namespace gs {

/// TrainingSettings::strategy (trainer/strategy.h).
enum class StrategyKind : std::uint8_t { adc, mcmc, budget };

struct TrainingSettings {
    double steps = 30000;  ///< iterations in all
    double batch = 1;      ///< photos a step (trainer/schedule.h says how rates follow)

    double lr_means = 1.6e-4;        ///< x scene extent, at the start
    double lr_means_final = 1.6e-6;  ///< x scene extent, at `steps` (exponential in between)
    double lr_sh0 = 2.5e-3;
    double lr_sh_rest = 1.25e-4;
    double lr_opacity = 2.5e-2;
    double lr_scales = 5e-3;
    double lr_quats = 1e-3;

    double lambda_dssim = 0.2;  ///< loss = (1 - lambda) L1 + lambda (1 - SSIM)
    double sh_degree = 3;       ///< highest degree trained
    double sh_interval = 1000;  ///< steps between degree increases

    double densify_from = 500;        ///< step
    double densify_until = 15000;     ///< step
    double densify_every = 100;       ///< steps
    double densify_gradient = 2e-4;   ///< mean NDC gradient of the projected mean
    double absgrad = 0;               ///< 1: gradients are summed without their signs
    double densify_absgrad = 6.7e-4;  ///< densify_gradient's place where they are
    double densify_extent = 0.01;  ///< x scene extent: smaller ones are cloned, larger ones split
    double prune_opacity = 0.005;
    double prune_extent = 0.1;  ///< x scene extent, after the first opacity reset
    double prune_screen_px =
        0;  ///< radius in pixels, after the first opacity reset; 0 = off. The authors' code names
            ///< 20 but clears the radii before it looks at them, so 0 is what was published
    double opacity_reset_every = 3000;  ///< steps; 0 = never
    double max_gaussians = 5e6;  ///< capacity: growth stops there; the budget of some strategies

    double strategy = 0;          ///< StrategyKind: who decides what is added and removed
    double revised_opacity = 0;   ///< 1: clones and splits keep what was seen (density_rules.h)
    double relocate_spread = 0;   ///< standard deviations that newcomers lie apart (relocation.h)
    double relocate_by_pull = 0;  ///< 1: to where gradients pull, not to opacity alone
    double init_opacity = 0.1;    ///< of the first Gaussians
    double init_scale = 1;        ///< x distance to their neighbours
    double init_surfaces = 0;  ///< 1: flat in the surfaces that the points lie on (trainer/init.h)
    double noise = 0;          ///< x lr_means: how far faint Gaussians wander (trainer/nudge.h)
    double noise_until = 30000;  ///< step
    double opacity_reg = 0;      ///< weight of the mean opacity in the loss
    double scale_reg = 0;        ///< weight of the mean scale, in scene extents, in the loss
    double scale_limit = 0;      ///< x scene extent: what is larger shrinks; 0 = off
    double stretch_limit = 0;    ///< longest over middle axis: beyond it shrinks; 0 = off

    double crop =
        0;  ///< 1: Gaussians outside the box below are removed, at the start and in rounds
    double crop_x0 = 0, crop_y0 = 0, crop_z0 = 0;  ///< lower corner, world units
    double crop_x1 = 0, crop_y1 = 0, crop_z1 = 0;  ///< upper corner

    double random_background = 0;  ///< 1: a new random background colour every step
    double background_r = 0, background_g = 0, background_b = 0;
    double antialiased = 0;  ///< 1: train with opacity compensation
    double filter_3d = 0;    ///< 1: the 3D filter (trainer/mip_filter.h), and antialiased with it
    double projection = 0;   ///< ProjectionMethod

    double appearance = 0;          ///< AppearanceMode: learn each photo's exposure and colour
    double lr_appearance = 2e-3;    ///< rises and falls with the run (trainer/appearance.h)
    double appearance_from = 7500;  ///< first step after which photos' light is looked for

    double refine_poses = 0;     ///< 1: correct the training photos' camera poses
    double pose_sigma = 0.5;     ///< how wrong poses may be: degrees, and % of the extent
    double pose_from = 100;      ///< first step after which poses are corrected
    double pose_smoothness = 0;  ///< share that a correction goes towards its neighbours', an epoch

    double lidar_weight = 0;    ///< of the loss along a drive's beams; 0: photos alone
    double lidar_beams = 4096;  ///< a step

    double seed = 42;
};

/// With opacity compensation: asked for, or as the 3D filter was made for it.
inline bool draws_antialiased(const TrainingSettings& s) {
    return s.antialiased != 0 || s.filter_3d != 0;
}

/// One row of the table. Values are doubles so that every field is edited the same way; integers
/// are rounded.
struct SettingField {
    const char* name;    ///< "lr_means", also the flag --lr-means
    const char* group;   ///< "Learning rates"
    const char* help;    ///< one sentence
    const char* unit;    ///< "steps"; empty: a plain number
    const char* source;  ///< whose default it is
    double TrainingSettings::*value;
    double min, max;
    bool integer;
    bool logarithmic;               ///< slider scale
    bool live;                      ///< may change while training runs
    const char* choices = nullptr;  ///< "none|exposure": words for 0, 1, ..; null: a number
};
std::span<const SettingField> setting_fields();
const SettingField* find_setting(std::string_view name);
/// The words of a field with choices, in order; of another, none.
std::vector<std::string> choices_of(const SettingField& field);
/// The value that a word stands for; none: the field knows no such word.
std::optional<double> choice_value(const SettingField& field, std::string_view word);
/// The word for a value of the setting `name`; the number where it has no words.
std::string setting_choice(std::string_view name, double value);
/// Checks the range. Error kind usage, naming field, value and range.
Result<void> set_setting(TrainingSettings& settings, std::string_view name, double value);

StrategyKind strategy_kind(const TrainingSettings& settings);

/// What is behind the Gaussians, 0..1.
inline Vec3f background_of(const TrainingSettings& s) {
    return {static_cast<float>(s.background_r), static_cast<float>(s.background_g),
            static_cast<float>(s.background_b)};
}

/// The box outside of which Gaussians are removed; none: everything stays.
std::optional<ClipBox> crop_of(const TrainingSettings& settings);
/// The settings that say so, by name.
std::vector<std::pair<std::string, double>> crop_values(const std::optional<ClipBox>& crop);

/// The same recipe for a run of `steps` iterations. 30,000 and more: unchanged, 3DGS's own
/// schedule. Shorter runs keep the order of its phases: SH degrees rise every steps / 30,
/// densification starts at steps / 12 (500 at most) and ends at half, so the other half refines
/// what is there; a reset of opacity (every 3,000 steps) happens only before that. The gradient
/// that asks for a new Gaussian rises to up to twice, because in a short run the rounds fall into
/// the time when everything still moves: without it there are nearly twice as many Gaussians and no
/// better picture (docs/training.md has the measurements).
/// MCMC's rounds continue for five sixths of the run and come every fortieth of it (20 steps at
/// least, 100 at most), so that 5 % a round become four times as many at least; its noise ends
/// before the last fifteenth.
TrainingSettings scaled_to_steps(TrainingSettings settings, double steps);
/// Its default values for a full-length run: those of TrainingSettings, and what the strategy has
/// otherwise.
TrainingSettings defaults_of(StrategyKind strategy);
/// With another strategy: what stood at the old one's defaults, for as many steps, stands at the
/// new one's.
TrainingSettings with_strategy(TrainingSettings settings, StrategyKind strategy);

using NamedValues = std::vector<std::pair<std::string, double>>;
/// Defaults of the strategy asked for, shrunk to the number of steps asked for, then what was
/// given; later ones win. Errors (usage): of set_setting().
Result<TrainingSettings> make_settings(const NamedValues& given);
/// For a resumed run. Errors (usage): settings that cannot change any more.
Result<void> change_settings(TrainingSettings& settings, const NamedValues& given);

}  // namespace gs
