#include "renderer/problems/floaters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "base/nth.h"

namespace gs {
namespace {

constexpr double kFewShare = 0.05, kCellsAcross = 50, kInBox = 0.01;
constexpr std::uint32_t kFewest = 2;
constexpr std::size_t kSmallCluster = 100;  // of the largest cluster's Gaussians for each of it

bool finite(Vec3f v) { return std::isfinite(v.x + v.y + v.z); }

/// The longest side of the box that holds all `rows` but a hundredth at each side.
double extent_of(const GaussianModel& model, const std::vector<std::uint32_t>& rows) {
    double longest = 0;
    std::vector<float> places(rows.size());
    for (int c = 0; c < 3 && !rows.empty(); ++c) {
        for (std::size_t i = 0; i < rows.size(); ++i) places[i] = model.at(kMeans + c, rows[i]);
        const auto cut = static_cast<std::size_t>(kInBox * static_cast<double>(rows.size()));
        const auto lo = static_cast<double>(nth_of(places, cut));
        const auto hi = static_cast<double>(nth_of(places, places.size() - 1 - cut));
        longest = std::max(longest, hi - lo);
    }
    return longest;
}

/// Rows in the cells of a grid, and which cells touch.
class Cells {
  public:
    Cells(const GaussianModel& model, const std::vector<std::uint32_t>& rows, double side) {
        cell_of_.reserve(rows.size());
        for (const std::uint32_t row : rows) {
            const Vec3f at = model.mean(row);
            const Key key{whole(at.x, side), whole(at.y, side), whole(at.z, side)};
            const auto [it, is_new] =
                numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
            if (is_new) keys_.push_back(key);
            cell_of_.push_back(it->second);
        }
    }
    /// For each row, the number of the cluster that its cell is part of; clusters are numbered in
    /// the order of their first row. Union by the smaller number (Tarjan 1975), paths halved.
    std::vector<std::uint32_t> clusters() const {
        std::vector<std::uint32_t> root(keys_.size());
        std::iota(root.begin(), root.end(), 0u);
        const auto find = [&](std::uint32_t i) {
            while (root[i] != i) i = root[i] = root[root[i]];
            return i;
        };
        for (std::uint32_t i = 0; i < keys_.size(); ++i)
            for (int n = 0; n < 27; ++n) {
                const Key beside{keys_[i][0] + n % 3 - 1, keys_[i][1] + n / 3 % 3 - 1,
                                 keys_[i][2] + n / 9 - 1};
                const auto it = numbers_.find(beside);
                if (it == numbers_.end()) continue;
                const std::uint32_t a = find(i), b = find(it->second);
                root[std::max(a, b)] = std::min(a, b);
            }
        std::vector<std::uint32_t> out;
        for (const std::uint32_t cell : cell_of_) out.push_back(find(cell));
        return out;
    }
    std::size_t cells() const { return keys_.size(); }

  private:
    using Key = std::array<std::int64_t, 3>;
    struct Hash {
        std::size_t operator()(const Key& k) const {
            auto h = static_cast<std::uint64_t>(k[0]) * 0x9e3779b97f4a7c15U;
            h = (h ^ static_cast<std::uint64_t>(k[1])) * 0xbf58476d1ce4e5b9U;
            h = (h ^ static_cast<std::uint64_t>(k[2])) * 0x94d049bb133111ebU;
            return static_cast<std::size_t>(h ^ h >> 31);
        }
    };
    /// Means may lie anywhere: as far as whole numbers reach.
    static std::int64_t whole(float at, double side) {
        constexpr double kMost = 1e15;
        return static_cast<std::int64_t>(
            std::floor(std::clamp(static_cast<double>(at) / side, -kMost, kMost)));
    }
    std::vector<std::uint32_t> cell_of_;
    std::vector<Key> keys_;
    std::unordered_map<Key, std::uint32_t, Hash> numbers_;
};

void add_row(Floater& to, std::uint32_t row, const GaussianModel& model,
             const GaussianBlame::Sums& sums, float& heaviest) {
    const auto weight = static_cast<double>(sums.weight);
    const Vec3f mean = model.mean(row);
    to.centre = to.centre + static_cast<float>(weight) * mean;
    to.weight += weight;
    to.error += static_cast<double>(sums.error);
    to.photos = std::max(to.photos, sums.photos);
    if (sums.nearness > 0 && (to.nearness == 0 || static_cast<double>(sums.nearness) < to.nearness))
        to.nearness = static_cast<double>(sums.nearness);
    if (to.rows.empty() || sums.weight > heaviest)
        heaviest = sums.weight, to.row = row, to.view = sums.view;
    to.rows.push_back(row);
}

}  // namespace

FloaterSearch find_floaters(const GaussianModel& model,
                            const std::vector<GaussianBlame::Sums>& sums, std::size_t photos,
                            std::size_t most) {
    FloaterSearch out;
    out.few_photos =
        std::max(kFewest, static_cast<std::uint32_t>(kFewShare * static_cast<double>(photos)));
    std::vector<std::uint32_t> rows;
    for (std::size_t row = 0; row < sums.size(); ++row)
        if (sums[row].weight >= kLeastFloaterWeight && finite(model.mean(row)))
            rows.push_back(static_cast<std::uint32_t>(row));
    out.seen = rows.size();
    out.cell = extent_of(model, rows) / kCellsAcross;
    if (!(out.cell > 0)) return out;

    const std::vector<std::uint32_t> cluster = Cells(model, rows, out.cell).clusters();
    std::unordered_map<std::uint32_t, std::size_t> size;
    std::size_t largest = 0;
    for (const std::uint32_t c : cluster) largest = std::max(largest, ++size[c]);

    std::vector<std::uint32_t> floating;
    std::vector<std::uint8_t> is_near, is_apart;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const GaussianBlame::Sums& s = sums[rows[i]];
        if (s.photos == 0 || s.photos > out.few_photos) continue;
        const bool near = s.nearness > 0 && static_cast<double>(s.nearness) < kNear,
                   apart = size[cluster[i]] * kSmallCluster < largest;
        if (!near && !apart) continue;
        floating.push_back(rows[i]);
        is_near.push_back(near);
        is_apart.push_back(apart);
    }
    const std::vector<std::uint32_t> together = Cells(model, floating, out.cell).clusters();
    std::unordered_map<std::uint32_t, std::size_t> place;
    std::vector<float> heaviest;
    for (std::size_t i = 0; i < floating.size(); ++i) {
        const auto [it, is_new] = place.try_emplace(together[i], out.floaters.size());
        if (is_new) out.floaters.emplace_back(), heaviest.push_back(0);
        Floater& to = out.floaters[it->second];
        add_row(to, floating[i], model, sums[floating[i]], heaviest[it->second]);
        to.near |= is_near[i] != 0;
        to.apart |= is_apart[i] != 0;
    }
    for (Floater& f : out.floaters) f.centre = static_cast<float>(1 / f.weight) * f.centre;
    std::ranges::stable_sort(out.floaters, std::greater{}, &Floater::weight);
    if (out.floaters.size() > most) out.floaters.resize(most);
    return out;
}

}  // namespace gs
