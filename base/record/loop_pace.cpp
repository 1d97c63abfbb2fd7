#include "base/record/loop_pace.h"

#include <algorithm>
#include <atomic>

#include "base/record/ring.h"

namespace gs::service {
namespace {

/// Fewer say too little.
constexpr std::uint32_t kLeastIntervals = 16;
/// Ticks of the service after a switch that count for neither: the GPU works off what was launched
/// before, buffers are made.
constexpr int kSettlingLooks = 6;

double median_of(float* values, std::uint32_t count) {
    if (count < kLeastIntervals) return 0;
    std::nth_element(values, values + count / 2, values + count);
    return static_cast<double>(values[count / 2]);
}

}  // namespace

void LoopPace::take(std::uint32_t lane, std::uint32_t name, std::uint64_t begin) noexcept {
    Loop* place = nullptr;
    for (Loop& l : loops_) {
        if (l.name == name && l.lane == lane) {
            place = &l;
            break;
        }
        if (place == nullptr || l.name == 0) place = &l;
    }
    if (place->name != name || place->lane != lane) {
        if (place->name != 0) return;  // no place: those that came first are the outer ones
        *place = {};
        place->lane = lane;
        place->name = name;
    }
    if (place->last != 0 && begin > place->last)
        place->intervals[place->count++ % kIntervals] = static_cast<float>(begin - place->last);
    place->last = begin;
}

void LoopPace::read_lane(const abi::Lane& lane, std::uint32_t number) noexcept {
    auto* lanes = const_cast<abi::Lane*>(&lane);
    const std::uint64_t head = std::atomic_ref(lanes->head).load(std::memory_order_acquire);
    const std::uint64_t room = lane.record_capacity / 2;  // the older half may be written over
    std::uint64_t from = heads_[number];
    heads_[number] = head;
    if (steady_ == 0 || room == 0) return;
    if (head - from > room) from = head - room;
    auto* base = reinterpret_cast<char*>(detail::ring_header()) + lane.records_offset;
    auto* words = reinterpret_cast<std::uint64_t*>(base);
    const auto word = [&](std::uint64_t i, std::uint64_t w) {
        return std::atomic_ref(words[4 * (i & (lane.record_capacity - 1)) + w])
            .load(std::memory_order_relaxed);
    };
    constexpr auto kSpan = static_cast<std::uint64_t>(abi::RecordKind::span);
    for (std::uint64_t i = from; i < head; ++i) {
        const std::uint64_t begin = word(i, 0), rest = word(i, 3);
        const bool outermost = (rest >> 32 & 0xFF) == kSpan && (rest >> 40 & 0xFF) == 0;
        if (outermost && begin >= steady_) take(number, static_cast<std::uint32_t>(rest), begin);
    }
}

std::optional<double> LoopPace::end_stretch() noexcept {
    std::optional<double> slower;
    double most = 0;
    for (Loop& l : loops_) {
        const std::uint32_t count = std::min(l.count, kIntervals);
        const double median = median_of(l.intervals, count);
        if (on_) {
            l.during = median;
            l.share = median * l.count;
        } else {
            if (l.before > 0 && l.during > 0 && median > 0 && l.share > most) {
                most = l.share;
                slower = l.during / (0.5 * (l.before + median)) - 1;
            }
            l.before = median;
            l.during = 0;
            if (median == 0) l = {};  // another may have its place
        }
        l.last = l.count = 0;
    }
    return slower;
}

std::optional<double> LoopPace::look(bool on) noexcept {
    abi::RingHeader* h = detail::ring_header();
    if (h == nullptr) return {};
    std::optional<double> slower;
    if (on != on_) {
        slower = end_stretch();
        on_ = on;
        looks_ = 0;
        steady_ = 0;
    }
    auto* lanes = reinterpret_cast<abi::Lane*>(reinterpret_cast<char*>(h) + h->lanes_offset);
    const std::uint32_t used =
        std::min(std::atomic_ref(h->lanes_used).load(std::memory_order_acquire), abi::kLaneCount);
    for (std::uint32_t i = 0; i < used; ++i)
        if (lanes[i].kind == static_cast<std::uint32_t>(abi::LaneKind::thread))
            read_lane(lanes[i], i);
    if (++looks_ == kSettlingLooks) steady_ = read_ticks();
    return slower;
}

}  // namespace gs::service
