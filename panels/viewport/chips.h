// Chips: short texts on a dark background over a picture, without overlaps. Used by the viewport's
// overlays.
#pragma once

#include <imgui.h>

#include <span>
#include <string>
#include <vector>

namespace gs {

/// Corners on the screen.
struct PictureRect {
    ImVec2 a{}, b{};
    float width() const { return b.x - a.x; }
    float height() const { return b.y - a.y; }
    bool contains(ImVec2 p) const { return p.x >= a.x && p.x < b.x && p.y >= a.y && p.y < b.y; }
    bool touches(const PictureRect& r) const {
        return a.x < r.b.x && r.a.x < b.x && a.y < r.b.y && r.a.y < b.y;
    }
};

/// A text on a dark chip, wherever it is, between the sides of the list's clip rectangle: long ones
/// take several lines, and what is left out is in a tooltip. `size`: of one line.
void draw_chip(ImDrawList& list, ImVec2 corner, const std::string& words, ImU32 color);
ImVec2 chip_size(const std::string& words);

class Chips {
  public:
    enum class Side { left, middle, right };
    enum class Way { up, down };

    explicit Chips(ImDrawList& list) : list_(list) {}
    /// Nothing is put here.
    void keep_clear(PictureRect rect) { taken_.push_back(rect); }
    /// Puts a text whose left, middle or right is at `at.x`, its top at `at.y` or, where something
    /// lies there already, above or below that. Nothing for no words. Returns where it is.
    PictureRect put(ImVec2 at, Side side, Way way, const std::string& words, ImU32 color);
    const std::vector<PictureRect>& taken() const { return taken_; }

  private:
    ImDrawList& list_;
    std::vector<PictureRect> taken_;
};

/// As many of the words in a line as fit `width`, with two blanks between them.
std::vector<std::string> wrapped(std::span<const std::string> words, float width);

}  // namespace gs
