#include "trainer/cuda/device_photos.h"

#include <algorithm>

namespace gs::cuda {
namespace {

bool trainable(const View& view) {
    return !view.test && !view.photo.empty() && view.photo.channels == 3 &&
           view.photo.width == view.camera.width && view.photo.height == view.camera.height;
}
bool masked(const View& view) {
    return !view.mask.empty() && view.mask.width == view.photo.width &&
           view.mask.height == view.photo.height && view.mask.channels == 1;
}
std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

void DevicePhotos::upload(const Capture& capture, const Stream& stream) {
    photos_.assign(capture.views.size(), {});
    std::size_t total = 0;
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const View& view = capture.views[i];
        if (!trainable(view)) continue;
        Photo& photo = photos_[i];
        photo.width = view.photo.width;
        photo.height = view.photo.height;
        photo.masked = masked(view);
        const auto ignored =
            photo.masked ? std::count(view.mask.bytes.begin(), view.mask.bytes.end(), 0) : 0;
        photo.samples = std::max(
            1.0, 3.0 * (static_cast<double>(view.photo.pixels()) - static_cast<double>(ignored)));
        photo.photo = total;
        total += aligned(view.photo.bytes.size());
        photo.mask = total;
        if (photo.masked) total += aligned(view.mask.bytes.size());
    }
    bytes_.resize_discard(total, stream);
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const View& view = capture.views[i];
        const Photo& photo = photos_[i];
        if (photo.width == 0) continue;
        copy_to_device(bytes_.data() + photo.photo, view.photo.bytes.data(),
                       view.photo.bytes.size(), stream);
        if (photo.masked)
            copy_to_device(bytes_.data() + photo.mask, view.mask.bytes.data(),
                           view.mask.bytes.size(), stream);
    }
    stream.synchronize();
}

LossInputs DevicePhotos::inputs(std::size_t view_index, double lambda_dssim) const {
    const Photo& photo = photos_.at(view_index);
    CHECK(photo.width > 0, "view {} has no photo to train on", view_index);
    LossInputs in{};
    in.photo = bytes_.data() + photo.photo;
    in.mask = photo.masked ? bytes_.data() + photo.mask : nullptr;
    in.width = photo.width;
    in.height = photo.height;
    in.samples = photo.samples;
    in.lambda_dssim = lambda_dssim;
    in.l1_scale = static_cast<float>((1.0 - lambda_dssim) / photo.samples);
    in.ssim_scale = static_cast<float>(-lambda_dssim / photo.samples);
    return in;
}

}  // namespace gs::cuda
