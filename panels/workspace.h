// Workspace: the studio's window. Regions with splitters around the viewport, panels as tabs that
// move between regions, the bar above, the bar below, the palette. The app draws one per UI frame
// and stores its layout between runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/expected.h"
#include "panels/import_dialog.h"
#include "panels/palette.h"
#include "panels/panel_table.h"
#include "panels/quit_question.h"
#include "panels/regions.h"
#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "panels/status_bar.h"
#include "panels/top_bar.h"
#include "panels/widgets/file_dialog.h"

namespace gs {

class Workspace {
  public:
    Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    /// Draws everything, over the whole display. Between ImGui::NewFrame() and Render().
    void draw(const Snapshot& snapshot, Commands& commands);

    /// Brings the panel to the front of its region (its usual one when it is hidden), or hides it
    /// and shows again what it was brought before.
    /// False: no such panel. Names compare without case.
    bool show_panel(std::string_view name, bool hide = false);
    bool shown(std::string_view name) const;
    /// Shown, and the front tab of its region.
    bool in_front(std::string_view name) const;
    bool move_panel(std::string_view name, Region region);
    /// Shows a layout of assets/layouts or of the user: "studio", "traces" (the timeline in the
    /// middle). usage: unknown name.
    Result<void> show_layout(std::string_view name);
    void reset_layout();  ///< to "studio"
    /// The panel's region, or, without a name, the one under the mouse; nullopt: none.
    std::optional<Region> region_of(std::string_view name) const;
    std::vector<std::string> panel_names() const;
    /// True while a panel computes in slices: the next frame should come soon.
    bool busy() const;
    /// True while a visible panel is still computing its content.
    bool working() const;

    /// The layout as text, for the app to store; damaged or unknown parts of a loaded text are
    /// ignored.
    std::string save_layout() const;
    void load_layout(std::string_view text);

    /// Draws only one panel into the current window. False: no such panel.
    bool draw_panel(std::string_view name, const Snapshot& snapshot, Commands& commands);
    /// The panel of this type; the table has one of each.
    template <class P>
    P& panel() {
        HeldPanel<P>* held = nullptr;
        for (const Slot& slot : slots_)
            if (!held) held = dynamic_cast<HeldPanel<P>*>(slot.panel.get());
        CHECK(held, "the table of panels has none of this type");
        return held->panel;
    }

    TraceView trace_view;  ///< shared by the panels about traces
    Palette palette;
    FileDialog file_dialog;
    ImportDialog import_dialog;
    std::optional<Region> maximised;  ///< over all others
    bool picture_only = false;        ///< only the viewport's picture

  private:
    struct Slot {
        const PanelRow* row;
        std::unique_ptr<AnyPanel> panel;
        Region region = row->home;
        bool raise = false;  ///< becomes the front tab at the next frame
        bool front = false;
        Slot* covers = nullptr;  ///< in front before it was shown; comes back when it is hidden
        bool answered = true;    ///< it came forward by itself, or had an answer from the beginning
        ImVec2 end{};            ///< of its tab, right and below
        float aimed = 0;         ///< seconds that the mouse has rested on the tab's cross
        void aim();              ///< after its tab was drawn
    };
    Slot* find(std::string_view name) const;
    UsedRegions used() const;
    void draw_panels(const Snapshot& snapshot, Commands& commands);
    void draw_picture_alone(const Snapshot& snapshot, Commands& commands);
    void draw_region(Region region, const Snapshot& snapshot, Commands& commands);
    void draw_tab(Slot& slot, bool closable, const Snapshot& snapshot, Commands& commands);
    void list_panels(Region region, bool opens);
    void bring_answers(const Snapshot& snapshot);
    void tab_menu(Slot& slot);
    void drag_tab();

    std::vector<Slot> slots_;
    double alone_since_ = -1;     ///< the picture, in ImGui's time; negative: panels are shown
    std::string alone_answered_;  ///< what was clicked in it last
    int settle_ = 0;              ///< frames until a raised tab is drawn
    bool drawn_ = false;          ///< at least once: later answers are new
    Regions regions_;
    Slot* dragged_ = nullptr;  ///< its tab is held by the mouse
    TopBar top_bar_;
    StatusBar status_bar_;
    QuitQuestion quit_question_;
};

/// A dialog, a question or the palette is open: keys are its own.
bool asks(const Workspace& workspace, const Snapshot& snapshot);
/// Restores panels hidden by a maximised one or the picture; false: none are.
bool uncover(Workspace& workspace);

}  // namespace gs
