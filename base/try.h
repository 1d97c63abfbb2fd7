// GS_TRY: takes the value out of a Result, or leaves the function with its error. For every
// function that returns a Result and calls others that do.
#pragma once

#include <utility>

#include "base/expected.h"

#define GS_TRY_JOIN_(a, b) a##b
#define GS_TRY_NAME_(line) GS_TRY_JOIN_(gs_try_, line)
/// GS_TRY(auto capture, load_capture(path)): the value, or this function returns the error. Needs a
/// line of its own.
#define GS_TRY(declaration, ...)                                                         \
    auto GS_TRY_NAME_(__LINE__) = (__VA_ARGS__);                                         \
    if (!GS_TRY_NAME_(__LINE__))                                                         \
        return ::tl::unexpected<::gs::Error>(std::move(GS_TRY_NAME_(__LINE__)).error()); \
    declaration = *std::move(GS_TRY_NAME_(__LINE__))
/// The same for what gives no value: GS_TRY_VOID(file.append(bytes)).
#define GS_TRY_VOID(...)                                                          \
    do {                                                                          \
        if (auto gs_try_done = (__VA_ARGS__); !gs_try_done)                       \
            return ::tl::unexpected<::gs::Error>(std::move(gs_try_done).error()); \
    } while (false)
