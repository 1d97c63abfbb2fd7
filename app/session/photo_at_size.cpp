#include "app/session/photo_at_size.h"

#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

const Image8 kNoPhoto;

}  // namespace

const View* photo_view(const LoadedScene& scene, int index) {
    if (index < 0 || !scene.capture ||
        static_cast<std::size_t>(index) >= scene.capture->views.size())
        return nullptr;
    return &scene.capture->views[static_cast<std::size_t>(index)];
}

PhotoAtSize::Photo PhotoAtSize::of(const LoadedScene& scene, int view, int width, int height) {
    const View* const whole = photo_view(scene, view);
    if (!whole || whole->photo.empty() || width > whole->photo.width ||
        height > whole->photo.height)
        return {kNoPhoto, kNoPhoto};
    const Image8& photo = whole->photo;
    if (photo.width == width && photo.height == height) return {photo, whole->mask};
    if (view_ != view || width_ != width || height_ != height) {
        view_ = view, width_ = width, height_ = height;
        photo_ = resize_area(photo, width, height);
        mask_ = whole->mask.empty() ? Image8() : resize_area(whole->mask, width, height);
        // Pixels that are partly masked hold ignored colour.
        for (std::uint8_t& keep : mask_.bytes) keep = keep == 255 ? 255 : 0;
    }
    return {photo_, mask_, true};
}

}  // namespace gs
