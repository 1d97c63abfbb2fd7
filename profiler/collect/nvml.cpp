#include "profiler/collect/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace gs::nvml {

tl::expected<std::unique_ptr<Library>, std::string> Library::open() {
    const auto absent = [](const char* why) {
        return tl::unexpected(fmt::format("NVML: absent ({})", why));
    };
    void* const found = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (found == nullptr) return absent("libnvidia-ml.so.1 was not found");
    std::unique_ptr<Library> out(new Library(found));
    if (!out->look_up()) return absent("libnvidia-ml.so.1 is too old");
    const Result result = out->f_.Init();
    if (result == kNoPermission)
        return tl::unexpected(fmt::format("NVML: not permitted ({})", out->f_.ErrorString(result)));
    if (result != kSuccess) return absent(out->f_.ErrorString(result));
    out->initialised_ = true;
    return out;
}

Library::~Library() {
    if (initialised_) f_.Shutdown();
    ::dlclose(library_);
}

bool Library::look_up() {
    bool complete = true;
    const auto need = [&]<class F>(F& function, const char* name) {
        function = reinterpret_cast<F>(::dlsym(library_, name));
        complete = complete && function != nullptr;
    };
    need(f_.Init, "nvmlInit_v2");
    need(f_.Shutdown, "nvmlShutdown");
    need(f_.ErrorString, "nvmlErrorString");
    need(f_.DeviceGetCount, "nvmlDeviceGetCount_v2");
    need(f_.DeviceGetHandleByIndex, "nvmlDeviceGetHandleByIndex_v2");
    need(f_.DeviceGetName, "nvmlDeviceGetName");
    need(f_.DeviceGetUUID, "nvmlDeviceGetUUID");
    need(f_.DeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates");
    need(f_.DeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo");
    need(f_.DeviceGetClockInfo, "nvmlDeviceGetClockInfo");
    need(f_.DeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
    need(f_.DeviceGetTemperature, "nvmlDeviceGetTemperature");
    need(f_.DeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    const bool basics = std::exchange(complete, true);
    need(f_.GpmQueryDeviceSupport, "nvmlGpmQueryDeviceSupport");
    need(f_.GpmSampleAlloc, "nvmlGpmSampleAlloc");
    need(f_.GpmSampleFree, "nvmlGpmSampleFree");
    need(f_.GpmSampleGet, "nvmlGpmSampleGet");
    need(f_.GpmMetricsGet, "nvmlGpmMetricsGet");
    if (!complete) f_.GpmMetricsGet = nullptr;
    need(f_.DeviceGetMigMode, "nvmlDeviceGetMigMode");
    need(f_.DeviceGetMaxMigDeviceCount, "nvmlDeviceGetMaxMigDeviceCount");
    need(f_.DeviceGetMigDeviceHandleByIndex, "nvmlDeviceGetMigDeviceHandleByIndex");
    need(f_.DeviceGetGpuInstanceId, "nvmlDeviceGetGpuInstanceId");
    need(f_.GpmMigSampleGet, "nvmlGpmMigSampleGet");
    return basics;
}

/// False: it has no uuid.
bool Library::describe(Device& device) const {
    char uuid[96] = {}, name[96] = {};
    if (f_.DeviceGetUUID(device.handle, uuid, sizeof uuid) != kSuccess) return false;
    device.uuid = uuid;
    device.name = f_.DeviceGetName(device.handle, name, sizeof name) == kSuccess ? name : "GPU";
    return true;
}

void Library::add_slices(const Device& of, std::vector<Device>& out) const {
    constexpr unsigned kSlices = 100;
    unsigned count = 0;
    if (f_.DeviceGetMaxMigDeviceCount == nullptr || f_.DeviceGetGpuInstanceId == nullptr ||
        f_.DeviceGetMigDeviceHandleByIndex == nullptr ||
        f_.DeviceGetMaxMigDeviceCount(of.handle, &count) != kSuccess)
        return;
    for (unsigned i = 0; i < std::min(count, kSlices); ++i) {
        Device slice;
        slice.number = (of.number + 1) * kSlices + i;
        slice.whole = of.handle;
        if (f_.DeviceGetMigDeviceHandleByIndex(of.handle, i, &slice.handle) != kSuccess ||
            f_.DeviceGetGpuInstanceId(slice.handle, &slice.instance) != kSuccess ||
            !describe(slice))
            continue;
        slice.shared = std::ranges::any_of(out, [&](const Device& other) {
            return other.whole == slice.whole && other.instance == slice.instance;
        });
        out.push_back(std::move(slice));
    }
}

std::vector<Device> Library::devices() const {
    std::vector<Device> out;
    unsigned count = 0;
    if (f_.DeviceGetCount(&count) != kSuccess) return out;
    for (unsigned i = 0; i < count; ++i) {
        Device device;
        device.number = i;
        if (f_.DeviceGetHandleByIndex(i, &device.handle) != kSuccess || !describe(device)) continue;
        unsigned now = 0, after_reset = 0;
        device.sliced = f_.DeviceGetMigMode != nullptr &&
                        f_.DeviceGetMigMode(device.handle, &now, &after_reset) == kSuccess &&
                        now != 0;
        out.push_back(device);
        if (device.sliced) add_slices(device, out);
    }
    return out;
}

}  // namespace gs::nvml
