// Span: times a scope. Span s{Stage::blend}; writes one 32-byte record into this thread's lane of
// the ring when it ends, and is an NVTX range of the same name while it lasts. Code of every
// top-level folder uses it. It costs about two reads of the time stamp counter.
#pragma once

#include <bit>

#include "base/record/ring.h"
#include "base/record/stage.h"

namespace gs {

/// The string id of a stage: the recorder registers the stages first, in order.
constexpr StringId string_of(Stage stage) noexcept { return static_cast<StringId>(stage) + 1; }

class Span {
  public:
    explicit Span(Stage stage) noexcept : Span(string_of(stage), 0, 0) {}
    /// `payload` is shown with the span: the step of an iteration, the number of a view frame, a
    /// count.
    Span(Stage stage, std::uint64_t payload) noexcept
        : Span(string_of(stage), payload, abi::kHasPayload) {}
    /// For names that are no stage; see register_string().
    explicit Span(StringId name) noexcept : Span(name, 0, 0) {}
    Span(StringId name, std::uint64_t payload) noexcept : Span(name, payload, abi::kHasPayload) {}
    ~Span() { detail::close_range(begin_, name_, payload_, flags_); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

  private:
    Span(StringId name, std::uint64_t payload, std::uint16_t flags) noexcept
        : payload_(payload),
          name_(name),
          flags_(flags),
          begin_(detail::open_range(name, payload, flags)) {}

    std::uint64_t payload_;
    StringId name_;
    std::uint16_t flags_;
    std::uint64_t begin_;  ///< ticks, 0: not recorded
};

/// One value of a quantity over time, drawn as a curve under the timeline ("Gaussians", "loss").
inline void record_counter(StringId name, double value) noexcept {
    detail::ThreadLane& t = detail::thread_lane;
    if (!detail::ready(t)) return;
    const std::uint64_t now = read_ticks();
    detail::write_record(t, abi::RecordKind::counter, now, now, std::bit_cast<std::uint64_t>(value),
                         name, abi::kHasPayload);
}

/// A moment: a setting was changed, a checkpoint was asked for.
inline void record_instant(StringId name, std::uint64_t payload = 0,
                           std::uint16_t flags = abi::kHasPayload) noexcept {
    detail::ThreadLane& t = detail::thread_lane;
    if (!detail::ready(t)) return;
    const std::uint64_t now = read_ticks();
    detail::write_record(t, abi::RecordKind::instant, now, now, payload, name, flags);
}

/// Names the calling thread in traces ("engine", "ui", "loader 2"), and for the system (15
/// characters of it).
void name_this_thread(const char* name) noexcept;

}  // namespace gs
