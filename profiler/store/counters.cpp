#include "profiler/store/counters.h"

#include <algorithm>

namespace gs {
namespace {

std::uint64_t key_of(std::uint32_t process, std::uint32_t name) {
    return std::uint64_t{process} << 32 | name;
}

/// Points of a series come in order of time.
std::size_t count_before(const CounterSeries& series, std::int64_t t) {
    const auto points = series.points.view();
    const auto first = std::partition_point(points.begin(), points.end(),
                                            [t](const CounterPoint& p) { return p.time_ns < t; });
    return static_cast<std::size_t>(first - points.begin());
}

}  // namespace

void Counters::add(std::uint32_t process, std::uint32_t name, CounterPoint point,
                   std::size_t keep) {
    constexpr std::size_t kMaxSeries = 65536;
    const auto [place, added] = index_of_.try_emplace(key_of(process, name), series_.size());
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

std::size_t Counters::bytes_before(std::int64_t t) const {
    std::size_t points = 0;
    for (const CounterSeries& series : series_) points += count_before(series, t);
    return points * sizeof(CounterPoint);
}

void Counters::forget_before(std::int64_t t) {
    for (CounterSeries& series : series_) series.points.drop_front(count_before(series, t));
}

void Counters::renumber(const Renumbering& to) {
    std::erase_if(series_, [&](const CounterSeries& series) {
        return series.points.empty() || to.process(series.process) == kGone;
    });
    index_of_.clear();
    for (CounterSeries& series : series_) {
        series.process = to.process(series.process);
        series.name = to.name(series.name);
        index_of_.emplace(key_of(series.process, series.name), index_of_.size());
    }
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
