#include "renderer/io/captures/shrunk_capture.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

PhotoPixels shrunk(const Image8& photo, const Image8& mask, int factor) {
    PhotoPixels out{shrink(photo, factor), {}};
    if (!mask.empty())
        out.mask = shrunk_mask(mask, factor, factor, shrunk_size(mask.width, factor),
                               shrunk_size(mask.height, factor));
    return out;
}

/// A photo that is still held by somebody is not read again.
class ShrinkingSource final : public PhotoSource {
  public:
    ShrinkingSource(std::shared_ptr<PhotoSource> from, std::size_t photos, int factor)
        : from_(std::move(from)), factor_(factor), lent_(photos) {}
    std::shared_ptr<const PhotoPixels> read(std::size_t number) override {
        const std::scoped_lock lock(mutex_);
        if (auto held = lent_.at(number).lock()) return held;
        const std::shared_ptr<const PhotoPixels> full = from_->read(number);
        auto out = std::make_shared<const PhotoPixels>(shrunk(full->photo, full->mask, factor_));
        lent_[number] = out;
        return out;
    }
    void expect(std::vector<std::size_t> numbers) override { from_->expect(std::move(numbers)); }
    void pass(std::size_t count) override { from_->pass(count); }
    std::uint64_t bytes() const override { return 0; }  // it keeps none of its own

  private:
    const std::shared_ptr<PhotoSource> from_;
    const int factor_;
    std::mutex mutex_;
    std::vector<std::weak_ptr<const PhotoPixels>> lent_;  ///< by number
};

}  // namespace

Camera shrunk_camera(const Camera& camera, int factor) {
    Camera out =
        camera.scaled_to(shrunk_size(camera.width, factor), shrunk_size(camera.height, factor));
    if (camera.model == CameraModel::equirectangular) return out;
    out.fx = camera.fx / factor;
    out.fy = camera.fy / factor;
    out.cx = camera.cx / factor;
    out.cy = camera.cy / factor;
    return out;
}

Image8 shrunk_mask(const Image8& mask, double step_x, double step_y, int width, int height) {
    Image8 out{width, height, 1, {}};
    out.bytes.assign(out.pixels(), 255);
    for (int y = 0; y < height; ++y) {
        const int y0 = static_cast<int>(y * step_y),
                  y1 = std::min(static_cast<int>(std::ceil((y + 1) * step_y - 1e-9)), mask.height);
        for (int x = 0; x < width; ++x) {
            const int x0 = static_cast<int>(x * step_x),
                      x1 = std::min(static_cast<int>(std::ceil((x + 1) * step_x - 1e-9)),
                                    mask.width);
            bool keep = true;
            for (int my = y0; my < y1 && keep; ++my)
                keep = std::find(mask.at(x0, my), mask.at(x0, my) + (x1 - x0), 0) ==
                       mask.at(x0, my) + (x1 - x0);
            if (!keep)
                out.bytes[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                          static_cast<std::size_t>(x)] = 0;
        }
    }
    return out;
}

std::shared_ptr<const Capture> shrunk_capture(const Capture& capture, int factor) {
    auto out = std::make_shared<Capture>();
    out->name = capture.name;
    out->path = capture.path;
    out->origin = capture.origin;
    std::size_t photos = 0;
    for (const View& view : capture.views) photos = std::max(photos, view.number + 1);
    if (capture.source)
        out->source = std::make_shared<ShrinkingSource>(capture.source, photos, factor);
    out->views.resize(capture.views.size());
    parallel_for(out->views.size(), 1, [&](std::size_t i) {
        const View& from = capture.views[i];
        View& view = out->views[i];
        view.name = from.name;
        view.camera = shrunk_camera(from.camera, factor);
        view.test = from.test;
        view.number = from.number;
        if (from.source) view.source = out->source;
        if (!from.source && !from.test) {
            PhotoPixels pixels = shrunk(from.photo, from.mask, factor);
            view.photo = std::move(pixels.photo);
            view.mask = std::move(pixels.mask);
        } else {
            view.photo.width = view.camera.width;
            view.photo.height = view.camera.height;
            view.photo.channels = from.photo.channels;
        }
    });
    return out;
}

}  // namespace gs
