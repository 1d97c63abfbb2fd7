#include "profiler/store/pattern_rules.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"

namespace gs {
namespace {

Result<PatternRule> parse_rule(const std::string& path, std::uint64_t number, std::string_view line,
                               const std::string& origin) {
    const std::size_t equals = line.rfind('=');
    if (equals == std::string_view::npos)
        return fail_at_line(path, number, "a rule is \"pattern = stage\"",
                            "put the kernel's name before the '='");
    const std::string_view pattern = trimmed(line.substr(0, equals));
    if (pattern.find_first_not_of('*') == std::string_view::npos)
        return fail_at_line(path, number, "the pattern is empty and would match every kernel");
    return PatternRule{std::string(pattern), std::string(trimmed(line.substr(equals + 1))), origin,
                       number};
}

}  // namespace

Result<std::vector<PatternRule>> parse_pattern_rules(const std::string& path,
                                                     std::string_view rest) {
    std::vector<PatternRule> rules;
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

bool matches_pattern(std::string_view pattern, std::string_view name) {
    while (true) {
        const std::size_t star = std::min(pattern.find('*'), pattern.size());
        const std::size_t at = name.find(pattern.substr(0, star));
        if (at == std::string_view::npos) return false;
        if (star == pattern.size()) return true;
        name.remove_prefix(at + star);
        pattern.remove_prefix(star + 1);
    }
}

}  // namespace gs
