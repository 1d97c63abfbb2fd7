// What a history says: every series with its changes, as JSON for programs and the terminal, and as
// one page of HTML that needs nothing else. Called by `gausscope history`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "profiler/history/change_points.h"

namespace gs::history {

struct Judged {
    Series series;
    std::vector<Change> changes;
};
/// Times are worth a word from 3 %, decibels from 0.1 dB.
std::vector<Judged> judge(std::vector<Series> series);

/// "slower", "faster" for times; "higher", "lower" for what has no better side.
std::string verdict_of(const Change& change, const Metric& metric);
/// "2026-11-22 20:05", UTC.
std::string time_text(std::int64_t time_s);

/// {"series": [{"source", "job", "config", "host", "metric", "unit", "points", "first", "last",
/// "p50", "changes": [{"time", "before", "after", "relative", "low", "high", "verdict", "commit",
/// "commit_before"}]}]}; times as text in UTC.
nlohmann::ordered_json history_json(std::span<const Judged> judged);

/// A picture per series: the median as a line, the quartiles as a band, changes as marks, with what
/// changed beside them.
std::string history_html(std::span<const Judged> judged);

}  // namespace gs::history
