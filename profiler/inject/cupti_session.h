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

    /// Subscribes and registers the callbacks. On failure `held` tells whether another tool has
    /// CUPTI, and `why` more.
    bool take(char* why, bool& held) noexcept;
    /// Kinds of records on or off. False: even kernels cannot be recorded (`why` tells). On success
    /// `why` names the kinds that this CUPTI refused, or is empty.
    bool switch_on(char* why, bool& held) noexcept;
    void switch_off() noexcept;

    /// Fetches completed buffers (`forced`: incomplete ones, too) and what CUPTI dropped; renews
    /// the clock and the table of GPUs.
    void collect(bool forced) noexcept;

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
    Result enable_calls() noexcept;
    void watch_calls(bool on) noexcept;
    void forget() noexcept;
    void forget_detached() noexcept;

    Library library_;
    Subscriber subscriber_ = nullptr;
    bool taken_ = false, kinds_on_ = false, devices_known_ = false, clock_set_ = false;
    std::uint64_t dropped_ = 0;
};

}  // namespace gs::inject::cupti
