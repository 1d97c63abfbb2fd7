// The mock CUPTI's state, shared by what makes its records (mock_cupti_records.cpp), what delivers
// them (mock_cupti_delivery.cpp) and its C interface (mock_cupti.cpp).
#pragma once

#include <bitset>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mock {

using Callback = void (*)(void*, int, std::uint32_t, const void*);
using Requested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Completed = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr std::size_t kFlushAfter = 4000;  ///< records, without being asked

inline std::uint64_t environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// An unfinished record, and when the work that it describes ends.
struct Pending {
    std::vector<std::uint8_t> bytes;
    std::uint64_t ready = 0;
    std::size_t end_at = 0;  // where its end time is stored, for records delivered before that
};

/// A buffer that gets records as they are made, and that comes back as a whole when the work of all
/// its records has ended (MOCK_CUPTI_WHOLE).
struct Bundle {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    std::uint64_t thread = 0;  ///< whose it is, where every thread has its own
    bool full = false;
    std::vector<Pending> records;
};

struct Cupti {
    std::mutex mutex;
    std::condition_variable wake, done;
    std::uint32_t version =
        static_cast<std::uint32_t>(environment("MOCK_CUPTI_VERSION", MOCK_CUPTI_DEFAULT_VERSION));
    std::uint64_t offset = environment("MOCK_CUPTI_CLOCK_OFFSET", 0);
    std::uint64_t drop_every = environment("MOCK_CUPTI_DROP_EVERY", 0),
                  refuse = environment("MOCK_CUPTI_REFUSE", 0);
    bool shuffle = environment("MOCK_CUPTI_SHUFFLE", 0) != 0,
         cut = environment("MOCK_CUPTI_CUT", 0) != 0,
         forge = environment("MOCK_CUPTI_FORGE", 0) != 0,
         whole = environment("MOCK_CUPTI_WHOLE", 0) != 0,
         per_thread = environment("MOCK_CUPTI_PER_THREAD", 0) != 0;
    /// Nanoseconds that CUPTI takes inside each call that it records.
    std::uint64_t call_ns = environment("MOCK_CUPTI_CALL_NS", 0);
    std::string holder =
        std::getenv("MOCK_CUPTI_HELD_BY") != nullptr ? std::getenv("MOCK_CUPTI_HELD_BY") : "";
    Callback callback = nullptr;
    void* user = nullptr;
    Requested requested = nullptr, promised = nullptr;  ///< who said that its buffers are zero
    Completed completed = nullptr;
    std::bitset<64> kinds;
    std::bitset<2048> calls[2];
    bool domains[3] = {}, system_threads = false, started = false, asked = false, forced = false;
    std::vector<Pending> pending;
    std::vector<Bundle> bundles;
    bool graph_seen = false, broken = false, host_pinned = false, zeroed = false;
    std::uint32_t changes = 0;  ///< of a kind of records, on or off
    std::vector<std::pair<std::uint8_t*, std::size_t>> hoard;
    std::uint32_t finalized = 0, out = 0;
    std::uint64_t made = 0, delivered = 0, dropped = 0, unread_drops = 0, round = 0;
    std::mt19937 random{7};
};
Cupti& m();
/// CUPTI's clock.
std::uint64_t now_ns();
/// Bytes of a record of this generation; 0: no such kind.
std::size_t bytes_of(std::uint32_t kind);
/// The driver's doings become records, or no more.
void observe(bool on);
/// Puts a record into its thread's buffer, asking for one where need be.
void put(Pending record, std::uint64_t thread);
/// CUPTI's worker: never returns.
void work();

}  // namespace mock
