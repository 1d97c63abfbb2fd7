// Renumbering: what processes, tracks and names are called after some of them went.
// TraceStore::retire() makes one and every part of the store follows it; nobody else renumbers
// anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gs {

inline constexpr std::uint32_t kGone = ~0u;  ///< as kNoTrack: an index that is none

/// New numbers by the old ones, in the same order.
class NewNumbers {
  public:
    /// All stay: of nothing the number changes.
    NewNumbers() = default;
    explicit NewNumbers(const std::vector<bool>& stays) : all_stay_(false) {
        for (const bool stay : stays) new_of_.push_back(stay ? count_++ : kGone);
    }
    /// kGone for what goes, and for what was none.
    std::uint32_t operator()(std::uint32_t old) const {
        if (all_stay_) return old;
        return old < new_of_.size() ? new_of_[old] : kGone;
    }
    bool stays(std::size_t old) const { return (*this)(static_cast<std::uint32_t>(old)) != kGone; }
    bool all_stay() const { return all_stay_ || count_ == new_of_.size(); }

  private:
    std::vector<std::uint32_t> new_of_;
    std::uint32_t count_ = 0;
    bool all_stay_ = true;
};

struct Renumbering {
    NewNumbers process, track, name;
};

/// Leaves out the items of `list` whose index goes.
template <class T>
void keep_those(std::vector<T>& list, const NewNumbers& number) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < list.size(); ++from) {
        if (!number.stays(from)) continue;
        if (to != from) list[to] = std::move(list[from]);
        ++to;
    }
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(to), list.end());
}

}  // namespace gs
