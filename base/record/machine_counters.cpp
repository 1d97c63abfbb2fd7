#include "base/record/machine_counters.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/record/process.h"
#include "base/record/ring.h"
#include "base/record/scope.h"

namespace gs {
namespace {

constexpr std::uint64_t kFirstPause = 60'000'000, kLongestPause = 1'000'000'000;  // ns
constexpr std::size_t kMostThreads = 256;

/// What a thread has done since it began, ns.
struct ThreadTime {
    std::uint64_t ran = 0, waited = 0;
    std::uint32_t tid = 0;
};

double clock_ghz() {
    char path[96], text[2048];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                  ::sched_getcpu());
    if (detail::read_small(path, text, sizeof text) > 0) return 1e-6 * std::atof(text);
    if (detail::read_small("/proc/cpuinfo", text, sizeof text) == 0) return 0;
    const char* line = std::strstr(text, "cpu MHz");
    const char* colon = line == nullptr ? nullptr : std::strchr(line, ':');
    return colon == nullptr ? 0 : 1e-3 * std::atof(colon + 1);
}

double resident_mib() {
    char text[128];
    if (detail::read_small("/proc/self/statm", text, sizeof text) == 0) return 0;
    const char* const after = std::strchr(text, ' ');  // sizes in pages: all, resident, ...
    return after == nullptr
               ? 0
               : std::atof(after) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class MachineCounters {
  public:
    bool write(std::uint64_t now) noexcept {
        if (now < due_) return false;
        const std::uint64_t passed = now - last_ns_;
        const bool first = last_ns_ == 0;
        last_ns_ = now;
        pause_ = first ? kFirstPause : std::min(2 * pause_, kLongestPause);
        due_ = now + pause_;
        const bool threads_told = look_at_threads();
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        const std::int64_t switches = usage.ru_nivcsw - switches_;
        switches_ = usage.ru_nivcsw;
        if (first) return false;
        register_names();
        const double seconds = 1e-9 * static_cast<double>(passed);
        totals_.seconds += seconds;
        totals_.ran += 1e-9 * static_cast<double>(ran_);
        totals_.waited += 1e-9 * static_cast<double>(waited_);
        totals_.most_waited += 1e-9 * static_cast<double>(most_waited_);
        totals_.switches += static_cast<double>(switches);
        if (threads_told) {
            if (ran_ + waited_ > 0)
                record_counter(waited_name_, 100 * static_cast<double>(waited_) /
                                                 static_cast<double>(ran_ + waited_));
            const auto share = [&](std::uint64_t ns) {
                return std::min(100.0, 100 * static_cast<double>(ns) / static_cast<double>(passed));
            };
            record_counter(main_waited_name_, share(main_waited_));
            record_counter(most_waited_name_, share(most_waited_));
            record_counter(used_name_, 1e-9 * static_cast<double>(ran_) / seconds);
        }
        record_counter(switches_name_, static_cast<double>(switches) / seconds);
        cpu_set_t may_use;
        if (::sched_getaffinity(0, sizeof may_use, &may_use) == 0)
            record_counter(cpus_name_, CPU_COUNT(&may_use));
        char text[64];
        if (detail::read_small("/proc/loadavg", text, sizeof text) > 0)
            record_counter(load_name_, totals_.load = std::atof(text));
        if (const double mib = resident_mib(); mib > 0) record_counter(resident_name_, mib);
        if (const double ghz = clock_ghz(); ghz > 0)
            record_counter(clock_name_, totals_.clock_ghz = ghz);
        return true;
    }

    const MachineTotals& totals() const noexcept { return totals_; }

  private:
    // Threads that ended meanwhile are missing, and those that began count from their beginning.
    bool look_at_threads() noexcept {
        DIR* const tasks = ::opendir("/proc/self/task");
        if (tasks == nullptr) return false;
        ThreadTime now[kMostThreads];
        std::size_t count = 0;
        ran_ = waited_ = main_waited_ = most_waited_ = 0;
        const auto main = static_cast<std::uint32_t>(::getpid());
        while (const dirent* entry = ::readdir(tasks)) {
            char path[64], text[96];
            const auto tid = static_cast<std::uint32_t>(std::strtoul(entry->d_name, nullptr, 10));
            std::snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", tid);
            if (tid == 0 || count == kMostThreads ||
                detail::read_small(path, text, sizeof text) == 0)
                continue;
            char* after = nullptr;
            ThreadTime& one = now[count++];
            one.tid = tid;
            one.ran = std::strtoull(text, &after, 10);
            one.waited = std::strtoull(after, nullptr, 10);
            const ThreadTime *const known = threads_, *const end = known + count_;
            const ThreadTime* const before =
                std::find_if(known, end, [&](const ThreadTime& t) { return t.tid == tid; });
            const bool same = before != end && before->ran <= one.ran;
            ran_ += one.ran - (same ? before->ran : 0);
            const std::uint64_t waited =
                one.waited - (same ? std::min(before->waited, one.waited) : 0);
            waited_ += waited;
            most_waited_ = std::max(most_waited_, waited);
            if (tid == main) main_waited_ = waited;
        }
        ::closedir(tasks);
        std::copy_n(now, count, threads_);
        count_ = count;
        return count > 0;
    }

    void register_names() noexcept {
        if (waited_name_ != 0 && ring_ == detail::ring_number()) return;
        ring_ = detail::ring_number();  // a forked child has names of its own
        waited_name_ = register_string(machine_counter::kWaited);
        main_waited_name_ = register_string(machine_counter::kMainWaited);
        most_waited_name_ = register_string(machine_counter::kMostWaited);
        switches_name_ = register_string(machine_counter::kSwitches);
        used_name_ = register_string(machine_counter::kCpusUsed);
        cpus_name_ = register_string(machine_counter::kCpus);
        load_name_ = register_string(machine_counter::kLoad);
        clock_name_ = register_string(machine_counter::kClock);
        resident_name_ = register_string(machine_counter::kResident);
    }

    std::uint64_t due_ = 0, last_ns_ = 0, pause_ = 0;
    // Since the last look, ns: of all threads, of the main one, of the one that waited most.
    std::uint64_t ran_ = 0, waited_ = 0, main_waited_ = 0, most_waited_ = 0;
    std::int64_t switches_ = 0;
    ThreadTime threads_[kMostThreads];
    std::size_t count_ = 0;
    MachineTotals totals_;
    std::uint32_t ring_ = 0;
    StringId waited_name_ = 0, main_waited_name_ = 0, most_waited_name_ = 0, switches_name_ = 0,
             used_name_ = 0, cpus_name_ = 0, load_name_ = 0, clock_name_ = 0, resident_name_ = 0;
};

constinit MachineCounters counters;
std::atomic_flag counters_taken = ATOMIC_FLAG_INIT;

}  // namespace

bool write_machine_counters() noexcept {
    // Who finds it taken need not wait.
    if (!is_recording() || counters_taken.test_and_set(std::memory_order_acquire)) return false;
    const bool written = counters.write(monotonic_ns());
    counters_taken.clear(std::memory_order_release);
    return written;
}

// A thread of the parent may have held the lock.
void forget_machine_counters_in_child() noexcept { counters_taken.clear(); }

MachineTotals machine_totals() noexcept {
    while (counters_taken.test_and_set(std::memory_order_acquire)) ::sched_yield();
    const MachineTotals out = counters.totals();
    counters_taken.clear(std::memory_order_release);
    return out;
}

}  // namespace gs
