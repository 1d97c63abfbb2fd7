#include "app/lab/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "app/lab/exports.h"
#include "base/assets.h"
#include "base/hash.h"
#include "base/try.h"
#include "trainer/settings/settings.h"

namespace gs::lab {
namespace {

constexpr std::uint64_t kLargestSuite = 1 << 20;  // bytes
constexpr double kMostSteps = 1e9, kMostSeconds = 1e7, kMostSeed = 9007199254740992.0;
constexpr const char* kGateMetrics[] = {
    "psnr_drop",   "ssim_drop",      "gaussians_rise", "training_rise", "total_rise",
    "memory_rise", "to_target_rise", "isects_rise",    "step_rise",     "range_rise"};

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

tl::unexpected<Error> bad(std::string what, std::string advice = {}) {
    return fail(ErrorKind::usage, "", std::move(what), std::move(advice));
}

Result<double> number_of(std::string_view text, double least, double most, bool whole) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value >= least && value <= most) || (whole && value != std::floor(value)))
        return bad(fmt::format("\"{}\" is not a {}number from {:g} to {:g}", text,
                               whole ? "whole " : "", least, most));
    return value;
}

Result<bool> yes_or_no(std::string_view text) {
    if (text == "yes" || text == "true") return true;
    if (text == "no" || text == "false") return false;
    return bad(fmt::format("\"{}\" is neither yes nor no", text));
}

std::vector<std::string> list_of(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        if (const auto word = trimmed(text.substr(0, end)); !word.empty()) out.emplace_back(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// Names become parts of file names.
Result<std::string> name_of_section(std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_' || c == '-' || c == '.';
    });
    if (text.empty() || text.size() > 60 || !plain || text.front() == '.')
        return bad(fmt::format("\"{}\" is not a name", text), "use letters, digits and - _ .");
    return std::string(text);
}

template <class Into>
using SuiteKey = std::pair<const char*, Result<void> (*)(Into&, std::string_view)>;

/// Takes a value of one kind into a member.
template <auto member, class Into, class As>
Result<void> take_number(Into& into, std::string_view text, double least, double most) {
    GS_TRY(const double value, number_of(text, least, most, std::is_integral_v<As>));
    into.*member = static_cast<As>(value);
    return {};
}
template <int SampleScene::*member>
Result<void> sampled(SuiteScene& scene, std::string_view text, double least, double most) {
    if (!scene.sample) scene.sample.emplace();
    return take_number<member, SampleScene, int>(*scene.sample, text, least, most);
}
/// An option of `train` as it is.
Result<void> loads(SuiteScene& scene, const char* flag, std::string_view text) {
    if (text.empty()) return bad("the value is missing");
    scene.loading.emplace_back(flag);
    scene.loading.emplace_back(text);
    return {};
}

Result<void> take_hash(SuiteScene& scene, const char* key, std::string_view text) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != text.npos)
        return bad(fmt::format("\"{}\" is not a hash", text),
                   "use 16 hex digits, as in benchmark.jsonl");
    scene.hashes[key] = text;
    return {};
}

// clang-format off
constexpr SuiteKey<Suite> kSuiteKeys[] = {
    {"name", [](Suite& s, std::string_view t) -> Result<void> { GS_TRY(s.name, name_of_section(t)); return {}; }},
    {"steps", [](Suite& s, std::string_view t) { return take_number<&Suite::steps, Suite, std::uint64_t>(s, t, 1, kMostSteps); }},
    {"seconds", [](Suite& s, std::string_view t) { return take_number<&Suite::seconds, Suite, double>(s, t, 1, kMostSeconds); }},
    {"eval_every", [](Suite& s, std::string_view t) { return take_number<&Suite::eval_every, Suite, std::uint64_t>(s, t, 0, kMostSteps); }},
    {"keep_checkpoints", [](Suite& s, std::string_view t) -> Result<void> { GS_TRY(s.keep_checkpoints, yes_or_no(t)); return {}; }},
    {"exports", [](Suite& s, std::string_view t) -> Result<void> {
        s.exports = list_of(t);
        for (const std::string& format : s.exports)
            if (std::ranges::count(kExportFormats, format) == 0 || std::ranges::count(s.exports, format) > 1)
                return bad(fmt::format("exports must be {}, each once", fmt::join(kExportFormats, ", ")));
        return {};
    }},
    {"seeds", [](Suite& s, std::string_view t) -> Result<void> {
        s.seeds.clear();
        for (const std::string& word : list_of(t)) {
            GS_TRY(const double seed, number_of(word, 0, kMostSeed, true));
            s.seeds.push_back(static_cast<std::uint64_t>(seed));
        }
        std::vector<std::uint64_t> sorted = s.seeds;
        std::ranges::sort(sorted);
        if (s.seeds.empty() || std::ranges::adjacent_find(sorted) != sorted.end())
            return bad("seeds must be distinct numbers separated by commas");
        return {};
    }},
    {"backends", [](Suite& s, std::string_view t) -> Result<void> {
        s.backends = list_of(t);
        for (const std::string& b : s.backends)
            if ((b != "cpu" && b != "cuda") || std::ranges::count(s.backends, b) > 1)
                return bad("backends must be cpu or cuda, each once");
        return s.backends.empty() ? Result<void>(bad("the backend is missing")) : Result<void>();
    }},
};
constexpr SuiteKey<SuiteScene> kSceneKeys[] = {
    {"capture", [](SuiteScene& s, std::string_view t) -> Result<void> { s.capture = std::string(t); return {}; }},
    {"scenery", [](SuiteScene& s, std::string_view t) -> Result<void> {
        const auto all = assets_in("sample");
        if (std::ranges::find(all, fmt::format("sample/{}.scene", t)) == all.end())
            return bad(fmt::format("unknown scenery \"{}\"", t), "gausscope sample --help lists them");
        if (!s.sample) s.sample.emplace();
        s.sample->scenery = t;
        return {};
    }},
    {"views", [](SuiteScene& s, std::string_view t) { return sampled<&SampleScene::views>(s, t, 2, 1000); }},
    {"width", [](SuiteScene& s, std::string_view t) { return sampled<&SampleScene::width>(s, t, 16, 8192); }},
    {"height", [](SuiteScene& s, std::string_view t) { return sampled<&SampleScene::height>(s, t, 16, 8192); }},
    {"points", [](SuiteScene& s, std::string_view t) { return sampled<&SampleScene::points>(s, t, 1, 1e7); }},
    {"optional", [](SuiteScene& s, std::string_view t) -> Result<void> { GS_TRY(s.optional, yes_or_no(t)); return {}; }},
    {"steps", [](SuiteScene& s, std::string_view t) -> Result<void> {
        GS_TRY(const double steps, number_of(t, 1, kMostSteps, true));
        s.steps = static_cast<std::uint64_t>(steps);
        return {};
    }},
    {"target_db", [](SuiteScene& s, std::string_view t) -> Result<void> { GS_TRY(s.target_db, number_of(t, 0, 100, false)); return {}; }},
    {"downscale", [](SuiteScene& s, std::string_view t) { return loads(s, "--downscale", t); }},
    {"max_side", [](SuiteScene& s, std::string_view t) { return loads(s, "--max-side", t); }},
    {"model", [](SuiteScene& s, std::string_view t) { return loads(s, "--model", t); }},
    {"test_every", [](SuiteScene& s, std::string_view t) { return loads(s, "--test-every", t); }},
    {"test_views", [](SuiteScene& s, std::string_view t) { return loads(s, "--test-views", t); }},
    {"masks", [](SuiteScene& s, std::string_view t) { return loads(s, "--masks", t); }},
    {"lidar", [](SuiteScene& s, std::string_view t) { return loads(s, "--lidar", t); }},
    {"background", [](SuiteScene& s, std::string_view t) { return loads(s, "--background", t); }},
    {"photos_hash", [](SuiteScene& s, std::string_view t) { return take_hash(s, "photos_hash", t); }},
    {"points_hash", [](SuiteScene& s, std::string_view t) { return take_hash(s, "points_hash", t); }},
    {"cameras_hash", [](SuiteScene& s, std::string_view t) { return take_hash(s, "cameras_hash", t); }},
};
// clang-format on

template <class Into>
Result<void> take_key(std::span<const SuiteKey<Into>> keys, Into& into, std::string_view name,
                      std::string_view value) {
    std::string known;
    for (const auto& [key, take] : keys) {
        if (name == key) {
            auto taken = take(into, value);
            if (!taken) taken.error().message = fmt::format("{}: {}", key, taken.error().message);
            return taken;
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", key);
    }
    return bad(fmt::format("unknown key \"{}\"", name), "known are " + known);
}

class SuiteReader {
  public:
    explicit SuiteReader(Suite& out) : out_(out) {}
    Result<void> take_line(std::string_view line, std::uint64_t number) {
        if (line.front() == '[') return begin_section(line, number);
        if (line.starts_with("gate ")) {
            GS_TRY(Gate gate, parse_gate(line.substr(5)));
            out_.gates.push_back(std::move(gate));
            return {};
        }
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals == 0)
            return bad("this line is not \"name = value\", a [section] or a gate",
                       "a # begins a comment");
        return take_value(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }

  private:
    enum class Section { suite, scene, settings };
    Result<void> begin_section(std::string_view line, std::uint64_t number) {
        const std::size_t blank = line.find(' ');
        const std::string_view kind = line.substr(1, blank == line.npos ? 0 : blank - 1);
        if (line.back() != ']' || (kind != "scene" && kind != "settings"))
            return bad(fmt::format("{} is not a section", line),
                       "use [scene NAME] or [settings NAME]");
        GS_TRY(const std::string name,
               name_of_section(trimmed(line.substr(blank, line.size() - blank - 1))));
        section_ = kind == "scene" ? Section::scene : Section::settings;
        const auto same = [&](const auto& one) { return one.name == name; };
        if (section_ == Section::scene ? std::ranges::any_of(out_.scenes, same)
                                       : std::ranges::any_of(out_.settings, same))
            return bad(fmt::format("duplicate {}{} \"{}\"", kind,
                                   section_ == Section::scene ? "s" : "", name));
        if (section_ == Section::scene) {
            out_.scenes.emplace_back().name = name;
            out_.scenes.back().line = number;
        } else {
            out_.settings.push_back({name, {}});
        }
        return {};
    }
    Result<void> take_value(std::string_view name, std::string_view value) {
        if (section_ == Section::scene)
            return take_key<SuiteScene>(kSceneKeys, out_.scenes.back(), name, value);
        if (section_ == Section::suite) return take_key<Suite>(kSuiteKeys, out_, name, value);
        if (name == "seed")
            return bad("seeds belong to the suite", "write seeds = 1, 2, 3 at its top");
        GS_TRY(auto setting, read_setting(std::string(name), std::string(value)));
        out_.settings.back().values.push_back(std::move(setting));
        return {};
    }
    Suite& out_;
    Section section_ = Section::suite;
};

/// Checks that need more than one line.
Result<void> whole_suite(Suite& suite) {
    if (suite.scenes.empty())
        return fail(ErrorKind::malformed, suite.origin, "contains no scene",
                    "add [scene NAME] with capture = FOLDER, or with views = N for a sample");
    for (const SuiteScene& scene : suite.scenes)
        if (scene.capture.empty() != scene.sample.has_value())
            return fail_at_line(suite.origin, scene.line,
                                fmt::format("the scene \"{}\" needs either capture = FOLDER or "
                                            "the views, width, height of a sample",
                                            scene.name));
    constexpr const char* kNoTests[] = {"--test-every", "0"};
    for (const SuiteScene& scene : suite.scenes)
        if (!suite.exports.empty() && !std::ranges::search(scene.loading, kNoTests).empty())
            return fail_at_line(suite.origin, scene.line,
                                fmt::format("exports are scored on held-out photos, of which "
                                            "the scene \"{}\" has none",
                                            scene.name));
    if (suite.settings.empty()) suite.settings.push_back({"default", {}});
    return {};
}

}  // namespace

Result<Gate> parse_gate(std::string_view text) {
    text = trimmed(text);
    const std::size_t sign = text.find("<=");
    if (sign == std::string_view::npos)
        return bad(fmt::format("\"{}\" is not a gate", text), "write psnr_drop <= 0.05");
    Gate out{std::string(trimmed(text.substr(0, sign))), 0, std::string(text)};
    if (std::find(std::begin(kGateMetrics), std::end(kGateMetrics), out.metric) ==
        std::end(kGateMetrics))
        return bad(fmt::format("unknown gate metric \"{}\"", out.metric),
                   fmt::format("known are {}", fmt::join(kGateMetrics, ", ")));
    GS_TRY(out.most, number_of(trimmed(text.substr(sign + 2)), -1e9, 1e9, false));
    return out;
}

Result<Suite> parse_suite(std::string origin, std::string text) {
    Suite out{.origin = std::move(origin)};
    out.name = fs::path(out.origin).stem().string();
    SuiteReader reader(out);
    std::uint64_t number = 0;
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // some editors begin with it
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        ++number;
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        if (auto taken = reader.take_line(line, number); !taken)
            return fail_at_line(out.origin, number, taken.error().message, taken.error().advice);
    }
    GS_TRY_VOID(whole_suite(out));
    out.text = std::move(text);
    return out;
}

std::vector<std::string> built_in_suites() {
    std::vector<std::string> out;
    for (const std::string& path : assets_in("suites")) out.push_back(fs::path(path).stem());
    return out;
}

Result<Suite> read_suite(const std::string& file_or_name) {
    auto text = read_text_file(file_or_name, kLargestSuite);
    const auto known = built_in_suites();
    if (!text && text.error().kind == ErrorKind::not_found) {
        if (std::ranges::find(known, file_or_name) == known.end())
            return fail(ErrorKind::not_found, file_or_name, "no such suite",
                        fmt::format("name a file, or one of {}", fmt::join(known, ", ")));
        const Asset built_in = asset(fmt::format("suites/{}.suite", file_or_name));
        GS_TRY(Suite suite, parse_suite(built_in.origin, built_in.text));
        return suite;
    }
    if (!text) return tl::unexpected(text.error());
    return parse_suite(file_or_name, std::move(*text));
}

std::string fingerprint_of(std::string_view text) {
    return fmt::format("{:016x}", hash_bytes(std::as_bytes(std::span(text.data(), text.size()))));
}

}  // namespace gs::lab
