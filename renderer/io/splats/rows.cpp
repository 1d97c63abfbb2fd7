#include "renderer/io/splats/rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "base/parallel.h"
#include "base/sort.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr std::size_t kGrain = 16384;

// `sizes_of_zero`: logarithms of -infinity are fine.
bool sound(const GaussianModel& model, std::size_t i, bool sizes_of_zero) {
    for (int p = 0; p < model.planes(); ++p) {
        const float value = model.at(p, i);
        if (std::isfinite(value)) continue;
        if (p == kOpacityLogits && !std::isnan(value)) continue;
        if (sizes_of_zero && p >= kLogScales && p < kQuats && value == -kInfinite) continue;
        return false;
    }
    return true;
}

// Ten bits become every third of thirty.
std::uint32_t spread(std::uint32_t v) {
    v = (v | v << 16) & 0x030000FF;
    v = (v | v << 8) & 0x0300F00F;
    v = (v | v << 4) & 0x030C30C3;
    return (v | v << 2) & 0x09249249;
}

// Keys ascending; rows with equal keys stay in order.
void sort_by_keys(SplatRows& rows, Buffer<std::uint32_t>& keys) {
    Buffer<std::uint32_t> values(rows.size());
    std::copy(rows.begin(), rows.end(), values.begin());
    RadixSort().sort(keys, values);
    std::copy(values.begin(), values.end(), rows.begin());
}

}  // namespace

void note_not_finite(const GaussianModel& model, SplatNotes& notes) {
    Tally bad;
    parallel_ranges(model.count, kGrain, [&](std::size_t begin, std::size_t end) {
        // Plane by plane, which is how they are in memory; only a range with something odd is
        // looked at again. Ranges end at whole blocks, and padding is finite.
        std::uint32_t odd[kBlock] = {};
        for (int p = 0; p < model.planes(); ++p)
            for (std::size_t i = begin; i < end; i += kBlock)
                for (std::size_t lane = 0; lane < kBlock; ++lane)
                    odd[lane] |= (std::bit_cast<std::uint32_t>(model.at(p, i + lane)) &
                                  0x7F800000u) == 0x7F800000u;
        if (std::count(odd, odd + kBlock, 0u) == kBlock) return;
        std::size_t found = 0;
        for (std::size_t i = begin; i < end; ++i) found += sound(model, i, false) ? 0 : 1;
        bad.add(found);
    });
    if (bad.count() > 0)
        notes.push_back(counted(bad.count(), "Gaussian", "have ") + kNotFiniteNote);
}

SplatRows drawable_rows(const GaussianModel& model, SplatNotes& notes) {
    std::vector<std::uint8_t> good(model.count);
    parallel_for(model.count, kGrain,
                 [&](std::size_t i) { good[i] = sound(model, i, true) ? 1 : 0; });
    SplatRows rows;
    rows.reserve(model.count);
    for (std::size_t i = 0; i < model.count; ++i)
        if (good[i] != 0) rows.push_back(static_cast<std::uint32_t>(i));
    if (rows.size() < model.count)
        notes.push_back("NaN or infinite values: " +
                        counted(model.count - rows.size(), "Gaussian", "are left out"));
    return rows;
}

void sort_along_curve(const GaussianModel& model, SplatRows& rows) {
    if (rows.empty()) return;
    float lo[3], scale[3];
    for (int axis = 0; axis < 3; ++axis) {
        float hi = -kInfinite;
        lo[axis] = kInfinite;
        for (const std::uint32_t i : rows) {
            lo[axis] = std::min(lo[axis], model.at(axis, i));
            hi = std::max(hi, model.at(axis, i));
        }
        const float extent = hi - lo[axis];
        scale[axis] = extent > 0 && std::isfinite(extent) ? 1023.0f / extent : 0.0f;
    }
    Buffer<std::uint32_t> keys(rows.size());
    parallel_for(rows.size(), kGrain, [&](std::size_t i) {
        std::uint32_t key = 0;
        for (int axis = 0; axis < 3; ++axis)
            key |= spread(quantised(model.at(axis, rows[i]) - lo[axis], scale[axis], 1023)) << axis;
        keys[i] = key;
    });
    sort_by_keys(rows, keys);
}

void sort_by_importance(const GaussianModel& model, SplatRows& rows) {
    Buffer<std::uint32_t> keys(rows.size());
    parallel_for(rows.size(), kGrain, [&](std::size_t k) {
        const std::size_t i = rows[k];
        float log_volume = 0;
        for (int axis = 0; axis < 3; ++axis) log_volume += model.at(kLogScales + axis, i);
        const float importance = log_volume + std::log(sigmoid(model.at(kOpacityLogits, i)));
        // Floats as integers that sort the same way, largest first.
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(importance);
        keys[k] = (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
    });
    sort_by_keys(rows, keys);
}

std::string grouped(std::size_t n) {
    const std::string digits = std::to_string(n);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

}  // namespace gs
