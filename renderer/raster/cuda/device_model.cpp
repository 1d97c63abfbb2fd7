#include "renderer/raster/cuda/device_model.h"

#include <algorithm>

#include "base/parallel.h"

namespace gs::cuda {

void DeviceModel::upload(std::span<const float> values, std::size_t stride, std::size_t count,
                         int sh_degree, std::span<const BlockBounds> bounds, const Stream& stream,
                         const Sky* sky) {
    CHECK(count < 0xffffffffull, "{} Gaussians", count);
    values_.upload(values, stream);
    const bool bounded = bounds.size() >= (count + kBlock - 1) / kBlock && !bounds.empty();
    if (bounded) bounds_.upload(bounds, stream);
    if (sky != nullptr) sky_.upload({sky, 1}, stream);
    stream.synchronize();
    rounded_ = false;
    view_ = {};
    view_.values = values_.data();
    view_.stride = stride;
    view_.count = static_cast<std::uint32_t>(count);
    view_.sh_degree = sh_degree;
    view_.bounds = bounded ? bounds_.data() : nullptr;
    view_.sky = sky != nullptr ? sky_.data() : nullptr;
}

ModelView DeviceModel::view() const { return view_; }

HalfColors DeviceModel::half_colors(const Stream& stream) {
    if (view_.sh_degree == 0 || view_.count == 0) return {};
    if (!rounded_) {
        half_colors_.resize_discard(half_words(view_.sh_degree, view_.count), stream);
        run_round_colors(stream, view_, half_colors_.data());
        stream.synchronize();  // any stream may read them
        rounded_ = true;
    }
    return {half_colors_.data(), view_.count};
}

DeviceModelSource::DeviceModelSource(const GaussianModel& model,
                                     std::span<const BlockBounds> bounds,
                                     std::shared_ptr<const Stream> stream)
    : host_(model, bounds), stream_(std::move(stream)) {
    device_.upload(model.values.span(), model.capacity, model.count, model.sh_degree, bounds,
                   *stream_, host_.sky());
}

ModelView CopiedSource::copy(ParameterSource& source, const Stream& stream) {
    const std::size_t blocks = (source.count() + kBlock - 1) / kBlock, stride = blocks * kBlock;
    const int planes = plane_count(source.sh_degree());
    values_.resize_discard(static_cast<std::size_t>(planes) * stride);
    parallel_for(blocks, 16, [&](std::size_t block) {
        alignas(64) float scratch[48 * kBlock];
        const auto store = [&](BlockView view, int first, int end) {
            for (int p = first; p < end; ++p)
                std::copy_n(view.planes + static_cast<std::size_t>(p - first) * view.stride, kBlock,
                            values_.data() + static_cast<std::size_t>(p) * stride + block * kBlock);
        };
        store(source.geometry(block, scratch), 0, kGeometryPlanes);
        store(source.sh(block, scratch), kSh0, planes);
    });
    device_.upload(values_.span(), stride, source.count(), source.sh_degree(), source.bounds(),
                   stream, source.sky());
    return device_.view();
}

}  // namespace gs::cuda
