#include "trainer/cuda/device_run.h"

#include <bit>

#include "trainer/cuda/fill.h"
#include "trainer/run_edit.h"

namespace gs::cuda {
namespace {

template <class T>
void fetch(Buffer<T>& to, const DeviceBuffer<T>& from, const Stream& stream) {
    to.resize_discard(from.size());
    from.download({to.data(), to.size()}, stream);
}

}  // namespace

void DeviceRun::upload(const RunArrays& arrays, std::size_t table_rows) {
    const GaussianModel& model = arrays.model;
    CHECK(model.capacity < 0xffffffffull, "{} rows", model.capacity);
    CHECK(consistent(arrays), "{} rows", model.count);
    count_ = model.count;
    capacity_ = model.capacity;
    sh_degree_ = model.sh_degree;
    antialiased_ = model.antialiased;
    const GaussianModel empty(0, sh_degree_, kBlock);
    padding_.clear();
    for (int p = 0; p < empty.planes(); ++p) padding_.push_back(empty.at(p, 0));
    values_.upload(model.values.span(), stream_);
    moments_.upload(arrays.adam.moments.span(), stream_);
    last_step_.upload(arrays.adam.last_step.span(), stream_);
    tags_.upload(arrays.identity.tags.span(), stream_);
    filter_.upload(arrays.filter.span(), stream_);
    book_ = arrays.identity.book;
    gradient_sum_.upload(arrays.statistics.gradient_sum.span(), stream_);
    views_.upload(arrays.statistics.views.span(), stream_);
    radius_px_.upload(arrays.statistics.radius_px.span(), stream_);
    look_values_.upload(arrays.appearance.values.span(), stream_);
    look_moments_.upload(arrays.appearance.moments.span(), stream_);
    bounds_.resize_discard(capacity_ / kBlock, stream_);
    pending_.resize_discard(table_rows * kPendingColumns, stream_);
    std::vector<float> decay;
    for (std::size_t age = 0; age < table_rows; ++age) {
        decay.push_back(AdamTables::decay1(age, arrays.adam.batch));
        decay.push_back(AdamTables::decay2(age, arrays.adam.batch));
    }
    decay_.upload(decay, stream_);
    clock_.resize_discard(1, stream_);
    flags_.resize_discard(1, stream_);
    fill_bytes(flags_.data(), 0, sizeof(RunFlags), stream_);
    stream_.synchronize();
}

void DeviceRun::upload_neighbours(const std::vector<math::PhotoNeighbours>& neighbours) {
    look_neighbours_.upload(neighbours, stream_);
    stream_.synchronize();
}

RunArrays DeviceRun::download() const {
    RunArrays out;
    out.model.count = count_;
    out.model.capacity = capacity_;
    out.model.sh_degree = sh_degree_;
    out.model.antialiased = antialiased_;
    fetch(out.model.values, values_, stream_);
    fetch(out.adam.moments, moments_, stream_);
    fetch(out.adam.last_step, last_step_, stream_);
    fetch(out.identity.tags, tags_, stream_);
    out.identity.book = book_;
    fetch(out.statistics.gradient_sum, gradient_sum_, stream_);
    fetch(out.statistics.views, views_, stream_);
    fetch(out.statistics.radius_px, radius_px_, stream_);
    out.appearance = appearance();
    out.filter = filter();
    stream_.synchronize();
    return out;
}

AppearanceState DeviceRun::appearance() const {
    AppearanceState out;
    if (look_values_.size() == 0) return out;
    fetch(out.values, look_values_, stream_);
    fetch(out.moments, look_moments_, stream_);
    stream_.synchronize();
    return out;
}

Buffer<float> DeviceRun::means() const {
    Buffer<float> out(3 * capacity_);
    values_.download({out.data(), out.size()}, stream_);
    stream_.synchronize();
    return out;
}

Buffer<float> DeviceRun::filter() const {
    Buffer<float> out;
    if (filter_.size() == 0) return out;
    fetch(out, filter_, stream_);
    stream_.synchronize();
    return out;
}

void DeviceRun::set_filter(const Buffer<float>& filter) {
    CHECK(filter.size() == capacity_, "{} filters for {} rows", filter.size(), capacity_);
    filter_.upload(filter.span(), stream_);
    stream_.synchronize();
}

RowIdentity DeviceRun::identity() const {
    RowIdentity out;
    fetch(out.tags, tags_, stream_);
    out.book = book_;
    stream_.synchronize();
    return out;
}

ModelView DeviceRun::view(bool bounded) const {
    // Kernels write through views of it; the run itself is const only to who reads.
    DeviceRun& self = const_cast<DeviceRun&>(*this);
    ModelView view;
    view.values = self.values_.data();
    view.stride = capacity_;
    view.count = static_cast<std::uint32_t>(count_);
    view.sh_degree = sh_degree_;
    view.bounds = bounded ? self.bounds_.data() : nullptr;
    view.lazy = {self.moments_.data(),
                 self.last_step_.data(),
                 pending_.data(),
                 decay_.data(),
                 clock_.data(),
                 plane_count(sh_degree_),
                 filter_.size() > 0 ? filter_.data() : nullptr};
    return view;
}

bool DeviceRun::grow(std::size_t capacity, std::string& why) {
    if (capacity <= capacity_) return true;
    const std::size_t planes = static_cast<std::size_t>(this->planes()), before = capacity_;
    try {
        // All new memory before any old is given up.
        DeviceBuffer<float> values("Gaussians");
        values.resize_discard(planes * capacity, stream_);
        DeviceBuffer<float> moments("Adam moments");
        moments.resize_discard(2 * planes * capacity, stream_);
        DeviceBuffer<std::uint32_t> last_step("steps of Gaussians");
        last_step.resize_discard(capacity, stream_);
        DeviceBuffer<std::uint32_t> tags("ids of Gaussians");
        tags.resize_discard(capacity, stream_);
        DeviceBuffer<BlockBounds> bounds("bounds of Gaussians");
        bounds.resize_discard(capacity / kBlock, stream_);
        DeviceBuffer<float> filter("3D filter");
        if (filter_.size() > 0) filter.resize_discard(capacity, stream_);
        DeviceBuffer<float> statistics[3] = {DeviceBuffer<float>("density statistics"),
                                             DeviceBuffer<float>("density statistics"),
                                             DeviceBuffer<float>("density statistics")};
        DeviceBuffer<float>* const old[3] = {&gradient_sum_, &views_, &radius_px_};
        for (auto& buffer : statistics) buffer.resize_discard(capacity, stream_);

        for (std::size_t p = 0; p < planes; ++p) {
            float* plane = values.data() + p * capacity;
            copy_on_device(plane, values_.data() + p * before, before * sizeof(float), stream_);
            launch_fill(stream_, plane + before, std::bit_cast<std::uint32_t>(padding_[p]),
                        capacity - before);
        }
        copy_on_device(moments.data(), moments_.data(), moments_.size() * sizeof(float), stream_);
        fill_bytes(moments.data() + moments_.size(), 0,
                   (moments.size() - moments_.size()) * sizeof(float), stream_);
        copy_on_device(last_step.data(), last_step_.data(), before * sizeof(std::uint32_t),
                       stream_);
        launch_fill(stream_, last_step.data() + before, 0, capacity - before);
        copy_on_device(tags.data(), tags_.data(), before * sizeof(std::uint32_t), stream_);
        launch_fill(stream_, tags.data() + before, 0, capacity - before);
        for (int i = 0; i < 3; ++i) {
            copy_on_device(statistics[i].data(), old[i]->data(), before * sizeof(float), stream_);
            fill_bytes(statistics[i].data() + before, 0, (capacity - before) * sizeof(float),
                       stream_);
        }
        if (filter_.size() > 0) {
            copy_on_device(filter.data(), filter_.data(), before * sizeof(float), stream_);
            fill_bytes(filter.data() + before, 0, (capacity - before) * sizeof(float), stream_);
        }
        stream_.synchronize();
        filter_ = std::move(filter);
        values_ = std::move(values);
        moments_ = std::move(moments);
        last_step_ = std::move(last_step);
        tags_ = std::move(tags);
        bounds_ = std::move(bounds);
        for (int i = 0; i < 3; ++i) *old[i] = std::move(statistics[i]);
    } catch (const DeviceError& error) {
        if (!error.out_of_memory()) throw;
        why = error.what();
        return false;
    }
    capacity_ = capacity;
    return true;
}

void DeviceRun::clear_statistics() {
    for (DeviceBuffer<float>* buffer : {&gradient_sum_, &views_, &radius_px_})
        fill_bytes(buffer->data(), 0, buffer->size() * sizeof(float), stream_);
}

void DeviceRun::clear_moments(int plane) {
    const std::size_t per_plane = 2 * kBlock,
                      per_block = static_cast<std::size_t>(planes()) * per_plane;
    launch_fill_rows(stream_, moments_.data() + static_cast<std::size_t>(plane) * per_plane, 0,
                     capacity_ / kBlock, per_block, per_plane);
}

void DeviceRun::set_last_step(std::uint32_t step) {
    launch_fill(stream_, last_step_.data(), step, last_step_.size());
}

std::vector<MemoryUse> DeviceRun::memory() const {
    return {{"parameters",
             values_.capacity_bytes() + bounds_.capacity_bytes() + filter_.capacity_bytes()},
            {"Adam moments", moments_.capacity_bytes() + last_step_.capacity_bytes() +
                                 pending_.capacity_bytes() + decay_.capacity_bytes()},
            {"density statistics", gradient_sum_.capacity_bytes() + views_.capacity_bytes() +
                                       radius_px_.capacity_bytes() + tags_.capacity_bytes()},
            {"exposure and colour", look_values_.capacity_bytes() + look_moments_.capacity_bytes() +
                                        look_neighbours_.capacity_bytes()}};
}

}  // namespace gs::cuda
