// Capture: posed photos and sparse points, as loaded from COLMAP, transforms.json or OpenSfM
// (io/captures/capture_io.h). Immutable once loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/vec.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"
#include "renderer/scene/photo_source.h"

namespace gs {

/// One photo with its camera. The photo is RGB, scaled, and composited over the background; it is
/// as its lens drew it, unless it was resampled to a pinhole (CaptureOptions::undistort).
struct View {
    std::string name;   ///< file name relative to the photo folder, unique within the capture
    Camera camera;      ///< of exactly the photo's size; any lens, perhaps a rolling shutter
    Image8 photo;       ///< 3 channels
    Image8 mask;        ///< 1 channel, 0 = ignore this pixel (hidden, or the lens has no ray for
                        ///< it); empty when every pixel counts
    bool test = false;  ///< held out of training
    /// Which of the capture's cameras took it, as the capture numbers them; 0 where it does not.
    /// Photos of one number and one lens are of one camera.
    std::uint32_t camera_number = 0;
    /// Which frame of a rig it is of: photos of one frame were taken at once by cameras that are
    /// fixed to each other. None: it is alone.
    std::optional<std::uint32_t> rig_frame{};
    /// Where pixels are read from when they are asked for; null: they are here. Of a photo that is
    /// not, `photo` has the size alone and `mask` nothing.
    std::shared_ptr<PhotoSource> source{};
    std::size_t number = 0;  ///< its own in `source`
};

/// Pixels of a view's photo and mask, in memory as long as this lives (those of a photo that is
/// in its View: as long as that does).
class LentPhoto {
  public:
    explicit LentPhoto(const View& view) : photo_(&view.photo), mask_(&view.mask) {}
    explicit LentPhoto(std::shared_ptr<const PhotoPixels> pixels)
        : pixels_(std::move(pixels)), photo_(&pixels_->photo), mask_(&pixels_->mask) {}
    const Image8& photo() const { return *photo_; }
    const Image8& mask() const { return *mask_; }

  private:
    std::shared_ptr<const PhotoPixels> pixels_;  ///< null: they are in their View
    const Image8 *photo_, *mask_;
};
/// Throws PhotoError and std::bad_alloc, where it has to be read.
inline LentPhoto lend_photo(const View& view) {
    return view.source ? LentPhoto(view.source->read(view.number)) : LentPhoto(view);
}
/// A photo of its camera's size, here or in a file: it can be trained on and measured against.
inline bool has_photo(const View& view) {
    return (!view.photo.empty() || view.source) && view.photo.width == view.camera.width &&
           view.photo.height == view.camera.height;
}
/// The view with its pixels, copied where they had to be read. Where they can no longer be read it
/// has none.
class WholeView {
  public:
    explicit WholeView(View&&) = delete;  // it looks at the view for as long as it lives
    explicit WholeView(const View& view) : view_(&view) {
        if (!view.source) return;
        read_ = view;
        read_->source = nullptr;
        try {
            const LentPhoto lent = lend_photo(view);
            read_->photo = lent.photo();
            read_->mask = lent.mask();
        } catch (const std::exception& error) {  // also where memory is short
            read_->photo.bytes = {}, read_->mask = {};
            problem_ = error.what();
        }
    }
    const View& operator*() const { return read_ ? *read_ : *view_; }
    const View* operator->() const { return &**this; }
    const std::string& problem() const { return problem_; }  ///< empty: it has what there is

  private:
    const View* view_;
    std::optional<View> read_;
    std::string problem_;
};

struct SparsePoint {
    Vec3f position;
    std::uint8_t rgb[3] = {128, 128, 128};
};

/// A line about what loading did. The kind is for who judges it (the doctor) without reading the
/// words.
struct CaptureNote {
    enum class Kind {
        other,
        lens,        ///< resampled
        own_lens,    ///< seen through their own lens
        shutter,     ///< a rolling one, or what is missing for it
        photo_size,  ///< not the size its camera is listed with
        origin,      ///< positions were far from zero
        split,       ///< lists of test photos that do not fit the photos
        rig,         ///< a rig that disagrees with its photos, or cannot be read
        mask         ///< masks that are there and do not count
    };
    std::string text;
    Kind kind = Kind::other;
};
inline std::vector<std::string> texts_of(const std::vector<CaptureNote>& notes) {
    std::vector<std::string> out;
    for (const CaptureNote& note : notes) out.push_back(note.text);
    return out;
}

struct Capture {
    std::string name, path;             ///< folder name and path
    std::string format;                 ///< "COLMAP binary", "COLMAP text", "transforms.json", ...
    std::string model;                  ///< which of its models this is; empty: it has no models
    std::vector<std::string> models;    ///< "NAME (N photos)" each, where there are several
    std::string split;                  ///< how test views were chosen, in words
    bool split_is_listed = false;       ///< by a list that came with the capture
    std::vector<std::string> left_out;  ///< names of views that this list does not use
    std::vector<View> views;            ///< sorted by name
    std::vector<SparsePoint> points;
    /// What was subtracted from the positions of cameras and points: see scene/origin.h.
    Vec3d origin{};
    bool points_are_random = false;    ///< they came without the capture
    double reprojection_px = 0;        ///< mean distance of the capture's points from where photos
                                       ///< saw them, as its model file says; 0: it does not
    std::vector<std::string> skipped;  ///< "NAME: why", one line per photo or frame left out
    std::vector<std::string> missing;  ///< "NAME: why", photos that could not be loaded with their
                                       ///< views, where only cameras were asked for
    std::vector<std::string> unposed;  ///< photos beside those of the views that no pose names
    std::vector<CaptureNote>
        notes;  ///< what loading did: resampled lenses, downscaling, rejected points
    std::vector<std::string> lidars;  ///< recordings of its world: its own, then those beside it
    std::shared_ptr<PhotoSource> source;  ///< of the views whose photos do not stay in memory

    std::vector<std::size_t> view_indices(bool test) const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < views.size(); ++i)
            if (views[i].test == test) out.push_back(i);
        return out;
    }
};

/// Host memory that its photos and masks take now.
inline std::uint64_t photo_bytes(const Capture& capture) {
    std::uint64_t out = capture.source ? capture.source->bytes() : 0;
    for (const View& view : capture.views)
        out += view.photo.bytes.capacity() + view.mask.bytes.capacity();
    return out;
}

}  // namespace gs
