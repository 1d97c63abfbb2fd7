// How much memory this process may still take: what decides how large a trace can be read.
#pragma once

#include <cstdint>

namespace gs {

/// The least of: what the machine has available, what the limits of the container and of the
/// process leave, and `most` where that is not 0. Bytes.
std::uint64_t free_memory(std::uint64_t most = 0);

}  // namespace gs
