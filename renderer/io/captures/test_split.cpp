#include "renderer/io/captures/test_split.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "renderer/io/files/file_finder.h"

namespace gs {
namespace {

using Frames = std::vector<std::size_t>;

std::string without_photo_end(const std::string& name) {
    return has_photo_name(name) ? fs::path(name).replace_extension().generic_string() : name;
}

// How well `written` fits `name`: 0 exactly, 1 but for the extension, 2 by an end of one of them,
// 3 both; 4 not at all.
int misfit(const std::string& written, const std::string& name) {
    if (written == name) return 0;
    const std::string a = without_photo_end(written), b = without_photo_end(name);
    if (a == b) return 1;
    const auto ends = [](const std::string& whole, const std::string& end) {
        return whole.size() > end.size() && whole.ends_with(end) &&
               whole[whole.size() - end.size() - 1] == '/';
    };
    if (ends(written, name) || ends(name, written)) return 2;
    return ends(a, b) || ends(b, a) ? 3 : 4;
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

std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 5;
    const auto shown = std::span(names).first(std::min(kShown, names.size()));
    return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

// Marks the frames of `names`; returns the names that fit none.
std::vector<std::string> mark(const FrameNames& frames, const std::vector<std::string>& names,
                              std::vector<bool>& marked) {
    std::vector<std::string> unknown;
    for (const std::string& name : names) {
        const Frames found = frames.find(name);
        if (found.empty()) unknown.push_back(name);
        for (const std::size_t i : found) marked[i] = true;
    }
    return unknown;
}

std::size_t how_many(const std::vector<bool>& marked) {
    return static_cast<std::size_t>(std::count(marked.begin(), marked.end(), true));
}

void erase_frames(CaptureSource& source, const std::vector<bool>& out) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < source.frames.size(); ++i)
        if (!out[i]) {
            if (kept != i) source.frames[kept] = std::move(source.frames[i]);
            ++kept;
        }
    source.frames.resize(kept);
}

// False where no name of the lists is a photo's.
bool use_lists(const PhotoLists& lists, CaptureSource& source) {
    const std::size_t frames = source.frames.size();
    std::vector<bool> train(frames), val(frames), test(frames), left_out(frames);
    const FrameNames names(source);
    std::vector<std::string> unknown = mark(names, lists.test, test);
    for (const auto& more : {mark(names, lists.val, val), mark(names, lists.train, train)})
        unknown.insert(unknown.end(), more.begin(), more.end());
    std::sort(unknown.begin(), unknown.end());
    unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
    if (how_many(train) + how_many(val) + how_many(test) == 0) {
        source.split_notes.push_back(
            fmt::format("{} lists no photo of the capture and is not used: it has {}", lists.from,
                        some_of(unknown)));
        return false;
    }
    if (!unknown.empty())
        source.split_notes.push_back(
            fmt::format("{} of {} without a photo: {}",
                        unknown.size() == 1 ? "1 name" : fmt::format("{} names", unknown.size()),
                        lists.from, some_of(unknown)));
    // Scores are of the test list; where there is none, of the validation list; where there is
    // only a training list, of the rest.
    if (how_many(test) == 0) test = val;
    if (how_many(test) == 0)
        for (std::size_t i = 0; i < frames; ++i) test[i] = !train[i];
    std::size_t both = 0;
    for (std::size_t i = 0; i < frames; ++i) {
        both += train[i] && test[i] ? 1 : 0;
        left_out[i] = !test[i] && (how_many(train) > 0 ? !train[i] : val[i]);
        source.frames[i].test = test[i];
    }
    if (both > 0)
        source.split_notes.push_back(fmt::format(
            "{} photos are listed for training and for testing in {}: held out", both, lists.from));
    if (how_many(left_out) > 0)
        source.notes.push_back(
            fmt::format("{} photos are listed neither for training nor for testing in {}: not used",
                        how_many(left_out), lists.from));
    for (std::size_t i = 0; i < frames; ++i)
        if (left_out[i]) source.left_out.push_back(source.frames[i].name);
    erase_frames(source, left_out);
    source.split = "listed in " + lists.from;
    source.split_is_listed = true;
    return true;
}

// What the capture lists itself; false: nothing that counts.
bool use_listed(CaptureSource& source, ListedSplit listed) {
    if (listed != ListedSplit::ignored && source.has_test_file) {
        source.split = "listed in transforms_test.json";
        source.split_is_listed = true;
        return true;
    }
    if (listed != ListedSplit::used) return false;
    if (source.lists.any() && use_lists(source.lists, source)) return true;
    const PhotoLists lists = find_photo_lists(source.list_folders, source.root, source.split_notes);
    return lists.any() && use_lists(lists, source);
}

}  // namespace

FrameNames::FrameNames(const CaptureSource& source) {
    for (std::size_t i = 0; i < source.frames.size(); ++i) {
        const Frame& frame = source.frames[i];
        std::string from_root = name_below(frame.photo, source.root);
        const std::string stem =
            lower_case(without_photo_end(fs::path(frame.name).filename().string()));
        by_stem_[stem].push_back({frame.name, std::move(from_root), i});
    }
}

std::vector<std::size_t> FrameNames::find(std::string_view written) const {
    std::string name = fs::path(portable_name(written)).lexically_normal().generic_string();
    if (name.starts_with("/")) name.erase(0, 1);
    const std::string lower = lower_case(name);
    const auto it = by_stem_.find(without_photo_end(fs::path(lower).filename().string()));
    if (it == by_stem_.end()) return {};
    constexpr int kNoFit = 8;
    int best = kNoFit;
    Frames out;
    for (const Name& one : it->second) {
        int fit = std::min(misfit(name, one.name), misfit(name, one.from_root));
        if (fit == 4)
            fit += std::min(misfit(lower, lower_case(one.name)),
                            misfit(lower, lower_case(one.from_root)));
        if (fit < best) out.clear();
        best = std::min(best, fit);
        if (fit == best && fit < kNoFit) out.push_back(one.frame);
    }
    return out;
}

Result<void> assign_test_views(CaptureSource& source, const CaptureOptions& options) {
    const std::set<std::string> left_out(options.left_out.begin(), options.left_out.end());
    std::erase_if(source.frames,
                  [&](const Frame& frame) { return left_out.count(frame.name) > 0; });
    if (source.frames.empty()) return no_view_left(source, source.skipped);
    if (!options.test_views.empty()) {
        const FrameNames names(source);
        std::vector<bool> test(source.frames.size());
        const std::vector<std::string> gone = mark(names, options.test_views, test);
        if (!gone.empty() && (!options.test_views_of_run || how_many(test) == 0))
            return fail(ErrorKind::usage, source.root.string(),
                        fmt::format("has no view named \"{}\" to test on", gone[0]),
                        fmt::format("close names: {}", close_names(gone[0], source.frames)));
        if (!gone.empty())
            source.split_notes.push_back(fmt::format("{} of the run's test photos are missing: {}",
                                                     gone.size(), some_of(gone)));
        for (std::size_t i = 0; i < test.size(); ++i) source.frames[i].test = test[i];
        source.split = "chosen by name";
        return {};
    }
    if (use_listed(source, options.listed_split)) return {};
    const auto every = static_cast<std::size_t>(std::max(options.test_every, 0));
    for (std::size_t i = 0; i < source.frames.size(); ++i)
        source.frames[i].test = every > 0 && i % every == 0 && source.frames.size() > 1;
    if (every > 0 && source.frames.size() == 1)
        source.notes.push_back("the only view is used for training, none for testing");
    source.split = every > 0 ? fmt::format("1 in {} by name", every) : "none";
    return {};
}

}  // namespace gs
