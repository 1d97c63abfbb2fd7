#include "profiler/store/loop_lane.h"

#include <algorithm>
#include <utility>

namespace gs {
namespace {

constexpr std::uint64_t kForgotten = 4096;  ///< ranges after which a name may give its place up
constexpr std::uint64_t kLeastBetweenLooks = 12, kMostBetweenLooks = 2048;
constexpr std::uint64_t kEarly = 4096;  ///< ranges of which no look is put off
constexpr std::int64_t kCalmNs = 1'000'000'000;
constexpr std::uint64_t kRefusals = 64;  ///< ranges before the next search for a place

}  // namespace

const LoopLane::Tally* LoopLane::find(std::uint64_t key) const {
    for (std::size_t at = key % places_.size();; at = (at + 1) % places_.size()) {
        if (places_[at] == kNone) return nullptr;
        if (tallies_[places_[at]].key == key) return &tallies_[places_[at]];
    }
}

void LoopLane::index() {
    places_.fill(kNone);
    for (std::size_t t = 0; t < tallies_.size(); ++t) {
        std::size_t at = tallies_[t].key % places_.size();
        while (places_[at] != kNone) at = (at + 1) % places_.size();
        places_[at] = static_cast<std::uint8_t>(t);
    }
}

void LoopLane::remove(std::size_t tally) {
    if (tally + 1 != tallies_.size()) tallies_[tally] = std::move(tallies_.back());
    tallies_.pop_back();
}

/// For one more name: one that has not come for long leaves. A name of training may replace any
/// other.
bool LoopLane::make_space(bool for_training) {
    if (tallies_.size() < kMostNames) return true;
    if (!for_training && ranges_ < refuses_until_) return false;
    const auto rarest = [&](auto&& may_leave) {
        auto out = tallies_.end();
        for (auto t = tallies_.begin(); t != tallies_.end(); ++t)
            if (may_leave(*t) && (out == tallies_.end() || t->count < out->count)) out = t;
        return out;
    };
    auto leaves = rarest([&](const Tally& t) { return ranges_ - t.last() > kForgotten; });
    if (leaves == tallies_.end() && for_training)
        leaves = rarest([](const Tally& t) { return !t.has(kTrainingWords); });
    if (leaves == tallies_.end()) {
        refuses_until_ = ranges_ + kRefusals;
        return false;
    }
    remove(static_cast<std::size_t>(leaves - tallies_.begin()));
    return true;
}

/// Spellings that had tallies of their own until their digits were known to count.
void LoopLane::merge_into(Tally& whole) {
    std::vector<std::uint64_t> ring;
    for (std::size_t t = tallies_.size(); t-- > 0;) {
        const Tally& part = tallies_[t];
        if (part.bare != whole.bare) continue;
        whole.first_ns = whole.count == 0 ? part.first_ns : std::min(whole.first_ns, part.first_ns);
        whole.last_ns = std::max(whole.last_ns, part.last_ns);
        whole.busy_ns += part.busy_ns;
        whole.count += part.count;
        ring.insert(ring.end(), part.ring.begin(),
                    part.ring.begin() + static_cast<std::ptrdiff_t>(part.kept()));
        remove(t);
    }
    std::sort(ring.begin(), ring.end());
    const std::size_t kept = std::min(ring.size(), kRing);
    for (std::size_t i = 0; i < kept; ++i)
        whole.ring[(whole.count - kept + i) % kRing] = ring[ring.size() - kept + i];
}

LoopLane::Tally* LoopLane::admit(const NameBook& names, std::uint32_t name, std::uint64_t key) {
    Tally added{.key = key,
                .bare = names.numbers().bare(name),
                .text = starred(names.text(name), names.numbers().digits(name))};
    added.words = names.words(name);
    if (added.bare == key) merge_into(added);
    // What was merged has left its space.
    if (!make_space(added.has(kTrainingWords))) return nullptr;
    tallies_.push_back(std::move(added));
    index();
    return &tallies_.back();
}

bool LoopLane::take(const NameBook& names, const TraceSpan& span, bool calm) {
    const std::uint64_t key = names.numbers().key(span.name);
    auto* tally = const_cast<Tally*>(std::as_const(*this).find(key));
    if (tally == nullptr && (tallies_.size() < kMostNames || ranges_ >= refuses_until_ ||
                             (names.words(span.name) & kTrainingWords) != 0))
        tally = admit(names, span.name, key);
    ++ranges_;
    busy_ns_ += span.length_ns();
    if (tally != nullptr) {
        if (tally->count == 0) tally->first_ns = span.begin_ns;
        tally->last_ns = span.begin_ns;
        tally->busy_ns += span.length_ns();
        tally->ring[tally->count++ % kRing] = ranges_;
    }
    if (ranges_ < next_look_ || (calm && ranges_ > kEarly && span.end_ns - looked_ns_ < kCalmNs))
        return false;
    next_look_ = ranges_ + std::clamp(ranges_ / 2, kLeastBetweenLooks, kMostBetweenLooks);
    looked_ns_ = span.end_ns;
    return true;
}

bool LoopLane::is_live(const Tally& tally, double gaps) const {
    const std::size_t kept = tally.kept();
    if (kept < 2) return ranges_ - tally.last() <= 16;
    const double gap =
        static_cast<double>(tally.last() - tally.oldest()) / static_cast<double>(kept - 1);
    return static_cast<double>(ranges_ - tally.last()) <= std::max(16.0, gaps * gap);
}

std::size_t LoopLane::bytes() const {
    std::size_t total = sizeof(*this) + tallies_.capacity() * sizeof(Tally);
    for (const Tally& t : tallies_) total += t.text.capacity();
    return total;
}

double LoopLane::pace(const Tally& tally) const {
    const std::uint64_t since = std::max<std::uint64_t>(ranges_ - tally.oldest(), 1);
    return static_cast<double>(tally.kept() - 1) / static_cast<double>(since);
}

}  // namespace gs
