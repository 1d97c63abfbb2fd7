// ContactSheet: small pictures of all photos of a capture, for the contact sheet and the capture
// cameras in the viewport: the photo, the render, and their difference. Made one after the other in
// idle time, and again as the model changes. Owned by the engine.
#pragma once

#include <memory>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"

namespace gs {

class ContactSheet final : public PartWith<Viewer> {
  public:
    using PartWith::PartWith;

    /// Replaces the request. Unwanted pictures are kept, up to kMostBytes.
    void want(SheetRequest request);
    void scene_changed(SceneChange change) override;
    /// Size of all pictures in host memory.
    std::uint64_t bytes() const { return bytes_; }

    static constexpr std::uint64_t kMostBytes = 128 << 20;  ///< besides wanted ones

  private:
    struct Cell {
        std::shared_ptr<const SheetPicture> picture;
        int width = 0;  // that was asked for
        std::uint64_t generation = 0;
        std::chrono::steady_clock::time_point made{};
    };
    Jobs::Slice make_next(const Shown& shown);
    Cell* next(const Shown& shown);
    void make(const Shown& shown, Cell& cell);
    void drop_some();
    void publish();

    SheetRequest wanted_;
    std::vector<Cell> cells_;  // by view
    std::uint64_t serial_ = 0, generation_ = 0, bytes_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace gs
