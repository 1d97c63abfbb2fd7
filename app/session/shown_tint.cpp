#include "app/session/shown_tint.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "base/parallel.h"
#include "renderer/maps/colormap.h"
#include "renderer/math/sh.h"

namespace gs {
namespace {

constexpr std::size_t kRowsATask = 16384;
/// Selected Gaussians are mostly orange, so that their own look is still visible.
constexpr std::uint32_t kSelectedWord = GaussianTint::word(255, 140, 0, 170);
constexpr std::uint32_t kLevelShare = 216;  // 85 %

/// In its level's colour, as bright as the Gaussian's base colour, but never so dark that levels
/// look alike.
std::uint32_t level_word(const GaussianModel& model, std::size_t row, Rgb8 level) {
    float base[3];
    for (int c = 0; c < 3; ++c) base[c] = 0.5f + math::kSh0Basis * model.at(kSh0 + c, row);
    const float light = 0.3f * base[0] + 0.6f * base[1] + 0.1f * base[2];
    // False for NaN.
    const float shade = light > 0.0f ? 0.5f + 0.5f * std::min(light, 1.0f) : 0.5f;
    const auto shaded = [&](std::uint8_t channel) {
        return static_cast<std::uint8_t>(std::lround(shade * static_cast<float>(channel)));
    };
    return GaussianTint::word(shaded(level.r), shaded(level.g), shaded(level.b), kLevelShare);
}

/// The colours of 256 places between both ends of the range.
std::array<std::uint32_t, 256> words_of(Colormap map) {
    std::array<std::uint32_t, 256> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Rgb8 c = colormap_color(map, static_cast<double>(i) / 255);
        words[i] = GaussianTint::word(c.r, c.g, c.b);
    }
    return words;
}

}  // namespace

void ShownTint::set_flags(std::span<const std::uint8_t> by_row) {
    flags_.resize_discard(by_row.size());
    std::copy(by_row.begin(), by_row.end(), flags_.begin());
    const bool shows = std::ranges::any_of(
        by_row, [](std::uint8_t flags) { return (flags & (kSelected | kHidden)) != 0; });
    if (!shows) flags_.resize_discard(0);
    ++serial_;
}

void ShownTint::set_values(const ShownValues& values) {
    if (values.by_row.empty() && value_words_.empty()) return;
    value_words_.resize_discard(values.by_row.size());
    const auto words = words_of(values.map);
    const bool logarithmic = values.logarithmic && values.hi > 0;
    const double least = values.lo > 0 ? values.lo : 1e-6 * values.hi;
    const auto lo = static_cast<float>(logarithmic ? std::log(least) : values.lo),
               hi = static_cast<float>(logarithmic ? std::log(values.hi) : values.hi);
    const float scale = hi > lo ? 255.0f / (hi - lo) : 0.0f;
    const auto low_end = static_cast<float>(values.lo), high_end = static_cast<float>(values.hi);
    parallel_ranges(value_words_.size(), kRowsATask, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const float value = values.by_row[i];
            std::uint32_t word = GaussianTint::kOwn;
            if (values.filter && !(value >= low_end && value <= high_end)) {
                word = GaussianTint::kHidden;
            } else if (std::isfinite(value)) {
                const float at = logarithmic ? std::log(std::max(value, 1e-37f)) : value;
                word = words[static_cast<std::size_t>(
                    std::clamp(scale * (at - lo) + 0.5f, 0.0f, 255.0f))];
            }
            value_words_[i] = word;
        }
    });
    ++serial_;
}

void ShownTint::set_levels(const GaussianModel& model, std::span<const LevelRun> runs) {
    if (runs.empty()) {
        if (levels_of_ != nullptr) ++serial_;
        levels_of_ = nullptr;
        level_words_.resize_discard(0);
        return;
    }
    if (levels_of_ == &model && level_words_.size() == model.count) return;
    levels_of_ = &model;
    level_words_.resize_discard(model.count);
    parallel_ranges(model.count, kRowsATask, [&](std::size_t begin, std::size_t end) {
        auto run = std::ranges::upper_bound(runs, begin, {}, &LevelRun::end);
        for (std::size_t i = begin; i < end; ++i) {
            while (run != runs.end() && i >= run->end) ++run;
            level_words_[i] = run == runs.end() || run->level == kEveryLevel
                                  ? GaussianTint::kOwn
                                  : level_word(model, i, color_of_level(run->level));
        }
    });
    ++serial_;
}

void ShownTint::forget() {
    flags_.resize_discard(0);
    value_words_.resize_discard(0);
    level_words_.resize_discard(0);
    levels_of_ = nullptr;
    tint_ = hiding_ = nullptr;
    ++serial_;
}

std::size_t ShownTint::rows() const {
    return std::max({flags_.size(), value_words_.size(), level_words_.size()});
}

std::shared_ptr<const GaussianTint> ShownTint::tint() {
    if (rows() == 0) return nullptr;
    if (tint_ && tint_serial_ == serial_) return tint_;
    auto tint = std::make_shared<GaussianTint>();
    tint->serial = serial_;
    tint->words.resize_discard(rows());
    parallel_ranges(rows(), kRowsATask, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const unsigned flags = i < flags_.size() ? flags_[i] : 0u;
            const std::uint32_t value =
                i < value_words_.size() ? value_words_[i] : GaussianTint::kOwn;
            std::uint32_t word = i < level_words_.size() ? level_words_[i] : GaussianTint::kOwn;
            if (value != GaussianTint::kOwn) word = value;
            if ((flags & kSelected) != 0 && word != GaussianTint::kHidden) word = kSelectedWord;
            if ((flags & kHidden) != 0) word = GaussianTint::kHidden;
            tint->words[i] = word;
        }
    });
    tint_ = std::move(tint);
    tint_serial_ = serial_;
    return tint_;
}

std::shared_ptr<const GaussianTint> ShownTint::hiding() {
    const auto all = tint();
    if (!all) return nullptr;
    if (hiding_serial_ == serial_) return hiding_;
    auto only = std::make_shared<GaussianTint>();
    only->serial = ~serial_;  // other words than those of tint()
    only->words.resize_discard(all->words.size());
    std::atomic<bool> any = false;
    parallel_ranges(all->words.size(), kRowsATask, [&](std::size_t begin, std::size_t end) {
        bool hides = false;
        for (std::size_t i = begin; i < end; ++i) {
            const bool hidden = GaussianTint::hidden(all->words[i]);
            only->words[i] = hidden ? GaussianTint::kHidden : GaussianTint::kOwn;
            hides = hides || hidden;
        }
        if (hides) any = true;
    });
    hiding_ = any ? std::move(only) : nullptr;
    hiding_serial_ = serial_;
    return hiding_;
}

}  // namespace gs
