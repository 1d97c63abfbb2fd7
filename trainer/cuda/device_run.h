// DeviceRun: what a run has learned, in device memory: the rows of its Gaussians, exposure and
// colour of its photos, and the tables that lazy Adam reads. Same layouts as RunArrays. Owned by
// StepEngine.
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
        DeviceBuffer<std::uint16_t> codes{"Adam moments"};
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

/// AppearanceState, and what its step reads.
struct DeviceLooks {
    DeviceBuffer<float> values{"exposure and colour"}, moments{"exposure and colour"};
    DeviceBuffer<math::PhotoNeighbours> neighbours{"exposure and colour"};  ///< by photo
};
struct DeviceSky {
    DeviceBuffer<Sky> sky{"sky"};  ///< one; empty: there is none
    DeviceBuffer<float> moments{"sky"};
};
/// What LazyView reads besides the rows.
struct DeviceTables {
    DeviceBuffer<float> pending{"optimizer tables"}, decay{"optimizer tables"};
    DeviceBuffer<LazyClock> clock{"optimizer clock"};
};

/// Bits of the rows of an array's plane that are not in use.
std::uint32_t unused_word(const RowArray& array, std::size_t plane);

class DeviceRun {
  public:
    explicit DeviceRun(const Stream& stream) : stream_(stream) {}
    /// Copies the arrays to the device. Waits. `table_rows`: capacity of LazyView::pending and
    /// decay.
    void upload(const RunArrays& arrays, std::size_t table_rows);
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
    DeviceLooks& looks() { return looks_; }
    DeviceSky& sky() { return sky_; }
    DeviceTables& tables() { return tables_; }
    RunFlags* flags() { return flags_.data(); }

    // Copies for the host. Each waits.
    /// RunArrays::filter, [capacity] or empty.
    Buffer<float> filter() const;
    /// Of the rows in use.
    RowIdentity identity() const;
    AppearanceState appearance() const;
    /// Into `model` what there is besides its Gaussians.
    void download_about(GaussianModel& model) const;

    std::size_t count() const { return count_; }
    std::size_t capacity() const { return capacity_; }
    int sh_degree() const { return sh_degree_; }
    int planes() const { return plane_count(sh_degree_); }

    /// Density control has put `count` rows in place, all of them as of step `step`.
    void rows_moved(std::size_t count, std::uint32_t step);
    /// Reserves `capacity` rows; new ones are padding that draws nothing. False, with the device's
    /// reason in `why`, and nothing changed, when memory is exhausted.
    bool grow(std::size_t capacity, std::string& why);
    void clear_statistics();
    void clear_moments(int plane);
    /// size_filter() of trainer/adam/mip_filter.h. On the host; waits.
    void size_filter(std::span<const Camera> cameras, float near_plane, FilterRows which);
    std::vector<MemoryUse> memory() const;

  private:
    const Stream& stream_;
    std::size_t count_ = 0, capacity_ = 0;
    int sh_degree_ = 0;
    bool antialiased_ = false;
    DeviceRows rows_;
    IdBook book_;
    std::uint64_t seed_ = 0;  ///< AdamClock::seed
    DeviceBuffer<BlockBounds> bounds_{"bounds of Gaussians"};
    DeviceLooks looks_;
    DeviceSky sky_;
    DeviceTables tables_;
    DeviceBuffer<RunFlags> flags_{"flags of a run"};
};

}  // namespace gs::cuda
