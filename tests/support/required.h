// required: the value of a Result, in a test that needs it for all that follows.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <utility>

#include "base/expected.h"

namespace gs {

/// The value. An error fails the test, which ends here; the failure names the caller's line.
template <class T>
T required(Result<T> result, std::source_location where = std::source_location::current()) {
    if (!result)
        throw std::runtime_error(
            fmt::format("{}:{}: {}", where.file_name(), where.line(), result.error().text()));
    return *std::move(result);
}

}  // namespace gs
