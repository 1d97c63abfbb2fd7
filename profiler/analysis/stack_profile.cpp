#include "profiler/analysis/stack_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>

#include "base/rng.h"

namespace gs {
namespace {

constexpr ProfileKind kKindOf[] = {ProfileKind::native, ProfileKind::python, ProfileKind::blocked};

auto identity(const ProfileNode& n) {
    return std::tie(n.parent, n.kind, n.name, n.file, n.module, n.line);
}

std::uint64_t hash_of(const ProfileNode& n) {
    return hash64(hash64(std::uint64_t{n.parent} << 32 | n.name) ^
                  (std::uint64_t{n.module} << 32 | n.line)) ^
           static_cast<std::uint64_t>(n.kind);
}

}  // namespace

bool StackFilter::takes(const SampledThread& t) const {
    return (!process || *process == t.process) && (!tid || *tid == t.tid);
}

bool StackFilter::takes(const StackSample& s) const {
    return s.time_ns >= range.begin_ns && s.time_ns <= range.end_ns &&
           (s.blocked ? blocked : on_cpu);
}

std::string thread_name(const TraceStore& store, std::uint32_t process, std::uint32_t tid) {
    const std::uint32_t track = store.timeline().threads().find(process, tid, TrackKind::thread);
    if (track != kNoTrack && !store.tracks()[track].name.empty()) return store.tracks()[track].name;
    const SampledThread* const sampled = store.samples().thread(process, tid);
    return sampled != nullptr && !sampled->name.empty() ? sampled->name
                                                        : fmt::format("thread {}", tid);
}

std::vector<std::uint32_t> ranges_at(const TraceStore& store, std::uint32_t process,
                                     std::uint32_t tid, std::int64_t time) {
    std::vector<std::uint32_t> out;
    const std::uint32_t track = store.timeline().threads().find(process, tid, TrackKind::thread);
    if (track == kNoTrack) return out;
    for (const auto& row : store.tracks()[track].rows) {
        const auto spans = row.view();
        const auto next = std::ranges::upper_bound(spans, time, {}, &TraceSpan::begin_ns);
        if (next == spans.begin() || (next - 1)->end_ns <= time) break;
        out.push_back((next - 1)->name);
    }
    return out;
}

std::vector<std::uint32_t> frames_of(const SampleBook& book, std::uint32_t stack) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t n = stack; n != kNoStack; n = book.nodes()[n].parent)
        out.push_back(book.nodes()[n].frame);
    return out;
}

StackProfile::StackProfile(const TraceStore& store, const StackFilter& filter)
    : StackProfile(filter) {
    advance(store, std::numeric_limits<double>::infinity());
}

bool StackProfile::advance(const TraceStore& store, double budget_ms) {
    constexpr std::size_t kPiece = 256;  // between two looks at the clock
    const auto begin = std::chrono::steady_clock::now();
    const auto spent_ms = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count();
    };
    if (!threads_) choose_threads(store);
    for (; next_ < threads_->size(); ++next_) {
        Cursor& cursor = (*threads_)[next_];
        const SampledThread* thread = store.samples().thread(cursor.process, cursor.tid);
        if (thread == nullptr) continue;  // forgotten
        const auto samples = thread->samples.view();
        for (const StackSample& sample : samples.subspan(cursor.place_in(samples))) {
            if (filter_.takes(sample)) add(store, *thread, sample);
            cursor.looked_at = sample.time_ns == cursor.from_ns ? cursor.looked_at + 1 : 1;
            cursor.from_ns = sample.time_ns;
            if (++looked_at_ % kPiece == 0 && spent_ms() > budget_ms) return false;
        }
    }
    order();
    return true;
}

void StackProfile::choose_threads(const TraceStore& store) {
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
    threads_.emplace();
    for (const SampledThread& thread : store.samples().threads())
        if (filter_.takes(thread)) threads_->push_back({thread.process, thread.tid, kNever, 0});
}

/// Of the first sample that was not looked at yet.
std::size_t StackProfile::Cursor::place_in(std::span<const StackSample> samples) const {
    const auto [first, last] =
        std::ranges::equal_range(samples, from_ns, {}, &StackSample::time_ns);
    return static_cast<std::size_t>(first - samples.begin()) +
           std::min(looked_at, static_cast<std::size_t>(last - first));
}

std::uint32_t StackProfile::child(std::uint32_t parent, const ProfileNode& like) {
    ProfileNode made = like;
    made.parent = parent;
    std::vector<std::uint32_t>& same = children_of_[hash_of(made)];
    for (const std::uint32_t n : same)
        if (identity(nodes_[n]) == identity(made)) return n;
    same.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_[parent].children.push_back(same.back());
    nodes_.push_back(std::move(made));
    return same.back();
}

void StackProfile::add(const TraceStore& store, const SampledThread& thread,
                       const StackSample& sample) {
    const auto count = [&](std::uint32_t node) {
        ProfileNode& n = nodes_[node];
        (sample.blocked ? n.blocked_ns : n.cpu_ns) += sample.weight_ns;
        ++n.samples;
    };
    std::uint32_t node = 0;
    count(node);
    if (filter_.by_range)
        for (const std::uint32_t name :
             ranges_at(store, thread.process, thread.tid, sample.time_ns)) {
            ProfileNode like{.kind = ProfileKind::range, .name = name};
            count(node = child(node, like));
        }
    const std::vector<std::uint32_t> frames = frames_of(store.samples(), sample.stack);
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
        const StackFrame& frame = store.samples().frames()[*f];
        ProfileNode like{.kind = kKindOf[static_cast<std::size_t>(frame.kind)],
                         .name = frame.function,
                         .file = frame.file,
                         .module = frame.module,
                         .line = filter_.by_line ? frame.line : 0};
        count(node = child(node, like));
    }
    nodes_[node].self_ns += sample.weight_ns;
}

void StackProfile::order() {
    for (ProfileNode& node : nodes_)
        std::ranges::stable_sort(node.children, [&](std::uint32_t a, std::uint32_t b) {
            return nodes_[a].total_ns() > nodes_[b].total_ns();
        });
    children_of_.clear();
}

}  // namespace gs
