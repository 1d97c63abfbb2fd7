#include "tests/support/emulator/allocations.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/launch.h"
#include "tests/support/emulator/poison.h"
#include "tests/support/emulator/runtime_state.h"
#include "tests/support/emulator/sanitizer.h"

namespace gs::emulator {
namespace {

constexpr std::size_t kAlignment = 256, kPage = 4096;
/// The address sanitizer guards allocations itself, to the byte.
constexpr std::size_t kZone = kAddressSanitizer ? 0 : 256;
constexpr unsigned char kZoneByte = 0xA7;

/// The index of the first byte of a zone that was written, or kZone.
std::size_t damage(const unsigned char* zone) {
    return static_cast<std::size_t>(
        std::find_if(zone, zone + kZone, [](unsigned char b) { return b != kZoneByte; }) - zone);
}

void verify_zone(std::uintptr_t first, const Allocation& one, const std::string& by) {
    auto* const bytes = reinterpret_cast<unsigned char*>(first);
    const std::size_t before = damage(bytes - kZone), after = damage(bytes + one.bytes);
    if (before == kZone && after == kZone) return;
    std::memset(bytes - kZone, kZoneByte, kZone);  // said once
    std::memset(bytes + one.bytes, kZoneByte, kZone);
    throw EmulatorError(Fault::red_zone,
                        fmt::format("{} wrote {} an allocation of {} bytes", by,
                                    after != kZone ? fmt::format("{} bytes past the end of", after)
                                                   : fmt::format("{} bytes before", kZone - before),
                                    one.bytes),
                        "", 0);
}

/// Without the sanitizer, separate memory is pages nobody may touch; this says what such a touch
/// was.
void explain_fault(int signal_number, siginfo_t* info, void*) {
    const Allocation* const one = Runtime::instance().allocations.holder(info->si_addr, 1);
    if (one != nullptr && one->separate) {
        constexpr char text[] =
            "emulator: host code touches device memory; a debugger shows where\n";
        [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
    }
    signal(signal_number, SIG_DFL);  // the same access again ends the program
}

void explain_faults_from_now_on() {
    static const bool done = [] {
        struct sigaction action {};
        action.sa_sigaction = &explain_fault;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGSEGV, &action, nullptr) == 0;
    }();
    (void)done;
}

void* make_block(std::size_t bytes, bool pages) {
    void* block = nullptr;
    if (!pages) return posix_memalign(&block, kAlignment, bytes) == 0 ? block : nullptr;
    explain_faults_from_now_on();
    block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
}

}  // namespace

void* Allocations::add(std::size_t bytes, bool pinned, bool separate) {
    const bool pages = separate && !pinned && !kAddressSanitizer;
    const std::size_t wanted = bytes + 2 * kZone,
                      block_bytes = pages ? (wanted + kPage - 1) / kPage * kPage : wanted;
    void* const block = make_block(block_bytes, pages);
    if (block == nullptr) return nullptr;
    auto* const first = static_cast<unsigned char*>(block) + kZone;
    std::memset(block, kZoneByte, kZone);
    poison(first, bytes);
    std::memset(first + bytes, kZoneByte, kZone);
    const auto added = all_.insert({reinterpret_cast<std::uintptr_t>(first),
                                    {bytes, pinned, separate && !pinned, block, block_bytes}});
    if (reaches_ == 0) set_reachable(*added.first, false);
    return first;
}

Allocation Allocations::remove(const char* call, void* pointer, bool pinned) {
    const auto found = all_.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == all_.end() || found->second.pinned != pinned) {
        throw EmulatorError(Fault::bad_pointer,
                            fmt::format("{} of {}, which is no live allocation", call, pointer), "",
                            0);
    }
    const Allocation one = found->second;
    set_reachable(*found, true);
    std::exception_ptr error;
    try {
        verify_zone(found->first, one, fmt::format("somebody, before {},", call));
    } catch (...) {
        if (std::uncaught_exceptions() == 0) error = std::current_exception();
    }
    all_.erase(found);
    poison(pointer, one.bytes);
    if (one.separate && !kAddressSanitizer) {
        munmap(one.block, one.block_bytes);
    } else {
        std::free(one.block);
    }
    if (error) std::rethrow_exception(error);
    return one;
}

const Allocation* Allocations::holder(const void* pointer, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    auto after = all_.upper_bound(at);
    if (after == all_.begin()) return nullptr;
    --after;
    return at + bytes > after->first + after->second.bytes ? nullptr : &after->second;
}

void Allocations::verify(const std::string& by) const {
    if (kZone == 0) return;
    for (const auto& [first, one] : all_) verify_zone(first, one, by);
}

void Allocations::set_reachable(const Map::value_type& entry, bool reachable) const {
    const Allocation& one = entry.second;
    if (!one.separate) return;
    if (!kAddressSanitizer) {
        mprotect(one.block, one.block_bytes, reachable ? PROT_READ | PROT_WRITE : PROT_NONE);
    } else if (reachable) {
        unguard(one.block, one.bytes);
    } else {
        guard(one.block, one.bytes);
    }
}

Allocations::Reach::Reach(Allocations& allocations) : allocations_(allocations) {
    if (allocations_.reaches_++ > 0) return;
    for (const auto& one : allocations_.all_) allocations_.set_reachable(one, true);
}
Allocations::Reach::~Reach() {
    if (--allocations_.reaches_ > 0) return;
    for (const auto& one : allocations_.all_) allocations_.set_reachable(one, false);
}

std::optional<std::size_t> host_pointer_in(std::span<const std::byte> parameters) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    for (std::size_t offset = 0; offset + sizeof(std::uintptr_t) <= parameters.size();
         offset += sizeof(std::uintptr_t)) {
        std::uintptr_t word = 0;
        std::memcpy(&word, parameters.data() + offset, sizeof word);
        // Below: where no heap, stack or library lies on 64-bit Linux, but small numbers side by
        // side do.
        if (word < 0x500000000000u || word >= 0x800000000000u) continue;
        const auto at = reinterpret_cast<const void*>(word);  // NOLINT: that is the question
        if (runtime.allocations.holder(at, 0) != nullptr) continue;
        unsigned char present = 0;
        if (mincore(reinterpret_cast<void*>(word / kPage * kPage), 1, &present) == 0) return offset;
    }
    return std::nullopt;
}

/// EmulatorError when one of the words is an address of host memory: on a GPU that ends in an
/// illegal access.
void check_parameters(const char* kernel, const void* parameters, std::size_t bytes) {
    if (!Runtime::instance().separate_memory) return;
    const auto found = host_pointer_in({static_cast<const std::byte*>(parameters), bytes});
    if (!found) return;
    throw EmulatorError(
        Fault::host_pointer,
        fmt::format("kernel {}: byte {} of its parameters points to host memory", kernel, *found),
        "", 0);
}

}  // namespace gs::emulator
