// Draws the timeline's spans: their colours, and rows of any number of spans in at most a few
// rectangles per pixel. Spans too small to distinguish are merged on a grid fixed in time, so that
// recorded spans look the same while the view moves. Used by the timeline's files only.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
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

/// The share of a block's recorded time that spans take: a pause of recording is not idle
/// time.
float recorded_share(const SpanBlock& block, std::span<const Interval> unrecorded);

/// The grid step of merged spans: the power of two at or above a pixel's time.
inline std::int64_t block_quantum(double ns_per_px) {
    std::int64_t quantum = 1;
    while (static_cast<double>(quantum) < ns_per_px && quantum < (std::int64_t{1} << 60))
        quantum *= 2;
    return quantum;
}

/// Appends the blocks of `items`, ordered and disjoint, that overlap [t0, t1]. `span_of(item)` is
/// its TraceSpan. O(blocks * log(items)).
template <class Item, class SpanOf>
void blocks_of(std::span<const Item> items, std::int64_t t0, std::int64_t t1, std::int64_t quantum,
               SpanOf&& span_of, std::vector<SpanBlock>& out) {
    constexpr std::size_t kSamples = 12;
    const std::int64_t from = t0 - ((t0 % quantum) + quantum) % quantum;
    std::ptrdiff_t guess = 4;
    auto at = std::upper_bound(
        items.begin(), items.end(), from,
        [&](std::int64_t t, const Item& item) { return t < span_of(item).end_ns; });
    while (at != items.end() && span_of(*at).begin_ns <= t1) {
        const TraceSpan& first = span_of(*at);
        SpanBlock block{first.begin_ns,
                        first.end_ns,
                        static_cast<std::uint32_t>(at - items.begin()),
                        1,
                        first.name,
                        1};
        auto next = at + 1;
        if (first.length_ns() < quantum) {
            const std::int64_t edge =
                first.begin_ns - ((first.begin_ns % quantum) + quantum) % quantum + quantum;
            // Most blocks are about as long as the last: look there before searching everywhere,
            // since each access to distant memory is expensive.
            const std::ptrdiff_t room = items.end() - next;
            const auto before = [&](std::ptrdiff_t i) { return span_of(next[i]).begin_ns < edge; };
            std::ptrdiff_t low = 0, high = std::min(guess, room), step = 2;
            if (high < room && before(high)) {
                for (low = high; high < room && before(high);
                     high = std::min(high + step, room), step *= 2)
                    low = high;
            } else {
                for (low = high; low > 0 && !before(low - 1);
                     low = std::max<std::ptrdiff_t>(low - step, 0), step *= 2)
                    high = low;
            }
            next = std::lower_bound(
                next + low, next + high, edge,
                [&](const Item& item, std::int64_t t) { return span_of(item).begin_ns < t; });
            guess = next - at;
            // The last to begin here may be long: it is drawn by itself.
            if (next - at > 1 && span_of(*(next - 1)).length_ns() >= quantum) --next;
            block.count = static_cast<std::uint32_t>(next - at);
            block.end_ns = span_of(*(next - 1)).end_ns;
        }
        if (block.count > 1) {
            std::array<std::pair<std::uint32_t, std::int64_t>, kSamples> seen{};
            std::size_t names = 0, most = 0;
            // Neighbours from its middle: they share cache lines, and there are thousands of
            // blocks.
            const std::size_t samples = std::min<std::size_t>(block.count, kSamples);
            std::int64_t busy = 0;
            for (std::size_t k = 0; k < samples; ++k) {
                const TraceSpan& s =
                    span_of(at[static_cast<std::ptrdiff_t>((block.count - samples) / 2 + k)]);
                busy += s.length_ns();
                std::size_t n = 0;
                while (n < names && seen[n].first != s.name) ++n;
                if (n == names) seen[names++] = {s.name, 0};
                seen[n].second += s.length_ns();
                if (seen[n].second > seen[most].second) most = n;
            }
            block.name = seen[most].first;
            const double all =
                static_cast<double>(busy) * block.count / static_cast<double>(samples);
            const auto length =
                static_cast<double>(std::max<std::int64_t>(block.end_ns - block.begin_ns, quantum));
            block.busy = static_cast<float>(std::clamp(all / length, 0.0, 1.0));
        }
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
