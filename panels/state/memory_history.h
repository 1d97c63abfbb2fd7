// MemoryHistory: memory use over time, for the Memory panel. Filled by the studio about once a
// second; bounded: when it is full, neighbours become one point with the larger values, so that no
// peak is lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gs {

class MemoryHistory {
  public:
    static constexpr std::size_t kMost = 2048;
    struct Point {
        double seconds = 0;       ///< since the studio began
        std::uint64_t known = 0;  ///< what the categories of host memory add up to, bytes
        std::uint64_t process = 0, device = 0;  ///< resident; allocated on the GPU. 0: unknown
    };
    /// Seconds must not fall.
    void add(Point point) {
        if (points_.size() >= kMost) halve();
        if (!points_.empty() && point.seconds - points_.back().seconds < 0.75 * interval_) {
            points_.back() = larger(points_.back(), point);
            return;
        }
        points_.push_back(point);
    }
    const std::vector<Point>& points() const { return points_; }

  private:
    static Point larger(const Point& a, const Point& b) {
        return {b.seconds, std::max(a.known, b.known), std::max(a.process, b.process),
                std::max(a.device, b.device)};
    }
    void halve() {
        for (std::size_t i = 0; i + 1 < points_.size(); i += 2)
            points_[i / 2] = larger(points_[i], points_[i + 1]);
        points_.resize(points_.size() / 2);
        interval_ *= 2;
    }
    std::vector<Point> points_;
    double interval_ = 1;  ///< seconds between points, about
};

}  // namespace gs
