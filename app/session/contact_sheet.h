// ContactSheet: small pictures of all photos of a capture, for the contact sheet and the capture
// cameras in the viewport: the photo, what the model draws there, and how far the two are apart.
// Made one after the other where nobody waits, made anew as the model changes. Owned by the engine.
#pragma once

#include <memory>
#include <vector>

#include "app/session/lent.h"
#include "app/session/viewer.h"

namespace gs {

class ContactSheet {
  public:
    ContactSheet(Lent lent, Viewer& viewer) : lent_(std::move(lent)), viewer_(viewer) {}

    /// From now on. What is not wanted any more is kept, up to kMostBytes.
    void want(SheetRequest request) { wanted_ = std::move(request); }
    /// Another scene is open, or none.
    void begin();
    /// The scene has another model at the same step.
    void forget_model() { ++generation_; }
    /// Makes the next picture. False: none was due, or training comes first.
    bool draw_when_due(const Shown& shown);
    /// Of all pictures, in host memory.
    std::uint64_t bytes() const { return bytes_; }

    static constexpr std::uint64_t kMostBytes = 128 << 20;  ///< beside what is wanted

  private:
    struct Cell {
        std::shared_ptr<const SheetPicture> picture;
        int width = 0;  // that was asked for
        std::uint64_t generation = 0;
    };
    Cell* next(const Shown& shown);
    void make(const Shown& shown, Cell& cell);
    void drop_some();
    void publish();

    Lent lent_;
    Viewer& viewer_;
    SheetRequest wanted_;
    std::vector<Cell> cells_;  // by view
    std::uint64_t serial_ = 0, generation_ = 0, bytes_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace gs
