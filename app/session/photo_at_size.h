// PhotoAtSize: a photo of the capture with its mask, as large as the picture beside it. It is
// shrunk once, for as long as the same is asked for. The viewer owns one.
#pragma once

#include "app/session/loading.h"

namespace gs {

/// The capture's view of this number (ViewSettings::capture_view); null: the free camera's.
const View* photo_view(const LoadedScene& scene, int index);

class PhotoAtSize {
  public:
    /// Either may be empty. `shrunk`: not the capture's own.
    struct Photo {
        const Image8 &photo, &mask;
        bool shrunk = false;
    };
    Photo of(const LoadedScene& scene, int view, int width, int height);

  private:
    int view_ = -1, width_ = 0, height_ = 0;
    Image8 photo_, mask_;
};

}  // namespace gs
