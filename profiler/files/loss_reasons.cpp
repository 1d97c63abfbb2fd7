#include "profiler/files/loss_reasons.h"

namespace gs {
namespace {

struct LossReason {
    const char* word;
    std::uint64_t LossCounts::*count;
};
constexpr LossReason kLossReasons[] = {
    {"overwritten", &LossCounts::lapped},
    {"without a lane", &LossCounts::dropped},
    {"malformed", &LossCounts::malformed},
    {"untimed", &LossCounts::untimed},
    {"too deep", &LossCounts::too_deep},
    {"forgotten", &LossCounts::forgotten},
    {"unexplained", &LossCounts::unexplained},
    {"names that did not fit", &LossCounts::dropped_strings},
    {"names that were cut", &LossCounts::truncated_strings},
};
struct ServiceReason {
    const char* word;
    std::uint64_t ServiceStatus::*count;
};
constexpr ServiceReason kServiceReasons[] = {
    {"by CUPTI", &ServiceStatus::cupti_dropped},
    {"for the budget", &ServiceStatus::budget_skipped},
    {"ends without a begin", &ServiceStatus::unmatched_ends},
};

}  // namespace

std::vector<std::pair<const char*, std::uint64_t>> losses_of(
    const LossCounts& loss, const std::optional<ServiceStatus>& service, std::uint64_t forgotten) {
    LossCounts all = loss;
    all.forgotten += forgotten;
    std::vector<std::pair<const char*, std::uint64_t>> out;
    for (const auto& [word, count] : kLossReasons)
        if (all.*count > 0) out.emplace_back(word, all.*count);
    if (service)
        for (const auto& [word, count] : kServiceReasons)
            if ((*service).*count > 0) out.emplace_back(word, (*service).*count);
    return out;
}

bool take_loss(std::string_view reason, std::uint64_t count, LossCounts& loss,
               std::optional<ServiceStatus>& service) {
    for (const auto& [word, to] : kLossReasons)
        if (reason == word) return loss.*to = count, true;
    for (const auto& [word, to] : kServiceReasons)
        if (reason == word) {
            if (!service) service.emplace();
            return (*service).*to = count, true;
        }
    return false;
}

}  // namespace gs
