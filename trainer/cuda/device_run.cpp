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
    seed_ = arrays.adam.seed;
    looks_.values.upload(arrays.appearance.values.span(), stream_);
    looks_.moments.upload(arrays.appearance.moments.span(), stream_);
    sky_.sky.upload({&model.sky, model.sky.empty() ? 0u : 1u}, stream_);
    sky_.moments.upload(arrays.sky_moments.span(), stream_);
    bounds_.resize_discard(capacity_ / kBlock, stream_);
    tables_.pending.resize_discard(table_rows * kPendingColumns, stream_);
    std::vector<float> decay;
    for (std::size_t age = 0; age < table_rows; ++age) {
        decay.push_back(AdamTables::decay1(age, arrays.adam.batch));
        decay.push_back(AdamTables::decay2(age, arrays.adam.batch));
    }
    tables_.decay.upload(decay, stream_);
    tables_.clock.resize_discard(1, stream_);
    flags_.resize_discard(1, stream_);
    fill_bytes(flags_.data(), 0, sizeof(RunFlags), stream_);
    stream_.synchronize();
}

RunArrays DeviceRun::download() const {
    RunArrays out;
    out.model.count = count_;
    out.model.capacity = capacity_;
    out.model.sh_degree = sh_degree_;
    download_about(out.model);
    if (sky_.moments.size() > 0) fetch(out.sky_moments, sky_.moments, stream_);
    each_row_array([&](const RowArray&, auto& to, const auto& from) { fetch(to, from, stream_); },
                   out, rows_);
    out.identity.book = book_;
    out.appearance = appearance();
    stream_.synchronize();
    return out;
}

void DeviceRun::download_about(GaussianModel& model) const {
    model.antialiased = antialiased_;
    if (sky_.sky.size() > 0) sky_.sky.download({&model.sky, 1}, stream_);
    stream_.synchronize();
}

AppearanceState DeviceRun::appearance() const {
    AppearanceState out;
    if (looks_.values.size() == 0) return out;
    fetch(out.values, looks_.values, stream_);
    fetch(out.moments, looks_.moments, stream_);
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

void DeviceRun::size_filter(std::span<const Camera> cameras, float near_plane, FilterRows which) {
    Buffer<float> means(3 * capacity_), sizes = filter();
    rows_.model.values.download({means.data(), means.size()}, stream_);
    stream_.synchronize();
    gs::size_filter(means.span(), count_, cameras, near_plane, which, sizes);
    CHECK(sizes.size() == capacity_, "{} filters for {} rows", sizes.size(), capacity_);
    rows_.filter.upload(sizes.span(), stream_);
    stream_.synchronize();
}

RowIdentity DeviceRun::identity() const {
    RowIdentity out;
    out.tags.resize_discard(count_);
    rows_.identity.tags.download({out.tags.data(), count_}, stream_);
    out.book = book_;
    stream_.synchronize();
    return out;
}

ModelView DeviceRun::view(bool bounded) const {
    // Kernels write through views; a const run hands them out for reading.
    DeviceRun& self = const_cast<DeviceRun&>(*this);
    auto& adam = self.rows_.adam;
    const auto given = [](auto& buffer) { return buffer.size() > 0 ? buffer.data() : nullptr; };
    return {.values = self.rows_.model.values.data(),
            .stride = capacity_,
            .count = static_cast<std::uint32_t>(count_),
            .sh_degree = sh_degree_,
            .bounds = bounded ? self.bounds_.data() : nullptr,
            .lazy = {given(adam.moments), adam.last_step.data(), tables_.pending.data(),
                     tables_.decay.data(), tables_.clock.data(), plane_count(sh_degree_),
                     given(rows_.filter), given(adam.codes), rows_.identity.tags.data(), seed_},
            .sky = given(sky_.sky)};
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
                launch_fill(stream_, part + before, unused_word(array, p),
                            (after - before) * sizeof(*part) / sizeof(std::uint32_t));
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
    const auto clear = [&](auto* first, std::size_t words) {  // of a block's plane
        auto* to = reinterpret_cast<std::uint32_t*>(first);
        launch_fill_rows(stream_, to + static_cast<std::size_t>(plane) * words, 0,
                         capacity_ / kBlock, static_cast<std::size_t>(planes()) * words, words);
    };
    if (rows_.adam.codes.size() > 0)
        clear(rows_.adam.codes.data(), kBlock / 2);
    else
        clear(rows_.adam.moments.data(), 2 * kBlock);
}

void DeviceRun::rows_moved(std::size_t count, std::uint32_t step) {
    count_ = count;
    launch_fill(stream_, rows_.adam.last_step.data(), step, rows_.adam.last_step.size());
}

std::vector<MemoryUse> DeviceRun::memory() const {
    return {
        {"parameters", row_bytes(rows_, "parameters") + bounds_.capacity_bytes()},
        {"Adam moments", row_bytes(rows_, "Adam moments") + tables_.pending.capacity_bytes() +
                             tables_.decay.capacity_bytes()},
        {"density statistics", row_bytes(rows_, "density statistics")},
        {"exposure and colour", looks_.values.capacity_bytes() + looks_.moments.capacity_bytes() +
                                    looks_.neighbours.capacity_bytes()}};
}

}  // namespace gs::cuda
