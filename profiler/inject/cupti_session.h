// Session: CUPTI taken, used and given back by one thread at a time. It knows how; when is decided
// in cupti.cpp. No lock is held while CUPTI runs.
#pragma once

#include <cstdint>

#include "base/record/abi.h"
#include "profiler/inject/cupti_library.h"

namespace gs::inject::cupti {

class Session {
  public:
    bool taken() const noexcept { return taken_; }
    bool recording() const noexcept { return kinds_on_; }

    /// Subscribes and registers the callbacks. On failure `held` says whether another tool has
    /// CUPTI, and `why` more.
    bool take(char* why, bool& held) noexcept;
    /// Kinds of records on or off; CUDA graphs node by node (`nodes`), or as a whole, which costs
    /// far less. False: even kernels cannot be recorded (`why` says so). On success `why` names the
    /// kinds that this CUPTI refused, or is empty. Finished work is also reported after
    /// switch_off().
    bool switch_on(bool nodes, char* why, bool& held) noexcept;
    void switch_off() noexcept;
    /// While kinds are on: changes how graphs are recorded.
    void tell_nodes(bool nodes) noexcept;
    bool tells_nodes() const noexcept { return nodes_; }
    /// While kinds are on: what happens meanwhile is not recorded, or is again.
    void pause(bool on) noexcept;
    bool paused() const noexcept { return paused_; }
    /// Since kinds went on the GPU has come to what was launched after that, or has nothing to do.
    /// Until then it is busy with what is not recorded.
    bool has_caught_up() const noexcept;

    /// Fetches completed buffers (`forced`: also incomplete ones, and of those CUPTI never reports
    /// what still ran) and what CUPTI dropped; renews the clock and the table of GPUs.
    void collect(bool forced) noexcept;
    /// Once a tick, after collect(): whether another tool has registered callbacks of its own, so
    /// that CUPTI's buffers go to it. CUPTI says nothing of it, but calls are made that must be
    /// reported, and it does not come for a buffer.
    bool was_robbed() noexcept;

    /// Kinds off, last records fetched, and then: CUPTI detaches at the end of the next CUDA call
    /// of the program, which is where it may. Returns at once; has_left() becomes true when it is
    /// done.
    void begin_leaving() noexcept;
    bool is_leaving() const noexcept;
    bool has_left() noexcept;
    /// The program calls nothing: given back without detaching, or kept after all.
    void leave_now() noexcept;
    void stay() noexcept;

  private:
    Result subscribe(char* holder) noexcept;
    void set_attribute(std::uint32_t attribute, std::uint8_t value) noexcept;
    Result enable_calls() noexcept;
    void watch_calls(bool on) noexcept;
    bool may_detach() const noexcept;
    void forget() noexcept;
    void forget_detached() noexcept;

    Library library_;
    Subscriber subscriber_ = nullptr;
    bool taken_ = false, kinds_on_ = false, devices_known_ = false, clock_set_ = false;
    bool nodes_ = false, paused_ = false, looks_ = false, suspects_ = false;
    std::uint64_t dropped_ = 0;
    std::uint64_t visits_ = 0, quiet_since_ = 0;  ///< of CUPTI for buffers
    std::uint64_t told_at_switch_ = 0;            ///< sink::gpu_told() when kinds were enabled
};

}  // namespace gs::inject::cupti
