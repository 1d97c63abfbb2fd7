// RunArrays: what a run has learned, and the one list of its per-Gaussian arrays. Checkpoints,
// captured steps, snapshots, edits, rounds of density control and the CUDA backend go through this
// list, so a new array is a member and a line here (docs/development.md has the recipe).
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/buffer.h"
#include "base/expected.h"
#include "base/parallel.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/adam/lazy_adam.h"
#include "trainer/density/appearance.h"
#include "trainer/density/density.h"
#include "trainer/density/row_identity.h"
#include "trainer/settings/settings.h"

namespace gs {

/// Everything a run has learned: what a checkpoint holds of the model.
struct RunArrays {
    GaussianModel model;
    AdamState adam;
    DensityStatistics statistics;
    RowIdentity identity;
    AppearanceState appearance{};  ///< of photos and cameras
    Buffer<float> sky_moments{};   ///< [kSkyMoments], of model.sky; empty: it is not learned
    Buffer<float> filter{};  ///< by row (trainer/adam/mip_filter.h); empty: nothing is filtered
};

/// One per-Gaussian array: how it is stored, and what happens to its rows.
struct RowArray {
    /// [capacity], [plane][capacity], [block][2 x plane][16] or [block][plane][16].
    enum Layout : std::uint8_t { single, planes, moments, codes };
    /// In a round of density control a new row inherits its source's values, or those that are not
    /// of a new Gaussian (`fresh`, of moments only), or gets RoundRows::tag; all rows are zero
    /// afterwards; or nothing moves, because rows are alike or set after the round.
    enum Round : std::uint8_t { inherited, fresh, tags, cleared, unmoved };
    /// What files may hold: `sizes` are finite and not negative, `steps` from the optimizer's last
    /// flush to now.
    enum Values : std::uint8_t { any, sizes, steps };

    const char* name;       ///< of its section in checkpoints, for messages
    std::uint32_t section;  ///< tag of that section; sections are in the order of the list
    Layout layout = single;
    Round round = inherited;
    const char* use = "parameters";    ///< what its memory is counted as
    const char* step_entry = nullptr;  ///< in a captured step; null: not stored there
    Values values = any;
    bool TrainingSettings::*setting =
        nullptr;              ///< the run has the array if it is set; null: always
    bool unless = false;      ///< if it is not set
    bool since_first = true;  ///< every checkpoint has it; else it may be missing from old files

    std::size_t columns(int model_planes) const {
        const auto n = static_cast<std::size_t>(model_planes);
        return layout == single ? 1 : layout == moments ? 2 * n : n;
    }
    /// All columns of 16 rows are together.
    bool by_block() const { return layout == moments || layout == codes; }
    bool used(const TrainingSettings& given) const {
        return setting == nullptr || given.*setting != unless;
    }
};

/// The run's other sections follow these two (checkpoint.cpp).
inline constexpr std::uint32_t kModelSection = 4, kIdentitySection = 9;

/// Calls visit(RowArray, buffer of each of `runs`...) for every array. `runs`: RunArrays, or
/// anything with the same members.
template <class Visit, class... Runs>
void each_row_array(Visit&& visit, Runs&... runs) {
    using A = RowArray;
    constexpr const char *kMoments = "Adam moments", *kStatistics = "density statistics";
    visit(A{"3D filter", 40, A::single, A::unmoved, "parameters", nullptr, A::sizes,
            &TrainingSettings::filter_3d},
          runs.filter...);
    visit(A{"model", kModelSection, A::planes, A::inherited, "parameters", "inputs/values"},
          runs.model.values...);
    const auto compact = &TrainingSettings::compact_moments;
    visit(A{"moments", 6, A::moments, A::fresh, kMoments, "inputs/moments", A::any, compact, true},
          runs.adam.moments...);
    visit(A{"codes of moments", 41, A::codes, A::fresh, kMoments, nullptr, A::any, compact},
          runs.adam.codes...);
    visit(A{"step", 7, A::single, A::unmoved, kMoments, "inputs/last_step", A::steps},
          runs.adam.last_step...);
    const A statistics{"statistics", 8, A::single, A::cleared, kStatistics};
    visit(statistics, runs.statistics.gradient_sum...);
    visit(statistics, runs.statistics.views...);
    visit(statistics, runs.statistics.radius_px...);
    visit(A{"identity", kIdentitySection, A::single, A::tags, kStatistics, "inputs/tags", A::any,
            nullptr, false, false},
          runs.identity.tags...);
}
/// The same for one of them: the array of this number.
template <class Run, class Visit>
void visit_row_array(std::size_t number, Run& run, Visit&& visit) {
    std::size_t next = 0;
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if (next++ == number) visit(array, values);
        },
        run);
}
/// The same for visitors that give a Result<void>: ends with the first error.
template <class Visit, class... Runs>
Result<void> try_each_row_array(Visit&& visit, Runs&... runs) {
    Result<void> result;
    each_row_array(
        [&](const RowArray& array, auto&... buffers) {
            if (result) result = visit(array, buffers...);
        },
        runs...);
    return result;
}

/// What a row of a model that is not in use holds: it draws nothing.
float unused_value(int plane);

/// One number of every row.
template <class T>
struct RowColumn {
    T* first;
    std::size_t stride;                 ///< from a block of 16 rows to the next
    std::remove_const_t<T> unused = 0;  ///< what rows beyond the last hold
    T& operator[](std::size_t row) const { return first[row / kBlock * stride + row % kBlock]; }
};
/// Column `c` of an array of `run`.
template <class Run, class Values>
auto row_column(const RowArray& array, Run& run, Values& values, std::size_t c) {
    using T = std::remove_pointer_t<decltype(values.data())>;
    RowColumn<T> out{values.data(), kBlock};
    if (array.layout == RowArray::planes) {
        out.first += c * run.model.capacity;
        out.unused = static_cast<T>(unused_value(static_cast<int>(c)));
    } else if (array.by_block()) {
        out.first += c * kBlock;
        out.stride = array.columns(run.model.planes()) * kBlock;
    } else if (array.values == RowArray::steps) {
        out.unused = static_cast<T>(run.adam.base);  // as the last flush left it
    }
    return out;
}
/// Calls visit(column of each of `runs`...) for every column of every array that they have, from
/// several threads.
template <class Visit, class Run, class... More>
void each_row_column(Visit&& visit, Run& run, More&... more) {
    each_row_array(
        [&](const RowArray& array, auto& values, auto&... others) {
            if (values.empty()) return;
            parallel_for(array.columns(run.model.planes()), 1, [&](std::size_t c) {
                visit(row_column(array, run, values, c), row_column(array, more, others, c)...);
            });
        },
        run, more...);
}
/// Calls visit(column, plane) for every column of the moments.
template <class Visit>
void each_moment_column(Visit&& visit, RunArrays& run) {
    each_row_array(
        [&](const RowArray& array, auto& values) {
            const auto planes = run.model.planes();
            const std::size_t columns = array.columns(planes);
            for (std::size_t c = 0; array.by_block() && !values.empty() && c < columns; ++c)
                visit(row_column(array, run, values, c),
                      static_cast<int>(c * static_cast<std::size_t>(planes) / columns));
        },
        run);
}

/// What is wrong with an array that was read from a file; null: nothing.
template <class T>
const char* wrong_values(const RowArray& array, const Buffer<T>& values, const AdamClock& clock) {
    if (array.values == RowArray::any) return nullptr;
    for (const T value : values) {
        const auto x = static_cast<double>(value);
        if (array.values == RowArray::sizes && !(x >= 0 && std::isfinite(x)))
            return "has sizes that are not valid";
        if (array.values == RowArray::steps && !(x >= clock.base && x <= clock.steps))
            return "names a step that does not exist";
    }
    return nullptr;
}

/// Bytes of the arrays counted as `use`, of all where it is empty.
template <class Run>
std::uint64_t row_bytes(const Run& run, std::string_view use = {}) {
    std::uint64_t out = 0;
    each_row_array(
        [&](const RowArray& array, const auto& values) {
            if (use.empty() || use == array.use) out += values.capacity_bytes();
        },
        run);
    return out;
}

/// Sizes agree, and there is a row.
bool consistent(const RunArrays& arrays);
/// Storage for `count` rows of the arrays that `like` has, not set; clock and model are alike.
RunArrays rows_like(const RunArrays& like, std::size_t count, std::size_t capacity);
/// A run of these Gaussians before its first step.
RunArrays new_run(GaussianModel model, const TrainingSettings& settings = {});
/// Arrays of a run with these settings that are still empty get their rows: zero.
void add_missing_rows(RunArrays& arrays, const TrainingSettings& settings);
/// Storage for `capacity` rows, all or nothing. New rows are unused.
void grow_rows(RunArrays& arrays, std::size_t capacity);
/// Every optimizer step is applied to every row: rows may move.
inline bool settled(const RunArrays& arrays) { return arrays.adam.steps == arrays.adam.base; }

}  // namespace gs
