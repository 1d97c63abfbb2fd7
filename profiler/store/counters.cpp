#include "profiler/store/counters.h"

namespace gs {

void Counters::add(std::uint32_t process, std::uint32_t name, CounterPoint point,
                   std::size_t keep) {
    constexpr std::size_t kMaxSeries = 1024;
    const auto [place, added] =
        index_of_.try_emplace(std::uint64_t{process} << 32 | name, series_.size());
    if (added) {
        if (series_.size() >= kMaxSeries) {
            index_of_.erase(place);
            return;
        }
        series_.push_back({name, process, {}});
    }
    SlidingArray<CounterPoint>& points = series_[place->second].points;
    points.push_back(point);
    points.keep_newest(keep);
}

std::size_t Counters::bytes() const {
    std::size_t total = 0;
    for (const CounterSeries& series : series_) total += series.points.bytes();
    return total;
}

Counters Counters::excerpt(std::int64_t begin, std::int64_t end) const {
    Counters out;
    for (const CounterSeries& c : series_)
        out.series_.push_back({c.name, c.process, filtered(c.points, [&](const CounterPoint& p) {
                                   return p.time_ns >= begin && p.time_ns <= end;
                               })});
    return out;
}

}  // namespace gs
