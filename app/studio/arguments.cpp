#include "app/studio/arguments.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/try.h"

namespace gs {
namespace {

constexpr auto kMostWhole = std::numeric_limits<std::int64_t>::max();

}  // namespace

Result<double> number_argument(const std::string& text, double least, double most,
                               std::string_view what) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end || !std::isfinite(value))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must be a number, not \"{}\"", what, text));
    if (value < least || value > most)
        return fail(
            ErrorKind::usage, "",
            fmt::format("{} must be between {:g} and {:g}, not {:g}", what, least, most, value));
    return value;
}

Result<std::int64_t> integer_argument(const std::string& text, std::int64_t least,
                                      std::int64_t most, std::string_view what) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end)
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must be a whole number, not \"{}\"", what, text));
    if (value < least || value > most)
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must be between {} and {}, not {}", what, least, most, value));
    return value;
}

Result<bool> switch_argument(const std::string& text) {
    if (text == "on" || text == "1" || text == "true") return true;
    if (text == "off" || text == "0" || text == "false") return false;
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is neither on nor off", text));
}

Result<Vec3d> axis_argument(const std::string& text) {
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    const double way = sign == 1 ? -1 : 1;
    if (text.substr(sign) == "x") return Vec3d{way, 0, 0};
    if (text.substr(sign) == "y") return Vec3d{0, way, 0};
    if (text.substr(sign) == "z") return Vec3d{0, 0, way};
    return fail(ErrorKind::usage, "", fmt::format("'{}' is not an axis", text),
                "give x, y, z, -x, -y or -z");
}

Result<std::vector<std::uint64_t>> rows_argument(const std::string& text) {
    std::vector<std::uint64_t> rows;
    std::string word;
    for (const char c : text + ",") {
        if (c != ',' && c != '#') word += c;
        if (c != ',' || word.empty()) continue;
        GS_TRY(const auto row, integer_argument(word, 0, kMostWhole, "a Gaussian's row"));
        rows.push_back(static_cast<std::uint64_t>(row));
        word.clear();
    }
    if (rows.empty())
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" contains no Gaussian id", text),
                    "ids are whole numbers separated by commas");
    return rows;
}

Result<std::size_t> choice_argument(const std::string& text, std::span<const std::string> choices) {
    for (std::size_t i = 0; i < choices.size(); ++i)
        if (text == choices[i]) return i;
    return fail(ErrorKind::usage, "",
                fmt::format("\"{}\" is not one of: {}", text, fmt::join(choices, ", ")));
}

}  // namespace gs
