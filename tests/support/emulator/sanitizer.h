// Whether the address sanitizer watches, and how to tell it about memory and stacks of ours.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define GS_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GS_EMULATOR_ASAN 1
#endif
#endif

#ifdef GS_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace gs::emulator {

#ifdef GS_EMULATOR_ASAN
inline constexpr bool kAddressSanitizer = true;
/// Nobody may touch it from here on; and may again.
inline void guard(const void* from, std::size_t bytes) { __asan_poison_memory_region(from, bytes); }
inline void unguard(const void* from, std::size_t bytes) {
    __asan_unpoison_memory_region(from, bytes);
}
#else
inline constexpr bool kAddressSanitizer = false;
inline void guard(const void*, std::size_t) {}
inline void unguard(const void*, std::size_t) {}
#endif

}  // namespace gs::emulator
