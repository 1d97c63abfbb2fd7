// LoopLane: what repeats on one row of one thread. Keeps a tally of every name of the row, O(1) a
// range, and judges from the tallies which name comes once in each turn of a loop: by the order of
// the names, never by how long anything takes. A part of the LoopFinder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/store/name_book.h"
#include "profiler/store/timeline.h"

namespace gs {

enum class LoopKind : std::uint8_t {
    loop,       ///< of training, by its names
    recurring,  ///< something repeats, and no name says what it is
    requests,   ///< by its names
};

/// A loop as one row shows it. The marker is the name that is counted.
struct FoundLoop {
    std::uint64_t marker = 0;            ///< NameNumbers::key()
    std::uint64_t bare = 0;              ///< its key once all of its digits count
    std::vector<std::uint64_t> members;  ///< they come once in each turn, like the marker
    std::string name;                    ///< of the marker
    LoopKind kind = LoopKind::recurring;
    bool ends_turn = false;  ///< the marker is the last of its turn, not the first
    bool updates = false;    ///< an optimizer is among several members
    /// 1: names of requests, or of data only; 2: none that says anything; 3: of training; 4, 5:
    /// the hook's loader, its optimizer.
    int standing = 2;
    double confidence = 0;
    std::uint64_t turns = 0;    ///< as of the newest look
    std::int64_t first_ns = 0;  ///< when the first marker began
    std::uint32_t track = kNoTrack;
    std::size_t row = 0;
    bool is_training() const { return standing >= 3; }
};

class LoopLane {
  public:
    static constexpr std::size_t kMostNames = 128;
    static constexpr std::size_t kRing = 64;
    struct Tally {
        std::uint64_t key = 0;   ///< NameNumbers::key()
        std::uint64_t bare = 0;  ///< the same, without any digits
        std::string text;
        std::uint16_t words = 0;  ///< of name_words.h
        std::uint64_t count = 0;
        std::int64_t first_ns = 0, last_ns = 0;  ///< begins
        std::int64_t busy_ns = 0;
        std::array<std::uint64_t, kRing> ring{};  ///< which ranges of the row, the newest
        std::uint64_t last() const { return ring[(count - 1) % kRing]; }
        std::uint64_t oldest() const { return ring[count < kRing ? 0 : count % kRing]; }
        std::size_t kept() const { return count < kRing ? count : kRing; }
        bool has(std::uint16_t any) const { return (words & any) != 0; }
    };

    /// True: it is time to judge. `calm`: a loop is known, so that a look a second is enough.
    bool take(const NameBook& names, const TraceSpan& span, bool calm);
    /// The loop of this row; none: not known.
    std::optional<FoundLoop> judge() const;

    const Tally* find(std::uint64_t key) const;
    /// It came within `gaps` of its usual gaps.
    bool is_live(const Tally& tally, double gaps = 4) const;
    /// Its share of the row's ranges, of late.
    double pace(const Tally& tally) const;
    const std::vector<Tally>& tallies() const { return tallies_; }
    std::uint64_t ranges() const { return ranges_; }
    std::int64_t busy_ns() const { return busy_ns_; }
    std::size_t bytes() const;

  private:
    Tally* admit(const NameBook& names, std::uint32_t name, std::uint64_t key);
    void merge_into(Tally& whole);
    bool make_space(bool for_training);
    void remove(std::size_t tally);
    void index();

    static constexpr std::uint8_t kNone = 255;
    std::vector<Tally> tallies_;
    std::array<std::uint8_t, 2 * kMostNames> places_ = filled();  // by key, open addressing
    std::uint64_t ranges_ = 0;
    std::uint64_t next_look_ = 12, refuses_until_ = 0;
    std::int64_t busy_ns_ = 0, looked_ns_ = 0;

    static constexpr std::array<std::uint8_t, 2 * kMostNames> filled() {
        std::array<std::uint8_t, 2 * kMostNames> out{};
        for (std::uint8_t& place : out) place = kNone;
        return out;
    }
};

}  // namespace gs
