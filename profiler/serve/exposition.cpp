#include "profiler/serve/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gs::serve {
namespace {

constexpr std::array kTypeNames{"gauge", "counter", "histogram", "info"};

/// Of label values and help texts: backslash, quote and line feed are escaped, as the format asks.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\\' || c == '"')
            out += {'\\', c};
        else
            out += c;
    }
    return out;
}

/// As the format wants bounds: a number that cannot be mistaken for an integer.
std::string bound_text(double bound) {
    std::string text = fmt::format("{}", bound);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

}  // namespace

std::uint64_t TimeHistogram::count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void TimeHistogram::add(double seconds) {
    const auto bucket =
        std::lower_bound(kBuckets.begin(), kBuckets.end(), seconds) - kBuckets.begin();
    ++counts[static_cast<std::size_t>(bucket)];
    sum += seconds;
}

void Exposition::family(std::string_view name, Type type, std::string_view help,
                        std::string_view unit) {
    name_ = name;
    type_ = type;
    text_ += fmt::format("# TYPE {} {}\n", name, kTypeNames[static_cast<std::size_t>(type)]);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, escaped(help));
}

void Exposition::sample(std::string_view suffix, const Labels& labels, std::string_view le,
                        double value) {
    text_ += name_;
    text_ += suffix;
    const char* separator = "{";
    for (const auto& [key, content] : labels) {
        text_ += fmt::format("{}{}=\"{}\"", separator, key, escaped(content));
        separator = ",";
    }
    if (!le.empty()) {
        text_ += fmt::format("{}le=\"{}\"", separator, le);
        separator = ",";
    }
    if (*separator == ',') text_ += '}';
    text_ += fmt::format(" {}\n", value);
}

void Exposition::value(const Labels& labels, double value) {
    const char* suffix = type_ == Type::counter ? "_total" : type_ == Type::info ? "_info" : "";
    if (std::isfinite(value)) sample(suffix, labels, {}, value);
}

void Exposition::value(const Labels& labels, const TimeHistogram& histogram) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        below += histogram.counts[i];
        const std::string le = i < kBuckets.size() ? bound_text(kBuckets[i]) : "+Inf";
        sample("_bucket", labels, le, static_cast<double>(below));
    }
    sample("_count", labels, {}, static_cast<double>(below));
    sample("_sum", labels, {}, histogram.sum);
}

std::string Exposition::finish() {
    text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace gs::serve
