#include "profiler/inject/cupti_library.h"

#include <dlfcn.h>

#include <cstdio>

#include "profiler/inject/settings.h"

namespace gs::inject::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
constexpr const char* kPlaces[] = {"/usr/local/cuda/lib64/libcupti.so",
                                   "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};

template <class F>
F driver_function(const char* name) noexcept {
    void* driver = mapped_driver();
    return driver != nullptr ? reinterpret_cast<F>(::dlsym(driver, name)) : nullptr;
}

/// 12080 for CUDA 12.8; 0: not known.
int driver_version() noexcept {
    auto* get = driver_function<int (*)(int*)>("cuDriverGetVersion");
    int version = 0;
    return get != nullptr && get(&version) == 0 ? version : 0;
}

void* open_library() noexcept {
    const char* chosen = settings().cupti_library;
    if (chosen[0] != '\0') return ::dlopen(chosen, RTLD_LAZY | RTLD_LOCAL);
    for (const char* name : kNames)
        if (void* mapped = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return mapped;
    // A CUPTI newer than the driver does not work; an older one does.
    const int driver = driver_version();
    for (int i = driver >= 13000 || driver == 0 ? 0 : 1; i < 3; ++i)
        if (void* handle = ::dlopen(kNames[i], RTLD_LAZY | RTLD_LOCAL)) return handle;
    for (const char* path : kPlaces)
        if (void* handle = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL)) return handle;
    return nullptr;
}

struct Symbols {
    void* handle;
    const char* missing = nullptr;

    template <class F>
    void optional(F& f, const char* name) const noexcept {
        f = reinterpret_cast<F>(::dlsym(handle, name));
    }
    template <class F>
    void need(F& f, const char* name) noexcept {
        optional(f, name);
        if (f == nullptr && missing == nullptr) missing = name;
    }
};

}  // namespace

void* mapped_driver() noexcept {
    void* handle = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);  // only looked; the program keeps it mapped
    return handle;
}

bool driver_is_initialized() noexcept {
    auto* count = driver_function<int (*)(int*)>("cuDeviceGetCount");
    int devices = 0;
    return count != nullptr && count(&devices) == 0 && devices > 0;
}

bool Library::open(char* why) noexcept {
    if (handle_ != nullptr) return true;
    void* handle = open_library();
    if (handle == nullptr) {
        std::snprintf(why, kReasonBytes,
                      "no libcupti found: install the CUDA toolkit's CUPTI, or name one in "
                      "GAUSSCOPE_CUPTI_LIBRARY");
        return false;
    }
    // Also a CUPTI of no use stays mapped: it may have begun things that its code must end.
    if (!look_up(handle, why)) return false;
    handle_ = handle;
    return true;
}

bool Library::look_up(void* handle, char* why) noexcept {
    Symbols s{handle};
    s.need(f.GetVersion, "cuptiGetVersion");
    s.need(f.GetTimestamp, "cuptiGetTimestamp");
    s.need(f.GetResultString, "cuptiGetResultString");
    s.need(f.Subscribe, "cuptiSubscribe");
    s.need(f.Unsubscribe, "cuptiUnsubscribe");
    s.need(f.EnableDomain, "cuptiEnableDomain");
    s.need(f.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
    s.need(f.ActivityEnable, "cuptiActivityEnable");
    s.need(f.ActivityDisable, "cuptiActivityDisable");
    s.need(f.ActivityFlushAll, "cuptiActivityFlushAll");
    s.need(f.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
    s.need(f.ActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
    s.optional(f.Subscribe_v2, "cuptiSubscribe_v2");
    s.optional(f.GetCallbackName, "cuptiGetCallbackName");
    s.optional(f.SetThreadIdType, "cuptiSetThreadIdType");
    s.optional(f.ActivityEnableRuntimeApi, "cuptiActivityEnableRuntimeApi");
    s.optional(f.ActivityEnableDriverApi, "cuptiActivityEnableDriverApi");
    s.optional(f.ActivityEnableAllSyncRecords, "cuptiActivityEnableAllSyncRecords");
    s.optional(f.ActivitySetAttribute, "cuptiActivitySetAttribute");
    s.optional(f.Finalize, "cuptiFinalize");
    if (s.missing != nullptr) {
        std::snprintf(why, kReasonBytes, "libcupti has no %s", s.missing);
        return false;
    }
    if (f.GetVersion(&version) != kSuccess) version = 0;
    layouts = layouts_of(version);
    if (layouts == nullptr)
        std::snprintf(why, kReasonBytes, "libcupti's version %u is older than %s", version,
                      kLayouts[0].toolkit);
    return layouts != nullptr;
}

const char* Library::text_of(Result result) const noexcept {
    const char* text = nullptr;
    if (f.GetResultString == nullptr || f.GetResultString(result, &text) != kSuccess ||
        text == nullptr)
        return "an unknown CUPTI error";
    return text;
}

}  // namespace gs::inject::cupti
