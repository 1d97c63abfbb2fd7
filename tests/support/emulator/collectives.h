// Barriers, shuffles, votes, reductions and matches of CUDA C++ under the emulator. Each is a place
// where the running fiber may be left (block.h); the trailing source_location is what a report
// names.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>

#include "tests/support/emulator/device_language.h"

namespace gs::emulator {

using Place = std::source_location;
inline bool same_place(const Place& a, const Place& b) {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}
std::string place_text(const Place& where);

enum class Collective : std::uint8_t {
    sync_warp,
    shuffle,
    ballot,
    any,
    all,
    match_any,
    reduce_add,
    reduce_min_unsigned,
    reduce_max_unsigned,
    reduce_min_signed,
    reduce_max_signed,
    reduce_and,
    reduce_or,
    reduce_xor,
};
enum class Barrier : std::uint8_t { plain, count, all, any };

/// Waits for the lanes of `mask`; what the collective gives this lane. `source_lane`: of a shuffle.
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value,
                              unsigned source_lane, Place where);
/// Waits for the block; what the barrier makes of all predicates.
int block_barrier(Barrier kind, int predicate, Place where);
[[noreturn]] void trap(Place where);

template <class T>
concept Shuffled = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, long> ||
    std::same_as<T, unsigned long> || std::same_as<T, long long> ||
    std::same_as<T, unsigned long long> || std::same_as<T, float> || std::same_as<T, double>;

template <Shuffled T>
std::uint64_t to_bits(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <Shuffled T>
T from_bits(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned this_lane() { return threadIdx.x & 31u; }
template <Shuffled T>
T shuffle(unsigned mask, T value, unsigned source, Place where) {
    return from_bits<T>(warp_collective(Collective::shuffle, mask, to_bits(value), source, where));
}

}  // namespace gs::emulator

inline void __syncthreads(gs::emulator::Place where = gs::emulator::Place::current()) {
    gs::emulator::block_barrier(gs::emulator::Barrier::plain, 0, where);
}
inline int __syncthreads_count(int predicate,
                               gs::emulator::Place where = gs::emulator::Place::current()) {
    return gs::emulator::block_barrier(gs::emulator::Barrier::count, predicate, where);
}
inline int __syncthreads_and(int predicate,
                             gs::emulator::Place where = gs::emulator::Place::current()) {
    return gs::emulator::block_barrier(gs::emulator::Barrier::all, predicate, where);
}
inline int __syncthreads_or(int predicate,
                            gs::emulator::Place where = gs::emulator::Place::current()) {
    return gs::emulator::block_barrier(gs::emulator::Barrier::any, predicate, where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu,
                       gs::emulator::Place where = gs::emulator::Place::current()) {
    gs::emulator::warp_collective(gs::emulator::Collective::sync_warp, mask, 0, 0, where);
}
inline void __trap(gs::emulator::Place where = gs::emulator::Place::current()) {
    gs::emulator::trap(where);
}

template <gs::emulator::Shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              gs::emulator::Place where = gs::emulator::Place::current()) {
    const unsigned segment = static_cast<unsigned>(width) - 1;
    const unsigned from =
        (gs::emulator::this_lane() & ~segment) | (static_cast<unsigned>(source) & segment);
    return gs::emulator::shuffle(mask, value, from, where);
}
template <gs::emulator::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 gs::emulator::Place where = gs::emulator::Place::current()) {
    const unsigned lane = gs::emulator::this_lane(),
                   first = lane & ~(static_cast<unsigned>(width) - 1);
    return gs::emulator::shuffle(mask, value, lane - first >= delta ? lane - delta : lane, where);
}
template <gs::emulator::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   gs::emulator::Place where = gs::emulator::Place::current()) {
    const unsigned lane = gs::emulator::this_lane(),
                   last = lane | (static_cast<unsigned>(width) - 1);
    return gs::emulator::shuffle(mask, value, last - lane >= delta ? lane + delta : lane, where);
}
template <gs::emulator::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  gs::emulator::Place where = gs::emulator::Place::current()) {
    const unsigned lane = gs::emulator::this_lane(),
                   last = lane | (static_cast<unsigned>(width) - 1);
    const unsigned other = lane ^ static_cast<unsigned>(bits);
    return gs::emulator::shuffle(mask, value, other <= last ? other : lane, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              gs::emulator::Place where = gs::emulator::Place::current()) {
    using namespace gs::emulator;
    return static_cast<unsigned>(
        warp_collective(Collective::ballot, mask, predicate != 0, 0, where));
}
inline int __any_sync(unsigned mask, int predicate,
                      gs::emulator::Place where = gs::emulator::Place::current()) {
    using namespace gs::emulator;
    return static_cast<int>(warp_collective(Collective::any, mask, predicate != 0, 0, where));
}
inline int __all_sync(unsigned mask, int predicate,
                      gs::emulator::Place where = gs::emulator::Place::current()) {
    using namespace gs::emulator;
    return static_cast<int>(warp_collective(Collective::all, mask, predicate != 0, 0, where));
}
/// The lanes that happen to run together: CUDA promises no more than this one, so this one it is.
inline unsigned __activemask() { return 1u << gs::emulator::this_lane(); }
template <gs::emulator::Shuffled T>
unsigned __match_any_sync(unsigned mask, T value,
                          gs::emulator::Place where = gs::emulator::Place::current()) {
    using namespace gs::emulator;
    return static_cast<unsigned>(
        warp_collective(Collective::match_any, mask, to_bits(value), 0, where));
}

#define GS_EMULATOR_REDUCE(T, name, kind)                                                   \
    inline T name(unsigned mask, T value,                                                   \
                  gs::emulator::Place where = gs::emulator::Place::current()) {             \
        return gs::emulator::from_bits<T>(gs::emulator::warp_collective(                    \
            gs::emulator::Collective::kind, mask, gs::emulator::to_bits(value), 0, where)); \
    }
GS_EMULATOR_REDUCE(unsigned, __reduce_add_sync, reduce_add)
GS_EMULATOR_REDUCE(int, __reduce_add_sync, reduce_add)
GS_EMULATOR_REDUCE(unsigned, __reduce_min_sync, reduce_min_unsigned)
GS_EMULATOR_REDUCE(int, __reduce_min_sync, reduce_min_signed)
GS_EMULATOR_REDUCE(unsigned, __reduce_max_sync, reduce_max_unsigned)
GS_EMULATOR_REDUCE(int, __reduce_max_sync, reduce_max_signed)
GS_EMULATOR_REDUCE(unsigned, __reduce_and_sync, reduce_and)
GS_EMULATOR_REDUCE(unsigned, __reduce_or_sync, reduce_or)
GS_EMULATOR_REDUCE(unsigned, __reduce_xor_sync, reduce_xor)
#undef GS_EMULATOR_REDUCE
