#include "profiler/files/perfetto_stacks.h"

#include <algorithm>

#include "base/rng.h"
#include "profiler/analysis/stack_profile.h"

namespace gs::perfetto {
namespace {

enum StackField : std::uint32_t {
    kFunctionNames = 5,
    kFrames = 6,
    kCallstacks = 7,
    kMappingPaths = 17,
    kSourcePaths = 18,
    kMappings = 19
};
/// Of Frame.Kind, by FrameKind: native, interpreted, kernel.
constexpr std::uint64_t kKinds[] = {1, 3, 2};
constexpr std::uint32_t kWeight = 1000;  // our own: nanoseconds that a sample stands for
constexpr std::size_t kMostFrames = 512;
constexpr std::int64_t kMostWeight = 60'000'000'000;  // the sum over all samples of a file fits

InternedField as_interned(StackField field) { return static_cast<InternedField>(field); }

/// A text under its number in the NameBook, from 1.
std::uint64_t intern_text_of(Sequence& out, StackField field, const TraceStore& store,
                             std::uint32_t name) {
    out.intern_text(as_interned(field), name + std::uint64_t{1}, store.name(name));
    return name + std::uint64_t{1};
}

void intern_frame(Sequence& out, const TraceStore& store, std::uint32_t index) {
    const StackFrame& frame = store.samples().frames()[index];
    const std::uint64_t function = intern_text_of(out, kFunctionNames, store, frame.function);
    const std::uint64_t module = intern_text_of(out, kMappingPaths, store, frame.module);
    const bool has_file = !store.name(frame.file).empty();
    if (has_file) intern_text_of(out, kSourcePaths, store, frame.file);
    out.intern(as_interned(kMappings), module, [&](pbf_writer& m) { m.add_uint64(7, module); });
    out.intern(as_interned(kFrames), index + std::uint64_t{1}, [&](pbf_writer& f) {
        f.add_uint64(2, function);
        f.add_uint64(3, module);
        f.add_uint64(4,
                     frame.line);  // distinguishes lines of a function where symbols are by address
        if (has_file) f.add_uint64(5, frame.file + std::uint64_t{1});
        if (frame.line != 0) f.add_uint32(6, frame.line);
        f.add_uint64(7, kKinds[static_cast<std::size_t>(frame.kind)]);
    });
}

void intern_stack(Sequence& out, const TraceStore& store, std::uint32_t stack) {
    std::vector<std::uint32_t> frames = frames_of(store.samples(), stack);
    std::reverse(frames.begin(), frames.end());
    for (const std::uint32_t frame : frames) intern_frame(out, store, frame);
    out.intern(as_interned(kCallstacks), stack + std::uint64_t{1}, [&](pbf_writer& s) {
        for (const std::uint32_t frame : frames) s.add_uint64(2, frame + std::uint64_t{1});
    });
}

/// Threads that have no track, whose names would be lost.
void write_names(PacketSink& sink, const TraceStore& store, std::span<const std::uint32_t> pids) {
    for (const SampledThread& thread : store.samples().threads()) {
        const std::uint32_t track =
            store.timeline().threads().find(thread.process, thread.tid, TrackKind::thread);
        if (track != kNoTrack || thread.name.empty()) continue;
        const std::uint64_t number = std::uint64_t{thread.process} << 32 | thread.tid;
        write_track(sink, hash64(0x57AC000000000000ull ^ number) | 1, [&](pbf_writer& t) {
            pbf_writer d(t, 4);
            d.add_uint64(1, pids[thread.process]);
            d.add_uint64(2, thread.tid);
            d.add_string(5, thread.name);
        });
    }
}

}  // namespace

std::uint64_t write_stacks(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                           const PerfettoOptions& options, std::span<const std::uint32_t> pids) {
    if (store.samples().empty()) return 0;
    write_names(sink, store, pids);
    Sequence out(sink, store, sequence++, false);
    std::uint64_t count = 0;
    for (const SampledThread& thread : store.samples().threads())
        for (const StackSample& s : thread.samples.view()) {
            if (s.time_ns < options.begin_ns || s.time_ns > options.end_ns) continue;
            intern_stack(out, store, s.stack);
            out.packet(s.time_ns, kPerfSample, [&](pbf_writer& p) {
                p.add_uint32(2, pids[thread.process]);
                p.add_uint32(3, thread.tid);
                p.add_uint64(4, s.stack + std::uint64_t{1});
                p.add_uint64(5, s.blocked ? 1 : 2);  // CpuMode: in the kernel, or its own code
                p.add_uint64(kWeight, static_cast<std::uint64_t>(s.weight_ns));
            });
            ++count;
        }
    return count;
}

bool InternedStacks::take(const ProtoReader& data) {
    Texts* const texts = data.field() == kFunctionNames  ? &functions_
                         : data.field() == kMappingPaths ? &paths_
                         : data.field() == kSourcePaths  ? &sources_
                                                         : nullptr;
    if (texts == nullptr && data.field() != kFrames && data.field() != kCallstacks &&
        data.field() != kMappings)
        return false;
    std::uint64_t iid = 0, path = 0;
    std::string_view text;
    Frame frame;
    std::vector<std::uint64_t> frames;
    for (ProtoReader s = data.message(); s.next();) {
        if (s.field() == 1) iid = s.value();
        if (s.field() == 2 && texts != nullptr) text = s.text();
        if (s.field() == 2 && data.field() == kFrames) frame.function = s.value();
        if (s.field() == 2 && data.field() == kCallstacks && frames.size() < kMostFrames)
            frames.push_back(s.value());
        if (s.field() == 3) frame.mapping = s.value();
        if (s.field() == 5) frame.source = s.value();
        if (s.field() == 6) frame.line = static_cast<std::uint32_t>(s.value());
        if (s.field() == 7) frame.kind = path = s.value();
    }
    if (texts != nullptr) (*texts)[iid] = text;
    if (data.field() == kFrames) frames_[iid] = frame;
    if (data.field() == kCallstacks) stacks_[iid] = std::move(frames);
    if (data.field() == kMappings) path_of_mapping_[iid] = path;
    return true;
}

void InternedStacks::take_defaults(ProtoReader defaults) {
    while (defaults.next()) {
        if (defaults.field() != 1) continue;  // the timebase
        for (ProtoReader t = defaults.message(); t.next();)
            if (t.field() == 2 && t.value() > 0 && t.value() <= 1'000'000'000)
                period_ns_ = 1'000'000'000 / static_cast<std::int64_t>(t.value());
    }
}

std::string_view InternedStacks::mapping_name(std::uint64_t mapping) const {
    const auto path = path_of_mapping_.find(mapping);
    if (path == path_of_mapping_.end()) return {};
    const auto text = paths_.find(path->second);
    return text == paths_.end() ? std::string_view() : text->second;
}

FrameEvent InternedStacks::frame(std::uint64_t iid) const {
    const auto found = frames_.find(iid);
    if (found == frames_.end()) return {"?", "", "", 0, FrameKind::native};
    const Frame& f = found->second;
    const auto text = [](const Texts& texts, std::uint64_t number) {
        const auto place = texts.find(number);
        return place == texts.end() ? std::string() : std::string(place->second);
    };
    FrameEvent out{text(functions_, f.function), text(sources_, f.source),
                   std::string(mapping_name(f.mapping)), f.line, FrameKind::native};
    if (out.function.empty()) out.function = "?";
    for (std::size_t k = 0; k < std::size(kKinds); ++k)
        if (kKinds[k] == f.kind) out.kind = static_cast<FrameKind>(k);
    return out;
}

std::vector<FrameEvent> InternedStacks::stack(std::uint64_t iid) const {
    std::vector<FrameEvent> out;
    if (const auto found = stacks_.find(iid); found != stacks_.end())
        for (auto f = found->second.rbegin(); f != found->second.rend(); ++f)
            out.push_back(frame(*f));
    return out;
}

PerfSample parse_sample(ProtoReader message) {
    PerfSample out;
    while (message.next()) {
        if (message.field() == 2) out.pid = static_cast<std::uint32_t>(message.value());
        if (message.field() == 3) out.tid = static_cast<std::uint32_t>(message.value());
        if (message.field() == 4) out.stack = message.value();
        if (message.field() == kWeight)
            out.weight_ns =
                static_cast<std::int64_t>(std::min<std::uint64_t>(message.value(), kMostWeight));
    }
    return out;
}

}  // namespace gs::perfetto
