#include "profiler/inject/cupti_devices.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/record/service_status.h"
#include "profiler/inject/cupti_library.h"

namespace gs::inject::cupti {
namespace {

/// CUdevice_attribute.
enum Attribute : int {
    kSharedPerBlock = 8,
    kClock = 13,
    kMultiprocessors = 16,
    kPciBus = 33,
    kPciDevice = 34,
    kMemoryClock = 36,
    kMemoryBusBits = 37,
    kL2Bytes = 38,
    kThreadsPerMultiprocessor = 39,
    kPciDomain = 50,
    kComputeMajor = 75,
    kComputeMinor = 76,
    kSharedPerMultiprocessor = 81,
    kRegistersPerMultiprocessor = 82,
    kBlocksPerMultiprocessor = 106,
};

struct Driver {
    int (*count)(int*) = nullptr;
    int (*device)(int*, int ordinal) = nullptr;
    int (*name)(char*, int, int device) = nullptr;
    int (*attribute)(int*, int attribute, int device) = nullptr;
    int (*memory)(std::size_t*, int device) = nullptr;
    int (*uuid)(void*, int device) = nullptr;

    explicit Driver(void* library) noexcept {
        find(library, count, "cuDeviceGetCount");
        find(library, device, "cuDeviceGet");
        find(library, name, "cuDeviceGetName");
        find(library, attribute, "cuDeviceGetAttribute");
        find(library, memory, "cuDeviceTotalMem_v2");
        find(library, uuid, "cuDeviceGetUuid_v2");
        if (uuid == nullptr) find(library, uuid, "cuDeviceGetUuid");
    }
    bool complete() const noexcept {
        return count != nullptr && device != nullptr && name != nullptr && attribute != nullptr;
    }
    template <class F>
    static void find(void* library, F& f, const char* symbol) noexcept {
        f = reinterpret_cast<F>(::dlsym(library, symbol));
    }
    /// 0 where the driver does not tell.
    std::uint32_t get(Attribute which, int of) const noexcept {
        int value = 0;
        return attribute(&value, which, of) == 0 && value > 0 ? static_cast<std::uint32_t>(value)
                                                              : 0;
    }
};

abi::GpuDevice describe(const Driver& driver, int device) noexcept {
    const auto get = [&](Attribute a) { return driver.get(a, device); };
    abi::GpuDevice d{};
    char name[gs::abi::kMaxStringBytes + 1] = "GPU";
    driver.name(name, static_cast<int>(sizeof name) - 1, device);
    d.name = register_string(name);
    d.compute_major = static_cast<std::uint16_t>(get(kComputeMajor));
    d.compute_minor = static_cast<std::uint16_t>(get(kComputeMinor));
    d.multiprocessors = get(kMultiprocessors);
    d.warps_per_multiprocessor = get(kThreadsPerMultiprocessor) / 32;
    d.blocks_per_multiprocessor = get(kBlocksPerMultiprocessor);
    d.registers_per_multiprocessor = get(kRegistersPerMultiprocessor);
    d.shared_per_multiprocessor = get(kSharedPerMultiprocessor);
    d.shared_per_block = get(kSharedPerBlock);
    d.clock_khz = get(kClock);
    d.memory_clock_khz = get(kMemoryClock);
    d.memory_bus_bits = get(kMemoryBusBits);
    d.l2_bytes = get(kL2Bytes);
    d.pci_domain = get(kPciDomain);
    d.pci_bus = get(kPciBus);
    d.pci_device = get(kPciDevice);
    std::size_t bytes = 0;
    if (driver.memory != nullptr && driver.memory(&bytes, device) == 0) d.memory_bytes = bytes;
    if (driver.uuid != nullptr) driver.uuid(d.uuid, device);
    return d;
}

}  // namespace

bool publish_gpu_devices() noexcept {
    void* library = mapped_driver();
    if (library == nullptr) return false;
    const Driver driver(library);
    int count = 0;
    if (!driver.complete() || driver.count(&count) != 0) return false;
    count = std::min(count, static_cast<int>(abi::kGpuSlots));
    for (int i = 0; i < count; ++i) {
        int device = 0;
        if (driver.device(&device, i) == 0)
            write_gpu_device(static_cast<std::uint32_t>(i), describe(driver, device));
    }
    return count > 0;
}

}  // namespace gs::inject::cupti
