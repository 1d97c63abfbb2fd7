#include "profiler/store/kernel_kinds.h"

#include <algorithm>

#include "base/assets.h"
#include "base/log.h"
#include "base/text.h"
#include "profiler/store/pattern_rules.h"

namespace gs {
namespace {

std::vector<PatternRule> stored_kinds(const char* folder) {
    std::vector<PatternRule> all;
    for (const std::string& name : assets_in(folder)) {
        const Asset file = asset(name);
        auto rules = parse_pattern_rules(file.origin, file.text);
        if (!rules)
            log_warning("{}", rules.error().text());
        else
            all.insert(all.end(), rules->begin(), rules->end());
    }
    return all;
}

std::string_view first_match(const std::vector<PatternRule>& rules, std::string_view name,
                             std::string_view otherwise) {
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const PatternRule& rule) {
        return matches_pattern(rule.pattern, name);
    });
    return found == rules.end() ? otherwise : std::string_view(found->word);
}

}  // namespace

std::string_view kernel_kind(std::string_view kernel) {
    static const std::vector<PatternRule> kRules = stored_kinds("kernel_kinds");
    return first_match(kRules, kernel, "other");
}

std::string_view range_kind(std::string_view range) {
    static const std::vector<PatternRule> kRules = stored_kinds("range_kinds");
    return first_match(kRules, "^" + lower_case(range) + "$", {});
}

bool is_splatting(Stage stage) {
    const StageGroup group = group_of(stage);
    return (group == StageGroup::forward && stage != Stage::sort) ||
           group == StageGroup::backward || stage == Stage::density;
}

}  // namespace gs
