#include "app/studio/parameter.h"

#include <algorithm>
#include <limits>

#include "app/studio/studio_state.h"
#include "base/format.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr double kUnbounded = 1e6;  // larger bounds only keep arithmetic finite

std::string range_text(double least, double most) {
    if (most < kUnbounded) return fmt::format("{:g} to {:g}", least, most);
    return least > -kUnbounded ? fmt::format("{:g} or more", least) : "";
}

ArgumentInfo one(const std::string& usage, std::string range = {}) {
    return {usage, 1, 1, std::move(range), {}};
}

/// The next `count` words as numbers, named as in `info`.
Result<std::vector<double>> take_numbers(const ArgumentInfo& info, double least, double most,
                                         Words& words) {
    const std::vector<std::string> names = split_words(info.usage);
    if (!words.has(names.size()))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} are {} numbers", info.usage, names.size()));
    std::vector<double> out;
    for (const std::string& name : names) {
        GS_TRY(const double value, number_argument(words.take(), least, most, name));
        out.push_back(value);
    }
    return out;
}

/// A place in the shown picture, as a fraction of its width or height.
Parameter<double> place(const std::string& name, bool across, bool inside) {
    return {one(name, "pixels"),
            [name, across, inside](StudioState& state, Words& words) -> Result<double> {
                if (!state.frame) return fail(ErrorKind::usage, "", "there is no picture yet");
                const Camera& shown = state.frame->camera;
                const double size = across ? shown.width : shown.height;
                GS_TRY(const double pixel, number_argument(words.take(), inside ? 0 : -kUnbounded,
                                                           inside ? size : kUnbounded, name));
                return pixel / size;
            }};
}

/// One of a list of names.
Parameter<std::size_t> listed(const std::string& name, const std::vector<std::string>& names) {
    return {{name, 1, 1, {}, names},
            [names](StudioState&, Words& words) { return choice_argument(words.take(), names); }};
}

}  // namespace

namespace args {

Parameter<double> number(const std::string& name, double least, double most) {
    return {one(name, range_text(least, most)), [=](StudioState&, Words& words) {
                return number_argument(words.take(), least, most, name);
            }};
}

Parameter<std::vector<double>> numbers(const std::string& names, double least, double most) {
    const std::size_t count = split_words(names).size();
    const ArgumentInfo info{names, count, count, range_text(least, most), {}};
    return {info,
            [=](StudioState&, Words& words) { return take_numbers(info, least, most, words); }};
}

Parameter<Vec3d> vector(const std::string& names, double least, double most) {
    const auto three = numbers(names, least, most);
    return {three, [read = three.read](StudioState& state, Words& words) {
                return read(state, words).map([](const std::vector<double>& v) {
                    return Vec3d{v[0], v[1], v[2]};
                });
            }};
}

Parameter<std::int64_t> whole(const std::string& name, std::int64_t least, std::int64_t most) {
    return {one(name, range_text(static_cast<double>(least), static_cast<double>(most))),
            [=](StudioState&, Words& words) {
                return integer_argument(words.take(), least, most, name);
            }};
}

Parameter<std::string> word(const std::string& name) {
    return {one(name),
            [](StudioState&, Words& words) -> Result<std::string> { return words.take(); }};
}

Parameter<std::string> optional_word(const std::string& name) {
    return optional(word(name), std::string());
}

Parameter<Arguments> rest(const std::string& names, std::size_t least, std::size_t most) {
    return {{names, least, most, {}, {}}, [](StudioState&, Words& words) -> Result<Arguments> {
                const auto all = std::exchange(words.left, {});
                return Arguments(all.begin(), all.end());
            }};
}

Parameter<std::size_t> choice(const std::string& name, std::span<const char* const> names) {
    return listed(name, {names.begin(), names.end()});
}

Parameter<std::size_t> choice(const std::string& names) {
    std::vector<std::string> list{""};
    for (const char c : names) {
        if (c == '|')
            list.emplace_back();
        else
            list.back() += c;
    }
    return listed(names, list);
}

Parameter<bool> on_off() {
    return {{"on|off", 1, 1, {}, {"on", "off"}},
            [](StudioState&, Words& words) { return switch_argument(words.take()); }};
}

Parameter<std::optional<bool>> toggle() { return optional(on_off()); }

Parameter<bool> flag(const std::string& name) {
    return {{"[" + name + "]", 0, 1, {}, {name}},
            [name](StudioState&, Words& words) -> Result<bool> {
                if (!words.has(1)) return false;
                if (words.next() == name) return words.take(), true;
                return fail(ErrorKind::usage, "",
                            fmt::format("only \"{}\" may be here, not \"{}\"", name, words.next()));
            }};
}

Parameter<Vec3d> axis() {
    return {{"AXIS", 1, 1, {}, {"x", "y", "z", "-x", "-y", "-z"}},
            [](StudioState&, Words& words) { return axis_argument(words.take()); }};
}

Parameter<ClipBox> box() {
    constexpr double kFarthestCorner = 1e9;  // world units
    const auto six = numbers("X0 Y0 Z0 X1 Y1 Z1", -kFarthestCorner, kFarthestCorner);
    return {six, [read = six.read](StudioState& state, Words& words) -> Result<ClipBox> {
                GS_TRY(const auto v, read(state, words));
                for (std::size_t i = 0; i < 3; ++i)
                    if (v[i] > v[i + 3])
                        return fail(ErrorKind::usage, "",
                                    fmt::format("the box ends before it begins: {:g} > {:g}", v[i],
                                                v[i + 3]));
                return ClipBox{narrow({v[0], v[1], v[2]}), narrow({v[3], v[4], v[5]})};
            }};
}

Parameter<std::uint64_t> gaussian(const std::string& name) {
    return {one(name, "a Gaussian's id"),
            [name](StudioState&, Words& words) -> Result<std::uint64_t> {
                std::string word = words.take();
                if (word.starts_with('#')) word.erase(0, 1);
                GS_TRY(const auto row,
                       integer_argument(word, 0, std::numeric_limits<std::int64_t>::max(), name));
                return static_cast<std::uint64_t>(row);
            }};
}

Parameter<std::vector<std::uint64_t>> gaussians() {
    return {one("ROW,...", "ids of Gaussians"),
            [](StudioState&, Words& words) { return rows_argument(words.take()); }};
}

Parameter<std::vector<std::uint64_t>> some_gaussians() {
    return optional(gaussians(), std::vector<std::uint64_t>());
}

Parameter<ViewRequest> shown_view() {
    return {{"", 0, 0, {}, {}}, [](StudioState& state, Words&) -> Result<ViewRequest> {
                return view_request_of(state, state.width, state.height);
            }};
}

Parameter<double> pixel_x(const std::string& name) { return place(name, true, true); }
Parameter<double> pixel_y(const std::string& name) { return place(name, false, true); }
Parameter<double> any_x(const std::string& name) { return place(name, true, false); }
Parameter<double> any_y(const std::string& name) { return place(name, false, false); }

}  // namespace args

void Reading::lack(const ArgumentInfo& p) {
    error_ = Error{ErrorKind::usage, "", fmt::format("{} is missing", p.usage), "", {}, {}};
}

Result<void> Reading::finish(const std::string& usage) {
    if (!error_ && !words_.left.empty())
        error_ = Error{
            ErrorKind::usage,
            "",
            fmt::format("\"{}\" is one argument too many, or others are missing", words_.next()),
            "",
            {},
            {}};
    if (!error_) return {};
    if (error_->advice.empty()) error_->advice = "usage: " + usage;
    return tl::unexpected<Error>(*error_);
}

}  // namespace gs
