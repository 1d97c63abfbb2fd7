#include "trainer/cuda/device_run.h"

#include <bit>

#include "trainer/cuda/fill.h"

namespace gs::cuda {
namespace {

template <class T>
void fetch(Buffer<T>& to, const DeviceBuffer<T>& from, const Stream& stream) {
    to.resize_discard(from.size());
    from.download({to.data(), to.size()}, stream);
}

}  // namespace

std::uint32_t unused_word(const RowArray& array, std::size_t plane) {
    return array.layout == RowArray::planes
               ? std::bit_cast<std::uint32_t>(unused_value(static_cast<int>(plane)))
               : 0;
}

void DeviceRun::upload(const RunArrays& arrays, std::size_t table_rows) {
    const GaussianModel& model = arrays.model;
    CHECK(model.capacity < 0xffffffffull, "{} rows", model.capacity);
    CHECK(consistent(arrays), "{} rows", model.count);
    count_ = model.count;
    capacity_ = model.capacity;
    sh_degree_ = model.sh_degree;
    antialiased_ = model.antialiased;
    each_row_array(
        [&](const RowArray&, auto& to, const auto& from) { to.upload(from.span(), stream_); },
        rows_, arrays);
    book_ = arrays.identity.book;
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
    each_row_array([&](const RowArray&, auto& to, const auto& from) { fetch(to, from, stream_); },
                   out, rows_);
    out.identity.book = book_;
    out.appearance = appearance();
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
    rows_.model.values.download({out.data(), out.size()}, stream_);
    stream_.synchronize();
    return out;
}

Buffer<float> DeviceRun::filter() const {
    Buffer<float> out;
    if (rows_.filter.size() == 0) return out;
    fetch(out, rows_.filter, stream_);
    stream_.synchronize();
    return out;
}

void DeviceRun::set_filter(const Buffer<float>& filter) {
    CHECK(filter.size() == capacity_, "{} filters for {} rows", filter.size(), capacity_);
    rows_.filter.upload(filter.span(), stream_);
    stream_.synchronize();
}

RowIdentity DeviceRun::identity() const {
    RowIdentity out;
    fetch(out.tags, rows_.identity.tags, stream_);
    out.book = book_;
    stream_.synchronize();
    return out;
}

ModelView DeviceRun::view(bool bounded) const {
    // Kernels write through views of it; the run itself is const only to who reads.
    DeviceRun& self = const_cast<DeviceRun&>(*this);
    ModelView view;
    view.values = self.rows_.model.values.data();
    view.stride = capacity_;
    view.count = static_cast<std::uint32_t>(count_);
    view.sh_degree = sh_degree_;
    view.bounds = bounded ? self.bounds_.data() : nullptr;
    view.lazy = {self.rows_.adam.moments.data(),
                 self.rows_.adam.last_step.data(),
                 pending_.data(),
                 decay_.data(),
                 clock_.data(),
                 plane_count(sh_degree_),
                 rows_.filter.size() > 0 ? rows_.filter.data() : nullptr};
    return view;
}

bool DeviceRun::grow(std::size_t capacity, std::string& why) {
    if (capacity <= capacity_) return true;
    DeviceRows larger;
    DeviceBuffer<BlockBounds> bounds("bounds of Gaussians");
    try {
        // All new memory before any old is given up.
        each_row_array(
            [&](const RowArray& array, auto& to, const auto& from) {
                if (from.size() > 0) to.resize_discard(array.columns(planes()) * capacity, stream_);
            },
            larger, rows_);
        bounds.resize_discard(capacity / kBlock, stream_);
    } catch (const DeviceError& error) {
        if (!error.out_of_memory()) throw;
        why = error.what();
        return false;
    }
    each_row_array(
        [&](const RowArray& array, auto& to, auto& from) {
            const auto parts =
                array.layout == RowArray::planes ? static_cast<std::size_t>(planes()) : 1;
            const std::size_t before = from.size() / parts, after = to.size() / parts;
            for (std::size_t p = 0; p < parts && before > 0; ++p) {
                auto* part = to.data() + p * after;
                copy_on_device(part, from.data() + p * before, before * sizeof(*part), stream_);
                launch_fill(stream_, part + before, unused_word(array, p), after - before);
            }
        },
        larger, rows_);
    stream_.synchronize();
    rows_ = std::move(larger);
    bounds_ = std::move(bounds);
    capacity_ = capacity;
    return true;
}

void DeviceRun::clear_statistics() {
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if (array.round == RowArray::cleared)
                fill_bytes(values.data(), 0, values.size() * sizeof(*values.data()), stream_);
        },
        rows_);
}

void DeviceRun::clear_moments(int plane) {
    const std::size_t per_plane = 2 * kBlock,
                      per_block = static_cast<std::size_t>(planes()) * per_plane;
    launch_fill_rows(stream_,
                     rows_.adam.moments.data() + static_cast<std::size_t>(plane) * per_plane, 0,
                     capacity_ / kBlock, per_block, per_plane);
}

void DeviceRun::set_last_step(std::uint32_t step) {
    launch_fill(stream_, rows_.adam.last_step.data(), step, rows_.adam.last_step.size());
}

std::vector<MemoryUse> DeviceRun::memory() const {
    return {{"parameters", row_bytes(rows_, "parameters") + bounds_.capacity_bytes()},
            {"Adam moments", row_bytes(rows_, "Adam moments") + pending_.capacity_bytes() +
                                 decay_.capacity_bytes()},
            {"density statistics", row_bytes(rows_, "density statistics")},
            {"exposure and colour", look_values_.capacity_bytes() + look_moments_.capacity_bytes() +
                                        look_neighbours_.capacity_bytes()}};
}

}  // namespace gs::cuda
