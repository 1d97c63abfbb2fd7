// Ranges, marks and thread names, as records in the calling thread's lane of the ring. The half of
// a hook that records; hooks.cpp is the half that understands NVTX. Wait-free once a thread has its
// lane.
//
// Recording comes in periods: each arming begins one. A thread's lane is made ready for a period by
// its first event; ranges left open when the former period ended are forgotten, because their ends
// were not seen. Within a period the budget opens and closes a gate: outermost ranges that begin
// while it is not open are left out with all that is in them, so an iteration is recorded whole or
// not at all.
#pragma once

#include <cstdint>
#include <span>

#include "base/record/budget.h"
#include "base/record/scope.h"

namespace gs::inject {

struct Event {
    StringId name = 0;
    std::uint16_t flags = 0;  ///< abi::Record::flags
    std::uint64_t payload = 0;
};

/// One of the values of an event beyond its payload (abi::RecordKind::value).
struct RangeValue {  // made by the dozen, so nothing is set without need
    StringId name;
    std::uint16_t flags;  ///< abi::kPayloadIs...
    std::uint64_t value;
};

/// Begins a period, or ends it. One thread at a time.
void begin_period() noexcept;
void end_period() noexcept;
/// What the budget allows from now on (base/record/budget.h).
void set_gate(service::Gate gate) noexcept;
/// In the child of a fork: nothing is recorded any more. The first event of the child that would be
/// calls `begin_again` on its thread, once.
void forget_ranges(void (*begin_again)()) noexcept;
/// Whether events are recorded now.
bool in_period() noexcept;

/// Opens a range of `domain` (an index) on this thread; its level, 0 for the outermost, negative:
/// nothing is recorded.
int push(std::uint32_t domain, const Event& event) noexcept;
/// Closes the innermost range of `domain`; its level, negative: nothing is recorded, or none is
/// open (counted).
int pop(std::uint32_t domain) noexcept;
void mark(const Event& event, std::span<const RangeValue> values = {}) noexcept;
/// Values of the innermost range that is open on this thread, which was recorded. `main`: becomes
/// its payload where it has none; null: none does.
void tell_values(std::span<const RangeValue> values, const RangeValue* main) noexcept;

/// A range that any thread may end; 0: nothing is recorded or kept. `chained` comes back from
/// end().
std::uint64_t start(const Event& event, std::uint64_t chained) noexcept;
/// Unknown ids are counted. What start() was given.
std::uint64_t end(std::uint64_t id) noexcept;

/// Thread `tid` is called `name` from now on.
void name_thread(std::uint32_t tid, StringId name) noexcept;

}  // namespace gs::inject
