// Facts about the process and the machine for the status bar, the Memory panel and the metrics of
// `serve`. Called about once a second.
#pragma once

#include <cstdint>
#include <string>

namespace gs {

/// Resident memory of this process in bytes; 0 when the system does not say.
std::uint64_t resident_bytes();
/// The most that resident_bytes() was since the process began; 0 when the system does not say.
std::uint64_t peak_resident_bytes();
/// Memory this process may use: the machine's, or its container's limit when that is lower; 0 when
/// unknown.
std::uint64_t available_machine_bytes();
/// Memory that may be taken now without pushing others out, swap included; 0 when unknown.
std::uint64_t free_machine_bytes();
/// The machine's name in its network; empty when unknown.
std::string host_name();
/// "Intel(R) Xeon(R) ...", "unknown processor".
std::string processor_name();

}  // namespace gs
