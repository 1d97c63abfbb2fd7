#include "profiler/files/import_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/files/free_memory.h"
#include "profiler/files/import_delivery.h"
#include "profiler/files/import_pairing.h"

namespace gs {
namespace {

constexpr std::size_t kMaxTracks = 65536;
/// What an event takes at most until it is in the store, there included.
constexpr std::size_t kBytesPerEvent = 256;

}  // namespace

void ImportNotes::skip_at(const std::string& what, std::uint64_t byte) {
    Skipped& of = skipped_[what];
    if (of.count++ == 0) of.byte = byte;
}

void ImportNotes::pass_over(const std::string& what) {
    Skipped& of = skipped_[what];
    ++of.count;
    of.missed = false;
}

void ImportNotes::cut(std::string why) {
    cut_ = true;
    note(std::move(why));
}

void ImportNotes::summarize(ImportSummary& summary, const std::vector<std::string>& more) const {
    summary.cut = cut_;
    for (const auto& [what, of] : skipped_) {
        summary.skipped += of.count;
        summary.lost += of.missed ? of.count : 0;
        summary.notes.push_back(fmt::format("skipped: {} {}", of.count, what));
        if (of.byte) summary.notes.back() += fmt::format(" (the first at byte {})", *of.byte);
    }
    summary.notes.insert(summary.notes.end(), more.begin(), more.end());
    summary.notes.insert(summary.notes.end(), texts_.begin(), texts_.end());
}

ImportedProcess& ImportedTrace::process(std::uint32_t pid) {
    const auto [place, added] = processes.try_emplace(pid);
    if (added) order.push_back(pid);
    return place->second;
}

std::uint32_t ImportEvents::add_track() {
    if (trace_.tracks.size() >= kMaxTracks) return kNoTrack;
    trace_.tracks.emplace_back();
    trace_.tracks.back().info.track = static_cast<std::uint32_t>(trace_.tracks.size() - 1);
    return trace_.tracks.back().info.track;
}

void ImportedProcess::take(ImportedProcess& other) {
    const auto append = [](auto& into, auto& from) {
        into.insert(into.end(), std::make_move_iterator(from.begin()),
                    std::make_move_iterator(from.end()));
        from.clear();
    };
    TraceBatch& from = other.batch;
    append(batch.gpu_work, from.gpu_work);
    append(batch.api_calls, from.api_calls);
    append(batch.syncs, from.syncs);
    append(batch.memory, from.memory);
    append(batch.counters, from.counters);
    append(batch.devices, from.devices);
    if (batch.process_name.empty()) batch.process_name = std::exchange(from.process_name, {});
    if (batch.labels.empty()) batch.labels = std::exchange(from.labels, {});
}

bool ImportEvents::has_others(std::uint32_t pid) const {
    const auto is_other = [pid](std::uint32_t of) { return of != 0 && of != pid; };
    return std::ranges::any_of(trace_.tracks,
                               [&](const auto& track) { return is_other(track.info.pid); }) ||
           std::ranges::any_of(trace_.processes, [&](const auto& process) {
               return is_other(process.first) && !process.second.empty();
           });
}

std::uint32_t ImportEvents::name(std::string_view text, std::string_view domain) {
    const auto next = static_cast<std::uint32_t>(trace_.names.size() + 1);
    std::string key(text);
    if (!domain.empty()) key.append(1, '\x1f').append(domain);
    const auto [place, added] = id_of_name_.try_emplace(std::move(key), next);
    if (added) trace_.names.push_back({next, std::string(text), std::string(domain)});
    return place->second;
}

std::uint8_t ImportEvents::category(std::string_view text, std::string_view domain) {
    constexpr std::size_t kMost = 255;
    if (categories_.size() >= kMost) return 0;
    const auto number = static_cast<std::uint8_t>(categories_.size() + 1);
    const auto [place, added] =
        categories_.try_emplace({std::string(text), std::string(domain)}, number);
    if (added) {
        const auto id = static_cast<std::uint32_t>(trace_.names.size() + 1);
        trace_.names.push_back({id, std::string(text), std::string(domain), 0, number});
    }
    return place->second;
}

ImportEvents::ImportEvents(const ImportOptions& options)
    : options_(options), most_by_memory_(free_memory(options.max_bytes) / kBytesPerEvent) {}

bool ImportEvents::full() {
    const std::size_t most = std::min(options_.max_events, most_by_memory_);
    if (events_ < most) return ++events_, false;
    notes.skip(fmt::format("events beyond the first {}{}", most,
                           most == most_by_memory_ ? ": not enough memory for more" : ""));
    return true;
}

void ImportEvents::add(std::uint32_t track, const ImportedEvent& event) {
    if (track >= trace_.tracks.size())
        notes.skip("events on tracks beyond the first " + std::to_string(kMaxTracks));
    else if (!full())
        trace_.tracks[track].events.push_back(event);
}

std::uint32_t ImportEvents::add_values(std::vector<RangeValueEvent> values) {
    if (values.empty() || full()) return 0;
    trace_.values.push_back(std::move(values));
    return static_cast<std::uint32_t>(trace_.values.size());
}

void ImportEvents::add_instant(const InstantEvent& event) {
    if (!full()) trace_.instants.push_back(event);
}

void ImportEvents::add_work(std::uint32_t pid, const GpuWorkEvent& work, std::uint64_t event) {
    if (full()) return;
    std::vector<GpuWorkEvent>& all = process(pid).batch.gpu_work;
    if (event != 0) trace_.work_events.emplace_back(event, pid, all.size());
    all.push_back(work);
}

void ImportEvents::add_sample(std::uint32_t pid, SampleEvent sample,
                              std::span<const FrameEvent> frames) {
    if (full()) return;
    ImportedProcess& of = process(pid);
    sample.stack = of.stack_builder.add(of.batch, frames);
    of.batch.samples.push_back(sample);
}

void ImportEvents::join(std::uint32_t track, std::uint32_t into) {
    Pairing found = pair_events(trace_.tracks[track].events, TrackKind::overlapping, 0);
    if (found.ends_alone > 0) notes.skip("ends without a begin", found.ends_alone);
    for (std::vector<ImportedEvent>* from : {&trace_.tracks[track].events, &found.open})
        for (ImportedEvent& event : *from) {
            event.kind = ImportedEvent::Kind::whole;
            event.depth = 0;
            trace_.tracks[into].events.push_back(event);
        }
    trace_.tracks[track].events = {};
    trace_.tracks[track].joined = true;
}

std::uint64_t ImportEvents::add_submission(const std::vector<std::uint64_t>& events) {
    constexpr std::uint64_t kFirst = 1ull << 62;  // far from the numbers that files give
    const std::uint64_t flow = kFirst + ++flows_;
    for (const std::uint64_t event : events) trace_.submissions.emplace_back(event, flow);
    return flow;
}

ImportSummary ImportEvents::finish(TraceStore& store) {
    return ImportDelivery(std::move(trace_), clock, options_, notes).deliver(store);
}

}  // namespace gs
