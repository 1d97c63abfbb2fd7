// What a ring's header says about its process and machine. Called once, when the recorder starts.
#pragma once

#include "base/record/abi.h"

namespace gs::detail {

/// True when every core's time stamp counter runs at one rate, always (/proc/cpuinfo: constant_tsc
/// and nonstop_tsc).
bool invariant_tsc();

/// Fills pid, process_start, process_name and boot_id from /proc; what cannot be read stays zero.
void describe_process(abi::RingHeader& header);

}  // namespace gs::detail
