// TrainingSettings: every hyper-parameter, made from the rows of trainer/settings/setting_table.h,
// which name, explain and bound them. They drive command-line flags, config files, checkpoints, the
// studio's controls and the log of live edits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/setting_kind.h"
#include "base/vec.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/clip_box.h"
#include "trainer/settings/setting_table.h"

namespace gs {

enum class StrategyKind : std::uint8_t { adc, mcmc, budget };        // trainer/settings/strategy.h
enum class AppearanceMode : std::uint8_t { none, exposure, ppisp };  // trainer/density/appearance.h

/// Of a learned sky: one colour, or harmonics up to degree 1 .. 3 (renderer/scene/sky.h).
enum class SkyKind : std::uint8_t { none, constant, sh1, sh2, sh3 };

struct TrainingSettings {
#define GS_TOGGLE(name, usual, ...) bool name = usual;
#define GS_CHOICE(name, type, usual, ...) type name = type::usual;
#define GS_NUMBER(name, usual, ...) double name = usual;
    GS_SETTINGS(GS_TOGGLE, GS_CHOICE, GS_NUMBER, GS_NUMBER)
#undef GS_TOGGLE
#undef GS_CHOICE
#undef GS_NUMBER
};

/// With opacity compensation: asked for, or as the 3D filter was made for it.
inline bool draws_antialiased(const TrainingSettings& s) { return s.antialiased || s.filter_3d; }

/// Whether photos tell it about their cameras.
inline bool corrects_cameras(const TrainingSettings& s) {
    return s.refine_poses || s.refine_intrinsics;
}

/// A value of a setting of kind choice.
struct SettingChoice {
    std::string_view word;  ///< in flags, files and commands: "mcmc"
    const char* help;
};
/// One row of the table. Every value is read and set as a number: a toggle's is 0 or 1, a choice's
/// its place in the list.
struct SettingField {
    const char* name;    ///< "lr_means", also the flag --lr-means
    const char* group;   ///< "Learning rates"
    const char* help;    ///< one sentence
    const char* unit;    ///< "steps"; empty: a plain number
    const char* source;  ///< whose default it is
    SettingKind kind;
    double min, max;
    bool logarithmic;  ///< slider scale
    bool live;         ///< may change while training runs
    std::span<const SettingChoice> choices;
    double (*of)(const TrainingSettings&);
    void (*put)(TrainingSettings&, double in_range);

    /// None: no choice has this word.
    std::optional<double> value_of(std::string_view word) const;
    /// The word of a choice; "0.0002".
    std::string text(double value) const;
};
std::span<const SettingField> setting_fields();
const SettingField* find_setting(std::string_view name);
/// Checks the range. Error kind usage, naming field, value and range.
Result<void> set_setting(TrainingSettings& settings, std::string_view name, double value);
/// A setting as text, "lr-means" "1e-4" or "appearance" "exposure": its name in the table and its
/// value. Errors (usage): no such setting; neither a number nor one of its words; out of range; a
/// fraction where whole numbers are wanted.
Result<std::pair<std::string, double>> read_setting(std::string name, const std::string& text);

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
/// better picture (docs/training.md has the measurements). MCMC's rounds continue for five sixths
/// of the run and come every fortieth of it (20 steps at least, 100 at most), so that 5 % a round
/// become four times as many at least; its noise ends before the last fifteenth.
TrainingSettings scaled_to_steps(TrainingSettings settings, double steps);
/// Its default values for a full-length run: those of TrainingSettings, and what the strategy has
/// otherwise.
TrainingSettings defaults_of(StrategyKind strategy);
/// The defaults beside the strategy, steps and lidar_weight of these settings. With a lidar's beams
/// opacities are never reset: ranges and photos are better (docs/lidar.md).
TrainingSettings usual_beside(const TrainingSettings& settings);
/// With this value, which is in range. Other settings that had the defaults beside the old value
/// get those beside the new one, for as many steps.
TrainingSettings with_setting(const TrainingSettings& settings, const SettingField& field,
                              double value);

using NamedValues = std::vector<std::pair<std::string, double>>;
/// The defaults beside what was given (usual_beside()), then what was given; later ones win. Errors
/// (usage): of set_setting().
Result<TrainingSettings> make_settings(const NamedValues& given);
/// For a resumed run. Errors (usage): settings that cannot change any more.
Result<void> change_settings(TrainingSettings& settings, const NamedValues& given);

}  // namespace gs
