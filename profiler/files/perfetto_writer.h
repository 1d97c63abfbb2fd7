// Packets of a Perfetto trace: the sink that collects them for a file, and packet sequences with
// their interned names. Field numbers: tests/support/perfetto_subset.proto. Every track is a
// sequence of its own; times within a sequence never go back and slices nest, which is what trace
// readers insist on. Used by the parts of the Perfetto export.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/rng.h"
#include "profiler/store/store.h"

namespace gs::perfetto {

using protozero::pbf_writer;

enum Packet : std::uint32_t {
    kClockSnapshot = 6,
    kTimestamp = 8,
    kSequence = 10,
    kTrackEvent = 11,
    kInterned = 12,
    kFlags = 13,
    kDropped = 42,
    kRenderStage = 53,
    kDefaults = 59,
    kTrackDescriptor = 60,
    kPerfSample = 66,
    kGpuInfo = 128
};
enum EventField : std::uint32_t {
    kCategoryIid = 3,
    kAnnotation = 4,
    kType = 9,
    kNameIid = 10,
    kTrackUuid = 11,
    kName = 23,
    kDoubleValue = 44,
    kFlowIds = 47,
    kTerminatingFlowIds = 48,
    kGpuCorrelation = 3000,
    kGpuApi = 3001
};
enum EventType : std::uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
enum InternedField : std::uint32_t {
    kCategories = 1,
    kNames = 2,
    kAnnotationNames = 3,
    kContexts = 23,
    kGpuSpecifications = 24,
    kKernels = 1000,
    kArgNames = 1001
};
inline constexpr std::uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
inline constexpr std::uint64_t kCuda = 4;  ///< of GpuApi and InternedGraphicsContext.Api

// How our own tracks are known again, by their description. The first two are followed by a
// thread's number.
inline constexpr const char* kCallsTrack = "CUDA calls of thread ";
inline constexpr const char* kOverheadTrack = "overhead in thread ";
inline constexpr const char* kStreamTrack = "GPU stream";
inline constexpr const char* kOverlappingTrack = "overlapping ranges";
/// Ranges of the parent that overlap others of it, apart because slices of a track nest.
inline constexpr const char* kBesideTrack = "ranges that overlap others";
inline constexpr const char* kProjectionTrack = "ranges on the GPU";
inline constexpr const char* kSyncTrack = "synchronisations";
inline constexpr const char* kMemoryTrack = "device memory";
inline constexpr const char* kGpusTrack = "GPUs";
inline constexpr const char* kPauseTrack = "pauses of the recording";
// Annotations of ours: a call of the driver's API; a range that was open at the end.
inline constexpr const char* kDriverNote = "driver";
inline constexpr const char* kNotEndedNote = "not ended";
/// Categories that begin like this say what NVTX domain or category an event's name belongs to.
inline constexpr const char* kDomainPrefix = "nvtx domain: ";
inline constexpr const char* kNvtxCategoryPrefix = "nvtx category: ";

/// Collects packets and passes them on to the file, a megabyte at a time. After an error it
/// swallows what follows.
class PacketSink {
  public:
    explicit PacketSink(AtomicFile file) : file_(std::move(file)) {}

    template <class F>
    void packet(F write) {
        if (error_) return;
        {
            pbf_writer trace(buffer_);
            pbf_writer packet(trace, 1);
            write(packet);
        }
        if (buffer_.size() > (1u << 20)) flush();
    }
    Result<std::uint64_t> finish() {
        flush();
        if (!error_) {
            if (auto done = file_.commit(); !done) error_ = done.error();
        }
        if (error_) return tl::unexpected(*error_);
        return bytes_;
    }

  private:
    void flush() {
        if (error_) return;
        if (auto done = file_.append(std::string_view(buffer_)); !done) error_ = done.error();
        bytes_ += buffer_.size();
        buffer_.clear();
    }
    AtomicFile file_;
    std::string buffer_;
    std::optional<Error> error_;
    std::uint64_t bytes_ = 0;
};

inline std::uint64_t process_uuid(std::uint32_t process) {
    return hash64(0x9000000000000000ull + process) | 1;
}
/// Declares a track; `describe` gets its fields after the uuid.
template <class F>
void write_track(PacketSink& sink, std::uint64_t uuid, F describe) {
    sink.packet([&](pbf_writer& p) {
        p.add_uint64(kSequence, 1);
        pbf_writer t(p, kTrackDescriptor);
        t.add_uint64(1, uuid);
        describe(t);
    });
}

/// A number, or a text, beside an event.
struct Annotation {
    const char* name = "";
    std::uint64_t value = 0;
    PayloadKind kind = PayloadKind::whole;
    std::string_view text{};
};
/// What an event has beside its name and time.
struct Details {
    std::uint64_t flow = 0;  ///< an arrow that starts or ends here, 0: none
    std::span<const Annotation> annotations{};
    std::span<const std::uint64_t> submitted{};  ///< render stage events it launched
    bool cuda_call = false;
    std::span<const std::uint64_t> arrows{};  ///< further arrows that start here
    std::uint64_t arrow_end = 0;              ///< an arrow that ends here and nowhere else, 0: none
};

/// One packet sequence: writes its state-clearing packet, then events, interning names as they
/// first appear.
class Sequence {
  public:
    Sequence(PacketSink& sink, const TraceStore& store, std::uint32_t id, bool dropped)
        : sink_(sink), store_(store), id_(id) {
        sink_.packet([&](pbf_writer& p) {
            p.add_uint64(kSequence, id_);
            p.add_uint64(kFlags, kStateCleared);
            if (dropped) p.add_uint64(kDropped, 1);
            pbf_writer d(p, kDefaults);
            d.add_uint64(58, kMonotonic);
        });
    }

    void begin(std::uint64_t uuid, const TraceSpan& span, const Details& details);
    void instant(std::uint64_t uuid, std::int64_t time, std::uint32_t name,
                 std::span<const Annotation> annotations);
    /// An instant whose name is none of the store's.
    void moment(std::uint64_t uuid, std::int64_t time, std::string_view text,
                std::span<const Annotation> annotations);
    void end(std::uint64_t uuid, std::int64_t time);
    void value(std::uint64_t uuid, std::int64_t time, double value);
    /// A packet of another kind at `time`; `write` gets its fields.
    template <class F>
    void packet(std::int64_t time, std::uint32_t field, F write) {
        sink_.packet([&](pbf_writer& p) {
            p.add_uint64(kTimestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
            p.add_uint64(kSequence, id_);
            p.add_uint64(kFlags, kNeedsState);
            if (!fresh_.empty()) p.add_string(kInterned, fresh_);
            pbf_writer fields(p, field);
            write(fields);
        });
        fresh_.clear();
    }
    /// Declares an interned message once; `write` gets its fields after the iid.
    template <class F>
    void intern(InternedField field, std::uint64_t iid, F write) {
        if (!known_.insert({field, iid}).second) return;
        pbf_writer interned(fresh_);
        pbf_writer s(interned, field);
        s.add_uint64(1, iid);
        write(s);
    }
    void intern_text(InternedField field, std::uint64_t iid, std::string_view text) {
        intern(field, iid, [&](pbf_writer& s) { s.add_string(2, text); });
    }
    std::uint64_t intern_name(std::uint32_t name);
    std::uint64_t intern_annotation(std::string_view name);

  private:
    void event(std::uint64_t uuid, std::int64_t time, EventType type, std::uint32_t name,
               const TraceSpan* span, const Details& details);

    PacketSink& sink_;
    const TraceStore& store_;
    std::uint32_t id_;
    std::string fresh_;  // interned data of the next packet
    std::set<std::pair<std::uint32_t, std::uint64_t>> known_;
    std::vector<std::string> annotation_names_, categories_;
};

/// What a payload of this stage is called.
const char* payload_name(Stage stage);

}  // namespace gs::perfetto
