// Sampled call stacks in a Perfetto trace: PerfSample packets with interned frames, as written and
// as read. A part of the Perfetto export and import.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/files/export_perfetto.h"
#include "profiler/files/perfetto_writer.h"
#include "profiler/files/proto_reader.h"

namespace gs::perfetto {

/// All samples within the options' time; `pids` by process. The number of samples.
std::uint64_t write_stacks(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                           const PerfettoOptions& options, std::span<const std::uint32_t> pids);

/// What samples of one sequence refer to.
class InternedStacks {
  public:
    /// A field of InternedData; false: it is none of stacks.
    bool take(const ProtoReader& data);
    /// Of TracePacketDefaults' perf_sample_defaults: the time between two samples.
    void take_defaults(ProtoReader defaults);
    std::int64_t period_ns() const { return period_ns_; }
    /// Innermost first, at most 512 frames; empty: it is not known.
    std::vector<FrameEvent> stack(std::uint64_t iid) const;

  private:
    struct Frame {
        std::uint64_t function = 0, mapping = 0, source = 0, kind = 0;
        std::uint32_t line = 0;
    };
    using Texts = std::unordered_map<std::uint64_t, std::string_view>;
    FrameEvent frame(std::uint64_t iid) const;
    std::string_view mapping_name(std::uint64_t mapping) const;

    Texts functions_, paths_, sources_;
    std::unordered_map<std::uint64_t, std::uint64_t> path_of_mapping_;  // the last part's
    std::unordered_map<std::uint64_t, Frame> frames_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> stacks_;
    std::int64_t period_ns_ = 10'000'000;
};

struct PerfSample {
    std::uint32_t pid = 0, tid = 0;
    std::uint64_t stack = 0;
    std::int64_t weight_ns = 0;  ///< 0: unknown
};
PerfSample parse_sample(ProtoReader message);

}  // namespace gs::perfetto
