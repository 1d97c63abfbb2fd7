// The backends that the shared suites of the rasterizer run on (raster_*_test.cpp): the CPU's, and
// CUDA's on the emulated device.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/cuda_forward.h"

namespace gs::test {

struct RasterBackend {
    const char* name;
    std::unique_ptr<Rasterizer> (*make)();
    bool emulated;
    /// The emulated device is slow: it gets the smaller of two numbers.
    template <class T>
    T pick(T here, T when_emulated) const {
        return emulated ? when_emulated : here;
    }
    friend std::ostream& operator<<(std::ostream& out, const RasterBackend& backend) {
        return out << backend.name;
    }
};
inline const RasterBackend kRasterBackends[] = {{"Cpu", make_cpu_rasterizer, false},
                                                {"Emulated", emulated_cuda, true}};

/// A suite whose parameter is the backend.
class RasterSuite : public ::testing::TestWithParam<RasterBackend> {
  protected:
    const RasterBackend& backend() const { return GetParam(); }
};
inline std::string name_of_backend(const ::testing::TestParamInfo<RasterBackend>& test) {
    return test.param.name;
}

}  // namespace gs::test
