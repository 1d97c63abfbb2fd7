// PhotoAtSize: a photo of the capture with its mask, as large as the picture beside it. It is
// read and shrunk once, for as long as the same is asked for. The viewer owns one.
#pragma once

#include "app/session/loading.h"

namespace gs {

/// The capture's view of this number (ViewSettings::capture_view); null: the free camera's.
const View* photo_view(const Capture* capture, int index);
inline const View* photo_view(const LoadedScene& scene, int index) {
    return photo_view(scene.capture.get(), index);
}
/// The same with its pixels.
inline std::optional<WholeView> whole_view(const Capture* capture, int index) {
    const View* const view = photo_view(capture, index);
    return view ? std::optional<WholeView>(*view) : std::nullopt;
}

class PhotoAtSize {
  public:
    /// Either may be empty. `shrunk`: not the capture's own.
    struct Photo {
        const Image8 &photo, &mask;
        bool shrunk = false;
    };
    Photo of(const LoadedScene& scene, int view, int width, int height);
    /// Why the last photo could not be read; empty: it could.
    const std::string& problem() const { return problem_; }

  private:
    const View* view_ = nullptr;      ///< that `whole_` is
    std::optional<WholeView> whole_;  ///< what had to be read is kept for the next picture
    int width_ = 0, height_ = 0;
    Image8 photo_, mask_;
    std::string problem_;
};

}  // namespace gs
