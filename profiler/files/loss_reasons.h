// Why records are missing, as trace files hold it: a word and a count for each reason. Written by
// the exports, read back by the imports, so that a file says what the recording said.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/store/event.h"

namespace gs {

/// What the events and counters that hold them are called.
inline constexpr const char* kLossesEvent = "lost_records";
inline constexpr const char* kLossesCounter = "lost records";

/// The reasons that something was lost for; `forgotten` is added to those of a file.
std::vector<std::pair<const char*, std::uint64_t>> losses_of(
    const LossCounts& loss, const std::optional<ServiceStatus>& service, std::uint64_t forgotten);
/// One of them, as it was read. False: it is none.
bool take_loss(std::string_view reason, std::uint64_t count, LossCounts& loss,
               std::optional<ServiceStatus>& service);

}  // namespace gs
