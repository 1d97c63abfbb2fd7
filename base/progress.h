// Progress: how long work tells how far it is, and learns that nobody wants it any more. Taken by
// everything that reads, writes or examines files.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace gs {

/// Called now and then from the working thread with what is being done and how far it is; returning
/// false cancels.
using Progress = std::function<bool(std::string_view what, std::size_t done, std::size_t total)>;

}  // namespace gs
