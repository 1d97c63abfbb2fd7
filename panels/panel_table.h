// The table of panels: one row each, with its name, its region and its factory. The workspace makes
// them all and lays them out; menus, commands and stored layouts know them by name. A new panel is
// a file beside this one and a row in panel_table.cpp (docs/development.md).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <type_traits>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"

namespace gs {

enum class Region { left, left_lower, centre, right, right_lower, bottom, bottom_right, hidden };
inline constexpr std::array<const char*, 8> kRegionNames{
    "left", "left lower", "centre", "right", "right lower", "bottom", "bottom right", "hidden"};

/// The workspace's interface to a panel.
class AnyPanel {
  public:
    virtual ~AnyPanel() = default;
    /// Draws into the current window, which is the panel's tab.
    virtual void draw(const Snapshot& snapshot, Commands& commands) = 0;
    /// True while it computes in slices: the next frame should come soon.
    virtual bool busy() const { return false; }
    /// True while its content is incomplete: scripts wait for it.
    virtual bool working() const { return false; }
};

/// Any struct with draw(), and with busy() and working() if it computes something. Panels about a
/// trace are made with their shared TraceView.
template <class P>
class HeldPanel final : public AnyPanel {
  public:
    explicit HeldPanel(TraceView& view) : panel(make(view)) {}
    void draw(const Snapshot& snapshot, Commands& commands) override {
        panel.draw(snapshot, commands);
    }
    bool busy() const override {
        if constexpr (requires { panel.busy(); })
            return panel.busy();
        else
            return false;
    }
    bool working() const override {
        if constexpr (requires { panel.working(); })
            return panel.working();
        else
            return false;
    }
    P panel;

  private:
    static P make([[maybe_unused]] TraceView& view) {
        if constexpr (std::is_constructible_v<P, TraceView&>)
            return P(view);
        else
            return P();
    }
};

struct PanelRow {
    const char* name;
    Region home;  ///< its region unless a layout (assets/layouts) sets one
    bool
        scrolls;  ///< the wheel scrolls the panel's region; in the others it zooms or scrolls lists
    std::unique_ptr<AnyPanel> (*make)(TraceView& view);
    /// The panel has the answer to an action elsewhere (a click on the picture, say). It comes to
    /// the front the first time in a session that this becomes true; null: never by itself.
    bool (*answers)(const Snapshot& snapshot) = nullptr;
    /// Where it appears when it was hidden.
    Region place() const { return home == Region::hidden ? Region::centre : home; }
};

/// In the order of their tabs.
std::span<const PanelRow> panel_rows();

}  // namespace gs
