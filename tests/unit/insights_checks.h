// What tests ask of insights: a rule's finding, whether a rule was asked and found nothing, why it
// was not asked.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "profiler/insights/insight.h"
#include "tests/unit/trace_maker.h"

namespace gs::test {

inline const Insight* find(const Insights& insights, std::string_view rule) {
    for (const Insight& i : insights.findings)
        if (i.rule == rule) return &i;
    return nullptr;
}
inline bool is_clear(const Insights& insights, std::string_view rule) {
    return std::any_of(insights.clear.begin(), insights.clear.end(), [&](const std::string& c) {
        return c.starts_with(std::string(rule) + " ");
    });
}
inline std::string why(const Insights& insights, std::string_view rule) {
    for (const Unanswered& u : insights.unanswered)
        if (u.rule == rule) return u.why;
    return {};
}
inline Insights of(const Loop& loop, const InsightOptions& options = {}) {
    return find_insights(store_of(loop), options);
}
inline std::string rules_of(const Insights& insights) {
    std::string out;
    for (const Insight& i : insights.findings) out += i.rule + " ";
    return out;
}

}  // namespace gs::test
