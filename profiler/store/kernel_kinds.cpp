#include "profiler/store/kernel_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assets.h"
#include "base/log.h"
#include "base/text.h"
#include "profiler/store/pattern_rules.h"

namespace gs {
namespace {

/// `whole_words`: patterns begin and end with a blank.
std::vector<PatternRule> stored_kinds(const char* folder, bool whole_words) {
    std::vector<PatternRule> all;
    for (const std::string& name : assets_in(folder)) {
        const Asset file = asset(name);
        auto rules = parse_pattern_rules(file.origin, file.text);
        if (!rules)
            log_warning("{}", rules.error().text());
        else
            all.insert(all.end(), rules->begin(), rules->end());
    }
    if (whole_words)
        for (PatternRule& rule : all) rule.pattern = fmt::format(" {} ", rule.pattern);
    return all;
}

/// "enumerate(DataLoader)#_next" -> " ^ enumerate data loader next $ ".
std::string words_of(std::string_view name) {
    std::string out = " ^ ";
    const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = lower_case(name[i]);
        const bool in_word = is_lower(c) || (c >= '0' && c <= '9');
        const bool begins = i > 0 && is_upper(name[i]) && is_lower(name[i - 1]);
        if ((begins || !in_word) && out.back() != ' ') out += ' ';
        if (in_word) out += c;
    }
    return out + (out.back() == ' ' ? "$ " : " $ ");
}

std::string_view first_match(const std::vector<PatternRule>& rules, std::string_view name,
                             std::string_view otherwise) {
    const auto found = std::ranges::find_if(
        rules, [&](const PatternRule& rule) { return matches_pattern(rule.pattern, name); });
    return found == rules.end() ? otherwise : std::string_view(found->word);
}

}  // namespace

std::string_view kernel_kind(std::string_view kernel) {
    static const std::vector<PatternRule> kRules = stored_kinds("kernel_kinds", false);
    return first_match(kRules, fmt::format("^{}$", kernel), "other");
}

std::string_view range_kind(std::string_view range) {
    static const std::vector<PatternRule> kRules = stored_kinds("range_kinds", true);
    return first_match(kRules, words_of(range), {});
}

bool is_splatting(Stage stage) {
    const StageGroup group = group_of(stage);
    return (group == StageGroup::forward && stage != Stage::sort) ||
           group == StageGroup::backward || stage == Stage::density;
}

}  // namespace gs
