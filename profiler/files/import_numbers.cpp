#include "profiler/files/import_numbers.h"

#include <charconv>
#include <cmath>

namespace gs {

std::uint32_t ImportNumbers::of(std::string_view written, std::uint32_t scope) {
    if (written.empty()) return 0;
    const char* const stop = written.data() + written.size();
    std::uint32_t whole = 0;
    if (const auto read = std::from_chars(written.data(), stop, whole);
        read.ec == std::errc() && read.ptr == stop && whole < kFirstMadeUp)
        return whole;
    double real = 0;  // 12.0 and 1.2e1 are 12
    if (const auto read = std::from_chars(written.data(), stop, real);
        read.ec == std::errc() && read.ptr == stop && real >= 0 && real < kFirstMadeUp &&
        real == std::floor(real))
        return static_cast<std::uint32_t>(real);
    return made_up(written, scope);
}

std::uint32_t ImportNumbers::made_up(std::string_view written, std::uint32_t scope) {
    std::string key = std::to_string(scope);
    key.append(1, '\n').append(written);
    const auto next = kFirstMadeUp + static_cast<std::uint32_t>(made_up_.size());
    const auto [place, added] = made_up_.try_emplace(std::move(key), next);
    if (added) written_.emplace(next, written);
    return place->second;
}

const std::string& ImportNumbers::written(std::uint32_t number) const {
    static const std::string kNone;
    const auto found = written_.find(number);
    return found == written_.end() ? kNone : found->second;
}

}  // namespace gs
