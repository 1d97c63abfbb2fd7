// The small pictures of photos that the engine made (SheetPicture), for panels to draw.
#pragma once

#include <fmt/format.h>

#include "panels/state/snapshot.h"

namespace gs {

/// The picture of a photo made for the contact sheet; null: none yet.
inline const SheetPicture* sheet_picture(const Snapshot& snapshot, const CameraRow& row) {
    if (!snapshot.sheet || row.view >= snapshot.sheet->size()) return nullptr;
    return (*snapshot.sheet)[row.view].get();
}
/// Its texture; id 0: it is not there (yet).
inline PanelPicture sheet_texture(const Snapshot& snapshot, const CameraRow& row) {
    const SheetPicture* made = sheet_picture(snapshot, row);
    if (!made || !snapshot.pictures) return {};
    return snapshot.pictures->of(fmt::format("sheet {}", row.view), made->serial, made->strip);
}

}  // namespace gs
