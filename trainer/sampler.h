// Sampler: which training view comes next. Every epoch shows each view once, in an order shuffled
// from the seed and the epoch's number, so the count of draws is all its state and a resumed run
// sees the same views.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace gs {

class Sampler {
  public:
    Sampler() = default;
    Sampler(std::vector<std::size_t> views, std::uint64_t seed, std::uint64_t drawn = 0)
        : views_(std::move(views)), seed_(seed), drawn_(drawn) {
        if (!views_.empty()) shuffle();
    }
    std::uint64_t drawn() const { return drawn_; }
    /// Draws in which every view comes once.
    std::uint64_t epoch() const { return views_.size(); }
    /// Every view has come equally often now or before one of the last `batch` - 1 draws.
    bool began_epoch(std::uint64_t batch) const { return drawn_ % views_.size() < batch; }

    /// Index of the next view. There must be one.
    std::size_t next() {
        if (drawn_ % views_.size() == 0) shuffle();
        return order_[static_cast<std::size_t>(drawn_++ % views_.size())];
    }

  private:
    void shuffle() {
        const std::uint64_t epoch = drawn_ / views_.size();
        order_ = views_;
        for (std::size_t i = order_.size(); i > 1; --i)
            std::swap(order_[i - 1],
                      order_[static_cast<std::size_t>(random_bits(seed_, kStream + epoch, i) % i)]);
    }

    // Keeps these numbers apart from other users of the seed.
    static constexpr std::uint64_t kStream = 0x5A3B1E0000000000ull;
    std::vector<std::size_t> views_, order_;
    std::uint64_t seed_ = 0, drawn_ = 0;
};

}  // namespace gs
