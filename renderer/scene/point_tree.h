// The nearest of many points: a k-d tree (nanoflann) over positions. For whoever asks for
// neighbours: first sizes, merging, growing selections, scores of sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nanoflann.hpp>
#include <span>

#include "base/vec.h"

namespace gs {

/// T: float or double. May be asked from many threads at once.
template <class T>
class PointTree {
  public:
    /// `points`: finite; stay where they are for as long as the tree is asked.
    explicit PointTree(std::span<const Vec3<T>> points)
        : cloud_{points}, index_(3, cloud_, nanoflann::KDTreeSingleIndexAdaptorParams(16)) {}
    PointTree(const PointTree&) = delete;
    PointTree& operator=(const PointTree&) = delete;

    /// The `count` nearest to `to`, nearest first, a point at that very place among them: which
    /// they are and the squares of their distances, each with space for `count`. How many there
    /// are.
    std::size_t nearest(Vec3<T> to, std::size_t count, std::uint32_t* rows, T* squared) const {
        const T query[3] = {to.x, to.y, to.z};
        return index_.knnSearch(query, count, rows, squared);
    }

  private:
    struct Cloud {
        std::span<const Vec3<T>> points;
        std::size_t kdtree_get_point_count() const { return points.size(); }
        T kdtree_get_pt(std::size_t i, std::size_t axis) const {
            return axis == 0 ? points[i].x : axis == 1 ? points[i].y : points[i].z;
        }
        template <class Box>
        bool kdtree_get_bbox(Box&) const {
            return false;
        }
    };

    Cloud cloud_;
    nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<T, Cloud>, Cloud, 3,
                                        std::uint32_t>
        index_;
};

}  // namespace gs
