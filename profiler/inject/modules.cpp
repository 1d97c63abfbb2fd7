#include "profiler/inject/modules.h"

#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstring>

#include "base/record/mutex.h"
#include "profiler/inject/chain.h"
#include "profiler/inject/hooks.h"

namespace gs::inject {
namespace {

struct ModuleTables {
    nvtx::FunctionTable tables[nvtx::kModules] = {};  ///< null: this object has none
    unsigned int sizes[nvtx::kModules] = {};
    // Where the object lies, as the loader reports it. unknown: in another namespace; its pointers
    // are never touched again, and the hooks test a flag.
    std::uintptr_t base = 0;
    char name[256] = {};
    bool found = false, mapped = false;
};
constexpr int kMost = 256;
constinit ModuleTables modules[kMost] = {};
constinit int module_count = 0;
constinit bool armed_now = false, chained_now = false;
constinit int ticks_to_settle = 0;  // 0: all is as it should be
constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// Several threads call through it meanwhile; NVTX reads it once per call.
void set(nvtx::Function& pointer, nvtx::Function value) {
    std::atomic_ref(pointer).store(value, std::memory_order_release);
}

nvtx::Function* pointer_of(const ModuleTables& m, nvtx::Module module, std::uint32_t function) {
    return function < m.sizes[module] ? m.tables[module][function] : nullptr;
}

bool is_ours(nvtx::Function f, const Hook& hook) {
    return f == nullptr || f == hook.plain || f == hook.chained;
}

/// False when what lies there is not as we left it: then the object was unloaded and another has
/// its place.
bool untouched(const ModuleTables& m) {
    for (const Hook& hook : kHooks) {
        const nvtx::Function* pointer = pointer_of(m, hook.module, hook.function);
        if (pointer != nullptr && !is_ours(*pointer, hook)) return false;
    }
    return true;
}

nvtx::Function target(const Hook& hook) {
    if (chained_now &&
        (hook.plain != nullptr || chain::function(hook.module, hook.function) != nullptr))
        return hook.chained;
    return !hook.records || armed_now ? hook.plain : nullptr;
}

bool is_hooked(int module, std::uint32_t function) {
    for (const Hook& hook : kHooks)
        if (hook.module == module && hook.function == function) return true;
    return false;
}

/// What we do not listen to goes to the other tool directly.
void point_rest(const ModuleTables& m) {
    for (int module = nvtx::kCore; module < nvtx::kModules; ++module) {
        for (std::uint32_t i = 1; i < m.sizes[module] && i < nvtx::kMostFunctions; ++i) {
            const nvtx::Function other = chain::function(static_cast<nvtx::Module>(module), i);
            nvtx::Function* pointer = m.tables[module] != nullptr ? m.tables[module][i] : nullptr;
            if (other != nullptr && pointer != nullptr && !is_hooked(module, i))
                set(*pointer, other);
        }
    }
}

void point(const ModuleTables& m) {
    for (const Hook& hook : kHooks) {
        nvtx::Function* pointer = pointer_of(m, hook.module, hook.function);
        if (pointer != nullptr) set(*pointer, target(hook));
    }
    if (chained_now) point_rest(m);
}

bool contains(const dl_phdr_info& info, std::uintptr_t address) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD &&
            address - info.dlpi_addr - segment.p_vaddr < segment.p_memsz)
            return true;
    }
    return false;
}

// The loader holds its list of objects while these run: nothing is unmapped under their hands.

int locate(dl_phdr_info* info, std::size_t, void* data) {
    auto& m = *static_cast<ModuleTables*>(data);
    if (!contains(*info, reinterpret_cast<std::uintptr_t>(m.tables[nvtx::kCore]))) return 0;
    m.base = info->dlpi_addr;
    std::strncpy(m.name, info->dlpi_name, sizeof m.name - 1);
    m.found = true;
    return 1;
}

int point_mapped(dl_phdr_info* info, std::size_t, void*) {
    for (int i = 0; i < module_count; ++i) {
        ModuleTables& m = modules[i];
        if (!m.found || m.mapped || m.base != info->dlpi_addr) continue;
        if (std::strncmp(m.name, info->dlpi_name, sizeof m.name - 1) != 0) continue;
        m.mapped = contains(*info, reinterpret_cast<std::uintptr_t>(m.tables[nvtx::kCore])) &&
                   untouched(m);
        if (m.mapped) point(m);
    }
    return 0;
}

void point_all() {
    for (int i = 0; i < module_count; ++i) modules[i].mapped = false;
    ::dl_iterate_phdr(point_mapped, nullptr);
    int kept = 0;
    for (int i = 0; i < module_count; ++i)
        if (modules[i].mapped) modules[kept++] = modules[i];
    module_count = kept;
}

bool read_tables(nvtx::GetExportTable get_export_table, ModuleTables& m) {
    const auto* callbacks = static_cast<const nvtx::Callbacks*>(get_export_table(nvtx::kCallbacks));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(nvtx::Callbacks)) return false;
    for (int module = nvtx::kCore; module < nvtx::kModules; ++module)
        if (callbacks->get_module_function_table(module, &m.tables[module], &m.sizes[module]) ==
                0 ||
            m.tables[module] == nullptr)
            m.sizes[module] = 0;
    return m.sizes[nvtx::kCore] > nvtx::kRangePop;
}

}  // namespace

bool attach_module(nvtx::GetExportTable get_export_table) noexcept {
    ModuleTables m;
    if (!read_tables(get_export_table, m)) return false;
    if (const auto* version =
            static_cast<const nvtx::VersionInfo*>(get_export_table(nvtx::kVersionInfo)))
        if (version->set_injection_version != nullptr)
            version->set_injection_version(nvtx::kVersion);
    const detail::Locked held(lock);
    ::dl_iterate_phdr(locate, &m);
    // Without a place in the list, or not to be found again: hooked for good.
    const bool armed = armed_now;
    armed_now = armed || !m.found || module_count == kMost;
    point(m);
    armed_now = armed;
    if (!m.found || module_count == kMost) return true;
    int place = 0;
    while (place < module_count && modules[place].tables[nvtx::kCore] != m.tables[nvtx::kCore])
        ++place;
    modules[place] = m;
    if (place == module_count) ++module_count;
    ticks_to_settle = 4;
    return true;
}

void point_modules(bool armed, bool chained) noexcept {
    const detail::Locked held(lock);
    armed_now = armed;
    chained_now = chained;
    point_all();
}

void chain_modules(bool chained) noexcept {
    const detail::Locked held(lock);
    chained_now = chained;
    point_all();
}

void settle_modules() noexcept {
    const detail::Locked held(lock);
    if (ticks_to_settle > 0 && --ticks_to_settle == 0) point_all();
}

void hold_modules() noexcept { ::pthread_mutex_lock(&lock); }
void let_go_of_modules() noexcept { ::pthread_mutex_unlock(&lock); }
void forget_modules() noexcept {
    ::pthread_mutex_init(&lock, nullptr);
    armed_now = false;
}

}  // namespace gs::inject
