// What the packets of a Perfetto sequence refer to by number, and events as read with it. Shared by
// the parts of the Perfetto import.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/files/import_events.h"
#include "profiler/files/perfetto_stacks.h"
#include "profiler/files/proto_reader.h"

namespace gs::perfetto {

/// Interned data and defaults of one sequence.
struct SequenceState {
    using Texts = std::unordered_map<std::uint64_t, std::string_view>;
    Texts names, annotations, categories, specifications, kernels, arguments;
    std::unordered_map<std::uint64_t, std::uint64_t> context_pids;
    InternedStacks stacks;
    std::uint64_t clock = 0, track = 0;  ///< defaults; 0: none
    bool has_state = false;

    void take_interned(ProtoReader data);
    static std::string_view text_of(const Texts& texts, std::uint64_t iid) {
        const auto found = texts.find(iid);
        return found == texts.end() ? std::string_view() : found->second;
    }
};

/// A debug annotation.
struct Note {
    std::string_view name, text;
    std::uint64_t value = 0;
    PayloadKind kind = PayloadKind::whole;
    bool is_ours() const;  ///< none of the program's values
};

/// A TrackEvent.
struct Event {
    std::uint64_t type = 0, track = 0, flow = 0;
    std::string_view name, domain, category;
    std::optional<double> value;
    std::vector<Note> notes;
    std::vector<std::uint64_t> submitted;  ///< render stage events that it launched
    bool has_track = false;

    const Note* note(std::string_view wanted) const;
    std::uint64_t number(std::string_view wanted) const;
    /// The first number that is a program's own.
    const Note* payload() const;
};
Event parse_event(ProtoReader message, const SequenceState& state);

/// A render stage event as GPU work of the process `pid` (0: unknown), numbered `event`.
struct StageEvent {
    GpuWorkEvent work;
    std::string_view name;
    std::uint64_t event = 0, pid = 0;
};
StageEvent parse_stage(ProtoReader message, std::int64_t time, const SequenceState& state);

/// Adds what an instant on one of our own tracks (a wait, memory, a GPU) says of process `pid`;
/// `moments` names the track.
void take_moment(const Event& event, std::string_view moments, std::int64_t time, ImportEvents& out,
                 std::uint32_t pid);

/// A number in nanoseconds that may be a time; else a fault.
std::int64_t time_of(const ProtoReader& at, std::uint64_t value, std::int64_t unit = 1);

/// The number a text begins with, 0 when it begins with none.
inline std::uint64_t number_in(std::string_view text) {
    std::uint64_t out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}
inline std::uint32_t small_number_in(std::string_view text) {
    return static_cast<std::uint32_t>(number_in(text));
}

/// Sequences, clocks, tracks, interned names: more than any trace has.
inline constexpr std::size_t kMaxUnits = 1'000'000;

/// The clocks of a trace and how they relate to its reference clock.
class PerfettoClocks {
  public:
    /// Takes a ClockSnapshot; what it says of REALTIME and MONOTONIC goes to `file`.
    void take(ProtoReader snapshot, std::uint64_t sequence, ImportClock& file);
    /// The time `at` in the reference clock; none of a clock without a known relation to it.
    std::optional<std::int64_t> reference_time(const ProtoReader& at, std::uint64_t clock,
                                               std::uint64_t sequence);

  private:
    /// A clock, of one sequence or of all: its reading plus `offset` is time in the trace's
    /// reference clock.
    struct Clock {
        std::int64_t offset = 0, last = 0;
        std::int64_t unit = 1;
        bool incremental = false;
    };
    using ClockKey = std::pair<std::uint64_t, std::uint64_t>;  // sequence (0: all), clock
    static ClockKey key_of(std::uint64_t clock, std::uint64_t sequence) {
        return {clock >= 64 && clock < 128 ? sequence : 0, clock};
    }

    std::map<ClockKey, Clock> clocks_;
};

}  // namespace gs::perfetto
