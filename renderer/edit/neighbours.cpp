#include "renderer/edit/neighbours.h"

#include <atomic>
#include <cmath>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/scene/point_tree.h"

namespace gs {
namespace {

constexpr std::size_t kSearchGrain = 512;

struct Centres {
    std::vector<Vec3f> points;
    std::vector<std::uint32_t> rows;  // of the points
};

Centres finite_centres(const GaussianModel& model) {
    Centres out;
    out.points.reserve(model.count);
    out.rows.reserve(model.count);
    for (std::size_t i = 0; i < model.count; ++i) {
        const Vec3f p = model.mean(i);
        if (!std::isfinite(p.x + p.y + p.z)) continue;
        out.points.push_back(p);
        out.rows.push_back(static_cast<std::uint32_t>(i));
    }
    return out;
}

bool is_selected(const Flags& flags, std::size_t row) {
    return (flags[row] & (kSelected | kHidden)) == kSelected;
}

/// Rows that tasks mark at the same time.
void mark(Hits& hits, std::size_t row) {
    std::atomic_ref<std::uint8_t>(hits[row]).store(1, std::memory_order_relaxed);
}

}  // namespace

struct Neighbours::Tree {
    explicit Tree(const GaussianModel& model)
        : centres(finite_centres(model)),
          index(centres.points),
          place(model.count, kNowhere),
          sizes(model.count) {
        for (std::size_t k = 0; k < centres.rows.size(); ++k)
            place[centres.rows[k]] = static_cast<std::uint32_t>(k);
        for (std::size_t i = 0; i < model.count; ++i)
            sizes[i] = std::exp((model.at(kLogScales, i) + model.at(kLogScales + 1, i) +
                                 model.at(kLogScales + 2, i)) /
                                3);
    }
    /// Calls f(row) for what `row` reaches.
    template <class F>
    void reached_by(std::size_t row, double reach, const F& f) const {
        if (place[row] == kNowhere) return;
        const float radius = static_cast<float>(reach) * sizes[row];
        if (!(radius > 0)) return;
        std::uint32_t index_of[kMostNeighbours + 1];
        float squared[kMostNeighbours + 1];
        const std::size_t found =
            index.nearest(centres.points[place[row]], kMostNeighbours + 1, index_of, squared);
        for (std::size_t k = 0; k < found && squared[k] < radius * radius; ++k)
            if (centres.rows[index_of[k]] != row) f(centres.rows[index_of[k]]);
    }

    static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
    Centres centres;
    PointTree<float> index;
    std::vector<std::uint32_t> place;  // by row: its point
    std::vector<float> sizes;          // by row
};

Neighbours::Neighbours(const GaussianModel& model) : tree_(std::make_unique<Tree>(model)) {}
Neighbours::~Neighbours() = default;
Neighbours::Neighbours(Neighbours&&) noexcept = default;

Hits Neighbours::grown(const Flags& flags, double reach) const {
    CHECK(flags.size() == tree_->sizes.size(), "flags for every row");
    Hits hits(flags.size(), 0);
    parallel_for(flags.size(), kSearchGrain, [&](std::size_t row) {
        if (!is_selected(flags, row)) return;
        mark(hits, row);
        tree_->reached_by(row, reach, [&](std::size_t other) {
            if ((flags[other] & kHidden) == 0) mark(hits, other);
        });
    });
    return hits;
}

Hits Neighbours::shrunk(const Flags& flags, double reach) const {
    CHECK(flags.size() == tree_->sizes.size(), "flags for every row");
    Hits hits(flags.size(), 0);
    parallel_for(flags.size(), kSearchGrain, [&](std::size_t row) {
        if (!is_selected(flags, row)) return;
        bool inner = true;
        tree_->reached_by(row, reach, [&](std::size_t other) {
            inner = inner && (flags[other] & (kSelected | kHidden)) != 0;
        });
        hits[row] = inner ? 1 : 0;
    });
    return hits;
}

Result<Hits> Neighbours::connected(const Flags& flags, double reach,
                                   const Progress& progress) const {
    CHECK(flags.size() == tree_->sizes.size(), "flags for every row");
    Hits hits(flags.size(), 0);
    std::vector<std::uint32_t> front;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (is_selected(flags, i)) hits[i] = 1, front.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t done = 0; !front.empty();) {
        done += front.size();
        if (progress && !progress("following neighbours", done, flags.size()))
            return fail(ErrorKind::cancelled, "", "was cancelled");
        Hits next(flags.size(), 0);
        parallel_for(front.size(), kSearchGrain, [&](std::size_t k) {
            tree_->reached_by(front[k], reach, [&](std::size_t other) {
                if (hits[other] == 0 && (flags[other] & kHidden) == 0) mark(next, other);
            });
        });
        front.clear();
        for (std::size_t i = 0; i < next.size(); ++i)
            if (next[i] != 0) hits[i] = 1, front.push_back(static_cast<std::uint32_t>(i));
    }
    return hits;
}

}  // namespace gs
