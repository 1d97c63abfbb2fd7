// SlidingArray<T>: grows at the back, forgets at the front, and stays contiguous, so that it can be
// searched and handed out as a span. Rows of spans, histories and counters of the TraceStore are
// made of it. Large ones may lie on disk (base/spill.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/spill.h"

namespace gs {

template <class T>
class SlidingArray {
  public:
    void push_back(const T& value) {
        make_room(1);
        items_.push_back(value);
    }
    /// Puts values between those that are here: value(i) goes before what is now view()[places[i]],
    /// places ascending.
    template <class F>
    void insert(std::span<const std::size_t> places, F&& value) {
        make_room(places.size());
        std::size_t from = items_.size();
        items_.resize(from + places.size());
        for (std::size_t n = places.size(); n-- > 0;) {
            const std::size_t place = first_ + places[n];
            const auto at = [this](std::size_t i) {
                return items_.begin() + static_cast<std::ptrdiff_t>(i);
            };
            std::move_backward(at(place), at(from), at(from + n + 1));
            items_[place + n] = value(n);
            from = place;
        }
    }
    /// Forgets the oldest `n`. Memory is given back when three quarters of it are unused: amortised
    /// constant time per item.
    void drop_front(std::size_t n) {
        first_ += n < size() ? n : size();
        if (first_ < 64 || first_ * 2 < items_.size()) return;
        close_gap();
        if (items_.capacity() / 4 > items_.size()) shrink();
    }
    /// Keeps at most the newest `n`.
    void keep_newest(std::size_t n) {
        if (size() > n) drop_front(size() - n);
    }
    std::span<T> items() { return std::span<T>(items_).subspan(first_); }
    std::span<const T> view() const { return std::span<const T>(items_).subspan(first_); }
    std::size_t size() const { return items_.size() - first_; }
    bool empty() const { return size() == 0; }
    T& back() { return items_.back(); }
    const T& back() const { return items_.back(); }
    std::size_t bytes() const { return items_.capacity() * sizeof(T); }
    /// Of a large array at most 1/kSpare of its items are space for more.
    static constexpr std::size_t kSpare = 8;

  private:
    using Items = std::vector<T, SpillAllocator<T>>;
    /// Reuses the space of discarded items before the array grows, so that a sliding array keeps
    /// its size.
    void make_room(std::size_t n) {
        if (items_.size() + n <= items_.capacity()) return;
        if (first_ > 0 && first_ * 8 >= items_.size())
            close_gap();
        else if (items_.size() >= kLarge)  // a daemon's memory is counted: no doubling
            items_.reserve(items_.size() + std::max(n, items_.size() / kSpare));
    }
    static constexpr std::size_t kLarge = 4096;
    void close_gap() {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }
    void shrink() {
        Items fit;
        fit.reserve(items_.size() >= kLarge ? items_.size() + items_.size() / kSpare
                                            : 2 * items_.size());
        fit.insert(fit.end(), items_.begin(), items_.end());
        items_ = std::move(fit);
    }

    Items items_;
    std::size_t first_ = 0;
};

/// A copy of those that `keep` accepts.
template <class T, class Keep>
SlidingArray<T> filtered(const SlidingArray<T>& all, const Keep& keep) {
    SlidingArray<T> out;
    for (const T& item : all.view())
        if (keep(item)) out.push_back(item);
    return out;
}

}  // namespace gs
