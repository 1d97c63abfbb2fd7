#include "renderer/io/splats/codebook.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "base/rng.h"

namespace gs {
namespace {

constexpr std::size_t kSample = 1 << 20;  // values a codebook is fitted to
constexpr int kCodebookRounds = 20, kRegionRounds = 6, kPaletteRounds = 6;
constexpr std::size_t kRegionSample = 1 << 16;  // vectors that regions are fitted to
constexpr std::size_t kLanes = 16;              // centroids compared at once

// Centroids in groups of 16 with their coordinates side by side, so that the compiler compares 16
// at a time.
class Centroids {
  public:
    Centroids(std::size_t count, std::size_t dimensions)
        : count_(count),
          dimensions_(dimensions),
          values_((count + kLanes - 1) / kLanes * kLanes * dimensions, 0.0f) {}
    std::size_t count() const { return count_; }
    float& at(std::size_t c, std::size_t d) {
        return values_[(c / kLanes * dimensions_ + d) * kLanes + c % kLanes];
    }
    float at(std::size_t c, std::size_t d) const {
        return values_[(c / kLanes * dimensions_ + d) * kLanes + c % kLanes];
    }
    // The first of the nearest.
    std::size_t nearest(const float* v) const {
        std::size_t best = 0;
        float least = std::numeric_limits<float>::infinity();
        for (std::size_t group = 0; group * kLanes < count_; ++group) {
            float distance[kLanes] = {};
            const float* from = values_.data() + group * dimensions_ * kLanes;
            for (std::size_t d = 0; d < dimensions_; ++d, from += kLanes)
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    const float difference = from[lane] - v[d];
                    distance[lane] += difference * difference;
                }
            const std::size_t lanes = std::min(kLanes, count_ - group * kLanes);
            for (std::size_t lane = 0; lane < lanes; ++lane)
                if (distance[lane] < least) {
                    least = distance[lane];
                    best = group * kLanes + lane;
                }
        }
        return best;
    }

  private:
    std::size_t count_, dimensions_;
    std::vector<float> values_;
};

// Lloyd's iterations over `vectors` [n][dimensions], started at every (n / k)-th of them. Serial:
// callers run many.
Centroids fit(std::span<const float> vectors, std::size_t dimensions, std::size_t k, int rounds,
              std::uint64_t seed) {
    const std::size_t n = vectors.size() / dimensions;
    Centroids out(std::min(k, n), dimensions);
    for (std::size_t c = 0; c < out.count(); ++c) {
        const std::size_t begin = c * n / out.count(), end = (c + 1) * n / out.count();
        const std::size_t i =
            begin + random_bits(seed, c, 0) % std::max<std::size_t>(1, end - begin);
        for (std::size_t d = 0; d < dimensions; ++d) out.at(c, d) = vectors[i * dimensions + d];
    }
    std::vector<double> sums(out.count() * dimensions);
    std::vector<std::size_t> members(out.count());
    for (int round = 0; round < rounds; ++round) {
        std::fill(sums.begin(), sums.end(), 0.0);
        std::fill(members.begin(), members.end(), 0);
        for (std::size_t i = 0; i < n; ++i) {
            const float* v = vectors.data() + i * dimensions;
            const std::size_t c = out.nearest(v);
            ++members[c];
            for (std::size_t d = 0; d < dimensions; ++d) sums[c * dimensions + d] += v[d];
        }
        for (std::size_t c = 0; c < out.count(); ++c) {
            if (members[c] == 0) {
                // Nobody's nearest: try somewhere else.
                const std::size_t i =
                    random_bits(seed, c, static_cast<std::uint64_t>(round) + 1) % n;
                for (std::size_t d = 0; d < dimensions; ++d)
                    out.at(c, d) = vectors[i * dimensions + d];
                continue;
            }
            for (std::size_t d = 0; d < dimensions; ++d)
                out.at(c, d) =
                    static_cast<float>(sums[c * dimensions + d] / static_cast<double>(members[c]));
        }
    }
    return out;
}

// Vectors by region: where each region's begin, and which they are.
struct Regions {
    std::vector<std::size_t> begins;
    std::vector<std::uint32_t> rows;
};

Regions split(std::size_t count, std::size_t dimensions, std::size_t regions,
              const VectorSource& source) {
    const std::size_t sampled = std::min(count, kRegionSample);
    std::vector<float> sample(sampled * dimensions);
    parallel_for(sampled, 1024, [&](std::size_t i) {
        source(i * count / sampled, sample.data() + i * dimensions);
    });
    const Centroids centroids = fit(sample, dimensions, regions, kRegionRounds, 1);
    std::vector<std::uint32_t> region(count);
    parallel_ranges(count, 4096, [&](std::size_t begin, std::size_t end) {
        std::vector<float> v(dimensions);
        for (std::size_t i = begin; i < end; ++i) {
            source(i, v.data());
            region[i] = static_cast<std::uint32_t>(centroids.nearest(v.data()));
        }
    });
    Regions out{std::vector<std::size_t>(centroids.count() + 1, 0),
                std::vector<std::uint32_t>(count)};
    for (const std::uint32_t r : region) ++out.begins[r + 1];
    std::partial_sum(out.begins.begin(), out.begins.end(), out.begins.begin());
    std::vector<std::size_t> next(out.begins.begin(), out.begins.end() - 1);
    for (std::size_t i = 0; i < count; ++i)
        out.rows[next[region[i]]++] = static_cast<std::uint32_t>(i);
    return out;
}

// How many entries each region gets: by its number of vectors, at least one, `entries` in all.
std::vector<std::size_t> shares(const Regions& regions, std::size_t entries) {
    const std::size_t n = regions.begins.size() - 1, count = regions.rows.size();
    std::vector<std::size_t> out(n);
    std::size_t given = 0;
    for (std::size_t r = 0; r < n; ++r) {
        const std::size_t size = regions.begins[r + 1] - regions.begins[r];
        const std::size_t wanted = (size * entries + count / 2) / count;
        out[r] = size == 0 ? 0 : std::clamp<std::size_t>(wanted, 1, size);
        given += out[r];
    }
    for (std::size_t r = 0; given > entries; r = (r + 1) % n)
        if (out[r] > 1) --out[r], --given;
    return out;
}

VectorPalette one_each(std::size_t count, std::size_t dimensions, const VectorSource& source) {
    VectorPalette out{count, dimensions, std::vector<float>(count * dimensions),
                      std::vector<std::uint16_t>(count)};
    parallel_for(count, 1024, [&](std::size_t i) {
        source(i, out.values.data() + i * dimensions);
        out.labels[i] = static_cast<std::uint16_t>(i);
    });
    return out;
}

}  // namespace

std::array<float, 256> fit_codebook(std::span<const float> values) {
    std::array<float, 256> out{};
    if (values.empty()) return out;
    const std::size_t n = std::min(values.size(), kSample);
    std::vector<float> sorted(n);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = values[i * values.size() / n];
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    sorted.push_back(*least);  // the ends are never left to chance
    sorted.push_back(*largest);
    std::sort(sorted.begin(), sorted.end());
    std::vector<float> distinct = sorted;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() <= out.size()) {
        for (std::size_t c = 0; c < out.size(); ++c)
            out[c] = distinct[std::min(c, distinct.size() - 1)];
        return out;
    }
    const std::vector<double> sums = [&] {
        std::vector<double> s(sorted.size() + 1, 0.0);
        for (std::size_t i = 0; i < sorted.size(); ++i)
            s[i + 1] = s[i] + static_cast<double>(sorted[i]);
        return s;
    }();
    // Start with entries half by rank and half by value: dense parts get many, tails some.
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double share = (static_cast<double>(c) + 0.5) / 256;
        const float by_rank =
            sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size()))];
        const float by_value =
            sorted.front() + static_cast<float>(share) * (sorted.back() - sorted.front());
        out[c] = 0.5f * by_rank + 0.5f * by_value;
    }
    for (int round = 0; round < kCodebookRounds; ++round) {
        std::size_t begin = 0;
        for (std::size_t c = 0; c < out.size(); ++c) {
            const bool last = c + 1 == out.size();
            const auto border =
                last ? sorted.end()
                     : std::upper_bound(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                                        sorted.end(), 0.5f * (out[c] + out[c + 1]));
            const auto end = static_cast<std::size_t>(border - sorted.begin());
            if (end > begin)
                out[c] = static_cast<float>((sums[end] - sums[begin]) /
                                            static_cast<double>(end - begin));
            begin = end;
        }
        std::sort(out.begin(), out.end());
    }
    return out;
}

std::uint8_t nearest_entry(const std::array<float, 256>& codebook, float value) {
    const auto after = std::lower_bound(codebook.begin(), codebook.end(), value);
    if (after == codebook.begin()) return 0;
    if (after == codebook.end()) return 255;
    const auto i = static_cast<std::size_t>(after - codebook.begin());
    return static_cast<std::uint8_t>(value - codebook[i - 1] <= codebook[i] - value ? i - 1 : i);
}

VectorPalette fit_palette(std::size_t count, std::size_t dimensions, std::size_t entries,
                          const VectorSource& source, const PaletteProgress& progress) {
    if (count <= entries) return one_each(count, dimensions, source);
    const auto wanted =
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(entries))));
    const Regions regions = split(count, dimensions, wanted, source);
    const std::vector<std::size_t> share = shares(regions, entries);
    std::vector<std::size_t> first(share.size() + 1, 0);
    std::partial_sum(share.begin(), share.end(), first.begin() + 1);
    VectorPalette out{first.back(), dimensions, std::vector<float>(first.back() * dimensions),
                      std::vector<std::uint16_t>(count)};
    std::atomic<std::size_t> done{0};
    std::atomic<bool> stopped{progress && !progress(0.1)};
    parallel_for(share.size(), 1, [&](std::size_t r) {
        const std::size_t begin = regions.begins[r], size = regions.begins[r + 1] - begin;
        if (size == 0 || stopped) return;
        std::vector<float> vectors(size * dimensions);
        for (std::size_t i = 0; i < size; ++i)
            source(regions.rows[begin + i], vectors.data() + i * dimensions);
        const Centroids centroids = fit(vectors, dimensions, share[r], kPaletteRounds, 2 + r);
        for (std::size_t c = 0; c < centroids.count(); ++c)
            for (std::size_t d = 0; d < dimensions; ++d)
                out.values[(first[r] + c) * dimensions + d] = centroids.at(c, d);
        for (std::size_t i = 0; i < size; ++i)
            out.labels[regions.rows[begin + i]] = static_cast<std::uint16_t>(
                first[r] + centroids.nearest(vectors.data() + i * dimensions));
        if (progress &&
            !progress(0.1 + 0.9 * static_cast<double>(done += size) / static_cast<double>(count)))
            stopped = true;
    });
    return out;
}

}  // namespace gs
