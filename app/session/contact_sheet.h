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

    /// From now on; pictures of another size are made anew. What is not wanted any more is kept.
    void want(SheetRequest request);
    /// Another scene is open, or none.
    void begin();
    /// Makes the next picture. False: none was due, or training comes first.
    bool draw_when_due(const Shown& shown);
    /// Of all pictures, in host memory.
    std::uint64_t bytes() const { return bytes_; }

  private:
    using Cell = std::shared_ptr<const SheetPicture>;

    std::size_t next(const Shown& shown) const;
    Cell make(const Shown& shown, std::size_t view);
    void publish();

    Lent lent_;
    Viewer& viewer_;
    SheetRequest wanted_;
    std::vector<Cell> cells_;  // by view
    std::uint64_t serial_ = 0, bytes_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace gs
