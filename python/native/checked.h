// What every function of the C interface checks of its arguments, and how it says what is wrong.
#pragma once

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "python/native/gausscope_ops.h"
#include "renderer/device/device_error.h"

namespace gs::native {

struct Refused {
    gausscope_code code;
    std::string text;
};
template <class... Args>
void require(bool ok, fmt::format_string<Args...> text, Args&&... args) {
    if (!ok) throw Refused{GAUSSCOPE_BAD_ARGUMENT, fmt::format(text, std::forward<Args>(args)...)};
}

/// The product of sizes, each at least 0; all arrays together cannot have as many elements as fit.
inline std::int64_t product(std::initializer_list<std::int64_t> sizes) {
    std::int64_t out = 1;
    for (const std::int64_t size : sizes) {
        require(size >= 0, "a size is {}, below 0", size);
        require(!__builtin_mul_overflow(out, size, &out) && out < (std::int64_t{1} << 48),
                "sizes multiply to more than memory holds");
    }
    return out;
}

template <class T>
constexpr std::int32_t dtype_of();
template <>
constexpr std::int32_t dtype_of<float>() {
    return GAUSSCOPE_FLOAT32;
}
template <>
constexpr std::int32_t dtype_of<std::int32_t>() {
    return GAUSSCOPE_INT32;
}
template <>
constexpr std::int32_t dtype_of<std::int64_t>() {
    return GAUSSCOPE_INT64;
}

template <class T = float>
T* array_of(const char* name, const gausscope_array& a, std::initializer_list<std::int64_t> sizes) {
    const std::int64_t count = product(sizes);
    require(a.dtype == dtype_of<T>(), "{} has dtype {}, not {}", name, a.dtype, dtype_of<T>());
    require(a.count == count, "{} has {} elements, not {}", name, a.count, count);
    require(a.data != nullptr || count == 0, "{} is missing", name);
    require(reinterpret_cast<std::uintptr_t>(a.data) % alignof(T) == 0, "{} is not aligned", name);
    static T none{};
    return a.data != nullptr ? static_cast<T*>(a.data) : &none;
}
/// Null where it is absent.
template <class T = float>
T* optional_array(const char* name, const gausscope_array& a,
                  std::initializer_list<std::int64_t> sizes) {
    return a.data == nullptr && a.count == 0 ? nullptr : array_of<T>(name, a, sizes);
}

inline void say(const gausscope_call& call, const char* text) {
    if (call.error == nullptr || call.error_size <= 0) return;
    const std::size_t room = static_cast<std::size_t>(call.error_size) - 1,
                      length = std::min(std::strlen(text), room);
    std::memcpy(call.error, text, length);
    call.error[length] = '\0';
}

/// Runs f, which throws Refused where it must.
template <class Args, class F>
int guarded(Args* args, F&& f) noexcept {
    if (args == nullptr || args->call.size != sizeof(Args)) return GAUSSCOPE_BAD_ARGUMENT;
    const gausscope_call& call = args->call;
    const auto failed = [&](gausscope_code code, const char* text) {
        say(call, text);
        return code;
    };
    try {
        if (call.device_type != GAUSSCOPE_CPU && call.device_type != GAUSSCOPE_CUDA)
            throw Refused{GAUSSCOPE_UNSUPPORTED, "tensors must be on the CPU or a CUDA device"};
        if (call.threads <= 0 || call.threads >= tbb::this_task_arena::max_concurrency())
            f();
        else
            tbb::task_arena(call.threads).execute(f);
        return GAUSSCOPE_OK;
    } catch (const Refused& refused) {
        return failed(refused.code, refused.text.c_str());
    } catch (const DeviceError& error) {
        return failed(error.out_of_memory() ? GAUSSCOPE_NO_MEMORY : GAUSSCOPE_FAULT, error.what());
    } catch (const std::length_error& error) {
        return failed(GAUSSCOPE_NO_MEMORY, error.what());
    } catch (const std::bad_alloc&) {
        return failed(GAUSSCOPE_NO_MEMORY, "not enough memory");
    } catch (const std::exception& error) {
        return failed(GAUSSCOPE_FAULT, error.what());
    } catch (...) {
        return failed(GAUSSCOPE_FAULT, "an unknown fault");
    }
}

}  // namespace gs::native
