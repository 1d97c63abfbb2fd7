#include "trainer/density/row_arrays.h"

#include <algorithm>
#include <utility>

#include "trainer/adam/sky_step.h"

namespace gs {

float unused_value(int plane) {
    static const GaussianModel unused(0, 3, kBlock);
    return unused.at(plane, 0);
}

bool consistent(const RunArrays& arrays) {
    const GaussianModel& model = arrays.model;
    const AppearanceState& looks = arrays.appearance;
    bool out = model.count > 0 && model.count <= model.capacity && model.capacity % kBlock == 0 &&
               looks.moments.size() == 2 * looks.values.size() &&
               arrays.adam.moments.empty() != arrays.adam.codes.empty() &&
               (arrays.sky_moments.empty() || arrays.sky_moments.size() == kSkyMoments);
    each_row_array(
        [&](const RowArray& array, const auto& values) {
            out &= values.size() == array.columns(model.planes()) * model.capacity ||
                   (values.empty() && array.setting != nullptr);
        },
        arrays);
    return out;
}

RunArrays rows_like(const RunArrays& like, std::size_t count, std::size_t capacity) {
    RunArrays out;
    out.model.count = count;
    out.model.capacity = capacity;
    out.model.sh_degree = like.model.sh_degree;
    out.model.set_about(like.model);
    out.sky_moments = like.sky_moments;
    static_cast<AdamClock&>(out.adam) = like.adam;
    each_row_array(
        [&](const RowArray& array, auto& values, const auto& from) {
            if (!from.empty()) values.resize_discard(array.columns(out.model.planes()) * capacity);
        },
        out, like);
    return out;
}

RunArrays new_run(GaussianModel model, const TrainingSettings& settings) {
    RunArrays out;
    out.model = std::move(model);
    out.model.sky = initial_sky(settings, out.model.sky);
    if (settings.sky != SkyKind::none) out.sky_moments.resize(kSkyMoments);
    out.adam = initial_adam_state(out.model, batch_of(settings), settings.compact_moments);
    out.adam.seed = static_cast<std::uint64_t>(settings.seed);
    out.identity = RowIdentity(out.model.count, out.model.capacity);
    add_missing_rows(out, settings);
    return out;
}

void add_missing_rows(RunArrays& arrays, const TrainingSettings& settings) {
    const GaussianModel& model = arrays.model;
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if (values.empty() && array.used(settings))
                values.resize(array.columns(model.planes()) * model.capacity);
        },
        arrays);
}

void grow_rows(RunArrays& arrays, std::size_t capacity) {
    const std::size_t before = arrays.model.capacity;
    RunArrays larger = rows_like(arrays, arrays.model.count, capacity);
    each_row_column(
        [&](const auto& to, const auto& from) {
            for (std::size_t row = 0; row < before; row += kBlock)
                std::copy_n(&from[row], kBlock, &to[row]);
            for (std::size_t row = before; row < capacity; row += kBlock)
                std::fill_n(&to[row], kBlock, to.unused);
        },
        larger, std::as_const(arrays));
    each_row_array([](const RowArray&, auto& to, auto& from) { to = std::move(from); }, arrays,
                   larger);
    arrays.model.capacity = capacity;
}

}  // namespace gs
