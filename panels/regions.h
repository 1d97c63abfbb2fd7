// Regions: places and sizes of the workspace's regions, the splitters between them, and the drop
// target of a dragged tab. The workspace has one.
#pragma once

#include <imgui.h>

#include <array>
#include <optional>

#include "panels/panel_table.h"

namespace gs {

inline constexpr ImGuiWindowFlags kFixedWindow =
    ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollbar |
    ImGuiWindowFlags_NoScrollWithMouse;

struct RegionBox {
    float x = 0, y = 0, w = 0, h = 0;
    bool contains(ImVec2 p) const { return p.x >= x && p.x < x + w && p.y >= y && p.y < y + h; }
};
/// Which regions have a panel, by Region.
using UsedRegions = std::array<bool, kRegionNames.size()>;

class Regions {
  public:
    /// Shares of the display or of the column, so that a layout fits any window.
    struct Sizes {
        double left = 0.16, right = 0.26, bottom = 0.30;
        double left_split = 0.5, right_split = 0.5, bottom_split = 0.62;
    };
    Sizes sizes;

    /// `alone`: the region that fills the whole space and hides the others.
    void lay_out(RegionBox room, const UsedRegions& used, std::optional<Region> alone);
    void draw_splitters();
    const RegionBox& box(Region region) const { return boxes_[static_cast<std::size_t>(region)]; }
    bool used(Region region) const { return used_[static_cast<std::size_t>(region)]; }
    /// The region at a point of the screen.
    std::optional<Region> at(ImVec2 point) const;
    /// The target of a drop at this point, and its area (roughly). Regions
    /// without a panel have a place too, at the edge where they would appear.
    std::optional<Region> drop_at(ImVec2 point) const;
    RegionBox drop_box(Region region) const;

  private:
    RegionBox& place(Region region) { return boxes_[static_cast<std::size_t>(region)]; }
    void lay_column(RegionBox whole, Region upper, Region lower, double split);
    void splitter(const char* id, RegionBox where, bool vertical, float span, double& share,
                  bool grows_back, float shown = 0);

    RegionBox room_;
    UsedRegions used_{};
    std::array<RegionBox, kRegionNames.size()> boxes_{};
};

}  // namespace gs
