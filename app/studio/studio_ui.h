// StudioUi: ImGui context, panels and textures on one side, StudioState on the other. Draws one
// frame of the studio from the state, collects the commands given in it, and makes off-screen
// pictures. The studio's loop (studio.cpp) owns one.
#pragma once

#include <map>
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
#include "panels/state/trace_view.h"
#include "profiler/store/store.h"

namespace gs {

struct TimeLapsePanel;

class StudioUi {
  public:
    StudioUi(Window& window, const CommandTable& table, const Preferences& preferences,
             const StudioMachine& machine);
    ~StudioUi();
    StudioUi(const StudioUi&) = delete;
    StudioUi& operator=(const StudioUi&) = delete;

    /// One UI frame: draws the panels, steers the camera, then carries out the commands given.
    /// Shows it in the window.
    void frame(StudioState& state, const TraceStore& trace, const TraceLibrary& traces,
               std::span<const std::string> recent);
    /// True while the next frame should come without waiting for input (steering by held keys, an
    /// animation).
    bool wants_next_frame() const;
    /// True while panels in sight, or the pictures in them, are not complete yet.
    bool working() const;
    /// False when the viewport's panel is hidden or behind another one: nobody looks at its
    /// picture.
    bool viewport_visible() const;
    /// The small pictures of photos that the last frame would have shown.
    SheetRequest wanted_sheet() const;
    /// True when typed keys belong to a text field.
    bool typing() const;
    /// Carries out a UI action; false when it is not one of the panels'. Errors: a panel that does
    /// not exist.
    Result<void> show_panel(const std::string& name, bool hide);
    /// `command`: already chosen, its arguments are asked for.
    void show_palette(const std::string& command = {});
    /// A layout of assets/layouts or of the user's own. usage: there is none of that name.
    Result<void> show_layout(std::string_view name);
    std::string layout() const;
    void load_layout(std::string_view layout);
    /// Where the file dialog served each purpose last.
    std::map<std::string, std::string>& folders();
    /// The Time lapse panel, for its commands.
    TimeLapsePanel& time_lapse();
    /// What the panels about traces share.
    TraceView& trace_view();
    /// The Notes panel asks for a text for what the mouse is over in the picture.
    Result<void> begin_note();
    /// The span that is selected in the timeline, or the stretch of time, as a note without a
    /// text; nothing: none is.
    std::optional<Note> selected_stretch(const TraceStore& trace) const;
    /// The table of the Statistics panel.
    std::string statistics_csv(const TraceStore& trace) const;
    /// The panel's region over all others, or all in their places again; without a name the one
    /// that the mouse is over. usage: there is no such panel to see.
    Result<void> maximise(const std::string& name);
    /// Nothing but the picture; without a choice, the other way round. Returns what is now.
    bool show_picture_only(std::optional<bool> on);
    /// Brings the panels back that something stands before; false: nothing does.
    bool uncover();
    /// True when a text field, a popup or the panel under the mouse has a use of its own for it.
    bool takes_key(const std::string& chord) const;

    /// The last frame drawn, as a picture of the whole window.
    Image8 window_picture() const;
    /// What the viewport would show of `frame` with these settings: what it is compared with,
    /// legend, frusta, axes. One picture has the frame's size.
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
