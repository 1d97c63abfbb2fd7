// PauseRecords: shows readers of a ring when the budget held recording back (abi.h, "Pauses"), so
// that nobody takes what was not recorded for what did not happen. Written by the service's thread
// of a recording process: the injection library's host, and gausscope's own.
#pragma once

#include <cstdint>

namespace gs::service {

class PauseRecords {
  public:
    /// From now on `what` (abi::kPauses..., bits; 0: nothing) is not recorded. Writes the stretch
    /// since the last record, if anything was left out in it and it changes or is 200 ms long. Call
    /// it every tick, before a gate closes and after it has opened: a pause reported too long
    /// leaves something out, one reported too short makes figures wrong.
    void tell(std::uint64_t what) noexcept;

  private:
    std::uint64_t what_ = 0, since_ = 0;  ///< ticks
    std::uint64_t told_ns_ = 0;
};

}  // namespace gs::service
