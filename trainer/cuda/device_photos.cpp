#include "trainer/cuda/device_photos.h"

#include <algorithm>

#include "trainer/loss/metrics.h"

namespace gs::cuda {
namespace {

bool trainable(const View& view) {
    return !view.test && view.photo.channels == 3 && has_photo(view);
}
bool fits(const Image8& mask, const View& view) {
    return !mask.empty() && mask.width == view.photo.width && mask.height == view.photo.height &&
           mask.channels == 1;
}
std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
/// Of a photo, or of its mask (one channel).
std::size_t place_of(const View& view, std::size_t channels) {
    return aligned(view.photo.pixels() * channels);
}

}  // namespace

DevicePhotos::Photo DevicePhotos::described(const View& view, const Image8& mask) {
    Photo out{};
    out.width = view.photo.width;
    out.height = view.photo.height;
    out.masked = fits(mask, view);
    const auto ignored = out.masked ? std::count(mask.bytes.begin(), mask.bytes.end(), 0) : 0;
    out.samples = std::max(
        1.0, 3.0 * (static_cast<double>(view.photo.pixels()) - static_cast<double>(ignored)));
    return out;
}

void DevicePhotos::upload(const Capture& capture, const Stream& stream) {
    photos_.assign(capture.views.size(), {});
    all_here_ = capture.source == nullptr;
    std::size_t total = 0;
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const View& view = capture.views[i];
        if (!trainable(view)) continue;
        Photo& photo = photos_[i] = described(view, view.mask);
        const std::size_t rgb = place_of(view, 3), mask = place_of(view, 1);
        photo.photo = all_here_ ? total : 0;
        photo.mask = photo.photo + rgb;
        const std::size_t needs = rgb + (photo.masked || !all_here_ ? mask : 0);
        total = all_here_ ? total + needs : std::max(total, needs);
    }
    bytes_.resize_discard(total, stream);
    for (std::size_t i = 0; all_here_ && i < capture.views.size(); ++i)
        if (photos_[i].width != 0) copy(photos_[i], LentPhoto(capture.views[i]), stream);
    stream.synchronize();
}

void DevicePhotos::copy(const Photo& to, const LentPhoto& from, const Stream& stream) {
    copy_to_device(bytes_.data() + to.photo, from.photo().bytes.data(), from.photo().bytes.size(),
                   stream);
    if (to.masked)
        copy_to_device(bytes_.data() + to.mask, from.mask().bytes.data(), from.mask().bytes.size(),
                       stream);
}

void DevicePhotos::send(std::size_t view_index, const View& view, const LentPhoto& photo,
                        const Stream& stream) {
    if (all_here_) return;
    Photo& to = photos_.at(view_index);
    const std::size_t at = to.photo, mask = to.mask;
    to = described(view, photo.mask());
    to.photo = at;
    to.mask = mask;
    copy(to, photo, stream);
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
