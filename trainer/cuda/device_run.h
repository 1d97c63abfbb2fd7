// DeviceRun: what a run has learned, in device memory: parameters, moments, statistics, bounds, and
// the tables lazy Adam reads. Same layouts as RunArrays. Owned by StepEngine.
#pragma once

#include <string>
#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "trainer/cuda/step_records.h"
#include "trainer/training_backend.h"

namespace gs::cuda {

/// Members as RunArrays', for each_row_array().
struct DeviceRows {
    struct {
        DeviceBuffer<float> values{"Gaussians"};
    } model;
    struct {
        DeviceBuffer<float> moments{"Adam moments"};
        DeviceBuffer<std::uint32_t> last_step{"steps of Gaussians"};
    } adam;
    struct {
        DeviceBuffer<float> gradient_sum{"density statistics"}, views{"density statistics"},
            radius_px{"density statistics"};
    } statistics;
    struct {
        DeviceBuffer<std::uint32_t> tags{"ids of Gaussians"};
    } identity;
    DeviceBuffer<float> filter{"3D filter"};
};

/// Bits of the rows of an array's plane that are not in use.
std::uint32_t unused_word(const RowArray& array, std::size_t plane);

class DeviceRun {
  public:
    explicit DeviceRun(const Stream& stream) : stream_(stream) {}
    /// Takes the arrays to the device. Waits. `table_rows`: room for LazyView::pending and decay.
    void upload(const RunArrays& arrays, std::size_t table_rows);
    /// By photo; where exposure and colour are learned. Waits.
    void upload_neighbours(const std::vector<math::PhotoNeighbours>& neighbours);
    /// The arrays without the clock. Waits.
    RunArrays download() const;

    /// `bounded`: bounds are valid.
    ModelView view(bool bounded) const;
    StatisticsView statistics() {
        auto& s = rows_.statistics;
        return {tags(), s.gradient_sum.data(), s.views.data(), s.radius_px.data()};
    }
    DeviceRows& rows() { return rows_; }
    std::uint32_t* tags() { return rows_.identity.tags.data(); }
    IdBook& book() { return book_; }
    /// Positions [3][capacity], as stored. Waits.
    Buffer<float> means() const;
    /// RunArrays::filter, [capacity] or empty. Both wait.
    Buffer<float> filter() const;
    void set_filter(const Buffer<float>& filter);
    /// Waits.
    RowIdentity identity() const;
    RunFlags* flags() { return flags_.data(); }
    LazyClock* clock() { return clock_.data(); }
    float* pending() { return pending_.data(); }

    std::size_t count() const { return count_; }
    std::size_t capacity() const { return capacity_; }
    int sh_degree() const { return sh_degree_; }
    int planes() const { return plane_count(sh_degree_); }
    bool antialiased() const { return antialiased_; }

    /// After density control has put `count` rows in place.
    void set_count(std::size_t count) { count_ = count; }
    /// Room for `capacity` rows, content kept; new rows are padding that draws nothing. False, with
    /// the device's words in `why`, and nothing changed, when memory is exhausted.
    bool grow(std::size_t capacity, std::string& why);
    void clear_statistics();
    void clear_moments(int plane);
    /// Every row was stepped last at step `step`.
    void set_last_step(std::uint32_t step);

    float* values() { return rows_.model.values.data(); }
    float* look_values() { return look_values_.data(); }
    float* look_moments() { return look_moments_.data(); }
    math::PhotoNeighbours* look_neighbours() { return look_neighbours_.data(); }
    /// What was learned of photos and cameras. Waits.
    AppearanceState appearance() const;
    std::vector<MemoryUse> memory() const;

  private:
    const Stream& stream_;
    std::size_t count_ = 0, capacity_ = 0;
    int sh_degree_ = 0;
    bool antialiased_ = false;
    DeviceRows rows_;
    IdBook book_;
    DeviceBuffer<BlockBounds> bounds_{"bounds of Gaussians"};
    DeviceBuffer<float> look_values_{"exposure and colour"}, look_moments_{"exposure and colour"};
    DeviceBuffer<math::PhotoNeighbours> look_neighbours_{"exposure and colour"};
    DeviceBuffer<float> pending_{"optimizer tables"}, decay_{"optimizer tables"};
    DeviceBuffer<LazyClock> clock_{"optimizer clock"};
    DeviceBuffer<RunFlags> flags_{"flags of a run"};
};

}  // namespace gs::cuda
