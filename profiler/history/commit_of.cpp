// The commit that a repository is at, as git keeps it in files.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/history/history.h"

namespace gs::history {
namespace {

constexpr std::uint64_t kMostGitBytes = 1u << 24;  // packed-refs of large repositories
constexpr int kHighest = 12;                       // folders above the one it works in

bool is_commit(std::string_view text) {
    return (text.size() == 40 || text.size() == 64) &&
           text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// The first line of a file, "" where there is none.
std::string line_of(const fs::path& path) {
    std::string text = read_text_file(path, kMostGitBytes).value_or("");
    text.resize(std::min(text.find('\n'), text.size()));
    return text;
}

/// In the file of all packed refs: "COMMIT NAME".
std::string packed(const fs::path& git, const std::string& ref) {
    const std::string text = read_text_file(git / "packed-refs", kMostGitBytes).value_or("");
    const std::size_t at = text.find(" " + ref + "\n");
    return at == text.npos || at < 40 ? std::string() : text.substr(at - 40, 40);
}

/// A worktree keeps its head in a folder of its own and shares the rest: `.git` is a file that
/// names that folder.
fs::path folder_of(const fs::path& git) {
    std::error_code error;
    if (fs::is_directory(git, error)) return git;
    constexpr std::string_view kKey = "gitdir: ";
    const std::string line = line_of(git);
    if (!line.starts_with(kKey)) return {};
    const fs::path named = line.substr(kKey.size());
    return named.is_absolute() ? named : git.parent_path() / named;
}

}  // namespace

std::string commit_of(const fs::path& folder) {
    fs::path at = folder;
    std::error_code error;
    for (int up = 0; up < kHighest; ++up, at /= "..") {
        if (!fs::exists(at / ".git", error)) continue;
        const fs::path git = folder_of(at / ".git");
        if (git.empty()) return {};
        constexpr std::string_view kRef = "ref: ";
        std::string head = line_of(git / "HEAD");
        if (head.starts_with(kRef)) {
            const std::string ref = head.substr(kRef.size()), common = line_of(git / "commondir");
            const fs::path shared = common.empty() ? git : git / common;
            head = line_of(shared / ref);
            if (head.empty()) head = packed(shared, ref);
        }
        return is_commit(head) ? head : std::string();
    }
    return {};
}

}  // namespace gs::history
