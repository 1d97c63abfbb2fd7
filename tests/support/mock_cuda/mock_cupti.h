// A CUPTI without a GPU: shared libraries by the names libcupti.so.13 and libcupti.so.12 that turn
// what the mock driver does into activity records of that generation, deliver them in buffers from
// a worker thread, and can be held by another tool, finalised, starved of buffers or made to
// misbehave. Tests find these functions by dlsym().
//
// Environment: MOCK_CUPTI_VERSION (of the API), MOCK_CUPTI_HELD_BY (a tool's name),
// MOCK_CUPTI_SHUFFLE=1 (records in no order), MOCK_CUPTI_DROP_EVERY=N, MOCK_CUPTI_CUT=1 (the last
// record of a buffer is cut short), MOCK_CUPTI_FORGE=1 (records without times, names or a known
// kind among the others), MOCK_CUPTI_CLOCK_OFFSET (ns), MOCK_CUPTI_REFUSE=K (kind K cannot be
// enabled), MOCK_CUPTI_WHOLE=1 (a record is in its buffer from the launch on, and a buffer comes
// back when all its records are over, as CUPTI's do), MOCK_CUPTI_PER_THREAD=1 (with it: every
// thread fills a buffer of its own). A CUPTI before 12.6 aborts, like the real one, when it is used
// again after it saw a graph and was finalised. A tool that registers callbacks takes all buffers.
#pragma once

#include <cstdint>

extern "C" {
struct MockCuptiStatus {
    std::uint32_t version;
    std::uint32_t subscribed, finalized;  ///< finalized: how often
    std::uint32_t kinds, calls, domains;  ///< enabled now
    std::uint32_t buffers_out;            ///< requested and not completed
    std::uint32_t changes;                ///< kinds switched on or off, so far
    std::uint32_t host_pinned;            ///< CUPTI's own buffers were asked to be
    std::uint64_t made, delivered, dropped;
};
void mock_cupti_status(MockCuptiStatus* status);
/// Another tool takes CUPTI (null: lets go of it).
void mock_cupti_hold(const char* tool);
/// Takes `count` buffers and keeps them; with 0 all are completed, empty. Returns how many are
/// kept.
std::uint32_t mock_cupti_hoard(std::uint32_t count);
}
