#include "tests/support/compare.h"

namespace gs::test {

std::string violation(const BandReport& report, const BandLimits& limits) {
    if (!(report.interior_max <= limits.tight))
        return fmt::format("differs by {} outside the band, {} allowed", report.interior_max,
                           limits.tight);
    if (!(report.band_max <= limits.flip))
        return fmt::format("differs by {} inside the band, {} allowed", report.band_max,
                           limits.flip);
    const double all = static_cast<double>(report.interior + report.band);
    if (static_cast<double>(report.band) > limits.band_share * all)
        return fmt::format("{} of {} values are in the band", report.band, all);
    if (report.flips >= 20 && std::abs(report.bias) > limits.bias)
        return fmt::format("{} flips lean one way: bias {}", report.flips, report.bias);
    return {};
}

}  // namespace gs::test
