#include "app/session/photo_at_size.h"

#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

const Image8 kNoPhoto;

}  // namespace

const View* photo_view(const Capture* capture, int index) {
    if (index < 0 || !capture || static_cast<std::size_t>(index) >= capture->views.size())
        return nullptr;
    return &capture->views[static_cast<std::size_t>(index)];
}

PhotoAtSize::Photo PhotoAtSize::of(const LoadedScene& scene, int view, int width, int height) {
    const View* const asked = photo_view(scene, view);
    problem_.clear();
    if (!asked || !has_photo(*asked) || width > asked->photo.width || height > asked->photo.height)
        return {kNoPhoto, kNoPhoto};
    if (view_ != asked) {
        whole_.emplace(*asked);
        view_ = asked, width_ = height_ = 0;
    }
    const View& whole = **whole_;
    if (whole.photo.empty()) {
        problem_ = whole_->problem();
        view_ = nullptr;  // it may be there again for the next picture
        return {kNoPhoto, kNoPhoto};
    }
    if (whole.photo.width == width && whole.photo.height == height)
        return {whole.photo, whole.mask};
    if (width_ != width || height_ != height) {
        width_ = width, height_ = height;
        photo_ = resize_area(whole.photo, width, height);
        mask_ = whole.mask.empty() ? Image8() : resize_area(whole.mask, width, height);
        // Pixels that are partly masked hold ignored colour.
        for (std::uint8_t& keep : mask_.bytes) keep = keep == 255 ? 255 : 0;
    }
    return {photo_, mask_, true};
}

}  // namespace gs
