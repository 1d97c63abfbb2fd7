// NoSink: for a backward pass that is run for its picture or its time: takes gradients, keeps none.
// Used by costs and maps of the studio and of `render`, and by `bench`.
#pragma once

#include "renderer/raster/rasterizer.h"

namespace gs {

struct NoSink final : GradientSink {
    void take(const BlockGradients&) override {}
};

}  // namespace gs
