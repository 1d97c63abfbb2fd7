#include "profiler/inject/ranges.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/record/mutex.h"
#include "base/record/service_status.h"

namespace gs::inject {
namespace {

using detail::store;
using detail::ThreadLane;

/// Bit 0: recording; 1, 2: the gate; 3..15: how often thread names have changed; 16..31: number of
/// the period. A thread whose lane was made ready for this very value may write without a further
/// look.
constexpr std::uint32_t kOn = 1, kGate = 6, kRenamed = 8, kNextPeriod = 1u << 16;
constexpr std::uint32_t kRenames = kNextPeriod - 1 - kOn - kGate;
constexpr int kGateShift = 1;
static_assert(static_cast<int>(service::Gate::open) == 0);
constinit std::atomic<std::uint32_t> period{kNextPeriod};
// Of the child of a fork, until it records by itself.
constinit std::atomic<void (*)()> orphaned{nullptr};

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

// ---- names of threads ----

struct ThreadName {
    std::uint32_t tid;
    StringId name;
};
constexpr std::uint32_t kThreadNames = 512;
constinit ThreadName thread_names[kThreadNames] = {};
constinit std::uint32_t next_thread_name = 0;
constinit pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

StringId given_name(std::uint32_t tid) {
    const detail::Locked held(names_lock);
    for (const ThreadName& known : thread_names)
        if (known.tid == tid) return known.name;
    return 0;
}

/// What the program calls the thread, else what the system does.
StringId name_of_this_thread() {
    if (const StringId given = given_name(own_tid())) return given;
    char name[16] = {};
    return ::prctl(PR_GET_NAME, name) == 0 && name[0] != '\0' ? register_string(name) : 0;
}

// ---- lanes ----

enum class Call { push, pop, other };

void count_skipped(ThreadLane& t) {
    // All threads add to one word: rarely, or they would wait for each other.
    if (++t.uncounted < 256) return;
    count_budget_skipped(t.uncounted);
    t.uncounted = 0;
}

/// What the gate says of this call. False: it is left out.
bool may_pass(ThreadLane& t, std::uint32_t now, Call call) {
    const auto gate = static_cast<service::Gate>((now & kGate) >> kGateShift);
    if (call == Call::pop) {
        if (t.skipped > 0) return --t.skipped, false;
        return t.depth > 0 || gate == service::Gate::open;
    }
    const bool inside = gate == service::Gate::closing && t.depth > 0;
    if (t.skipped == 0 && (gate == service::Gate::open || inside)) return true;
    if (call == Call::push) {
        ++t.skipped;
        // Its end must come by here even if the gate is open again by then.
        t.period &= ~kOn;
    }
    count_skipped(t);
    return false;
}

/// Takes a lane where there is none, and gives it the thread's name. False: no lane (counted).
bool take_named_lane(ThreadLane& t) {
    const bool refused = t.leaving || t.refused > 0;
    const StringId name = refused ? 0 : name_of_this_thread();
    if (t.lane == nullptr) {
        t.name = name;
        return detail::take_lane(t);
    }
    if (name != t.name && name != 0) detail::name_lane(t, name);
    return true;
}

/// Makes the lane ready for `now`; false: this event is lost (and counted), or left out, or nothing
/// is being recorded.
[[gnu::noinline]] bool enter(ThreadLane& t, std::uint32_t now, Call call) noexcept {
    if ((now & kOn) == 0 || detail::ring_header() == nullptr) return false;
    if (t.period / kNextPeriod != now / kNextPeriod) {
        t.skipped = 0;
        if (t.lane != nullptr) detail::publish(t.lane->depth, t.depth = 0);
        t.period = now & ~(kOn | kRenames);  // the period, but not yet ready
    }
    if (!may_pass(t, now, call)) return false;
    if (t.uncounted != 0) {
        count_budget_skipped(t.uncounted);
        t.uncounted = 0;
    }
    if ((now & kGate) != 0 && t.lane != nullptr) return true;
    const std::uint64_t start = read_ticks();
    if (!take_named_lane(t)) return false;
    t.period = now;
    add_service_ticks(read_ticks() - start);
    return true;
}

/// This thread's lane when it may write, else null.
inline ThreadLane* writable_lane(Call call) noexcept {
    ThreadLane& t = detail::thread_lane;
    const std::uint32_t now = period.load(std::memory_order_relaxed);
    if (t.period == now) [[likely]]
        return &t;
    return enter(t, now, call) ? &t : nullptr;
}

// ---- push and pop ----

// The upper half of an open range's flags is its domain.
constexpr std::uint32_t domain_of(std::uint32_t flags) { return flags >> 16; }

struct Open {
    std::uint64_t begin, payload;
    std::uint32_t name, flags;
};
Open read(const abi::OpenRange& r) { return {r.begin, r.payload, r.name, r.flags}; }
void write(abi::OpenRange& r, const Open& open) {
    store(r.begin, open.begin);
    store(r.payload, open.payload);
    store(r.name, open.name);
    store(r.flags, open.flags);
}

/// Domains nest each by itself, so the innermost range of one may have ranges of others inside. It
/// leaves as a range that overlaps, and those inside move outwards.
[[gnu::noinline]] int pop_below(ThreadLane& t, std::uint32_t domain, std::uint64_t now) noexcept {
    abi::OpenRange* stack = t.lane->stack;
    std::uint32_t level = t.depth;
    while (level > 0 && domain_of(stack[level - 1].flags) != domain) --level;
    if (level == 0) {
        detail::count(&abi::RingHeader::unmatched_ends);
        return -1;
    }
    --level;
    const Open open = read(stack[level]);
    // A reader must see that the depth has changed before anything moves.
    detail::publish(t.lane->depth, level);
    detail::fence(std::memory_order_release);
    for (std::uint32_t i = level; i + 1 < t.depth; ++i) write(stack[i], read(stack[i + 1]));
    detail::publish(t.lane->depth, --t.depth);
    detail::write_record_at(t, 255, abi::RecordKind::async_span, open.begin, now, open.payload,
                            open.name, static_cast<std::uint16_t>(open.flags));
    return static_cast<int>(level);
}

// ---- start and end ----

/// An open start/end range. `id` 0: free.
struct Started {
    std::atomic<std::uint64_t> id;
    std::atomic<std::uint32_t> period;
    std::uint64_t begin, payload, chained;
    StringId name;
    std::uint16_t flags;
};
constexpr std::uint64_t kStarted = 4096, kProbes = 16;
constinit Started started[kStarted] = {};
constinit std::atomic<std::uint64_t> started_count{0};

// Being written: the owner of the place has not published it yet.
constexpr std::uint64_t kClaimed = ~std::uint64_t{0};

/// A place for range number `number`, claimed; null: too many are open. What was left open in a
/// former period gives way: its end may have come while nobody listened.
Started* claim_place(std::uint64_t number, std::uint32_t now) {
    for (std::uint64_t i = 0; i < kProbes; ++i) {
        Started& place = started[(number + i) % kStarted];
        std::uint64_t id = place.id.load(std::memory_order_relaxed);
        const bool stale =
            id != 0 && id != kClaimed && place.period.load(std::memory_order_relaxed) != now;
        if ((id == 0 || stale) &&
            place.id.compare_exchange_strong(id, kClaimed, std::memory_order_acq_rel)) {
            place.period.store(now, std::memory_order_relaxed);
            return &place;
        }
    }
    return nullptr;
}

}  // namespace

bool in_period() noexcept {
    if ((period.load(std::memory_order_relaxed) & kOn) != 0) return true;
    if (orphaned.load(std::memory_order_relaxed) == nullptr) return false;
    if (auto* begin_again = orphaned.exchange(nullptr)) begin_again();
    return (period.load(std::memory_order_relaxed) & kOn) != 0;
}

void begin_period() noexcept {
    orphaned.store(nullptr);
    if (in_period()) return;
    set_recording(true);
    period.fetch_add(kNextPeriod + kOn, std::memory_order_acq_rel);
}

void end_period() noexcept {
    period.fetch_and(~kOn, std::memory_order_acq_rel);
    set_recording(false);
}

void set_gate(service::Gate gate) noexcept {
    const std::uint32_t bits = static_cast<std::uint32_t>(gate) << kGateShift;
    std::uint32_t now = period.load(std::memory_order_relaxed);
    while ((now & kGate) != bits &&
           !period.compare_exchange_weak(now, (now & ~kGate) | bits, std::memory_order_acq_rel)) {
    }
}

void forget_ranges(void (*begin_again)()) noexcept {
    period.fetch_and(~(kOn | kGate), std::memory_order_relaxed);
    ::pthread_mutex_init(&names_lock, nullptr);
    for (ThreadName& known : thread_names) known = {};  // names are the parent's
    orphaned.store(begin_again);
}

int push(std::uint32_t domain, const Event& event) noexcept {
    ThreadLane* t = writable_lane(Call::push);
    if (t == nullptr) return -2;
    const int level = static_cast<int>(t->depth);
    if (t->depth < abi::kStackSlots) [[likely]] {
        // After the head that the last range left behind: readers that see this slot also see that.
        detail::fence(std::memory_order_release);
        write(t->lane->stack[t->depth],
              {read_ticks(), event.payload, event.name, std::uint32_t{event.flags} | domain << 16});
    } else {
        detail::count(&abi::RingHeader::too_deep);
    }
    detail::publish(t->lane->depth, ++t->depth);
    return level;
}

int pop(std::uint32_t domain) noexcept {
    ThreadLane* t = writable_lane(Call::pop);
    if (t == nullptr) return -2;
    const std::uint64_t now = read_ticks();
    if (t->depth > abi::kStackSlots) {  // whose range that was is not kept
        detail::publish(t->lane->depth, --t->depth);
        return static_cast<int>(t->depth);
    }
    if (t->depth == 0 || domain_of(t->lane->stack[t->depth - 1].flags) != domain) [[unlikely]]
        return pop_below(*t, domain, now);
    const Open open = read(t->lane->stack[t->depth - 1]);
    detail::publish(t->lane->depth, --t->depth);
    detail::write_record(*t, abi::RecordKind::span, open.begin, now, open.payload, open.name,
                         static_cast<std::uint16_t>(open.flags));
    return static_cast<int>(t->depth);
}

void mark(const Event& event, std::span<const RangeValue> values) noexcept {
    ThreadLane* t = writable_lane(Call::other);
    if (t == nullptr) return;
    const std::uint64_t now = read_ticks();
    constexpr std::uint64_t kMarksDepth = 255;
    for (const RangeValue& v : values)
        detail::write_record_at(*t, kMarksDepth, abi::RecordKind::value, now, now, v.value, v.name,
                                v.flags);
    detail::write_record(*t, abi::RecordKind::instant, now, now, event.payload, event.name,
                         event.flags);
}

void tell_values(std::span<const RangeValue> values, const RangeValue* main) noexcept {
    ThreadLane& t = detail::thread_lane;
    if (t.lane == nullptr || t.depth == 0 || t.depth > abi::kStackSlots) return;
    abi::OpenRange& slot = t.lane->stack[t.depth - 1];
    const Open open = read(slot);
    if (main != nullptr && (open.flags & abi::kHasPayload) == 0) {
        store(slot.payload, main->value);
        store(slot.flags, open.flags | abi::kHasPayload | main->flags);
    }
    for (const RangeValue& v : values)
        detail::write_record_at(t, t.depth - 1, abi::RecordKind::value, open.begin, open.begin,
                                v.value, v.name, v.flags);
}

std::uint64_t start(const Event& event, std::uint64_t chained) noexcept {
    if (!in_period() && chained == 0) return 0;
    const std::uint64_t number = started_count.fetch_add(1, std::memory_order_relaxed) + 1;
    Started* place = claim_place(number, period.load(std::memory_order_relaxed) / kNextPeriod);
    if (place == nullptr) {
        detail::count(&abi::RingHeader::too_deep);
        return 0;
    }
    place->begin = in_period() ? read_ticks() : 0;
    place->payload = event.payload;
    place->name = event.name;
    place->flags = event.flags;
    place->chained = chained;
    const std::uint64_t id = number * kStarted + static_cast<std::uint64_t>(place - started);
    place->id.store(id, std::memory_order_release);
    return id;
}

std::uint64_t end(std::uint64_t id) noexcept {
    if (id == 0) return 0;  // what start() says when nothing is recorded
    const std::uint64_t now = read_ticks();
    Started& place = started[id % kStarted];
    std::uint64_t expected = id;
    if (id < kStarted ||
        !place.id.compare_exchange_strong(expected, kClaimed, std::memory_order_acq_rel)) {
        detail::count(&abi::RingHeader::unmatched_ends);
        return 0;
    }
    const Started& was = place;
    ThreadLane* t = was.begin != 0 ? writable_lane(Call::other) : nullptr;
    if (t != nullptr)
        detail::write_record_at(*t, 255, abi::RecordKind::async_span, was.begin, now, was.payload,
                                was.name, was.flags);
    const std::uint64_t chained = was.chained;
    place.id.store(0, std::memory_order_release);
    return chained;
}

void name_thread(std::uint32_t tid, StringId name) noexcept {
    {
        const detail::Locked held(names_lock);
        ThreadName* place = nullptr;
        for (ThreadName& known : thread_names)
            if (known.tid == tid) place = &known;
        if (place == nullptr) place = &thread_names[next_thread_name++ % kThreadNames];
        *place = {tid, name};
    }
    // Every thread looks its name up before it writes again.
    std::uint32_t now = period.load(std::memory_order_relaxed), next = 0;
    do {
        next = (now & ~kRenames) | ((now + kRenamed) & kRenames);
    } while (!period.compare_exchange_weak(now, next, std::memory_order_acq_rel));
}

}  // namespace gs::inject
