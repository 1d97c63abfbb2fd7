// Draws the timeline's spans: their colours, and rows of any number of spans in at most a few
// rectangles per pixel. Spans too small to distinguish are merged on a grid fixed in time, so that
// recorded spans look the same while the view moves. Used by the timeline's files only.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "panels/widgets/theme.h"
#include "profiler/analysis/intervals.h"
#include "profiler/store/store.h"

namespace gs {

/// The timeline's drawing area on the screen and in time.
struct TimelineCanvas {
    float x = 0, y = 0, w = 0, h = 0;  ///< spans' region on the screen
    float labels = 0;                  ///< width of the names at its left
    double ns_per_px = 1;
    std::int64_t begin = 0, end = 0;
    ImDrawList* list = nullptr;
    bool hovered = false;
    float x_of(std::int64_t t) const {
        return x + static_cast<float>(static_cast<double>(t - begin) / ns_per_px);
    }
    std::int64_t time_at(float px) const {
        return begin + static_cast<std::int64_t>(static_cast<double>(px - x) * ns_per_px);
    }
    /// Screen coordinates, kept within reach of the region: floats far outside lose their digits.
    float clamped_x(std::int64_t t) const { return std::clamp(x_of(t), x - 8, x + w + 8); }
    float right() const { return x + w; }
    float bottom() const { return y + h; }
};

/// One span, or several that are too small to tell apart.
struct SpanBlock {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t first = 0, count = 1;
    std::uint32_t name = 0;  ///< where several: of the one with the most time among some of them
    float busy =
        1;  ///< share of the block's time that spans take; where many: measured on some of them
};

/// The share of a block's recorded time that spans take: a pause of recording is not idle time.
float recorded_share(const SpanBlock& block, std::span<const Interval> unrecorded);

/// The grid step of merged spans: the power of two at or above a pixel's time.
inline std::int64_t block_quantum(double ns_per_px) {
    std::int64_t quantum = 1;
    while (static_cast<double>(quantum) < ns_per_px && quantum < (std::int64_t{1} << 60))
        quantum *= 2;
    return quantum;
}

/// The first of `items` from `first` on that begins at or after `edge`. Most blocks are about as
/// long as the last, `guess` items: this looks there before it searches everywhere, since each
/// access to distant memory is expensive.
template <class Item, class SpanOf>
std::size_t first_at_edge(std::span<const Item> items, std::size_t first, std::size_t guess,
                          std::int64_t edge, SpanOf& span_of) {
    const auto before = [&](std::size_t i) { return span_of(items[i]).begin_ns < edge; };
    const std::size_t end = items.size();
    std::size_t low = first, high = std::min(first + guess, end), step = 2;
    if (high < end && before(high)) {
        for (low = high; high < end && before(high); high = std::min(high + step, end), step *= 2)
            low = high;
    } else {
        for (low = high; low > first && !before(low - 1);
             low = std::max(low - std::min(step, low), first), step *= 2)
            high = low;
    }
    const auto found = std::lower_bound(
        items.begin() + static_cast<std::ptrdiff_t>(low),
        items.begin() + static_cast<std::ptrdiff_t>(high), edge,
        [&](const Item& item, std::int64_t t) { return span_of(item).begin_ns < t; });
    return static_cast<std::size_t>(found - items.begin());
}

/// Names a block of several after the one with the most time, and estimates how much of it they
/// take, from a few of its items.
template <class Item, class SpanOf>
void describe_block(SpanBlock& block, std::span<const Item> items, std::int64_t quantum,
                    SpanOf& span_of) {
    constexpr std::size_t kSamples = 12;
    std::array<std::pair<std::uint32_t, std::int64_t>, kSamples> seen{};
    std::size_t names = 0, most = 0;
    // Neighbours from its middle: they share cache lines, and there are thousands of blocks.
    const std::size_t samples = std::min<std::size_t>(block.count, kSamples);
    std::int64_t busy = 0;
    for (const Item& item : items.subspan((items.size() - samples) / 2, samples)) {
        const TraceSpan& s = span_of(item);
        busy += s.length_ns();
        std::size_t n = 0;
        while (n < names && seen[n].first != s.name) ++n;
        if (n == names) seen[names++] = {s.name, 0};
        seen[n].second += s.length_ns();
        if (seen[n].second > seen[most].second) most = n;
    }
    block.name = seen[most].first;
    const double all = static_cast<double>(busy) * block.count / static_cast<double>(samples);
    const auto length =
        static_cast<double>(std::max<std::int64_t>(block.end_ns - block.begin_ns, quantum));
    block.busy = static_cast<float>(std::clamp(all / length, 0.0, 1.0));
}

/// Where the grid step of `t` begins.
inline std::int64_t on_grid(std::int64_t t, std::int64_t quantum) {
    return t - ((t % quantum) + quantum) % quantum;
}

/// Appends the blocks of `items`, ordered and disjoint, that overlap [t0, t1]. `span_of(item)` is
/// its TraceSpan. O(blocks * log(items)).
template <class Item, class SpanOf>
void blocks_of(std::span<const Item> items, std::int64_t t0, std::int64_t t1, std::int64_t quantum,
               SpanOf&& span_of, std::vector<SpanBlock>& out) {
    std::size_t guess = 4;
    const auto begin = std::upper_bound(
        items.begin(), items.end(), on_grid(t0, quantum),
        [&](std::int64_t t, const Item& item) { return t < span_of(item).end_ns; });
    std::size_t at = static_cast<std::size_t>(begin - items.begin());
    while (at < items.size() && span_of(items[at]).begin_ns <= t1) {
        const TraceSpan& first = span_of(items[at]);
        SpanBlock block{
            first.begin_ns, first.end_ns, static_cast<std::uint32_t>(at), 1, first.name, 1};
        std::size_t next = at + 1;
        if (first.length_ns() < quantum) {
            next = first_at_edge(items, next, guess, on_grid(first.begin_ns, quantum) + quantum,
                                 span_of);
            guess = next - at;
            // The last to begin here may be long: it is drawn by itself.
            if (next - at > 1 && span_of(items[next - 1]).length_ns() >= quantum) --next;
            block.count = static_cast<std::uint32_t>(next - at);
            block.end_ns = span_of(items[next - 1]).end_ns;
        }
        if (block.count > 1)
            describe_block(block, items.subspan(at, block.count), quantum, span_of);
        out.push_back(block);
        at = next;
    }
}

/// Cached by name: colours are looked up tens of thousands of times per frame.
class SpanColors {
  public:
    ImU32 of(const TraceStore& trace, TrackKind kind, std::uint32_t name);
    void forget() { known_ = {}; }

  private:
    std::array<std::vector<ImU32>, 3> known_;  // ranges, calls, GPU
};

/// A kernel's or range's name without return type, template arguments, parameters and
/// namespaces.
std::string short_name(std::string_view name);

/// A fixed colour for an unknown name, darker than the stages' colours.
ImU32 name_color(std::string_view name);

}  // namespace gs
