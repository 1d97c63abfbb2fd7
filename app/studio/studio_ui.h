// StudioUi: ImGui context, panels and textures on one side, StudioState on the other. Draws one
// frame of the studio from the state, collects the commands given in it, and makes off-screen
// pictures. The studio's loop (studio.cpp) owns one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/trace_library.h"
#include "app/studio/command_table.h"
#include "app/studio/options.h"
#include "app/studio/preferences.h"
#include "app/studio/studio_state.h"
#include "app/window/window.h"
#include "panels/workspace.h"
#include "profiler/store/store.h"

namespace gs {

class StudioUi {
  public:
    StudioUi(Window& window, const CommandTable& table, const Preferences& preferences,
             const StudioMachine& machine);
    ~StudioUi();
    StudioUi(const StudioUi&) = delete;
    StudioUi& operator=(const StudioUi&) = delete;

    /// Does one UI frame: passes on the next step of the input, draws the panels, steers the
    /// camera, then runs the given commands. Shows it in the window.
    void frame(StudioState& state, const TraceStore& trace, const TraceLibrary& traces,
               std::span<const std::string> recent, const KeyLayout& keys, const TakeKey& take);
    /// True while the next frame should come without waiting for input (steering by held keys, an
    /// animation).
    bool wants_next_frame() const;
    /// True while visible panels, or the pictures in them, are incomplete.
    bool working() const;
    /// False when the viewport's panel is hidden or behind another one: its picture is not visible.
    bool viewport_visible() const;
    /// The small pictures of photos that the last frame needed.
    SheetRequest wanted_sheet() const;
    /// True when typed keys belong to a text field.
    bool typing() const;
    /// Runs a UI action; false if it is not one of the panels'. Errors: a panel that does not
    /// exist.
    Result<void> show_panel(const std::string& name, bool hide);
    /// Panels, their layout, palette and file dialog, for commands.
    Workspace& workspace();
    InputQueue& input();
    /// Without a choice, toggles.
    void full_screen(std::optional<bool> on);
    /// Lets the Notes panel ask for a text for the point under the mouse.
    Result<void> begin_note();
    /// The timeline's selected span or time range as a note without a text; nothing: no selection.
    std::optional<Note> selected_stretch(const TraceStore& trace) const;
    /// Maximises the panel's region, or restores all; without a name, the one under the
    /// mouse. usage: no such visible panel.
    Result<void> maximise(const std::string& name);
    /// Shows only the picture; without a choice, toggles.
    void show_picture_only(std::optional<bool> on);
    /// True if a text field, a dialog or the panel under the mouse uses the key itself. `chord`:
    /// the key as the key map has it for `command`.
    bool takes_key(const KeyPress& key, const std::string& chord, std::string_view command) const;

    /// The last frame as a picture of the whole window.
    Image8 window_picture() const;
    /// The viewport's picture of `frame` with these settings: comparison, legend, frusta,
    /// axes. One picture has the frame's size.
    Image8 overlay_picture(const ViewFrame& frame, const ViewSettings& view);
    double last_frame_seconds() const;

  private:
    void follow_scale();
    void upload(const StudioState& state);
    void follow_machine(const StudioState& state, const TraceStore& trace);
    void read_pixel(const StudioState& state);
    void fill_snapshot(StudioState& state, const TraceStore& trace, const TraceLibrary& traces,
                       std::span<const std::string> recent);
    void steer(StudioState& state);

    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace gs
