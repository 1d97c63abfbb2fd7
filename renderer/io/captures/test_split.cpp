#include "renderer/io/captures/test_split.h"

#include <algorithm>

namespace gs {
namespace {

bool matches(const std::string& wanted, const std::string& name) {
    const fs::path path(name);
    return wanted == name || wanted == fs::path(path).replace_extension().generic_string() ||
           wanted == path.filename().string() || wanted == path.stem().string();
}

// Levenshtein's edit distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t up = row[j];
            row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = up;
        }
    }
    return row[b.size()];
}

std::string close_names(const std::string& wanted, const std::vector<Frame>& frames) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const Frame& frame : frames) {
        const std::string stem = fs::path(frame.name).stem().string();
        ranked.emplace_back(std::min(distance(wanted, frame.name), distance(wanted, stem)),
                            frame.name);
    }
    std::sort(ranked.begin(), ranked.end());
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(5, ranked.size()); ++i)
        out += (i ? ", " : "") + ranked[i].second;
    return out;
}

}  // namespace

Result<void> assign_test_views(CaptureSource& source, const CaptureOptions& options) {
    if (!options.test_views.empty()) {
        for (Frame& frame : source.frames) frame.test = false;
        for (const std::string& wanted : options.test_views) {
            bool found = false;
            for (Frame& frame : source.frames)
                if (matches(wanted, frame.name)) found = frame.test = true;
            if (!found)
                return fail(ErrorKind::usage, source.root.string(),
                            fmt::format("has no view named \"{}\" to test on", wanted),
                            fmt::format("close names: {}", close_names(wanted, source.frames)));
        }
        return {};
    }
    if (source.has_test_file) return {};
    const auto every = static_cast<std::size_t>(std::max(options.test_every, 0));
    for (std::size_t i = 0; i < source.frames.size(); ++i)
        source.frames[i].test = every > 0 && i % every == 0 && source.frames.size() > 1;
    if (every > 0 && source.frames.size() == 1)
        source.notes.push_back("the only view is used for training, none for testing");
    return {};
}

}  // namespace gs
