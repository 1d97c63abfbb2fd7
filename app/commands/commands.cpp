#include "app/commands/commands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace gs {
namespace {

/// Levenshtein distance: for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            diagonal = above;
        }
    }
    return row.back();
}

template <class T>
bool take(Latest<T>& mailbox, T& into) {
    auto value = mailbox.take();
    if (value) into = std::move(*value);
    return value.has_value();
}

/// A second scene is shown as soon as it is there; what it leaves behind is the picture alone.
void follow_other(const StudioState& state, ViewSettings& view) {
    const bool shown = view.with == CompareWith::scene;
    if (state.other && (!shown || view.compare == Compare::off)) view.compare = Compare::split;
    if (!state.other && shown) view.compare = Compare::off;
    view.with = state.other ? CompareWith::scene : CompareWith::photo;
    view.swapped = false;
}

/// Turned to the Gaussian, and as near as lets its surroundings be seen.
NavigationState look_near(const NavigationState& from, const MarkedGaussian& marked) {
    const Vec3d at{marked.mean.x, marked.mean.y, marked.mean.z};
    NavigationState out = gs::focus(from, at);
    double largest = 0;
    for (const Vec3f& axis : marked.axes)
        largest = std::max(largest, std::sqrt(static_cast<double>(dot(axis, axis))));
    out.distance = std::max(8 * largest, 0.1 * from.extent);
    return out;
}

constexpr std::size_t kMostNotices = 3;
constexpr double kShortNotice = 6, kLongNotice = 30;  // seconds

}  // namespace

void StudioState::add_notice(bool error, std::string text, std::vector<std::string> lines) {
    if (notices.size() >= kMostNotices) notices.erase(notices.begin());
    notices.push_back({{++notices_told, error, std::move(text), std::move(lines)},
                       std::chrono::steady_clock::now()});
}

bool StudioState::drop_old_notices() {
    const auto now = std::chrono::steady_clock::now();
    return std::erase_if(notices, [&](const TimedNotice& n) {
               const bool detailed = n.notice.error || !n.notice.lines.empty();
               return std::chrono::duration<double>(now - n.since).count() >
                      (detailed ? kLongNotice : kShortNotice);
           }) > 0;
}

bool StudioState::take_published() {
    SessionOutbox& out = session.out();
    bool any = take(out.frame, frame);
    any |= take(out.scene, scene);
    any |= take(out.curves, curves);
    any |= take(out.cameras, cameras);
    any |= take(out.settings, settings);
    any |= take(out.status, status);
    if (auto published = out.other.take()) {
        other = std::move(*published);
        follow_other(*this, view);
        any = true;
    }
    any |= take(out.doctor, doctor);
    any |= take(out.levels, levels);
    if (auto published = out.marked.take()) {
        marked = std::move(*published);
        if (marked) navigation = look_near(navigation, *marked);
        if (marked) view.capture_view = -1;
        any = true;
    }
    if (auto measured = out.limits.take()) {
        limits = std::move(*measured);
        any = true;
    }
    if (auto point = out.focus.take()) {
        navigation = gs::focus(navigation, *point);
        view.capture_view = -1;
        any = true;
    }
    return any;
}

CommandTable::CommandTable() {
    add_file_commands(rows_);
    add_training_commands(rows_);
    add_doctor_commands(rows_);
    add_view_commands(rows_);
    add_compare_commands(rows_);
    add_trace_commands(rows_);
    add_window_commands(rows_);
    add_script_commands(rows_);
    for (const CommandRow& row : rows_) infos_.push_back(row.info);
}

const CommandRow* CommandTable::find(std::string_view name) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const CommandRow& r) { return r.info.name == name; });
    return row == rows_.end() ? nullptr : &*row;
}

const CommandRow* CommandTable::find_key(std::string_view chord) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const CommandRow& r) { return r.info.key == chord; });
    return row == rows_.end() || chord.empty() ? nullptr : &*row;
}

Result<void> CommandTable::run(StudioState& state, std::string_view name,
                               const Arguments& arguments) const {
    const CommandRow* row = find(name);
    if (!row) {
        const auto nearest = std::min_element(
            rows_.begin(), rows_.end(), [&](const CommandRow& a, const CommandRow& b) {
                return edit_distance(name, a.info.name) < edit_distance(name, b.info.name);
            });
        return fail(ErrorKind::usage, "", fmt::format("there is no command \"{}\"", name),
                    fmt::format("did you mean \"{}\"?", nearest->info.name));
    }
    if (arguments.size() < row->least || arguments.size() > row->most)
        return fail(ErrorKind::usage, "",
                    fmt::format("{} takes {} arguments, not {}", name,
                                row->info.arguments.empty() ? "no" : "other", arguments.size()),
                    fmt::format("usage: {} {}", name, row->info.arguments));
    if (!row->run) return fail(ErrorKind::usage, "", fmt::format("{} works in scripts only", name));
    Arguments all = row->fixed;
    all.insert(all.end(), arguments.begin(), arguments.end());
    return row->run(state, all);
}

Result<void> send(StudioState& state, EngineAction action) {
    const std::uint64_t serial = state.session.send(std::move(action));
    if (serial == 0)
        return fail(ErrorKind::usage, "",
                    "the engine has more commands waiting than it can hold; try again in a moment");
    state.last_sent = serial;
    return {};
}

Result<double> number_argument(const std::string& text, double least, double most,
                               std::string_view what) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end || !std::isfinite(value))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must be a number, not \"{}\"", what, text));
    if (value < least || value > most)
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must lie between {:g} and {:g}, not be {:g}", what, least, most,
                                value));
    return value;
}

Result<std::int64_t> integer_argument(const std::string& text, std::int64_t least,
                                      std::int64_t most, std::string_view what) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end)
        return fail(ErrorKind::usage, "",
                    fmt::format("{} must be a whole number, not \"{}\"", what, text));
    if (value < least || value > most)
        return fail(
            ErrorKind::usage, "",
            fmt::format("{} must lie between {} and {}, not be {}", what, least, most, value));
    return value;
}

Result<bool> switch_argument(const std::string& text) {
    if (text == "on" || text == "1" || text == "true") return true;
    if (text == "off" || text == "0" || text == "false") return false;
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is neither on nor off", text));
}

Result<std::size_t> choice_argument(const std::string& text, std::span<const char* const> choices) {
    std::string list;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (text == choices[i]) return i;
        list += fmt::format("{}{}", i > 0 ? ", " : "", choices[i]);
    }
    return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not one of: {}", text, list));
}

ViewRequest view_request_of(const StudioState& state, int width, int height) {
    ViewRequest request;
    request.camera = camera_of(state.navigation, width, height);
    request.settings = state.view;
    return request;
}

}  // namespace gs
