// One plane of numbers from a function of the pixel, on all cores. For the maps of this folder.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "renderer/scene/image.h"

namespace gs {

template <class F>
ImageF plane_of(int width, int height, F&& value) {
    ImageF map(width, height, 1);
    float* out = map.plane(0);
    parallel_ranges(map.pixels(), 16384, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[i] = value(i);
    });
    return map;
}

}  // namespace gs
