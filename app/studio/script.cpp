#include "app/studio/script.h"

#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/format.h"
#include "base/log.h"
#include "base/seconds.h"

namespace gs {
namespace {

void press(StudioUi& ui, const std::string& key, const std::string& place) {
    ui.input().press(key, place);
}
void type(StudioUi& ui, const std::string& text) { ui.input().type(text); }
void click(StudioUi& ui, double x, double y, std::int64_t count) {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    ui.input().move(x, y);
    for (std::int64_t i = 0; i < 2 * count; ++i) ui.input().button(0, i % 2 == 0, now.count());
}

// clang-format off
const CommandRow kRows[] = {
    {"wait-frame",   "Wait for a picture", "",
     "Scripts only: wait until the viewport shows the last requested picture.", nullptr},
    {"wait-step",    "Wait for a step",    "",
     "Scripts only: wait until training has done STEP steps.", nullptr, args::word("STEP")},
    {"wait-loaded",  "Wait for loading",   "",
     "Scripts only: wait until the opened scene and traces are loaded.", nullptr},
    {"wait-idle",    "Wait until idle",    "",
     "Scripts only: wait until all loading, training, evaluation, examination and writing is done and the "
     "visible panels are complete.", nullptr},
    {"wait-seconds", "Wait some seconds",  "",
     "Scripts only.", nullptr, args::word("SECONDS")},
    {"press",        "Press a key",        "",
     "As the keyboard does, for scripts: a key as key maps write it; PLACE: the key that is there on a US keyboard.",
     press, args::word("KEY"), args::optional_word("PLACE")},
    {"type",         "Type a text",        "",
     "As the keyboard does, for scripts.", type, args::word("TEXT")},
    {"click",        "Click into the window", "",
     "As the mouse does, for scripts: at this pixel of the window, COUNT times.",
     click, args::number("X", 0, 1e5), args::number("Y", 0, 1e5),
     args::optional(args::whole("COUNT", 1, 3), std::int64_t{1})},
    {"timeout",      "Set the wait limit",     "",
     "Scripts only: longest time for each following wait (default: 600).", nullptr, args::word("SECONDS")},
};
// clang-format on

}  // namespace

std::span<const CommandRow> script_commands() { return kRows; }

Result<std::vector<ScriptLine>> parse_script(std::string_view text, const std::string& path,
                                             const CommandTable& table) {
    std::vector<ScriptLine> lines;
    std::uint64_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view content = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
        std::vector<std::string> words = split_words(content);
        for (std::size_t i = 0; i < words.size(); ++i)
            if (words[i].starts_with("#")) words.resize(i);
        if (words.empty()) continue;
        ScriptLine line{number, words[0], Arguments(words.begin() + 1, words.end())};
        const CommandRow* row = table.find(line.name);
        std::string wrong;
        if (!row)
            wrong = fmt::format("there is no command \"{}\"", line.name);
        else if (!row->takes_words(line.arguments.size()))
            wrong = fmt::format("usage: {} {}", line.name, row->arguments);
        if (!wrong.empty())
            return tl::unexpected<Error>(Error{ErrorKind::usage,
                                               path,
                                               wrong,
                                               "see gausscope view --help for the list of commands",
                                               number,
                                               {}});
        lines.push_back(std::move(line));
    }
    return lines;
}

Error ScriptRunner::at_line(const ScriptLine& line, Error error) const {
    error.message = fmt::format("{}: {}{}", line.name, error.path.empty() ? "" : error.path + ": ",
                                error.message);
    error.path = path_;
    error.line = line.number;
    return error;
}

void ScriptRunner::take_event(const EngineEvent& event) {
    if (!event.error || event.command == 0 || failure_) return;
    for (const auto& [serial, index] : sent_)
        if (serial == event.command && index < lines_.size())
            failure_ =
                at_line(lines_[index], Error{ErrorKind::malformed, "", event.text, "", {}, {}});
}

Result<bool> ScriptRunner::ready(StudioState& state) {
    // Belongs to the previous line, also if the window side sent it; before the first line, to
    // none.
    if (sent_.empty() || sent_.back().first != state.last_sent)
        sent_.emplace_back(state.last_sent, next_ > 0 ? next_ - 1 : lines_.size());
    if (failure_) return tl::unexpected<Error>(*failure_);
    if (next_ > 0 && lines_[next_ - 1].name == "train.evaluate" && state.status.evaluating)
        return false;
    // The previous line has to be done completely: by the engine, by the window, and with its
    // pictures on the disk.
    return state.status.commands_done >= state.last_sent && state.ui_actions.empty() &&
           state.pictures_written >= state.pictures_asked && !state.work.input;
}

Result<bool> ScriptRunner::wait_is_over(const ScriptLine& line, StudioState& state) {
    const TrainingStatus& training = state.training;
    const bool drawn = state.ui_frames >= frames_at_wait_ + 2;
    if (line.name == "wait-frame" && state.scene)
        return drawn && state.frame && state.frame->request >= state.request_serial;
    if (line.name == "wait-loaded" || line.name == "wait-frame") {
        if (training.state == RunState::loading || state.work.reading_traces) return false;
        // A trace without a scene has no picture to wait for.
        if (training.state == RunState::empty && state.work.any_trace)
            return line.name == "wait-loaded" || drawn;
        if (training.state == RunState::empty || training.state == RunState::failed)
            return fail(ErrorKind::usage, "",
                        !training.message.empty()           ? training.message
                        : !state.work.trace_problem.empty() ? state.work.trace_problem
                                                            : "nothing is being loaded");
        return line.name == "wait-loaded";
    }
    // Panels begin to work, and show what came of it, in their next frames; levels of a streamed
    // set are read for a view.
    if (line.name == "wait-idle")
        return state.status.views_taken >= state.request_serial && !state.work.any() && drawn &&
               state.ui_frames >= state.work.last_frame + 2 &&
               training.state != RunState::loading && training.state != RunState::training &&
               !state.status.evaluating && state.activities.empty();
    const double number = std::stod(line.arguments[0]);
    if (line.name == "wait-seconds") return seconds_since(*waiting_since_) >= number;
    if (training.step >= static_cast<std::uint64_t>(number)) return true;
    if (training.state != RunState::training && training.state != RunState::loading)
        return fail(ErrorKind::usage, "",
                    fmt::format("training is {} at step {} and will not reach step {}",
                                kRunStateNames[static_cast<std::size_t>(training.state)],
                                training.step, line.arguments[0]));
    return false;
}

Result<bool> ScriptRunner::advance(StudioState& state) {
    while (next_ < lines_.size()) {
        const ScriptLine& line = lines_[next_];
        if (!waiting_since_) {
            waiting_since_ = Clock::now();
            frames_at_wait_ = state.ui_frames;
        }
        auto go = ready(state);
        if (!go) return go;
        const bool wait = !table_.find(line.name)->run;
        if (wait && !line.arguments.empty()) {
            const auto number = number_argument(line.arguments[0], 0, 1e12, "the number");
            if (!number) return tl::unexpected<Error>(at_line(line, number.error()));
            if (line.name == "timeout") timeout_seconds_ = *number;
        }
        if (*go && wait && line.name != "timeout") {
            go = wait_is_over(line, state);
            if (!go) return tl::unexpected<Error>(at_line(line, go.error()));
        }
        if (!*go) {
            if (seconds_since(*waiting_since_) <= timeout_seconds_) return false;
            return tl::unexpected<Error>(
                at_line(line, Error{ErrorKind::cancelled,
                                    "",
                                    fmt::format("not done after {:g} s", timeout_seconds_),
                                    "allow more with the command timeout SECONDS",
                                    {},
                                    {}}));
        }
        if (!wait) {
            log_debug("script line {}: {}", line.number, line.name);
            if (auto done = table_.run(state, line.name, line.arguments); !done)
                return tl::unexpected<Error>(at_line(line, done.error()));
        }
        ++next_;
        waiting_since_.reset();
    }
    auto last = ready(state);
    return last;
}

}  // namespace gs
