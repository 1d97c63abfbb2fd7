#include "profiler/history/report.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "base/json_write.h"

namespace gs::history {
namespace {

constexpr double kTimeEffect = 0.03, kDecibelEffect = 0.1;
constexpr std::size_t kCommitDigits = 10;
using Json = nlohmann::ordered_json;

/// Ten digits, and the mark of changes that are not committed.
std::string short_commit(const std::string& commit) {
    const std::size_t digits = commit.find_first_not_of("0123456789abcdef");
    return commit.substr(0, std::min(digits, kCommitDigits)) +
           (digits == commit.npos ? "" : commit.substr(digits));
}

double least_effect_for(const Series& series) {
    if (series.metric.unit != "dB" || series.points.empty()) return kTimeEffect;
    const double level = std::abs(series.points.front().of.p50);
    return level > 0 ? kDecibelEffect / level : kTimeEffect;
}

Json change_json(const Series& series, const Change& change) {
    const Point& at = series.points[change.first];
    const Point& before = series.points[change.first - 1];
    return {{"time", time_text(at.time_s)},
            {"before", json_number(change.before)},
            {"after", json_number(change.after)},
            {"relative", json_number(change.relative)},
            {"low", json_number(change.shift.low / change.before)},
            {"high", json_number(change.shift.high / change.before)},
            {"verdict", verdict_of(change, series.metric)},
            {"commit_before", before.commit},
            {"commit", at.commit}};
}

std::string change_text(const Series& series, const Change& change) {
    const Point& at = series.points[change.first];
    const std::string before = short_commit(series.points[change.first - 1].commit),
                      after = short_commit(at.commit);
    std::string out =
        fmt::format("{}: {} by {:+.1f} % (95 % interval {:+.1f} to {:+.1f} %), {:.4g} to {:.4g} {}",
                    time_text(at.time_s), verdict_of(change, series.metric), 100 * change.relative,
                    100 * change.shift.low / change.before, 100 * change.shift.high / change.before,
                    change.before, change.after, series.metric.unit);
    if (!after.empty() && before != after)
        out += fmt::format(", commit {} to {}", before.empty() ? "unknown" : before, after);
    return out;
}

/// Points by their number, not their time: nights without runs are no gaps, and all are seen.
class Plot {
  public:
    explicit Plot(const Judged& judged) : points_(judged.series.points) {
        for (const Point& point : points_)
            for (const double value : {point.of.p25, point.of.p75})
                if (std::isfinite(value))
                    low_ = std::min(low_, value), high_ = std::max(high_, value);
        if (!(low_ <= high_)) low_ = 0, high_ = 1;
        const double margin = std::max(0.05 * (high_ - low_), 0.01 * std::abs(high_) + 1e-12);
        low_ -= margin, high_ += margin;
    }
    std::string svg(const Judged& judged) const {
        std::string out = fmt::format(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\"><path class=\"band\" d=\"{}\"/>"
            "<path class=\"line\" d=\"{}\"/>",
            kWidth, kHeight, band(), line());
        for (const Change& change : judged.changes) {
            const double x = at(change.first) - 0.5 * (at(1) - at(0));
            out += fmt::format(
                "<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"0\" y2=\"{}\"><title>{}"
                "</title></line>",
                verdict_of(change, judged.series.metric), x, x, kHeight,
                html_text(change_text(judged.series, change)));
        }
        return out + fmt::format(
                         "<text x=\"4\" y=\"12\">{:.4g} {}</text><text x=\"4\" y=\"{}\">{:.4g}"
                         "</text></svg>",
                         high_, html_text(judged.series.metric.unit), kHeight - 3, low_);
    }

  private:
    static constexpr int kWidth = 900, kHeight = 120;
    double at(std::size_t i) const {
        return points_.size() < 2
                   ? 0.5 * kWidth
                   : static_cast<double>(i) * kWidth / static_cast<double>(points_.size() - 1);
    }
    double height_of(double value) const { return kHeight * (1 - (value - low_) / (high_ - low_)); }
    std::string line() const {
        std::string out;
        bool pen = false;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const double value = points_[i].of.p50;
            if (std::isfinite(value))
                out += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", at(i), height_of(value));
            pen = std::isfinite(value);
        }
        return out;
    }
    std::string band() const {
        std::string up, down;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const Quantiles& q = points_[i].of;
            if (!std::isfinite(q.p25) || !std::isfinite(q.p75)) continue;
            up += fmt::format("{}{:.1f} {:.1f}", up.empty() ? "M" : "L", at(i), height_of(q.p75));
            down = fmt::format("L{:.1f} {:.1f}", at(i), height_of(q.p25)) + down;
        }
        return up + down + "Z";
    }
    const std::vector<Point>& points_;
    double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

constexpr const char* kPage = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>gausscope history</title><style>
body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:920px;padding:0 1em;color:#222;background:#fff}
h2{margin:2em 0 0;font-size:1.2em;overflow-wrap:anywhere}h3{margin:1em 0 .2em;font-size:1em}
p,ul{margin:.2em 0;color:#555}svg{width:100%;background:#f6f7f9}
.band{fill:#9db8e8;fill-opacity:.5}.line{fill:none;stroke:#2456b0;stroke-width:1.5}
line{stroke-width:2;stroke-dasharray:4 3;stroke:#666}.slower{stroke:#c62828}.faster{stroke:#2e7d32}
svg text{font-size:11px;fill:#666}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181a1f}p,ul{color:#aaa}svg{background:#22252c}}
</style></head><body><h1>History</h1>
<p>Medians as lines, quartiles as bands, one step a point; dashed: a change that is beyond doubt. Times are UTC.</p>
)";

}  // namespace

std::vector<Judged> judge(std::vector<Series> series) {
    std::vector<Judged> out;
    for (Series& s : series) {
        const double least = least_effect_for(s);
        std::vector<Change> changes = change_points(s.points, {.least_effect = least});
        out.push_back({std::move(s), std::move(changes)});
    }
    return out;
}

std::string verdict_of(const Change& change, const Metric& metric) {
    const bool more = change.shift.estimate > 0;
    if (metric.unit == "ms" || metric.unit == "s") return more ? "slower" : "faster";
    return more ? "higher" : "lower";
}

std::string time_text(std::int64_t time_s) {
    constexpr std::int64_t kYear9999 = 253'402'300'799;
    const auto time = static_cast<std::time_t>(std::clamp<std::int64_t>(time_s, 0, kYear9999));
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(time));
}

Json history_json(std::span<const Judged> judged) {
    Json list = Json::array();
    for (const auto& [series, changes] : judged) {
        Json entry{{"source", series.subject.source}, {"job", series.subject.job},
                   {"config", series.subject.config}, {"host", series.subject.host},
                   {"metric", series.metric.name},    {"unit", series.metric.unit},
                   {"points", series.points.size()}};
        if (!series.points.empty()) {
            entry["first"] = time_text(series.points.front().time_s);
            entry["last"] = time_text(series.points.back().time_s);
            entry["p50"] = json_number(series.points.back().of.p50);
        }
        entry["changes"] = Json::array();
        for (const Change& change : changes)
            entry["changes"].push_back(change_json(series, change));
        list.push_back(std::move(entry));
    }
    return {{"series", std::move(list)}};
}

std::string history_html(std::span<const Judged> judged) {
    std::string out = kPage;
    const Subject* heading = nullptr;
    for (const Judged& one : judged) {
        const Subject& s = one.series.subject;
        if (heading == nullptr || *heading != s)
            out += fmt::format("<h2>{}</h2><p>{} on {}</p><p>{}</p>\n", html_text(s.job),
                               html_text(s.source), html_text(s.host), html_text(s.config));
        heading = &s;
        out += fmt::format("<h3>{}</h3><p>{} points</p>{}\n", html_text(one.series.metric.name),
                           one.series.points.size(), Plot(one).svg(one));
        for (const Change& change : one.changes)
            out += "<p>" + html_text(change_text(one.series, change)) + "</p>\n";
    }
    if (judged.empty()) out += "<p>Nothing was recorded in this period.</p>";
    return out + "</body></html>\n";
}

}  // namespace gs::history
