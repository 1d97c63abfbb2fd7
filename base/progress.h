// Progress: long work reports its progress through it and checks whether it was cancelled.
// Everything that reads, writes or examines files takes one.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace gs {

/// Called now and then from the working thread with what is being done and how far it is; returning
/// false cancels.
using Progress = std::function<bool(std::string_view what, std::size_t done, std::size_t total)>;

}  // namespace gs
