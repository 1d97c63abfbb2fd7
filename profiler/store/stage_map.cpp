#include "profiler/store/stage_map.h"

#include <algorithm>

#include "base/assets.h"
#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"

namespace gs {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
    while (true) {
        const std::size_t star = std::min(pattern.find('*'), pattern.size());
        const std::size_t at = name.find(pattern.substr(0, star));
        if (at == std::string_view::npos) return false;
        if (star == pattern.size()) return true;
        name.remove_prefix(at + star);
        pattern.remove_prefix(star + 1);
    }
}

std::string all_stages() {
    std::string out;
    for (const char* name : kStageNames) out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

/// `origin`: who the rule is from; empty: its file and line.
Result<StageRule> parse_rule(const std::string& path, std::uint64_t number, std::string_view line,
                             const std::string& origin) {
    const std::size_t equals = line.rfind('=');
    if (equals == std::string_view::npos)
        return fail_at_line(path, number, "a rule is \"pattern = stage\"",
                            "put the kernel's name before the '='");
    const std::string_view pattern = trimmed(line.substr(0, equals)),
                           wanted = trimmed(line.substr(equals + 1));
    if (pattern.find_first_not_of('*') == std::string_view::npos)
        return fail_at_line(path, number, "the pattern is empty and would match every kernel");
    const auto found = std::find(std::begin(kStageNames), std::end(kStageNames), wanted);
    if (found == std::end(kStageNames))
        return fail_at_line(path, number, fmt::format("there is no stage \"{}\"", wanted),
                            "stages: " + all_stages());
    return StageRule{std::string(pattern), static_cast<Stage>(found - std::begin(kStageNames)),
                     origin.empty() ? fmt::format("{}:{}", path, number) : origin};
}

Result<std::vector<StageRule>> parse_rules(const std::string& path, std::string_view rest) {
    std::vector<StageRule> rules;
    std::string origin;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line =
            trimmed(rest.substr(0, std::min(end, rest.substr(0, end).find('#'))));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty()) continue;
        if (line.front() == '[' && line.back() == ']') {
            origin = trimmed(line.substr(1, line.size() - 2));
            continue;
        }
        GS_TRY(rules.emplace_back(), parse_rule(path, number, line, origin));
    }
    return rules;
}

/// assets/stage_maps, with the user's own files. A file of theirs that is wrong is told and left
/// out: the one it stands for counts.
std::vector<StageRule> stored_rules() {
    std::vector<StageRule> all;
    const auto built_in = embedded_assets("stage_maps");
    for (const std::string& name : assets_in("stage_maps")) {
        const Asset file = asset(name);
        auto rules = parse_rules(file.origin, file.text);
        if (!rules) {
            log_warning("{}", rules.error().text());
            if (std::find(built_in.begin(), built_in.end(), name) == built_in.end()) continue;
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
    const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const StageRule& rule) {
        return matches(rule.pattern, kernel);
    });
    return found == rules_.end() ? nullptr : &*found;
}

Stage StageMap::stage_of(std::string_view kernel) const {
    const StageRule* rule = rule_of(kernel);
    return rule == nullptr ? Stage::other : rule->stage;
}

}  // namespace gs
