#include "profiler/store/stage_map.h"

#include <algorithm>

#include "base/assets.h"
#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "profiler/store/pattern_rules.h"

namespace gs {
namespace {

std::string all_stages() {
    std::string out;
    for (const char* name : kStageNames) out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

Result<StageRule> stage_rule(const std::string& path, const PatternRule& rule) {
    const auto found = std::find(std::begin(kStageNames), std::end(kStageNames), rule.word);
    if (found == std::end(kStageNames))
        return fail_at_line(path, rule.line, fmt::format("there is no stage \"{}\"", rule.word),
                            "stages: " + all_stages());
    return StageRule{rule.pattern, static_cast<Stage>(found - std::begin(kStageNames)),
                     rule.origin.empty() ? fmt::format("{}:{}", path, rule.line) : rule.origin};
}

Result<std::vector<StageRule>> parse_rules(const std::string& path, std::string_view text) {
    GS_TRY(const std::vector<PatternRule> read, parse_pattern_rules(path, text));
    std::vector<StageRule> rules;
    for (const PatternRule& rule : read) {
        GS_TRY(rules.emplace_back(), stage_rule(path, rule));
    }
    return rules;
}

/// assets/stage_maps, with the user's own files. A wrong user file is reported and left
/// out: the one it stands for counts.
std::vector<StageRule> stored_rules() {
    std::vector<StageRule> all;
    const auto built_in = embedded_assets("stage_maps");
    for (const std::string& name : assets_in("stage_maps")) {
        const Asset file = asset(name);
        auto rules = parse_rules(file.origin, file.text);
        if (!rules) {
            log_warning("{}", rules.error().text());
            if (std::ranges::find(built_in, name) == built_in.end()) continue;
            rules = parse_rules(name, embedded_asset(name));
            CHECK(rules.has_value(), "{}", rules.error().text());
        }
        all.insert(all.end(), rules->begin(), rules->end());
    }
    return all;
}

}  // namespace

StageMap::StageMap() {
    static const std::vector<StageRule> kStored = stored_rules();
    rules_ = kStored;
}

Result<void> StageMap::add_file(const fs::path& path) {
    constexpr std::uint64_t kLargestFile = 1 << 20;
    GS_TRY(const std::string text, read_text_file(path, kLargestFile));
    GS_TRY(const std::vector<StageRule> added, parse_rules(path.string(), text));
    rules_.insert(rules_.begin(), added.begin(), added.end());
    return {};
}

const StageRule* StageMap::rule_of(std::string_view kernel) const {
    const auto found = std::ranges::find_if(
        rules_, [&](const StageRule& rule) { return matches_pattern(rule.pattern, kernel); });
    return found == rules_.end() ? nullptr : &*found;
}

Stage StageMap::stage_of(std::string_view kernel) const {
    const StageRule* rule = rule_of(kernel);
    return rule == nullptr ? Stage::other : rule->stage;
}

}  // namespace gs
