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

void write_sample(std::string& out, const Exposition::Family& family, std::string_view suffix,
                  const Labels& labels, std::string_view le, double value) {
    out += family.name;
    out += suffix;
    const char* separator = "{";
    for (const auto& [key, content] : labels) {
        out += fmt::format("{}{}=\"{}\"", separator, key, escaped(content));
        separator = ",";
    }
    if (!le.empty()) {
        out += fmt::format("{}le=\"{}\"", separator, le);
        separator = ",";
    }
    if (*separator == ',') out += '}';
    out += fmt::format(" {}\n", value);
}

void write_histogram(std::string& out, const Exposition::Family& family, const Labels& labels,
                     const TimeHistogram& histogram) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        below += histogram.counts[i];
        const std::string le = i < kBuckets.size() ? bound_text(kBuckets[i]) : "+Inf";
        write_sample(out, family, "_bucket", labels, le, static_cast<double>(below));
    }
    write_sample(out, family, "_count", labels, {}, static_cast<double>(below));
    write_sample(out, family, "_sum", labels, {}, histogram.sum);
}

}  // namespace

std::uint64_t TimeHistogram::count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void TimeHistogram::add(double seconds) {
    const auto bucket = std::ranges::lower_bound(kBuckets, seconds) - kBuckets.begin();
    ++counts[static_cast<std::size_t>(bucket)];
    sum += seconds;
}

void Exposition::family(std::string_view name, Type type, std::string_view help,
                        std::string_view unit) {
    families_.push_back({std::string(name), std::string(help), std::string(unit), type, {}});
}

void Exposition::value(const Labels& labels, double value) {
    if (std::isfinite(value)) families_.back().points.push_back({labels, value, std::nullopt});
}

void Exposition::value(const Labels& labels, const TimeHistogram& histogram) {
    families_.back().points.push_back({labels, 0, histogram});
}

std::string Exposition::open_metrics() const {
    std::string out;
    for (const Exposition::Family& family : families_) {
        out += fmt::format("# TYPE {} {}\n", family.name,
                           kTypeNames[static_cast<std::size_t>(family.type)]);
        if (!family.unit.empty()) out += fmt::format("# UNIT {} {}\n", family.name, family.unit);
        out += fmt::format("# HELP {} {}\n", family.name, escaped(family.help));
        const char* suffix = family.type == Exposition::Type::counter ? "_total"
                             : family.type == Exposition::Type::info  ? "_info"
                                                                      : "";
        for (const Point& point : family.points)
            if (point.times)
                write_histogram(out, family, point.labels, *point.times);
            else
                write_sample(out, family, suffix, point.labels, {}, point.value);
    }
    return out + "# EOF\n";
}

}  // namespace gs::serve
