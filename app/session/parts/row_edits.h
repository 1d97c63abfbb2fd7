// RowEdits: the engine's part that edits the selected Gaussians: delete, duplicate, move, recolour,
// crop.
#pragma once

#include <vector>

#include "app/session/parts/editor.h"
#include "renderer/scene/transform.h"

namespace gs {

/// How to recolour the selection: multiply base colours, or set them and remove view dependence.
enum class Recolor { multiply, set };

class RowEdits final : public PartWith<Viewer, Editor> {
  public:
    using PartWith::PartWith;

    void remove();
    void duplicate();
    /// `linear` about the middle of the selection's bounds, then `shift` (world units).
    void transform(const Verb& verb, const Mat3d& linear, Vec3d shift);
    void recolor(Recolor how, Vec3f color);
    /// Deletes Gaussians outside the box.
    void crop(const ClipBox& box);

  private:
    std::vector<std::uint32_t> editable_rows(const Verb& verb);
    void remove_rows(EditName name, std::vector<std::uint32_t> rows);
};

}  // namespace gs
