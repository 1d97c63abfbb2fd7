// Numbers in bytes that need not be aligned. Used by the readers and writers of binary files.
#pragma once

#include <cstddef>
#include <cstring>

namespace gs {

/// Little-endian number at `p`, which need not be aligned.
template <class T>
T load_as(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}
template <class T>
void store_as(std::byte* p, T value) {
    std::memcpy(p, &value, sizeof(T));
}

}  // namespace gs
