#include "renderer/doctor/rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "base/sort.h"
#include "renderer/io/splats/values.h"

namespace gs::doctor {
namespace {

constexpr std::size_t kGrain = 16384;
constexpr std::size_t kSample = 1u << 18;
constexpr double kTile = 16;
constexpr double kCrowdShare = 0.9;
constexpr float kCrowdReach = 10;

struct Sizes {
    double largest, middle;
};
Sizes sizes_of(const GaussianModel& m, std::size_t i) {
    std::array<double, 3> s{};
    for (int axis = 0; axis < 3; ++axis)
        s[static_cast<std::size_t>(axis)] =
            std::exp(static_cast<double>(m.at(kLogScales + axis, i)));
    std::sort(s.begin(), s.end());
    return {s[2], s[1]};
}

// Faults of everything but the harmonics, which are looked at plane by plane.
unsigned not_finite(const GaussianModel& m, std::size_t i) {
    unsigned faults = 0;
    const auto odd = [&](int first, int planes, RowFault fault) {
        for (int p = first; p < first + planes; ++p)
            if (!std::isfinite(m.at(p, i))) faults |= 1u << fault;
    };
    odd(kMeans, 3, bad_position);
    odd(kQuats, 4, bad_rotation);
    odd(kSh0, 3, bad_color);
    // A size of nothing and a logit of plus or minus infinity have a meaning.
    for (int p = kLogScales; p < kQuats; ++p)
        if (std::isnan(m.at(p, i)) || m.at(p, i) == kInfinite) faults |= 1u << bad_size;
    if (std::isnan(m.at(kOpacityLogits, i))) faults |= 1u << bad_opacity;
    return faults;
}

double distance_beyond(const SceneBox& box, Vec3f p) {
    const auto beyond = [](double lo, double hi, double v) {
        return std::max({lo - v, v - hi, 0.0});
    };
    const double x = beyond(box.lo.x, box.hi.x, p.x), y = beyond(box.lo.y, box.hi.y, p.y),
                 z = beyond(box.lo.z, box.hi.z, p.z);
    return std::sqrt(x * x + y * y + z * z);
}

// Faults of a row whose values are all numbers.
unsigned odd_shape(const GaussianModel& m, std::size_t i, const SceneBox& box, const Sizes& s) {
    unsigned faults = 0;
    float length = 0;
    for (int p = kQuats; p < kQuats + 4; ++p) length += m.at(p, i) * m.at(p, i);
    if (!(length > 0) || !std::isfinite(length)) faults |= 1u << zero_rotation;
    for (int p = kLogScales; p < kQuats; ++p)
        if (m.at(p, i) < kSmallestLogScale) faults |= 1u << zero_size;
    if (sigmoid(m.at(kOpacityLogits, i)) < 1.0f / 255) return faults | 1u << invisible;
    if (s.middle > 0 && s.largest > kNeedleRatio * s.middle) faults |= 1u << needle;
    if (!(box.extent > 0)) return faults;
    if (s.largest > kHugeSize * box.extent)
        faults |= 1u << huge_size;
    else if (s.largest > kBlobSize * box.extent)
        faults |= 1u << blob;
    if (distance_beyond(box, m.mean(i)) > kOutlierReach * box.extent) faults |= 1u << outlier;
    return faults;
}

// Tiles the Gaussian covers where the box fills the picture: its box of three standard deviations.
double tiles_of(const Sizes& s, double pixels_per_unit, double most) {
    const auto tiles = [&](double size) { return 6 * size * pixels_per_unit / kTile + 1; };
    return std::min(most, tiles(s.largest) * tiles(s.middle));
}

// Harmonics of rows begin .. end: NaN and infinite ones into `faults`; the highest degree that is
// used.
int scan_harmonics(const GaussianModel& m, std::size_t begin, std::size_t end,
                   std::uint16_t* faults) {
    int used = 0;
    for (int degree = 1; degree <= m.sh_degree; ++degree) {
        std::uint32_t any = 0;
        for (int p = plane_count(degree - 1); p < plane_count(degree); ++p) {
            const float* plane = m.plane(p);
            for (std::size_t i = begin; i < end; ++i) {
                const auto bits = std::bit_cast<std::uint32_t>(plane[i]) & 0x7FFFFFFFu;
                any |= bits;
                faults[i - begin] |=
                    static_cast<std::uint16_t>((bits >= 0x7F800000u ? 1u : 0u) << bad_harmonics);
            }
        }
        if (any != 0) used = degree;
    }
    return used;
}

}  // namespace

namespace {

// The rows that are near the others: within kCrowdReach times the distance that nine of ten keep
// from the middle (the median), measured on the axis along which they keep most. However far the
// rest is, it does not move this: a box of 99.9 % grows with the first three rows in a thousand
// that stray.
std::vector<std::size_t> rows_of_crowd(const GaussianModel& model, std::vector<std::size_t> rows) {
    std::array<float, 3> middle{};
    float reach = 0;
    std::vector<float> values(rows.size());
    for (int axis = 0; axis < 3; ++axis) {
        float& median = middle[static_cast<std::size_t>(axis)];
        std::transform(rows.begin(), rows.end(), values.begin(),
                       [&](std::size_t i) { return model.at(axis, i); });
        median = quantile(values, 0.5);
        for (float& v : values) v = std::abs(v - median);
        reach = std::max(reach, kCrowdReach * quantile(values, kCrowdShare));
    }
    if (reach > 0)
        std::erase_if(rows, [&](std::size_t i) {
            for (int axis = 0; axis < 3; ++axis)
                if (std::abs(model.at(axis, i) - middle[static_cast<std::size_t>(axis)]) > reach)
                    return true;
            return false;
        });
    return rows;
}

}  // namespace

SceneBox scene_box(const GaussianModel& model) {
    SceneBox box;
    const std::size_t stride = model.count / kSample + 1;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < model.count; i += stride)
        if (std::isfinite(model.at(0, i)) && std::isfinite(model.at(1, i)) &&
            std::isfinite(model.at(2, i)))
            rows.push_back(i);
    if (rows.empty()) return box;
    std::size_t cut = 0;
    if (rows.size() >= 16) {  // a few rows are no crowd to stray from
        rows = rows_of_crowd(model, std::move(rows));
        cut = static_cast<std::size_t>(std::ceil(0.0005 * static_cast<double>(rows.size())));
    }
    std::vector<float> values(rows.size());
    float* const ends[2][3] = {{&box.lo.x, &box.lo.y, &box.lo.z},
                               {&box.hi.x, &box.hi.y, &box.hi.z}};
    for (int axis = 0; axis < 3; ++axis) {
        std::transform(rows.begin(), rows.end(), values.begin(),
                       [&](std::size_t i) { return model.at(axis, i); });
        std::sort(values.begin(), values.end());
        *ends[0][axis] = values[cut];
        *ends[1][axis] = values[values.size() - 1 - cut];
        box.extent = std::max(
            box.extent, static_cast<double>(*ends[1][axis]) - static_cast<double>(*ends[0][axis]));
    }
    return box;
}

RowScan scan_rows(const GaussianModel& model, int width, int height,
                  std::vector<std::uint16_t>* row_faults, Meter& meter) {
    struct Part {
        std::array<FaultTally, kRowFaults> faults;
        int used_degree = 0;
        double isects = 0;
    };
    RowScan out{.box = scene_box(model)};
    const double per_unit = out.box.extent > 0 ? std::max(width, height) / out.box.extent : 0;
    const double most = std::ceil(width / kTile) * std::ceil(height / kTile);
    if (row_faults != nullptr) row_faults->assign(model.count, 0);
    std::vector<Part> parts((model.count + kGrain - 1) / kGrain);
    parallel_ranges(model.count, kGrain, [&](std::size_t begin, std::size_t end) {
        if (meter.cancelled()) return;
        meter.add(end - begin);
        Part& part = parts[begin / kGrain];
        std::vector<std::uint16_t> faults(end - begin, 0);
        part.used_degree = scan_harmonics(model, begin, end, faults.data());
        for (std::size_t i = begin; i < end; ++i) {
            unsigned row = faults[i - begin] | not_finite(model, i);
            if (row == 0) {
                const Sizes sizes = sizes_of(model, i);
                row = odd_shape(model, i, out.box, sizes);
                if ((row & (1u << invisible)) == 0) part.isects += tiles_of(sizes, per_unit, most);
            }
            if (row_faults != nullptr) (*row_faults)[i] = static_cast<std::uint16_t>(row);
            for (unsigned f = 0; row >> f != 0; ++f) {
                if ((row >> f & 1u) == 0) continue;
                FaultTally& tally = part.faults[f];
                if (tally.count++ < kFindingExamples) tally.rows.push_back(i);
            }
        }
    });
    for (const Part& part : parts) {
        out.used_degree = std::max(out.used_degree, part.used_degree);
        out.isects += part.isects;
        for (std::size_t f = 0; f < kRowFaults; ++f) {
            out.faults[f].count += part.faults[f].count;
            for (const std::size_t i : part.faults[f].rows)
                if (out.faults[f].rows.size() < kFindingExamples) out.faults[f].rows.push_back(i);
        }
    }
    return out;
}

namespace {

std::uint64_t mixed(std::uint64_t hash, float value) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}
std::uint64_t hash_of(const GaussianModel& m, std::size_t i, int planes) {
    std::uint64_t hash = 0x243F6A8885A308D3ull;
    for (int p = 0; p < planes; ++p) hash = mixed(hash, m.at(p, i));
    return hash ^ hash >> 32;
}
bool same(const GaussianModel& m, std::size_t a, std::size_t b, int planes) {
    for (int p = 0; p < planes; ++p)
        if (std::bit_cast<std::uint32_t>(m.at(p, a)) != std::bit_cast<std::uint32_t>(m.at(p, b)))
            return false;
    return true;
}

// Rows whose means have the same 32-bit hash: nearly always the same mean. Sorted by longer hashes,
// then by row, a row is compared with the first of its kind only, so that millions of rows in one
// place cost no more than sorting them.
void find_in_run(const GaussianModel& m, const std::uint32_t* rows, std::size_t n, Repeats& out) {
    struct Entry {
        std::uint64_t place, all;
        std::uint32_t row;
        auto operator<=>(const Entry&) const = default;
    };
    std::vector<Entry> entries;
    for (std::size_t k = 0; k < n; ++k)
        if (std::isfinite(m.at(0, rows[k])) && std::isfinite(m.at(1, rows[k])) &&
            std::isfinite(m.at(2, rows[k])))
            entries.push_back({hash_of(m, rows[k], 3), hash_of(m, rows[k], m.planes()), rows[k]});
    std::sort(entries.begin(), entries.end());
    // The row that is no repeat is the first in the file.
    for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
        std::uint32_t first = entries[begin].row;
        for (end = begin; end < entries.size() && entries[end].place == entries[begin].place; ++end)
            first = std::min(first, entries[end].row);
        std::size_t kind = begin;
        for (std::size_t k = begin; k < end; ++k) {
            if (entries[k].all != entries[kind].all) kind = k;
            if (k != kind && same(m, entries[k].row, entries[kind].row, m.planes()))
                out.copies.push_back(entries[k].row);
            else if (entries[k].row != first && same(m, entries[k].row, first, 3))
                out.places.push_back(entries[k].row);
        }
    }
}

}  // namespace

Repeats find_repeats(const GaussianModel& model, Meter& meter) {
    Repeats out;
    Buffer<std::uint32_t> keys(model.count), rows(model.count);
    parallel_ranges(model.count, kGrain, [&](std::size_t begin, std::size_t end) {
        meter.add(end - begin);
        for (std::size_t i = begin; i < end && !meter.cancelled(); ++i) {
            keys[i] = static_cast<std::uint32_t>(hash_of(model, i, 3));
            rows[i] = static_cast<std::uint32_t>(i);
        }
    });
    if (meter.cancelled()) return out;
    RadixSort().sort(keys, rows);
    for (std::size_t begin = 0, end = 0; begin < model.count && !meter.cancelled(); begin = end) {
        while (end < model.count && keys[end] == keys[begin]) ++end;
        meter.add(end - begin);
        if (end - begin > 1) find_in_run(model, rows.data() + begin, end - begin, out);
    }
    std::sort(out.copies.begin(), out.copies.end());
    std::sort(out.places.begin(), out.places.end());
    return out;
}

}  // namespace gs::doctor
