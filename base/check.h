// CHECK: for bugs, not for bad input. Prints the message and the place, flushes the log, aborts.
// Bad input travels as Result<T> (expected.h); device failures as DeviceError (device/error.h).
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace gs {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message);

}  // namespace gs

#define CHECK(condition, ...)                                                                  \
    do {                                                                                       \
        if (!(condition)) [[unlikely]]                                                         \
            ::gs::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    } while (false)
