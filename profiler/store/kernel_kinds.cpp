#include "profiler/store/kernel_kinds.h"

#include <algorithm>

#include "base/assets.h"
#include "base/log.h"
#include "profiler/store/pattern_rules.h"

namespace gs {
namespace {

std::vector<PatternRule> stored_kinds() {
    std::vector<PatternRule> all;
    for (const std::string& name : assets_in("kernel_kinds")) {
        const Asset file = asset(name);
        auto rules = parse_pattern_rules(file.origin, file.text);
        if (!rules)
            log_warning("{}", rules.error().text());
        else
            all.insert(all.end(), rules->begin(), rules->end());
    }
    return all;
}

}  // namespace

std::string_view kernel_kind(std::string_view kernel) {
    static const std::vector<PatternRule> kRules = stored_kinds();
    const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const PatternRule& rule) {
        return matches_pattern(rule.pattern, kernel);
    });
    return found == kRules.end() ? "other" : std::string_view(found->word);
}

bool is_splatting(Stage stage) {
    const StageGroup group = group_of(stage);
    return (group == StageGroup::forward && stage != Stage::sort) ||
           group == StageGroup::backward || stage == Stage::density;
}

}  // namespace gs
