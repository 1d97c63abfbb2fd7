// The command table: every action of the studio by name, with what menus, palette, keys, help page
// and scripts need to know, and the code that carries it out. Panels push commands, keys and
// scripts look them up here; nothing changes the studio otherwise.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/session/session.h"
#include "panels/state/command.h"
#include "panels/state/trace_view.h"
#include "panels/viewport/navigation.h"

namespace gs {

/// What a command asks of the window side; the studio carries these out in order, after the frame.
struct ShowPanel {
    std::string name;
    bool hide = false;
};
struct ShowPalette {
    std::string command{};  ///< whose arguments are asked for; empty: any command is looked for
};
struct ResetLayout {};
struct SaveTrace {
    std::string path;
};
struct WindowPicture {
    std::string path;
    int settle_frames =
        3;  ///< drawn before the picture is taken: popups and tabs need a few to take their place
};
struct QuitStudio {};
struct OpenTrace {
    std::string path;
};
struct AttachProcess {
    std::uint32_t pid = 0;
};
struct ShowTrace {
    std::string which;
};
struct CloseTrace {
    std::string which;
};
struct SaveStatistics {
    std::string path;
};
struct FindSpans {
    std::string name;
};
struct ShowTime {
    TracePlace place;
};
struct SelectTime {
    std::optional<TimeRange> range;
};
using UiAction = std::variant<ShowPanel, ShowPalette, ResetLayout, SaveTrace, WindowPicture,
                              QuitStudio, OpenTrace, AttachProcess, ShowTrace, CloseTrace,
                              SaveStatistics, FindSpans, ShowTime, SelectTime>;

/// A notice and since when it is shown.
struct TimedNotice {
    Notice notice;
    std::chrono::steady_clock::time_point since;
};

/// Everything commands may read and change. Lives on the UI thread; needs no window, so that tests
/// can drive it.
struct StudioState {
    explicit StudioState(Session& s) : session(s) {}

    Session& session;
    ViewSettings view;
    NavigationState navigation;     ///< where the viewport looks from
    int width = 800, height = 600;  ///< pixels the viewport has room for
    std::shared_ptr<const SceneInfo> scene;
    std::shared_ptr<const SceneInfo> other;  ///< the second scene, null: none is open
    std::shared_ptr<const DoctorReport> doctor;
    std::shared_ptr<const LevelsState> levels;
    std::shared_ptr<const MarkedGaussian> marked;
    std::vector<TimedNotice> notices;  ///< oldest first, a few
    std::uint64_t notices_told = 0;
    std::shared_ptr<const Curves> curves;
    std::shared_ptr<const std::vector<CameraRow>> cameras;
    std::shared_ptr<const std::vector<SettingRow>> settings;
    std::shared_ptr<const ViewFrame> frame;
    EngineStatus status;
    std::optional<Ceilings> limits;  ///< what this machine can do at most, once that was measured
    std::string sample_dir;          ///< where open.sample puts the sample capture
    std::deque<UiAction> ui_actions;
    std::uint64_t last_sent = 0;       ///< serial of the last engine command
    std::uint64_t request_serial = 0;  ///< of the last view request
    std::uint64_t ui_frames = 0;       ///< UI frames drawn
    std::uint64_t pictures_asked = 0, pictures_written = 0;

    /// Takes whatever the engine has published; true when anything was new.
    bool take_published();
    void add_notice(bool error, std::string text, std::vector<std::string> lines = {});
    /// Takes away what was shown long enough; true when there was any. Errors and details stay
    /// longer.
    bool drop_old_notices();
};

using Arguments = std::vector<std::string>;

struct CommandRow {
    CommandInfo info;
    Result<void> (*run)(StudioState&, const Arguments&) = nullptr;  ///< null: scripts only (waits)
    Arguments fixed;  ///< arguments that come before the given ones ("view.mode.depth" is
                      ///< "view.mode depth")
    std::size_t least = 0, most = 0;  ///< number of arguments taken
};

class CommandTable {
  public:
    CommandTable();
    std::span<const CommandInfo> infos() const { return infos_; }
    std::span<const CommandRow> rows() const { return rows_; }
    const CommandRow* find(std::string_view name) const;
    const CommandRow* find_key(std::string_view chord) const;
    /// Carries out one command. Errors (kind usage): unknown name (with the nearest one), wrong
    /// number or kind of arguments.
    Result<void> run(StudioState& state, std::string_view name, const Arguments& arguments) const;

  private:
    std::vector<CommandRow> rows_;
    std::vector<CommandInfo> infos_;
};

/// The parts of the table, one per file.
void add_file_commands(std::vector<CommandRow>& rows);
void add_view_commands(std::vector<CommandRow>& rows);
void add_doctor_commands(std::vector<CommandRow>& rows);
void add_compare_commands(std::vector<CommandRow>& rows);
void add_training_commands(std::vector<CommandRow>& rows);
void add_trace_commands(std::vector<CommandRow>& rows);
void add_window_commands(std::vector<CommandRow>& rows);
void add_script_commands(std::vector<CommandRow>& rows);

/// For handlers. Gives the engine a command; an error when it cannot take one.
Result<void> send(StudioState& state, EngineAction action);

/// For handlers. A finite number within the bounds, a whole number, on/off, one of a list of names.
/// Errors are kind usage.
Result<double> number_argument(const std::string& text, double least, double most,
                               std::string_view what);
Result<std::int64_t> integer_argument(const std::string& text, std::int64_t least,
                                      std::int64_t most, std::string_view what);
Result<bool> switch_argument(const std::string& text);
Result<std::size_t> choice_argument(const std::string& text, std::span<const char* const> choices);

/// The request that shows what the viewport shows, at a size of one's own.
ViewRequest view_request_of(const StudioState& state, int width, int height);

}  // namespace gs
