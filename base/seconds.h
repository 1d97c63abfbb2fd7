// Wall time that has passed, in seconds, by the clock that never goes back.
#pragma once

#include <chrono>

namespace gs {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gs
