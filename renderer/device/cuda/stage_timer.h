// GPU time per stage: event pairs around a stream's work, polled later, never waited for.
// StageTimer t(timers, stream, Stage::blend) beside the CPU span of the same stage; what is done is
// written to the ring as spans of the stream's lane, so timeline, stage statistics, Perfetto export
// and bench see GPU stages like any others.
#pragma once

#include <cstdint>
#include <memory>

#include "base/record/scope.h"
#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

/// One per stream, used by the thread that feeds it. When the pool of pairs is exhausted (the GPU
/// is far behind), stages go untimed and are counted.
class StageTimers {
  public:
    explicit StageTimers(const Stream& stream);
    ~StageTimers();
    /// Off: begin() and end() do nothing. On by default.
    void enable(bool on);
    /// Opens a stage on the stream. `payload` as Span's. Returns a handle for end(), < 0: not
    /// timed.
    int begin(Stage stage, std::uint64_t payload = 0, bool has_payload = false) {
        return begin(string_of(stage), payload, has_payload);
    }
    /// For names that are no stage, as Span takes them.
    int begin(StringId name, std::uint64_t payload = 0, bool has_payload = false);
    void end(int handle);
    /// Takes what has been reached and writes it to the ring. Never waits. Called once a step or
    /// frame.
    void poll();
    std::uint64_t missed() const;
    /// Newest GPU milliseconds of a stage; NaN when there is none yet.
    double newest_ms(Stage stage) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

class StageTimer {
  public:
    StageTimer(StageTimers& timers, Stage stage) : StageTimer(&timers, stage) {}
    /// Null: not timed.
    StageTimer(StageTimers* timers, Stage stage) : StageTimer(timers, string_of(stage)) {}
    StageTimer(StageTimers* timers, StringId name)
        : timers_(timers), handle_(timers == nullptr ? -1 : timers->begin(name)) {}
    ~StageTimer() {
        if (timers_ != nullptr) timers_->end(handle_);
    }
    StageTimer(const StageTimer&) = delete;
    StageTimer& operator=(const StageTimer&) = delete;

  private:
    StageTimers* timers_;
    int handle_;
};

/// A stage on both sides: the span of who launches it, and the GPU's time tied to it.
class StageScope {
  public:
    StageScope(StageTimers* timers, Stage stage) : StageScope(timers, string_of(stage)) {}
    StageScope(StageTimers* timers, StringId name) : span_(name), timer_(timers, name) {}

  private:
    Span span_;
    StageTimer timer_;
};

}  // namespace gs::cuda
