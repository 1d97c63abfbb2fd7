#include "profiler/analysis/sample_columns.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::size_t kLooked = 10'000;  // samples in view, of a thread
constexpr std::int64_t kMostWeight = 60'000'000'000;

std::size_t first_from(std::span<const StackSample> samples, std::int64_t t) {
    const auto at = std::ranges::lower_bound(samples, t, {}, &StackSample::time_ns);
    return static_cast<std::size_t>(at - samples.begin());
}

std::int64_t floor_to(std::int64_t t, std::int64_t quantum) {
    return t - ((t % quantum) + quantum) % quantum;
}

/// The column that begins there; those before it are complete but for what reaches into them.
SampleColumn& column_at(std::vector<SampleColumn>& columns, std::int64_t begin,
                        std::int64_t quantum) {
    const auto at = std::ranges::lower_bound(columns, begin, {}, &SampleColumn::begin_ns);
    if (at != columns.end() && at->begin_ns == begin) return *at;
    SampleColumn made{.begin_ns = begin, .end_ns = begin + quantum};
    return *columns.insert(at, made);
}

}  // namespace

SampleRange samples_within(std::span<const StackSample> samples, std::int64_t t0, std::int64_t t1) {
    SampleRange out{first_from(samples, t0), first_from(samples, t1)};
    // The first one after may stand for a time before.
    if (out.last < samples.size() && samples[out.last].time_ns - samples[out.last].weight_ns < t1)
        ++out.last;
    return out;
}

std::vector<SampleBox> boxes_of(std::span<const StackSample> samples, SampleRange range) {
    std::vector<SampleBox> out;
    for (std::size_t i = range.first; i < range.last; ++i) {
        const StackSample& s = samples[i];
        const std::int64_t before = i > 0 ? samples[i - 1].time_ns : s.time_ns - s.weight_ns;
        out.push_back(
            {std::max(s.time_ns - s.weight_ns, before), s.time_ns, static_cast<std::uint32_t>(i)});
    }
    return out;
}

std::vector<SampleColumn> columns_of(std::span<const StackSample> samples, SampleRange range,
                                     std::int64_t quantum) {
    std::vector<SampleColumn> out;
    const std::size_t step = (range.last - range.first) / kLooked + 1;
    for (std::size_t i = range.first; i < range.last; i += step) {
        const std::size_t last = std::min(i + step, range.last) - 1;
        const StackSample& s = samples[last];
        const auto standing = static_cast<std::uint32_t>(last - i + 1);
        SampleColumn& own = column_at(out, floor_to(s.time_ns, quantum), quantum);
        if (own.count == 0) own.first = static_cast<std::uint32_t>(i);
        own.count += standing;
        const std::int64_t weight = std::min(s.weight_ns * standing, kMostWeight);
        const std::int64_t from = s.time_ns - std::min(weight, quantum * 4096);
        for (std::int64_t t = floor_to(from, quantum); t < s.time_ns; t += quantum) {
            SampleColumn& column = column_at(out, t, quantum);
            const auto part =
                static_cast<float>(std::min(s.time_ns, t + quantum) - std::max(from, t)) /
                static_cast<float>(quantum);
            (s.blocked ? column.blocked : column.on_cpu) += part;
        }
    }
    for (SampleColumn& column : out) {
        column.on_cpu = std::min(column.on_cpu, 1.0F);
        column.blocked = std::min(column.blocked, 1.0F - column.on_cpu);
    }
    return out;
}

}  // namespace gs
