#include "base/record/overhead_counters.h"

#include <atomic>

#include "base/record/scope.h"

namespace gs::service {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t word(std::uint64_t& where) {
    return std::atomic_ref(where).load(std::memory_order_relaxed);
}

}  // namespace

void OverheadCounters::write(std::uint64_t now_ns) noexcept {
    if (last_ns_ != 0 && now_ns - last_ns_ < kSecond) return;
    abi::RingHeader* h = detail::ring_header();
    if (h == nullptr || !is_recording()) return;
    const std::uint64_t cpu = word(h->service_cpu_ns);
    const std::uint64_t passed = now_ns - last_ns_, used = cpu - cpu_ns_;
    const bool first = last_ns_ == 0;
    last_ns_ = now_ns;
    cpu_ns_ = cpu;
    if (first) return;
    if (cpu_ == 0) {
        cpu_ = register_string("profiling: processor time %");
        lost_ = register_string("profiling: records lost or left out");
        duty_ = register_string("profiling: recording on %");
    }
    record_counter(cpu_, 100 * static_cast<double>(used) / static_cast<double>(passed));
    record_counter(lost_, static_cast<double>(word(h->dropped_records) + word(h->cupti_dropped) +
                                              word(h->budget_skipped)));
    if (h->budget_ppm != 0) record_counter(duty_, 1e-4 * static_cast<double>(h->duty_ppm));
}

}  // namespace gs::service
