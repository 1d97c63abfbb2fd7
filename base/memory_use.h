// MemoryUse: what takes memory, and how much. Trainers and the session tell it, panels show it.
#pragma once

#include <cstdint>
#include <string>

namespace gs {

struct MemoryUse {
    std::string category;  ///< "parameters", "Adam moments", "forward state", "photos", ...
    std::uint64_t bytes = 0;
    bool device = false;     ///< in the GPU's memory, not the host's
    std::uint64_t peak = 0;  ///< of a reservation: the most ever in use; 0: unknown
};

}  // namespace gs
